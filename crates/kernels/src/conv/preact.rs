//! A convolution with batch normalisation and ReLU before it: the unit of pre-activation residual blocks
//! (He et al., "Identity Mappings in Deep Residual Networks", 2016).
//!
//! ```text
//! y = conv(relu(bn(x; gamma, beta)); W) + residual
//! ```
//!
//! The activation between is recomputed wherever it is needed, inside the convolution's first transform. A
//! training forward also leaves the moments of `y` with it, measured while `y` is in cache, for the batch
//! norm of the next layer.

use super::backward::backward;
use super::forward::{Epilogue, Extra, Source, forward};
use super::{Activations, Conv, KernelSize, Workspace};
use crate::batch_norm::{Moments, Norm};

/// Batch norm, ReLU, convolution, residual.
#[derive(Clone, Debug)]
pub struct PreActConv {
    conv: Conv,
}

/// The parameters of a [`PreActConv`].
#[derive(Clone, Copy, Debug)]
pub struct PreActParams<'a> {
    /// `[in]`
    pub gamma: &'a [f32],
    /// `[in]`
    pub beta: &'a [f32],
    /// `[out, in, k, k]`
    pub weights: &'a [f32],
}

/// The gradients of a [`PreActConv`].
#[derive(Debug)]
pub struct PreActGradients {
    /// Shape of `x`.
    pub x: Activations,
    /// `[in]`
    pub gamma: Vec<f32>,
    /// `[in]`
    pub beta: Vec<f32>,
    /// `[out, in, k, k]`
    pub weights: Vec<f32>,
}

impl PreActConv {
    /// # Panics
    /// Unless there is at least one channel on both sides.
    pub fn new(in_channels: usize, out_channels: usize, kernel: KernelSize, workspace: &Workspace) -> Self {
        Self { conv: Conv::new(in_channels, out_channels, kernel, workspace) }
    }

    /// The convolution alone.
    pub fn conv(&self) -> &Conv {
        &self.conv
    }

    /// Training mode: normalises by the moments of `x` itself, which are [`Activations::moments`], there to
    /// update running statistics with.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn forward(
        &self,
        params: PreActParams,
        x: &Activations,
        residual: Option<&Activations>,
    ) -> Activations {
        self.run(params, x, x.moments(), residual, Extra::Moments)
    }

    /// Evaluation mode: normalises by the given statistics.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn evaluate(
        &self,
        params: PreActParams,
        x: &Activations,
        moments: &Moments,
        residual: Option<&Activations>,
    ) -> Activations {
        self.run(params, x, moments, residual, Extra::Nothing)
    }

    fn run(
        &self,
        params: PreActParams,
        x: &Activations,
        moments: &Moments,
        residual: Option<&Activations>,
        extra: Extra,
    ) -> Activations {
        self.conv.check(Some(params.weights), Some(x), residual);
        let norm = self.norm(params, moments);
        let epilogue = Epilogue { residual, ..Epilogue::default() };
        forward(&self.conv, Source { x, norm: Some(&norm) }, params.weights, epilogue, extra)
    }

    /// The gradients of [`PreActConv::forward`] from `gy`, that of `y`, through the moments of `x` too.
    /// `skip` is added to the gradient of `x`: in a residual block, the gradient that bypasses the block.
    ///
    /// # Panics
    /// When a shape does not fit.
    pub fn backward(
        &self,
        params: PreActParams,
        x: &Activations,
        gy: &Activations,
        skip: Option<&Activations>,
    ) -> PreActGradients {
        self.conv.check(Some(params.weights), Some(x), Some(gy));
        assert!(skip.is_none_or(|skip| skip.shape() == x.shape()), "skip: the shape of x");
        let norm = self.norm(params, x.moments());
        let source = Source { x, norm: Some(&norm) };
        let back = backward(&self.conv, Some(source), Some(params.weights), gy);
        let mut gx = back.input.expect("asked for by giving the weights");
        let (gamma, beta) = norm.finish(x, &back.sums, skip, &mut gx);
        PreActGradients { x: gx, gamma, beta, weights: back.weights.expect("asked for by giving the source") }
    }

    fn norm(&self, params: PreActParams, moments: &Moments) -> Norm {
        assert_eq!(params.gamma.len(), self.conv.in_channels, "gamma: one per input channel");
        Norm::new(params.gamma, params.beta, moments)
    }
}
