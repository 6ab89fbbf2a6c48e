//! The label column: the class of each row, where it is labelled.
//!
//! ```text
//! labels:    cells [n] -> y [n] of Option<class index>, class names sorted (by value if all are numbers)
//! labels_of: cells [n], class names of a model -> y [n]; a label the model does not know is an error
//! ```
//!
//! A missing or empty cell means unlabelled. Labels that are the same number are one class: `3.0` and `3`, since pandas
//! writes integers with a point as soon as one is missing. A number with leading zeros is a code, and a class of its own:
//! `01` is not `1`. A class is named as its cells are written, `007` or `3.0`; if they are written in several ways, its
//! name is the number in its shortest form, `3`. A cell means the class of a model that is written alike, or else the only
//! class of the same value.

use std::borrow::Cow;
use std::collections::HashMap;

use semisup::Error as Problem;

use super::{Concern, Warning, levels::sorted};
use crate::{Cells, Error, Frame, Result, number_text, read_number};

/// The classes of a frame, and the class of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The class of each row, where it is known, `[n]`.
    pub y: Vec<Option<usize>>,
    /// The names of the classes, at least two, each of at least one row.
    pub classes: Vec<String>,
    /// Warnings about classes with a single labelled row.
    pub warnings: Vec<Warning>,
}

/// Reads the label column; cells that equal one of `unlabelled_values` are unlabelled like missing ones.
pub fn labels(frame: &Frame, label: &str, unlabelled_values: &[String]) -> Result<Labels> {
    let (y, classes) = read(column(frame, label)?, unlabelled_values);
    match classes.as_slice() {
        [] => return Err(Problem::NoLabels { name: frame.name().into() }.into()),
        [class] => return Err(Problem::OneClass { name: frame.name().into(), class: class.clone() }.into()),
        _ => {}
    }
    let warnings = rare_classes(&y, &classes);
    Ok(Labels { y, classes, warnings })
}

/// Which rows have a label, as [`labels`] reads them.
pub fn is_labelled(frame: &Frame, label: &str, unlabelled_values: &[String]) -> Result<Vec<bool>> {
    let (y, _) = read(column(frame, label)?, unlabelled_values);
    Ok(y.iter().map(Option::is_some).collect())
}

/// Reads the label column with the classes of a model. A label that is no class as it is written is matched by value, if
/// one class alone has this value: `2.0` is the class `2`, and `2` the class `2.0` or `02`.
pub fn labels_of(frame: &Frame, label: &str, classes: &[String]) -> Result<Vec<Option<usize>>> {
    let cells = column(frame, label)?;
    let known = Known::new(classes);
    (0..frame.n())
        .map(|row| match label_text(cells, row) {
            None => Ok(None),
            Some(text) => match known.class(&text) {
                Some(k) => Ok(Some(k)),
                None => Err(Error::UnknownLabel {
                    name: frame.name().into(),
                    line: frame.line(row),
                    column: label.into(),
                    cell: text.into_owned(),
                    classes: classes.to_vec(),
                }),
            },
        })
        .collect()
}

/// The classes of a model, to be found by spelling and by value.
struct Known {
    by_key: HashMap<String, usize>,
    by_value: HashMap<String, Option<usize>>, // None if several classes have the value
}

impl Known {
    fn new(classes: &[String]) -> Self {
        let mut by_value: HashMap<String, Option<usize>> = HashMap::new();
        for (k, class) in classes.iter().enumerate() {
            by_value.entry(value(class)).and_modify(|only| *only = None).or_insert(Some(k));
        }
        Self { by_key: classes.iter().enumerate().map(|(k, class)| (key(class), k)).collect(), by_value }
    }

    fn class(&self, text: &str) -> Option<usize> {
        let by_value = || self.by_value.get(&value(text)).copied().flatten();
        self.by_key.get(&key(text)).copied().or_else(by_value)
    }
}

/// The class of each row and the names of the classes, of which there may be none.
pub(super) fn read(cells: &Cells, unlabelled_values: &[String]) -> (Vec<Option<usize>>, Vec<String>) {
    let unlabelled: Vec<String> = unlabelled_values.iter().map(|value| key(value)).collect();
    let mut spellings: HashMap<String, Option<Cow<str>>> = HashMap::new(); // None if there are several
    let mut keys: Vec<Option<String>> = Vec::with_capacity(cells.len());
    for row in 0..cells.len() {
        let label = label_text(cells, row).map(|text| (key(&text), text));
        let label = label.filter(|(key, _)| !unlabelled.contains(key));
        keys.push(label.map(|(key, text)| {
            let spelling = spellings.entry(key.clone()).or_insert_with(|| Some(text.clone()));
            if spelling.as_ref().is_some_and(|known| *known != text) {
                *spelling = None;
            }
            key
        }));
    }
    let classes = sorted(spellings.keys().cloned().collect());
    let index = index(&classes);
    let y = keys.iter().map(|key| key.as_ref().map(|key| index[key.as_str()])).collect();
    let name = |key: &String| spellings[key].as_ref().map_or_else(|| key.clone(), |text| text.to_string());
    (y, classes.iter().map(name).collect())
}

/// Warnings about classes with a single labelled row, one for all if they are many.
fn rare_classes(y: &[Option<usize>], classes: &[String]) -> Vec<Warning> {
    let mut counts = vec![0; classes.len()];
    y.iter().flatten().for_each(|&k| counts[k] += 1);
    let rare: Vec<&String> =
        classes.iter().zip(counts).filter(|(_, count)| *count == 1).map(|(class, _)| class).collect();
    let warning = |message: String| Warning::new(Concern::RareClass, message);
    match rare.as_slice() {
        [first, second, third, _, ..] => vec![warning(format!(
            "{} classes have one labelled row only, such as '{first}', '{second}' and '{third}': label a few more if \
             you can",
            rare.len()
        ))],
        few => few
            .iter()
            .map(|class| {
                warning(format!("class '{class}' has one labelled row only: label a few more if you can"))
            })
            .collect(),
    }
}

fn column<'a>(frame: &'a Frame, label: &str) -> Result<&'a Cells> {
    let missing = || Error::no_label_column(frame.name(), label, &frame.column_names());
    frame.column(label).ok_or_else(missing)
}

/// The label of a row as it is written, without spaces around it.
fn label_text(cells: &Cells, row: usize) -> Option<Cow<'_, str>> {
    let text = match cells.text(row)? {
        Cow::Borrowed(text) => Cow::Borrowed(text.trim()),
        Cow::Owned(text) => Cow::Owned(text.trim().to_string()),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// What tells labels apart: a number in its shortest form, a code or any other text as it is.
pub(super) fn key(label: &str) -> String {
    if is_code(label) { label.trim().into() } else { value(label) }
}

/// Whether a label is digits after leading zeros, as in `007`: a code, which happens to read as a number.
fn is_code(label: &str) -> bool {
    matches!(label.trim().as_bytes(), [b'0', b'0'..=b'9', ..])
}

/// A number in its shortest form, any other text as it is.
fn value(label: &str) -> String {
    match read_number(label) {
        Some(value) => number_text(value + 0.), // -0 is 0
        None => label.trim().into(),
    }
}

fn index(classes: &[String]) -> HashMap<&str, usize> {
    classes.iter().enumerate().map(|(k, class)| (class.as_str(), k)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    fn frame(labels: &[Option<&str>]) -> Frame {
        let column = Column { name: "y".into(), cells: Cells::from_texts(labels.iter().copied().collect()) };
        Frame::new("t.csv", vec![column], (2..2 + labels.len() as u64).collect()).unwrap()
    }

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| text.to_string()).collect()
    }

    #[test]
    fn classes_are_sorted_and_missing_cells_unlabelled() {
        let read =
            labels(&frame(&[Some("10"), None, Some("9.0"), Some("-1"), Some("10")]), "y", &[]).unwrap();
        assert_eq!(read.classes, ["-1", "9", "10"]);
        assert_eq!(read.y, [Some(2), None, Some(1), Some(0), Some(2)]);
        let read = labels(&frame(&[Some("10"), Some("b"), Some(""), Some("9")]), "y", &[]).unwrap();
        assert_eq!((read.classes, read.y[2]), (strings(&["10", "9", "b"]), None));
        let cells = [Some("-1.0"), Some("1"), Some("2"), Some("1"), Some("?")];
        let read = labels(&frame(&cells), "y", &strings(&["-1", "?"])).unwrap();
        assert_eq!(
            (read.classes, read.y),
            (strings(&["1", "2"]), vec![None, Some(0), Some(1), Some(0), None])
        );
        assert_eq!(read.warnings.len(), 1);
        assert!(read.warnings[0].message.contains("'2'"), "{:?}", read.warnings);
    }

    /// A column that the reader kept verbatim.
    fn verbatim(labels: &[&str]) -> Frame {
        let cells = Cells::Texts(labels.iter().map(|label| Some(*label).filter(|l| !l.is_empty())).collect());
        let column = Column { name: "y".into(), cells };
        Frame::new("t.csv", vec![column], (2..2 + labels.len() as u64).collect()).unwrap()
    }

    #[test]
    fn classes_are_named_as_they_are_written() {
        let named = |labels_: &[&str]| labels(&verbatim(labels_), "y", &[]).unwrap();
        let padded = named(&["007", "10", "", " 007 ", "10"]);
        assert_eq!((padded.classes, padded.y[3]), (strings(&["007", "10"]), Some(0)));
        assert_eq!(named(&["1.0", "0.0", "", "1.0"]).classes, ["0.0", "1.0"]);
        assert_eq!(named(&["1.0", "0.0", "1"]).classes, ["0.0", "1"], "two spellings, one class");
        assert_eq!(named(&["1e2", "-0.0", "0"]).classes, ["0", "1e2"]);
        let codes = named(&["01", "1", "1.0", "01"]);
        assert_eq!((codes.classes, codes.y[3]), (strings(&["01", "1"]), Some(0)), "a code is no number");
        let mixed = named(&["1.0", "1 a", "1.0"]);
        assert_eq!((mixed.classes, mixed.y[1]), (strings(&["1.0", "1 a"]), Some(1)), "in the order of keys");
        assert_eq!(labels(&verbatim(&["1.0", "-1.0", "2"]), "y", &strings(&["-1"])).unwrap().y[1], None);
    }

    #[test]
    fn cells_match_the_classes_of_a_model_by_value() {
        for classes in [strings(&["1", "2"]), strings(&["1.0", "2.0"]), strings(&["01", "2"])] {
            let y = labels_of(&verbatim(&["2.0", "", "1", "2"]), "y", &classes).unwrap();
            assert_eq!(y, [Some(1), None, Some(0), Some(1)], "{classes:?}");
        }
        let codes = strings(&["01", "1"]);
        assert_eq!(labels_of(&verbatim(&["1.0", "01"]), "y", &codes).unwrap(), [Some(1), Some(0)]);
        assert!(labels_of(&verbatim(&["001"]), "y", &codes).is_err(), "two classes have its value");
        let error = labels_of(&verbatim(&["3.0"]), "y", &strings(&["1", "2"])).unwrap_err().to_string();
        assert!(error.contains("'3.0'"), "as written: {error}");
    }

    #[test]
    fn too_few_classes_and_a_wrong_name_are_errors() {
        assert!(matches!(
            labels(&frame(&[None, None]), "y", &[]),
            Err(Error::Problem(Problem::NoLabels { .. }))
        ));
        assert!(matches!(
            labels(&frame(&[None, Some("a")]), "y", &[]),
            Err(Error::Problem(Problem::OneClass { .. }))
        ));
        let error = labels(&frame(&[Some("a")]), "Y", &[]).unwrap_err().to_string();
        assert!(error.contains("Did you mean 'y'?"), "{error}");
    }

    #[test]
    fn a_model_knows_its_classes_only() {
        let classes = strings(&["1", "2"]);
        assert_eq!(
            labels_of(&frame(&[Some("2.0"), None, Some("1")]), "y", &classes).unwrap(),
            [Some(1), None, Some(0)]
        );
        let error = labels_of(&frame(&[Some("2"), Some("x")]), "y", &classes).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("'x'") && error.contains("'1', '2'"), "{error}");
    }
}
