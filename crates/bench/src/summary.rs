//! All cells of a plan in rows (data and labels) and columns (learners), with who is best and who is not worse.

use serde::Serialize;

use crate::stats::{MeanSd, Paired, paired};
use crate::suite::Suite;
use crate::{LabelSource, Plan, Record};

/// A learner is not significantly worse than the best if p of the paired t-test is at least this.
pub const SIGNIFICANCE: f64 = 0.05;

/// The results of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The plan's.
    pub title: String,
    /// Hash of the plan.
    pub plan: String,
    /// Draws asked for.
    pub draws: usize,
    /// The columns.
    pub learners: Vec<String>,
    /// One for each dataset and number of labels that has a result.
    pub rows: Vec<SummaryRow>,
    /// What they say over all tables.
    pub suite: Suite,
}

/// Results on one dataset with one number of labels.
#[derive(Clone, Debug, Serialize)]
pub struct SummaryRow {
    /// The dataset.
    pub dataset: String,
    /// Its labels.
    pub labels: LabelSource,
    /// One for each learner.
    pub entries: Vec<Entry>,
    /// The entry with the highest mean accuracy of those with the most draws.
    pub best: Option<usize>,
    /// Our first learner against the best of the others; without one of ours, the best against the second best.
    pub headline: Option<Versus>,
    /// Draws of which some classes have no label, and how many classes that are.
    pub without_label: Vec<(u64, usize)>,
}

/// Results of one learner.
#[derive(Clone, Debug, Serialize)]
pub struct Entry {
    /// Its name in the plan.
    pub learner: String,
    /// Draws and their accuracies, in order.
    pub accuracies: Vec<(u64, f64)>,
    /// Draws that failed.
    pub failed: usize,
    /// Accuracy, over draws.
    pub accuracy: Option<MeanSd>,
    /// Mean over classes of the share found.
    pub balanced_accuracy: Option<MeanSd>,
    /// Negative log probability; absent if it is infinite in one draw.
    pub nll: Option<MeanSd>,
    /// Negative log probability, none of them below [`LEAST_PROBABILITY`](crate::LEAST_PROBABILITY).
    pub clipped_nll: Option<MeanSd>,
    /// That of predicting the class shares of the labels, on the same draws.
    pub shares_nll: Option<MeanSd>,
    /// Brier score.
    pub brier: Option<MeanSd>,
    /// Expected calibration error.
    pub ece: Option<MeanSd>,
    /// Fitting and predicting.
    pub seconds: Option<MeanSd>,
    /// The largest of the draws, in bytes.
    pub peak_memory: Option<u64>,
    /// This learner less the best one; nothing for the best itself and for fewer than two common draws.
    pub against_best: Option<Paired>,
}

/// Two learners of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Versus {
    /// The first learner.
    pub learner: String,
    /// The learner it is compared with.
    pub rival: String,
    /// Accuracy of the first less that of the second.
    pub paired: Paired,
}

impl Summary {
    /// Summarises records. Those of other plans are ignored; of two records of a cell the later one counts.
    pub fn new(plan: &Plan, records: &[Record]) -> Self {
        let rows = plan.datasets.iter().flat_map(|dataset| {
            dataset.label_sources().into_iter().filter_map(move |labels| {
                let split = plan.split_name(dataset, &labels);
                let mine: Vec<&Record> = records
                    .iter()
                    .filter(|r| {
                        r.cell.dataset == dataset.name && r.cell.labels == labels && r.cell.split == split
                    })
                    .collect();
                (!mine.is_empty()).then(|| SummaryRow::new(plan, dataset.name.clone(), labels, &mine))
            })
        });
        let rows: Vec<SummaryRow> = rows.collect();
        Self {
            title: plan.title.clone(),
            plan: plan.hash(),
            draws: plan.draws.count as usize,
            learners: plan.learners.clone(),
            suite: Suite::new(plan, &rows),
            rows,
        }
    }
}

impl SummaryRow {
    fn new(plan: &Plan, dataset: String, labels: LabelSource, records: &[&Record]) -> Self {
        let mut entries: Vec<Entry> =
            plan.learners.iter().map(|learner| Entry::new(plan, learner, records)).collect();
        let best = best_of(&entries, |_| true);
        if let Some(best) = best {
            let accuracies = entries[best].accuracies.clone();
            for (_, entry) in entries.iter_mut().enumerate().filter(|(i, _)| *i != best) {
                entry.against_best = compare(&entry.accuracies, &accuracies);
            }
        }
        let headline = headline(plan, &entries, best);
        let without_label = plan
            .draw_numbers()
            .filter_map(|draw| {
                let of_draw = records.iter().filter(|record| record.cell.draw == draw);
                Some((draw, of_draw.map(|record| record.classes_without_label).max().filter(|n| *n > 0)?))
            })
            .collect();
        Self { dataset, labels, entries, best, headline, without_label }
    }

    /// Whether an entry is not the best, but not significantly worse either.
    pub fn is_close(&self, entry: &Entry) -> bool {
        entry.against_best.is_some_and(|paired| paired.p_t >= SIGNIFICANCE)
    }
}

/// The first of ours against the best of the others; without ours, the best against the second.
fn headline(plan: &Plan, entries: &[Entry], best: Option<usize>) -> Option<Versus> {
    let one = match plan.ours.first() {
        Some(name) => entries.iter().position(|entry| entry.learner == *name)?,
        None => best?,
    };
    let rival = best_of(entries, |i| i != one && !plan.ours.contains(&entries[i].learner))?;
    let (one, rival) = (&entries[one], &entries[rival]);
    let paired = compare(&one.accuracies, &rival.accuracies)?;
    Some(Versus { learner: one.learner.clone(), rival: rival.learner.clone(), paired })
}

/// The highest mean among those that have the most draws: a mean over easier draws would not be comparable.
fn best_of(entries: &[Entry], counts: impl Fn(usize) -> bool) -> Option<usize> {
    let rank = |i: &usize| entries[*i].accuracy.map(|accuracy| (accuracy.n, accuracy.mean));
    let counted = (0..entries.len()).filter(|&i| counts(i) && rank(&i).is_some());
    counted.rev().max_by(|a, b| rank(a).partial_cmp(&rank(b)).expect("accuracies are numbers"))
}

/// On the draws that both have.
fn compare(one: &[(u64, f64)], other: &[(u64, f64)]) -> Option<Paired> {
    let both = one
        .iter()
        .filter_map(|(draw, a)| other.iter().find(|(other, _)| other == draw).map(|(_, b)| (*a, *b)));
    let (one, other): (Vec<f64>, Vec<f64>) = both.unzip();
    paired(&one, &other)
}

impl Entry {
    fn new(plan: &Plan, learner: &str, records: &[&Record]) -> Self {
        let latest: Vec<&Record> = plan
            .draw_numbers()
            .filter_map(|draw| {
                let is_cell = |record: &&&Record| record.cell.learner == learner && record.cell.draw == draw;
                records.iter().rev().find(is_cell).copied()
            })
            .collect();
        let scored: Vec<&Record> =
            latest.iter().copied().filter(|record| record.scores().is_some()).collect();
        let of = |value: fn(&Record) -> Option<f64>| {
            scored
                .iter()
                .map(|record| value(record))
                .collect::<Option<Vec<f64>>>()
                .and_then(|v| MeanSd::of(&v))
        };
        Self {
            learner: learner.into(),
            accuracies: scored
                .iter()
                .filter_map(|record| Some((record.cell.draw, record.scores()?.accuracy)))
                .collect(),
            failed: latest.len() - scored.len(),
            accuracy: of(|record| Some(record.scores()?.accuracy)),
            balanced_accuracy: of(|record| Some(record.scores()?.balanced_accuracy)),
            nll: of(|record| record.scores()?.nll),
            clipped_nll: of(|record| record.scores()?.clipped_nll),
            shares_nll: of(|record| record.shares_nll),
            brier: of(|record| Some(record.scores()?.brier)),
            ece: of(|record| Some(record.scores()?.ece)),
            seconds: of(|record| Some(record.seconds())),
            peak_memory: scored.iter().filter_map(|record| record.peak_memory).max(),
            against_best: None,
        }
    }
}
