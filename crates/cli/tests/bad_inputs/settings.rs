//! Settings and plans that make no sense.

use super::Case;

macro_rules! config {
    ($about:literal, $toml:literal, $($says:literal),+) => {
        Case {
            about: $about,
            files: &[("bad.toml", $toml)],
            command: "fit train.csv --label label --model n --quiet --config bad.toml",
            code: 2,
            says: &["bad.toml", $($says),+],
        }
    };
}

macro_rules! plan {
    ($about:literal, $toml:literal, $($says:literal),+) => {
        Case {
            about: $about,
            files: &[("plan.toml", $toml)],
            command: "bench plan.toml --out results --data .",
            code: 2,
            says: &[$($says),+],
        }
    };
}

pub const CASES: &[Case] = &[
    config!("a config file that is no TOML", b"this is not TOML", "TOML"),
    config!("an unknown key", b"colour = 3\n", "'colour'"),
    config!("an unknown key in a section", b"[train]\nstep = 3\n", "train.step"),
    config!("a key of an earlier version", b"guides = []\n", "'guides' is called 'teachers' now"),
    config!("text where a number belongs", b"[train]\nsteps = 'many'\n", "train.steps"),
    config!("a number where text belongs", b"device = 3\n", "device"),
    config!("a negative number of steps", b"[train]\nsteps = -5\n", "train.steps"),
    config!("no steps", b"[train]\nsteps = 0\n", "steps"),
    config!("no couplings", b"[architecture]\ndepth = 0\n", "depth"),
    config!("a hidden layer without units", b"[architecture]\nhidden = [0]\n", "hidden"),
    config!("an unknown kind of coupling", b"[architecture]\ncoupling = { kind = 'magic' }\n", "coupling"),
    config!("a negative learning rate", b"[train.schedule]\npeak = -1.0\n", "peak"),
    config!("a moving average of 1", b"[train]\nema = 1.0\n", "ema"),
    config!("a moving average above 1", b"[train]\nema = 2.0\n", "ema"),
    config!("negative noise", b"[train]\nnoise = -0.5\n", "noise"),
    config!("dropout of everything", b"[train]\ndropout = 1.0\n", "dropout"),
    config!("a batch without rows", b"[train]\nbatch_unlabelled = 0\nbatch_labelled = 0\n", "batch"),
    config!("a negative weight", b"[train.objective]\nalignment = -1.0\n", "train.objective weights"),
    config!("a standard deviation of 0", b"[architecture]\nsigma = 0.0\n", "sigma"),
    config!("an unknown device in the file", b"device = 'tpu'\n", "tpu"),
    config!("far too many threads in the file", b"threads = 100000\n[train]\nsteps = 5\n", "threads"),
    Case {
        about: "a model that does not fit in memory",
        files: &[("bad.toml", b"[architecture]\nhidden = [65536, 65536]\n")],
        command: "fit train.csv --label label --model n --quiet --config bad.toml",
        code: 2,
        says: &["memory", "hidden"],
    },
    Case {
        about: "a model of absurd size",
        files: &[("bad.toml", b"[architecture]\nhidden = [9000000000, 9000000000]\ndepth = 1000000\n")],
        command: "fit train.csv --label label --model n --quiet --config bad.toml",
        code: 2,
        says: &[],
    },
    Case {
        about: "a config file that is not there",
        files: &[],
        command: "fit train.csv --label label --model n --config absent.toml",
        code: 5,
        says: &["absent.toml"],
    },
    Case {
        about: "a fit that diverges",
        files: &[("bad.toml", b"[train.schedule]\npeak = 1e9\n[train.adam]\nclip = 'none'\n[train]\nsteps = 200\n")],
        command: "fit train.csv --label label --model n --quiet --config bad.toml",
        code: 6,
        says: &["diverged"],
    },
    plan!("a plan that is no TOML", b"nonsense", "plan.toml"),
    plan!("an empty plan", b"", "plan.toml"),
    plan!("a plan with an unknown key", b"colour = 1\n", "colour"),
    plan!(
        "a plan with an unknown learner",
        b"learners = ['magic']\ndraws = [0]\n[[dataset]]\nname = 'T'\nfile = 'train.csv'\nlabel = 'label'\nlabels = [5]\n",
        "plan.toml"
    ),
    Case {
        about: "a plan that is not there",
        files: &[],
        command: "bench absent.toml",
        code: 5,
        says: &["absent.toml"],
    },
];
