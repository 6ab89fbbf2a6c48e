//! The Python package in `python/`: a wheel is built, installed into a virtual environment of its own, and tested by pytest.
//!
//! Without Python 3.10 or newer, or without packages from pip, it says by name what it skips, and is no failure.
//! `FLOWGMM_PYTHON` names another interpreter; set to nothing, it skips the package.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode, Stdio},
};

const NAME: &str = "python_package";
/// What the tests need besides what the wheel asks for.
const TOOLS: [&str; 2] = ["maturin>=1.9,<2", "pytest"];
/// What tests are skipped without, by name.
const EXTRAS: [&str; 14] = [
    "pandas",
    "polars",
    "pyarrow",
    "mypy",
    "matplotlib",
    "onnx",
    "onnxruntime",
    "nbclient",
    "ipykernel",
    "tritonclient[http]", // asks a server, as its own clients would
    "pyspark==4.3.0",     // its tests also need Java
    "xgboost-cpu>=3.2,<4",
    "dask[dataframe]", // recipes of docs/scaling-out.md
    "ray[data]",
];

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
            println!("test {NAME} ... skipped: the Python package is not tested: {why}")
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
    let Some((python, version)) = interpreter() else {
        return Ok(Outcome::Skipped("there is no Python 3.10 or newer; FLOWGMM_PYTHON may name one".into()));
    };
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python");
    let temporary = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python");
    fs::create_dir_all(&temporary).map_err(|error| format!("{}: {error}", temporary.display()))?;
    let environment = temporary.join(format!("venv-{version}"));
    let own = environment.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    if !succeeds(Command::new(&own).args(["-m", "pip", "--version"])) {
        let made = Command::new(&python).args(["-m", "venv", "--clear"]).arg(&environment).output();
        if !made.is_ok_and(|made| made.status.success()) {
            return Ok(Outcome::Skipped(format!("{} cannot make a virtual environment", python.display())));
        }
    }
    let pip = |packages: &[&str]| {
        let mut pip = Command::new(&own);
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(packages);
        let done = pip.output().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&done.stderr).lines().last().unwrap_or_default().to_string();
        if done.status.success() { Ok(()) } else { Err(said) }
    };
    if let Err(why) = pip(&[&TOOLS[..], &["numpy", "scikit-learn"]].concat()) {
        return Ok(Outcome::Skipped(format!("pip cannot install {}: {why}", TOOLS.join(", "))));
    }
    for extra in EXTRAS {
        if let Err(why) = pip(&[extra]) {
            println!("skipped: tests of the Python package that need {extra}: {why}");
        }
    }
    let wheels = temporary.join("wheels");
    let _ = fs::remove_dir_all(&wheels); // of an earlier version
    // What the workspace has compiled is used again: the same crates, features and profile.
    let target =
        Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a directory of the target directory");
    let mut build = Command::new(&own);
    build.args(["-m", "maturin", "build", "--release", "--locked", "--quiet", "--manifest-path"]);
    build.arg(package.join("Cargo.toml")).arg("--interpreter").arg(&own).arg("--out").arg(&wheels);
    build.env("CARGO_TARGET_DIR", target).env_remove("RUSTFLAGS");
    run(&mut build, "maturin cannot build the wheel")?;
    let mut found = fs::read_dir(&wheels).map_err(|error| error.to_string())?.flatten();
    let wheel = found.next().ok_or("maturin built no wheel")?.path();
    let megabytes = fs::metadata(&wheel).map_err(|error| error.to_string())?.len() as f64 / 1e6;
    if megabytes > 25.0 {
        return Err(format!("the wheel has {megabytes:.1} MB; it shall have less than 25"));
    }
    let wheel = wheel.to_str().ok_or("a path that is no text")?;
    pip(&["--force-reinstall", "--no-deps", wheel])
        .map_err(|why| format!("pip cannot install the wheel: {why}"))?;
    let mut pytest = Command::new(&own);
    // The wheel is tested, not the source beside the tests, which has no extension module in it.
    pytest
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=append"])
        .arg(package.join("tests"));
    pytest.current_dir(&temporary).env("FLOWGMM_BINARY", env!("CARGO_BIN_EXE_flowgmm"));
    run(&mut pytest, "tests of the Python package fail")?;
    Ok(Outcome::Passed)
}

/// The first Python 3.10 or newer that runs, and its version, such as `3.12`.
fn interpreter() -> Option<(PathBuf, String)> {
    let named = env::var_os("FLOWGMM_PYTHON").map(|named| vec![PathBuf::from(named)]);
    let usual = || ["python3", "python"].map(PathBuf::from).to_vec();
    let asked = "import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2]); sys.exit(sys.version_info < (3, 10))";
    named.unwrap_or_else(usual).into_iter().filter(|python| !python.as_os_str().is_empty()).find_map(
        |python| {
            let answer = Command::new(&python)
                .args(["-c", asked])
                .output()
                .ok()
                .filter(|told| told.status.success())?;
            Some((python, String::from_utf8(answer.stdout).ok()?.trim().to_string()))
        },
    )
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

fn run(command: &mut Command, otherwise: &str) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("{otherwise}: {error}"))?;
    if status.success() { Ok(()) } else { Err(otherwise.into()) }
}
