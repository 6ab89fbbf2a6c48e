//! Selective prediction: how often a model is wrong if it abstains on its least confident rows.
//!
//! Rows are taken by decreasing confidence; coverage c is the share answered, risk(c) the error rate among those. AURC is
//! the mean risk over all coverages 1/n, 2/n, ..., 1 (Geifman et al. 2019): lower is better, and a confidence without
//! information gives the error rate itself.

use serde::Serialize;

/// The risk-coverage curve.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RiskCoverage {
    /// `(coverage, risk)` at each distinct confidence, in increasing order of coverage.
    pub points: Vec<(f64, f64)>,
    /// AURC: the mean risk over all coverages.
    pub aurc: f64,
}

impl RiskCoverage {
    /// The curve of rows with these confidences and outcomes. Rows of equal confidence are answered together.
    pub fn of(confidence: &[f64], right: &[bool]) -> Self {
        assert_eq!(confidence.len(), right.len(), "one outcome for each confidence");
        let n = confidence.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| confidence[b].total_cmp(&confidence[a]).then(a.cmp(&b)));
        let (mut points, mut area) = (Vec::new(), 0.);
        let (mut answered, mut wrong) = (0, 0);
        for tied in order.chunk_by(|&a, &b| confidence[a] == confidence[b]) {
            wrong += tied.iter().filter(|&&row| !right[row]).count();
            answered += tied.len();
            let risk = wrong as f64 / answered as f64;
            area += tied.len() as f64 * risk;
            points.push((answered as f64 / n as f64, risk));
        }
        Self { points, aurc: area / n as f64 }
    }

    /// The largest coverage with a risk of at most `risk`; 0 if there is none.
    pub fn coverage_at(&self, risk: f64) -> f64 {
        self.points.iter().filter(|point| point.1 <= risk).map(|point| point.0).fold(0., f64::max)
    }

    /// The risk at a coverage of at least `coverage`, the smallest that ties allow.
    pub fn risk_at(&self, coverage: f64) -> f64 {
        let at = self.points.partition_point(|point| point.0 < coverage - 1e-12);
        self.points.get(at).or(self.points.last()).map_or(f64::NAN, |point| point.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By falling confidence: right, right, wrong, right: risks 0, 0, 1/3, 1/4.
    #[test]
    fn four_rows_by_hand() {
        let found = RiskCoverage::of(&[0.6, 0.9, 0.7, 0.8], &[true, true, false, true]);
        assert_eq!(found.points, [(0.25, 0.), (0.5, 0.), (0.75, 1. / 3.), (1., 0.25)]);
        assert!((found.aurc - (1. / 3. + 0.25) / 4.).abs() < 1e-15);
        assert_eq!((found.coverage_at(0.), found.coverage_at(0.3)), (0.5, 1.));
        assert_eq!((found.risk_at(0.5), found.risk_at(0.6), found.risk_at(1.)), (0., 1. / 3., 0.25));
    }

    #[test]
    fn ties_are_answered_together() {
        let found = RiskCoverage::of(&[0.9, 0.9, 0.1], &[false, true, true]);
        assert_eq!(found.points, [(2. / 3., 0.5), (1., 1. / 3.)]);
        assert_eq!(found.coverage_at(0.1), 0.);
        assert!(RiskCoverage::of(&[], &[]).risk_at(0.5).is_nan());
    }
}
