//! Appendix H: the images of the means, and samples of each class at T = 0.25^2, which is a standard deviation of 0.25.

use std::path::Path;

use flowgmm::contact_sheet;
use flowgmm_datasets::Subset;
use ndarray::{Array2, Axis, concatenate};
use serde_json::{Value, json};

use super::{
    files::{write, write_json},
    models::{Labels, Models, layout},
};
use crate::Result;

/// Samples of each class.
const SAMPLES: usize = 10;
/// Of the latent standard deviation.
const TEMPERATURE: f64 = 0.25;

/// Writes `appendix-h.png`, a row for each class with the image of its mean first, and `appendix-h.json` into `directory`: how many
/// means are taken for their own class, and samples.
pub fn run_generation(set: &str, models: &mut Models, directory: &Path) -> Result<Value> {
    let model = models.get(set, Labels::All)?;
    let test = models.images(set, Subset::Test)?;
    let (means, samples) = (model.means_by_class(None), model.sample_by_class(None, SAMPLES, TEMPERATURE, 0));
    let own = |rows: &[(String, Array2<f64>)]| {
        let right = rows
            .iter()
            .enumerate()
            .flat_map(|(k, (_, x))| model.score(x.view()).classes().into_iter().map(move |c| c == k));
        let right: Vec<bool> = right.collect();
        right.iter().filter(|right| **right).count() as f64 / right.len().max(1) as f64
    };
    let json = json!({
        "set": set, "steps": models.steps, "temperature": TEMPERATURE,
        "means_of_their_class": own(&means), "samples_of_their_class": own(&samples),
    });
    let rows = means.iter().zip(&samples).map(|((name, mean), (_, samples))| {
        (name.clone(), concatenate(Axis(0), &[mean.view(), samples.view()]).expect("images of one size"))
    });
    write(&directory.join("appendix-h.png"), &contact_sheet(&rows.collect::<Vec<_>>(), &layout(&test)?))?;
    write_json(&directory.join("appendix-h.json"), &json)?;
    Ok(json)
}
