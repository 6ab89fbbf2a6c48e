//! The label column: which class each row has, if anyone said so.
//!
//! ```text
//! labels:    cells [n] -> y [n] of Option<class index>, class names sorted (by value if all are numbers)
//! labels_of: cells [n], class names of a model -> y [n]; a label the model does not know is an error
//! ```
//!
//! A missing or empty cell means unlabelled. `3.0` is the label `3`: pandas writes integers so as soon as one is
//! missing.

use std::collections::HashMap;

use super::{Concern, Warning, levels::sorted};
use crate::{Cells, Error, Frame, Result, number_text, read_number};

/// The classes of a frame and which row has which.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The class of each row, where it is known, `[n]`.
    pub y: Vec<Option<usize>>,
    /// The names of the classes, at least two, each of at least one row.
    pub classes: Vec<String>,
    /// Classes with one labelled row only.
    pub warnings: Vec<Warning>,
}

/// Reads the label column; cells that equal one of `unlabelled_values` are unlabelled like missing ones.
pub fn labels(frame: &Frame, label: &str, unlabelled_values: &[String]) -> Result<Labels> {
    let (y, classes) = read(column(frame, label)?, unlabelled_values);
    match classes.as_slice() {
        [] => return Err(Error::NoLabels { name: frame.name().into() }),
        [class] => return Err(Error::OneClass { name: frame.name().into(), class: class.clone() }),
        _ => {}
    }
    let mut counts = vec![0; classes.len()];
    y.iter().flatten().for_each(|&k| counts[k] += 1);
    let rare = classes.iter().zip(counts).filter(|(_, count)| *count == 1).map(|(class, _)| class.as_str());
    let warning = |message: String| Warning::new(Concern::RareClass, message);
    let rare: Vec<&str> = rare.collect();
    let warnings = match rare.as_slice() {
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
    };
    Ok(Labels { y, classes, warnings })
}

/// Reads the label column as a model of these `classes` sees it.
pub fn labels_of(frame: &Frame, label: &str, classes: &[String]) -> Result<Vec<Option<usize>>> {
    let cells = column(frame, label)?;
    let canonical: Vec<String> = classes.iter().map(|class| canonical(class)).collect();
    let index = index(&canonical);
    (0..frame.n())
        .map(|row| match label_text(cells, row) {
            None => Ok(None),
            Some(text) => match index.get(text.as_str()) {
                Some(&k) => Ok(Some(k)),
                None => Err(Error::UnknownLabel {
                    name: frame.name().into(),
                    line: frame.line(row),
                    column: label.into(),
                    cell: text,
                    classes: classes.to_vec(),
                }),
            },
        })
        .collect()
}

/// The class of each row and the names of the classes, of which there may be none.
pub(super) fn read(cells: &Cells, unlabelled_values: &[String]) -> (Vec<Option<usize>>, Vec<String>) {
    let unlabelled: Vec<String> = unlabelled_values.iter().map(|value| canonical(value)).collect();
    let label = |row| label_text(cells, row).filter(|text| !unlabelled.contains(text));
    let texts: Vec<Option<String>> = (0..cells.len()).map(label).collect();
    let mut classes: Vec<String> = texts.iter().flatten().cloned().collect();
    classes.sort_unstable();
    classes.dedup();
    let classes = sorted(classes);
    let index = index(&classes);
    let y = texts.iter().map(|text| text.as_ref().map(|text| index[text.as_str()])).collect();
    (y, classes)
}

fn column<'a>(frame: &'a Frame, label: &str) -> Result<&'a Cells> {
    let missing = || Error::no_label_column(frame.name(), label, &frame.column_names());
    frame.column(label).ok_or_else(missing)
}

fn label_text(cells: &Cells, row: usize) -> Option<String> {
    cells.text(row).map(|text| canonical(&text)).filter(|text| !text.is_empty())
}

/// A label as the frame would write it.
fn canonical(text: &str) -> String {
    match read_number(text) {
        Some(value) => number_text(value + 0.), // -0 is 0
        None => text.trim().into(),
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

    #[test]
    fn too_few_classes_and_a_wrong_name_are_errors() {
        assert!(matches!(labels(&frame(&[None, None]), "y", &[]), Err(Error::NoLabels { .. })));
        assert!(matches!(labels(&frame(&[None, Some("a")]), "y", &[]), Err(Error::OneClass { .. })));
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
