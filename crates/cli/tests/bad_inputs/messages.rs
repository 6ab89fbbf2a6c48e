//! `docs/errors.md`: the messages of all cases, as the program gave them, for readers who search for theirs.
//!
//! The words of a message must be those of the page. Numbers may differ, since some are of the machine: cores, free memory.

use std::{fs, path::Path, sync::Mutex};

/// Themes are tested at the same time.
static PAGE: Mutex<()> = Mutex::new(());

const HEAD: &str = "# Error messages\n\nEvery mistake that is tested, and what flowgmm says about it. Search this page for the words of your message. \
                    [Exit codes](exit-codes.md) has the codes.\n";

/// Compares a theme's part of the page with what was said, or writes it.
pub fn check(theme: &str, said: &[(&str, String)], directory: &Path) {
    let rows = said.iter().map(|(about, message)| format!("| {about} | {} |\n", cell(message, directory)));
    let fresh = format!("## {theme}\n\n| mistake | message |\n|---|---|\n{}", rows.collect::<String>());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors.md");
    let _page = PAGE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let text = fs::read_to_string(&path).unwrap_or_else(|_| HEAD.into());
    let mut parts: Vec<String> = text.split("\n## ").map(String::from).collect();
    let mine = |part: &String| part.lines().next() == Some(theme);
    let found = parts.iter().find(|part| mine(part)).map(|part| format!("## {}\n", part.trim_end()));
    if found.as_deref().is_some_and(|found| words(found) == words(&fresh)) {
        return;
    }
    assert!(
        std::env::var_os("FLOWGMM_UPDATE_DOCS").is_some(),
        "docs/errors.md is stale: run this test with FLOWGMM_UPDATE_DOCS=1\n{fresh}"
    );
    let body = fresh.trim_start_matches("## ").to_string();
    match parts.iter().position(mine) {
        Some(at) => parts[at] = body,
        None => parts.push(body),
    }
    let order = |part: &String| {
        let name = part.lines().next().unwrap_or_default().to_string();
        crate::themes().iter().position(|(theme, _)| *theme == name).map_or(0, |at| at + 1)
    };
    parts.sort_by_key(order);
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    fs::write(&path, parts.join("\n\n## ") + "\n").unwrap();
}

/// The message as a cell of a table: what follows `error:` up to the usage, without the temporary directory.
fn cell(message: &str, directory: &Path) -> String {
    let message = message.split_once("error:").map_or(message, |(_, message)| message).trim();
    let message = message.split("\n\nUsage:").next().unwrap_or_default();
    let message = message.split("\n\nFor more information").next().unwrap_or_default();
    let message = message.replace(&directory.display().to_string(), "DIRECTORY");
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    line.replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*").replace('`', "'")
}

/// A text without its numbers.
fn words(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_ascii_digit()).collect()
}
