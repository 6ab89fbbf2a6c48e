//! Label spreading with an RBF kernel between all rows, made fit for any table: as many unlabelled rows as its dense
//! matrix can hold, and a width that does not depend on the number of columns.

use crate::{LabelSpreading, SpreadKernel, SpreadModel};
use rand::seq::index;
use semisup::{Error, Learner, SemiSupervised, rng};

/// exp(-width d^2 / dim) between all labelled rows and a sample of the unlabelled ones. For standardised columns,
/// where the mean of d^2 is 2 dim, a width of 1 says that typical rows have weight e^-2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RbfLabelSpreading {
    /// gamma times the number of columns.
    pub width: f64,
    /// How much a row listens to others rather than to its own label, in [0, 1).
    pub alpha: f64,
    /// Most rows, the labelled ones among them; more labelled rows are all kept.
    pub rows: usize,
}

impl Learner for RbfLabelSpreading {
    type Model = SpreadModel;
    type Error = Error;

    fn name(&self) -> String {
        "label spreading, RBF".into()
    }

    fn fit(&self, data: &SemiSupervised, seed: u64) -> Result<SpreadModel, Error> {
        let gamma = self.width / data.dim() as f64;
        let spreading = LabelSpreading { kernel: SpreadKernel::Rbf { gamma }, alpha: self.alpha };
        if data.n() <= self.rows {
            return spreading.fit(data, seed);
        }
        let (mut rows, unlabelled) = (data.labelled(), data.unlabelled());
        let room = self.rows.saturating_sub(rows.len()).min(unlabelled.len());
        rows.extend(index::sample(&mut rng(seed), unlabelled.len(), room).iter().map(|i| unlabelled[i]));
        rows.sort_unstable();
        spreading.fit(&data.select(&rows)?, seed)
    }
}
