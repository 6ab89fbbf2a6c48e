//! The tables of a request in a fixed order: the rows of its source, then those of more files whose labels are not looked at.

use flowgmm_data::Frame;

use super::{
    Source,
    given::{GivenLabels, given_labels},
};
use crate::{
    Error, Request, Result,
    observer::{Control, Observer},
};

/// The tables of a request.
pub(super) struct Tables<'a> {
    request: &'a Request,
    given: Option<GivenLabels<'a>>,
    /// The column of labels.
    pub(super) label: String,
}

impl<'a> Tables<'a> {
    pub(super) fn of(request: &'a Request) -> Result<Self> {
        let given = given_labels(&request.source)?;
        let label = match &given {
            Some(given) => given.name.clone(),
            None => request.source.label().ok_or_else(|| request.source.label_needed())?.to_string(),
        };
        Ok(Self { request, given, label })
    }

    /// Hands on the rows of the source in chunks, and whether each is labelled. Returns how many there are, and what is
    /// odd about the file.
    pub(super) fn of_source(
        &self,
        observer: &mut dyn Observer,
        take: &mut dyn FnMut(Frame, &[bool]) -> Result<()>,
    ) -> Result<(usize, Vec<String>)> {
        let source = &self.request.source;
        let chunks = source.frames(&[&self.label])?;
        let warnings = chunks.warnings.clone();
        let mut seen = 0;
        for chunk in chunks {
            let chunk = match &self.given {
                Some(given) => given.beside(chunk?, seen)?,
                None => chunk?,
            };
            seen += chunk.n();
            let known = flowgmm_data::is_labelled(&chunk, &self.label, &self.request.unlabelled_values)?;
            take(chunk, &known)?;
            heed(observer, seen, source)?;
        }
        match self.given.as_ref().filter(|given| given.labels.len() != seen) {
            Some(given) => Err(given.wrong_number(source, seen)),
            None => Ok((seen, warnings)),
        }
    }

    /// Hands on the rows of the other files; `seen` rows came before them.
    pub(super) fn of_more(
        &self,
        mut seen: usize,
        observer: &mut dyn Observer,
        take: &mut dyn FnMut(Frame) -> Result<()>,
    ) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        for more in &self.request.unlabelled {
            let chunks = more.frames(&[&self.label])?;
            warnings.extend(chunks.warnings.clone());
            for chunk in chunks {
                let chunk = chunk?;
                seen += chunk.n();
                take(chunk)?;
                heed(observer, seen, more)?;
            }
        }
        Ok(warnings)
    }
}

/// So many rows are read; an error if the observer wants to stop.
fn heed(observer: &mut dyn Observer, rows: usize, source: &Source) -> Result<()> {
    match observer.progress(rows) {
        Control::Continue => Ok(()),
        Control::Stop => Err(Error::Cancelled { during: format!("reading {}", source.name()) }),
    }
}
