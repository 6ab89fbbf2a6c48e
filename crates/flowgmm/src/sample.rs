//! New rows of a model, of one class or of all, with values that training rows could have had.

use flowgmm_data::{Cells, Column, Frame};
use ndarray::{Array2, Axis};
use semisup::Rng;

use crate::{Error, Model, Result};

/// Rows drawn at a time.
const CHUNK: usize = 8192;
/// The highest temperature of samples. At 10 they hardly resemble the training rows; beyond 100 a flow extrapolates until
/// its numbers overflow.
pub const MOST_TEMPERATURE: f64 = 100.0;

/// What to draw.
#[derive(Clone, Debug, PartialEq)]
pub struct SampleRequest {
    /// Number of rows.
    pub n: usize,
    /// Only this class; classes as often as the model's prior says, if absent.
    pub class: Option<String>,
    /// Factor of the latent standard deviation, from 0 to [`MOST_TEMPERATURE`]: 1 is the model's density, less is more typical. The
    /// paper's T of appendix H is its square: T = 0.25^2 there is 0.25 here.
    pub temperature: f64,
    /// Seed of the draws.
    pub seed: u64,
}

impl SampleRequest {
    /// So many rows of the model's density, of all classes.
    pub fn new(n: usize) -> Self {
        Self { n, class: None, temperature: 1.0, seed: 0 }
    }

    /// An error unless the temperature is one that can be sampled at.
    pub fn check(&self) -> Result<()> {
        match (0.0..=MOST_TEMPERATURE).contains(&self.temperature) {
            true => Ok(()),
            false => Err(Error::Request(format!(
                "samples at temperature {:?}: choose one from 0 to {MOST_TEMPERATURE}; 1 is the model's own density",
                self.temperature
            ))),
        }
    }
}

/// Rows that were drawn.
#[derive(Clone, Debug)]
pub struct Samples {
    /// The numbers, `[n, dim]`.
    pub x: Array2<f64>,
    /// The class of each row.
    pub class: Vec<usize>,
    temperature: f64,
}

impl Samples {
    /// The rows in the columns and units of the training rows, and their class in a last column `class`. An error if the
    /// flow's numbers overflowed, which a lower temperature avoids.
    pub fn to_frame(&self, model: &Model) -> Result<Frame> {
        let overflowed = self.x.rows().into_iter().filter(|row| row.iter().any(|v| !v.is_finite())).count();
        if overflowed > 0 {
            return Err(Error::Request(format!(
                "{overflowed} of {} rows drawn at temperature {:?} are not finite: lower the temperature",
                self.x.nrows(),
                self.temperature
            )));
        }
        let rows = model.rows().decode(self.x.view())?;
        let mut name = "class".to_string();
        while rows.column(&name).is_some() {
            name.push('_');
        }
        let names = self.class.iter().map(|&k| Some(model.classes_ref()[k].as_str()));
        let mut columns = rows.columns().to_vec();
        columns.push(Column { name, cells: Cells::Texts(names.collect()) });
        Ok(Frame::new(rows.name(), columns, rows.lines().to_vec())?)
    }
}

/// Draws new rows, chunk by chunk.
///
/// ```
/// # use flowgmm::{Request, SampleRequest, Source};
/// # let train = semisup::Toy::Moons.problem(1).train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 50);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// for chunk in flowgmm::sample(&model, &SampleRequest::new(10_000))? {
///     let table = chunk.to_frame(&model)?;
///     assert_eq!(table.column_names(), ["x1", "x2", "class"]);
/// }
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn sample<'a>(model: &'a Model, request: &SampleRequest) -> Result<SampledChunks<'a>> {
    request.check()?;
    let class = request.class.as_deref().map(|name| model.class(name)).transpose()?;
    let rng = semisup::rng(request.seed);
    Ok(SampledChunks { model, class, temperature: request.temperature, rng, left: Some(request.n) })
}

/// New rows, chunk by chunk; at least one chunk, which may be empty.
pub struct SampledChunks<'a> {
    model: &'a Model,
    class: Option<usize>,
    temperature: f64,
    rng: Rng,
    /// Rows still to be drawn; nothing after the last chunk.
    left: Option<usize>,
}

impl Iterator for SampledChunks<'_> {
    type Item = Samples;

    fn next(&mut self) -> Option<Samples> {
        let left = self.left?;
        let n = left.min(CHUNK);
        self.left = Some(left - n).filter(|left| *left > 0);
        let (x, class) = self.model.sample(n, self.class, self.temperature, &mut self.rng);
        Some(Samples { x, class, temperature: self.temperature })
    }
}

/// Rows of each class: name and numbers `[n, dim]`.
pub type ByClass = Vec<(String, Array2<f64>)>;

impl Model {
    /// `n` draws of each class, or of one.
    pub fn sample_by_class(&self, class: Option<usize>, n: usize, temperature: f64, seed: u64) -> ByClass {
        let mut rng = semisup::rng(seed);
        self.by_class(class, |k| self.sample(n, Some(k), temperature, &mut rng).0)
    }

    /// f^-1 of the means of each class, or of one.
    pub fn means_by_class(&self, class: Option<usize>) -> ByClass {
        let mixture = self.gmm().mixture();
        let (means, class_of) = (mixture.values().means, mixture.spec().class_of());
        self.by_class(class, |k| {
            let components: Vec<usize> = (0..class_of.len()).filter(|&c| class_of[c] == k).collect();
            self.decode(means.select(Axis(0), &components).view())
        })
    }

    fn by_class(&self, class: Option<usize>, mut rows: impl FnMut(usize) -> Array2<f64>) -> ByClass {
        let classes = class.map_or(0..self.classes_ref().len(), |k| k..k + 1);
        classes.map(|k| (self.classes_ref()[k].clone(), rows(k))).collect()
    }
}
