//! The `flowgmm` program; see the library of this crate.

fn main() -> std::process::ExitCode {
    flowgmm_cli::main(std::env::args_os()).into()
}
