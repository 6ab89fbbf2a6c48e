//! The calibration table of section 6.1: NLL and ECE of a supervised model with sigma^2 = 1, and with sigma^2 learnt on
//! validation images.
//!
//! As in the paper, MNIST has 1,000 labels, 1,000 validation images of the training set and all test images; other sets have all
//! labels, and of their test images the first 1,000 are for validation.

use std::path::Path;

use flowgmm::Model;
use flowgmm_datasets::{ImageSet, Subset};
use rand::seq::SliceRandom;
use semisup::{
    Classifier,
    metrics::{CalibrationErrors, accuracy},
};
use serde_json::{Value, json};

use super::{
    files::write_json,
    models::{Labels, Models, pixels, truth},
};
use crate::Result;

const VALIDATION: usize = 1000;
const LABELS: usize = 1000;

/// Measures a set, writes `calibration-SET.json` into `directory`, and returns what it says.
pub fn run_calibration(set: &str, models: &mut Models, directory: &Path) -> Result<Value> {
    let test = models.images(set, Subset::Test)?;
    let (model, validation, test) = match set {
        "mnist" => {
            let model = models.get(set, Labels::Only(LABELS))?;
            let train = models.images(set, Subset::Train)?;
            let shown = models.split(set, LABELS, train.n)?;
            let mut others: Vec<usize> = (0..train.n).filter(|row| !shown.contains(row)).collect();
            others.shuffle(&mut semisup::rng(0));
            (model, train.select(&others[..VALIDATION.min(others.len())]), test)
        }
        _ => {
            let held = VALIDATION.min(test.n / 2);
            let rows = |from: usize, to: usize| test.select(&(from..to).collect::<Vec<usize>>());
            (models.get(set, Labels::All)?, rows(0, held), rows(held, test.n))
        }
    };
    let found = calibration(model, models.steps, &validation, &test);
    write_json(&directory.join(format!("calibration-{set}.json")), &found)?;
    Ok(found)
}

fn calibration(model: Model, steps: usize, validation: &ImageSet, test: &ImageSet) -> Value {
    let (x, y) = (pixels(test), truth(test));
    let right = accuracy(&model.predict(x.view()), &y);
    let measured = |model: &Model| {
        json!({
            "sigma_squared": model.temperature(),
            "measures": CalibrationErrors::of(model.log_probs(x.view()).view(), &y),
        })
    };
    let model = model.pure_flow().at_temperature(1.0);
    let raw = measured(&model);
    let learnt = measured(&model.calibrated(pixels(validation).view(), &truth(validation)));
    json!({ "steps": steps, "accuracy": right, "validation": validation.n, "test": test.n, "one": raw, "learnt": learnt })
}
