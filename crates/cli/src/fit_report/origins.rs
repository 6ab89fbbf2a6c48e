//! Which line of which file each row came from.

use flowgmm_data::Frame;

/// Lines and files of the training rows.
#[derive(Default)]
pub struct Origins {
    lines: Vec<u64>,             // [n]
    files: Vec<(usize, String)>, // first row of each file, and its name
}

impl Origins {
    /// The rows of `batch` come next.
    pub fn add(&mut self, batch: &Frame) {
        if self.files.last().is_none_or(|(_, name)| name != batch.name()) {
            self.files.push((self.lines.len(), batch.name().to_string()));
        }
        self.lines.extend(batch.lines());
    }

    /// `17`, or `more.csv:17` if there are several files.
    pub fn of(&self, row: usize) -> String {
        let line = self.lines[row];
        match self.files.as_slice() {
            [_] => line.to_string(),
            files => {
                let at = files.partition_point(|(first, _)| *first <= row);
                format!("{}:{line}", files[at - 1].1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use flowgmm_data::{Cells, Column};

    use super::*;

    #[test]
    fn a_row_is_found_in_its_file() {
        let frame = |name: &str, lines: Vec<u64>| {
            let cells = Cells::Numbers(vec![0.0; lines.len()]);
            Frame::new(name, vec![Column { name: "x".into(), cells }], lines).unwrap()
        };
        let mut origins = Origins::default();
        origins.add(&frame("a.csv", vec![2, 3]));
        assert_eq!(origins.of(1), "3");
        origins.add(&frame("b.csv", vec![2]));
        origins.add(&frame("b.csv", vec![5]));
        assert_eq!([0, 2, 3].map(|row| origins.of(row)), ["a.csv:2", "b.csv:2", "b.csv:5"]);
    }
}
