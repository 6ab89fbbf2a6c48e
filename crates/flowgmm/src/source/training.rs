//! Rows to learn from: read whole, with what their columns mean and where each row came from.

use flowgmm_data::{ColumnKind, DeclaredKind, Encoding, Frame, Labels as TableLabels, Schema, labels_of};
use ndarray::{Array2, Axis};
use semisup::SemiSupervised;

use super::{Labels, Origin, Source, beyond::Beyond, images::Images, tables::Tables, thinned::Thinned};
use crate::{
    Error, Request, Result, memory,
    observer::{Control, Observer, Phase, watched},
    recipe::Decision,
    rows::{Rows, text::Embedder},
    sharded::{Cut, RowKeys, Wide},
};

/// Images decoded at a time.
const IMAGES: usize = 512;
/// Bytes of a fit that do not depend on the number of rows: the program, the flow.
const FIXED: f64 = 40e6;
/// As many classes as this, mostly of one row, are no classes.
const TOO_MANY: usize = 20;

/// Rows to learn from, as numbers, and how they became so.
#[derive(Debug)]
pub struct Training {
    /// Rows and labels.
    pub data: SemiSupervised,
    /// What a row is.
    pub rows: Rows,
    /// What the columns of a table mean.
    pub schema: Option<Schema>,
    /// Where each row came from.
    pub origins: Origins,
    /// What the user should know.
    pub warnings: Vec<String>,
    /// What was decided while reading.
    pub(crate) decisions: Vec<Decision>,
    /// The rows beyond these, if rows are in shards.
    pub(crate) wide: Option<Wide>,
    /// The rows of the table that did not fit in memory, if not all did.
    pub(crate) beyond: Option<Beyond>,
}

impl Training {
    /// Reads the rows of a request.
    pub fn read(request: &Request, observer: &mut dyn Observer) -> Result<Self> {
        observer.phase(&Phase::Reading, None);
        let source = &request.source;
        match source.open_images()? {
            Some(images) => of_images(request, images, observer),
            None => match &source.origin {
                Origin::Matrix { x, columns } if request.is_plain() && request.shards().is_none() => {
                    of_matrix(source, x, columns)
                }
                _ => of_table(request, observer),
            },
        }
    }

    /// Rows of a table that are read.
    pub(crate) fn of_rows(
        data: SemiSupervised,
        rows: Rows,
        schema: Schema,
        table: &Frame,
        mut warnings: Vec<String>,
    ) -> Self {
        let mut origins = Origins::default();
        origins.add(table.name(), table.lines());
        warnings.extend(schema_warnings(&schema));
        let decisions = schema_decisions(&schema);
        Self { data, rows, schema: Some(schema), origins, warnings, decisions, wide: None, beyond: None }
    }

    /// Says what is wrong with a source that is to be evaluated on after a long fit, as far as its beginning shows it.
    pub fn check_test(&self, test: &Source) -> Result<()> {
        if !test.can_be_read_again() {
            return Ok(());
        }
        let classes = self.data.classes();
        if self.rows.layout().is_some() {
            let images = test.open_images()?.ok_or_else(|| match test.file() {
                Some(path) if !path.exists() => Error::io(path)(std::io::ErrorKind::NotFound.into()),
                _ => Error::Content(format!(
                    "{} holds no images, but the model is to learn from images",
                    test.name()
                )),
            })?;
            return images.labels_among(classes).map(drop);
        }
        let Some(label) = test.label() else { return Ok(()) };
        if let Some(frame) = test.frames(&[label])?.next() {
            let frame = frame?;
            labels_of(&frame, label, classes)?;
            // Embedding texts would take its time.
            if let Some(encoding) = self.rows.encoding().filter(|_| self.rows.texts().is_empty()) {
                encoding.apply(&frame)?;
            }
        }
        Ok(())
    }
}

fn of_matrix(source: &Source, x: &Array2<f64>, columns: &[String]) -> Result<Training> {
    let Labels::Given { labels, .. } = &source.labels else {
        return Err(Error::Request("a matrix needs its labels, one for each row".into()));
    };
    let mut classes: Vec<String> = labels.iter().flatten().cloned().collect();
    classes.sort();
    classes.dedup();
    let number = |label: &String| classes.binary_search(label).expect("it is one of them");
    let y = labels.iter().map(|label| label.as_ref().map(number)).collect();
    let mut origins = Origins::default();
    origins.add(&source.name(), &(1..=x.nrows() as u64).collect::<Vec<_>>());
    Ok(Training {
        data: SemiSupervised::new(x.clone(), y, classes, columns.to_vec())?,
        rows: Rows::Matrix { columns: columns.to_vec() },
        schema: None,
        origins,
        warnings: Vec::new(),
        decisions: Vec::new(),
        wide: None,
        beyond: None,
    })
}

fn of_table(request: &Request, observer: &mut dyn Observer) -> Result<Training> {
    let tables = Tables::of(request)?;
    let label = tables.label.as_str();
    let bytes = request.memory.map_or_else(|| 0.5 * memory::available(), |bytes| bytes as f64);
    // The rest is for the program and the flow.
    let mut table = Thinned::new(bytes - FIXED.min(0.5 * bytes), request.seed());
    let (seen, mut warnings) =
        tables.of_source(observer, &mut |chunk, known| table.add(chunk, |row| known[row], &[]))?;
    let frame = table.frame()?;
    let labels = flowgmm_data::labels(frame, label, &request.unlabelled_values)?;
    check_labels(frame, label, &labels)?;
    let TableLabels { y, classes, warnings: odd } = labels;
    warnings.extend(odd.into_iter().map(|warning| warning.message));
    let features: Vec<String> = frame.column_names().into_iter().filter(|name| name != label).collect();
    table.set_labels(y);
    let more = tables.of_more(seen, observer, &mut |chunk| table.add(chunk, |_| false, &features));
    warnings.extend(more?);
    if request.texts.is_empty() && table.is_large() {
        let schema = Schema::infer(table.frame()?, Some(label), &request.declared)?;
        table.fit(Encoding::learn(&schema, table.frame()?)?.feature_names().len());
    }
    let beyond = table.beyond(bytes);
    let (mut frame, mut y, mut origins) = table.into_parts()?;
    let keys = request.shards().map(|_| RowKeys::new(request.seed()).of(&frame, Some(label)));
    let mut texts = Vec::new();
    if !request.texts.is_empty() {
        let mut embedder = Embedder::open(&request.source.reading.text, &request.texts)?;
        frame = embedder.embed(&frame, observer)?;
        warnings.extend(embedder.take_warnings());
        texts = embedder.remembered();
    }
    // What is learnt of the columns is learnt from the sample: workers that hold the other rows cannot be asked.
    let cut = keys.map(|keys| Cut::new(keys, &y, request));
    let rest = cut.as_ref().map(|cut| {
        let rest = frame.select(&cut.rest);
        frame = frame.select(&cut.sample);
        y = cut.sample.iter().map(|&row| y[row]).collect();
        origins = origins.select(&cut.sample);
        rest
    });
    let (schema, encoding, x) = watched(observer, &Phase::Preprocessing, frame.n(), |watch| {
        let schema = Schema::infer(&frame, Some(label), &request.declared)?;
        watch.at(0.3)?;
        let encoding = Encoding::learn(&schema, &frame)?;
        watch.at(0.6)?;
        let x = encoding.apply(&frame)?.x;
        watch.at(0.9)?;
        Ok((schema, encoding, x))
    })?;
    warnings.extend(schema_warnings(&schema));
    let data = SemiSupervised::new(x, y, classes, encoding.feature_names())?.with_steps(encoding.steps());
    let wide = match cut.zip(rest) {
        None => None,
        Some((cut, rest)) => Some(cut.wide(encoding.apply(&rest)?.x)),
    };
    let rows = Rows::Table { encoding, texts, label: Some(label.to_string()) };
    let mut decisions = schema_decisions(&schema);
    decisions.extend(wide.as_ref().map(|wide| wide.decision(request.shards().unwrap_or(1), &data)));
    Ok(Training { data, rows, schema: Some(schema), origins, warnings, decisions, wide, beyond })
}

fn schema_warnings(schema: &Schema) -> Vec<String> {
    let texts = schema.columns().iter().filter(|column| column.kind == ColumnKind::Text);
    let unused = texts.map(|column| {
        format!(
            "column '{}': it holds text and is not used; name it and a sentence encoder to use it",
            column.name
        )
    });
    let odd = schema.warnings().map(|(column, warning)| format!("column '{column}': {}", warning.message));
    unused.chain(odd).collect()
}

/// What columns are used as, where it is more than one thing.
fn schema_decisions(schema: &Schema) -> Vec<Decision> {
    let (mut codes, mut cycles) = (Vec::new(), Vec::new());
    for column in schema.columns() {
        match &column.kind {
            ColumnKind::Numeric { codes: values, .. } if !values.is_empty() => {
                codes.push(format!("{}: {} values", column.name, values.len()));
            }
            ColumnKind::Date { cycles: varying, .. } if !varying.is_empty() => {
                let names: Vec<&str> = varying.iter().map(|cycle| cycle.name()).collect();
                cycles.push(format!("{}: {}", column.name, names.join(", ")));
            }
            _ => {}
        }
    }
    let decisions = [
        (
            "codes",
            codes,
            "used as a number and as categories",
            "few whole numbers may be codes: declare a column numeric or categorical to use it as one of them",
        ),
        ("dates", cycles, "used beside the days since 1970", "they vary over the rows"),
    ];
    let some = decisions.into_iter().filter(|(_, columns, ..)| !columns.is_empty());
    some.map(|(what, columns, used, why)| Decision {
        what: what.into(),
        choice: format!("{}, {used}", few(&columns)),
        why: why.into(),
    })
    .collect()
}

/// The first few of many columns.
fn few(columns: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = columns[..columns.len().min(SHOWN)].join("; ");
    match columns.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown}; and {more} more"),
    }
}

/// Refuses a label column that measures or names rows: most rows would be a class of their own. One labelled row for each
/// of many classes is no mistake if other rows have none.
fn check_labels(frame: &Frame, label: &str, labels: &TableLabels) -> Result<()> {
    let labelled = labels.y.iter().flatten().count();
    let measured = |class: &String| class.parse().is_ok_and(|value: f64| value.fract() != 0.0);
    let different = labels.classes.len();
    let alone = different >= TOO_MANY && 2 * different > labelled;
    if !alone || (labelled < frame.n() && !labels.classes.iter().any(measured)) {
        return Ok(());
    }
    Err(Error::Content(format!(
        "{}: the label column '{label}' has {different} different values in {labelled} labelled rows, so most rows would \
         be a class of their own. Name the column that holds the classes; if '{label}' is a quantity, make ranges of it \
         first, such as low and high",
        frame.name()
    )))
}

fn of_images(request: &Request, mut main: Images, observer: &mut dyn Observer) -> Result<Training> {
    let source = &request.source;
    let name = source.name();
    request.refuse_table_settings(&name)?;
    if source.is_one_image()? {
        let what = "is one picture: give a folder with a folder of pictures for each class";
        return Err(Error::Content(format!("{name} {what}")));
    }
    if let Some(class) = main.empty_classes().first() {
        return Err(Error::Content(format!(
            "{name}: the folder of class '{class}' holds no PNG or JPEG files; put images of the class into it, or remove it"
        )));
    }
    if let Some((splits, split)) = &request.label_split {
        main.keep_split(splits, *split)?;
    }
    match main.classes() {
        [] => return Err(source.unlabelled_images(&name)?),
        [class] => {
            return Err(Error::Content(format!(
                "{name} has labels of one class only, '{class}': label at least one image of a second class"
            )));
        }
        _ => {}
    }
    let mut parts = vec![main];
    for more in &request.unlabelled {
        let mut images =
            more.open_images()?.ok_or_else(|| Error::Content(format!("{} holds no images", more.name())))?;
        images.forget_labels(); // labels of those files are not looked at
        parts.push(images);
    }
    joined(request, &parts, observer)
}

/// All images in one size and colour; the first part has the labels.
fn joined(request: &Request, parts: &[Images], observer: &mut dyn Observer) -> Result<Training> {
    let mut layout = parts[0].layout(request.image_size)?;
    for part in parts {
        // Grey only if all are.
        layout.channels = layout.channels.max(part.layout(request.image_size)?.channels);
    }
    let n = parts.iter().map(Images::n).sum();
    observer.phase(&Phase::Reading, Some(n));
    let mut x = Array2::zeros((0, layout.dim()));
    x.reserve_rows(n).expect("fewer numbers than an isize counts");
    let (mut origins, mut warnings) = (Origins::default(), Vec::new());
    for part in parts {
        warnings.extend(part.warnings(&layout));
        for start in (0..part.n()).step_by(IMAGES) {
            let rows = part.rows(&layout, start..(start + IMAGES).min(part.n()))?;
            x.append(Axis(0), rows.view()).expect("as many columns");
            if observer.progress(x.nrows()) == Control::Stop {
                return Err(Error::Cancelled { during: format!("reading {}", part.name()) });
            }
        }
        origins.add(part.name(), &(1..=part.n() as u64).collect::<Vec<_>>());
    }
    let y = parts.iter().flat_map(|part| part.labels().to_vec()).collect();
    let data = SemiSupervised::new(x, y, parts[0].classes().to_vec(), layout.names())?;
    let data = data.with_image_shape(layout.shape());
    let why = match request.image_size {
        Some(_) => "as asked for",
        None => "as most images are",
    };
    let rows = Rows::Images { layout };
    let decision = Decision { what: "images".into(), choice: rows.describe(), why: why.into() };
    Ok(Training {
        data,
        rows,
        schema: None,
        origins,
        warnings,
        decisions: vec![decision],
        wide: None,
        beyond: None,
    })
}

/// What columns are, where the program would guess otherwise.
pub type Declared = Vec<(String, DeclaredKind)>;

/// Which line of which file each row came from.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    lines: Vec<u64>,             // [n]
    files: Vec<(usize, String)>, // first row of each file, and its name
}

impl Origins {
    /// Rows from these lines of a file come next.
    pub(super) fn add(&mut self, file: &str, lines: &[u64]) {
        if self.files.last().is_none_or(|(_, name)| name != file) {
            self.files.push((self.lines.len(), file.to_string()));
        }
        self.lines.extend(lines);
    }

    /// Some of the rows, in this order.
    fn select(&self, rows: &[usize]) -> Self {
        let mut some = Self::default();
        for &row in rows {
            let at = self.files.partition_point(|(first, _)| *first <= row);
            some.add(&self.files[at - 1].1, &[self.lines[row]]);
        }
        some
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
    use super::*;

    #[test]
    fn a_row_is_found_in_its_file() {
        let mut origins = Origins::default();
        origins.add("a.csv", &[2, 3]);
        assert_eq!(origins.of(1), "3");
        origins.add("b.csv", &[2]);
        origins.add("b.csv", &[5]);
        assert_eq!([0, 2, 3].map(|row| origins.of(row)), ["a.csv:2", "b.csv:2", "b.csv:5"]);
    }
}
