//! The commit that the program is built from, for `--version`; nothing where there is no repository.

use std::process::Command;

fn main() {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string()).filter(|text| !text.is_empty())
    };
    let commit = git(&["show", "--no-patch", "--format=%h %cs", "HEAD"]);
    let commit = commit.map_or(String::new(), |commit| format!(" ({commit})"));
    println!("cargo::rustc-env=FLOWGMM_COMMIT={commit}");
    // A new commit moves the branch that HEAD names.
    for path in [Some("HEAD".to_string()), git(&["symbolic-ref", "HEAD"])].into_iter().flatten() {
        if let Some(path) = git(&["rev-parse", "--git-path", &path]) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    println!("cargo::rerun-if-changed=build.rs");
}
