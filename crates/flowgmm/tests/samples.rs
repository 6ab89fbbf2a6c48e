//! Samples are rows that could have been among the training rows: in range, with the values that many rows share.

use flowgmm::{
    Model, Request, SampleRequest, Source,
    data::{Cells, Column, Frame},
    tensor::Place,
};
use rand::Rng as _;

const N: usize = 300;

/// Days of two seasons: 58% without rain and otherwise a long tail of tenths of a millimetre, a code, a date with gaps.
fn weather() -> Frame {
    let rng = &mut semisup::rng(7);
    let truth: Vec<usize> = (0..N).map(|i| i % 2).collect();
    let rain = truth.iter().map(|&k| {
        let dry = rng.random_range(0.0..1.0) < [0.78, 0.38][k];
        let mm: f64 = (3.0 * rng.random_range(0.0..1.0_f64)).exp();
        if dry { 0.0 } else { (10.0 * mm).round() / 10.0 }
    });
    let rain: Vec<f64> = rain.collect();
    let warmth: Vec<f64> = truth.iter().map(|&k| 10.0 * k as f64 + rng.random_range(-4.0..4.0)).collect();
    let codes: Vec<f64> = (0..N).map(|_| [1.0, 2.0, 5.0][rng.random_range(0..9) / 4]).collect();
    let days: Vec<Option<String>> = (0..N)
        .map(|i| (i % 9 > 0).then(|| format!("2024-{:02}-{:02}", 1 + i % 12, rng.random_range(1..29))))
        .collect();
    let labels = truth.iter().enumerate().map(|(i, &k)| (i < 20).then_some(["dry", "wet"][k]));
    let columns = [
        ("rain", Cells::Numbers(rain)),
        ("warmth", Cells::Numbers(warmth)),
        ("code", Cells::Numbers(codes)),
        ("day", Cells::Texts(days.iter().map(|day| day.as_deref()).collect())),
        ("season", Cells::Texts(labels.collect())),
    ];
    let columns = columns.map(|(name, cells)| Column { name: name.into(), cells });
    Frame::new("weather", columns.to_vec(), (1..=N as u64).collect()).unwrap()
}

fn fitted(settings: &[(&str, serde_json::Value)]) -> Model {
    let mut request = Request::new(Source::frame(weather()).label_column("season"))
        .with("train.steps", 60)
        .with("architecture.depth", 2)
        .with("architecture.hidden", vec![16])
        .with("seed", 3);
    for (path, value) in settings {
        request = request.with(path, value.clone());
    }
    flowgmm::fit(&request, &mut ()).unwrap().model
}

fn sampled(model: &Model, request: &SampleRequest) -> Frame {
    let chunk = flowgmm::sample(model, request).unwrap().next().unwrap();
    chunk.to_frame(model).unwrap()
}

fn numbers(frame: &Frame, name: &str) -> Vec<f64> {
    let cells = frame.column(name).unwrap();
    (0..frame.n()).filter_map(|row| cells.number(row).unwrap()).collect()
}

fn share(values: &[f64], of: f64) -> f64 {
    values.iter().filter(|value| **value == of).count() as f64 / values.len() as f64
}

/// What holds of the samples of every model of these rows.
fn check(model: &Model) {
    let training = weather();
    let samples = sampled(model, &SampleRequest { seed: 1, ..SampleRequest::new(2000) });
    let rain = numbers(&samples, "rain");
    let dry = share(&rain, 0.0);
    assert!((0.48..=0.68).contains(&dry), "{dry} of the samples are 0");
    for column in ["rain", "warmth", "code"] {
        let seen = numbers(&training, column);
        let (low, high) = seen.iter().fold((f64::MAX, f64::MIN), |(a, b), &v| (a.min(v), b.max(v)));
        let found = numbers(&samples, column);
        assert!(found.len() == 2000 && found.iter().all(|v| (low..=high).contains(v)), "{column}");
    }
    let (seen, found) = (numbers(&training, "code"), numbers(&samples, "code"));
    assert!(found.iter().all(|code| seen.contains(code)));
    for code in [1.0, 2.0, 5.0] {
        let (seen, found) = (share(&seen, code), share(&found, code));
        assert!((seen - found).abs() < 0.05, "code {code}: {seen} of the rows, {found} of the samples");
    }
    let days = samples.column("day").unwrap();
    let days: Vec<String> = (0..2000).filter_map(|row| days.text(row).map(|day| day.into_owned())).collect();
    assert!(days.iter().all(|day| ("2024-01-01".."2024-12-29").contains(&day.as_str())));
}

#[test]
fn samples_keep_atoms_ranges_and_codes() {
    let model = fitted(&[]);
    check(&model);
    // What it takes is in the file.
    let loaded = Model::from_bytes(&model.to_bytes(), &Place::cpu()).unwrap();
    let request = SampleRequest::new(50);
    assert_eq!(sampled(&loaded, &request).columns(), sampled(&model, &request).columns());
}

#[test]
fn samples_of_plain_standardised_columns_keep_them_too() {
    check(&fitted(&[
        ("quantile_transform", "off".into()),
        ("prepare", serde_json::json!({"kind": "standardise"})),
    ]));
}

#[test]
fn hot_samples_stay_in_range_and_decoded_rows_come_back() {
    let model = fitted(&[]);
    let hot = sampled(&model, &SampleRequest { temperature: 3.0, ..SampleRequest::new(200) });
    assert!(numbers(&hot, "rain").iter().all(|mm| (0.0..=20.1).contains(mm)));
    let encoding = model.rows().encoding().unwrap();
    let x = encoding.apply(&weather()).unwrap().x;
    let back = model.rows().decode(x.view()).unwrap();
    for column in ["rain", "warmth", "code", "day"] {
        assert_eq!(back.column(column), weather().column(column), "{column}");
    }
}

#[test]
fn the_user_is_told_what_columns_are_used_as() {
    let model = fitted(&[]);
    let said: Vec<String> =
        model.decisions().iter().map(|decision| format!("{}: {}", decision.what, decision.choice)).collect();
    assert!(said.contains(&"codes: code: 3 values, used as a number and as categories".into()), "{said:?}");
    assert!(
        said.contains(&"dates: day: season, weekday, used beside the days since 1970".into()),
        "{said:?}"
    );
}
