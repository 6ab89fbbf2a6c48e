//! Latent points of rows, and rows of latent points, exactly: z = f(x) and x = f^-1(z), or any layer in between.

use flowgmm_data::Frame;
use ndarray::{Array2, ArrayView2};

use crate::{
    Error, Model, Result, Source,
    observer::Observer,
    predict::observer,
    rows::{Rows, numbers},
    source::{Chunks, RowNames, Wanted},
};

/// Latent points of a chunk of rows.
pub struct Encoded {
    /// Activations after the layer asked for, `[n, latent dim]`; z after the last.
    pub z: Array2<f64>,
    /// What messages call each row.
    pub names: RowNames,
}

impl Encoded {
    /// The points as a table with columns z1, z2, ...
    pub fn to_frame(&self) -> Result<Frame> {
        let columns = latent_columns(self.z.ncols()).into_iter().zip(self.z.columns());
        let columns = columns.map(|(name, values)| numbers(name, values.to_vec())).collect();
        Ok(Frame::new("latent points", columns, (1..=self.z.nrows() as u64).collect())?)
    }
}

fn latent_columns(dim: usize) -> Vec<String> {
    (1..=dim).map(|j| format!("z{j}")).collect()
}

/// Maps rows to the latent space, chunk by chunk; `layer` stops after so many layers of the flow.
///
/// ```
/// # use flowgmm::{Request, Source};
/// # let train = semisup::Toy::Moons.problem(1).train;
/// # let labels = train.y().iter().map(|y| y.map(|k| train.classes()[k].clone()));
/// # let request = Request::new(Source::matrix(train.x()).labels(labels)).with("train.steps", 50);
/// # let model = flowgmm::fit(&request, &mut ())?.model;
/// let x = ndarray::array![[0.0, 1.0], [1.0, -0.5]];
/// for chunk in flowgmm::encode(&model, &Source::matrix(x.view()), None)? {
///     let z = chunk?.z;
///     let back = flowgmm::decode(&model, z.view(), None)?;
///     assert!((&back - &x).iter().all(|gap| gap.abs() < 1e-4));
/// }
/// // Of a file: flowgmm::encode(&model, &Source::path("new.csv"), None)
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn encode<'a>(model: &'a Model, source: &Source, layer: Option<usize>) -> Result<EncodedChunks<'a>> {
    let layer = layer.unwrap_or(model.n_layers());
    model.check_layer(layer)?;
    let chunks = Chunks::open(source, model.rows(), model.classes_ref(), Wanted::Rows)?;
    Ok(EncodedChunks { model, layer, chunks, observer: None })
}

/// Latent points of a source's rows, chunk by chunk.
pub struct EncodedChunks<'a> {
    model: &'a Model,
    layer: usize,
    chunks: Chunks<'a>,
    observer: Option<&'a mut dyn Observer>,
}

impl<'a> EncodedChunks<'a> {
    /// Lets somebody watch, who may stop the work.
    pub fn observed_by(self, observer: &'a mut dyn Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// What the user should know about the rows, once they are read.
    pub fn into_warnings(self) -> Vec<String> {
        self.chunks.into_warnings()
    }
}

impl Iterator for EncodedChunks<'_> {
    type Item = Result<Encoded>;

    fn next(&mut self) -> Option<Result<Encoded>> {
        let chunk = self.chunks.next(observer(&mut self.observer, &mut ())).transpose()?;
        Some(chunk.and_then(|chunk| {
            let z = self.model.encode_to(self.layer, chunk.x.view())?;
            Ok(Encoded { z, names: chunk.names })
        }))
    }
}

/// Maps latent points `[n, latent dim]` to rows in the model's numbers `[n, dim]`; `layer` says after how many layers of
/// the flow the points are.
pub fn decode(model: &Model, z: ArrayView2<f64>, layer: Option<usize>) -> Result<Array2<f64>> {
    if z.ncols() != model.gmm().dim() {
        return Err(Error::Content(format!(
            "latent points have {} numbers, the model's have {}",
            z.ncols(),
            model.gmm().dim()
        )));
    }
    model.decode_from(layer.unwrap_or(model.n_layers()), z)
}

/// Maps a table of latent points, as [`encode`] writes it, to rows in the user's own columns, chunk by chunk.
pub fn decode_table<'a>(
    model: &'a Model,
    source: &Source,
    layer: Option<usize>,
) -> Result<impl Iterator<Item = Result<Frame>> + use<'a>> {
    let rows = Rows::Matrix { columns: latent_columns(model.gmm().dim()) };
    model.check_layer(layer.unwrap_or(model.n_layers()))?;
    let frames = source.frames(&[])?;
    Ok(frames.map(move |frame| {
        let z = crate::source::matrix_of(&frame?, &rows.columns())?;
        model.rows().decode(decode(model, z.view(), layer)?.view())
    }))
}
