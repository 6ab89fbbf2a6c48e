//! `flowgmm data`: the datasets of the paper: what there is, fetching it, and whether it is whole.

use std::{ops::ControlFlow, path::PathBuf};

use clap::Subcommand;
use flowgmm::datasets::{Checked, Dataset, State, Store, StoreOptions, list};
use serde_json::{Value, json};

use crate::{
    Global,
    exit::{Failure, Result},
    interrupt, output,
    progress::Counter,
    text,
};

/// Arguments of `data`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Which datasets are known
    List,
    /// Download datasets that are not there yet; an interrupted download goes on where it stopped
    Get {
        /// Names, as `flowgmm data list` gives them
        #[arg(required = true, value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        place: Where,
    },
    /// Say which files are there, and whether they are whole
    Check {
        /// Names [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        #[command(flatten)]
        place: Where,
    },
}

/// Where files are looked for, and put.
#[derive(clap::Args)]
struct Where {
    /// Directory to look in first, and to download to [default: FLOWGMM_DATA, else a cache]
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
    /// Never use the network, and look in --dir alone
    #[arg(long, requires = "dir")]
    offline: bool,
}

impl Where {
    fn store(&self) -> Store {
        match &self.dir {
            Some(dir) if self.offline => Store::offline(dir),
            Some(dir) => from_variables().with_directory(dir),
            None => from_variables(),
        }
    }
}

/// Where environment variables say that datasets are, and how the network is reached.
fn from_variables() -> Store {
    Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)))
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    match &args.action {
        Action::List => print_list(global.json),
        Action::Get { names, place } => get(names, &place.store(), global.quiet),
        Action::Check { names, place } => check(names, &place.store(), global.json),
    }
}

fn print_list(json: bool) -> Result<()> {
    if json {
        let describe = |d: &Dataset| {
            let files =
                d.files.iter().map(|file| json!({"name": file.name, "urls": file.urls, "bytes": file.size}));
            json!({"name": d.name, "title": d.title, "licence": d.licence, "home": d.home,
                "files": files.collect::<Vec<_>>()})
        };
        return output::print_json(&Value::Array(list().map(describe).collect()));
    }
    let head = ["name", "what", "licence"].map(String::from).to_vec();
    let rows = list().map(|d| vec![d.name.to_string(), d.title.to_string(), d.licence.to_string()]);
    output::print(&text::left_columns(&[head].into_iter().chain(rows).collect::<Vec<_>>()))
}

fn get(names: &[String], store: &Store, quiet: bool) -> Result<()> {
    interrupt::listen()?;
    let mut counter = Counter::new(quiet);
    for name in names {
        let fetched = store.get(name, &mut |progress| {
            let total = progress.total.unwrap_or(progress.done);
            counter.count(progress.file, as_count(progress.done), as_count(total));
            if interrupt::wanted() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let lines = fetched?.into_iter().map(|file| {
            let before = if file.was_there { "was there" } else { "fetched" };
            format!("{}: {before}, {}\n", file.path.display(), how(file.checked))
        });
        output::print(&lines.collect::<String>())?;
    }
    Ok(())
}

fn as_count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn check(names: &[String], store: &Store, json: bool) -> Result<()> {
    let all = || list().map(|dataset| dataset.name.to_string()).collect();
    let names: Vec<String> = if names.is_empty() { all() } else { names.to_vec() };
    let (mut rows, mut damaged) = (Vec::new(), Vec::new());
    for name in &names {
        for found in store.check(name)? {
            let (state, detail) = match &found.state {
                State::Present(path, checked) => {
                    ("present", format!("{} ({})", path.display(), how(*checked)))
                }
                State::Damaged(_, error) => ("damaged", error.to_string()),
                State::Absent(_) => {
                    ("absent", format!("{}; fetch it with: flowgmm data get {name}", found.file))
                }
            };
            if state == "damaged" {
                damaged.push(found.file.to_string());
            }
            rows.push([name.clone(), found.file.to_string(), state.into(), detail]);
        }
    }
    if json {
        let row = |[name, file, state, detail]: [String; 4]| json!({"dataset": name, "file": file, "state": state, "detail": detail});
        output::print_json(&Value::Array(rows.into_iter().map(row).collect()))?;
    } else {
        let line = |[name, _, state, detail]: [String; 4]| format!("{state:8} {name:14} {detail}\n");
        output::print(&rows.into_iter().map(line).collect::<String>())?;
    }
    match damaged.len() {
        0 => Ok(()),
        n => Err(Failure::Data(format!("{n} damaged: {}", damaged.join(", ")))),
    }
}

fn how(checked: Checked) -> String {
    match checked {
        Checked::Checksum(kind) => format!("{kind} is right"),
        Checked::Size => "size is right, no checksum is known".into(),
        Checked::Nothing => "not checked: no checksum is known".into(),
    }
}
