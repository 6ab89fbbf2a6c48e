//! What the explorer's page asks for.

use flowgmm::{Classifier as _, Source};
use serde_json::{Value, json};

use crate::{
    client::{get, post, send},
    fixture::{ODD, Running, files, load},
};

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[test]
fn every_documented_route_answers_and_says_no_in_words() {
    let address = Running::shared();
    let document = get(address, "/openapi.json").of(200);
    assert_eq!(document["openapi"], "3.1.0");
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            assert!(!about["summary"].as_str().unwrap().is_empty());
            let path = path.replace(['{', '}'], "");
            let answer =
                send(address, &method.to_uppercase(), &path, &[("content-type", "application/json")], b"{}");
            // Nothing is called 'model'; a route that is not served would say so.
            assert!(!answer.text().contains("there is no such route"), "{method} {path}");
            if answer.status >= 400 {
                let error = &answer.json()["error"];
                let message = if path.starts_with("/v2") { error } else { &error["message"] };
                assert!(
                    message.as_str().is_some_and(|text| text.len() > 10),
                    "{method} {path}: {}",
                    answer.text()
                );
            }
        }
    }
    let other = send(address, "PUT", "/v2", &[], b"");
    assert_eq!((other.status, other.header("allow")), (405, Some("GET,HEAD")));
}

#[test]
fn models_are_listed_with_their_columns_and_data() {
    let models = get(Running::shared(), "/api/v1/models").of(200);
    let model = &models[0];
    assert_eq!(
        (&model["name"], &model["kind"], &model["version"]),
        (&json!("kinds"), &json!("table"), &json!(1))
    );
    assert_eq!(model["classes"], json!([ODD, "plain"]));
    assert_eq!(model["data"]["rows"], 160);
    assert_eq!(model["data"]["labelled"], 40);
    let columns: Vec<&str> =
        model["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(columns, ["width", "height", "colour", ODD]);
    assert_eq!(model["columns"][2]["categories"], json!(["blue", "red"]));
}

#[test]
fn the_map_has_a_number_for_every_row() {
    let address = Running::shared();
    let map = get(address, "/api/v1/models/kinds/map").of(200);
    assert_eq!(map["rows"], 160);
    let model = load(&files().model);
    let (found, _) = flowgmm::predict(&model, &Source::path(&files().data)).unwrap().all().unwrap();
    for field in map["fields"].as_array().unwrap() {
        let field = field.as_str().unwrap();
        let values = floats(&get(address, &format!("/api/v1/models/kinds/map/{field}")).body);
        assert_eq!(values.len(), 160, "{field}");
        if field == "log_p" {
            assert!(values.iter().zip(&found.log_marginal).all(|(a, b)| *a == *b as f32));
        }
    }
    // A column by its name, percent-encoded, with its gaps.
    let heights = floats(&get(address, "/api/v1/models/kinds/map/column/height").body);
    assert_eq!(heights.iter().filter(|v| v.is_nan()).count(), (0..160).filter(|i| i % 17 == 5).count());
    let odd = get(address, "/api/v1/models/kinds/map/column/%3Cimg%20src%3Dx%20onerror%3Dalert%281%29%3E");
    assert_eq!((odd.status, odd.body.len()), (200, 640));
    assert_eq!(get(address, "/api/v1/models/kinds/map/colour").status, 400);
    assert_eq!(get(address, "/api/v1/models/kinds/map/column/kind").status, 400, "labels are no column");
    assert_eq!(get(address, "/api/v1/models/nobody/map").status, 404);
}

#[test]
fn a_row_has_a_trust_card() {
    let address = Running::shared();
    let card = get(address, "/api/v1/models/kinds/rows/9").of(200);
    assert_eq!(card["label"], "plain");
    assert_eq!(card["row"]["colour"], "blue");
    assert!(card["row"].get("kind").is_none(), "the label is not a column");
    let p: f64 = card["probabilities"].as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).sum();
    assert!((p - 1.0).abs() < 1e-9);
    assert_eq!(card["nearest"].as_array().unwrap().len(), 5);
    assert!(card["set"].is_array(), "there are 40 labels");
    assert_ne!(card["counterfactual"]["class"], card["class_by_flow"]);
    assert_eq!(get(address, "/api/v1/models/kinds/rows/-1").status, 400);
}

#[test]
fn a_row_that_does_not_exist_is_not_found_wherever_it_is_named() {
    let address = Running::shared();
    let ask = |what: &str, body: Value| post(address, &format!("/api/v1/models/kinds/{what}"), &body);
    for answer in [
        get(address, "/api/v1/models/kinds/rows/160"),
        ask("counterfactual", json!({ "row": 160 })),
        ask("path", json!({ "from": { "row": 0 }, "to": { "row": 160 }, "steps": 3 })),
        ask("path", json!({ "from": { "row": 0 }, "to": { "boundary_of": 160 }, "steps": 3 })),
        ask("features", json!({ "layer": 1, "channel": 0, "alphas": [1], "rows": [0, 160] })),
        ask("features/wall", json!({ "layer": 1, "row": 160, "alpha": 1 })),
        ask("labels", json!({ "labels": [{ "row": 160, "class": null }] })),
        ask("refit", json!({ "labels": [{ "row": 160, "class": null }] })),
    ] {
        let failure = answer.of(404);
        assert_eq!(failure["error"]["kind"], "not_found");
        assert_eq!(failure["error"]["message"], "there is no row 160: rows are 0 to 159");
    }
}

#[test]
fn paths_samples_counterfactuals_and_suggestions() {
    let address = Running::shared();
    let ask = |what: &str, body: Value| post(address, &format!("/api/v1/models/kinds/{what}"), &body);
    let path = ask("path", json!({ "from": { "row": 0 }, "to": { "class": "plain" }, "steps": 7 })).of(200);
    let points = path["points"].as_array().unwrap();
    assert_eq!((points.len(), &points[6]["t"]), (7, &json!(1.0)));
    assert!(points[6]["probabilities"][1].as_f64().unwrap() > 0.5);
    assert_eq!(
        ask("path", json!({ "from": { "row": 0 }, "to": { "boundary_of": 0 }, "steps": 2 })).status,
        200
    );
    for wrong in [
        json!({ "from": { "row": 0 }, "to": { "row": 1 }, "steps": 257 }),
        json!({ "from": { "row": 0 }, "to": { "class": "nobody" }, "steps": 3 }),
        json!({ "from": { "row": -1 }, "to": { "row": 1 } }),
        json!([]),
    ] {
        assert_eq!(ask("path", wrong.clone()).status, 400, "{wrong}");
    }
    let drawn = || ask("sample", json!({ "class": ODD, "n": 5, "temperature": 0.5, "seed": 3 })).of(200);
    let samples = drawn();
    assert_eq!(samples["rows"].as_array().unwrap().len(), 5);
    assert!(samples["classes"].as_array().unwrap().iter().all(|class| class == ODD));
    assert_eq!(samples, drawn(), "the same seed gives the same rows");
    for wrong in [
        json!({ "n": 0 }),
        json!({ "n": 1001 }),
        json!({ "temperature": -1.0 }),
        json!({ "class": "nobody" }),
    ] {
        assert_eq!(ask("sample", wrong.clone()).status, 400, "{wrong}");
    }
    let across = ask("counterfactual", json!({ "row": 0, "class": "plain" })).of(200);
    assert_eq!(across["counterfactual"]["class"], "plain");
    let values = json!({ "values": { "width": 2.0, "height": null, "colour": "red", ODD: 0.1 } });
    assert_eq!(ask("counterfactual", values).status, 200);
    assert_eq!(ask("counterfactual", json!({ "values": { "width": "wide" } })).status, 400);
    assert_eq!(ask("counterfactual", json!({})).status, 400);
    let next = ask("label-next", json!({ "n": 4 })).of(200);
    assert_eq!(next.as_array().unwrap().len(), 4);
    assert!(next[0]["why"].as_str().unwrap().contains("dense"));
}

#[test]
fn channels_are_counted_and_moved() {
    let address = Running::shared();
    let layers = get(address, "/api/v1/models/kinds/features").of(200);
    let layer = &layers["layers"][1];
    assert_eq!(layer["index"], 2);
    assert_eq!(layer["sigma"].as_array().unwrap().len() as u64, layer["channels"].as_u64().unwrap());
    let found = get(address, "/api/v1/models/kinds/features/2/0/histogram").of(200);
    let counts = found["counts"].as_array().unwrap();
    assert_eq!(found["edges"].as_array().unwrap().len(), counts.len() + 1);
    assert_eq!(counts.iter().map(|n| n.as_u64().unwrap()).sum::<u64>(), 160);
    let ask = |what: &str, body: Value| post(address, &format!("/api/v1/models/kinds/{what}"), &body);
    let moved =
        ask("features", json!({ "layer": 2, "channel": 0, "alphas": [-2, 0, 2], "rows": [3, 4] })).of(200);
    let rows = moved["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[0].as_array().unwrap().len()), (2, 3));
    let wall = ask("features/wall", json!({ "layer": 2, "row": 3, "alpha": 2 })).of(200);
    assert_eq!(wall["rows"].as_array().unwrap().len() as u64, layer["channels"].as_u64().unwrap());
    assert_eq!(wall["base"]["colour"], moved["rows"][0][1]["colour"]);
    for wrong in [
        json!({ "layer": 0, "channel": 0, "alphas": [1], "rows": [0] }),
        json!({ "layer": 99, "channel": 0, "alphas": [1], "rows": [0] }),
        json!({ "layer": 1, "channel": 99, "alphas": [1], "rows": [0] }),
        json!({ "layer": 1, "channel": 0, "place": [0, 1], "alphas": [1], "rows": [0] }),
        json!({ "layer": 1, "channel": 0, "alphas": [1e9], "rows": [0] }),
        json!({ "layer": 1, "channel": 0, "alphas": [], "rows": [] }),
    ] {
        assert_eq!(ask("features", wrong.clone()).status, 400, "{wrong}");
    }
    assert_eq!(get(address, "/api/v1/models/kinds/features/x/0/histogram").status, 400);
}

#[test]
fn card_page_file_and_explanation() {
    let address = Running::shared();
    let card = get(address, "/api/v1/models/kinds/card").of(200);
    assert_eq!(card["n_labelled"], 40);
    assert!(!card["history"].as_array().unwrap().is_empty());
    let page = get(address, "/api/v1/models/kinds/page");
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(page.text().contains("Trust cards") && !page.text().contains(ODD), "names stay text");
    let file = get(address, "/api/v1/models/kinds/file");
    let model = flowgmm::Model::from_bytes(&file.body, &flowgmm::tensor::Place::cpu()).unwrap();
    assert_eq!(model.classes(), [ODD, "plain"]);
    let found = post(address, "/api/v1/models/kinds/explain", &json!({ "rows": 50 })).of(200);
    assert_eq!(found["rows"], 50);
    assert_eq!(post(address, "/api/v1/models/kinds/explain", &json!({ "alpha": 2.0 })).status, 400);
}

#[test]
fn labels_are_kept_and_a_refit_serves_a_new_version() {
    let running = Running::start(|_| {});
    let address = running.address;
    let path = |what: &str| format!("/api/v1/models/kinds/{what}");
    let marks = json!({ "labels": [{ "row": 2, "class": ODD }, { "row": 3, "class": "plain" }, { "row": 0, "class": null }] });
    let kept = post(address, &path("labels"), &marks).of(200);
    assert_eq!(kept["labels"].as_array().unwrap().len(), 3);
    assert_eq!(get(address, &path("labels")).of(200), kept);
    assert_eq!(
        post(address, &path("labels"), &json!({ "labels": [{ "row": 1, "class": "x" }] })).status,
        400
    );
    let table = get(address, &path("table.csv")).text();
    let cell = |line: usize| table.lines().nth(line).unwrap().split(',').nth(4).unwrap().to_string();
    assert!(table.starts_with("width,height,colour,"));
    assert_eq!((cell(1), cell(3), cell(4)), (String::new(), ODD.to_string(), "plain".into()));
    let body = json!({ "seed": 4, "settings": { "train.steps": 40 } });
    let job = post(address, &path("refit"), &body).of(200)["job"].as_str().unwrap().to_string();
    let lines = get(address, &format!("/api/v1/jobs/{job}")).text();
    let last: Value = serde_json::from_str(lines.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["finished"]["model"], &last["finished"]["version"]),
        (&json!("kinds"), &json!(2)),
        "{lines}"
    );
    assert_eq!(get(address, "/v2/models/kinds/versions/2/ready").status, 200);
    assert_eq!(get(address, "/v2/models/kinds/versions/1/ready").status, 404);
    let card = get(address, &path("rows/2")).of(200);
    assert_eq!(card["label"], ODD, "labels that were given are labels now");
    let wrong = post(address, &path("refit"), &json!({ "settings": { "train.stops": 1 } })).of(200);
    let lines = get(address, &format!("/api/v1/jobs/{}", wrong["job"].as_str().unwrap())).text();
    assert!(lines.contains("train.stops"), "{lines}");
    // A long fit can be stopped.
    let job = post(address, &path("refit"), &json!({ "settings": { "train.steps": 1000000 } })).of(200);
    let job = format!("/api/v1/jobs/{}", job["job"].as_str().unwrap());
    assert_eq!(send(address, "DELETE", &job, &[], b"").status, 200);
    let lines = get(address, &job).text();
    assert!(lines.lines().last().unwrap().contains("cancelled"), "{lines}");
    assert_eq!(get(address, "/api/v1/jobs/fit-99").status, 404);
}

#[test]
fn a_server_without_data_shows_samples_and_one_without_models_the_playground() {
    let running = Running::start(|options| options.data = None);
    let models = get(running.address, "/api/v1/models").of(200);
    assert_eq!(models[0]["data"]["samples"], true);
    assert_eq!(get(running.address, "/api/v1/models/kinds/rows/0").status, 200);
    assert_eq!(post(running.address, "/api/v1/models/kinds/refit", &json!({})).status, 400);
    let empty = Running::start(|options| options.models.clear());
    assert_eq!(get(empty.address, "/api/v1/models").of(200), json!([]));
    assert_eq!(get(empty.address, "/").status, 200);
    assert_eq!(get(empty.address, "/v2/models").of(200), json!({ "models": [] }));
}

#[test]
fn metrics_count_what_happened() {
    let running = Running::start(|_| {});
    get(running.address, "/v2");
    get(running.address, "/v2/models/kinds");
    get(running.address, "/nothing");
    let text = get(running.address, "/metrics").text();
    assert!(
        text.contains("flowgmm_requests_total{method=\"GET\",route=\"/v2/models/{model}\",status=\"200\"} 1"),
        "{text}"
    );
    assert!(text.contains("route=\"page\",status=\"404\"} 1"), "{text}");
    assert!(text.ends_with("# EOF\n"));
}
