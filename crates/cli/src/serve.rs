//! `flowgmm serve`: the explorer's page, and a server that scores rows.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    num::{NonZeroU64, NonZeroUsize},
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use flowgmm_server::{Limits, Options, StartError};

use crate::{
    Global,
    exit::{Failure, Result},
    output,
    reading::{ReadingArgs, Truth},
};

/// Arguments of `serve`.
#[derive(clap::Args)]
pub struct Args {
    /// Model files; each is called by its stem. Without any, the page opens with the playground
    #[arg(value_name = "MODEL")]
    models: Vec<PathBuf>,
    /// Rows or images to look at with the models
    #[arg(short, long, value_name = "FILE")]
    data: Option<PathBuf>,
    #[command(flatten)]
    truth: Truth,
    /// Port to listen at; 0 takes a free one
    #[arg(short, long, default_value = "8080")]
    port: u16,
    /// Address to listen at; any but a loopback one needs --token
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "ADDRESS")]
    bind: IpAddr,
    /// Name by which clients may call the server, besides its address; repeat for several
    #[arg(long = "host", value_name = "NAME")]
    hosts: Vec<String>,
    /// What clients must send: Authorization: Bearer TOKEN
    #[arg(long, value_name = "TOKEN", env = "FLOWGMM_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Do not open the page in a browser
    #[arg(long)]
    no_open: bool,
    /// Threads that score requests [default: all cores]
    #[arg(long, value_name = "N")]
    workers: Option<NonZeroUsize>,
    #[command(flatten)]
    limits: LimitArgs,
    #[command(flatten)]
    reading: ReadingArgs,
}

/// What clients may ask for.
#[derive(clap::Args)]
#[command(next_help_heading = "Limits")]
struct LimitArgs {
    /// Bytes of a request's body, in MiB
    #[arg(long, value_name = "MIB", default_value = "32", hide_short_help = true)]
    max_body: NonZeroUsize,
    /// Rows of a request
    #[arg(long, value_name = "N", default_value = "100000", hide_short_help = true)]
    max_rows: NonZeroUsize,
    /// Requests under way
    #[arg(long, value_name = "N", default_value = "512", hide_short_help = true)]
    max_requests: NonZeroUsize,
    /// Requests that wait to be scored
    #[arg(long, value_name = "N", default_value = "1024", hide_short_help = true)]
    max_queue: NonZeroUsize,
    /// Open connections
    #[arg(long, value_name = "N", default_value = "1024", hide_short_help = true)]
    max_connections: NonZeroUsize,
    /// Seconds for a body to arrive
    #[arg(long, value_name = "SECONDS", default_value = "15", hide_short_help = true)]
    body_timeout: NonZeroU64,
    /// Seconds for an answer
    #[arg(long, value_name = "SECONDS", default_value = "60", hide_short_help = true)]
    timeout: NonZeroU64,
}

impl LimitArgs {
    fn limits(&self) -> Limits {
        Limits {
            body: self.max_body.get().saturating_mul(1 << 20),
            rows: self.max_rows.get(),
            body_time: Duration::from_secs(self.body_timeout.get()),
            answer_time: Duration::from_secs(self.timeout.get()),
            requests: self.max_requests.get(),
            queue: self.max_queue.get(),
            connections: self.max_connections.get(),
            ..Limits::default()
        }
    }
}

/// Runs the command.
pub fn run(args: &Args, global: &Global) -> Result<()> {
    let source = |path: &PathBuf| args.truth.of(args.reading.source(path));
    let options = Options {
        models: args.models.clone(),
        data: args.data.as_ref().map(source),
        address: SocketAddr::new(args.bind, args.port),
        token: args.token.clone().filter(|token| !token.is_empty()),
        hosts: args.hosts.clone(),
        workers: args.workers.map_or(global.threads(None), NonZeroUsize::get),
        limits: args.limits.limits(),
    };
    let (address, token) = (options.address, options.token.clone());
    let server = flowgmm_server::start(options).map_err(|error| match error {
        StartError::Library(error) => error.into(),
        StartError::Io(error) => Failure::Usage(format!(
            "cannot listen at {address}: {error}. Choose another port with --port, or --port 0 for a free one"
        )),
    })?;
    let address = server.address();
    let page = match &token {
        Some(token) => format!("http://{address}/#token={token}"),
        None => format!("http://{address}/"),
    };
    // One line in either form, for whoever waits for it.
    output::print(&match global.json {
        true => format!(
            "{}\n",
            serde_json::json!({ "url": format!("http://{address}/"), "port": address.port() })
        ),
        false => format!("serving at {page} (Ctrl-C ends)\n"),
    })?;
    if !address.ip().is_loopback() {
        output::warn(&[format!(
            "{} can be reached from other machines; clients must send the token",
            address.ip()
        )]);
    }
    if !args.no_open && address.ip().is_loopback() {
        open(&page);
    }
    server
        .run(std::future::pending())
        .map_err(|error| Failure::Internal(format!("the server failed: {error}")))
}

/// Opens a page in the user's browser, if there is one; if not, its address is on the terminal.
fn open(page: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    drop(
        Command::new(program)
            .arg(page)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn(),
    );
}
