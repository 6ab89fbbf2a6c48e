//! `fit --learner`: rivals on the user's own table.

mod common;

use common::{Bench, pictures::folder};

#[test]
fn a_rival_is_scored_on_the_test_file_and_writes_predictions() {
    let bench = Bench::new();
    let said = bench.ok(
        "fit train.csv --label label --learner label-spreading --test test.csv --predictions p.csv --json",
    );
    let said: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((said["learner"].as_str(), said["labelled"].as_u64()), (Some("label-spreading"), Some(10)));
    let accuracy = said["test"]["accuracy"].as_f64().unwrap();
    assert!(accuracy > 0.9, "two moons are easy for label spreading: {accuracy}");

    let (train, predicted) = (bench.read("train.csv"), bench.read("p.csv"));
    let mut lines = predicted.lines();
    let head: Vec<&str> = lines.next().unwrap().split(',').collect();
    assert_eq!((head[0], head.len()), ("class", 3));
    assert_eq!(lines.clone().count(), train.lines().count() - 1, "one for each row, in its order");
    // Labelled rows are near their own labels.
    let at = train.lines().next().unwrap().split(',').position(|name| name == "label").unwrap();
    let right = train.lines().skip(1).zip(lines).filter(|(row, predicted)| {
        let label = row.split(',').nth(at).unwrap();
        !label.is_empty() && label == predicted.split(',').next().unwrap()
    });
    assert!(right.count() >= 9);

    let text = bench.ok("fit train.csv --label label --learner logistic-regression --test test.csv");
    assert!(text.contains("logistic regression") && text.contains("accuracy"), "{text}");
}

#[test]
fn rivals_learn_images_too() {
    let bench = Bench::new();
    folder(&bench, "train", 0, 12, 40);
    folder(&bench, "test", 100, 20, 0);
    for learner in ["knn", "label-spreading", "diglm --steps 80", "m1m2 --steps 150"] {
        let said = bench.ok(&format!("fit train --learner {learner} --test test --predictions p.csv --json"));
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        let accuracy = said["test"]["accuracy"].as_f64().unwrap();
        assert!(accuracy > if learner.starts_with("m1m2") { 0.5 } else { 0.9 }, "{learner}: {accuracy}");
        assert_eq!(
            (said["rows"].as_u64(), said["layout"]["width"].as_u64()),
            (Some(64), Some(10)),
            "{learner}"
        );
        assert!(said["columns"].is_null(), "pixels are not columns anyone would read");
        let predictions = bench.read("p.csv");
        assert!(predictions.starts_with("class,p_level,p_upright\n"), "{predictions}");
        assert_eq!(predictions.lines().count(), 65, "one for each image, in their order");
    }
    let text = bench.ok("fit train --learner knn --test test");
    assert!(text.contains("8 x 10 grey, padded to 8 x 12"), "{text}");

    bench.fails("fit train --learner nobody --test test", 2, &["nobody", "known are", "m1m2", "diglm"]);
    bench.fails("fit train --learner knn", 2, &["no model file", "--predictions", "--test"]);
    bench.fails("fit train --learner knn --steps 9 --test test", 2, &["knn", "9 steps"]);
    bench.fails("fit train --learner mlp --steps 0 --test test", 2, &["mlp", "0 steps"]);
    bench.fails("fit train --learner knn --test test.csv", 3, &["test.csv", "no images"]);
    bench.fails("fit train --learner knn --test nowhere", 5, &["nowhere"]);
}

#[test]
fn what_a_rival_cannot_do_is_said_before_any_work() {
    let bench = Bench::new();
    let fit = "fit train.csv --label label --learner";
    bench.fails(&format!("{fit} nobody --test test.csv"), 2, &["nobody", "known are", "label-spreading"]);
    bench.fails(&format!("{fit} knn"), 2, &["no model file", "--predictions", "--test"]);
    bench.fails(&format!("{fit} knn --model m.flowgmm"), 2, &["--model"]);
    bench.fails(&format!("{fit} knn --predictions no/such/p.csv"), 5, &["no/such"]);
    bench.fails("fit train.csv --label label --model m --predictions p.csv", 2, &["--learner"]);
}
