//! Runs the `console` blocks of every page, in order, in a directory of the page's own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use crate::{blocks::blocks, common::Bench, compare::agrees, fixture, pages, read, root};

/// A command and the lines that a page shows after it.
struct Step<'a> {
    command: &'a str,
    shown: Vec<&'a str>,
}

fn steps(body: &str) -> Vec<Step<'_>> {
    let mut steps: Vec<Step> = Vec::new();
    for line in body.lines() {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command, shown: Vec::new() }),
            (None, Some(step)) => step.shown.push(line),
            (None, None) => panic!("a console block begins with '$ ': {line}"),
        }
    }
    steps
}

/// Runs a command; what it printed on standard output. Progress goes to standard error, and depends on the machine.
fn run(bench: &Bench, command: &str) -> Result<String, String> {
    let program = Path::new(env!("CARGO_BIN_EXE_flowgmm"));
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).current_dir(bench.dir.path()).stdin(Stdio::null());
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FLOWGMM_")) {
        shell.env_remove(name);
    }
    shell.env("PATH", path).env("NO_COLOR", "1").env("COLUMNS", "100");
    shell.env("HOME", bench.dir.path()).env("XDG_CACHE_HOME", bench.path("cache"));
    let done = shell.output().map_err(|error| error.to_string())?;
    let printed = String::from_utf8_lossy(&done.stdout).into_owned();
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(printed) } else { Err(format!("exit {:?}: {said}", done.status.code())) }
}

/// What the page should show: what it shows, if it agrees; everything for `?`; else as many lines around a `...` as now.
fn shortened(shown: &[&str], printed: &[&str]) -> Vec<String> {
    if agrees(shown, printed).is_ok() {
        return shown.iter().map(ToString::to_string).collect();
    }
    // A line that agrees stays as it is: times are those of the machine they were first taken on.
    let kept = |line: &&str| {
        let same = shown.iter().find(|shown| agrees(&[shown], &[line]).is_ok());
        same.unwrap_or(line).to_string()
    };
    let own = |lines: &[&str]| lines.iter().map(kept).collect::<Vec<_>>();
    match shown.iter().position(|line| *line == "...") {
        None => own(printed),
        Some(head) => {
            let tail = shown.len() - head - 1;
            let (head, tail) = (head.min(printed.len()), tail.min(printed.len()));
            [own(&printed[..head]), vec!["...".into()], own(&printed[printed.len() - tail..])].concat()
        }
    }
}

/// Runs a page; what is wrong with it, and the page as it should be.
fn check(page: &str) -> (Vec<String>, String) {
    let text = read(page);
    let (mut wrong, mut new) = (Vec::new(), text.clone());
    let console: Vec<_> = blocks(&text).into_iter().filter(|block| block.kind == "console").collect();
    let bench = (!console.is_empty()).then(fixture::directory);
    for block in console {
        let mut body = String::new();
        for Step { command, shown } in steps(&block.body) {
            body += &format!("$ {command}\n");
            let printed = match run(bench.as_ref().expect("it has commands"), command) {
                Ok(printed) => printed,
                Err(what) => {
                    wrong.push(format!("{page}: {command}\n{what}"));
                    String::new()
                }
            };
            let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
            if shown.is_empty() {
                continue; // the page shows none of it
            }
            if let Err(what) = agrees(&shown, &printed) {
                wrong.push(format!("{page}: {command}\n{what}"));
            }
            body += &shortened(&shown, &printed).iter().map(|line| format!("{line}\n")).collect::<String>();
        }
        new = new.replace(&format!("```console\n{}```", block.body), &format!("```console\n{body}```"));
    }
    (wrong, new)
}

#[test]
fn commands_run_and_print_what_is_shown() {
    if cfg!(not(unix)) {
        println!("skipped: commands of the book need a POSIX shell");
        return;
    }
    let update = std::env::var_os("FLOWGMM_UPDATE_DOCS").is_some();
    let pages = pages::names(&root());
    let wrong: Vec<String> = thread::scope(|scope| {
        let halves = pages.chunks(pages.len().div_ceil(2)).map(|half| {
            scope.spawn(move || {
                let mut wrong = Vec::new();
                for page in half {
                    let (found, new) = check(page);
                    if update && new != read(page) {
                        fs::write(root().join(page), new).unwrap();
                    }
                    wrong.extend(found.into_iter().filter(|what| !update || what.contains("exit Some")));
                }
                wrong
            })
        });
        let halves: Vec<_> = halves.collect();
        halves.into_iter().flat_map(|half| half.join().unwrap()).collect()
    });
    assert!(
        wrong.is_empty(),
        "{}\n\nif this is meant: FLOWGMM_UPDATE_DOCS=1 cargo test --release -p flowgmm-cli --test book",
        wrong.join("\n\n")
    );
}

/// Every configuration in the book is one that `fit` takes.
#[test]
fn configurations_are_valid() {
    let bench = fixture::directory();
    for page in pages::names(&root()) {
        for block in blocks(&read(&page)).into_iter().filter(|block| block.kind == "toml") {
            bench.write("book.toml", &block.body);
            let printed = bench.ok(
                "fit examples/tumours/train.csv --label diagnosis --model m.flowgmm --config book.toml --print-config --quiet",
            );
            assert!(
                printed.contains("config file"),
                "{page}: nothing of the block on line {} counts",
                block.line
            );
        }
    }
}
