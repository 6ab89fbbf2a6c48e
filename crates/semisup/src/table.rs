//! A headed CSV file in memory, before anyone decided which columns are features and which one is the label.
//!
//! `Table` [n rows, columns of text] --schema--> [`SemiSupervised`], [`Labelled`] or features `[n, dim]`.

use std::{collections::HashMap, fs::File, io, path::Path};

use ndarray::Array2;

use crate::records::{Record, Records, locate, number};
use crate::{Error, Labelled, Result, SemiSupervised};

/// The cells of a CSV file with its column names and line numbers.
pub struct Table {
    name: String,
    columns: Vec<String>,
    rows: Vec<Record>,
}

/// Reads a headed CSV; `name` stands for the source in messages.
pub fn read_table<R: io::Read>(reader: R, name: &str) -> Result<Table> {
    let mut records = Records::new(reader, name)?;
    let mut rows = Vec::new();
    while let Some(record) = records.next()? {
        rows.push(record);
    }
    if rows.is_empty() {
        return Err(Error::NoRows { name: name.into() });
    }
    Ok(Table { name: records.name, columns: records.columns, rows })
}

/// Reads a headed CSV file.
pub fn read_table_path(path: &Path) -> Result<Table> {
    let name = path.display().to_string();
    match File::open(path) {
        Ok(file) => read_table(file, &name),
        Err(source) => Err(Error::Io { name, source }),
    }
}

impl Table {
    /// Where the table came from, as messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The column names in the order of the file.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of rows, at least one.
    pub fn n(&self) -> usize {
        self.rows.len()
    }

    /// All columns but `label` as numbers, and the labels there are: an empty label cell means unlabelled.
    ///
    /// Classes are sorted, by value if all are numbers. `3.0` is the label `3`: pandas writes integers so as
    /// soon as one is missing.
    pub fn semi_supervised(&self, label: &str) -> Result<SemiSupervised> {
        let label = self.label_column(label)?;
        let features: Vec<usize> = (0..self.columns.len()).filter(|&column| column != label).collect();
        if features.is_empty() {
            return Err(Error::NoColumns { name: self.name.clone() });
        }
        let labels: Vec<&str> = self.rows.iter().map(|row| canonical(&row.cells[label])).collect();
        let classes = sorted_classes(&labels);
        match classes.as_slice() {
            [] => return Err(Error::NoLabels { name: self.name.clone() }),
            [class] => return Err(Error::OneClass { name: self.name.clone(), class: class.clone() }),
            _ => {}
        }
        let index = class_index(&classes);
        let y = labels.iter().map(|&text| index.get(text).copied()).collect();
        let columns = features.iter().map(|&column| self.columns[column].clone()).collect();
        SemiSupervised::new(self.numbers(&features)?, y, classes, columns)
    }

    /// The labelled rows as a model with these `columns` and `classes` sees them, and the number of rows
    /// skipped because their label is empty. Columns are found by name; others are ignored.
    pub fn labelled(&self, label: &str, columns: &[String], classes: &[String]) -> Result<(Labelled, usize)> {
        let label = self.label_column(label)?;
        let features = locate(&self.name, &self.columns, columns)?;
        let index = class_index(classes);
        let (mut y, mut kept) = (Vec::new(), Vec::new());
        for row in &self.rows {
            let cell = &row.cells[label];
            match index.get(cell).or_else(|| index.get(canonical(cell))) {
                Some(&k) => {
                    y.push(k);
                    kept.push(row);
                }
                None if cell.is_empty() => {}
                None => {
                    return Err(Error::UnknownLabel {
                        name: self.name.clone(),
                        line: row.line,
                        column: self.columns[label].clone(),
                        cell: cell.into(),
                        classes: classes.to_vec(),
                    });
                }
            }
        }
        if kept.is_empty() {
            return Err(Error::NoLabels { name: self.name.clone() });
        }
        let skipped = self.n() - kept.len();
        let x = self.numbers_of(kept.into_iter(), &features)?;
        Ok((Labelled::new(x, y, classes.to_vec(), columns.to_vec())?, skipped))
    }

    /// The named columns as numbers `[n, columns.len()]`, in the order asked for; others are ignored.
    pub fn features(&self, columns: &[String]) -> Result<Array2<f64>> {
        self.numbers(&locate(&self.name, &self.columns, columns)?)
    }

    fn label_column(&self, label: &str) -> Result<usize> {
        self.columns
            .iter()
            .position(|column| column == label)
            .ok_or_else(|| Error::no_label_column(&self.name, label, &self.columns))
    }

    fn numbers(&self, indices: &[usize]) -> Result<Array2<f64>> {
        self.numbers_of(self.rows.iter(), indices)
    }

    fn numbers_of<'a>(
        &self,
        rows: impl ExactSizeIterator<Item = &'a Record>,
        indices: &[usize],
    ) -> Result<Array2<f64>> {
        let shape = (rows.len(), indices.len());
        let mut values = Vec::with_capacity(shape.0 * shape.1);
        for row in rows {
            for &index in indices {
                values.push(number(&self.name, &self.columns, row, index)?);
            }
        }
        Ok(Array2::from_shape_vec(shape, values).expect("one value per row and column"))
    }
}

/// `3.0` and `3.` as `3`; any other text as it is.
fn canonical(label: &str) -> &str {
    let Some((whole, fraction)) = label.split_once('.') else { return label };
    let digits = whole.strip_prefix('-').unwrap_or(whole);
    let integer = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if integer && fraction.bytes().all(|byte| byte == b'0') { whole } else { label }
}

fn sorted_classes(labels: &[&str]) -> Vec<String> {
    let mut classes: Vec<&str> = labels.iter().copied().filter(|label| !label.is_empty()).collect();
    classes.sort_unstable();
    classes.dedup();
    let values: Option<Vec<f64>> = classes.iter().map(|class| class.parse().ok()).collect();
    if let Some(values) = values {
        let mut numbered: Vec<(f64, &str)> = values.into_iter().zip(classes).collect();
        numbered.sort_by(|a, b| a.0.total_cmp(&b.0)); // stable: equal numbers stay in text order
        classes = numbered.into_iter().map(|(_, class)| class).collect();
    }
    classes.into_iter().map(String::from).collect()
}

fn class_index(classes: &[String]) -> HashMap<&str, usize> {
    classes.iter().enumerate().map(|(k, class)| (class.as_str(), k)).collect()
}
