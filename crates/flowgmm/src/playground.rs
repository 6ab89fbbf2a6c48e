//! Points in the plane, and a fit of them that is watched frame by frame: the paper's figures 1 and 2, alive.
//!
//! ```text
//! points, few labels ─Settings→ FitConfig ─Fitter→ steps ─every n-th→ Frame { regions [h, w], z [n, 2], means, loss }
//! ```
//!
//! A [`Watch`] gets the frames and is asked after every step whether to go on; it may take its time, which pauses the fit.

use std::time::{Duration, Instant};

use flowgmm_core::{Em, Means, MixtureStep, objective::Consistency, train::Control};
use ndarray::Array2;
use rand::seq::index;
use semisup::{SemiSupervised, Toy, metrics::arg_max};
use serde::{Deserialize, Serialize};

use crate::{
    Error, FitConfig, Fitter, Model, Result,
    observer::{Observer, Phase},
    snapshot::{Glimpse, Snapshot},
};

/// Cells across a frame's decision regions.
const CELLS: usize = 72;
/// Frames of a fit that is not interrupted, about.
const FRAMES: usize = 300;
/// A slow fit shows a frame at least this often.
const SLOWEST: Duration = Duration::from_millis(80);
/// The most points, classes and steps.
pub const MOST_POINTS: usize = 5000;
/// The most classes.
pub const MOST_CLASSES: usize = 8;

/// Points in the plane, and the labels of some of them.
#[derive(Clone, Debug, Serialize)]
pub struct Points {
    /// Their coordinates, `[n]`.
    pub points: Vec<[f64; 2]>,
    /// The class of each where it is known, from 0.
    pub labels: Vec<Option<usize>>,
    /// The class of each, if the points come from a toy.
    pub truth: Option<Vec<usize>>,
    /// The names of the classes.
    pub classes: Vec<String>,
    /// What frames show; a square around the points, if absent.
    #[serde(skip)]
    bounds: Option<[f64; 4]>,
}

impl Points {
    /// Points with a label each, or none. Every class from 0 to the highest needs a label.
    pub fn new(points: Vec<[f64; 2]>, labels: Vec<Option<usize>>) -> Result<Self> {
        let k = labels.iter().flatten().max().map_or(0, |k| k + 1);
        let wrong = |what: String| Err(Error::Request(what));
        if points.len() != labels.len() {
            return wrong(format!(
                "{} labels for {} points: one for each is needed",
                labels.len(),
                points.len()
            ));
        }
        if points.len() > MOST_POINTS {
            return wrong(format!("{} points: draw at most {MOST_POINTS}", points.len()));
        }
        if points.iter().flatten().any(|v| !v.is_finite() || v.abs() > 1e6) {
            return wrong("coordinates must be finite, and at most a million".into());
        }
        if k > MOST_CLASSES {
            return wrong(format!("{k} classes: use at most {MOST_CLASSES}"));
        }
        let seen: Vec<usize> = (0..k).filter(|k| labels.contains(&Some(*k))).collect();
        if seen.len() < 2 {
            return wrong(format!("labels of two classes at least are needed; there are {}", seen.len()));
        }
        if let Some(missing) = (0..k).find(|k| !seen.contains(k)) {
            return wrong(format!(
                "class {} has no label; label a point of it, or leave it out",
                missing + 1
            ));
        }
        let first = points[0];
        if points.iter().all(|point| *point == first) {
            return wrong("all points are in one place; draw some elsewhere".into());
        }
        let classes = (1..=k).map(|k| format!("class {k}")).collect();
        Ok(Self { points, labels, truth: None, classes, bounds: None })
    }

    /// `n` points of one of the paper's toys, `labels` of them labelled, evenly over the classes.
    pub fn toy(name: &str, n: usize, labels: usize, seed: u64) -> Result<Self> {
        let toy: Toy = name.parse()?;
        if !(20..=MOST_POINTS).contains(&n) {
            return Err(Error::Request(format!("{n} points of a toy: choose from 20 to {MOST_POINTS}")));
        }
        let mut rng = semisup::rng(seed);
        let drawn = toy.sample(n, &mut rng);
        let k = toy.n_classes();
        let mut shown = vec![None; n];
        for class in 0..k {
            let rows: Vec<usize> = (0..n).filter(|&row| drawn.y()[row] == class).collect();
            // The first classes have one more where the labels do not divide evenly; each has one.
            let count = (labels / k + usize::from(class < labels % k)).clamp(1, rows.len());
            for at in index::sample(&mut rng, rows.len(), count) {
                shown[rows[at]] = Some(class);
            }
        }
        let points = drawn.x().rows().into_iter().map(|row| [row[0], row[1]]).collect();
        Ok(Self { truth: Some(drawn.y().to_vec()), ..Self::new(points, shown)? })
    }

    /// The points with the class of each, which frames tell the accuracy by and the fit does not see.
    pub fn with_truth(self, truth: Vec<usize>) -> Result<Self> {
        match truth.len() == self.points.len() {
            true => Ok(Self { truth: Some(truth), ..self }),
            false => Err(Error::Request(format!(
                "{} true classes for {} points: one for each is needed",
                truth.len(),
                self.points.len()
            ))),
        }
    }

    /// The points with the square that frames show: x from, x to, y from, y to.
    pub fn with_bounds(self, bounds: [f64; 4]) -> Result<Self> {
        let [x0, x1, y0, y1] = bounds;
        let sound = bounds.iter().all(|v| v.is_finite() && v.abs() <= 1e6) && x0 < x1 && y0 < y1;
        match sound {
            true => Ok(Self { bounds: Some(bounds), ..self }),
            false => {
                Err(Error::Request("bounds are x from, x to, y from, y to, each from below its to".into()))
            }
        }
    }

    fn x(&self) -> Array2<f64> {
        Array2::from_shape_fn((self.points.len(), 2), |(i, j)| self.points[i][j])
    }

    fn data(&self) -> Result<SemiSupervised> {
        Ok(SemiSupervised::new(
            self.x(),
            self.labels.clone(),
            self.classes.clone(),
            vec!["x1".into(), "x2".into()],
        )?)
    }

    /// What frames show: the bounds given, or a square around all points and the unit square, with some room.
    fn square(&self) -> [f64; 4] {
        if let Some(bounds) = self.bounds {
            return bounds;
        }
        let range = |d: usize| {
            let of =
                |pick: fn(f64, f64) -> f64, start: f64| self.points.iter().map(|p| p[d]).fold(start, pick);
            [of(f64::min, -1.0), of(f64::max, 1.0)]
        };
        let (x, y) = (range(0), range(1));
        let half = 0.575 * (x[1] - x[0]).max(y[1] - y[0]);
        let (cx, cy) = (0.5 * (x[0] + x[1]), 0.5 * (y[0] + y[1]));
        [cx - half, cx + half, cy - half, cy + half]
    }
}

/// What of a fit can be changed, in the paper's words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Optimiser steps.
    pub steps: usize,
    /// How far apart the means are put: the factor of the classes' centroids.
    pub r: f64,
    /// Couplings of the flow.
    pub couplings: usize,
    /// Width of their hidden layer.
    pub hidden: usize,
    /// Weight of the consistency of two views; 0 leaves it out.
    pub consistency: f64,
    /// Expectation-maximisation (appendix A) in place of gradients of the marginal.
    pub em: bool,
    /// Peak of the learning rate.
    pub learning_rate: f64,
    /// Seed of the fit.
    pub seed: u64,
}

impl Default for Settings {
    /// The recipe for toys.
    fn default() -> Self {
        let config = FitConfig::toy();
        let r = match config.architecture.means {
            Means::Separated { r, .. } => r,
            _ => 4.0,
        };
        Self {
            steps: 1500,
            r,
            couplings: config.architecture.depth,
            hidden: config.architecture.hidden[0],
            consistency: config.train.objective.consistency.map_or(0.0, |c| c.weight),
            em: false,
            learning_rate: config.train.schedule.peak,
            seed: 0,
        }
    }
}

impl Settings {
    /// An error unless they describe a fit.
    pub fn check(&self) -> Result<()> {
        self.config().map(drop)
    }

    fn config(&self) -> Result<FitConfig> {
        let bounds = [
            ("steps", self.steps as f64, 1.0, 20_000.0),
            ("r", self.r, 0.0, 100.0),
            ("couplings", self.couplings as f64, 1.0, 32.0),
            ("hidden", self.hidden as f64, 1.0, 1024.0),
            ("consistency", self.consistency, 0.0, 100.0),
            ("learning_rate", self.learning_rate, 1e-7, 1.0),
        ];
        for (name, value, least, most) in bounds {
            if !(least..=most).contains(&value) {
                return Err(Error::Request(format!("{name} must be from {least} to {most}, got {value}")));
            }
        }
        let mut config = FitConfig::toy();
        config.train.steps = self.steps;
        config.train.schedule.peak = self.learning_rate;
        config.architecture.depth = self.couplings;
        config.architecture.hidden = vec![self.hidden];
        if let Means::Separated { r, apart } = &mut config.architecture.means {
            (*r, *apart) = (self.r, *apart * self.r / *r);
        }
        let ramp = config.train.objective.consistency.map_or(0.3, |c| c.ramp);
        let agreement = flowgmm_core::objective::Agreement::Likelihood;
        config.train.objective.consistency =
            (self.consistency > 0.0).then_some(Consistency { agreement, weight: self.consistency, ramp });
        config.train.em = self.em.then(|| Em::new(1, MixtureStep::Fixed));
        config.validate()?;
        Ok(config)
    }
}

/// Which points a fit sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// All of them.
    All,
    /// Those with a label.
    LabelledAlone,
}

/// The fit at a step.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Steps done.
    pub step: usize,
    /// Of how many.
    pub of: usize,
    /// The loss of that step; none before the first.
    pub loss: Option<f64>,
    /// Share of all points predicted right, where their classes are known.
    pub accuracy: Option<f64>,
    /// Cells across and down of the decision regions.
    pub cells: [usize; 2],
    /// The square that they cover: x from, x to, y from, y to.
    pub square: [f64; 4],
    /// The most probable class of each cell, `[h * w]`, from (x from, y from) on.
    pub classes: Vec<u8>,
    /// Its probability, 255 for 1.
    pub certainty: Vec<u8>,
    /// z = f(x) of all points.
    pub latent: Vec<[f32; 2]>,
    /// The means of the Gaussians.
    pub means: Vec<[f64; 2]>,
}

/// Watches a fit, frame by frame.
pub trait Watch: Send {
    /// A frame.
    fn frame(&mut self, frame: Frame);

    /// Whether the next step shall be shown, whatever is usual.
    fn wants_frame(&mut self) -> bool {
        false
    }

    /// Whether to go on. May take as long as it likes; called after every step, and now and then in between.
    fn go_on(&mut self) -> Control {
        Control::Continue
    }
}

/// Fits a model to points, watched. Runs in the current rayon pool; a watch that pauses needs a pool of its own.
///
/// ```
/// use flowgmm::playground::{Frame, Points, Seen, Settings, Watch, fit};
///
/// struct Count(usize);
/// impl Watch for Count {
///     fn frame(&mut self, frame: Frame) {
///         assert_eq!(frame.latent.len(), 100);
///         self.0 += 1;
///     }
/// }
/// let moons = Points::toy("moons", 100, 6, 1)?;
/// let settings = Settings { steps: 20, hidden: 8, ..Settings::default() };
/// let mut frames = Count(0);
/// let model = fit(&moons, &settings, Seen::All, &mut frames)?;
/// assert!(frames.0 > 1 && model.gmm().dim() == 2);
/// # Ok::<(), flowgmm::Error>(())
/// ```
pub fn fit(points: &Points, settings: &Settings, seen: Seen, watch: &mut dyn Watch) -> Result<Model> {
    let config = settings.config()?;
    let mut data = points.data()?;
    if seen == Seen::LabelledAlone {
        data = data.labelled_only();
    }
    let every = settings.steps.div_ceil(FRAMES);
    let mut show = Show::new(points, settings.steps, every, watch);
    Fitter::new(&config, &data, settings.seed).run(&mut show)
}

/// Turns snapshots into frames.
struct Show<'a> {
    points: &'a Points,
    x: Array2<f64>,
    square: [f64; 4],
    grid: Array2<f64>, // [h * w, 2]
    steps: usize,
    every: usize,
    last: Instant,
    loss: Option<f64>,
    training: bool,
    watch: &'a mut dyn Watch,
}

impl<'a> Show<'a> {
    fn new(points: &'a Points, steps: usize, every: usize, watch: &'a mut dyn Watch) -> Self {
        let square = points.square();
        let [x0, x1, y0, y1] = square;
        let at = |i: usize, from: f64, to: f64| from + (i as f64 + 0.5) / CELLS as f64 * (to - from);
        let grid = Array2::from_shape_fn((CELLS * CELLS, 2), |(cell, d)| match d {
            0 => at(cell % CELLS, x0, x1),
            _ => at(cell / CELLS, y0, y1),
        });
        let x = points.x();
        Self {
            points,
            x,
            square,
            grid,
            steps,
            every,
            last: Instant::now(),
            loss: None,
            training: false,
            watch,
        }
    }

    fn frame(&self, snapshot: &Snapshot) -> Frame {
        let Glimpse { log_probs, z } = snapshot.look(self.x.view());
        let regions = snapshot.look(self.grid.view());
        let classes = arg_max(regions.log_probs.view());
        let sure = |(row, k): (ndarray::ArrayView1<f64>, &usize)| (255.0 * row[*k].exp()).round() as u8;
        let accuracy = self.points.truth.as_ref().map(|truth| {
            let found = arg_max(log_probs.view());
            found.iter().zip(truth).filter(|(a, b)| a == b).count() as f64 / truth.len() as f64
        });
        Frame {
            step: snapshot.step(),
            of: self.steps,
            loss: self.loss,
            accuracy,
            cells: [CELLS, CELLS],
            square: self.square,
            certainty: regions.log_probs.rows().into_iter().zip(&classes).map(sure).collect(),
            classes: classes.into_iter().map(|k| k as u8).collect(),
            latent: z.rows().into_iter().map(|row| [row[0] as f32, row[1] as f32]).collect(),
            means: snapshot.means().rows().into_iter().map(|row| [row[0], row[1]]).collect(),
        }
    }
}

impl Observer for Show<'_> {
    fn phase(&mut self, phase: &Phase, _: Option<usize>) {
        self.training = *phase == Phase::Training;
    }

    fn loss(&mut self, loss: f64) {
        self.loss = Some(loss);
    }

    fn snapshot(&mut self, snapshot: &Snapshot) {
        let step = snapshot.step();
        let regular = step == self.steps || step.is_multiple_of(self.every);
        let wanted = self.training && (self.watch.wants_frame() || regular || self.last.elapsed() > SLOWEST);
        if wanted {
            let frame = self.frame(snapshot);
            self.watch.frame(frame);
            self.last = Instant::now();
        }
    }

    fn progress(&mut self, _: usize) -> Control {
        self.watch.go_on()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Keep(Vec<Frame>, usize);

    impl Watch for Keep {
        fn frame(&mut self, frame: Frame) {
            self.0.push(frame);
        }

        fn go_on(&mut self) -> Control {
            match self.0.last().is_some_and(|frame| frame.step >= self.1) {
                true => Control::Stop,
                false => Control::Continue,
            }
        }
    }

    fn small(steps: usize) -> Settings {
        Settings { steps, hidden: 16, couplings: 4, ..Settings::default() }
    }

    #[test]
    fn frames_show_the_fit_getting_better_and_end_with_the_model() {
        let moons = Points::toy("moons", 200, 10, 3).unwrap();
        let mut keep = Keep(Vec::new(), usize::MAX);
        let model = fit(&moons, &small(300), Seen::All, &mut keep).unwrap();
        let frames = keep.0;
        let (first, last) = (&frames[0], &frames[frames.len() - 1]);
        assert_eq!((first.step, first.loss, last.step, last.of), (0, None, 300, 300));
        assert!(frames.windows(2).all(|pair| pair[0].step < pair[1].step));
        assert!(last.accuracy.unwrap() > 0.9, "{:?}", last.accuracy);
        let z = model.encode(moons.x().view());
        let gap = last.latent.iter().zip(z.rows()).map(|(a, b)| (f64::from(a[0]) - b[0]).abs());
        assert!(gap.fold(0.0, f64::max) < 1e-4, "the last frame is the model");
        assert_eq!(last.classes.len(), CELLS * CELLS);
        assert_eq!(last.means.len(), 2);
    }

    #[test]
    fn a_watch_can_stop_a_fit() {
        let moons = Points::toy("circles", 100, 10, 3).unwrap();
        let mut keep = Keep(Vec::new(), 20);
        let error = fit(&moons, &small(5000), Seen::LabelledAlone, &mut keep).unwrap_err();
        assert_eq!(error.kind(), crate::ErrorKind::Cancelled);
        assert!(keep.0.last().unwrap().step < 5000);
    }

    #[test]
    fn what_cannot_be_fitted_is_said_in_words() {
        let of = |labels: &[Option<usize>]| {
            let points = (0..labels.len()).map(|i| [i as f64, 0.5]).collect();
            Points::new(points, labels.to_vec()).map(|_| ()).map_err(|error| error.to_string())
        };
        assert!(of(&[Some(0), Some(1), None]).is_ok());
        assert!(of(&[Some(0), None]).unwrap_err().contains("two classes"));
        assert!(of(&[Some(0), Some(2), Some(2)]).unwrap_err().contains("class 2 has no label"));
        assert!(of(&[Some(0), Some(8)]).unwrap_err().contains("at most 8"));
        assert!(Points::new(vec![[f64::NAN, 0.0]; 2], vec![Some(0), Some(1)]).is_err());
        assert!(Points::toy("squares", 100, 5, 0).is_err());
        assert!(Settings { steps: 0, ..Settings::default() }.config().is_err());
        let two = || Points::new(vec![[0.0, 0.5], [3.0, 1.0]], vec![Some(0), Some(1)]).unwrap();
        assert!(two().with_truth(vec![0]).is_err() && two().with_bounds([0.0, 0.0, 1.0, 2.0]).is_err());
        assert_eq!(two().with_bounds([-1.0, 2.0, -3.0, 4.0]).unwrap().square(), [-1.0, 2.0, -3.0, 4.0]);
        let toy = Points::toy("pinwheel", 100, 3, 0).unwrap();
        assert_eq!(toy.labels.iter().flatten().count(), 5, "every class has one");
    }
}
