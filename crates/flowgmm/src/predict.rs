//! For each row a class, its probabilities, densities, latent point, distance to the boundary and typicality.

use flowgmm_data::Frame;
use ndarray::{Array2, Axis, concatenate};

use crate::{
    Error, Model, Predictions, Result, Source,
    observer::Observer,
    source::{Chunk, Chunks, RowNames, Wanted},
};

/// Predictions of a chunk of rows.
pub struct Predicted {
    /// What the model says.
    pub predictions: Predictions,
    /// What messages call each row.
    pub names: RowNames,
    /// The rows in the user's own columns, if they are a table.
    pub frame: Option<Frame>,
    /// Columns of the user's that are carried through.
    kept: Vec<String>,
}

impl Predicted {
    /// A table of the columns that the source [keeps](Source::keep), then those of [`Predictions::to_frame`].
    pub fn to_frame(&self, model: &Model) -> Result<Frame> {
        let predictions = self.predictions.to_frame(model, &self.names)?;
        let Some(frame) = self.frame.as_ref().filter(|_| !self.kept.is_empty()) else {
            return Ok(predictions);
        };
        let kept = self.kept.iter().map(|name| {
            if predictions.column(name).is_some() {
                return Err(Error::Request(format!(
                    "column '{name}' cannot be kept: predictions have a column of that name; rename it in the table"
                )));
            }
            let column = frame.columns().iter().find(|column| column.name == *name);
            column.cloned().ok_or_else(|| {
                let hint = format!("The columns are {}", crate::names(&frame.column_names()));
                let (table, missing) = (frame.name().into(), vec![name.clone()]);
                flowgmm_data::Error::MissingColumns { name: table, missing, hint }.into()
            })
        });
        let mut columns = kept.collect::<Result<Vec<_>>>()?;
        columns.extend(predictions.columns().iter().cloned());
        Ok(Frame::new(predictions.name(), columns, predictions.lines().to_vec())?)
    }
}

/// Predicts the rows of a source, chunk by chunk: memory does not depend on their number.
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let train = semisup::Toy::Moons.problem(1).train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 50);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let x = ndarray::array![[0.0, 1.0], [1.0, -0.5]];
/// let (all, warnings) = flowgmm::predict(&model, &Source::matrix(x.view()))?.all()?;
/// assert_eq!((all.classes().len(), warnings.len()), (2, 0));
/// // Of a large file, chunk by chunk:
/// # if false {
/// for chunk in flowgmm::predict(&model, &Source::path("new.csv"))? {
///     println!("{:?}", chunk?.predictions.classes());
/// }
/// # }
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn predict<'a>(model: &'a Model, source: &Source) -> Result<PredictedChunks<'a>> {
    let chunks = Chunks::open(source, model.rows(), model.classes_ref(), Wanted::Rows)?;
    if chunks.n_images().is_some() && !source.kept().is_empty() {
        return Err(Error::Request("columns can be kept of tables only, and these are images".into()));
    }
    Ok(PredictedChunks { model, chunks, kept: source.kept().to_vec(), observer: None })
}

/// Scores several sets of rows `[n_i, dim]` in one pass: what [`predict`] gives for each alone, to the last bit. A set with a row
/// that is too extreme to be scored is an error of its own.
///
/// # Panics
/// Unless every set has the model's number of columns.
pub fn score_together(model: &Model, sets: &[Array2<f64>]) -> Vec<Result<Predictions>> {
    let views: Vec<_> = sets.iter().map(|set| set.view()).collect();
    let all = match views.as_slice() {
        [] => return Vec::new(),
        [one] => model.score(*one),
        several => model.score(concatenate(Axis(0), several).expect("as many columns").view()),
    };
    let mut start = 0;
    let mut part = |set: &Array2<f64>| {
        let rows = start..start + set.nrows();
        start = rows.end;
        let found = if sets.len() == 1 { all.clone() } else { all.of_rows(rows) };
        let names = RowNames::Lines((1..=set.nrows() as u64).collect());
        found.check("the rows", &names).map(|()| found)
    };
    sets.iter().map(&mut part).collect()
}

/// Predictions of a source's rows, chunk by chunk.
pub struct PredictedChunks<'a> {
    model: &'a Model,
    chunks: Chunks<'a>,
    kept: Vec<String>,
    observer: Option<&'a mut dyn Observer>,
}

impl<'a> PredictedChunks<'a> {
    /// Lets somebody watch, who may stop the work.
    pub fn observed_by(self, observer: &'a mut dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// All rows' predictions at once, and what the user should know about the rows.
    pub fn all(mut self) -> Result<(Predictions, Vec<String>)> {
        let parts = self.by_ref().map(|chunk| Ok(chunk?.predictions)).collect::<Result<Vec<_>>>()?;
        Ok((Predictions::joined(parts, self.model), self.into_warnings()))
    }

    /// What the user should know about the rows, once they are read.
    pub fn into_warnings(self) -> Vec<String> {
        self.chunks.into_warnings()
    }

    fn next_chunk(&mut self) -> Result<Option<Predicted>> {
        let Some(chunk) = self.chunks.next(observer(&mut self.observer, &mut ()))? else { return Ok(None) };
        let Chunk { x, names, frame, .. } = chunk;
        let predictions = self.model.score(x.view());
        predictions.check(self.chunks.name(), &names)?;
        Ok(Some(Predicted { predictions, names, frame, kept: self.kept.clone() }))
    }
}

impl Iterator for PredictedChunks<'_> {
    type Item = Result<Predicted>;

    fn next(&mut self) -> Option<Result<Predicted>> {
        self.next_chunk().transpose()
    }
}

/// Whoever watches, or nobody.
pub(crate) fn observer<'o>(
    observer: &'o mut Option<&mut dyn Observer>,
    nobody: &'o mut (),
) -> &'o mut dyn Observer {
    match observer {
        Some(observer) => &mut **observer,
        None => nobody,
    }
}
