//! What the tests share: the program, a moons table, and small settings that fit in a blink.
#![allow(dead_code)] // every test file uses its own part of this

pub mod pictures;

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use semisup::{Labelled, SemiSupervised, Toy};
use tempfile::TempDir;

/// A directory with `train.csv`, `test.csv` and `tiny.toml`.
pub struct Bench {
    pub dir: TempDir,
}

/// Settings of a model so small that thousands of steps take a second.
pub const TINY: &str = "[architecture]\ndepth = 2\nhidden = [4]\n[train]\nsteps = 40\nbatch_unlabelled = 32\n\
                        batch_labelled = 8\n[forest]\nn_trees = 5\n";

impl Bench {
    pub fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let problem = Toy::Moons.problem(2);
        fs::write(dir.path().join("train.csv"), semi_csv(&problem.train)).unwrap();
        fs::write(dir.path().join("test.csv"), labelled_csv(&problem.test)).unwrap();
        fs::write(dir.path().join("tiny.toml"), TINY).unwrap();
        Self { dir }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// The program in this directory, untouched by variables of whoever runs the tests.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("flowgmm"));
        command.current_dir(self.dir.path()).args(words.split_whitespace());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FLOWGMM_")) {
            command.env_remove(name);
        }
        command
    }

    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// Runs a command that must succeed; its stdout.
    pub fn ok(&self, words: &str) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{words}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail with this code and one `error:` line that contains all of `words_said`.
    pub fn fails(&self, words: &str, code: i32, said: &[&str]) {
        let output = self.run(words);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{words}: {message}");
        assert_eq!(message.matches("error:").count(), 1, "{words}: said once: {message}");
        assert!(output.stdout.is_empty(), "{words}: stdout is for results");
        for part in said {
            assert!(message.contains(part), "{words}: '{part}' is not in: {message}");
        }
        for leak in ["panicked", "Error {", "Os {", "RUST_BACKTRACE"] {
            assert!(!message.contains(leak), "{words}: {message}");
        }
    }

    /// A tiny model at `name`.
    pub fn tiny_model(&self, name: &str) {
        self.ok(&format!("fit train.csv --label label --model {name} --config tiny.toml --quiet"));
    }

    /// Names of the files in the directory.
    pub fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn semi_csv(data: &SemiSupervised) -> String {
    let label = |i: usize| data.y()[i].map_or("", |k| data.classes()[k].as_str());
    let rows = (0..data.n()).map(|i| format!("{},{},{}\n", data.x()[[i, 0]], data.x()[[i, 1]], label(i)));
    format!("x1,x2,label\n{}", rows.collect::<String>())
}

pub fn labelled_csv(data: &Labelled) -> String {
    let rows = (0..data.n())
        .map(|i| format!("{},{},{}\n", data.x()[[i, 0]], data.x()[[i, 1]], data.classes()[data.y()[i]]));
    format!("x1,x2,label\n{}", rows.collect::<String>())
}

/// The cells of a CSV without quotes.
pub fn cells(csv: &str) -> Vec<Vec<String>> {
    csv.lines().map(|line| line.split(',').map(String::from).collect()).collect()
}

pub fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("not JSON ({error}): {text}"))
}

/// Whether the file exists and is not empty.
pub fn written(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.len() > 0)
}
