//! Tables in chunks: from a file, read ahead on a thread of its own, or from memory.

use std::{
    sync::{
        Arc,
        mpsc::{Receiver, sync_channel},
    },
    thread,
};

use flowgmm_data::Frame;
use flowgmm_tables::Options;

use super::{Origin, Reading, Source, frame_of};
use crate::{Error, Result};

/// Chunks of a file that are read before they are wanted.
const AHEAD: usize = 2;
/// Rows of a chunk of a table in memory.
const ROWS: usize = 8192;

/// The rows of a table in chunks, in their order.
pub(crate) struct Frames {
    chunks: Chunks,
    /// What is odd about the file.
    pub(crate) warnings: Vec<String>,
    /// What messages call the table.
    pub(crate) name: String,
}

enum Chunks {
    File(Receiver<flowgmm_tables::Result<Frame>>),
    Memory { frames: Arc<[Frame]>, frame: usize, row: usize },
}

impl Source {
    /// The rows as a table; in `literal` columns only an empty cell is missing.
    pub(crate) fn frames(&self, literal: &[&str]) -> Result<Frames> {
        let frames = match &self.origin {
            Origin::Path(path) => return Frames::open(path, &self.reading, literal),
            Origin::Frames(frames) => Arc::clone(frames),
            Origin::Matrix { x, columns } => [frame_of(x.view(), columns)?].into(),
            Origin::Images(_) => {
                return Err(Error::Content("these are images, and a table is needed".into()));
            }
        };
        let chunks = Chunks::Memory { frames, frame: 0, row: 0 };
        Ok(Frames { chunks, warnings: Vec::new(), name: self.name() })
    }
}

impl Frames {
    fn open(path: &std::path::Path, reading: &Reading, literal: &[&str]) -> Result<Self> {
        let reader = flowgmm_tables::open(path, &options(reading, literal))?;
        let warnings = reader.warnings().iter().map(|warning| warning.to_string()).collect();
        let name = reader.name().to_string();
        let (send, receive) = sync_channel(AHEAD);
        // Ends with the file, or with the first chunk that nobody wants any more.
        thread::spawn(move || {
            for chunk in reader {
                if send.send(chunk).is_err() {
                    return;
                }
            }
        });
        Ok(Self { chunks: Chunks::File(receive), warnings, name })
    }
}

impl Iterator for Frames {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Result<Frame>> {
        match &mut self.chunks {
            Chunks::File(receive) => receive.recv().ok().map(|chunk| Ok(chunk?)),
            Chunks::Memory { frames, frame, row } => {
                while *frame < frames.len() && *row >= frames[*frame].n() {
                    (*frame, *row) = (*frame + 1, 0);
                }
                let current = frames.get(*frame)?;
                let end = (*row + ROWS).min(current.n());
                let chunk = current.select(&(*row..end).collect::<Vec<_>>());
                *row = end;
                Some(Ok(chunk))
            }
        }
    }
}

fn options(reading: &Reading, literal: &[&str]) -> Options {
    let mut options = Options {
        format: reading.format,
        header: reading.header,
        literal: literal.iter().map(|name| name.to_string()).collect(),
        suffix: reading.suffix.clone(),
        ..Options::default()
    };
    if !reading.missing.is_empty() {
        options.missing = reading.missing.clone();
    }
    options
}
