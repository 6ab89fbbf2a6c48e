//! Pages of the crates for crates.io: what the front page of each crate's documentation says first, and its example, which is a
//! doctest.

use std::{fs, path::Path};

use super::Page;

pub fn all(root: &Path) -> Result<Vec<Page>, String> {
    let entries = fs::read_dir(root.join("crates")).map_err(|error| error.to_string())?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let pages = names.iter().map(|name| page(root, name));
    pages.filter_map(Result::transpose).collect()
}

/// The page of a crate; nothing if its front page has no example, which a test of the book names.
fn page(root: &Path, name: &str) -> Result<Option<Page>, String> {
    let read = |file: &str| {
        let path = root.join("crates").join(name).join(file);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    let (source, manifest) = (read("src/lib.rs")?, read("Cargo.toml")?);
    let called =
        manifest.lines().find_map(|line| line.strip_prefix("name = ")).unwrap_or(name).trim_matches('"');
    let front: Vec<&str> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!").map(|line| line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    let first: Vec<&str> = front.iter().copied().take_while(|line| !line.is_empty()).collect();
    let Some(example) = example(&front) else { return Ok(None) };
    let first = without_links(&first.join("\n"));
    let text = format!(
        "# {called}\n\n{first}\n\n```rust\n{example}```\n\nA crate of flowgmm, semi-supervised learning with normalizing flows: few \
         labels, many rows, one model.\nMIT or Apache-2.0, at your choice.\n"
    );
    Ok(Some(Page { path: format!("crates/{name}/README.md"), text }))
}

/// The first example in Rust, without its hidden lines.
fn example(front: &[&str]) -> Option<String> {
    let start = front
        .iter()
        .position(|line| matches!(*line, "```" | "```no_run" | "```rust") && !ends_a_block(front, line))?;
    let lines = front[start + 1..].iter().take_while(|line| **line != "```");
    Some(lines.filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect())
}

/// Whether a fence ends a block: an odd number of fences is before it.
fn ends_a_block(front: &[&str], fence: &&str) -> bool {
    let before = front.iter().take_while(|line| !std::ptr::eq(*line, fence));
    before.filter(|line| line.starts_with("```")).count() % 2 == 1
}

/// `` [`Name`](path) `` and `` [`Name`] `` as `` `Name` ``.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("[`") {
        let Some((name, after)) = after.split_once("`]") else { break };
        out += &format!("{before}`{name}`");
        rest = match after.strip_prefix('(').and_then(|after| after.split_once(')')) {
            Some((_, after)) => after,
            None => after,
        };
    }
    out + rest
}
