//! Rows of a table beyond those that memory holds: training draws them from a cache on disk, for which the table is read again.
//!
//! Settings, teachers and all that follows training see the rows in memory, a random sample. Training alone sees more: as many rows
//! of the others, drawn at random too, as it may ever draw, steps x rows of a step in all. So the cache is bounded by the settings,
//! whatever the size of the table, and there is none where the sample has about that many rows already.

use std::{path::Path, sync::Arc};

use flowgmm_core::train::{RowCache, RowCacheWriter};
use semisup::Preprocess;

use super::{
    Source,
    tables::Tables,
    thinned::{MOST, Priorities, UNLABELLED},
};
use crate::{
    Error, Request, Result,
    config::{Dequantise, FitConfig},
    observer::{Observer, Phase},
    recipe::Decision,
    rows::Rows,
    sharded::pool_matrix,
    units,
};

/// A cache of less than one in so many of the rows in memory is not worth reading the table again.
const WORTH: usize = 10;

/// What a table that was thinned to the memory allowed has beyond it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beyond {
    /// Rows in memory, and in all.
    pub(super) rows: (usize, usize),
    /// Rows without a label in memory, and in all.
    pub(super) unlabelled: (usize, usize),
    /// Rows with a greater random number are not in memory.
    pub(super) threshold: u64,
    /// The memory allowed.
    pub(super) bytes: f64,
}

impl Beyond {
    /// How many rows the cache of a fit holds, about; or why it has none.
    fn cached(&self, config: &FitConfig, request: &Request) -> std::result::Result<usize, &'static str> {
        let (train, (sample, all)) = (&config.train, self.unlabelled);
        let drawn = train.steps.saturating_mul(train.batch_unlabelled);
        let wanted = drawn.min(all);
        let mut sources = [&request.source].into_iter().chain(&request.unlabelled);
        let against = [
            (wanted <= sample + sample / WORTH, "training draws hardly more than these"),
            (sample == 0, "no row without a label is among these"),
            (request.cache_directory().is_none(), "there is no directory for a cache of the others"),
            (!sources.all(Source::can_be_read_again), "the others cannot be read again"),
            (!request.texts.is_empty(), "texts are embedded once"),
            (train.em.is_some() || train.refine.is_some(), "EM and pseudo-labels keep all rows in memory"),
            (train.shards.is_some(), "rows in shards are kept in memory"),
            (config.dequantise != Dequantise::Off, "rows that are dequantised are kept in memory"),
        ];
        match against.into_iter().find(|(holds, _)| *holds) {
            Some((_, why)) => Err(why),
            None => Ok(wanted - sample),
        }
    }

    /// What was decided about the rows; in the flow's space they have `dim` columns at most.
    pub(crate) fn decision(&self, config: &FitConfig, dim: usize, request: &Request) -> Decision {
        let (kept, seen) = self.rows;
        let sample = format!("{kept} of {seen}: labelled ones first, the others drawn at random");
        let limit = units::bytes(self.bytes);
        let (choice, why) = match self.cached(config, request) {
            Ok(more) => (
                format!(
                    "{sample}; and {more} more for training alone, in a cache of about {} on disk while the fit runs",
                    units::bytes((more * dim * size_of::<f32>()) as f64)
                ),
                format!("more would not fit in {limit}; --memory allows more, or less"),
            ),
            Err(why) => {
                (sample, format!("more would not fit in {limit}, and {why}; --memory allows more, or less"))
            }
        };
        Decision { what: "rows".into(), choice, why }
    }
}

/// The cache of a fit that is to be made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caching<'a> {
    beyond: &'a Beyond,
    request: &'a Request,
    directory: &'a Path,
    rows: usize,
}

impl<'a> Caching<'a> {
    /// The cache that these settings ask for, if they do.
    pub(crate) fn of(beyond: &'a Beyond, config: &FitConfig, request: &'a Request) -> Option<Self> {
        let rows = beyond.cached(config, request).ok()?;
        Some(Self { beyond, request, directory: request.cache_directory()?, rows })
    }

    /// Reads the tables again, and writes rows that are not in memory as the flow sees them.
    pub(crate) fn write(
        &self,
        rows: &Rows,
        preprocess: &Preprocess,
        observer: &mut dyn Observer,
    ) -> Result<Arc<RowCache>> {
        let Beyond { rows: (_, seen), unlabelled: (sample, all), threshold, .. } = *self.beyond;
        let share = self.rows as f64 / (all - sample) as f64;
        let highest = threshold + (share * (MOST - threshold) as f64) as u64;
        let encoding = rows.encoding().expect("rows of a table");
        let mut writer = RowCacheWriter::new(self.directory, preprocess.dim_out())?;
        let (mut priorities, mut read) = (Priorities::new(self.request.seed()), 0);
        let mut add = |chunk: flowgmm_data::Frame, known: Option<&[bool]>| -> Result<()> {
            read += chunk.n();
            let drawn: Vec<u64> =
                (0..chunk.n()).map(|row| priorities.next(known.is_some_and(|known| known[row]))).collect();
            let wanted = |row: &usize| drawn[*row] > threshold.max(UNLABELLED - 1) && drawn[*row] <= highest;
            let chosen: Vec<usize> = (0..chunk.n()).filter(wanted).collect();
            if chosen.is_empty() {
                return Ok(());
            }
            let x = encoding.apply(&chunk.select(&chosen))?.x;
            Ok(writer.add(&pool_matrix(x.view(), preprocess, None))?)
        };
        observer.phase(&Phase::Caching, Some(seen));
        let tables = Tables::of(self.request)?;
        let (before, _) = tables.of_source(observer, &mut |chunk, known| add(chunk, Some(known)))?;
        tables.of_more(before, observer, &mut |chunk| add(chunk, None))?;
        if read != seen {
            let name = self.request.source.name();
            return Err(Error::Content(format!(
                "{name} changed while it was learnt from: it had {seen} rows, and now has {read}"
            )));
        }
        let cache = writer.finish()?;
        tracing::info!(rows = cache.len(), "rows beyond memory are on disk");
        Ok(Arc::new(cache))
    }
}
