//! What happens to standard streams, and signals: full, closed or abandoned streams, SIGTERM.
#![cfg(unix)]

mod common;

use std::{
    fs::File,
    process::{Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Bench, stderr};

/// The program run by a shell, which can close its streams.
fn shell(bench: &Bench, words: &str) -> std::process::Output {
    let program = assert_cmd::cargo::cargo_bin!("flowgmm");
    let script = format!("{} {words}", program.display());
    Command::new("sh").args(["-c", &script]).current_dir(bench.dir.path()).output().unwrap()
}

#[test]
fn closed_streams_are_no_reason_to_fail() {
    let bench = Bench::new();
    bench.tiny_model("m");
    for words in
        ["inspect m >&-", "predict m test.csv >&-", "evaluate m test.csv 2>&-", "inspect m >&- 2>&- <&-"]
    {
        let output = shell(&bench, words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
    }
    let output = shell(&bench, "predict m absent.csv 2>&-");
    assert_eq!(output.status.code(), Some(5), "the code is still the error's");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_behind_standard_output_is_said() {
    let bench = Bench::new();
    bench.tiny_model("m");
    for words in ["predict m test.csv", "sample m -n 9", "inspect m", "evaluate m test.csv --json", "man fit"]
    {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = bench.command(words).stdout(full).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(5), "{words}: {said}");
        assert!(said.contains("standard output") && said.contains("No space left"), "{words}: {said}");
    }
}

#[test]
fn a_reader_who_has_seen_enough_is_no_error() {
    let bench = Bench::new();
    bench.tiny_model("m");
    for words in ["predict m test.csv | head -n 1", "sample m -n 100000 | head -n 1"] {
        let output = shell(&bench, &format!("{words}; exit 0"));
        assert!(output.stderr.is_empty(), "{words}: {}", stderr(&output));
        assert_eq!(output.stdout.iter().filter(|byte| **byte == b'\n').count(), 1, "{words}");
    }
}

#[test]
fn sigterm_ends_a_fit_like_ctrl_c() {
    let bench = Bench::new();
    bench.write("long.toml", common::TINY.replace("steps = 40", "steps = 1000000"));
    let words = "fit train.csv --label label --model n --config long.toml --quiet --checkpoint c --checkpoint-every 0.1";
    let child = bench.command(words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !bench.path("c/checkpoint.safetensors").exists() && began.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(10));
    }
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let sent = Instant::now();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(sent.elapsed() < Duration::from_secs(3), "{:?}", sent.elapsed());
    assert!(stderr(&output).contains("--resume") && !bench.path("n").exists());
}
