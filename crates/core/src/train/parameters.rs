//! The trained parameters of a model as a list of vectors: gradients in, updates out.

use burn_tensor::Tensor;

use crate::model::FlowGmm;

/// Gradients of the trained parameters; zero where the loss does not depend on them.
pub fn gradients(tracked: &FlowGmm, loss: &Tensor<1>) -> Vec<Tensor<1>> {
    let mut graph = loss.backward();
    let trained = tracked.trained();
    let leaves =
        tracked.thetas().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta.value()));
    leaves
        .map(|leaf| {
            let gradient = leaf.grad_remove(&mut graph);
            gradient.unwrap_or_else(|| leaf.clone().without_autodiff().zeros_like())
        })
        .collect()
}

/// The values of the trained parameters.
pub fn trained_values(model: &FlowGmm) -> Vec<Tensor<1>> {
    let trained = model.trained();
    model
        .thetas()
        .into_iter()
        .zip(trained)
        .filter(|(_, on)| *on)
        .map(|(theta, _)| theta.value().clone())
        .collect()
}

/// Takes the trained parameters out of a model that is about to get them back.
pub fn take_trained(model: &mut FlowGmm) -> Vec<Tensor<1>> {
    let trained = model.trained();
    model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then(|| theta.take())).collect()
}

/// Puts parameters back that [`take_trained`] took out of a model.
pub fn put_trained(model: &mut FlowGmm, values: Vec<Tensor<1>>) {
    let trained = model.trained();
    let thetas = model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta));
    thetas.zip(values).for_each(|(theta, value)| theta.put(value));
}

/// Replaces the values of the trained parameters.
pub fn set_trained(model: &mut FlowGmm, values: Vec<Tensor<1>>) {
    let trained = model.trained();
    let thetas = model.thetas_mut().into_iter().zip(trained).filter_map(|(theta, on)| on.then_some(theta));
    thetas.zip(values).for_each(|(theta, value)| theta.set(value));
}
