//! What goes with a release: one version everywhere, notes for it, and promises whose tests are there.

use crate::{blocks::prose, read, root};

fn value_of(text: &str, key: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(key)).unwrap_or_else(|| panic!("no '{key}'"));
    line.trim_matches([' ', '=', ':', '"']).to_string()
}

#[test]
fn there_is_one_version_with_notes() {
    let version = value_of(&read("Cargo.toml"), "version");
    assert_eq!(value_of(&read("python/Cargo.toml"), "version"), version, "python/Cargo.toml");
    assert_eq!(value_of(&read("CITATION.cff"), "version"), version, "CITATION.cff");
    let notes = read("CHANGELOG.md");
    assert!(notes.lines().any(|line| line == format!("## {version}")), "CHANGELOG.md has no {version}");
}

/// A promise without a test is a hope: SECURITY.md names files, and they are there.
#[test]
fn promises_name_tests_that_exist() {
    let page = prose(&read("SECURITY.md"));
    let rows: Vec<&str> = page.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    for row in rows {
        let test = row.trim_end_matches([' ', '|']).rsplit(" | ").next().expect("a last cell");
        let paths: Vec<&str> = test.split('`').skip(1).step_by(2).filter(|name| name.contains('/')).collect();
        assert!(!paths.is_empty(), "no test in: {row}");
        for path in paths {
            assert!(root().join(path).exists(), "SECURITY.md: there is no {path}");
        }
    }
}
