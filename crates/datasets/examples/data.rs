//! Lists, fetches and checks datasets: `cargo run -p flowgmm-datasets --example data -- list | get NAME | check NAME`.

use std::{ops::ControlFlow, process::ExitCode};

use flowgmm_datasets::{Checked, Result, State, Store, StoreOptions, list};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["list"] => print_list(),
        ["get", name] => get(name),
        ["check", name] => check(name),
        _ => {
            eprintln!("expected list, get NAME or check NAME");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn store() -> Store {
    Store::new(StoreOptions::from_variables(|name| std::env::var_os(name)))
}

fn print_list() -> Result<()> {
    for dataset in list() {
        println!("{:14} {} ({})", dataset.name, dataset.title, dataset.licence);
    }
    Ok(())
}

fn get(name: &str) -> Result<()> {
    let fetched = store().get(name, &mut |progress| {
        let total = progress.total.map_or("?".to_string(), |total| total.to_string());
        eprint!(
            "\r{}: {} of {total} bytes {}",
            progress.file,
            progress.done,
            progress.waiting.unwrap_or_default()
        );
        ControlFlow::Continue(())
    })?;
    eprintln!();
    for file in fetched {
        println!("{}: {}", file.path.display(), how(file.checked));
    }
    Ok(())
}

fn check(name: &str) -> Result<()> {
    for check in store().check(name)? {
        match check.state {
            State::Present(path, checked) => println!("present  {} ({})", path.display(), how(checked)),
            State::Damaged(_, error) => println!("damaged  {error}"),
            State::Absent(_) => println!("absent   {}", check.file),
        }
    }
    Ok(())
}

fn how(checked: Checked) -> String {
    match checked {
        Checked::Checksum(kind) => format!("{kind} is right"),
        Checked::Size => "size is right, no checksum is known".into(),
        Checked::Nothing => "not checked: no checksum is known".into(),
    }
}
