//! One reader for all formats.

use flowgmm_data::Frame;

use crate::{
    Error, Header, InputFormat, Options, Result, Source, Warning,
    delimited::Delimited,
    ipc,
    json::JsonLines,
    npy, npz, parquet,
    parts::{no_table, open_parts, parts},
    sniff,
    source::Input,
};

/// Opens a table and validates everything that comes before its rows: format, header, column types, requested columns. A
/// folder of tables or a pattern is one table; see [`parts`].
///
/// ```
/// use flowgmm_tables::{Header, Options, Source, open};
///
/// let options = Options { header: Header::Absent, batch_rows: 2, ..Options::default() };
/// let reader = open(Source::stream("digits", "1,2\n3,4\n5,6\n".as_bytes()), &options)?;
/// let rows: Vec<usize> = reader.map(|batch| batch.unwrap().n()).collect();
/// assert_eq!(rows, [2, 1]);
/// # Ok::<(), flowgmm_tables::Error>(())
/// ```
pub fn open(source: impl Into<Source>, options: &Options) -> Result<Reader> {
    let source = source.into();
    if let Source::File(path) = &source {
        if let Some(files) = parts(path)? {
            return open_parts(path, files, options);
        }
        if path.is_dir() {
            return Err(no_table(path));
        }
    }
    let input = Input::open(source)?;
    let name = input.name.clone();
    let format = match options.format {
        Some(format) => format,
        None => InputFormat::detect(&name, &input.head, &input.file)?,
    };
    let mut warnings = Vec::new();
    let mut shown = format;
    let batches: Box<dyn Iterator<Item = Result<Frame>> + Send> = match format {
        InputFormat::Delimited(delimiter) => {
            let delimiter = delimiter.unwrap_or_else(|| sniff::delimiter(&input.head, input.extent()));
            shown = InputFormat::Delimited(Some(delimiter));
            let (batches, warning) = Delimited::open(input.into_stream(), &name, delimiter, options)?;
            warnings.extend(warning);
            Box::new(batches)
        }
        InputFormat::Parquet => {
            Box::new(parquet::open(input.into_shared(format)?, &name, options, &mut warnings)?)
        }
        InputFormat::Arrow => Box::new(ipc::open(input.into_stream(), &name, options, &mut warnings)?),
        InputFormat::JsonLines => Box::new(JsonLines::open(input.into_stream(), &name, options)?),
        InputFormat::Npy => Box::new(npy::open(input, options)?),
        InputFormat::Npz => Box::new(npz::open(input.into_shared(format)?, &name, options)?),
    };
    Ok(Reader::new(&name, shown, options.header, warnings, batches))
}

/// An iterator over batches of rows. It ends after the first error; a table without rows is an error.
pub struct Reader {
    name: String,
    format: InputFormat,
    header: Header,
    warnings: Vec<Warning>,
    batches: Box<dyn Iterator<Item = Result<Frame>> + Send>,
    state: State,
}

#[derive(PartialEq)]
enum State {
    Start,
    Reading,
    Done,
}

impl Reader {
    pub(crate) fn new(
        name: &str,
        format: InputFormat,
        header: Header,
        warnings: Vec<Warning>,
        batches: Box<dyn Iterator<Item = Result<Frame>> + Send>,
    ) -> Self {
        Self { name: name.into(), format, header, warnings, batches, state: State::Start }
    }

    /// The name of the source in error messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The detected format.
    pub fn format(&self) -> InputFormat {
        self.format
    }

    /// What the user should know about how the file was read.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Reads all remaining rows into one frame.
    pub fn read_all(&mut self) -> Result<Frame> {
        let mut all = match self.next() {
            Some(first) => first?,
            None => return Err(self.no_rows()),
        };
        for batch in self {
            all.append(batch?, &[])?;
        }
        Ok(all)
    }

    fn no_rows(&self) -> Error {
        let name = self.name.clone();
        match (self.format, self.header) {
            (InputFormat::Delimited(_), Header::Present) => flowgmm_data::Error::NoRows { name }.into(),
            _ => Error::NoRows { name },
        }
    }
}

impl Iterator for Reader {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.state == State::Done {
                return None;
            }
            match self.batches.next() {
                Some(Ok(batch)) if batch.n() == 0 => {} // Parquet and Arrow may hold empty batches
                Some(Ok(batch)) => {
                    self.state = State::Reading;
                    return Some(Ok(batch));
                }
                Some(Err(error)) => {
                    self.state = State::Done;
                    return Some(Err(error));
                }
                None => {
                    let none_at_all = self.state == State::Start;
                    self.state = State::Done;
                    return none_at_all.then(|| Err(self.no_rows()));
                }
            }
        }
    }
}
