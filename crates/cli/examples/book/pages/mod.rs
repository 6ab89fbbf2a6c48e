//! What of the README and the book is generated.
//!
//! A page says what belongs where by markers, which readers do not see:
//!
//! ```text
//! accuracy <!-- fill:images/mnist-1000.json#/accuracy percent:2 -->99.11<!-- end -->
//!
//! <!-- table:table1 -->
//! (the table of experiments/table1.toml, as `flowgmm bench` makes it)
//! <!-- end -->
//! ```
//!
//! Figures are written to `docs/figures`, pages of the crates to their `README.md`.

mod commands;
mod crates;
mod figures;
mod number;
mod results;
mod settings;
mod source;
mod spark;
mod tables;

use std::{fs, path::Path};

use results::Results;

/// A generated file.
pub struct Page {
    /// Its path from the root of the repository.
    pub path: String,
    /// What it should contain.
    pub text: String,
}

const END: &str = "<!-- end -->";
const KINDS: [&str; 2] = ["<!-- fill:", "<!-- table:"];

/// The pages of the README and the book, from the root of the repository.
pub fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root.join("docs")).expect("the book is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    names.sort();
    names.insert(0, "README.md".into());
    names
}

/// The generated files that are not what they should be.
pub fn stale(root: &Path) -> Result<Vec<Page>, String> {
    let results = Results::new(root);
    let mut pages = figures::all(&results)?;
    pages.extend(crates::all(root)?);
    for path in names(root) {
        let text = fs::read_to_string(root.join(&path)).map_err(|error| format!("{path}: {error}"))?;
        let text = filled(&text, &results).map_err(|what| format!("{path}: {what}"))?;
        pages.push(Page { path, text });
    }
    pages.retain(|page| fs::read_to_string(root.join(&page.path)).ok().as_ref() != Some(&page.text));
    Ok(pages)
}

/// The text with everything between markers made anew.
fn filled(text: &str, results: &Results) -> Result<String, String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = KINDS.iter().filter_map(|kind| rest.find(kind)).min() {
        let (before, marked) = rest.split_at(at);
        let (marker, after) = marked.split_once(" -->").ok_or("a marker without an end")?;
        let (old, after) = after.split_once(END).ok_or(format!("no '{END}' after '{marker} -->'"))?;
        if KINDS.iter().any(|kind| old.contains(kind)) {
            return Err(format!("another marker before the '{END}' of '{marker} -->'"));
        }
        let (kind, name) = marker.trim_start_matches("<!-- ").split_once(':').expect("a kind and a name");
        let new = if kind == "table" { tables::of_plan(results, name)? } else { fill(results, name)? };
        let new = match old.starts_with('\n') {
            true => format!("\n{}\n", new.trim_end()),
            false if before.is_empty() || before.ends_with('\n') => {
                return Err(format!(
                    "'{marker} -->' begins a line, which ends the paragraph: begin with a word"
                ));
            }
            false => new,
        };
        out += &format!("{before}{marker} -->{new}{END}");
        rest = after;
    }
    Ok(out + rest)
}

/// What belongs where this name stands: a block of its own, or one number from a file of results.
fn fill(results: &Results, name: &str) -> Result<String, String> {
    Ok(match name {
        "commands" => commands::reference(),
        "global-options" => commands::global_options(),
        "settings" => settings::reference(&results.root)?,
        "core-table" => tables::core(results)?,
        "small-summary" => tables::small(results)?,
        "small-suite" => tables::suite(results, "small")?,
        "mnist" => tables::mnist(results)?,
        "trust" => tables::trust(results)?,
        "detection" => tables::detection(results)?,
        "scaling" => tables::scaling(results)?,
        "peers" => tables::peers(results, "avx512")?,
        "peers-avx2" => tables::peers(results, "avx2")?,
        "spark-steps" => spark::steps(results)?,
        "spark-parts" => spark::parts(results)?,
        "spark-reductions" => spark::reductions(results)?,
        "spark-model" => spark::model(results)?,
        "spark-scoring" => spark::scoring(results)?,
        "paper-items" => tables::paper(&results.root),
        _ => match name.strip_prefix("figure:") {
            Some(figure) => figures::shown(results, figure)?,
            None => number::of(results, name)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_replaced_and_a_wrong_marker_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let results = Results::new(&root);
        let text = "A <!-- fill:core.json#/runs/0/labels count -->7<!-- end --> b.";
        assert_eq!(filled(text, &results).unwrap(), text.replace('7', "10"));
        let error = |text: &str| filled(text, &results).unwrap_err();
        assert!(error("<!-- fill:nothing -->x<!-- end -->").contains("nothing"));
        assert!(error("<!-- fill:core.json#/none count -->x<!-- end -->").contains("/none"));
        assert!(error("a\n<!-- fill:small-tables -->x<!-- end -->").contains("begins a line"));
        assert!(error("<!-- fill:core-table -->x").contains("no '<!-- end -->'"));
        assert!(error("<!-- fill:a --><!-- fill:b --><!-- end -->").contains("another marker"));
    }
}
