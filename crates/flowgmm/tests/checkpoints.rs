//! The same (data, configuration, seed) gives the same bits, whether or not the run was interrupted, killed and resumed;
//! checkpoints of other runs and damaged ones are refused.

mod small;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use flowgmm::{
    Checkpoints, Error, ErrorKind, FitConfig, Fitter, Model, Observer, Phase, Resume, train::Control,
};
use semisup::SemiSupervised;
use small::{config, data, fit, parameters, variants};
use tempfile::TempDir;

/// Stops after this many steps, counted over all stages.
struct StopAfter {
    left: usize,
    training: bool,
}

impl StopAfter {
    fn steps(left: usize) -> Self {
        Self { left, training: false }
    }
}

impl Observer for StopAfter {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, _step: usize) -> Control {
        if !self.training {
            return Control::Continue;
        }
        self.left = self.left.saturating_sub(1);
        if self.left == 0 { Control::Stop } else { Control::Continue }
    }
}

fn checkpoints(directory: &Path, resume: Resume) -> Checkpoints {
    // Only interruptions write: an hour never passes here.
    Checkpoints::new(directory, Duration::from_secs(3600), resume)
}

#[test]
fn an_interrupted_and_resumed_run_gives_the_bits_of_one_in_one_go() {
    for (name, config) in variants() {
        check_resume(name, &config);
    }
}

/// Stops every 7 steps, which meets every stage of a fit and most phases of its epochs.
fn check_resume(name: &str, config: &FitConfig) {
    let data = data();
    let straight = fit(config, &data, 5);
    let directory = TempDir::new().unwrap();
    let mut interruptions = 0;
    let pieced = loop {
        let fitter = Fitter::new(config, &data, 5);
        let fitter = fitter.checkpoints(checkpoints(directory.path(), Resume::IfPresent));
        match fitter.run(&mut StopAfter::steps(7)) {
            Err(Error::Interrupted { .. }) => interruptions += 1,
            done => break done,
        }
        assert!(interruptions < 100, "{name}: no end in sight");
    };
    match (straight, pieced) {
        (Ok(straight), Ok(pieced)) => {
            assert!(interruptions >= 4, "{name}: {interruptions} interruptions");
            assert_eq!(parameters(&straight), parameters(&pieced), "{name}");
            assert_eq!(straight.history(), pieced.history(), "{name}");
            // As text: a wild run may have NaN in its certificate, and NaN is not equal to itself.
            let text = |model: &flowgmm::Model| format!("{:?}", model.provenance());
            assert_eq!(text(&straight), text(&pieced), "{name}");
        }
        // A run that diverges does so at the same step for the same reason.
        (Err(straight), Err(pieced)) => assert_eq!(straight.to_string(), pieced.to_string(), "{name}"),
        (straight, pieced) => panic!("{name}: {:?}, but in pieces {:?}", straight.err(), pieced.err()),
    }
}

/// Copies the checkpoint after some step: what a kill would leave behind.
struct CopyAt<'a> {
    from: &'a Path,
    to: &'a Path,
    left: usize,
    training: bool,
}

impl Observer for CopyAt<'_> {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, _step: usize) -> Control {
        if !self.training {
            return Control::Continue;
        }
        self.left = self.left.wrapping_sub(1);
        if self.left == 0 {
            let file = checkpoint_file(self.from);
            fs::copy(&file, self.to.join(file.file_name().unwrap())).unwrap();
        }
        Control::Continue
    }
}

fn checkpoint_file(directory: &Path) -> PathBuf {
    let files = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files = files.filter(|file| !file.ends_with("checkpoint.lock"));
    let file = files.next().expect("a checkpoint was written");
    assert!(files.next().is_none(), "one file and its lock, and no temporary one beside them");
    file
}

#[test]
fn a_killed_run_resumes_from_its_last_checkpoint_with_the_same_bits() {
    let mut config = config();
    config.multi_start.starts = 2;
    let data = data();
    let straight = fit(&config, &data, 6).unwrap();
    for steps in [1, 10, 25, 41, 60] {
        let (one, two) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        let often = Checkpoints::new(one.path(), Duration::ZERO, Resume::No);
        let observer = &mut CopyAt { from: one.path(), to: two.path(), left: steps, training: false };
        let watched = Fitter::new(&config, &data, 6).checkpoints(often).run(observer).unwrap();
        assert_eq!(parameters(&watched), parameters(&straight), "watching changes nothing");
        let resumed = Fitter::new(&config, &data, 6)
            .checkpoints(checkpoints(two.path(), Resume::IfPresent))
            .run(&mut ())
            .unwrap();
        assert_eq!(parameters(&resumed), parameters(&straight), "killed after {steps} steps");
    }
}

#[test]
fn a_finished_run_resumes_to_itself_and_a_fresh_one_does_not_replace_it() {
    let (config, data, directory) = (config(), data(), TempDir::new().unwrap());
    let run = |resume, seed| {
        let fitter = Fitter::new(&config, &data, seed).checkpoints(checkpoints(directory.path(), resume));
        let mut steps = StopAfter::steps(usize::MAX);
        (fitter.run(&mut steps), usize::MAX - steps.left)
    };
    let (first, steps) = run(Resume::IfPresent, 5);
    assert_eq!(steps, 40);
    let (again, steps) = run(Resume::IfPresent, 5);
    let bits = |model: Result<Model, Error>| parameters(&model.unwrap());
    assert_eq!((bits(again), steps), (bits(first), 0), "nothing is left to do");
    let file = checkpoint_file(directory.path());
    let kept = fs::read(&file).unwrap();
    for (seed, whose) in [(5, "a checkpoint of this fit"), (6, "a checkpoint of another fit")] {
        let (anew, steps) = run(Resume::No, seed);
        let error = anew.unwrap_err();
        assert_eq!((error.kind(), steps), (ErrorKind::Request, 0), "{error}");
        let message = error.to_string();
        assert!(["resume it", "remove it", whose].iter().all(|part| message.contains(part)), "{message}");
    }
    assert!(fs::read(&file).unwrap() == kept, "the work is still there");
    fs::remove_file(&file).unwrap();
    assert_eq!(run(Resume::No, 5).1, 40, "without it a fit begins anew");
}

/// A second fit in the same directory, begun while the first one trains.
struct Rival<'a> {
    directory: &'a Path,
    training: bool,
    found: Option<Error>,
}

impl Observer for Rival<'_> {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, step: usize) -> Control {
        if self.training && step == 3 {
            let (config, data) = (config(), data());
            let fitter = Fitter::new(&config, &data, 7).checkpoints(checkpoints(self.directory, Resume::No));
            self.found = fitter.run(&mut ()).err();
        }
        Control::Continue
    }
}

#[test]
fn two_fits_do_not_share_a_directory() {
    let (config, data, directory) = (config(), data(), TempDir::new().unwrap());
    let mut rival = Rival { directory: directory.path(), training: false, found: None };
    let fitter = Fitter::new(&config, &data, 5).checkpoints(checkpoints(directory.path(), Resume::No));
    assert!(fitter.run(&mut rival).is_ok());
    let error = rival.found.expect("the second fit is refused");
    assert!(matches!(error, Error::CheckpointInUse { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Request);
    assert!(error.to_string().contains(&directory.path().display().to_string()), "{error}");
    let after = Fitter::new(&config, &data, 5).checkpoints(checkpoints(directory.path(), Resume::IfPresent));
    assert!(after.run(&mut ()).is_ok(), "the lock went with the first fit");
}

#[test]
fn the_seed_decides() {
    for (name, config) in variants().into_iter().filter(|(name, _)| *name != "diverging") {
        let (one, two, other) = (
            fit(&config, &data(), 8).unwrap(),
            fit(&config, &data(), 8).unwrap(),
            fit(&config, &data(), 9).unwrap(),
        );
        assert_eq!(parameters(&one), parameters(&two), "{name}");
        assert_ne!(parameters(&one), parameters(&other), "{name}");
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| parameters(&fit(&config(), &data(), 10).unwrap()))
    };
    assert_eq!(with(1), with(3));
}

// ---- what a checkpoint is refused for

/// A directory with a checkpoint of a run that was interrupted.
fn interrupted(config: &FitConfig, data: &SemiSupervised, seed: u64) -> TempDir {
    let directory = TempDir::new().unwrap();
    let fitter = Fitter::new(config, data, seed).checkpoints(checkpoints(directory.path(), Resume::No));
    assert!(matches!(fitter.run(&mut StopAfter::steps(11)), Err(Error::Interrupted { step: 11 })));
    directory
}

fn resume(directory: &Path, config: &FitConfig, data: &SemiSupervised, seed: u64) -> Result<Model, Error> {
    Fitter::new(config, data, seed).checkpoints(checkpoints(directory, Resume::IfPresent)).run(&mut ())
}

#[test]
fn a_checkpoint_of_another_run_is_refused() {
    let (config, data) = (config(), data());
    let directory = interrupted(&config, &data, 5);
    let refused = |config: &FitConfig, data: &SemiSupervised, seed: u64, why: &str| match resume(
        directory.path(),
        config,
        data,
        seed,
    ) {
        Err(Error::ForeignCheckpoint { reason, .. }) => assert!(reason.contains(why), "{reason}"),
        other => panic!("expected a foreign checkpoint ({why}), got {:?}", other.err()),
    };
    refused(&config, &data, 6, "seed");
    let mut longer = config.clone();
    longer.train.steps += 1;
    refused(&longer, &data, 5, "configuration");
    let rows: Vec<usize> = (0..data.n() - 1).collect();
    refused(&config, &data.select(&rows).unwrap(), 5, "data");
    let renamed = SemiSupervised::new(
        data.x().to_owned(),
        data.y().to_vec(),
        vec!["a".into(), "b".into()],
        data.columns().to_vec(),
    );
    refused(&config, &renamed.unwrap(), 5, "data");
    assert!(resume(directory.path(), &config, &data, 5).is_ok(), "its own run may go on");
}

#[test]
fn a_damaged_checkpoint_is_refused() {
    let (config, data) = (config(), data());
    let directory = interrupted(&config, &data, 5);
    let file = checkpoint_file(directory.path());
    let good = fs::read(&file).unwrap();
    let check = |bytes: &[u8], what: String| {
        fs::write(&file, bytes).unwrap();
        let found = resume(directory.path(), &config, &data, 5);
        assert!(matches!(found, Err(Error::ModelFile { .. })), "{what}: {:?}", found.err());
    };
    for end in (0..good.len()).step_by(good.len() / 50) {
        check(&good[..end], format!("cut at {end}"));
    }
    for at in (0..good.len()).step_by(good.len() / 100) {
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        check(&bytes, format!("byte {at} changed"));
    }
    // A model file is no checkpoint.
    fit(&config, &data, 5).unwrap().save(&file).unwrap();
    check(&fs::read(&file).unwrap(), "a model".into());
    fs::write(&file, &good).unwrap();
    assert!(resume(directory.path(), &config, &data, 5).is_ok());
}

#[test]
fn a_checkpoint_that_cannot_be_written_is_an_error() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a file, not a directory");
    fs::write(&file, "").unwrap();
    let (config, data) = (config(), data());
    let fitter = Fitter::new(&config, &data, 5).checkpoints(checkpoints(&file, Resume::No));
    assert!(matches!(fitter.run(&mut ()), Err(Error::Io { .. })));
}
