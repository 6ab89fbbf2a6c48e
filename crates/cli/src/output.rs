//! Where results go: standard output, or a file that appears complete or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use flowgmm::{
    data::{Cells, Frame},
    tables::{ColumnType, OutputFormat, Writer},
};
use serde::Serialize;

use crate::{
    exit::{Failure, Result},
    interrupt,
    reading::is_standard,
};

/// Writes text to standard output; a reader who has gone is no error.
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(on_stdout)
}

/// One JSON object on standard output.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_value(value).expect("plain data");
    print(&format!("{value:#}\n"))
}

/// Things the user should know, on stderr.
pub fn warn(warnings: &[String]) {
    for warning in warnings {
        // Not `eprintln!`: a closed stderr must not become a failure.
        let _ = writeln!(io::stderr(), "warning: {warning}");
    }
}

/// Checks, before hours of work, that a file can be put at `path`.
pub fn check_writable(path: &Path) -> Result<()> {
    if path.exists() && !path.is_file() {
        let what = if path.is_dir() { "a directory" } else { "not a regular file" };
        return Err(Failure::io(path)(io::Error::other(format!("cannot be replaced: it is {what}"))));
    }
    let probe = beside(path);
    let made = File::create(&probe);
    let _ = fs::remove_file(&probe);
    made.map(drop).map_err(Failure::io(path))
}

/// Puts a file with this content at `path`: complete or not at all.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    flowgmm::atomic_write(path, content).map_err(Failure::io(path))
}

/// A table that is written chunk by chunk, in the format its name says. Nothing is there before the first chunk.
pub struct TableOutput {
    path: PathBuf,
    opened: Option<Opened>,
}

impl TableOutput {
    /// A table at `path`, or on standard output for `-`, which gets CSV.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), opened: None }
    }

    /// Adds rows.
    pub fn write(&mut self, rows: Frame) -> Result<()> {
        let opened = match &mut self.opened {
            Some(opened) => opened,
            None => self.opened.insert(Opened::create(&self.path, &types(&rows))?),
        };
        opened.write(&rows)
    }

    /// Puts the complete file in its place.
    pub fn finish(self) -> Result<()> {
        self.opened.map_or(Ok(()), Opened::finish)
    }
}

/// The columns of a table and what they hold.
fn types(rows: &Frame) -> Vec<(String, ColumnType)> {
    let kind = |cells: &Cells| match cells {
        Cells::Numbers(_) => ColumnType::Number,
        Cells::Texts(_) => ColumnType::Text,
    };
    rows.columns().iter().map(|column| (column.name.clone(), kind(&column.cells))).collect()
}

struct Opened {
    writer: Option<Writer<Sink>>,
    target: Target,
}

/// Where bytes go.
type Sink = BufWriter<Box<dyn Write + Send>>;

enum Target {
    /// Written as it comes: standard output, a pipe, a device.
    Direct(PathBuf),
    /// Written beside its place, and moved there at the end.
    Moved { temporary: PathBuf, path: PathBuf },
}

impl Opened {
    fn create(path: &Path, columns: &[(String, ColumnType)]) -> Result<Self> {
        let (sink, target): (Box<dyn Write + Send>, _) = if is_standard(path) {
            (Box::new(io::stdout()), Target::Direct("standard output".into()))
        } else if path.exists() && !path.is_file() {
            let file = File::options().write(true).open(path).map_err(Failure::io(path))?;
            (Box::new(file), Target::Direct(path.to_path_buf()))
        } else {
            let temporary = beside(path);
            let file = File::create(&temporary).map_err(Failure::io(path))?;
            interrupt::exit_removing(&temporary)?;
            (Box::new(file), Target::Moved { temporary, path: path.to_path_buf() })
        };
        let mut output = Self { writer: None, target };
        let format = match &output.target {
            Target::Direct(_) => OutputFormat::Csv,
            Target::Moved { path, .. } if path.extension().is_none() => OutputFormat::Csv,
            Target::Moved { path, .. } => OutputFormat::of(path)?,
        };
        let name = path.display().to_string();
        let writer = Writer::new(BufWriter::new(sink), &name, format, columns);
        output.writer = Some(writer.map_err(|error| output.target.refused(error))?);
        Ok(output)
    }

    fn write(&mut self, rows: &Frame) -> Result<()> {
        let writer = self.writer.as_mut().expect("there until `finish`");
        writer.write(rows).map_err(|error| self.target.refused(error))
    }

    fn finish(mut self) -> Result<()> {
        let writer = self.writer.take().expect("there until `finish`");
        let mut sink = writer.finish().map_err(|error| self.target.refused(error))?;
        let fail = |error| self.target.failed(error);
        sink.flush().map_err(fail)?;
        if let Target::Moved { temporary, path } = &self.target {
            let synced = File::open(temporary).and_then(|file| file.sync_all());
            synced.and_then(|()| fs::rename(temporary, path)).map_err(fail)?;
        }
        Ok(())
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Target::Moved { temporary, .. } = &self.target {
            let _ = fs::remove_file(temporary); // gone already after `finish`
        }
    }
}

impl Target {
    /// A writer's error in this program's words.
    fn refused(&self, error: flowgmm::tables::Error) -> Failure {
        match error {
            flowgmm::tables::Error::Write { source, .. } => self.failed(source),
            other => other.into(),
        }
    }

    fn failed(&self, error: io::Error) -> Failure {
        match self {
            Self::Direct(_) if error.kind() == io::ErrorKind::BrokenPipe => Failure::ReaderGone,
            Self::Direct(path) | Self::Moved { path, .. } => Failure::io(path)(error),
        }
    }
}

/// A hidden name in the same directory, so that a rename is one step.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{}.tmp", std::process::id()))
}

fn on_stdout(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::io(Path::new("standard output"))(error),
    }
}
