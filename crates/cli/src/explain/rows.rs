//! The rows that a page is about: all of a source, or a seeded sample of them where there are more than are looked at.
//!
//! A table is read once, batch by batch, and each row has the same chance to be kept (reservoir sampling); only rows that
//! are kept are encoded, so memory and time depend on the sample, not on the file.

use std::path::Path;

use flowgmm::Model;
use flowgmm_data::{Frame, labels_of};
use rand::{Rng as _, seq::index};
use semisup::{
    Classifier,
    ndarray::{Array2, Axis},
};

use crate::{
    exit::{Failure, Result},
    fit_report::short,
    images::{self, Images},
    input::{Coder, Guesses, Reading},
};

/// Characters of a text that are shown.
const SNIPPET: usize = 90;

/// Where rows come from, and how they are read.
pub struct Source<'a> {
    pub model: &'a Model,
    pub model_path: &'a Path,
    pub reading: &'a Reading,
    /// Most rows kept.
    pub most: usize,
    pub seed: u64,
}

/// Which labels are read.
#[derive(Clone, Copy)]
pub enum Labels<'a> {
    /// None.
    Unread,
    /// Those in this column of a table, or in this file of images; or none.
    Named { column: Option<&'a str>, file: Option<&'a Path> },
}

/// Rows as the model sees them.
pub struct Rows {
    /// What messages call their source.
    pub name: String,
    /// How many there are in all.
    pub total: usize,
    /// `[n, dim]`
    pub x: Array2<f64>,
    /// Their classes, where known.
    pub y: Vec<Option<usize>>,
    /// Line or name of the image.
    pub names: Vec<String>,
    /// The beginning of their texts, if the model reads texts; else empty.
    pub texts: Vec<String>,
}

impl Rows {
    /// How many are kept.
    pub fn n(&self) -> usize {
        self.y.len()
    }

    /// `1200 rows` or `10000 rows drawn at random from the 60000`.
    pub fn described(&self, what: &str) -> String {
        match self.total {
            total if total > self.n() => format!("{} {what} drawn at random from the {total}", self.n()),
            total => format!("{total} {what}"),
        }
    }
}

impl Source<'_> {
    /// Rows of a table or images.
    pub fn read(&self, path: &Path, labels: Labels) -> Result<Rows> {
        let file = match labels {
            Labels::Named { file, .. } => file,
            Labels::Unread => None,
        };
        let sought = images::Sought { labels: file, suffix: self.reading.suffix() };
        let rows = match images::for_model(self.model, self.model_path, path, &sought)? {
            Some(images) => self.of_images(&images, labels)?,
            None => self.of_table(path, labels)?,
        };
        match rows.n() {
            0 => Err(Failure::Data(format!("{} has no rows", rows.name))),
            _ => Ok(rows),
        }
    }

    fn of_images(&self, images: &Images, labels: Labels) -> Result<Rows> {
        let n = images.n();
        let y = match labels {
            Labels::Unread => vec![None; n],
            Labels::Named { .. } => images.labels(self.model)?,
        };
        let mut kept = index::sample(&mut semisup::rng(self.seed), n, n.min(self.most)).into_vec();
        kept.sort_unstable();
        let mut x = Array2::zeros((kept.len(), self.model.columns().len()));
        for (to, &at) in kept.iter().enumerate() {
            x.row_mut(to).assign(&images.rows(at..at + 1)?.row(0));
        }
        let names = kept.iter().map(|&at| images.names(at..at + 1)[0].clone()).collect();
        let y = kept.iter().map(|&at| y[at]).collect();
        Ok(Rows { name: images.name(), total: n, x, y, names, texts: Vec::new() })
    }

    fn of_table(&self, path: &Path, labels: Labels) -> Result<Rows> {
        let label = match labels {
            Labels::Named { column, .. } => column,
            Labels::Unread => None,
        };
        let mut coder = Coder::new(self.model, self.model_path, self.reading)?;
        let reader = self.reading.open(path, label.as_slice())?;
        let name = reader.name().to_string();
        let mut reservoir = Reservoir { rng: semisup::rng(self.seed), most: self.most, seen: 0 };
        let mut kept: Vec<Kept> = Vec::new();
        let mut guesses = Guesses::default();
        for batch in reader {
            let batch = batch?;
            let y = match label {
                Some(label) => labels_of(&batch, label, self.model.classes())?,
                None => vec![None; batch.n()],
            };
            let places = reservoir.places(batch.n());
            let rows: Vec<usize> = places.iter().map(|place| place.0).collect();
            let chosen = batch.select(&rows);
            let encoded = coder.encode(&chosen)?;
            guesses.add(&encoded);
            for (i, (row, slot)) in places.into_iter().enumerate() {
                let new = Kept {
                    x: encoded.x.row(i).to_vec(),
                    y: y[row],
                    name: chosen.line(i).to_string(),
                    text: snippet(self.model, &chosen, i),
                };
                match kept.get_mut(slot) {
                    Some(old) => *old = new,
                    None => kept.push(new),
                }
            }
        }
        guesses.warn(&name);
        let mut rows = Rows {
            name,
            total: reservoir.seen,
            x: Array2::zeros((0, self.model.columns().len())),
            y: Vec::new(),
            names: Vec::new(),
            texts: Vec::new(),
        };
        for kept in kept {
            let row = semisup::ndarray::ArrayView2::from_shape((1, kept.x.len()), &kept.x).expect("one row");
            rows.x.append(Axis(0), row).expect("as many columns");
            rows.y.push(kept.y);
            rows.names.push(kept.name);
            rows.texts.extend(kept.text);
        }
        Ok(rows)
    }
}

struct Kept {
    x: Vec<f64>,
    y: Option<usize>,
    name: String,
    text: Option<String>,
}

/// The beginning of a row's texts.
fn snippet(model: &Model, frame: &Frame, row: usize) -> Option<String> {
    let texts: Vec<String> = (model.texts().iter())
        .filter_map(|text| Some(frame.column(&text.column)?.text(row)?.into_owned()))
        .collect();
    (!model.texts().is_empty()).then(|| short(&texts.join(" / "), SNIPPET))
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
            for batch in 0..4 {
                for (row, slot) in reservoir.places(50) {
                    if slot == slots.len() {
                        slots.push(0);
                    }
                    slots[slot] = 50 * batch + row; // a slot that is not there yet would panic
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
