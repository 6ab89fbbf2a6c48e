//! Where results go: standard output, or a file that appears complete or not at all.

use std::{
    fs::{self, File},
    io::{self, BufWriter, IsTerminal as _, Write},
    num::NonZeroU8,
    path::{Path, PathBuf},
};

use flowgmm::{
    data::{Cells, Column, Frame},
    figures::safe_text,
    tables::{ColumnType, OutputFormat, TextStyle, Writer},
};
use serde::Serialize;

use crate::{
    exit::{Failure, Result},
    files::beside,
    interrupt,
    reading::is_standard,
    text,
};

/// Writes text to standard output; a reader who has gone is no error.
pub fn print(text: &str) -> Result<()> {
    write_stdout(&text::safe_lines(text))
}

/// One JSON value on standard output.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let value = serde_json::to_value(value).expect("plain data");
    write_stdout(&text::safe_json(&format!("{value:#}\n")))
}

fn write_stdout(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(on_stdout)
}

/// A line on stderr; a closed stderr is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{}", text::safe_lines(line));
}

/// Things the user should know, on stderr.
pub fn warn(warnings: &[String]) {
    warnings.iter().for_each(|warning| say(&format!("warning: {warning}")));
}

/// Puts a file with this content at `path`: complete or not at all.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    flowgmm::atomic_write(path, content).map_err(Failure::io(path))
}

/// Where a table goes, and how its cells are written.
#[derive(clap::Args)]
pub struct TableArgs {
    /// File to write: .csv, .tsv, .jsonl, .json, .parquet or .arrow [default: CSV on stdout]
    #[arg(short, long, value_name = "OUT", help_heading = "Output")]
    pub out: Option<PathBuf>,
    /// Put ' before texts that a spreadsheet would take for a formula [default: as they are]
    #[arg(long, help_heading = "Output")]
    spreadsheet_safe: bool,
}

impl TableArgs {
    /// Where it goes.
    pub fn path(&self) -> Option<&Path> {
        self.out.as_deref().filter(|path| !is_standard(path))
    }

    /// The table that is to be written; `digits` are for numbers in text formats.
    pub fn open(&self, json: bool, digits: Option<NonZeroU8>) -> TableOutput {
        let style = TextStyle { digits, spreadsheet_safe: self.spreadsheet_safe };
        match self.path() {
            Some(path) => TableOutput { to: To::Path(path.to_path_buf()), style, opened: None },
            None => TableOutput { to: To::Stdout { json }, style, opened: None },
        }
    }

    /// What a command says at the end if the table went to a file and JSON is wanted: `key` names the file.
    pub fn conclude(&self, json: bool, key: &str, rows: usize) -> Result<()> {
        match self.path() {
            Some(path) if json => {
                print_json(&serde_json::json!({ "rows": rows, key: path.display().to_string() }))
            }
            _ => Ok(()),
        }
    }
}

/// A table that is written chunk by chunk. Nothing is there before the first chunk.
pub struct TableOutput {
    to: To,
    style: TextStyle,
    opened: Option<Opened>,
}

enum To {
    /// In the format that the name says.
    Path(PathBuf),
    /// As CSV, or as JSON lines.
    Stdout { json: bool },
}

impl TableOutput {
    /// A table at `path`, with every digit.
    pub fn at(path: &Path) -> Self {
        Self { to: To::Path(path.to_path_buf()), style: TextStyle::default(), opened: None }
    }

    /// Adds rows.
    pub fn write(&mut self, rows: Frame) -> Result<()> {
        let rows = match &self.to {
            To::Stdout { json: false } if io::stdout().is_terminal() => visible(rows)?,
            _ => rows,
        };
        let opened = match &mut self.opened {
            Some(opened) => opened,
            None => self.opened.insert(Opened::create(&self.to, self.style, &types(&rows))?),
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

/// The rows with texts that cannot act on a terminal.
fn visible(rows: Frame) -> Result<Frame> {
    let safe = |text: &str| safe_text(text, usize::MAX).into_owned();
    let columns = rows.columns().iter().map(|column| Column {
        name: safe(&column.name),
        cells: match &column.cells {
            Cells::Texts(texts) => {
                let texts: Vec<Option<String>> = texts.iter().map(|cell| cell.map(safe)).collect();
                Cells::Texts(texts.iter().map(Option::as_deref).collect())
            }
            numbers => numbers.clone(),
        },
    });
    Ok(Frame::new(rows.name(), columns.collect(), rows.lines().to_vec()).map_err(flowgmm::Error::from)?)
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
    fn create(to: &To, style: TextStyle, columns: &[(String, ColumnType)]) -> Result<Self> {
        let (sink, target, format): (Box<dyn Write + Send>, _, _) = match to {
            To::Stdout { json } => {
                let format = if *json { OutputFormat::JsonLines } else { OutputFormat::Csv };
                (Box::new(io::stdout()), Target::Direct("standard output".into()), format)
            }
            To::Path(path) if path.exists() && !path.is_file() => {
                let file = File::options().write(true).open(path).map_err(Failure::io(path))?;
                (Box::new(file), Target::Direct(path.clone()), OutputFormat::Csv)
            }
            To::Path(path) => {
                let format = match path.extension() {
                    None => OutputFormat::Csv,
                    Some(_) => OutputFormat::of(path)?,
                };
                let temporary = beside(path);
                let file = File::create(&temporary).map_err(Failure::io(path))?;
                interrupt::exit_removing(&temporary)?;
                (Box::new(file), Target::Moved { temporary, path: path.clone() }, format)
            }
        };
        let mut output = Self { writer: None, target };
        let name = output.target.path().display().to_string();
        let writer = Writer::styled(BufWriter::new(sink), &name, format, columns, style);
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
    /// What messages call it.
    fn path(&self) -> &Path {
        match self {
            Self::Direct(path) | Self::Moved { path, .. } => path,
        }
    }

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
            _ => Failure::io(self.path())(error),
        }
    }
}

fn on_stdout(error: io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => Failure::io(Path::new("standard output"))(error),
    }
}
