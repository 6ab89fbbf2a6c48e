//! Links of the README, the book and the other pages: files and headings that are there, and a summary that lists every page.

use std::{collections::BTreeSet, fs, path::Path};

use crate::{blocks::prose, pages, read, root};

/// Pages beside README and book.
fn others() -> Vec<String> {
    let mut found: Vec<String> =
        ["ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
            .into_iter()
            .chain(["python/README.md", "examples/README.md", "experiments/README.md"])
            .map(String::from)
            .collect();
    let crates = fs::read_dir(root().join("crates")).unwrap().flatten();
    let readme = |entry: fs::DirEntry| format!("crates/{}/README.md", entry.file_name().to_string_lossy());
    found.extend(crates.map(readme).filter(|page| root().join(page).exists()));
    found
}

/// The targets of `[text](target)`.
fn targets(text: &str) -> Vec<String> {
    let prose = prose(text);
    let parts = prose.split("](").skip(1);
    parts.filter_map(|rest| Some(rest.split_once(')')?.0.trim().to_string())).collect()
}

/// The anchors of a page's headings, as GitHub and mdBook make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings = prose(text);
    let slug = |heading: &str| {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
    };
    headings
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(|line| slug(line.trim_start_matches('#')))
        .collect()
}

#[test]
fn links_lead_somewhere() {
    let mut wrong = Vec::new();
    for page in pages::names(&root()).into_iter().chain(others()) {
        let directory = root().join(&page).parent().unwrap().to_path_buf();
        let text = read(&page);
        for target in targets(&text) {
            if target.is_empty() && page == "docs/SUMMARY.md" {
                continue; // a chapter that is not written yet
            }
            if target.starts_with("https://") {
                continue; // not looked up
            }
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { root().join(&page) } else { directory.join(file) };
            if page.starts_with("docs/") && file.starts_with("..") {
                wrong.push(format!("{page}: {target}: the built book has nothing outside of docs/"));
            }
            if !path.exists() {
                wrong.push(format!("{page}: {target}: no such file"));
            } else if !anchor.is_empty() && !anchors(&fs::read_to_string(&path).unwrap()).contains(anchor) {
                wrong.push(format!("{page}: {target}: no such heading"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_summary_lists_every_page() {
    let listed: BTreeSet<String> = targets(&read("docs/SUMMARY.md")).into_iter().collect();
    for page in pages::names(&root()) {
        let Some(name) = page.strip_prefix("docs/").filter(|name| *name != "SUMMARY.md") else { continue };
        assert!(listed.contains(name), "docs/SUMMARY.md does not list {name}");
    }
}

#[test]
fn figures_are_shown() {
    let pages: String = pages::names(&root()).iter().map(|page| read(page)).collect();
    for entry in fs::read_dir(root().join("docs/figures")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(pages.contains(&format!("figures/{name}")), "docs/figures/{name} is on no page");
    }
}

/// Every crate has a page with an example for crates.io, and its manifest says so.
#[test]
fn every_crate_has_a_page_with_an_example() {
    for entry in fs::read_dir(root().join("crates")).unwrap().flatten() {
        let directory = entry.path();
        let page = fs::read_to_string(directory.join("README.md")).unwrap_or_default();
        let manifest = fs::read_to_string(directory.join("Cargo.toml")).unwrap();
        let name = Path::new(&entry.file_name()).display().to_string();
        assert!(
            page.contains("```"),
            "crates/{name}: no example on the front page of its documentation, or `cargo run --release --example book` has not been run"
        );
        assert!(manifest.contains("readme = \"README.md\""), "crates/{name}/Cargo.toml names no readme");
    }
}
