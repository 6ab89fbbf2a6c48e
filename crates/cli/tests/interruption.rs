//! Fits that are killed or interrupted go on bit for bit.
#![cfg(unix)]

mod common;

use std::{
    fs,
    process::{Child, Command, Stdio},
    thread::sleep,
    time::{Duration, Instant},
};

use common::{Bench, stderr, written};

const KILLS: u64 = 20;

fn fit(bench: &Bench, model: &str, checkpoint: &str, more: &str) -> Command {
    bench.command(&format!(
        "fit train.csv --label label --model {model} --config tiny.toml --checkpoint {checkpoint} \
         --checkpoint-every 0 --threads 1 {more}"
    ))
}

fn spawn(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// A fixed number in 0..1 for each `i` (SplitMix64).
fn uniform(i: u64) -> f64 {
    let mut z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x1234_5678_9abc_def1);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Small data too, so that the run is its steps: 20 kills and 20 resumptions take seconds.
fn bench(steps: usize) -> Bench {
    let bench = Bench::new();
    let rows: Vec<String> = bench.read("train.csv").lines().map(String::from).collect();
    let labelled = rows[1..].iter().filter(|row| !row.ends_with(','));
    let unlabelled = rows[1..].iter().filter(|row| row.ends_with(',')).take(80);
    let rows: Vec<&str> =
        [&rows[0]].into_iter().chain(labelled).chain(unlabelled).map(|row| row.as_str()).collect();
    bench.write("train.csv", rows.join("\n"));
    // Two starts, so that kills fall into the choice of a start as well as into the run that is kept.
    let starts = "[multi_start]\nstarts = 2\nfraction = 0.25\nfolds = 2\n";
    bench.write("tiny.toml", common::TINY.replace("steps = 40", &format!("steps = {steps}")) + starts);
    bench
}

#[test]
fn a_fit_killed_at_any_moment_goes_on_to_the_same_model() {
    let bench = bench(120);
    let began = Instant::now();
    let whole = fit(&bench, "whole", "c-whole", "--quiet").output().unwrap();
    assert!(whole.status.success(), "{}", stderr(&whole));
    let duration = began.elapsed().as_secs_f64();
    let (mut killed, mut resumed) = (0, 0);
    for i in 0..KILLS {
        let (model, checkpoint) = (format!("m{i}"), format!("c{i}"));
        let mut child = spawn(fit(&bench, &model, &checkpoint, "--quiet"));
        sleep(Duration::from_secs_f64(duration * (i as f64 + uniform(i)) / KILLS as f64));
        child.kill().unwrap(); // SIGKILL
        let status = child.wait().unwrap();
        killed += usize::from(!status.success());
        resumed += usize::from(written(&bench.path(&checkpoint).join("checkpoint.safetensors")));
        let output = fit(&bench, &model, &checkpoint, "--quiet --resume").output().unwrap();
        assert!(output.status.success(), "kill {i}: {}", stderr(&output));
        assert!(bench.bytes(&model) == bench.bytes("whole"), "kill {i}: another model");
        fs::remove_dir_all(bench.path(&checkpoint)).unwrap();
    }
    // The law is empty unless kills came in time and found checkpoints.
    assert!(killed >= 10 && resumed >= 10, "{killed} killed in time, {resumed} with a checkpoint");
}

#[test]
fn ctrl_c_keeps_the_work_and_says_how_to_go_on() {
    let bench = bench(4000);
    let command = |model: &str, more: &str| {
        bench.command(&format!(
            "fit train.csv --label label --model {model} --config tiny.toml --quiet {more}"
        ))
    };
    let mut child = spawn(command("m", "--checkpoint c --checkpoint-every 0.1"));
    let (began, file) = (Instant::now(), bench.path("c/checkpoint.safetensors"));
    while !written(&file) && began.elapsed() < Duration::from_secs(30) {
        sleep(Duration::from_millis(5)); // from its first checkpoint on, a fit listens
    }
    assert!(child.try_wait().unwrap().is_none(), "the fit is too fast for this test");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{message}");
    for part in ["error: interrupted at step", "kept in c", "fit train.csv --label label", "--resume"] {
        assert!(message.contains(part), "'{part}' is not in: {message}");
    }
    assert!(!bench.path("m").exists());
    assert!(written(&bench.path("c/checkpoint.safetensors")));

    // Another seed, other settings or other data cannot go on from it.
    bench.fails(
        "fit train.csv --label label --model m --config tiny.toml --quiet --checkpoint c --resume --seed 1",
        2,
        &["checkpoint", "another run", "seed"],
    );
    bench.fails(
        "fit train.csv --label label --model m --config tiny.toml --quiet --checkpoint c --resume --steps 9",
        2,
        &["another run", "configuration"],
    );

    // The same run does, to the same model as without the interruption.
    let resumed = command("m", "--checkpoint c --resume").output().unwrap();
    assert!(resumed.status.success(), "{}", stderr(&resumed));
    assert!(command("whole", "").output().unwrap().status.success());
    assert!(bench.bytes("m") == bench.bytes("whole"));

    // A checkpoint that was damaged is said to be.
    let path = bench.path("c/checkpoint.safetensors");
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    bench.fails(
        "fit train.csv --label label --model m --config tiny.toml --quiet --checkpoint c --resume",
        4,
        &["checkpoint.safetensors"],
    );
}

#[test]
fn ctrl_c_without_a_checkpoint_says_that_nothing_is_kept() {
    let bench = bench(100_000);
    let child = spawn(bench.command("fit train.csv --label label --model m --config tiny.toml"));
    sleep(Duration::from_secs(1));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(stderr(&output).contains("nothing was kept"), "{}", stderr(&output));
    assert!(bench.files().iter().all(|name| name != "m" && !name.ends_with(".tmp")), "{:?}", bench.files());
}

/// A table of five classes in ten columns, every two hundredth row of it with a label.
fn many_rows(n: u64) -> String {
    let mut text = (0..10).map(|j| format!("x{j},")).collect::<String>() + "label\n";
    for i in 0..n {
        let class = i % 5;
        for j in 0..10 {
            let mean = if j % 5 == class { 1.5 } else { 0.0 };
            text += &format!("{:.4},", mean + uniform(10 * i + j) + uniform(1_000_000_007 + 10 * i + j));
        }
        text += &if i % 200 < 5 { format!("c{class}\n") } else { "\n".into() };
    }
    text
}

/// The moments fall into reading, choosing, the search for neighbours, label spreading and training, or thereabouts: what
/// they fall into depends on the machine, how soon the program ends must not. SIGTERM is heeded like Ctrl-C.
#[test]
fn a_fit_of_many_rows_ends_soon_after_ctrl_c_at_any_moment() {
    use std::os::unix::process::ExitStatusExt as _;
    let bench = Bench::new();
    bench.write("many.csv", many_rows(50_000));
    for (millis, signal) in
        [(150, "INT"), (500, "INT"), (1000, "TERM"), (2000, "INT"), (4000, "INT"), (7000, "INT")]
    {
        let words = "fit many.csv --label label --model m --steps 1000000 --quiet";
        let mut child = spawn(bench.command(words));
        sleep(Duration::from_millis(millis));
        assert!(child.try_wait().unwrap().is_none(), "the fit is too fast for this test");
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.unwrap().success());
        let began = Instant::now();
        let output = child.wait_with_output().unwrap();
        let (took, message) = (began.elapsed(), stderr(&output));
        // Before it listens, a program ends by the signal itself.
        let early = millis < 500 && output.status.signal().is_some();
        assert!(early || output.status.code() == Some(130), "{signal} after {millis} ms: {message}");
        assert!(early || message.contains("error: interrupted"), "{signal} after {millis} ms: {message}");
        assert!(
            took < Duration::from_millis(1500),
            "{signal} after {millis} ms: it took {took:?}: {message}"
        );
        let left: Vec<String> = bench.files().into_iter().filter(|name| name.ends_with(".tmp")).collect();
        assert!(left.is_empty() && !bench.path("m").exists(), "{left:?}");
    }
}
