//! Probabilities, NLL, ECE and temperature against numbers made with PyTorch in double precision.
//!
//! `calibration.csv` holds 40 rows of 3 logits, their softmax and a label, written with all digits by
//! `shared/golden/golden_tabular.py` (arrays `cal_*`); the scalars below are from the same run.

use semisup::fit_temperature;
use semisup::metrics::{ece, log_softmax, nll};
use semisup::ndarray::{Array2, s};

const NLL: f64 = 1.2699097033748452;
const ECE: [(usize, f64); 3] =
    [(10, 0.11198136482566934), (15, 0.13538278637903817), (20, 0.16847673778764405)];
const T: f64 = 3.453086707494889;
const NLL_T: f64 = 0.8007628051604077;
const ECE_T: [(usize, f64); 3] =
    [(10, 0.20239604466211414), (15, 0.2205800708752286), (20, 0.2208504019394585)];

fn fixture() -> (Array2<f64>, Array2<f64>, Vec<usize>) {
    let lines = include_str!("calibration.csv").lines().skip(1);
    let cells: Vec<f64> = lines.flat_map(|line| line.split(',')).map(|cell| cell.parse().unwrap()).collect();
    let values = Array2::from_shape_vec((cells.len() / 7, 7), cells).unwrap();
    let y = values.column(6).iter().map(|&label| label as usize).collect();
    (values.slice(s![.., ..3]).to_owned(), values.slice(s![.., 3..6]).to_owned(), y)
}

#[test]
fn as_torch_before_scaling() {
    let (logits, expected, y) = fixture();
    assert_eq!(logits.dim(), (40, 3));
    let log_probs = log_softmax(logits.view());
    assert!((log_probs.exp() - expected).iter().all(|difference| difference.abs() < 1e-14));
    assert!((nll(log_probs.view(), &y) - NLL).abs() < 1e-12);
    for (bins, expected) in ECE {
        assert!((ece(log_probs.exp().view(), &y, bins) - expected).abs() < 1e-12, "{bins} bins");
    }
}

#[test]
fn as_torch_after_scaling() {
    let (logits, _, y) = fixture();
    let t = fit_temperature(logits.view(), &y);
    assert!((t - T).abs() < 1e-10, "{t}");
    let log_probs = log_softmax((logits / t).view());
    assert!((nll(log_probs.view(), &y) - NLL_T).abs() < 1e-12);
    for (bins, expected) in ECE_T {
        assert!((ece(log_probs.exp().view(), &y, bins) - expected).abs() < 1e-10, "{bins} bins");
    }
}
