//! The README and the book: generated parts are current, commands run and print what is shown, links lead somewhere.
//!
//! After a change of what commands print, or of results:
//!
//!     cargo run --release --example book
//!     FLOWGMM_UPDATE_DOCS=1 cargo test --release -p flowgmm-cli --test book
//!
//! Rust in the book is tested by `cargo test --doc -p flowgmm`, Python by the tests of the Python package.

#[path = "../common/mod.rs"]
mod common;
#[path = "../../examples/book/pages/mod.rs"]
mod pages;
#[path = "../../../encoder/tests/common/mod.rs"]
mod tiny;

mod blocks;
mod compare;
mod console;
mod fixture;
mod links;
mod paper;
mod prose;
mod release;

use std::{
    fs,
    path::{Path, PathBuf},
};

use blocks::blocks;

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn generated_parts_are_current() {
    let stale: Vec<String> = pages::stale(&root()).unwrap().into_iter().map(|page| page.path).collect();
    assert!(stale.is_empty(), "stale: {stale:?}; run: cargo run --release --example book");
}

/// Lines of `sh` blocks: they install or build, and run outside of this test.
const RUN_ELSEWHERE: [(&str, &str); 9] = [
    ("pip install ./python", "tests/python.rs builds and installs the wheel"),
    ("pip install \"./python[plot]\"", "the same, with matplotlib"),
    ("cargo install --path crates/cli", "`cargo build` of the tests compiles the same"),
    ("cargo run --release -- demo", "tests/end_to_end.rs runs the demo"),
    ("cargo test --release --workspace", "is running"),
    (
        "cargo run --release --example rows -- 3000 20 100 > few.csv",
        "tests/streams.rs has tables of its size",
    ),
    ("cargo run --release --example rows -- 10600000 20 0 7 > many.csv", "2 GB"),
    ("scripts/release.sh", "by hand, before a release"),
    (
        "podman build --tag flowgmm --file Containerfile target/dist",
        "by hand, where there is a container engine",
    ),
];

#[test]
fn every_block_is_of_a_kind_that_is_tested() {
    for page in pages::names(&root()) {
        for block in blocks(&read(&page)) {
            match block.kind.as_str() {
                "console" | "rust" | "python" | "toml" | "text" => {}
                "sh" => {
                    for line in block.body.lines().filter(|line| !line.trim().is_empty()) {
                        let line = line.split(" # ").next().unwrap().trim();
                        assert!(
                            RUN_ELSEWHERE.iter().any(|(known, _)| *known == line),
                            "{page}: nothing runs '{line}'; make it a console block"
                        );
                    }
                }
                other => panic!("{page}: a block of kind '{other}' on line {}", block.line),
            }
        }
    }
}

/// The example in Rust of the README is that of the library's front page, which is a doctest.
#[test]
fn rust_in_the_readme_is_a_doctest() {
    let front = read("crates/flowgmm/src/lib.rs");
    let visible = |line: &&str| !line.starts_with("# ");
    let shown: Vec<&str> = front
        .lines()
        .filter_map(|line| line.strip_prefix("//!").map(|line| line.strip_prefix(' ').unwrap_or(line)))
        .filter(visible)
        .collect();
    let shown = shown.join("\n");
    for block in blocks(&read("README.md")).into_iter().filter(|block| block.kind == "rust") {
        assert!(
            shown.contains(block.body.trim_end()),
            "not on the front page of the library:\n{}",
            block.body
        );
    }
}

/// Examples in Rust are in pages that the library includes as documentation.
#[test]
fn rust_in_the_book_is_a_doctest() {
    let front = read("crates/flowgmm/src/lib.rs");
    for page in pages::names(&root()).iter().filter(|page| page.starts_with("docs/")) {
        if blocks(&read(page)).iter().any(|block| block.kind == "rust") {
            assert!(front.contains(&format!("include_str!(\"../../../{page}\")")), "{page} is not a doctest");
        }
    }
}

/// Examples in Python are in pages that tests of the Python package name.
#[test]
fn python_in_the_book_is_run() {
    let tests = texts_below(&root().join("python/tests"));
    for page in pages::names(&root()) {
        let name = page.rsplit('/').next().expect("a file");
        if blocks(&read(&page)).iter().any(|block| block.kind == "python") {
            assert!(tests.contains(name), "{page} is named by no test of python/tests");
        }
    }
}

/// All Python below a directory.
fn texts_below(directory: &Path) -> String {
    let entries = fs::read_dir(directory).unwrap().flatten().map(|entry| entry.path());
    let text = |path: PathBuf| match path.is_dir() {
        true => texts_below(&path),
        false if path.extension().is_some_and(|ending| ending == "py") => fs::read_to_string(&path).unwrap(),
        false => String::new(),
    };
    entries.map(text).collect()
}
