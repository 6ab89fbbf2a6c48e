//! The page that maps the paper to the code names code, learners, settings, options and items that are there.

use std::{fs, path::Path};

use flowgmm_bench::paper::items;

use crate::{read, root};

const PAGE: &str = "docs/paper.md";
/// Names of one word that are no functions.
const COMMANDS: [&str; 2] = ["fit", "explain"];
const LEARNERS: [&str; 4] = ["paper", "mlp", "m1m2", "diglm"];

/// What a span of code on the page names.
#[derive(Debug, PartialEq)]
enum Named<'a> {
    /// `crate::Type::function`, or a part of that.
    Code(Vec<&'a str>),
    /// A learner or preset: `paper-knn/K` without its settings.
    Learner(&'a str),
    /// A configuration key, such as `train.em`.
    Setting(&'a str),
    /// A key of a plan: `validation = 5000`.
    Plan(&'a str),
    /// A command with its arguments.
    Command(&'a str),
    /// A file of the repository.
    File(&'a str),
}

impl<'a> Named<'a> {
    fn of(span: &'a str) -> Self {
        let span = span.split_once(" {").map_or(span, |(name, _)| name);
        if let Some((key, _)) = span.split_once(" = ") {
            Self::Plan(key)
        } else if span.contains("--") || span.starts_with("flowgmm ") || COMMANDS.contains(&span) {
            Self::Command(span)
        } else if span.ends_with(".md") {
            Self::File(span)
        } else if span.contains('.') {
            Self::Setting(span)
        } else if span.contains("::") || span.contains('_') || span.starts_with(char::is_uppercase) {
            Self::Code(span.split("::").collect())
        } else if span.contains('-') || LEARNERS.contains(&span) {
            Self::Learner(span.split('/').next().unwrap_or(span))
        } else {
            Self::Code(vec![span])
        }
    }

    fn is_there(&self) -> bool {
        match self {
            Self::Code(path) => code_is_there(path),
            Self::Learner(name) => sources("crates").iter().any(|file| file.contains(&format!("\"{name}"))),
            Self::Setting(key) => read("docs/settings.md").contains(&format!("| `{key}")),
            Self::Plan(key) => {
                let option = format!("option(dataset, \"{key}\")");
                sources("crates/bench/src").iter().any(|text| has_field(text, key) || text.contains(&option))
            }
            Self::Command(line) => command_is_there(line),
            Self::File(path) => root().join(path).is_file(),
        }
    }
}

/// Whether commands, options and items of the paper are those of the reference page.
fn command_is_there(line: &str) -> bool {
    let reference = read("docs/commands.md");
    let words: Vec<&str> = line.trim_start_matches("flowgmm").split_whitespace().collect();
    let item = words.first() == Some(&"paper") && words.get(1).is_some_and(|word| !word.starts_with('-'));
    let known = |(at, word): (usize, &&str)| match word {
        word if word.starts_with("--") => reference.contains(word),
        word if item && at == 1 => items().iter().any(|item| item.id == *word),
        word => reference.contains(&format!("flowgmm {word}")),
    };
    words.iter().enumerate().all(known)
}

/// The sources below a folder.
fn sources(folder: &str) -> Vec<String> {
    fn walk(folder: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let skipped = ["tests", "target", "examples"].iter().any(|name| path.ends_with(name));
            if path.is_dir() && !skipped {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root().join(folder), &mut found);
    found
}

/// Whether the crate a path begins with, or any, defines its last name, in a file that knows the type before it.
fn code_is_there(path: &[&str]) -> bool {
    let own = path.first().filter(|name| root().join("crates").join(name).is_dir());
    let files = sources(&own.map_or("crates".to_string(), |name| format!("crates/{name}/src")));
    let (name, before) = path.split_last().expect("a name");
    let owner = before.last().filter(|word| word.starts_with(char::is_uppercase));
    let has = |text: &String| defines(text, name) || owner.is_some() && has_field(text, name);
    files.iter().any(|text| has(text) && owner.is_none_or(|owner| owns(text, owner)))
}

/// Whether a line of the text defines an item, a method or a variant of this name.
fn defines(text: &str, name: &str) -> bool {
    const ITEMS: [&str; 6] = ["fn", "struct", "enum", "trait", "mod", "type"];
    let is_it = |word: &str| word.split(|c: char| !c.is_alphanumeric() && c != '_').next() == Some(name);
    text.lines().any(|line| {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        let (first, second) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let variant = name.starts_with(char::is_uppercase) && is_it(first) && !line.contains("=>");
        ITEMS.contains(&first) && is_it(second)
            || variant && !first.contains("::") && line.starts_with("    ")
    })
}

/// Whether a struct of the text has a public field of this name.
fn has_field(text: &str, name: &str) -> bool {
    let is_it =
        |line: &str| line.starts_with("pub") && line.split_whitespace().nth(1) == Some(&format!("{name}:"));
    text.lines().any(|line| is_it(line.trim()))
}

/// Whether the text has the definition of a type, or methods of it.
fn owns(text: &str, owner: &str) -> bool {
    let kinds = ["struct", "enum", "trait"].iter().any(|kind| text.contains(&format!("{kind} {owner}")));
    kinds || text.lines().any(|line| line.starts_with("impl") && line.contains(owner))
}

/// The spans of code in a page.
fn spans(page: &str) -> Vec<&str> {
    page.split('`').skip(1).step_by(2).collect()
}

#[test]
fn what_the_paper_is_mapped_to_is_there() {
    let page = read(PAGE);
    let spans = spans(&page);
    assert!(spans.len() > 60, "{} spans", spans.len());
    let absent: Vec<&&str> = spans.iter().filter(|span| !Named::of(span).is_there()).collect();
    assert!(absent.is_empty(), "{PAGE} names what is not there: {absent:?}");
}

/// Every equation and appendix with a function has its row.
#[test]
fn every_equation_and_appendix_has_its_row() {
    let page = read(PAGE);
    let rows: Vec<&str> =
        page.lines().filter_map(|line| Some(line.strip_prefix("| ")?.split(" |").next()?.trim())).collect();
    let wanted = (1..=8).map(|n| n.to_string()).chain(('A'..='H').map(String::from));
    let missing: Vec<String> = wanted.filter(|name| !rows.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "no row of {missing:?}");
}

#[test]
fn names_that_are_nowhere_are_found_out() {
    for wrong in [
        "core::analysis::boundaries",
        "core::Densities::log_nothing",
        "core::Means::visualise_feature",
        "semisup::Mixture",
        "paper-nearest/K",
        "train.expectation",
        "flowgmm paper figure9 --run",
        "flowgmm sample --dreams",
        "nothing = 3",
        "docs/nothing.md",
    ] {
        assert!(!Named::of(wrong).is_there(), "{wrong}");
    }
}
