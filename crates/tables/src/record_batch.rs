//! From Arrow record batches, of Parquet, IPC or memory, to frames.
//!
//! ```text
//! schema ─Layout::new→ which columns, types checked ─batch→ Frame
//!     numbers, decimals → numbers      texts, dictionaries → texts or numbers      true, false → those texts
//!     dates and times → ISO 8601       null, NaN → missing
//!     lists of d numbers → name_0 .. name_{d-1}
//! ```

mod convert;
mod lists;

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use flowgmm_data::{Column, Frame};

use crate::{Error, Options, Result, Warning, missing::MissingRules};

/// Which columns of a file become which columns of its frames.
pub(crate) struct Layout {
    name: String,
    /// Positions in the file's schema, ascending.
    roots: Vec<usize>,
    wanted: Option<Vec<String>>,
    missing: MissingRules,
    /// Length of the lists of a column, once seen.
    lengths: HashMap<String, usize>,
    rows: u64,
}

impl Layout {
    /// Finds the columns asked for and checks their types.
    pub fn new(name: &str, schema: &Schema, options: &Options, warnings: &mut Vec<Warning>) -> Result<Self> {
        let wanted = options.columns.clone();
        let roots = match &wanted {
            Some(wanted) => find(name, schema, wanted)?,
            None => all(name, schema, warnings),
        };
        for &root in &roots {
            let field = schema.field(root);
            if !convert::is_read(field.data_type()) && !lists::is_read(field.data_type()) {
                return Err(unsupported(name, field.name(), field.data_type()));
            }
        }
        Error::check_columns(name, width(schema, &roots) as u64)?;
        let missing = MissingRules::new(options);
        Ok(Self { name: name.into(), roots, wanted, missing, lengths: HashMap::new(), rows: 0 })
    }

    /// The columns to read, as positions in the file's schema.
    pub fn roots(&self) -> &[usize] {
        &self.roots
    }

    /// Values of a row, as far as the types tell.
    pub fn width(&self, schema: &Schema) -> usize {
        width(schema, &self.roots)
    }

    /// The frame of a batch that has the columns of [`Layout::roots`].
    pub fn frame(&mut self, batch: &RecordBatch) -> Result<Frame> {
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            if lists::is_read(field.data_type()) {
                let lists = lists::Lists { file: &self.name, column: field.name(), first_row: self.rows + 1 };
                let length = self.lengths.get(field.name()).copied();
                let expanded = lists.expand(array, length, &self.missing)?;
                self.lengths.insert(field.name().clone(), expanded.len());
                columns.extend(expanded);
            } else {
                let cells = convert::cells(array, self.missing.of(field.name()))
                    .map_err(|found| unsupported(&self.name, field.name(), &found))?;
                columns.push(Column { name: field.name().clone(), cells });
            }
        }
        let lines = (self.rows + 1..).take(batch.num_rows()).collect();
        self.rows += batch.num_rows() as u64;
        Ok(Frame::new(&self.name, self.select(columns)?, lines)?)
    }

    /// The columns asked for, in the order asked for; the name of a list stands for all its elements.
    fn select(&self, columns: Vec<Column>) -> Result<Vec<Column>> {
        let Some(wanted) = &self.wanted else { return Ok(columns) };
        let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
        let mut by_name: HashMap<String, Column> = columns.into_iter().map(|c| (c.name.clone(), c)).collect();
        let (mut selected, mut missing) = (Vec::new(), Vec::new());
        for name in wanted {
            match self.lengths.get(name) {
                Some(&d) => selected.extend((0..d).filter_map(|i| by_name.remove(&lists::element(name, i)))),
                None => match by_name.remove(name) {
                    Some(column) => selected.push(column),
                    None => missing.push(name.clone()),
                },
            }
        }
        match missing.is_empty() {
            true => Ok(selected),
            false => Err(Error::missing_columns(&self.name, missing, &names)),
        }
    }
}

/// Values of a row in these columns, as far as the types tell.
fn width(schema: &Schema, roots: &[usize]) -> usize {
    let of = |&root: &usize| match schema.field(root).data_type() {
        DataType::FixedSizeList(_, d) => (*d).max(1) as usize,
        _ => 1,
    };
    roots.iter().map(of).fold(0, usize::saturating_add)
}

/// A record batch cut into slices of at most so many rows.
pub(crate) struct Slices {
    rows: usize,
    /// The batch, and the rows done.
    current: Option<(RecordBatch, usize)>,
}

impl Slices {
    pub fn new(rows: usize) -> Self {
        Self { rows, current: None }
    }

    /// Cuts up this batch next.
    pub fn put(&mut self, batch: RecordBatch) {
        self.current = Some((batch, 0));
    }
}

impl Iterator for Slices {
    type Item = RecordBatch;

    fn next(&mut self) -> Option<RecordBatch> {
        let (batch, done) = self.current.as_mut().filter(|(batch, done)| *done < batch.num_rows())?;
        let rows = self.rows.min(batch.num_rows() - *done);
        let slice = batch.slice(*done, rows);
        *done += rows;
        Some(slice)
    }
}

/// Every column but the index of pandas.
fn all(name: &str, schema: &Schema, warnings: &mut Vec<Warning>) -> Vec<usize> {
    let mut roots = Vec::new();
    for (root, field) in schema.fields().iter().enumerate() {
        if field.name().starts_with("__index_level_") && schema.fields().len() > 1 {
            warnings.push(Warning::PandasIndex { name: name.into(), column: field.name().clone() });
        } else {
            roots.push(root);
        }
    }
    roots
}

/// The columns that hold what is asked for.
fn find(name: &str, schema: &Schema, wanted: &[String]) -> Result<Vec<usize>> {
    let mut position: HashMap<&str, usize> = HashMap::new();
    schema.fields().iter().enumerate().for_each(|(at, field)| _ = position.insert(field.name(), at));
    let root = |wanted: &String| {
        let of_list = || {
            let at = *position.get(lists::list_of(wanted)?)?;
            lists::is_read(schema.field(at).data_type()).then_some(at)
        };
        position.get(wanted.as_str()).copied().or_else(of_list)
    };
    let missing: Vec<String> = wanted.iter().filter(|name| root(name).is_none()).cloned().collect();
    if !missing.is_empty() {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        return Err(Error::missing_columns(name, missing, &names));
    }
    let mut roots: Vec<usize> = wanted.iter().filter_map(root).collect();
    roots.sort_unstable();
    roots.dedup();
    Ok(roots)
}

fn unsupported(name: &str, column: &str, found: &DataType) -> Error {
    Error::Unsupported {
        name: name.into(),
        column: column.into(),
        found: found.to_string(),
        remedy: "Leave the column out, or store it as numbers, texts, dates or lists of numbers",
    }
}
