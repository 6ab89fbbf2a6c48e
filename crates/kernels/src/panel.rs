//! How rows are split into panels and chunks, and moved between row-major arrays and panels.
//!
//! A panel is 1 to 4 lanes of 16 rows. Its buffers are feature-major: feature `f` is the `lanes`
//! consecutive [`Lane`]s from `f * lanes`. A chunk is a run of panels: the unit of parallel work, and of
//! gradient accumulation. Both depend on the number of rows alone, so thread counts change no bit.
//!
//! Rows that fill up a last lane repeat the panel's last row, with zero gradient: they cannot produce a
//! non-finite number that a real row did not.

use crate::simd::{Lane, ZERO, flat, flat_mut};
use crate::transpose::{transpose, transpose_flat};
use std::ops::Range;

/// Lanes in a full panel: 4 x 16 rows is what the AVX-512 tile handles at once.
const PANEL_LANES: usize = 4;
/// Chunks aimed at, so that as many threads can work.
const CHUNKS: usize = 8;
/// Panels in a chunk at most: with 512 rows the hidden layer still fits a second-level cache.
const CHUNK_PANELS: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Panel {
    pub first: usize,
    pub rows: usize,
    pub lanes: usize,
}

/// The panels of `n` rows: as few as possible but a multiple of two, of lane counts that differ by at most one. Three
/// panels on two threads would take as long as four.
pub(crate) fn panels(n: usize) -> Vec<Panel> {
    let lanes = n.div_ceil(16);
    let count = lanes.div_ceil(PANEL_LANES).next_multiple_of(2).min(lanes);
    let mut first = 0;
    (0..count)
        .map(|i| {
            let lanes = lanes / count + usize::from(i < lanes % count);
            let panel = Panel { first, rows: (16 * lanes).min(n - first), lanes };
            first += panel.rows;
            panel
        })
        .collect()
}

/// The chunks of `n_panels` panels: sizes that differ by at most one.
pub(crate) fn chunks(n_panels: usize) -> Vec<Range<usize>> {
    let size = n_panels.div_ceil(CHUNKS).clamp(1, CHUNK_PANELS);
    let count = n_panels.div_ceil(size);
    let mut start = 0;
    (0..count)
        .map(|i| {
            let end = start + n_panels / count + usize::from(i < n_panels % count);
            let chunk = start..end;
            start = end;
            chunk
        })
        .collect()
}

impl Panel {
    /// `rows` [rows, width] of this panel alone -> `to` [width, 16 * lanes], the last row repeated.
    pub(crate) fn load_repeating(&self, rows: &[f32], width: usize, to: &mut [Lane]) {
        let full = 16 * self.lanes;
        transpose(rows, width, self.rows, width, to, full);
        for feature in flat_mut(&mut to[..width * self.lanes]).chunks_exact_mut(full) {
            let last = feature[self.rows - 1];
            feature[self.rows..].fill(last);
        }
    }

    /// `rows` [rows, width] of this panel alone -> `to` [width, 16 * lanes], filled up with zeros.
    pub(crate) fn load_zeroed(&self, rows: &[f32], width: usize, to: &mut [Lane]) {
        to[..width * self.lanes].fill(ZERO);
        transpose(rows, width, self.rows, width, to, 16 * self.lanes);
    }

    /// `from` [width, 16 * lanes] -> `rows` [rows, width] of this panel alone.
    pub(crate) fn store(&self, from: &[Lane], width: usize, rows: &mut [f32]) {
        transpose_flat(flat(from), 16 * self.lanes, width, self.rows, rows, width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_and_chunks_cover_every_row_once() {
        for n in 0..3000 {
            let panels = panels(n);
            let mut next = 0;
            for p in &panels {
                assert_eq!(p.first, next);
                assert!(p.rows > 0 && p.lanes <= PANEL_LANES && p.rows.div_ceil(16) == p.lanes, "{n}: {p:?}");
                next += p.rows;
            }
            assert_eq!(next, n);
            let chunks = chunks(panels.len());
            assert!(chunks.iter().all(|c| !c.is_empty() && c.len() <= CHUNK_PANELS));
            assert_eq!(
                chunks.into_iter().flatten().collect::<Vec<_>>(),
                (0..panels.len()).collect::<Vec<_>>()
            );
        }
    }

    #[test]
    fn a_panel_returns_the_rows_it_was_given() {
        let panel = Panel { first: 0, rows: 19, lanes: 2 };
        let rows: Vec<f32> = (0..19 * 3).map(|i| i as f32).collect();
        let mut lanes = vec![ZERO; 3 * 2];
        let mut back = vec![0.0; rows.len()];
        panel.load_repeating(&rows, 3, &mut lanes);
        assert_eq!(lanes[1].0[15], lanes[1].0[2], "filled up with the last row");
        panel.store(&lanes, 3, &mut back);
        assert_eq!(rows, back);
        panel.load_zeroed(&rows, 3, &mut lanes);
        assert_eq!(lanes[1].0[3..], [0.0; 13]);
    }
}
