//! A table of bad inputs: what a user may do wrong, the exit code, and words of the message.
//!
//! Every case runs the program once. It must fail with its code and one `error:` line that contains the words, print
//! nothing to standard output, and leave nothing behind. The table of exit codes in `docs/exit-codes.md` is made from
//! the cases, and `docs/errors.md` has the messages that they gave;
//! `FLOWGMM_UPDATE_DOCS=1 cargo test --release -p flowgmm-cli --test bad_inputs` writes both anew.

#[path = "../common/mod.rs"]
mod common;

mod cells;
mod messages;
mod models;
mod outputs;
mod requests;
mod settings;
mod tables;

use std::{collections::BTreeMap, fmt::Write as _, fs, path::Path};

use common::{Bench, stderr};

/// A mistake, and what is said about it.
pub struct Case {
    /// The mistake, in the words of the documentation.
    pub about: &'static str,
    /// Files that it needs.
    pub files: &'static [(&'static str, &'static [u8])],
    /// The command; `FIT` stands for a quick fit of `bad.csv` with the label column `label`.
    pub command: &'static str,
    /// The exit code.
    pub code: i32,
    /// Words of the message.
    pub says: &'static [&'static str],
}

const FIT: &str = "fit bad.csv --label label --model out.flow --config tiny.toml --quiet";

/// The themes of the table, in the order of the documentation.
fn themes() -> [(&'static str, &'static [Case]); 6] {
    [
        ("Arguments", requests::CASES),
        ("Settings", settings::CASES),
        ("Tables", tables::CASES),
        ("Cells and labels", cells::CASES),
        ("Model files", models::CASES),
        ("Outputs", outputs::CASES),
    ]
}

/// Runs the cases of a theme.
fn check_theme(theme: &str) {
    let bench = Bench::new();
    bench.tiny_model("m");
    let good = bench.bytes("m");
    bench.write("half.flow", &good[..good.len() / 2]);
    let mut flipped = good.clone();
    *flipped.last_mut().unwrap() ^= 1;
    bench.write("flipped.flow", &flipped);
    bench.write("longer.flow", [&good[..], b"x"].concat());
    let (_, cases) = themes().into_iter().find(|(name, _)| *name == theme).expect("a theme of the table");
    let (mut wrong, mut said) = (Vec::new(), Vec::new());
    for case in cases {
        match check(&bench, case) {
            Ok(message) => said.push((case.about, message)),
            Err(what) => wrong.push(what),
        }
    }
    assert!(wrong.is_empty(), "{} of {} cases:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
    messages::check(theme, &said, bench.dir.path());
}

#[test]
fn arguments() {
    check_theme("Arguments");
}

#[test]
fn settings_and_plans() {
    check_theme("Settings");
}

#[test]
fn unreadable_tables() {
    check_theme("Tables");
}

#[test]
fn cells_and_labels() {
    check_theme("Cells and labels");
}

#[test]
fn model_files() {
    check_theme("Model files");
}

#[test]
fn written_files() {
    check_theme("Outputs");
}

#[test]
fn there_are_many_cases() {
    let n: usize = themes().iter().map(|(_, cases)| cases.len()).sum();
    assert!(n >= 150, "{n} cases");
}

/// Runs a case; what it said.
fn check(bench: &Bench, case: &Case) -> Result<String, String> {
    let Case { about, files, command, code, says } = case;
    for (name, content) in *files {
        bench.write(name, content);
    }
    let before = bench.files();
    let output = bench.run(&command.replacen("FIT", FIT, 1));
    let (said, left) = (stderr(&output), bench.files());
    files.iter().for_each(|(name, _)| fs::remove_file(bench.path(name)).unwrap());
    let fail = |what: String| Err(format!("{about} ({command}): {what}; it said: {}", said.trim_end()));
    if output.status.code() != Some(*code) {
        return fail(format!("exit {:?}, not {code}", output.status.code()));
    }
    if let Some(word) = says.iter().find(|word| !said.contains(**word)) {
        return fail(format!("'{word}' is not said"));
    }
    if said.matches("error:").count() != 1 || !output.stdout.is_empty() {
        return fail("one error line on stderr and nothing on stdout are meant".into());
    }
    if ["panicked", "Error {", "Os {", "RUST_BACKTRACE", "internal error"]
        .iter()
        .any(|leak| said.contains(leak))
    {
        return fail("our own trouble is shown".into());
    }
    if left != before {
        return fail(format!("files before {before:?}, after {left:?}"));
    }
    Ok(said)
}

/// What a code means.
const MEANINGS: [(i32, &str); 8] = [
    (0, "success; also when the reader of a pipe has seen enough"),
    (1, "internal error: a bug in flowgmm"),
    (2, "the request makes no sense: arguments, settings, a plan, files that would be overwritten"),
    (3, "the data cannot be used: a table, cells, labels, images"),
    (4, "a model file or checkpoint is damaged, or not ours"),
    (5, "reading or writing failed: absent, not permitted, disk full"),
    (6, "training diverged"),
    (130, "interrupted by Ctrl-C or SIGTERM"),
];

fn documentation() -> String {
    let mut text = String::from(
        "# Exit codes\n\nScripts can rely on these. Made from the table of bad inputs in `crates/cli/tests/bad_inputs`, which the \
         tests run.\n\n| code | meaning | tested with |\n|---|---|---|\n",
    );
    let mut counts: BTreeMap<i32, usize> = BTreeMap::new();
    for case in themes().into_iter().flat_map(|(_, cases)| cases) {
        *counts.entry(case.code).or_default() += 1;
    }
    for (code, meaning) in MEANINGS {
        let count = |n: &usize| if *n == 1 { "1 mistake".into() } else { format!("{n} mistakes") };
        let tested = counts.get(&code).map_or(String::new(), count);
        writeln!(text, "| {code} | {meaning} | {tested} |").unwrap();
    }
    for (theme, cases) in themes() {
        writeln!(text, "\n## {theme}\n\n| mistake | code | the message contains |\n|---|---|---|").unwrap();
        for case in cases {
            let says = case.says.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
            writeln!(text, "| {} | {} | {} |", case.about, case.code, says.replace('|', "\\|")).unwrap();
        }
    }
    text
}

#[test]
fn the_documented_table_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/exit-codes.md");
    if std::env::var_os("FLOWGMM_UPDATE_DOCS").is_some() {
        fs::write(&path, documentation()).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == documentation(),
        "docs/exit-codes.md is stale: run this test with FLOWGMM_UPDATE_DOCS=1"
    );
}

#[test]
fn every_code_of_the_cases_has_a_meaning() {
    for case in themes().into_iter().flat_map(|(_, cases)| cases) {
        assert!(MEANINGS.iter().any(|(code, _)| *code == case.code), "{}", case.about);
    }
}
