//! Writes the generated parts of the README and the book: tables and numbers from committed results, plots, and the
//! reference of commands and settings.
//!
//!     cargo run --release --example book               # writes them
//!     cargo run --release --example book -- --check    # fails if one is stale; `cargo test` does the same

mod pages;

use std::{fs, path::Path, process::ExitCode};

fn main() -> ExitCode {
    let check = match std::env::args().skip(1).collect::<Vec<_>>().as_slice() {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => {
            eprintln!("usage: book [--check]");
            return ExitCode::from(2);
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let stale = match pages::stale(&root) {
        Ok(stale) => stale,
        Err(what) => {
            eprintln!("error: {what}");
            return ExitCode::FAILURE;
        }
    };
    for page in &stale {
        if check {
            println!("stale: {}", page.path);
            continue;
        }
        let path = root.join(&page.path);
        fs::create_dir_all(path.parent().expect("a file of a directory")).expect("a directory can be made");
        fs::write(&path, &page.text).expect("the page can be written");
        println!("wrote {}", page.path);
    }
    if check && !stale.is_empty() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
