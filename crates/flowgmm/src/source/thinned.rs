//! Rows of a table as far as memory allows: all of them, or the labelled ones and as many of the others, drawn at random.
//!
//! Every row gets a random number once, in the order of the file; those with the smallest are kept, labelled rows before all
//! others. So each row has the same chance however the file is cut into chunks, and the same seed keeps the same rows.

use flowgmm_data::{Cells, Frame};
use rand::Rng as _;

use super::{beyond::Beyond, training::Origins};
use crate::{Error, Result, prepared::TAUGHT};

/// How many times more rows than allowed are held before some are let go: each time costs a copy of the table.
const SLACK: f64 = 1.25;
/// A table of more than one in so many of the rows that fit is large.
const LARGE: usize = 50;
/// How many times more bytes than those kept a table takes while it is read, 4.5 as measured, and some reserve: [`SLACK`], room that
/// vectors grow into, a copy.
const GROWTH: f64 = 5.0;
/// Bytes of a row besides its cells: line, class, random number.
const BESIDES: f64 = 40.0;
/// Bytes that teachers need for each row that they see, and for each of its numbers, as measured: neighbours, predictions, copies in
/// the spaces that they look at.
const TEACHING: (f64, f64) = (1000.0, 95.0);

/// The least number of a row without a label, and the greatest of all.
pub(super) const UNLABELLED: u64 = 1 << 32;
pub(super) const MOST: u64 = UNLABELLED | u32::MAX as u64;

/// The random numbers of rows, in the order of the tables.
pub(super) struct Priorities(semisup::Rng);

impl Priorities {
    pub(super) fn new(seed: u64) -> Self {
        Self(semisup::rng(seed))
    }

    /// The number of the next row: smaller for a labelled one than for any other.
    pub(super) fn next(&mut self, is_labelled: bool) -> u64 {
        let random = u64::from(self.0.random::<u32>());
        if is_labelled { random } else { random | UNLABELLED }
    }
}

/// A table that is being read.
pub(super) struct Thinned {
    bytes: f64,
    numbers: Priorities,
    frame: Option<Frame>,
    /// The random number of each row that is held, `[n]`.
    priorities: Vec<u64>,
    /// The class of each row whose labels were read, and `None` for rows that came later.
    y: Vec<Option<usize>>,
    /// First row and name of each file.
    files: Vec<(usize, String)>,
    /// Rows with a greater number are not kept.
    threshold: u64,
    /// Rows that were seen.
    pub(super) seen: usize,
    /// Those of them without a label.
    unlabelled: usize,
}

impl Thinned {
    /// A table that may hold so many bytes of cells.
    pub(super) fn new(bytes: f64, seed: u64) -> Self {
        Self {
            bytes,
            numbers: Priorities::new(seed),
            frame: None,
            priorities: Vec::new(),
            y: Vec::new(),
            files: Vec::new(),
            threshold: u64::MAX,
            seen: 0,
            unlabelled: 0,
        }
    }

    /// Number of rows that are held.
    pub(super) fn n(&self) -> usize {
        self.priorities.len()
    }

    /// Takes the next rows, of which some are labelled; a later file must have the `required` columns.
    pub(super) fn add(
        &mut self,
        chunk: Frame,
        is_labelled: impl Fn(usize) -> bool,
        required: &[String],
    ) -> Result<()> {
        self.seen += chunk.n();
        let drawn: Vec<u64> = (0..chunk.n()).map(|row| self.numbers.next(is_labelled(row))).collect();
        self.unlabelled += drawn.iter().filter(|&&number| number >= UNLABELLED).count();
        let kept: Vec<usize> = (0..chunk.n()).filter(|&row| drawn[row] <= self.threshold).collect();
        let chunk = if kept.len() == chunk.n() { chunk } else { chunk.select(&kept) };
        if self.files.last().is_none_or(|(_, name)| name != chunk.name()) {
            self.files.push((self.n(), chunk.name().to_string()));
        }
        self.priorities.extend(kept.into_iter().map(|row| drawn[row]));
        match &mut self.frame {
            None => self.frame = Some(chunk),
            Some(frame) => frame.append(chunk, required)?,
        }
        let allowed = self.allowed(0);
        if self.n() as f64 > SLACK * allowed as f64 {
            self.shrink(allowed);
        }
        Ok(())
    }

    /// The table as far as it is read.
    pub(super) fn frame(&self) -> Result<&Frame> {
        self.frame.as_ref().ok_or(Error::Content("a table without rows".into()))
    }

    /// The classes of the rows that are held; rows that come later have none.
    pub(super) fn set_labels(&mut self, y: Vec<Option<usize>>) {
        self.y = y;
    }

    /// Lets rows go until those held fit, if they are to be encoded as `dim` numbers, too.
    pub(super) fn fit(&mut self, dim: usize) {
        let allowed = self.allowed(dim);
        if self.n() > allowed {
            self.shrink(allowed);
        }
    }

    /// What was seen and is not held, if anything; a fit may take `bytes` in all.
    pub(super) fn beyond(&self, bytes: f64) -> Option<Beyond> {
        let held = self.priorities.iter().filter(|&&number| number >= UNLABELLED).count();
        (self.n() < self.seen).then_some(Beyond {
            rows: (self.n(), self.seen),
            unlabelled: (held, self.unlabelled),
            threshold: self.threshold,
            bytes,
        })
    }

    /// The rows, their classes and where they came from.
    pub(super) fn into_parts(mut self) -> Result<(Frame, Vec<Option<usize>>, Origins)> {
        self.y.resize(self.n(), None);
        let frame = self.frame.ok_or(Error::Content("a table without rows".into()))?;
        let mut origins = Origins::default();
        let ends = self.files.iter().skip(1).map(|(first, _)| *first).chain([frame.n()]);
        for ((first, name), end) in self.files.iter().zip(ends) {
            origins.add(name, &frame.lines()[*first..end]);
        }
        Ok((frame, self.y, origins))
    }

    /// Whether rows may have to go once they are encoded: a category can become many columns.
    pub(super) fn is_large(&self) -> bool {
        self.n() > self.allowed(0) / LARGE
    }

    /// Rows that fit, at least two.
    fn allowed(&self, dim: usize) -> usize {
        let Some(frame) = self.frame.as_ref().filter(|frame| frame.n() > 0) else { return usize::MAX };
        let cells: f64 = frame.columns().iter().map(|column| bytes(&column.cells)).sum();
        let cells = cells / frame.n() as f64;
        let dim = dim.max(frame.columns().len()) as f64;
        // Encoded rows are numbers of eight bytes, and of four where the flow sees them.
        let (row, taught) = (cells + 12.0 * dim + BESIDES, TEACHING.0 + TEACHING.1 * dim);
        let few = self.bytes / (row + taught);
        let encoded = few.max((self.bytes - taught * TAUGHT as f64) / row);
        // Before, the table grows beyond what is kept and is copied.
        let read = self.bytes / (GROWTH * cells + BESIDES);
        (encoded.min(read) as usize).max(2)
    }

    /// Keeps `count` rows.
    fn shrink(&mut self, count: usize) {
        let mut sorted = self.priorities.clone();
        sorted.select_nth_unstable(count - 1);
        self.threshold = sorted[count - 1];
        let kept: Vec<usize> = (0..self.n()).filter(|&row| self.priorities[row] <= self.threshold).collect();
        self.priorities = kept.iter().map(|&row| self.priorities[row]).collect();
        self.y.resize(self.y.len().max(kept.last().map_or(0, |last| last + 1)), None);
        self.y = kept.iter().map(|&row| self.y[row]).collect();
        self.files.iter_mut().for_each(|(first, _)| *first = kept.partition_point(|row| row < first));
        self.frame = self.frame.take().map(|frame| frame.select(&kept));
    }
}

/// Bytes of the cells of a column.
fn bytes(cells: &Cells) -> f64 {
    match cells {
        Cells::Numbers(values) => 8.0 * values.len() as f64,
        Cells::Texts(texts) => {
            texts.iter().flatten().map(|text| text.len() as f64).sum::<f64>() + 9.0 * texts.len() as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use flowgmm_data::Column;

    use super::*;

    /// Rows of one number, their line.
    fn lines(name: &str, rows: std::ops::Range<u64>) -> Frame {
        let cells = Cells::Numbers(rows.clone().map(|line| line as f64).collect());
        Frame::new(name, vec![Column { name: "x".into(), cells }], rows.collect()).unwrap()
    }

    fn is_tenth(line: u64) -> bool {
        line.is_multiple_of(10)
    }

    /// Bytes of a row of one number that teachers see.
    const ROW: f64 = 8.0 + 12.0 + BESIDES + TEACHING.0 + TEACHING.1;

    /// 10,000 rows in chunks, of which every tenth is labelled, thinned to about `bytes`.
    fn thinned(bytes: f64, chunk: u64, seed: u64) -> Thinned {
        let mut table = Thinned::new(bytes, seed);
        for first in (0..10_000).step_by(chunk as usize) {
            let rows = first..(first + chunk).min(10_000);
            table.add(lines("a", rows), |row| is_tenth(first + row as u64), &[]).unwrap();
        }
        table.fit(0);
        table
    }

    #[test]
    fn a_table_that_fits_is_whole_and_one_that_does_not_keeps_labelled_rows_and_a_sample() {
        let (whole, y, origins) = thinned(1e9, 700, 1).into_parts().unwrap();
        assert_eq!((whole.n(), y.len(), origins.of(9_999)), (10_000, 10_000, "9999".into()));
        let some = thinned(ROW * 3000.5, 700, 1);
        assert_eq!((some.n(), some.seen), (3000, 10_000));
        let (some, ..) = some.into_parts().unwrap();
        let labelled = some.lines().iter().filter(|&&line| is_tenth(line)).count();
        assert_eq!(labelled, 1000);
        assert!(some.lines().is_sorted());
        let first_half = some.lines().iter().filter(|&&line| !is_tenth(line) && line < 5000).count();
        assert!((900..1100).contains(&first_half), "{first_half}: both halves of the file alike");
        // However the file is cut; and labelled rows are thinned where they alone are too many.
        assert_eq!(thinned(ROW * 3000.5, 123, 1).into_parts().unwrap().0, some);
        let (few, ..) = thinned(ROW * 100.5, 700, 2).into_parts().unwrap();
        assert!(few.n() == 100 && few.lines().iter().all(|&line| is_tenth(line)));
    }

    #[test]
    fn rows_that_teachers_do_not_see_take_less() {
        let rows = |bytes: f64| {
            let mut table = Thinned::new(bytes, 1);
            table.add(lines("a", 0..10), |_| false, &[]).unwrap();
            table.allowed(0) as f64
        };
        let taught = ROW * TAUGHT as f64;
        assert!((rows(taught) - TAUGHT as f64).abs() <= 1.0);
        let more = rows(taught + 1e6) - rows(taught);
        assert!((more - 1e6 / (20.0 + BESIDES)).abs() <= 1.0, "{more}");
        // Of a very large table, reading takes more than all that comes after.
        assert!((rows(1e10) - 1e10 / (GROWTH * 8.0 + BESIDES)).abs() <= 1.0);
    }

    #[test]
    fn classes_and_files_follow_their_rows() {
        let mut table = Thinned::new(ROW * 60.5, 3);
        table.add(lines("a", 0..50), |row| row < 5, &[]).unwrap();
        table.set_labels((0..50).map(|row| (row < 5).then_some(row % 2)).collect());
        table.add(lines("b", 100..200), |_| false, &[]).unwrap();
        table.fit(0);
        let (frame, y, origins) = table.into_parts().unwrap();
        assert_eq!((frame.n(), y.len()), (60, 60));
        for (row, class) in y.into_iter().enumerate() {
            let line = frame.line(row);
            assert_eq!(class, (line < 5).then_some(line as usize % 2));
            assert_eq!(origins.of(row), format!("{}:{line}", if line < 100 { "a" } else { "b" }));
        }
    }
}
