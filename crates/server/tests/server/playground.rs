//! Fits of points, frame by frame.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::{
    client::{get, post},
    fixture::Running,
};

fn lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn begin(body: Value) -> String {
    post(Running::shared(), "/api/v1/playground", &body).of(200)["job"].as_str().unwrap().to_string()
}

fn tell(job: &str, what: &str) -> Value {
    post(Running::shared(), &format!("/api/v1/playground/{job}/{what}"), &json!({})).of(200)
}

fn small(steps: usize) -> Value {
    json!({ "steps": steps, "hidden": 8, "couplings": 2 })
}

#[test]
fn frames_of_both_fits_go_on_in_step_and_can_be_read_again() {
    let address = Running::shared();
    let toy = json!({ "name": "moons", "rows": 60, "labels": 6, "seed": 2 });
    let job = begin(json!({ "toy": toy, "labels_alone": true, "settings": small(40) }));
    let frames = lines(&get(address, &format!("/api/v1/playground/{job}/frames")).text());
    let (end, frames) = frames.split_last().unwrap();
    assert_eq!(end["finished"]["stopped"], false, "{end}");
    let of = |alone: bool| frames.iter().filter(move |frame| frame["alone"] == alone).collect::<Vec<_>>();
    for side in [of(false), of(true)] {
        let steps: Vec<u64> = side.iter().map(|frame| frame["step"].as_u64().unwrap()).collect();
        assert_eq!((steps[0], *steps.last().unwrap()), (0, 40));
        assert!(steps.windows(2).all(|pair| pair[0] < pair[1]));
    }
    let mut at = [0_i64; 2];
    for (index, frame) in frames.iter().enumerate() {
        assert_eq!(frame["index"], index);
        at[usize::from(frame["alone"] == true)] = frame["step"].as_i64().unwrap();
        assert!((at[0] - at[1]).abs() <= 2, "one is ahead: {at:?}");
    }
    let last = &frames[frames.len() - 1];
    let bytes = |at: &Value| STANDARD.decode(at.as_str().unwrap()).unwrap();
    let grid = &last["grid"];
    let cells = (grid["w"].as_u64().unwrap() * grid["h"].as_u64().unwrap()) as usize;
    assert_eq!((bytes(&grid["classes"]).len(), bytes(&grid["certainty"]).len()), (cells, cells));
    assert!(bytes(&grid["classes"]).iter().all(|class| *class < 2));
    assert_eq!(bytes(&last["latent"]).len(), 60 * 8);
    assert!(of(false).last().unwrap()["accuracy"].as_f64().is_some_and(|share| (0.3..=1.0).contains(&share)));
    let again = lines(&get(address, &format!("/api/v1/playground/{job}/frames?from=10")).text());
    assert_eq!(again[0]["index"], 10);
    assert_eq!(again.len(), frames.len() + 1 - 10);
}

#[test]
fn a_fit_is_paused_stepped_resumed_and_stopped() {
    let address = Running::shared();
    let points: Vec<[f64; 2]> = (0..20).map(|i| [f64::from(i % 2) * 4.0, f64::from(i) / 10.0]).collect();
    let labels: Vec<Option<u8>> = (0..20).map(|i| (i < 4).then_some(i % 2)).collect();
    let body = json!({ "points": points, "labels": labels, "paused": true, "settings": small(3000), "bounds": [-2, 6, -3, 5],
        "truth": (0..20).map(|i| i % 2).collect::<Vec<_>>() });
    let job = begin(body);
    assert_eq!(tell(&job, "step"), json!({ "paused": true, "stopped": false }));
    assert_eq!(tell(&job, "resume")["paused"], false);
    std::thread::sleep(std::time::Duration::from_millis(100));
    tell(&job, "pause");
    assert_eq!(tell(&job, "stop")["stopped"], true);
    let frames = lines(&get(address, &format!("/api/v1/playground/{job}/frames")).text());
    assert_eq!(frames.last().unwrap()["finished"]["stopped"], true);
    assert!(frames[frames.len() - 2]["step"].as_u64().unwrap() < 3000);
    assert_eq!((&frames[0]["grid"]["x0"], &frames[0]["grid"]["y1"]), (&json!(-2.0), &json!(5.0)));
    let unknown = post(address, &format!("/api/v1/playground/{job}/dance"), &json!({}));
    assert_eq!(unknown.status, 404);
    assert_eq!(post(address, "/api/v1/playground/999/stop", &json!({})).status, 404);
}

#[test]
fn what_cannot_be_fitted_is_told() {
    let address = Running::shared();
    for (expected, body) in [
        ("two classes", json!({ "points": [[0, 0], [1, 1]], "labels": [0, null] })),
        ("no label", json!({ "points": [[0, 0], [1, 1]], "labels": [0, 2] })),
        ("one for each", json!({ "points": [[0, 0]], "labels": [0, 1] })),
        ("steps", json!({ "toy": { "name": "moons" }, "settings": { "steps": 0 } })),
        ("unknown field", json!({ "toy": { "name": "moons" }, "settings": { "stops": 1 } })),
        ("toy", json!({ "toy": { "name": "squares" } })),
        ("one place", json!({ "points": [[1, 1], [1, 1]], "labels": [0, 1] })),
        ("bounds", json!({ "points": [[0, 0], [1, 1]], "labels": [0, 1], "bounds": [1, 0, 0, 1] })),
    ] {
        let answer = post(address, "/api/v1/playground", &body);
        assert_eq!(answer.status, 400, "{}", answer.text());
        assert!(answer.text().contains(expected), "{expected}: {}", answer.text());
    }
    let toy = get(address, "/api/v1/playground/toys/circles?rows=50&labels=4&seed=3").of(200);
    assert_eq!(toy["points"].as_array().unwrap().len(), 50);
    assert_eq!(toy["labels"].as_array().unwrap().iter().filter(|l| !l.is_null()).count(), 4);
    assert_eq!(get(address, "/api/v1/playground/toys/circles?rows=x").status, 400);
    assert_eq!(get(address, "/api/v1/playground/defaults").of(200)["couplings"], 8);
}
