//! The laws of encoding: what goes in comes out, batches do not matter, and unknown cells are reported.

mod common;

use common::*;
use flowgmm_data::{Cells, Column, DeclaredKind, Encoding, Error, Frame, Likelihood, Role, Schema};
use proptest::prelude::*;
use semisup::ndarray::array;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn what_goes_in_comes_out(n in 3usize..120, missing in 0. ..0.7, seed: u64) {
        let (encoding, frame) = learn_mixed(n, missing, seed);
        check_round_trip(&encoding, &frame);
        check_round_trip(&encoding, &frame.select(&[n - 1, 0]));
    }

    #[test]
    fn batches_do_not_matter(n in 3usize..120, missing in 0. ..0.7, size in 1usize..50, seed: u64) {
        let (encoding, frame) = learn_mixed(n, missing, seed);
        check_batches(&encoding, &frame, size);
        let (complete, _) = learn_mixed(n, 0., seed ^ 1);
        prop_assume!(complete.n_columns() == encoding.n_columns());
        check_batches(&complete, &frame, size);
    }

    #[test]
    fn encoded_rows_are_finite_and_in_the_range_of_training(n in 3usize..120, missing in 0. ..0.9, seed: u64) {
        let (encoding, frame) = learn_mixed(n, missing, seed);
        let x = encoding.apply(&frame).unwrap().x;
        prop_assert_eq!(x.dim(), (n, encoding.dim()));
        prop_assert!(x.iter().all(|value| value.is_finite()));
        for (dim, feature) in encoding.features().iter().enumerate() {
            if matches!(feature.role, Role::Level { .. } | Role::Missing) {
                prop_assert!(x.column(dim).iter().all(|value| *value == 0. || *value == 1.));
            }
            if let (Role::Number { .. }, Some(cells)) = (&feature.role, frame.column(&feature.column)) {
                let seen: Vec<f64> = (0..n).filter_map(|row| cells.number(row).unwrap()).collect();
                let within = |value: &f64| seen.iter().any(|s| s <= value) && seen.iter().any(|s| s >= value);
                prop_assert!(x.column(dim).iter().all(within), "{}", feature.column);
            }
        }
    }
}

#[test]
fn dimensions_are_laid_out_column_by_column() {
    let data = frame(&[
        ("size", some(&["1.5", "", "2.5", "3.5", "1.5"])),
        ("city", some(&["Rome", "Oslo", "Bonn", "Oslo", "Rome"])),
        ("flag", some(&["yes", "no", "no", "YES", "yes"])),
        ("day", some(&["1970-01-02", "1970-01-03", "1970-01-03", "1970-01-05", "1970-01-02"])),
        ("unit", some(&["cm"; 5])),
    ]);
    let encoding = learn(&data);
    let names = ["size", "size=(missing)", "city=Bonn", "city=Oslo", "city=Rome", "flag=yes", "day"];
    assert_eq!(encoding.feature_names(), names);
    assert_eq!((encoding.dim(), encoding.n_columns()), (7, 4));
    // Values that hardly repeat are as good as continuous.
    assert_eq!(encoding.features()[0].role, Role::Number { step: None });
    assert_eq!(encoding.features()[6].role, Role::Date { step: None });
    assert_eq!(encoding.steps(), [None; 7]);
    let encoded = encoding.apply(&data).unwrap();
    let want = array![
        [1.5, 0., 0., 0., 1., 1., 1.],
        [2., 1., 0., 1., 0., 0., 2.], // the median: too few rows for a regression
        [2.5, 0., 1., 0., 0., 0., 2.],
        [3.5, 0., 0., 1., 0., 1., 4.],
        [1.5, 0., 0., 0., 1., 1., 1.],
    ];
    assert_eq!(encoded.x, want);
    assert!(encoded.unseen.is_empty() && encoded.imputed == 0);
    let decoded = encoding.invert(want.view());
    assert_eq!(decoded.column_names(), ["size", "city", "flag", "day", "unit"]);
    assert_eq!(texts(&decoded, "flag"), some(&["yes", "no", "no", "yes", "yes"]));
    assert_eq!(texts(&decoded, "size"), some(&["1.5", "", "2.5", "3.5", "1.5"]));
    assert_eq!(texts(&decoded, "unit"), some(&["cm"; 5]));
}

#[test]
fn samples_become_rows_a_user_could_have_written() {
    let data = frame(&[
        ("kids", some(&["0", "2", "1", "4", "2", "0"])),
        ("city", some(&["Rome", "Oslo", "Bonn", "Oslo", "Rome", ""])),
        ("day", some(&["2024-01-02", "2024-01-03", "2024-01-03", "", "2024-01-02", "2024-02-01"])),
    ]);
    let encoding = learn(&data);
    let sample = array![
        [2.4, 0.1, 0.3, 0.2, 0.25, 19724.3, 0.2],
        [-0.3, -1., -3., -2., 0.1, 1e12, 0.7],
        [f64::NAN, 0., 0., 0., 0., f64::INFINITY, 0.],
    ];
    let decoded = encoding.invert(sample.view());
    assert_eq!(texts(&decoded, "kids"), some(&["2", "0", ""]));
    assert_eq!(texts(&decoded, "city"), some(&["Oslo", "", "Bonn"]));
    assert_eq!(texts(&decoded, "day"), some(&["2024-01-02", "", ""]));
}

#[test]
fn unseen_levels_are_counted() {
    let many = |row: usize| format!("zip{}", row * row % 211);
    let data = frame(&[
        ("city", cells(1000, |row| ["Rome", "Oslo", "Bonn"][row % 3].into())),
        ("side", cells(1000, |row| ["left", "right"][row % 2].into())),
        ("zip", cells(1000, many)),
    ]);
    let encoding = learn(&data);
    let names = encoding.feature_names();
    let kept = names.iter().find_map(|name| name.strip_prefix("zip=")).unwrap();
    let fresh = frame(&[
        ("zip", some(&["zipX", "zip0", kept])), // unseen, rare and frequent
        ("city", some(&["Paris", "Paris", "Rome"])),
        ("side", some(&["up", "left", "left"])),
        ("extra", some(&["1", "2", "3"])),
    ]);
    let encoded = encoding.apply(&fresh).unwrap();
    let unseen: Vec<_> =
        encoded.unseen.iter().map(|u| (u.column.as_str(), u.level.as_str(), u.count)).collect();
    assert_eq!(unseen, [("city", "Paris", 2), ("side", "up", 1), ("zip", "zipX", 1)]);
    assert_eq!(encoded.x.row(0).to_vec()[..4], [0., 0., 0., 0.5]);
    let other = names.iter().position(|name| name == "zip=(other)").unwrap();
    assert_eq!(encoded.x.column(other).to_vec(), [1., 1., 0.]);
    assert_eq!(encoded.x.row(0).iter().sum::<f64>(), 1.5);
    assert!(encoding.apply(&data).unwrap().unseen.is_empty());
}

#[test]
fn a_table_of_twenty_rows() {
    let (encoding, frame) = learn_mixed(20, 0.2, 5);
    check_round_trip(&encoding, &frame);
    check_batches(&encoding, &frame, 7);
}

#[test]
fn what_does_not_fit_is_an_error_with_its_place() {
    let data = frame(&[
        ("a", cells(30, |row| format!("{}", row * row % 31))),
        ("b", cells(30, |row| format!("{}.5", row * row % 29))),
        ("day", cells(30, |row| format!("2024-01-{:02}", row % 28 + 1))),
    ]);
    let encoding = learn(&data);
    let with = |a: &str, day: &str| {
        frame(&[("day", some(&["2024-01-01", day])), ("a", some(&["1", a])), ("b", some(&["1", "2"]))])
    };
    assert!(encoding.apply(&with("3", "2024-02-01T12:00")).is_ok());
    let message = |a: &str, day: &str| encoding.apply(&with(a, day)).unwrap_err().to_string();
    assert!(message("12 kg", "").contains("line 3, column 'a': expected a number, found '12 kg'"));
    assert!(message("inf", "").contains("line 3, column 'a': expected a finite number, found 'inf'"));
    assert!(message("-1e39", "").contains("line 3, column 'a': expected a number between -3.4e38"));
    let date = message("1", "01/02/2024");
    assert!(
        date.contains("line 3, column 'day': expected a date like 2024-01-31, found '01/02/2024'"),
        "{date}"
    );
    let lacking = encoding.apply(&frame(&[("a", some(&["1"]))])).unwrap_err();
    assert!(
        matches!(&lacking, Error::MissingColumns { missing, .. } if missing == &["b", "day"]),
        "{lacking}"
    );
    let raw = Frame::new(
        "r",
        vec![Column { name: "a".into(), cells: Cells::Numbers(vec![f64::INFINITY]) }],
        vec![1],
    );
    let schema =
        Schema::infer(&frame(&[("a", cells(30, |row| format!("{}", row * row % 31)))]), None, &[]).unwrap();
    assert!(matches!(Encoding::learn(&schema, &raw.unwrap()), Err(Error::OutOfRange { line: 1, .. })));
}

#[test]
fn declared_numbers_with_texts_among_them_stay_readable() {
    let dirty = cells(60, |row| if row == 7 { "12 kg".into() } else { format!("{}", row * row % 31) });
    let data = frame(&[("a", dirty)]);
    let schema = Schema::infer(&data, None, &[("a".into(), DeclaredKind::Numeric)]).unwrap();
    let encoding = Encoding::learn(&schema, &data).unwrap();
    let x = encoding.apply(&frame(&[("a", some(&["3", "n/a"]))])).unwrap().x;
    assert_eq!((x.column(1).to_vec(), x[[0, 0]]), (vec![0., 1.], 3.));
}

#[test]
fn nothing_to_encode_says_why() {
    let data = frame(&[("id", cells(30, |row| row.to_string())), ("unit", cells(30, |_| "cm".into()))]);
    let error = Encoding::learn(&Schema::infer(&data, None, &[]).unwrap(), &data).unwrap_err().to_string();
    assert!(error.contains("'id (identifier)', 'unit (constant)'"), "{error}");
}

#[test]
fn only_continuous_complete_columns_have_an_exact_likelihood() {
    let x = related(100, 4);
    assert_eq!(learn(&numeric_frame(&x, |_, _| false)).likelihood(), Likelihood::Exact);
    let gaps = learn(&numeric_frame(&x, |i, j| i % 9 == 0 && j == 1)).likelihood();
    assert_eq!(gaps, Likelihood::Bound { why: "missing cells in 'v'".into() });
    let data = frame(&[
        ("kids", cells(60, |row| (row * row % 7).to_string())),
        ("city", cells(60, |row| ["Rome", "Oslo", "Bonn"][row % 3].into())),
        (
            "rain",
            cells(
                60,
                |row| if row % 2 == 0 { "0".into() } else { format!("{:?}", (row as f64).sqrt().exp()) },
            ),
        ),
    ]);
    let Likelihood::Bound { why } = learn(&data).likelihood() else { panic!() };
    let want =
        "categories in 'city'; values in steps in 'kids (by 1)'; one value in many rows in 'rain (often 0)'";
    assert_eq!(why, want);
}
