//! A classification problem with few labels, and one with all of them.
//!
//! x is `[n, dim]`, finite; y holds for each row `Some(k)`, k < n_classes, or `None` where the row is unlabelled. Values of
//! these types are valid by construction, so learners check nothing. A column of discrete values has a step, the distance
//! between neighbouring values: a density of such a column is unbounded without dequantisation. Rows that are images have
//! an image shape.

use ndarray::{Array2, ArrayView2, Axis};

use crate::{Error, ImageShape, Result};

/// Rows with their labels; `Y` is the type of a label.
#[derive(Clone, Debug, PartialEq)]
pub struct Examples<Y> {
    x: Array2<f64>, // [n, dim]
    y: Vec<Y>,      // [n]
    classes: Vec<String>,
    columns: Vec<String>,    // [dim]
    steps: Vec<Option<f64>>, // [dim]
    image_shape: Option<ImageShape>,
}

/// Rows of which some carry a label: n = n_l + n_u, at least two classes, each with at least one label.
pub type SemiSupervised = Examples<Option<usize>>;

/// Rows that all carry a label: test data, or training data before labels are hidden. A class may be absent.
pub type Labelled = Examples<usize>;

impl<Y: Copy> Examples<Y> {
    /// Declares column j discrete, with values in steps of `steps[j]`; `None` for continuous columns.
    ///
    /// # Panics
    /// Unless there is one entry for each column, and steps are finite and positive.
    pub fn with_steps(mut self, steps: Vec<Option<f64>>) -> Self {
        self.steps = checked_steps(steps, self.dim());
        self
    }

    /// The step of each discrete column, `[dim]`; `None` for continuous columns.
    pub fn steps(&self) -> &[Option<f64>] {
        &self.steps
    }

    /// Declares the rows images of this shape, with pixel values 0 to 255.
    ///
    /// # Panics
    /// Unless the shape has as many numbers as there are columns.
    pub fn with_image_shape(mut self, shape: impl Into<Option<ImageShape>>) -> Self {
        self.image_shape = shape.into();
        assert!(self.image_shape.is_none_or(|shape| shape.dim() == self.dim()), "rows of this shape");
        self
    }

    /// The shape of the images, if the rows are images.
    pub fn image_shape(&self) -> Option<ImageShape> {
        self.image_shape
    }

    /// The features, `[n, dim]`.
    pub fn x(&self) -> ArrayView2<'_, f64> {
        self.x.view()
    }

    /// The label of each row, where there is one.
    pub fn y(&self) -> &[Y] {
        &self.y
    }

    /// The names of the classes; a label is an index into them.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The names of the features.
    pub fn columns(&self) -> &[String] {
        &self.columns
    }

    /// Number of rows.
    pub fn n(&self) -> usize {
        self.x.nrows()
    }

    /// Number of features.
    pub fn dim(&self) -> usize {
        self.x.ncols()
    }

    /// Number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len()
    }

    /// The given rows in the given order, without a check of the labels.
    fn picked(&self, rows: &[usize]) -> Self {
        Self {
            x: self.x.select(Axis(0), rows),
            y: rows.iter().map(|&row| self.y[row]).collect(),
            classes: self.classes.clone(),
            columns: self.columns.clone(),
            steps: self.steps.clone(),
            image_shape: self.image_shape,
        }
    }
}

impl SemiSupervised {
    /// Checks lengths, finiteness, the range of labels, and that there are at least two classes, each with a label.
    pub fn new(
        x: Array2<f64>,
        y: Vec<Option<usize>>,
        classes: Vec<String>,
        columns: Vec<String>,
    ) -> Result<Self> {
        check_rows(x.view(), y.len(), &columns)?;
        check_labels(y.iter().enumerate().filter_map(|(row, y)| y.map(|y| (row, y))), classes.len())?;
        if let [class] = classes.as_slice()
            && y.iter().any(Option::is_some)
        {
            return Err(Error::OneClass { name: "the data".into(), class: class.clone() });
        }
        let steps = vec![None; columns.len()];
        Self { x, y, classes, columns, steps, image_shape: None }.with_labels()
    }

    /// Rows without classes, to learn their density: all of them are of one class, `all`.
    pub fn one_class(x: Array2<f64>, columns: Vec<String>) -> Result<Self> {
        check_rows(x.view(), x.nrows(), &columns)?;
        let (y, steps) = (vec![Some(0); x.nrows()], vec![None; columns.len()]);
        Ok(Self { x, y, classes: vec!["all".into()], columns, steps, image_shape: None })
    }

    /// The same labels, classes and columns with other values x `[n, dim]`.
    pub fn with_rows(&self, x: Array2<f64>) -> Result<Self> {
        Self::new(x, self.y.clone(), self.classes.clone(), self.columns.clone())
    }

    /// The data, if each class has a label.
    fn with_labels(self) -> Result<Self> {
        let counts = self.class_counts();
        if counts.iter().all(|&count| count == 0) {
            return Err(Error::NoLabels { name: "the data".into() });
        }
        match counts.iter().position(|&count| count == 0) {
            Some(k) => Err(Error::EmptyClass { class: self.classes[k].clone() }),
            None => Ok(self),
        }
    }

    /// The rows with a label, ascending.
    pub fn labelled(&self) -> Vec<usize> {
        (0..self.n()).filter(|&row| self.y[row].is_some()).collect()
    }

    /// The rows without a label, ascending.
    pub fn unlabelled(&self) -> Vec<usize> {
        (0..self.n()).filter(|&row| self.y[row].is_none()).collect()
    }

    /// Number of labels of each class.
    pub fn class_counts(&self) -> Vec<usize> {
        count(self.y.iter().flatten(), self.n_classes())
    }

    /// The labelled rows alone: what a supervised learner sees.
    pub fn labelled_only(&self) -> Self {
        self.select(&self.labelled()).expect("all labels are kept")
    }

    /// The given rows in the given order. Fails if a class loses its last label.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn select(&self, rows: &[usize]) -> Result<Self> {
        self.picked(rows).with_labels()
    }
}

impl Labelled {
    /// Checks lengths, finiteness and the range of labels.
    pub fn new(x: Array2<f64>, y: Vec<usize>, classes: Vec<String>, columns: Vec<String>) -> Result<Self> {
        check_rows(x.view(), y.len(), &columns)?;
        check_labels(y.iter().copied().enumerate(), classes.len())?;
        let steps = vec![None; columns.len()];
        Ok(Self { x, y, classes, columns, steps, image_shape: None })
    }

    /// Number of rows of each class.
    pub fn class_counts(&self) -> Vec<usize> {
        count(&self.y, self.n_classes())
    }

    /// The given rows in the given order.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn select(&self, rows: &[usize]) -> Self {
        self.picked(rows)
    }

    /// All rows, but only the labels of `rows`. Fails if a class is left without a label.
    ///
    /// # Panics
    /// If a row is out of range.
    pub fn reveal(&self, rows: &[usize]) -> Result<SemiSupervised> {
        let mut y = vec![None; self.n()];
        for &row in rows {
            y[row] = Some(self.y[row]);
        }
        let data = SemiSupervised::new(self.x.clone(), y, self.classes.clone(), self.columns.clone())?;
        Ok(data.with_steps(self.steps.clone()).with_image_shape(self.image_shape))
    }
}

fn check_rows(x: ArrayView2<f64>, n_labels: usize, columns: &[String]) -> Result<()> {
    if columns.is_empty() {
        return Err(Error::NoColumns { name: "the data".into() });
    }
    if x.ncols() != columns.len() {
        let what = "columns of x, against column names";
        return Err(Error::Size { what, found: x.ncols(), expected: columns.len() });
    }
    if x.nrows() != n_labels {
        return Err(Error::Size { what: "labels, against rows of x", found: n_labels, expected: x.nrows() });
    }
    match x.indexed_iter().find(|(_, value)| !value.is_finite()) {
        Some(((row, column), &value)) => {
            Err(Error::NotFiniteValue { row: row + 1, column: columns[column].clone(), value })
        }
        None => Ok(()),
    }
}

fn check_labels(mut labels: impl Iterator<Item = (usize, usize)>, n_classes: usize) -> Result<()> {
    match labels.find(|(_, label)| *label >= n_classes) {
        Some((row, label)) => Err(Error::LabelOutOfRange { row: row + 1, label, n_classes }),
        None => Ok(()),
    }
}

fn checked_steps(steps: Vec<Option<f64>>, dim: usize) -> Vec<Option<f64>> {
    assert_eq!(steps.len(), dim, "one entry for each column");
    assert!(
        steps.iter().flatten().all(|step| step.is_finite() && *step > 0.),
        "steps are lengths: {steps:?}"
    );
    steps
}

fn count<'a>(labels: impl IntoIterator<Item = &'a usize>, n_classes: usize) -> Vec<usize> {
    let mut counts = vec![0; n_classes];
    for &label in labels {
        counts[label] += 1;
    }
    counts
}

/// Rows to learn from, few of them labelled, and fresh rows to be scored on.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Labelled and unlabelled rows.
    pub train: SemiSupervised,
    /// Rows the learner never sees.
    pub test: Labelled,
}

#[cfg(test)]
mod tests {
    use ndarray::array;

    use super::*;

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    fn build(x: Array2<f64>, y: &[Option<usize>], classes: &[&str]) -> Result<SemiSupervised> {
        SemiSupervised::new(x, y.to_vec(), names(classes), names(&["a", "b"]))
    }

    #[test]
    fn invalid_data_cannot_be_built() {
        let x = array![[1., 2.], [3., 4.], [5., 6.]];
        let message =
            |y: &[Option<usize>], classes: &[&str]| build(x.clone(), y, classes).unwrap_err().to_string();
        assert!(message(&[Some(0), Some(1)], &["p", "q"]).contains("found 2, expected 3"));
        assert!(message(&[Some(0), Some(2), None], &["p", "q"]).starts_with("row 2: label 2"));
        assert!(message(&[None; 3], &["p", "q"]).contains("no labels"));
        assert!(message(&[None; 3], &[]).contains("no labels"));
        assert!(message(&[Some(0), None, None], &["p"]).contains("one class only, 'p'"));
        assert!(message(&[Some(0), None, None], &["p", "q"]).contains("class 'q' has no labelled row"));
        let nan = build(array![[1., 2.], [3., f64::NAN]], &[Some(0), Some(1)], &["p", "q"]);
        assert_eq!(nan.unwrap_err().to_string(), "row 2, column 'b': expected a finite number, found NaN");
    }

    #[test]
    fn labels_are_hidden_selected_and_counted() {
        let x = array![[1., 2.], [3., 4.], [5., 6.], [7., 8.]];
        let full = Labelled::new(x, vec![0, 1, 1, 0], names(&["p", "q"]), names(&["a", "b"])).unwrap();
        let data = full.reveal(&[3, 1]).unwrap();
        assert_eq!(data.y(), [None, Some(1), None, Some(0)]);
        assert_eq!((data.labelled(), data.unlabelled()), (vec![1, 3], vec![0, 2]));
        assert_eq!(data.class_counts(), [1, 1]);
        assert_eq!(data.labelled_only().x(), array![[3., 4.], [7., 8.]]);
        assert_eq!(data.select(&[3, 2, 1]).unwrap().y(), [Some(0), None, Some(1)]);
        assert!(matches!(data.select(&[0, 1]), Err(Error::EmptyClass { .. })));
        assert!(matches!(full.reveal(&[0]), Err(Error::EmptyClass { .. })));
        assert_eq!(full.select(&[2, 0]).y(), [1, 0]);
        let steps = vec![Some(2.), None];
        let full = full.with_steps(steps.clone());
        assert_eq!(full.select(&[2, 0]).steps(), steps);
        assert_eq!(full.reveal(&[3, 1]).unwrap().labelled_only().steps(), steps);
    }

    #[test]
    fn what_is_taken_of_images_is_images() {
        let shape = ImageShape { channels: 1, height: 4, width: 4 };
        let x = Array2::from_shape_fn((3, 16), |(row, at)| (row * 16 + at) as f64);
        let columns = (0..16).map(|at| format!("pixel {at}")).collect();
        let full = Labelled::new(x, vec![0, 1, 1], names(&["p", "q"]), columns).unwrap();
        assert_eq!(full.image_shape(), None);
        let full = full.with_image_shape(shape);
        assert_eq!(full.select(&[2, 0]).image_shape(), Some(shape));
        let data = full.reveal(&[0, 1]).unwrap();
        assert_eq!((data.image_shape(), data.labelled_only().image_shape()), (Some(shape), Some(shape)));
    }
}
