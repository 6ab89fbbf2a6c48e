//! A seeded sample of a source: all rows, or so many of them where there are more, each with the same chance.
//!
//! A table is read once, chunk by chunk (reservoir sampling), and memory depends on the sample, not on the file.

use ndarray::{Array2, Axis};
use rand::{Rng as _, seq::index};

use super::{Chunks, Source, Wanted, chunks::Chunk};
use crate::{Error, Model, Result, observer::Observer};

/// Rows of a source that were kept.
pub(crate) struct Sampled {
    /// What messages call the source.
    pub(crate) name: String,
    /// How many rows there are in all.
    pub(crate) total: usize,
    /// `[n, dim]`
    pub(crate) x: Array2<f64>,
    /// The class of each row, where it is known.
    pub(crate) y: Vec<Option<usize>>,
    /// Lines, or names of images.
    pub(crate) names: Vec<String>,
    /// The texts of each row, if the model reads texts; else empty.
    pub(crate) texts: Vec<String>,
    /// What the user should know about the rows.
    pub(crate) warnings: Vec<String>,
}

impl Sampled {
    /// At most `most` rows of a source.
    pub(crate) fn read(
        model: &Model,
        source: &Source,
        wanted: Wanted,
        most: usize,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Self> {
        let mut chunks = Chunks::open(source, model.rows(), model.classes_ref(), wanted)?;
        if let Some(n) = chunks.n_images() {
            // Files of images are decoded only if they are kept.
            return Self::of_images(chunks, n, most, seed, model.rows().dim());
        }
        let mut reservoir = Reservoir { rng: semisup::rng(seed), most, seen: 0 };
        let mut kept: Vec<Kept> = Vec::new();
        let mut places = Vec::new();
        while let Some(chunk) = chunks.next_picked(observer, &mut |n| {
            places = reservoir.places(n);
            Some(places.iter().map(|place| place.0).collect())
        })? {
            for (at, &(_, slot)) in places.iter().enumerate() {
                let new = Kept::of(&chunk, at, model);
                match kept.get_mut(slot) {
                    Some(old) => *old = new,
                    None => kept.push(new),
                }
            }
        }
        let dim = model.rows().dim();
        let x = kept.iter().flat_map(|row| row.x.iter().copied()).collect();
        let x = Array2::from_shape_vec((kept.len(), dim), x).expect("rows of one length");
        let (name, total) = (chunks.name().to_string(), reservoir.seen);
        let (mut y, mut names, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for row in kept {
            y.push(row.y);
            names.push(row.name);
            texts.extend(row.text);
        }
        Self { name, total, x, y, names, texts, warnings: chunks.into_warnings() }.checked()
    }

    fn of_images(chunks: Chunks, n: usize, most: usize, seed: u64, dim: usize) -> Result<Self> {
        let mut kept = index::sample(&mut semisup::rng(seed), n, n.min(most)).into_vec();
        kept.sort_unstable();
        let mut x = Array2::zeros((0, dim));
        let (mut y, mut names) = (Vec::new(), Vec::new());
        for at in kept {
            let image = chunks.image(at)?;
            x.append(Axis(0), image.x.view()).expect("as many pixels");
            y.extend(image.y);
            names.push(image.names.get(0).into_owned());
        }
        let name = chunks.name().to_string();
        let warnings = chunks.into_warnings();
        Self { name, total: n, x, y, names, texts: Vec::new(), warnings }.checked()
    }

    fn checked(self) -> Result<Self> {
        match self.n() {
            0 => Err(Error::Content(format!("{} has no rows", self.name))),
            _ => Ok(self),
        }
    }

    /// How many rows were kept.
    pub(crate) fn n(&self) -> usize {
        self.y.len()
    }

    /// `1200 rows` or `10000 rows drawn at random from the 60000`.
    pub(crate) fn described(&self, what: &str) -> String {
        match self.total {
            total if total > self.n() => format!("{} {what} drawn at random from the {total}", self.n()),
            total => format!("{total} {what}"),
        }
    }
}

struct Kept {
    x: Vec<f64>,
    y: Option<usize>,
    name: String,
    text: Option<String>,
}

impl Kept {
    fn of(chunk: &Chunk, row: usize, model: &Model) -> Self {
        let texts = model.rows().texts();
        let text = chunk.frame.as_ref().filter(|_| !texts.is_empty()).map(|frame| {
            let cells = texts.iter().filter_map(|text| frame.column(&text.column)?.text(row));
            cells.map(|cell| cell.into_owned()).collect::<Vec<_>>().join(" / ")
        });
        Self { x: chunk.x.row(row).to_vec(), y: chunk.y[row], name: chunk.names.get(row).into_owned(), text }
    }
}

/// Keeps `most` of a stream of rows, each with the same chance.
struct Reservoir {
    rng: semisup::Rng,
    most: usize,
    seen: usize,
}

impl Reservoir {
    /// Which of the next `n` rows are kept for now, and in which slots; each slot once.
    fn places(&mut self, n: usize) -> Vec<(usize, usize)> {
        let mut places: Vec<(usize, usize)> = Vec::new();
        for row in 0..n {
            let slot = match self.seen {
                seen if seen < self.most => seen,
                seen => self.rng.random_range(0..=seen),
            };
            self.seen += 1;
            if slot < self.most {
                places.retain(|place| place.1 != slot);
                places.push((row, slot));
            }
        }
        places.sort_unstable_by_key(|place| place.1); // new slots are filled in their order
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every row is kept with probability most / n: 40 of 200, over 400 streams, 80 times each give or take 8.
    #[test]
    fn every_row_has_the_same_chance() {
        let mut counts = vec![0_usize; 200];
        for seed in 0..400 {
            let mut reservoir = Reservoir { rng: semisup::rng(seed), most: 40, seen: 0 };
            let mut slots = Vec::new();
            for chunk in 0..4 {
                for (row, slot) in reservoir.places(50) {
                    if slot == slots.len() {
                        slots.push(0);
                    }
                    slots[slot] = 50 * chunk + row; // a slot that is not there yet would panic
                }
            }
            assert_eq!(slots.len(), 40);
            slots.into_iter().for_each(|row| counts[row] += 1);
        }
        assert_eq!(counts.iter().sum::<usize>(), 400 * 40);
        let thirds = [0, 60, 120].map(|at| counts[at..at + 60].iter().sum::<usize>() as f64 / 60.0);
        assert!(thirds.iter().all(|mean| (mean - 80.0).abs() < 3.5), "{thirds:?}");
        assert!(counts.iter().all(|&count| count > 40 && count < 120));
    }
}
