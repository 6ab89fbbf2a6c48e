//! Density estimation: a flow of rows without classes, onto one Gaussian or several.
//!
//! ```text
//! rows ─one class, K Gaussians→ log p(x) = log sum_c w_c N(f(x); mu_c, I) + log|det df/dx|, maximised over f (and mu, w)
//! ```
//!
//! It is the fit of a mixture with a single class: the labelled term of eq. 4 of the paper is then the likelihood of all rows.

use std::time::Instant;

use flowgmm_core::{Means, Trainable, objective::Objective};
use flowgmm_data::{Encoding, Schema};
use semisup::SemiSupervised;

use crate::{
    Cost, Error, Fit, FitConfig, FitPlan, Prepare, QuantileTransform, Request, Result, Rows, Settings,
    Training,
    observer::{Control, Observer, Phase},
};

/// Training steps, unless the request says otherwise.
const STEPS: usize = 1500;
/// Rows of a batch, as far as there are as many.
const BATCH: usize = 512;

/// Fits the density of a table's rows by a flow onto a mixture of `components` Gaussians. Labels are not looked at; the model has
/// the one class `all`.
///
/// ```
/// use flowgmm::{Request, Source};
///
/// let rows = semisup::Toy::Moons.sample(300, &mut semisup::rng(0));
/// let request = Request::new(Source::matrix(rows.x())).with("train.steps", 100);
/// let model = flowgmm::density(&request, 1, &mut ())?.model;
/// let log_p = |x: f64| model.score(ndarray::array![[x, 0.3]].view()).log_marginal[0];
/// assert!(log_p(0.0) > log_p(30.0));
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn density(request: &Request, components: usize, observer: &mut dyn Observer) -> Result<Fit> {
    let began = Instant::now();
    if components == 0 {
        return Err(Error::Request("a density needs at least one Gaussian, got 0".into()));
    }
    let training = read(request, observer)?;
    let settings = Settings::gather(&FitConfig::density(&training.data, components), &request.overrides)?;
    settings.config.validate()?;
    Cost::check_rows(&training.data)?;
    Cost::check_flow(&settings.config, &training.data)?;
    let cost = Cost::of(&settings.config, &training.data);
    cost.check_memory()?;
    let plan = FitPlan { settings, decisions: training.decisions.clone(), cost, warnings: Vec::new() };
    training.fit(plan, request, began, observer)
}

impl FitConfig {
    /// The likelihood of rows without classes, and nothing else.
    pub fn density(data: &SemiSupervised, components: usize) -> Self {
        let mut config = Self::table(data);
        config.quantile_transform = QuantileTransform::Skewed;
        config.prepare = Prepare::Standardise;
        config.teachers = Vec::new();
        config.calibration = None;
        // About the origin: a flow that ends in couplings shifts as it likes.
        config.architecture.means = Means::Random { r: 1e-3 };
        config.architecture.per_class = components;
        // Several Gaussians find their own places and weights.
        config.architecture.trainable =
            Trainable { means: components > 1, covariances: false, weights: components > 1 };
        config.train.steps = STEPS;
        config.train.batch_labelled = data.n().clamp(1, BATCH);
        config.train.objective = Objective::likelihood();
        config.train.noise = 0.0;
        config.train.view_noise = 0.0;
        config
    }
}

/// All rows of a table, as one class.
fn read(request: &Request, observer: &mut dyn Observer) -> Result<Training> {
    let source = &request.source;
    if source.holds_images()? {
        return Err(Error::Request(
            "a density without classes is fitted to tables, and these are images".into(),
        ));
    }
    if !request.texts.is_empty() {
        return Err(Error::Request(
            "a density without classes is fitted to columns without running text".into(),
        ));
    }
    observer.phase(&Phase::Reading, None);
    let mut chunks = source.frames(&[])?;
    let warnings = std::mem::take(&mut chunks.warnings);
    let mut table =
        chunks.next().ok_or_else(|| Error::Content(format!("{} has no rows", source.name())))??;
    for chunk in chunks {
        table.append(chunk?, &[])?;
        if observer.progress(table.n()) == Control::Stop {
            return Err(Error::Cancelled { during: format!("reading {}", source.name()) });
        }
    }
    let schema = Schema::infer(&table, None, &request.declared)?;
    let encoding = Encoding::learn(&schema, &table)?;
    let x = encoding.apply(&table)?.x;
    let data = SemiSupervised::one_class(x, encoding.feature_names())?.with_steps(encoding.steps());
    let rows = Rows::Table { encoding, texts: Vec::new(), label: None };
    Ok(Training::of_rows(data, rows, schema, &table, warnings))
}
