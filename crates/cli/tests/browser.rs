//! The explorer's page in a real browser: `npm run test:browser` in `explorer/`, on the program under test.
//!
//! Without Node.js, npm's packages or Chromium it says by name what it skips, and is no failure. `FLOWGMM_NODE` set to nothing
//! skips it; `CHROMIUM` names another browser.

use std::{
    env, fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
};

const NAME: &str = "explorer_page";
/// The status of a run that could not be made, as for automake.
const SKIPPED: i32 = 77;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if arguments.iter().any(|argument| argument == "--list") {
        println!("{NAME}: test");
        return ExitCode::SUCCESS;
    }
    let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
    if !filters.is_empty() && !filters.iter().any(|filter| NAME.contains(filter.as_str())) {
        return ExitCode::SUCCESS;
    }
    match tested() {
        Ok(Outcome::Passed) => println!("test {NAME} ... ok"),
        Ok(Outcome::Skipped(why)) => {
            println!("test {NAME} ... skipped: the explorer's page is not tested in a browser: {why}")
        }
        Err(what) => {
            println!("test {NAME} ... FAILED: {what}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

enum Outcome {
    Passed,
    Skipped(String),
}

fn tested() -> Result<Outcome, String> {
    let skipped = |why: &str| Ok(Outcome::Skipped(why.into()));
    if env::var_os("FLOWGMM_NODE").is_some_and(|node| node.is_empty()) {
        return skipped("FLOWGMM_NODE is set to nothing");
    }
    if !succeeds(Command::new("node").arg("--version")) || !succeeds(npm().arg("--version")) {
        return skipped("there is no Node.js with npm");
    }
    let explorer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../explorer");
    if !installed(&explorer) {
        let done = npm().args(["ci", "--no-audit", "--no-fund"]).current_dir(&explorer).output();
        let done = done.map_err(|error| error.to_string())?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr).lines().next().unwrap_or_default().to_string();
            return skipped(&format!("npm cannot install its packages: {said}"));
        }
    }
    let mut run = npm();
    run.args(["run", "--silent", "test:browser"]).current_dir(&explorer);
    run.env("FLOWGMM_BIN", env!("CARGO_BIN_EXE_flowgmm"));
    let status = run.status().map_err(|error| error.to_string())?;
    match status.code() {
        Some(0) => Ok(Outcome::Passed),
        Some(SKIPPED) => skipped("see above"),
        _ => Err("tests of the page fail".into()),
    }
}

/// Whether npm's packages are those of the lock file.
fn installed(explorer: &Path) -> bool {
    let changed = |path: &str| fs::metadata(explorer.join(path)).and_then(|found| found.modified()).ok();
    match (changed("node_modules/.package-lock.json"), changed("package-lock.json")) {
        (Some(installed), Some(wanted)) => installed >= wanted,
        _ => false,
    }
}

fn npm() -> Command {
    Command::new(if cfg!(windows) { "npm.cmd" } else { "npm" })
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
