//! AG-News and Yahoo Answers, the text files of Zhang, Zhao and LeCun (2015): quoted CSV without a header, the class
//! (from 1) first.
//!
//! Their readme says that a line break is written `\n`. In Yahoo Answers it is. In AG-News it is one backslash and
//! nothing else: every `\n` of its 7,600 test rows is the start of a word (`social\network`), and `\$` is a dollar.

use std::{io::Read, path::Path};

use flowgmm_data::{Cells, Column, Frame, TextCells};

use crate::{
    Error, Result,
    images::names,
    input::{member, open},
};

/// The classes of AG-News.
pub const AG_NEWS_CLASSES: [&str; 4] = ["World", "Sports", "Business", "Sci/Tech"];

/// The classes of Yahoo Answers.
pub const YAHOO_CLASSES: [&str; 10] = [
    "Society & Culture",
    "Science & Mathematics",
    "Health",
    "Education & Reference",
    "Computers & Internet",
    "Sports",
    "Business & Finance",
    "Entertainment & Music",
    "Family & Relationships",
    "Politics & Government",
];

/// Texts with a class each. A value that exists has as many labels as texts, all below the number of classes.
#[derive(Clone, Debug, PartialEq)]
pub struct TextSet {
    /// The names of the fields: title and description, say.
    pub fields: Vec<String>,
    /// One column for each field. An empty field is an empty text.
    pub texts: Vec<TextCells>,
    /// The class of each text, an index into `classes`.
    pub labels: Vec<usize>,
    /// The names of the classes.
    pub classes: Vec<String>,
}

impl TextSet {
    /// Number of texts.
    pub fn n(&self) -> usize {
        self.labels.len()
    }

    /// All fields of a text that are not empty, with a blank between, as the paper's encoder is given them.
    ///
    /// # Panics
    /// If `row` is not below `n`.
    pub fn joined(&self, row: usize) -> String {
        let fields = self.texts.iter().filter_map(|field| field.get(row)).filter(|text| !text.is_empty());
        fields.collect::<Vec<_>>().join(" ")
    }

    /// A table with the fields and, last, the column `label` with names of classes.
    pub fn to_frame(&self, name: &str) -> Result<Frame> {
        let label: TextCells = self.labels.iter().map(|&k| Some(self.classes[k].as_str())).collect();
        let label_name = "label".to_string();
        let columns = self.fields.iter().zip(&self.texts).chain([(&label_name, &label)]);
        let columns = columns
            .map(|(name, texts)| Column { name: name.clone(), cells: Cells::Texts(texts.clone()) })
            .collect();
        let frame = Frame::new(name, columns, (1..=self.n() as u64).collect());
        frame.map_err(|error| Error::content(name.as_ref(), error))
    }
}

/// How a format writes what CSV has no need to escape.
#[derive(Clone, Copy)]
enum Escapes {
    /// `\` is a line break, `\$` a dollar.
    Backslash,
    /// `\n` is a line break.
    BackslashN,
}

struct Format {
    name: &'static str,
    fields: &'static [&'static str],
    classes: &'static [&'static str],
    escapes: Escapes,
}

const AG_NEWS: Format = Format {
    name: "AG-News CSV",
    fields: &["title", "description"],
    classes: &AG_NEWS_CLASSES,
    escapes: Escapes::Backslash,
};
const YAHOO: Format = Format {
    name: "Yahoo Answers CSV",
    fields: &["question_title", "question_content", "best_answer"],
    classes: &YAHOO_CLASSES,
    escapes: Escapes::BackslashN,
};

/// AG-News: `train.csv` or `test.csv`, plain or gzipped. Fields: title, description.
pub fn read_ag_news(path: &Path) -> Result<TextSet> {
    read(path, open(path)?, &AG_NEWS)
}

/// Yahoo Answers: `train.csv` or `test.csv`, plain or gzipped. Fields: question_title, question_content, best_answer.
pub fn read_yahoo(path: &Path) -> Result<TextSet> {
    read(path, open(path)?, &YAHOO)
}

/// Yahoo Answers: `train.csv` or `test.csv` of `yahoo_answers_csv.tgz`, which stays packed.
pub fn read_yahoo_archive(archive: &Path, file: &str) -> Result<TextSet> {
    read(archive, member(archive, file)?, &YAHOO)
}

fn read(path: &Path, bytes: impl Read, format: &Format) -> Result<TextSet> {
    let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes);
    let mut record = csv::StringRecord::new();
    let mut texts = vec![TextCells::default(); format.fields.len()];
    let mut labels = Vec::new();
    while reader.read_record(&mut record).map_err(|error| csv_error(path, format, error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let damaged = |why: String| Error::damaged(path, format.name, format!("line {line}: {why}"));
        if record.len() != format.fields.len() + 1 {
            let why = format!("found {} fields, expected {}", record.len(), format.fields.len() + 1);
            return Err(damaged(why));
        }
        match record[0].trim().parse::<usize>() {
            Ok(class) if (1..=format.classes.len()).contains(&class) => labels.push(class - 1),
            _ => {
                return Err(damaged(format!("the class is not a number from 1 to {}", format.classes.len())));
            }
        }
        for (texts, cell) in texts.iter_mut().zip(record.iter().skip(1)) {
            texts.push(Some(&unescape(cell, format.escapes)));
        }
    }
    if labels.is_empty() {
        return Err(Error::damaged(path, format.name, "it has no rows"));
    }
    Ok(TextSet { fields: names(format.fields), texts, labels, classes: names(format.classes) })
}

fn csv_error(path: &Path, format: &Format, error: csv::Error) -> Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => Error::reading(path, format.name, error),
        csv::ErrorKind::Utf8 { pos, .. } => {
            let line = pos.map_or(0, |pos| pos.line());
            Error::damaged(path, format.name, format!("line {line}: it is not UTF-8 text"))
        }
        other => Error::damaged(path, format.name, format!("{other:?}")),
    }
}

fn unescape(cell: &str, escapes: Escapes) -> String {
    match escapes {
        Escapes::Backslash => cell.replace("\\$", "$").replace('\\', "\n"),
        Escapes::BackslashN => cell.replace("\\n", "\n"),
    }
}
