//! Missing cells are filled in from the rest of their row, with what was learnt from training rows.

mod common;

use common::*;
use flowgmm_data::{Cells, Frame};
use rand::Rng as _;
use semisup::ndarray::Array2;
use semisup::rng;

#[test]
fn gaps_are_filled_by_what_the_rest_of_the_row_says() {
    let x = related(400, 3);
    let data = numeric_frame(&x, |i, j| j == 2 && i % 5 == 0);
    let encoding = learn(&data);
    assert_eq!(encoding.feature_names(), ["u", "v", "y", "y=(missing)"]);
    let filled = encoding.apply(&data).unwrap().x;
    for i in (0..400).step_by(5) {
        // The clamp to the range of training may hold a few at the edge; the penalty costs about a percent.
        assert!((filled[[i, 2]] - x[[i, 2]]).abs() < 1., "{} against {}", filled[[i, 2]], x[[i, 2]]);
        assert_eq!(filled[[i, 3]], 1.);
    }
    // Complete in training, missing later.
    let complete = learn(&numeric_frame(&x, |_, _| false));
    assert_eq!(complete.dim(), 3);
    let encoded = complete.apply(&numeric_frame(&x, |i, j| j == i % 3)).unwrap();
    assert_eq!(encoded.imputed, 400);
    let worst = (&encoded.x - &x).iter().fold(0_f64, |worst, e| worst.max(e.abs()));
    assert!(worst < 2., "{worst}");
}

#[test]
fn a_table_with_two_fifths_missing() {
    let x = related(1000, 8);
    let mut rng = rng(9);
    let gone = Array2::from_shape_fn((1000, 3), |_| rng.random_range(0. ..1.) < 0.4);
    let data = numeric_frame(&x, |i, j| gone[[i, j]]);
    let encoding = learn(&data);
    let filled = encoding.apply(&data).unwrap().x;
    let (mut by_rest, mut by_median, mut n) = (0., 0., 0.);
    for (i, row) in
        x.rows().into_iter().enumerate().filter(|(i, _)| gone.row(*i).iter().filter(|g| **g).count() == 1)
    {
        let j = gone.row(i).iter().position(|gone| *gone).unwrap();
        by_rest += (filled[[i, 2 * j]] - row[j]).powi(2);
        by_median += row[j].powi(2); // the median is 0 up to sampling
        n += 1.;
    }
    assert!(n > 100. && by_rest < 0.1 * by_median, "{by_rest} against {by_median}");
    check_round_trip(&encoding, &data);
}

#[test]
fn many_dimensions_are_filled_with_medians() {
    let names: Vec<String> = (0..310).map(|j| format!("c{j}")).collect();
    let columns: Vec<(&str, Vec<Cell>)> = names
        .iter()
        .enumerate()
        .map(|(j, name)| (name.as_str(), cells(40, |i| format!("{}.25", (i * (j + 3)) % 41))))
        .collect();
    let data = frame(&columns);
    let encoding = learn(&data);
    let mut gap = data.select(&[0]).columns().to_vec();
    gap[7].cells = Cells::Numbers(vec![f64::NAN]);
    let encoded = encoding.apply(&Frame::new("gap", gap, vec![1]).unwrap()).unwrap();
    let mut seventh: Vec<f64> = (0..40).map(|i| ((i * 10) % 41) as f64 + 0.25).collect();
    seventh.sort_by(f64::total_cmp);
    assert_eq!((encoded.imputed, encoded.x[[0, 7]]), (1, (seventh[19] + seventh[20]) / 2.));
}

#[test]
fn a_missing_category_complete_in_training_is_the_most_frequent() {
    let data = frame(&[
        ("city", cells(30, |row| ["Rome", "Oslo", "Oslo"][row % 3].into())),
        ("x", cells(30, |r| format!("{}", r * r % 31))),
    ]);
    let encoding = learn(&data);
    let fresh = frame(&[("city", some(&["", "Rome"])), ("x", some(&["1", "2"]))]);
    let encoded = encoding.apply(&fresh).unwrap();
    assert_eq!((encoded.imputed, encoded.x.column(0).to_vec()), (1, vec![0., 1.]));
}
