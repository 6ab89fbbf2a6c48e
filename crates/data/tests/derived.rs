//! Dimensions that follow from a number or a date: the codes of whole numbers and the cycles of the calendar.

mod common;

use common::*;
use flowgmm_data::{Cycle, DeclaredKind, Encoding, Frame, Role, Schema, Wave};
use semisup::ndarray::array;

/// 60 rows of three classes and some number.
fn passengers(class: impl Fn(usize) -> &'static str) -> Frame {
    let class: Vec<&str> = (0..60).map(class).collect();
    frame(&[("class", some(&class)), ("fare", cells(60, |row| format!("{}.25", row * row % 47)))])
}

#[test]
fn a_code_is_a_number_and_one_of_several_dimensions() {
    let data = passengers(|row| ["1", "4", "2"][row % 3]);
    let encoding = learn(&data);
    assert_eq!(encoding.feature_names(), ["class", "class=1", "class=2", "class=4", "fare"]);
    let x = encoding.apply(&data).unwrap().x;
    assert_eq!(x.row(1).to_vec(), [4., 0., 0., 1., 1.25]);
    assert!(x.rows().into_iter().all(|row| row[1] + row[2] + row[3] == 1.));
    check_round_trip(&encoding, &data);
    check_batches(&encoding, &data, 7);

    let fresh = frame(&[("class", some(&["7", "", "2"])), ("fare", some(&["1", "2", "3"]))]);
    let encoded = encoding.apply(&fresh).unwrap();
    assert_eq!(encoded.x.row(0).to_vec(), [7., 0., 0., 0., 1.], "unseen: the number alone");
    assert_eq!((encoded.unseen[0].level.as_str(), encoded.unseen.len(), encoded.imputed), ("7", 1, 1));
    let imputed = encoded.x.row(1);
    let away = |code: &f64| (imputed[0] - code).abs();
    let nearest = [1., 2., 4.].into_iter().min_by(|a, b| away(a).total_cmp(&away(b))).unwrap();
    for (at, code) in [1., 2., 4.].into_iter().enumerate() {
        assert_eq!(imputed[1 + at], f64::from(u8::from(code == nearest)), "{imputed}");
    }
}

#[test]
fn a_missing_code_is_none_of_them() {
    let data = passengers(|row| ["1", "", "2", "4"][row % 4]);
    let encoding = learn(&data);
    assert_eq!(encoding.feature_names()[..3], ["class", "class=(missing)", "class=1"]);
    let x = encoding.apply(&data).unwrap().x;
    // Missing or one of the codes, so that preprocessing finds one-hot columns.
    assert!(x.rows().into_iter().all(|row| row.iter().skip(1).take(4).sum::<f64>() == 1.), "{x}");
    check_round_trip(&encoding, &data);
}

#[test]
fn a_decoded_code_is_always_one_of_training() {
    let data = passengers(|row| ["1", "2", "5"][row % 3]);
    let encoding = learn(&data);
    let rows = array![
        [-8., 0., 0., 0., 1.],
        [0.4, 0., 0., 9., 1.],
        [2.6, 0., 0., 0., 1.],
        [3.6, 0., 0., 0., 1.],
        [1e30, 0., 0., 0., 1.],
    ];
    assert_eq!(texts(&encoding.invert(rows.view()), "class"), some(&["1", "1", "2", "5", "5"]));
}

#[test]
fn the_users_word_decides_about_codes() {
    let data = passengers(|row| ["1", "4", "2"][row % 3]);
    let names = |kind| {
        let schema = Schema::infer(&data, None, &[("class".into(), kind)]).unwrap();
        Encoding::learn(&schema, &data).unwrap().feature_names()
    };
    assert_eq!(names(DeclaredKind::Numeric), ["class", "fare"]);
    assert_eq!(names(DeclaredKind::Categorical), ["class=1", "class=2", "class=4", "fare"]);
}

/// 80 times over a year, the fourth of each missing if there are gaps.
fn visits(gaps: bool) -> Frame {
    let when = |row: usize| format!("2024-{:02}-{:02} {:02}:00", row % 12 + 1, row % 27 + 1, row * 7 % 24);
    let when = (0..80).map(|row| (!gaps || row % 4 > 0).then(|| when(row))).collect();
    frame(&[("when", when), ("x", cells(80, |row| format!("{}.5", row * row % 31)))])
}

#[test]
fn a_date_has_its_place_in_the_year_the_week_and_the_day() {
    let data = visits(false);
    let encoding = learn(&data);
    let names = ["season sin", "season cos", "weekday sin", "weekday cos", "hour sin", "hour cos"];
    let names: Vec<String> = names.iter().map(|name| format!("when ({name})")).collect();
    assert_eq!(encoding.feature_names()[1..7], names);
    assert_eq!(encoding.features()[6].role, Role::Cycle { cycle: Cycle::Hour, wave: Wave::Cos });
    check_round_trip(&encoding, &data);
    check_batches(&encoding, &data, 7);
    let fresh = frame(&[
        ("when", some(&["2024-06-30 06:00", "2023-12-31 18:00", "2024-07-07 06:00"])),
        ("x", some(&["1", "2", "3"])),
    ]);
    let x = encoding.apply(&fresh).unwrap().x;
    assert!(x[[0, 2]] < -0.99 && x[[1, 2]] > 0.99, "summer is opposite to winter: {x}");
    assert_eq!((x[[0, 3]], x[[0, 4]]), (x[[2, 3]], x[[2, 4]]), "both are Sundays");
    assert!(
        (x[[0, 5]] - 1.).abs() < 1e-9 && (x[[1, 5]] + 1.).abs() < 1e-9,
        "six in the morning and the evening"
    );
}

#[test]
fn cycles_of_a_missing_date_are_those_of_the_imputed_one() {
    let data = visits(true);
    let encoding = learn(&data);
    assert_eq!(encoding.feature_names()[1], "when=(missing)");
    check_round_trip(&encoding, &data);
    let x = encoding.apply(&data).unwrap().x;
    for row in x.rows() {
        let angle = std::f64::consts::TAU * row[0] / 365.2425;
        // Imputed dates are not whole minutes, which is what the format counts.
        assert!((row[2] - angle.sin()).abs() < 1e-4 && (row[3] - angle.cos()).abs() < 1e-4, "{row}");
        let circles = (2..8).step_by(2).map(|at| row[at].hypot(row[at + 1]));
        assert!(circles.into_iter().all(|radius| (radius - 1.).abs() < 1e-12), "{row}");
    }
}

#[test]
fn encodings_of_before_have_no_derived_dimensions() {
    let few: Vec<usize> = (0..15).collect();
    let encoding = learn(&visits(false).select(&few));
    let mut stored = serde_json::to_value(&encoding).unwrap();
    for (column, kind, field) in [(0, "date", "cycles"), (1, "number", "codes")] {
        let code = stored["columns"][column]["code"][kind].as_object_mut().unwrap();
        assert_eq!(code.remove(field), Some(serde_json::json!([])), "too few rows for any");
    }
    assert_eq!(serde_json::from_value::<Encoding>(stored).unwrap(), encoding);
}
