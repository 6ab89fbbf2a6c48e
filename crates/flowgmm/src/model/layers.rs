//! Rows as the flow sees them: latent points, and activations after any of its layers.

use flowgmm_core::{SCORING_BATCH, bijection::Bijection, tensor::to_array};
use ndarray::{Array2, ArrayView2, Axis};

use super::Model;
use crate::{Error, Result};

impl Model {
    /// The latent points z = f(x) of rows.
    pub fn encode(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.gmm.encode(self.preprocess.apply(x).view())
    }

    /// Rows for latent points: f^-1(z) in the user's columns and units.
    pub fn decode(&self, z: ArrayView2<f64>) -> Array2<f64> {
        self.preprocess.invert(self.gmm.decode(z).view())
    }

    /// Layers of the flow.
    pub fn n_layers(&self) -> usize {
        self.gmm.flow().spec().layers.len()
    }

    /// Activations of rows after the first `layer` layers of the flow; 0 is the preprocessed row, all layers give z.
    pub fn encode_to(&self, layer: usize, x: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.check_layer(layer)?;
        let (head, place) = (self.gmm.flow().slice(0..layer), self.gmm.place());
        let x = self.preprocess.apply(x);
        Ok(self.in_chunks(x.view(), |x| to_array(&head.forward(place.rows(x)).value)))
    }

    /// Rows for activations after the first `layer` layers of the flow.
    pub fn decode_from(&self, layer: usize, h: ArrayView2<f64>) -> Result<Array2<f64>> {
        self.check_layer(layer)?;
        let (head, place) = (self.gmm.flow().slice(0..layer), self.gmm.place());
        let x = self.in_chunks(h, |h| to_array(&head.inverse(place.rows(h))));
        Ok(self.preprocess.invert(x.view()))
    }

    pub(crate) fn check_layer(&self, layer: usize) -> Result<()> {
        match self.n_layers() {
            n if layer <= n => Ok(()),
            n => Err(Error::Request(format!("layer {layer} of a flow of {n} layers: use 0 to {n}"))),
        }
    }

    fn in_chunks(&self, x: ArrayView2<f64>, map: impl Fn(ArrayView2<f64>) -> Array2<f64>) -> Array2<f64> {
        let mut out = Array2::zeros((x.nrows(), self.gmm.dim()));
        let chunks = x.axis_chunks_iter(Axis(0), SCORING_BATCH);
        for (from, mut to) in chunks.zip(out.axis_chunks_iter_mut(Axis(0), SCORING_BATCH)) {
            to.assign(&map(from));
        }
        out
    }
}
