//! A model's parameters as named tensors of a container.

use std::collections::BTreeMap;

use crate::{container::Container, model::FlowGmm, tensor::to_vec};

/// All parameters by part: `flow.0.W1`, ..., `mixture.means`, with a prefix.
pub fn model_tensors(gmm: &FlowGmm, prefix: &str) -> BTreeMap<String, (Vec<usize>, Vec<f32>)> {
    let mut tensors = BTreeMap::new();
    for (name, theta) in gmm.theta_names().iter().zip(gmm.thetas()) {
        let values: Vec<f32> = to_vec(theta.value()).into_iter().map(|v| v as f32).collect();
        for part in theta.parts() {
            let piece = values[part.offset..part.offset + part.len()].to_vec();
            tensors.insert(format!("{prefix}{name}.{}", part.name), (part.shape.to_vec(), piece));
        }
    }
    tensors
}

/// Loads a model's parameters from a file, checking names, shapes and finiteness; the error says what is wrong.
pub fn load_tensors(
    gmm: &mut FlowGmm,
    file: &mut Container,
    prefix: &str,
) -> std::result::Result<(), String> {
    let names = gmm.theta_names();
    let place = gmm.place();
    for (name, theta) in names.iter().zip(gmm.thetas_mut()) {
        let mut values = Vec::with_capacity(theta.len());
        for part in theta.parts() {
            let piece = file.take(&format!("{prefix}{name}.{}", part.name), &part.shape)?;
            values.extend(piece.into_iter().map(f64::from));
        }
        theta.set(place.vector(values));
    }
    Ok(())
}
