//! The language of the README and the book: short sentences and the field's words. Spelling is checked by `typos` in `.ci/run`.

use crate::{blocks::prose, pages, read, root};

/// Most words of the README, code and tables included.
const README_WORDS: usize = 900;
/// Most words of a sentence.
const SENTENCE_WORDS: usize = 45;
/// Words that this project used where the field has others, and what it says instead.
const INSTEAD: [(&str, &str); 12] = [
    ("foretold", "predicted"),
    ("strangers", "out-of-distribution rows"),
    ("imagined", "pseudo_count"),
    ("arena", "bench"),
    ("rivals", "other learners"),
    ("utilize", "use"),
    ("in order to", "to"),
    ("shall", "must, or will"),
    ("hitherto", "so far"),
    ("simply put", "nothing"),
    ("blazing", "a number"),
    ("state-of-the-art", "a comparison"),
];

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= README_WORDS, "{words} words");
}

/// Pages made from the code and from test cases have the words of their sources.
fn written_by_hand() -> impl Iterator<Item = String> {
    let generated =
        ["docs/commands.md", "docs/errors.md", "docs/exit-codes.md", "docs/paper.md", "docs/SUMMARY.md"];
    pages::names(&root()).into_iter().filter(move |page| !generated.contains(&page.as_str()))
}

/// Sentences of paragraphs and lists: without code, tables, headings, comments and formulas.
fn sentences(text: &str) -> Vec<String> {
    let mut text = prose(text);
    while let Some((start, end)) = text.find("<!--").and_then(|s| Some((s, s + text[s..].find("-->")? + 3))) {
        text.replace_range(start..end, "");
    }
    let plain = |line: &&str| !line.starts_with(['|', '#', '<', '!']) && !line.contains("\\[");
    let lines: Vec<&str> = text.lines().filter(plain).collect();
    let paragraphs = lines.join("\n").replace("\n- ", "\n\n- ");
    let ends = |paragraph: &str| paragraph.replace('\n', " ");
    paragraphs
        .split("\n\n")
        .map(ends)
        .flat_map(|p| p.split_inclusive(['.', '?', ':', ';']).map(String::from).collect::<Vec<_>>())
        .collect()
}

#[test]
fn sentences_are_short_and_words_are_the_fields() {
    let mut wrong = Vec::new();
    for page in written_by_hand() {
        for sentence in sentences(&read(&page)) {
            let words: Vec<&str> = sentence.split_whitespace().collect();
            if words.len() > SENTENCE_WORDS {
                wrong.push(format!("{page}: {} words: {}", words.len(), sentence.trim()));
            }
            let twice =
                words.windows(2).find(|pair| pair[0] == pair[1] && pair[0].chars().all(char::is_alphabetic));
            if let Some(pair) = twice {
                wrong.push(format!("{page}: '{}' twice: {}", pair[0], sentence.trim()));
            }
            let lower = format!(" {} ", sentence.to_lowercase());
            for (word, instead) in INSTEAD {
                if lower.contains(&format!(" {word} ")) {
                    wrong.push(format!("{page}: '{word}': say {instead}: {}", sentence.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Units of what is measured.
const UNITS: [&str; 8] = ["%", "points", "s", "seconds", "ms", "MB", "GB", "GFLOP"];
/// Numbers with such a unit that no result of ours can change: levels of intervals, sets and p-values, limits that were set, numbers of
/// other papers, examples.
const GIVEN: [&str; 7] = ["95 %", "90 %", "5 %", "1 GB", "10 s", "80 %", "97.6 %"];

/// A measured number in a sentence comes from a committed result: it stands between markers.
#[test]
fn measured_numbers_are_filled_in() {
    let mut wrong = Vec::new();
    for page in written_by_hand().filter(|page| page != "docs/reproducing.md") {
        let mut text = prose(&read(&page));
        while let Some(start) = text.find("<!-- fill:").or_else(|| text.find("<!-- table:")) {
            let end = start + text[start..].find("<!-- end -->").expect("a marker has an end") + 12;
            text.replace_range(start..end, "FILLED");
        }
        let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with('|')).collect();
        let text = lines.join("\n");
        let without_code: String = text.split('`').step_by(2).collect();
        let words: Vec<&str> = without_code.split_whitespace().collect();
        for pair in words.windows(2) {
            let unit = pair[1].trim_end_matches(['.', ',', ';', ':', ')']);
            let number = pair[0].trim_start_matches('(');
            let measured = UNITS.contains(&unit) && number.replace(',', "").parse::<f64>().is_ok();
            if measured && !GIVEN.contains(&format!("{number} {unit}").as_str()) {
                wrong.push(format!("{page}: {number} {unit}"));
            }
        }
    }
    assert!(wrong.is_empty(), "not between markers: {wrong:#?}");
}

/// Messages that troubleshooting quotes are messages of the program.
#[test]
fn quoted_messages_are_real() {
    let known = read("docs/errors.md") + &read("crates/flowgmm/src/error.rs");
    let page = read("docs/troubleshooting.md");
    let quoted: Vec<&str> =
        page.split("**\"").skip(1).filter_map(|rest| Some(rest.split_once("\"**")?.0)).collect();
    assert!(quoted.len() >= 3, "{quoted:?}");
    for part in quoted.iter().flat_map(|message| message.split(" ... ")) {
        assert!(known.contains(part), "no message has the words '{part}'");
    }
}
