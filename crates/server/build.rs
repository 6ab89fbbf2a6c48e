//! Puts the explorer's built files into the program: a table of their names and bytes.

use std::{env, fs, path::Path};

fn main() {
    let dist = Path::new(&env::var("CARGO_MANIFEST_DIR").expect("cargo says it")).join("../../explorer/dist");
    println!("cargo::rerun-if-changed={}", dist.display());
    let mut names: Vec<String> = fs::read_dir(&dist)
        .map(|files| files.flatten().filter(|file| file.path().is_file()).collect::<Vec<_>>())
        .unwrap_or_default()
        .into_iter()
        .filter_map(|file| file.file_name().into_string().ok())
        .collect();
    names.sort();
    let mut table = String::from("&[\n");
    for name in names {
        let path = fs::canonicalize(dist.join(&name)).expect("a file that was just listed");
        table += &format!("    ({name:?}, include_bytes!({:?})),\n", path.display().to_string());
    }
    table += "]\n";
    let out = Path::new(&env::var("OUT_DIR").expect("cargo says it")).join("assets.rs");
    fs::write(out, table).expect("the build directory can be written");
}
