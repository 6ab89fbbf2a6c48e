//! Whether a source's rows suit a model: columns, labels, and what to say if they do not.

use flowgmm_data::Frame;
use ndarray::Array2;

use super::Source;
use crate::{Error, Result};

/// The columns of a matrix among those of a table.
pub(crate) fn matrix_of(frame: &Frame, columns: &[String]) -> Result<Array2<f64>> {
    let mut x = Array2::zeros((frame.n(), columns.len()));
    for (name, mut to) in columns.iter().zip(x.columns_mut()) {
        let cells = frame.column(name).ok_or_else(|| {
            Error::Content(format!("{} has no column '{name}', which the model needs", frame.name()))
        })?;
        for (row, to) in to.iter_mut().enumerate() {
            *to = match cells.number(row) {
                Ok(Some(value)) => value,
                Ok(None) | Err(_) => {
                    return Err(Error::Content(format!(
                        "{}, line {}, column '{name}': expected a number",
                        frame.name(),
                        frame.line(row)
                    )));
                }
            };
        }
    }
    Ok(x)
}

/// Given labels as the model's classes.
pub(super) fn classes_of(labels: &[Option<String>], classes: &[String]) -> Result<Vec<Option<usize>>> {
    let class = |label: &String| {
        classes.iter().position(|class| class == label).ok_or_else(|| {
            let known = crate::names(classes);
            Error::Content(format!("the model does not know the label '{label}'. It knows {known}"))
        })
    };
    labels.iter().map(|label| label.as_ref().map(class).transpose()).collect()
}

/// What is wrong with a table for a model of images.
pub(super) fn not_images(source: &Source, layout: &str) -> Error {
    let missing = source.file().filter(|path| path.as_os_str() != "-" && !path.exists());
    if let Some(path) = missing {
        return Error::io(path)(std::io::ErrorKind::NotFound.into());
    }
    Error::Content(format!(
        "{} holds no images, but the model was fitted to images ({layout}). Give it a folder of PNG or JPEG files, one such \
         file, IDX, CIFAR-10's .bin, SVHN's .mat, or an NPZ file with images x",
        source.name()
    ))
}

/// What is wrong with images for a model of tables.
pub(super) fn not_a_table(source: &Source, name: &str) -> Error {
    let what = if source.file().is_some_and(|path| path.is_dir()) { "is a folder" } else { "holds images" };
    Error::Content(format!(
        "{name} {what}, but the model was fitted to a table: give it a table with the same columns"
    ))
}
