//! Coupling: kept columns x_k stay, changed columns x_c go through a [`Transform`] whose parameters are a network's
//! function of x_k alone, so that the Jacobian is triangular:
//!
//!   z_k = x_k,   z_c = transform(x_c; net(x_k)),   log_det = sum over the changed columns of log dz_c/dx_c

use burn_tensor::Tensor;
use semisup::Rng;

use super::{
    Bijection, Dropout, Init, Kernel, Mapped, Mask, Transform, conditioner::Conditioner,
    transform::kernel_form,
};
use crate::{tensor::Place, theta::Theta};

#[derive(Clone, Debug)]
pub(super) struct Coupling {
    net: Conditioner,
    transform: Transform,
    /// The network's parameters, then the transform's own.
    theta: Theta,
    /// The fused kernel, for an affine transform.
    kernel: Option<flowgmm_kernels::Coupling>,
}

impl Coupling {
    pub(super) fn new(
        dim: usize,
        mask: Mask,
        hidden: &[usize],
        transform: Transform,
        init: Init,
        rng: &mut Rng,
        place: &Place,
    ) -> Self {
        let net = Conditioner::new(dim, mask, hidden, transform.outputs_per_column());
        let mut pieces = net.draw(init, rng);
        pieces.extend(transform.own_parameters(net.change.len()));
        let kernel = match transform {
            Transform::Affine { form } => {
                let (keep, change) = (net.keep.clone(), net.change.clone());
                Some(flowgmm_kernels::Coupling::new(dim, keep, change, net.hidden(), kernel_form(form)))
            }
            Transform::Additive | Transform::Spline { .. } => None,
        };
        Self { theta: Theta::new(pieces, place), net, transform, kernel }
    }

    /// The transform's own parameters, if it has any.
    fn own(&self) -> Option<Tensor<2>> {
        let at = self.net.n_parts();
        (at < self.theta.parts().len()).then(|| self.theta.part(at))
    }

    fn map(&self, x: Tensor<2>, dropout: Option<&mut Dropout>) -> Mapped {
        let (kept, changed) = self.net.split(x);
        let output = self.net.net(&self.theta, kept.clone(), dropout);
        let Mapped { value, log_det } = self.transform.forward(changed, output, self.own());
        Mapped { value: self.net.merge(kept, value), log_det }
    }
}

impl Bijection for Coupling {
    fn dim(&self) -> usize {
        self.net.dim
    }

    fn forward(&self, x: Tensor<2>) -> Mapped {
        self.map(x, None)
    }

    fn forward_with_dropout(&self, x: Tensor<2>, dropout: &mut Dropout) -> Mapped {
        self.map(x, Some(dropout))
    }

    fn inverse(&self, z: Tensor<2>) -> Tensor<2> {
        let (kept, changed) = self.net.split(z);
        let output = self.net.net(&self.theta, kept.clone(), None);
        let x = self.transform.inverse(changed, output, self.own());
        self.net.merge(kept, x)
    }

    fn thetas(&self) -> Vec<&Theta> {
        vec![&self.theta]
    }

    fn thetas_mut(&mut self) -> Vec<&mut Theta> {
        vec![&mut self.theta]
    }

    fn kernel(&self) -> Option<Kernel<'_>> {
        self.kernel.as_ref().map(Kernel::Dense)
    }

    fn boxed(&self) -> Box<dyn Bijection> {
        Box::new(self.clone())
    }
}
