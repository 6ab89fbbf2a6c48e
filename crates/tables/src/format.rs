//! File formats, and how they are detected: by magic bytes, else by the file extension.

use std::{fmt, path::Path, str::FromStr};

use crate::{Error, Result};

/// A format that can be read, plain or compressed by gzip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Text with one row per line. If no delimiter is given, it is detected: the first of comma,
    /// tab and semicolon that splits the first row and up to 20 rows below it into the same number of cells, two
    /// or more, preferably one under which quotes enclose whole cells; if none does, the one that splits the first
    /// row most; if none splits it, the comma.
    Delimited(Option<Delimiter>),
    /// Apache Parquet. From a stream it is held in memory as it is, at most 2 GiB.
    Parquet,
    /// Apache Arrow IPC, as a file (Feather version 2) or a stream. Held in memory one record batch at a time.
    Arrow,
    /// One NumPy array: `[n, d]` gives the columns `x0` to `x{d-1}`, `[n]` one column named like the file, or `y`.
    /// An array in Fortran order is held in memory as it is.
    Npy,
    /// NumPy arrays of one length: a two-dimensional `x` gives `x0`, `x1`, ..., a one-dimensional `y` gives `y`.
    /// From a stream it is held in memory as it is, at most 2 GiB.
    Npz,
    /// One JSON object per line. The columns are the keys of the first rows (a batch of them) in the order of their
    /// first appearance; a key that an object lacks is a missing cell, one that appears only later is left out.
    JsonLines,
}

/// The separator between two cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delimiter {
    /// `,`
    Comma,
    /// A tab character.
    Tab,
    /// `;`
    Semicolon,
}

/// A format that can be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// Comma-separated text; a missing cell is empty.
    Csv,
    /// Tab-separated text; a missing cell is empty.
    Tsv,
    /// Apache Parquet, compressed with Snappy.
    Parquet,
    /// An Apache Arrow IPC file, which is Feather version 2.
    Arrow,
    /// One JSON object per line.
    JsonLines,
    /// One JSON array of objects.
    Json,
}

impl Delimiter {
    pub(crate) const ALL: [Self; 3] = [Self::Comma, Self::Tab, Self::Semicolon];

    pub(crate) fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Tab => b'\t',
            Self::Semicolon => b';',
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Comma => "comma",
            Self::Tab => "tab",
            Self::Semicolon => "semicolon",
        }
    }
}

impl InputFormat {
    /// What messages call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delimited(Some(Delimiter::Tab)) => "TSV",
            Self::Delimited(_) => "CSV",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::JsonLines => "JSON lines",
        }
    }

    /// The format of a file that starts with `head` and is called `file`.
    pub(crate) fn detect(name: &str, head: &[u8], file: &str) -> Result<Self> {
        if let Some(found) = MAGIC.iter().find(|magic| head.starts_with(magic.bytes)) {
            let foreign = |(what, remedy)| Error::Foreign { name: name.into(), what, remedy };
            return found.format.map_err(foreign);
        }
        let ending = file.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
        let foreign = |what, remedy| Err(Error::Foreign { name: name.into(), what, remedy });
        match ending.as_str() {
            "tsv" | "tab" => Ok(Self::Delimited(Some(Delimiter::Tab))),
            "parquet" | "pq" => Ok(Self::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Ok(Self::Arrow),
            "npy" => Ok(Self::Npy),
            "npz" => Ok(Self::Npz),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            _ if is_object(head) => Ok(Self::JsonLines),
            "json" => foreign("JSON but not one object per line", JSON),
            _ if head.contains(&0) && !head.starts_with(b"\xff\xfe") && !head.starts_with(b"\xfe\xff") => {
                foreign(
                    "binary data of an unknown kind",
                    "expected CSV, TSV, JSON lines, Parquet, Arrow, NPY or NPZ",
                )
            }
            _ => Ok(Self::Delimited(None)), // UTF-16 too, whose own error says what to do
        }
    }
}

struct Magic {
    bytes: &'static [u8],
    format: std::result::Result<InputFormat, (&'static str, &'static str)>,
}

/// Whether the first bytes look like the start of a JSON object.
fn is_object(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head).trim_ascii_start();
    let inside = text.strip_prefix(b"{").map(<[u8]>::trim_ascii_start);
    inside.is_some_and(|inside| matches!(inside.first(), Some(b'"' | b'}')))
}

const JSON: &str =
    "write one object per line (pandas: to_json(.., orient='records', lines=True); jq -c '.[]'), or CSV";
const UNPACK: &str = "unpack it first, or pack it with gzip";
const SPREADSHEET: (&str, &str) = ("a spreadsheet", "save the sheet as CSV in UTF-8");

/// The fifth byte of a Parquet file, that of a Thrift field, keeps a CSV column called `PAR1` what it is.
const MAGIC: [Magic; 12] = [
    Magic { bytes: b"PAR1\x15", format: Ok(InputFormat::Parquet) },
    Magic { bytes: b"PARE", format: Err(("encrypted Parquet", "decrypt it first")) },
    Magic { bytes: b"ARROW1\0", format: Ok(InputFormat::Arrow) },
    Magic { bytes: b"\xff\xff\xff\xff", format: Ok(InputFormat::Arrow) },
    Magic { bytes: b"FEA1", format: Err(("Feather version 1", "write it again as Feather version 2")) },
    Magic { bytes: b"\x93NUMPY", format: Ok(InputFormat::Npy) },
    Magic { bytes: b"PK\x03\x04", format: Ok(InputFormat::Npz) },
    Magic { bytes: b"PK\x05\x06", format: Ok(InputFormat::Npz) },
    Magic { bytes: b"\x28\xb5\x2f\xfd", format: Err(("packed with zstd", UNPACK)) },
    Magic { bytes: b"\xfd7zXZ\0", format: Err(("packed with xz", UNPACK)) },
    Magic { bytes: b"BZh91AY&SY", format: Err(("packed with bzip2", UNPACK)) },
    Magic { bytes: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", format: Err(SPREADSHEET) },
];

impl OutputFormat {
    /// The format implied by the extension of an output file; `-`, standard output, is CSV.
    pub fn of(path: &Path) -> Result<Self> {
        if path.as_os_str() == "-" {
            return Ok(Self::Csv);
        }
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        match ending.as_str() {
            "csv" | "txt" => Ok(Self::Csv),
            "tsv" | "tab" => Ok(Self::Tsv),
            "parquet" | "pq" => Ok(Self::Parquet),
            "arrow" | "feather" | "ipc" => Ok(Self::Arrow),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "json" => Ok(Self::Json),
            _ => Err(Error::UnknownOutput { name: path.display().to_string(), ending: format!(".{ending}") }),
        }
    }
}

impl fmt::Display for InputFormat {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InputFormat {
    type Err = String;

    /// `csv` (any delimiter), `tsv`, `jsonl`, `parquet`, `arrow`, `npy` or `npz`.
    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.to_lowercase().as_str() {
            "csv" => Ok(Self::Delimited(None)),
            "tsv" => Ok(Self::Delimited(Some(Delimiter::Tab))),
            "parquet" => Ok(Self::Parquet),
            "arrow" | "feather" | "ipc" => Ok(Self::Arrow),
            "npy" => Ok(Self::Npy),
            "npz" => Ok(Self::Npz),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            _ => Err(format!(
                "there is no format '{text}': expected csv, tsv, jsonl, parquet, arrow, npy or npz"
            )),
        }
    }
}
