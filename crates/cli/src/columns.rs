//! What the user says about columns, and what the program found out about them.

use flowgmm::{
    Declared,
    data::{DeclaredKind, Schema},
};

use crate::text;

/// What columns are, where the program would guess otherwise.
#[derive(clap::Args)]
#[command(next_help_heading = "Columns")]
pub struct DeclaredArgs {
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

impl DeclaredArgs {
    /// As the library takes them.
    pub fn declared(&self) -> Declared {
        let kinds = [
            (&self.numeric, DeclaredKind::Numeric),
            (&self.categorical, DeclaredKind::Categorical),
            (&self.date, DeclaredKind::Date),
            (&self.ignore, DeclaredKind::Ignore),
        ];
        let named =
            kinds.into_iter().flat_map(|(names, kind)| names.iter().map(move |name| (name.clone(), kind)));
        named.collect()
    }
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
