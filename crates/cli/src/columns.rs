//! What the user says about columns, and what the program found out about them.

use flowgmm_data::{Frame, Kind, KindName, Labels, Schema};

use crate::{
    exit::{Failure, Result},
    input::warn,
    text,
};

/// What columns are, where the program would guess otherwise.
#[derive(clap::Args)]
pub struct Declared {
    /// Column of numbers; any text in it is a missing cell
    #[arg(long, value_name = "COLUMN")]
    numeric: Vec<String>,
    /// Column of categories, even if they are numbers
    #[arg(long, value_name = "COLUMN")]
    categorical: Vec<String>,
    /// Column of dates
    #[arg(long, value_name = "COLUMN")]
    date: Vec<String>,
    /// Column not to be used
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,
}

impl Declared {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        [&self.numeric, &self.categorical, &self.date, &self.ignore].iter().all(|names| names.is_empty())
    }

    /// What the columns of a table mean; says on stderr what is odd about them.
    pub fn schema(&self, frame: &Frame, label: &str) -> Result<Schema> {
        let kinds = [
            (&self.numeric, KindName::Numeric),
            (&self.categorical, KindName::Categorical),
            (&self.date, KindName::Date),
            (&self.ignore, KindName::Ignore),
        ];
        let declared: Vec<(String, KindName)> = kinds
            .into_iter()
            .flat_map(|(names, kind)| names.iter().map(move |name| (name.clone(), kind)))
            .collect();
        let schema = Schema::infer(frame, Some(label), &declared)?;
        for column in schema.columns().iter().filter(|column| column.kind == Kind::Text) {
            let name = &column.name;
            warn(&format!(
                "column '{name}': it holds text and is not used; embed it with --text {name} --encoder DIR"
            ));
        }
        for (column, warning) in schema.warnings() {
            warn(&format!("column '{column}': {}", warning.message));
        }
        Ok(schema)
    }
}

/// As many classes as this, mostly of one row, are no classes.
const TOO_MANY: usize = 20;

/// Refuses a label column that measures or names rows: most rows would be a class of their own. One labelled row for each
/// of many classes is no mistake, if other rows have none.
pub fn check_labels(frame: &Frame, label: &str, labels: &Labels) -> Result<()> {
    let labelled = labels.y.iter().flatten().count();
    let measured = |class: &String| class.parse().is_ok_and(|value: f64| value.fract() != 0.0);
    let different = labels.classes.len();
    let alone = different >= TOO_MANY && 2 * different > labelled;
    if !alone || (labelled < frame.n() && !labels.classes.iter().any(measured)) {
        return Ok(());
    }
    Err(Failure::Data(format!(
        "{}: the label column '{label}' has {different} different values in {labelled} labelled rows, so most rows would \
         be a class of their own. Name the column that holds the classes with --label; if '{label}' is a quantity, make \
         ranges of it first, such as low and high",
        frame.name()
    )))
}

/// The columns of a table by kind, in one line.
pub fn kinds(schema: &Schema) -> String {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for column in schema.columns() {
        let kind = column.kind.name();
        match counts.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, n)) => *n += 1,
            None => counts.push((kind, 1)),
        }
    }
    counts.iter().map(|(kind, n)| format!("{n} {kind}")).collect::<Vec<_>>().join(", ")
}

/// One line for each column, for `--print-schema`.
pub fn table(schema: &Schema) -> String {
    let head = ["column", "kind", "saw", "becomes"].map(String::from).to_vec();
    let rows = schema.summary().into_iter().map(|c| vec![c.name, c.kind.into(), c.saw, c.becomes]);
    text::left_columns(&[head].into_iter().chain(rows).collect::<Vec<_>>())
}
