//! Fits of tables that memory does not hold: killed, interrupted, and on a full disk.
#![cfg(unix)]

mod common;

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Bench, stderr, written};

/// 40,000 rows of 20 columns, of which 100 MB hold about half, and settings that draw all of them.
fn bench() -> Bench {
    let bench = Bench::new();
    let names: Vec<String> = (0..20).map(|j| format!("x{j}")).collect();
    let mut text = format!("{},label\n", names.join(","));
    for row in 0..40_000_usize {
        for j in 0..20 {
            let noise = (row * (2 * j + 3) * 7919 % 1013) as f64 / 500.0;
            write!(text, "{},", noise + (row % 2 * (j % 3)) as f64).unwrap();
        }
        text.push_str(if row < 100 { ["low\n", "high\n"][row % 2] } else { "\n" });
    }
    bench.write("rows.csv", text);
    let settings =
        common::TINY.replace("steps = 40", "steps = 900").replace("unlabelled = 32", "unlabelled = 100");
    bench.write("tiny.toml", settings);
    bench
}

fn fit(bench: &Bench, model: &str, more: &str) -> Command {
    bench.command(&format!(
        "fit rows.csv --label label --model {model} --config tiny.toml --memory 100M {more}"
    ))
}

fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits for a first checkpoint: from then on the fit is training, and its cache is full.
fn wait_for_checkpoint(bench: &Bench, child: &mut Child, directory: &str) {
    let (began, file) = (Instant::now(), bench.path(directory).join("checkpoint.safetensors"));
    while !written(&file) && began.elapsed() < Duration::from_secs(60) {
        sleep(Duration::from_millis(5));
    }
    assert!(child.try_wait().unwrap().is_none(), "the fit is too fast for this test");
}

fn names(bench: &Bench, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(bench.path(directory)).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_fit_beyond_memory_goes_on_bit_for_bit_and_leaves_no_cache() {
    let bench = bench();
    let whole = fit(&bench, "whole", "--verbose").output().unwrap();
    assert!(whole.status.success(), "{}", stderr(&whole));
    let said = String::from_utf8_lossy(&whole.stdout).into_owned();
    assert!(said.contains("of 40000") && said.contains("on disk"), "{said}");

    let mut killed = spawn(fit(&bench, "m", "--checkpoint c --checkpoint-every 0"));
    wait_for_checkpoint(&bench, &mut killed, "c");
    killed.kill().unwrap(); // SIGKILL
    killed.wait().unwrap();
    let resumed = fit(&bench, "m", "--checkpoint c --resume").output().unwrap();
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(bench.bytes("m") == bench.bytes("whole"), "another model");

    let mut interrupted = spawn(fit(&bench, "n", "--checkpoint d --checkpoint-every 0"));
    wait_for_checkpoint(&bench, &mut interrupted, "d");
    assert!(Command::new("kill").args(["-INT", &interrupted.id().to_string()]).status().unwrap().success());
    let output = interrupted.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", stderr(&output));
    assert!(written(&bench.path("d/checkpoint.safetensors")));
    let files = |directory: &str| -> BTreeSet<String> { names(&bench, directory).into_iter().collect() };
    assert_eq!(files("d"), files("c"), "what an interrupt leaves is a checkpoint");
}

/// A limit on the size of files is a disk that is full.
#[test]
fn a_full_disk_is_exit_code_5_and_nothing_is_lost_or_left() {
    let bench = bench();
    bench.write("m", "an old model");
    let before = bench.files();
    let words = fit(&bench, "n", "");
    let shell = ["trap '' XFSZ; ulimit -f 512; exec \"$0\" \"$@\"", words.get_program().to_str().unwrap()];
    let mut limited = Command::new("sh");
    limited.current_dir(bench.dir.path()).arg("-c").args(shell).args(words.get_args());
    let output = limited.output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(5), "{message}");
    for part in ["cache", "--memory", "another disk"] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    assert_eq!(bench.files(), before);
}
