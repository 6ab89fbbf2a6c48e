//! The rows of a source as a model sees them, chunk by chunk.

use std::borrow::Cow;

use flowgmm_data::{Frame, labels_of};
use ndarray::{Array2, Axis, s};

use super::{
    Labels, Origin, Source,
    frames::Frames,
    images::Images,
    matching::{classes_of, matrix_of, not_a_table, not_images},
    substitutions::Substitutions,
};
use crate::{
    Error, Result,
    observer::{Control, Observer, Phase},
    rows::{Rows, text::Embedder},
};

/// Images of a chunk.
const IMAGES: usize = 512;
/// Rows of a chunk of a matrix.
const ROWS: usize = 8192;

/// Which rows are wanted, and whether their labels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// All rows; labels are not looked at.
    Rows,
    /// All rows, with their labels where they have some.
    RowsAndLabels,
    /// Rows with a label only.
    LabelledRows,
}

/// Some rows, as a model sees them.
pub struct Chunk {
    /// The numbers, `[n, dim]`.
    pub x: Array2<f64>,
    /// The class of each row where it is known, `[n]`; all `None` where labels are not wanted.
    pub y: Vec<Option<usize>>,
    /// What messages call each row.
    pub names: RowNames,
    /// The rows in the user's own columns, if they are a table.
    pub frame: Option<Frame>,
}

impl Chunk {
    /// Some of the rows, in this order.
    fn select(&self, rows: &[usize]) -> Self {
        let names = match &self.names {
            RowNames::Lines(lines) => RowNames::Lines(rows.iter().map(|&row| lines[row]).collect()),
            RowNames::Images(names) => RowNames::Images(rows.iter().map(|&row| names[row].clone()).collect()),
        };
        let y = rows.iter().map(|&row| self.y[row]).collect();
        let frame = self.frame.as_ref().map(|frame| frame.select(rows));
        Self { x: self.x.select(Axis(0), rows), y, names, frame }
    }
}

/// What messages call rows: lines of a file, or names of images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowNames {
    /// Lines of a file, or numbers from 1.
    Lines(Vec<u64>),
    /// Names of images.
    Images(Vec<String>),
}

impl RowNames {
    /// The name of a row.
    pub fn get(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Lines(lines) => lines[row].to_string().into(),
            Self::Images(names) => names[row].as_str().into(),
        }
    }

    /// The row and what it is called: `line 17`, `image 3.png`.
    pub fn describe(&self, row: usize) -> String {
        match self {
            Self::Lines(lines) => format!("line {}", lines[row]),
            Self::Images(names) => format!("image {}", names[row]),
        }
    }
}

/// A source that is read against a model's rows.
pub(crate) struct Chunks<'a> {
    rows: &'a Rows,
    classes: &'a [String],
    wanted: Wanted,
    reader: Reader,
    /// Rows that are done.
    done: usize,
    /// Whether an observer knows that rows are being read.
    announced: bool,
    /// Rows that were left out because they have no label.
    pub(crate) skipped: usize,
    name: String,
    warnings: Vec<String>,
}

enum Reader {
    Table {
        frames: Frames,
        label: Option<LabelColumn>,
        given: Option<Vec<Option<usize>>>,
        embedder: Option<Box<Embedder>>,
        substitutions: Substitutions,
    },
    Matrix {
        x: Array2<f64>,
        given: Option<Vec<Option<usize>>>,
    },
    Images {
        images: Images,
        labels: Vec<Option<usize>>,
    },
}

/// The column that labels are looked for in.
struct LabelColumn {
    name: String,
    /// Whether a table without the column is one without labels; otherwise it is an error.
    optional: bool,
}

impl<'a> Chunks<'a> {
    /// Opens a source for a model of these rows and classes.
    pub(crate) fn open(
        source: &Source,
        rows: &'a Rows,
        classes: &'a [String],
        wanted: Wanted,
    ) -> Result<Self> {
        let mut warnings = Vec::new();
        let reader = match (rows, source.open_images()?) {
            (Rows::Images { layout }, Some(images)) => {
                warnings.extend(images.warnings(layout));
                let labels = match wanted {
                    Wanted::Rows => vec![None; images.n()],
                    Wanted::RowsAndLabels if images.labels().iter().all(Option::is_none) => {
                        vec![None; images.n()]
                    }
                    Wanted::RowsAndLabels | Wanted::LabelledRows => images.labels_among(classes)?,
                };
                Reader::Images { images, labels }
            }
            (Rows::Images { layout }, None) => return Err(not_images(source, &layout.describe())),
            (_, Some(images)) => return Err(not_a_table(source, images.name())),
            (_, None) => {
                let reader = Self::table(source, rows, classes, wanted)?;
                if let Reader::Table { frames, .. } = &reader {
                    warnings.extend(frames.warnings.clone());
                }
                reader
            }
        };
        let name = match &reader {
            Reader::Table { frames, .. } => frames.name.clone(),
            Reader::Matrix { .. } | Reader::Images { .. } => source.name(),
        };
        Ok(Self { rows, classes, wanted, reader, done: 0, announced: false, skipped: 0, name, warnings })
    }

    fn table(source: &Source, rows: &Rows, classes: &[String], wanted: Wanted) -> Result<Reader> {
        let given = match &source.labels {
            Labels::Given { labels, .. } if wanted != Wanted::Rows => Some(classes_of(labels, classes)?),
            _ => None,
        };
        let asked_for = |name: &str| LabelColumn { name: name.into(), optional: false };
        let remembered = |name: &str| LabelColumn { name: name.into(), optional: true };
        let label = match wanted {
            Wanted::Rows => None,
            Wanted::RowsAndLabels | Wanted::LabelledRows if given.is_some() => None,
            Wanted::RowsAndLabels => source.label().map(asked_for).or_else(|| rows.label().map(remembered)),
            Wanted::LabelledRows => {
                Some(asked_for(source.label().or(rows.label()).ok_or_else(|| source.label_needed())?))
            }
        };
        if let (Rows::Matrix { columns }, Origin::Matrix { x, .. }) = (rows, &source.origin) {
            if x.ncols() != columns.len() {
                return Err(Error::Content(format!(
                    "the data have {} columns, the model was fitted to {}",
                    x.ncols(),
                    columns.len()
                )));
            }
            return Ok(Reader::Matrix { x: x.clone(), given });
        }
        let embedder = Embedder::matching(&source.reading.text, rows.texts())?.map(Box::new);
        let kept = source.kept.iter().map(String::as_str);
        let literal: Vec<&str> = label.iter().map(|label| label.name.as_str()).chain(kept).collect();
        let frames = source.frames(&literal)?;
        Ok(Reader::Table { frames, label, given, embedder, substitutions: Substitutions::default() })
    }

    /// What messages call the rows' origin.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The next rows, or nothing at the end.
    pub(crate) fn next(&mut self, observer: &mut dyn Observer) -> Result<Option<Chunk>> {
        self.next_picked(observer, &mut |_| None)
    }

    /// Those of the next rows that `pick` names, given how many there are; all of them if it names none. Of tables only
    /// these are encoded.
    pub(crate) fn next_picked(
        &mut self,
        observer: &mut dyn Observer,
        pick: &mut dyn FnMut(usize) -> Option<Vec<usize>>,
    ) -> Result<Option<Chunk>> {
        if !self.announced {
            observer.phase(&Phase::Scoring, self.total());
            self.announced = true;
        }
        let start = self.done;
        let chunk = match &mut self.reader {
            Reader::Images { .. } => self.next_images(start)?.map(|chunk| picked(chunk, pick)),
            Reader::Matrix { .. } => self.next_of_matrix(start).map(|chunk| picked(chunk, pick)),
            Reader::Table { .. } => self.next_of_table(start, observer, pick)?,
        };
        if chunk.is_some() && observer.progress(self.done) == Control::Stop {
            return Err(Error::Cancelled { during: format!("reading {}", self.name) });
        }
        Ok(chunk)
    }

    fn next_images(&mut self, start: usize) -> Result<Option<Chunk>> {
        let (Reader::Images { images, labels }, Rows::Images { layout }) = (&self.reader, self.rows) else {
            unreachable!("images are read for a model of images")
        };
        if start == images.n() {
            return Ok(None);
        }
        let end = (start + IMAGES).min(images.n());
        let x = images.rows(layout, start..end)?;
        let (y, names) = (labels[start..end].to_vec(), RowNames::Images(images.names(start..end)));
        self.done = end;
        Ok(Some(self.only_wanted(Chunk { x, y, names, frame: None })))
    }

    fn next_of_matrix(&mut self, start: usize) -> Option<Chunk> {
        let Reader::Matrix { x, given } = &self.reader else { unreachable!("a matrix is read") };
        if start == x.nrows() {
            return None;
        }
        let end = (start + ROWS).min(x.nrows());
        let y = match given {
            Some(given) => (start..end).map(|row| given.get(row).copied().flatten()).collect(),
            None => vec![None; end - start],
        };
        let names = RowNames::Lines((start..end).map(|row| row as u64 + 1).collect());
        let chunk = Chunk { x: x.slice(s![start..end, ..]).to_owned(), y, names, frame: None };
        self.done = end;
        Some(self.only_wanted(chunk))
    }

    fn next_of_table(
        &mut self,
        start: usize,
        observer: &mut dyn Observer,
        pick: &mut dyn FnMut(usize) -> Option<Vec<usize>>,
    ) -> Result<Option<Chunk>> {
        let Reader::Table { frames, label, given, embedder, substitutions } = &mut self.reader else {
            unreachable!("a table is read")
        };
        let Some(frame) = frames.next().transpose()? else { return Ok(None) };
        let n = frame.n();
        let label = label.as_ref().filter(|label| !label.optional || frame.column(&label.name).is_some());
        let mut y = match (label, given) {
            (Some(label), _) => labels_of(&frame, &label.name, self.classes)?,
            (None, Some(given)) => (start..start + n).map(|row| given.get(row).copied().flatten()).collect(),
            (None, None) => vec![None; n],
        };
        let frame = match self.wanted {
            Wanted::LabelledRows => {
                let known: Vec<usize> = (0..n).filter(|&row| y[row].is_some()).collect();
                self.skipped += n - known.len();
                y.retain(Option::is_some);
                if known.len() == n { frame } else { frame.select(&known) }
            }
            Wanted::Rows | Wanted::RowsAndLabels => frame,
        };
        let frame = match pick(frame.n()) {
            None => frame,
            Some(rows) => {
                y = rows.iter().map(|&row| y[row]).collect();
                frame.select(&rows)
            }
        };
        let x = match self.rows {
            Rows::Table { encoding, .. } => {
                let encoded = match embedder {
                    None => encoding.apply(&frame)?,
                    Some(embedder) => {
                        let embedded = embedder.embed(&frame, observer)?;
                        self.warnings.extend(embedder.take_warnings());
                        encoding.apply(&embedded)?
                    }
                };
                substitutions.add(&encoded);
                encoded.x
            }
            Rows::Matrix { columns } => matrix_of(&frame, columns)?,
            Rows::Images { .. } => unreachable!("a table is read for a model of tables"),
        };
        self.done = start + n;
        Ok(Some(Chunk { x, y, names: RowNames::Lines(frame.lines().to_vec()), frame: Some(frame) }))
    }

    /// The chunk without rows that are not wanted.
    fn only_wanted(&mut self, chunk: Chunk) -> Chunk {
        if self.wanted != Wanted::LabelledRows || chunk.y.iter().all(Option::is_some) {
            return chunk;
        }
        let known: Vec<usize> = (0..chunk.y.len()).filter(|&row| chunk.y[row].is_some()).collect();
        self.skipped += chunk.y.len() - known.len();
        chunk.select(&known)
    }

    /// How many rows there are, where that is known.
    fn total(&self) -> Option<usize> {
        match &self.reader {
            Reader::Images { images, .. } => Some(images.n()),
            Reader::Matrix { x, .. } => Some(x.nrows()),
            Reader::Table { .. } => None,
        }
    }

    /// How many images there are, if they are images.
    pub(crate) fn n_images(&self) -> Option<usize> {
        match &self.reader {
            Reader::Images { images, .. } => Some(images.n()),
            Reader::Table { .. } | Reader::Matrix { .. } => None,
        }
    }

    /// One image by its number.
    ///
    /// # Panics
    /// If they are not images, or not as many.
    pub(crate) fn image(&self, at: usize) -> Result<Chunk> {
        let (Reader::Images { images, labels }, Rows::Images { layout }) = (&self.reader, self.rows) else {
            panic!("images are asked for by number")
        };
        let x = images.rows(layout, at..at + 1)?;
        Ok(Chunk { x, y: vec![labels[at]], names: RowNames::Images(images.names(at..at + 1)), frame: None })
    }

    /// The end: everything the user should know about the rows.
    pub(crate) fn into_warnings(self) -> Vec<String> {
        let mut warnings = self.warnings;
        if let Reader::Table { substitutions, .. } = &self.reader {
            warnings.extend(substitutions.warnings(&self.name));
        }
        warnings
    }
}

fn picked(chunk: Chunk, pick: &mut dyn FnMut(usize) -> Option<Vec<usize>>) -> Chunk {
    match pick(chunk.y.len()) {
        None => chunk,
        Some(rows) => chunk.select(&rows),
    }
}
