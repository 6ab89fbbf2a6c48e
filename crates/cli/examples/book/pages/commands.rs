//! The reference of commands, from the declarations that parse them.

use clap::{Arg, Command};

pub fn reference() -> String {
    let program = flowgmm_cli::command();
    let commands = program.get_subcommands().filter(|command| command.get_name() != "help");
    commands.map(|command| section(command, &format!("flowgmm {}", command.get_name()), 2)).collect()
}

/// What every command takes.
pub fn global_options() -> String {
    let program = flowgmm_cli::command();
    arguments(program.get_arguments().filter(|arg| arg.is_global_set() || arg.get_id() == "version"))
}

fn section(command: &Command, name: &str, level: usize) -> String {
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut usage = command.clone().bin_name(name);
    let usage = usage.render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    let mut text =
        format!("\n{} `{name}`\n\n{}.\n\n```text\n{usage}\n```\n", "#".repeat(level), markdown(&about));
    let own = command.get_arguments().filter(|arg| !arg.is_global_set() && !arg.is_hide_set());
    let rows = arguments(own);
    if !rows.is_empty() {
        text += &format!("\n{rows}");
    }
    let after = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let examples: Vec<&str> = after.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    if !examples.is_empty() {
        text += &format!("\nFor example:\n\n```text\n{}\n```\n", examples.join("\n"));
    }
    for inner in command.get_subcommands().filter(|inner| inner.get_name() != "help") {
        text += &section(inner, &format!("{name} {}", inner.get_name()), level + 1);
    }
    text
}

fn arguments<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = arguments.filter(|arg| arg.get_id() != "help").map(row).collect();
    if rows.is_empty() { rows } else { format!("| argument | meaning |\n|---|---|\n{rows}") }
}

fn row(arg: &Arg) -> String {
    let values = arg.get_value_names().filter(|_| arg.get_action().takes_values()).unwrap_or_default();
    let values: String = values.iter().map(|name| format!(" {name}")).collect();
    let many = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) { "..." } else { "" };
    let name = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("-{short}, --{long}{values}"),
        (None, Some(long)) => format!("--{long}{values}"),
        (Some(short), None) => format!("-{short}{values}"),
        (None, None) => values.trim().to_string(),
    };
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let mut help = markdown(help.trim());
    let defaults: Vec<String> =
        arg.get_default_values().iter().map(|value| value.to_string_lossy().into_owned()).collect();
    if !defaults.is_empty() && !help.contains("[default") && arg.get_action().takes_values() {
        help += &format!(" [default: {}]", defaults.join(" "));
    }
    let possible: Vec<String> =
        arg.get_possible_values().iter().map(|value| value.get_name().to_string()).collect();
    if !possible.is_empty() && arg.get_action().takes_values() {
        help += &format!(" [one of: {}]", possible.join(", "));
    }
    if let Some(variable) = arg.get_env() {
        help += &format!(" [variable: `{}`]", variable.to_string_lossy());
    }
    format!("| `{name}{many}` | {help} |\n")
}

/// Help as a cell of a table: one line, and a comment in it is text.
fn markdown(help: &str) -> String {
    let line = help.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
    let code = line.replace("`<!--", "<code>&lt;!--").replace("-->`", "--&gt;</code>");
    code.replace("<!--", "&lt;!--").replace("f^-1", "f⁻¹")
}
