//! What the results say over all tables, for each number of labels.
//!
//! A table's mean is over its draws; learners are compared on the draws that all of those compared have finished. Every
//! table counts the same:
//!
//! ```text
//! accuracy, NLL, ECE   mean over tables
//! mean rank            mean over tables of the rank among the plan's `rank`, 1 for the best; equals share their ranks
//! shortfall            accuracy of the best rival less that of ours: rivals are those of `rank` that are not ours
//! ```

use serde::Serialize;

use crate::falls::Falls;
use crate::stats::MeanSd;
use crate::summary::{Entry, SummaryRow};
use crate::{LabelSource, Plan};

/// A shortfall above this is counted: 4 points of accuracy, as the heads of tables say.
pub const LARGE_SHORTFALL: f64 = 0.04;

/// Accuracies that differ by no more are equal: they are means of the same shares in another order.
const EQUAL: f64 = 1e-9;

/// The results over all tables.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Suite {
    /// One for each number of labels that at least two tables have.
    pub groups: Vec<Group>,
    /// One for each learner with results at two numbers of labels of one table.
    pub falls: Vec<Falls>,
}

/// All tables with the same number of labels.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Group {
    /// The labels.
    pub labels: LabelSource,
    /// How many tables have results.
    pub tables: usize,
    /// How many of them all ranked learners have finished a common draw of: ranks are over these.
    pub ranked_tables: usize,
    /// One for each learner that has results.
    pub learners: Vec<Overall>,
    /// One for each of ours that has results.
    pub shortfalls: Vec<Shortfall>,
}

/// A learner over all tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overall {
    /// Its name in the plan.
    pub learner: String,
    /// How many tables it has results of: the means are over these.
    pub tables: usize,
    /// Mean accuracy.
    pub accuracy: f64,
    /// Mean of the NLL with clipped probabilities; absent if a record does not have it.
    pub nll: Option<f64>,
    /// Mean expected calibration error.
    pub ece: f64,
    /// Mean rank, for learners that are ranked.
    pub mean_rank: Option<f64>,
    /// Its NLL against that of the class shares of the labels; absent if a record does not have them.
    pub against_shares: Option<AgainstShares>,
}

/// NLL against that of predicting the class shares of the labels for every row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AgainstShares {
    /// Mean over tables of the learner's NLL less that of the shares: below 0 if the learner is better.
    pub difference: f64,
    /// Tables on which the learner is worse.
    pub worse: usize,
}

/// One of ours against the best rival on each table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shortfall {
    /// Ours.
    pub learner: String,
    /// On how many tables it is compared.
    pub tables: usize,
    /// Accuracy of the best rival less ours where that is largest; below 0 if ours is ahead on every table.
    pub largest: f64,
    /// The table of the largest.
    pub dataset: String,
    /// The best rival there.
    pub rival: String,
    /// Tables on which the shortfall is above [`LARGE_SHORTFALL`].
    pub large: usize,
}

impl Suite {
    pub(crate) fn new(plan: &Plan, rows: &[SummaryRow]) -> Self {
        let mut labels: Vec<&LabelSource> = Vec::new();
        rows.iter().for_each(|row| {
            if !labels.contains(&&row.labels) {
                labels.push(&row.labels);
            }
        });
        let groups = labels.into_iter().filter_map(|labels| {
            let tables: Vec<&SummaryRow> = rows.iter().filter(|row| row.labels == *labels).collect();
            (tables.len() > 1).then(|| Group::new(plan, labels, &tables))
        });
        let falls = plan.learners.iter().map(|learner| Falls::new(learner, rows));
        Self { groups: groups.collect(), falls: falls.filter(|falls| falls.steps > 0).collect() }
    }
}

impl Group {
    fn new(plan: &Plan, labels: &LabelSource, tables: &[&SummaryRow]) -> Self {
        let has_results = |name: &&str| tables.iter().any(|row| result(row, name).is_some());
        let ranked: Vec<&str> = plan.ranked().iter().map(String::as_str).filter(has_results).collect();
        let rank_rows: Vec<Vec<f64>> =
            tables.iter().filter_map(|row| common_means(row, &ranked)).map(|means| ranks(&means)).collect();
        let mean_rank = |name: &str| {
            let place = ranked.iter().position(|ranked| *ranked == name)?;
            mean(rank_rows.iter().map(|ranks| ranks[place]))
        };
        let names = || plan.learners.iter().map(String::as_str);
        let rivals: Vec<&str> =
            ranked.iter().copied().filter(|name| !plan.ours.iter().any(|ours| ours == name)).collect();
        Self {
            labels: labels.clone(),
            tables: tables.len(),
            ranked_tables: rank_rows.len(),
            learners: names().filter_map(|name| Overall::new(name, tables, mean_rank(name))).collect(),
            shortfalls: plan.ours.iter().filter_map(|ours| Shortfall::new(ours, &rivals, tables)).collect(),
        }
    }
}

impl Overall {
    fn new(learner: &str, tables: &[&SummaryRow], mean_rank: Option<f64>) -> Option<Self> {
        let entries: Vec<&Entry> = tables.iter().filter_map(|row| result(row, learner)).collect();
        let of = |value: fn(&Entry) -> Option<MeanSd>| {
            let means: Option<Vec<f64>> = entries.iter().map(|entry| Some(value(entry)?.mean)).collect();
            means.filter(|means| !means.is_empty())
        };
        let (nll, shares) = (of(|entry| entry.clipped_nll), of(|entry| entry.shares_nll));
        let against_shares = nll.as_ref().zip(shares).map(|(nll, shares)| {
            let less: Vec<f64> = nll.iter().zip(shares).map(|(nll, shares)| nll - shares).collect();
            let worse = less.iter().filter(|less| **less > EQUAL).count();
            AgainstShares { difference: less.iter().sum::<f64>() / less.len() as f64, worse }
        });
        Some(Self {
            learner: learner.into(),
            tables: entries.len(),
            accuracy: mean(of(|entry| entry.accuracy)?)?,
            nll: nll.and_then(mean),
            ece: mean(of(|entry| entry.ece)?)?,
            mean_rank,
            against_shares,
        })
    }
}

impl Shortfall {
    fn new(ours: &str, rivals: &[&str], tables: &[&SummaryRow]) -> Option<Self> {
        let compared: Vec<&str> = std::iter::once(ours).chain(rivals.iter().copied()).collect();
        let mut all: Vec<(f64, &str, &str)> = Vec::new(); // shortfall, table, best rival
        for row in tables {
            let Some(means) = common_means(row, &compared) else { continue };
            let (own, others) = means.split_first().expect("ours is the first");
            let best = others.iter().zip(rivals).rev().max_by(|a, b| a.0.total_cmp(b.0));
            all.extend(best.map(|(best, rival)| (best - own, row.dataset.as_str(), *rival)));
        }
        let &(largest, dataset, rival) = all.iter().rev().max_by(|a, b| a.0.total_cmp(&b.0))?;
        Some(Self {
            learner: ours.into(),
            tables: all.len(),
            largest,
            dataset: dataset.into(),
            rival: rival.into(),
            large: all.iter().filter(|(short, ..)| *short > LARGE_SHORTFALL + EQUAL).count(),
        })
    }
}

/// What a learner has on a table, if it finished a draw.
pub(crate) fn result<'a>(row: &'a SummaryRow, learner: &str) -> Option<&'a Entry> {
    row.entries.iter().find(|entry| entry.learner == learner && entry.accuracy.is_some())
}

/// Mean accuracy of each learner over the draws that all of them finished; nothing if there is none.
fn common_means(row: &SummaryRow, learners: &[&str]) -> Option<Vec<f64>> {
    let entries: Vec<&Entry> = learners.iter().map(|name| result(row, name)).collect::<Option<_>>()?;
    let has = |entry: &Entry, draw: u64| entry.accuracies.iter().any(|(other, _)| *other == draw);
    let in_all = |draw: u64| entries.iter().all(|entry| has(entry, draw));
    let common = |entry: &Entry| {
        mean(entry.accuracies.iter().filter(|(draw, _)| in_all(*draw)).map(|(_, accuracy)| *accuracy))
    };
    entries.iter().map(|entry| common(entry)).collect()
}

/// The rank of each value, 1 for the highest; equal values share the mean of their ranks.
fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let above = values.iter().filter(|other| **other > value + EQUAL).count();
        let equal = values.iter().filter(|other| (**other - value).abs() <= EQUAL).count();
        above as f64 + (equal as f64 + 1.) / 2.
    };
    values.iter().map(rank).collect()
}

fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.into_iter().collect();
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_their_ranks() {
        assert_eq!(ranks(&[0.7, 0.9, 0.8]), [3., 1., 2.]);
        assert_eq!(ranks(&[0.9, 0.9, 0.1, 0.5]), [1.5, 1.5, 4., 3.]);
        assert_eq!(ranks(&[0.5; 3]), [2.; 3]);
        assert_eq!(ranks(&[0.3, 0.1 + 0.2]), [1.5, 1.5], "equal but for rounding");
    }
}
