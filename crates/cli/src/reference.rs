//! `flowgmm completions` and `flowgmm man`: what shells and manuals know of the commands.

use std::{fs, io, path::PathBuf};

use clap_complete::Shell;

use crate::{
    Global,
    exit::{Failure, Result},
    output::{self, write_whole},
    text,
};

/// Arguments of `completions`.
#[derive(clap::Args)]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Arguments of `man`.
#[derive(clap::Args)]
pub struct ManArgs {
    /// The command [default: flowgmm itself]
    #[arg(value_name = "COMMAND")]
    command: Option<String>,
    /// Write the pages of all commands to this directory
    #[arg(short, long, value_name = "DIR", conflicts_with = "command")]
    out: Option<PathBuf>,
}

/// Runs `completions`.
pub fn completions(args: &CompletionsArgs, mut command: clap::Command) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "flowgmm", &mut script);
    output::print(&String::from_utf8(script).expect("our own text"))
}

/// Runs `man`.
pub fn man(args: &ManArgs, mut program: clap::Command, global: &Global) -> Result<()> {
    program.build();
    if let Some(directory) = &args.out {
        fs::create_dir_all(directory).map_err(Failure::io(directory))?;
        let pages: Vec<clap::Command> =
            [program.clone()].into_iter().chain(program.get_subcommands().cloned()).collect();
        for command in pages.iter().filter(|command| command.get_name() != "help") {
            let name = page_name(command);
            write_whole(&directory.join(format!("{name}.1")), &page(command.clone()).map_err(on_memory)?)?;
        }
        if !global.quiet {
            output::say(&format!("manual pages are in {}", text::path(directory)));
        }
        return Ok(());
    }
    let command = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            let known = program.get_subcommands().map(clap::Command::get_name).collect::<Vec<_>>().join(", ");
            Failure::Usage(format!("no command '{name}'; there are {known}"))
        })?,
    };
    output::print(&String::from_utf8(page(command).map_err(on_memory)?).expect("our own text"))
}

fn page_name(command: &clap::Command) -> String {
    match command.get_name() {
        "flowgmm" => "flowgmm".into(),
        name => format!("flowgmm-{name}"),
    }
}

fn page(command: clap::Command) -> io::Result<Vec<u8>> {
    let name = page_name(&command);
    let mut page = Vec::new();
    clap_mangen::Man::new(command.display_name(name)).render(&mut page)?;
    Ok(page)
}

fn on_memory(error: io::Error) -> Failure {
    Failure::Internal(format!("a manual page cannot be made: {error}"))
}
