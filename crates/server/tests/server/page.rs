//! The page inside the program is the one that the sources give.

use std::{fs, path::Path};

use crate::{client::get, fixture::Running};

/// `explorer/dist/sources.sha256` lists the files that the page was built from; if one of them changed, the page is stale.
#[test]
fn the_built_page_is_up_to_date() {
    use sha2::{Digest as _, Sha256};
    let explorer = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../explorer");
    let listed =
        fs::read_to_string(explorer.join("dist/sources.sha256")).expect("explorer/dist is committed");
    let remedy = "run `npm ci && npm run build` in explorer/ and commit dist/";
    let mut sources = 0;
    for line in listed.lines() {
        let (digest, path) = line.split_once("  ").expect("digest and path");
        let bytes = fs::read(explorer.join(path)).unwrap_or_else(|error| panic!("{path}: {error}; {remedy}"));
        let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, digest, "explorer/{path} changed since the page was built: {remedy}");
        sources += 1;
    }
    fn count(folder: &Path) -> usize {
        let entries = fs::read_dir(folder).unwrap().flatten();
        entries.map(|entry| if entry.path().is_dir() { count(&entry.path()) } else { 1 }).sum()
    }
    let others = 5; // index.html, two of npm's, tsconfig.json and the build script
    assert_eq!(sources, count(&explorer.join("src")) + others, "a source is not in the page: {remedy}");
}

#[test]
fn the_page_and_nothing_beside_it_is_served() {
    let address = Running::shared();
    let page = get(address, "/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert!(!page.text().contains("<script>"), "no script inside the page");
    assert_eq!(get(address, "/app.js").header("content-type"), Some("text/javascript; charset=utf-8"));
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/..%2fCargo.toml",
        "//etc/passwd",
        "/app.js/",
        "/.",
        "/src/main.tsx",
    ] {
        assert_eq!(get(address, path).status, 404, "{path}");
    }
}
