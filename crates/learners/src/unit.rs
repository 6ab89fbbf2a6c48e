//! Rows of length one, and the paper's baselines on them, one learner for every setting of its grids.
//!
//! Between unit rows |x - y|^2 = 2 (1 - cos(x, y)): the paper's sin^2 metric, 1 - <x, y> / (|x| |y|), is half of it. A kernel
//! exp(-gamma sin^2) is thus an RBF kernel with half of gamma.

use ndarray::{Array2, ArrayView2};
use semisup::{Classifier, Learner, SemiSupervised, Watch};

use crate::{
    LabelSpreading, Mlp, NearestNeighbours, PiModel, RbfLabelSpreading, RowLength, SpreadKernel,
    any::BoxedLearner,
};

/// A learner on rows that are divided by their length; a row of zeros stays.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitRows<L>(pub L);

/// The model that [`UnitRows`] fits.
#[derive(Clone, Debug, PartialEq)]
pub struct UnitRowsModel<M>(M);

impl<L: Learner> Learner for UnitRows<L>
where
    L::Error: From<semisup::Error>,
{
    type Model = UnitRowsModel<L::Model>;
    type Error = L::Error;

    fn name(&self) -> String {
        self.0.name()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<Self::Model, L::Error> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(
        &self,
        data: &SemiSupervised,
        seed: u64,
        watch: &dyn Watch,
    ) -> Result<Self::Model, L::Error> {
        let unit = data.with_rows(unit_rows(data.x()))?;
        Ok(UnitRowsModel(self.0.fit_watched(&unit, seed, watch)?))
    }

    fn with_steps(&self, steps: usize) -> Option<Self> {
        Some(Self(self.0.with_steps(steps)?))
    }
}

impl<M: Classifier> Classifier for UnitRowsModel<M> {
    fn classes(&self) -> &[String] {
        self.0.classes()
    }

    fn log_probs(&self, x: ArrayView2<f64>) -> Array2<f64> {
        self.0.log_probs(unit_rows(x).view())
    }
}

fn unit_rows(x: ArrayView2<f64>) -> Array2<f64> {
    let mut x = x.to_owned();
    for mut row in x.rows_mut() {
        let length = row.dot(&row).sqrt();
        if length > 0.0 {
            row /= length;
        }
    }
    x
}

/// The largest k of the paper's sweep.
const MOST_NEIGHBOURS: usize = 20;
/// The grids of label spreading, which the paper does not give.
const GAMMAS: [f64; 4] = [1., 5., 20., 80.];
const NEIGHBOURS: [usize; 3] = [5, 10, 20];
const ALPHAS: [f64; 3] = [0.2, 0.8, 0.99];
/// Learning rates of the paper's table for the Pi-model.
const RATES: [f64; 3] = [1e-4, 1e-3, 3e-3];
/// Unlabelled rows of the paper's RBF graph, as far as a dense matrix holds them.
const RBF_ROWS: usize = crate::RBF_ROWS;

/// The names of the paper's baselines, one for every setting of a grid. A plan with validation rows chooses among those that
/// begin alike.
pub fn names() -> Vec<String> {
    let knn = (1..=MOST_NEIGHBOURS).map(|k| format!("paper-knn/{k}"));
    let alphas = || ALPHAS.iter();
    let rbf = GAMMAS.iter().flat_map(|g| alphas().map(move |a| format!("paper-label-spreading-rbf/{g}/{a}")));
    let pi = RATES.iter().map(|rate| format!("paper-pi-model/{rate}"));
    let graph =
        NEIGHBOURS.iter().flat_map(|k| alphas().map(move |a| format!("paper-label-spreading-knn/{k}/{a}")));
    knn.chain(rbf).chain(graph).chain(pi).collect()
}

/// A baseline of the paper, with the setting that its name ends in.
pub(crate) fn by_name(name: &str) -> Option<BoxedLearner> {
    if !names().iter().any(|known| known == name) {
        return None;
    }
    let parts: Vec<&str> = name.split('/').collect();
    let number = |at: usize| parts[at].parse::<f64>().expect("a name of the grid");
    Some(match parts[0] {
        "paper-knn" => Box::new(NearestNeighbours { k: number(1) as usize, length: RowLength::Unit }),
        "paper-label-spreading-rbf" => Box::new(UnitRows(SinSquared { gamma: number(1), alpha: number(2) })),
        "paper-label-spreading-knn" => {
            let kernel = SpreadKernel::Knn { k: number(1) as usize + 1 };
            Box::new(UnitRows(LabelSpreading { kernel, alpha: number(2) }))
        }
        // The paper's weight and rates; the ramp is ours.
        _ => Box::new(PiModel {
            net: Mlp { learning_rate: number(1), ..Mlp::default() },
            weight: 30.,
            ..PiModel::default()
        }),
    })
}

/// Label spreading with the kernel exp(-gamma sin^2), on unit rows.
#[derive(Clone, Copy, Debug, PartialEq)]
struct SinSquared {
    gamma: f64,
    alpha: f64,
}

impl Learner for SinSquared {
    type Model = <RbfLabelSpreading as Learner>::Model;
    type Error = crate::Error;

    fn name(&self) -> String {
        "label spreading, sin^2".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> crate::Result<Self::Model> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> crate::Result<Self::Model> {
        let width = 0.5 * self.gamma * data.dim() as f64;
        RbfLabelSpreading { width, alpha: self.alpha, rows: RBF_ROWS }.fit_watched(data, seed, watch)
    }
}

#[cfg(test)]
mod tests {
    use ndarray::array;
    use semisup::Toy;

    use super::*;

    #[test]
    fn every_name_of_the_grid_is_a_learner_and_no_other_is() {
        assert_eq!(names().len(), 20 + 12 + 9 + 3);
        assert!(names().iter().all(|name| by_name(name).is_some()));
        assert!(by_name("paper-knn/21").is_none() && by_name("paper-knn").is_none());
    }

    #[test]
    fn steps_reach_the_learner_inside() {
        let longer = UnitRows(Mlp::default()).with_steps(7).unwrap();
        assert_eq!(longer, UnitRows(Mlp::default().with_steps(7).unwrap()));
        assert!(UnitRows(SinSquared { gamma: 1., alpha: 0.5 }).with_steps(7).is_none());
    }

    /// Half of the squared distance of unit rows is the paper's sin^2, and lengths do not matter.
    #[test]
    fn unit_rows_measure_angles() {
        let x = array![[3., 4.], [0., 0.], [1., 0.]];
        let unit = unit_rows(x.view());
        let apart = &unit.row(0) - &unit.row(2);
        assert!((0.5 * apart.dot(&apart) - (1. - 0.6)).abs() < 1e-15);
        assert_eq!(unit.row(1).to_vec(), [0., 0.], "a row of zeros has no direction");
        let train = Toy::Pinwheel.problem(0).train;
        let model = by_name("paper-label-spreading-rbf/20/0.8").unwrap().fit_any(&train, 0).unwrap();
        let some = train.x().slice(ndarray::s![..20, ..]).to_owned();
        let (near, far) = (model.log_probs(some.view()), model.log_probs((&some * 7.).view()));
        assert!((&near - &far).iter().all(|gap| gap.abs() < 1e-9));
    }
}
