//! Label spreading with an RBF kernel on tables of any size: with as many unlabelled rows as the dense matrix can hold,
//! and a width that does not depend on the number of columns.

use rand::seq::index;
use semisup::{Learner, SemiSupervised, Watch, rng};

use super::{LabelSpreading, SpreadKernel, SpreadModel};
use crate::{Error, Result};

/// Label spreading with the kernel exp(-width d^2 / dim) between all labelled rows and a sample of the unlabelled ones.
/// For standardised columns, where the mean of d^2 is 2 dim, rows at that distance have weight e^-2 if the width is 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RbfLabelSpreading {
    /// gamma times the number of columns.
    pub width: f64,
    /// The weight of the neighbours' labels against the row's own label, in [0, 1).
    pub alpha: f64,
    /// The largest number of rows, labelled ones included; labelled rows are kept even if there are more.
    pub rows: usize,
}

impl Learner for RbfLabelSpreading {
    type Model = SpreadModel;
    type Error = Error;

    fn name(&self) -> String {
        "label spreading, RBF".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<SpreadModel> {
        self.fit_watched(data, seed, &())
    }

    fn fit_watched(&self, data: &SemiSupervised, seed: u64, watch: &dyn Watch) -> Result<SpreadModel> {
        let gamma = self.width / data.dim() as f64;
        let spreading = LabelSpreading { kernel: SpreadKernel::Rbf { gamma }, alpha: self.alpha };
        if data.n() <= self.rows {
            return spreading.fit_watched(data, seed, watch);
        }
        let (mut rows, unlabelled) = (data.labelled(), data.unlabelled());
        let room = self.rows.saturating_sub(rows.len()).min(unlabelled.len());
        rows.extend(index::sample(&mut rng(seed), unlabelled.len(), room).iter().map(|i| unlabelled[i]));
        rows.sort_unstable();
        spreading.fit_watched(&data.select(&rows)?, seed, watch)
    }
}
