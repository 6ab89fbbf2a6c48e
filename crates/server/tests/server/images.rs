//! A model of images: scored by the protocol, looked at by the page, labelled and fitted again.

use std::path::PathBuf;

use flowgmm::{ImageArray, ImageShape, Request, Source};
use serde_json::{Value, json};

use crate::{
    client::{get, post},
    fixture::{Running, load},
};

const SHAPE: ImageShape = ImageShape { channels: 1, height: 8, width: 8 };
const N: usize = 60;

/// Images of a bright half, left or right.
fn halves() -> (ImageArray, Vec<Option<String>>) {
    let images = ImageArray::new(SHAPE, (0..N).flat_map(pixels_of).collect()).unwrap();
    (images, (0..N).map(|i| (i < 20).then(|| ["left", "right"][i % 2].to_string())).collect())
}

/// The bytes of one image.
fn pixels_of(image: usize) -> Vec<u8> {
    let pixel = |at: usize| {
        let noise = ((image * 64 + at) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58;
        noise as u8 + if usize::from(at % 8 >= 4) == image % 2 { 150 } else { 0 }
    };
    (0..64).map(pixel).collect()
}

/// A model of them in a file that is gone with the folder.
fn model() -> (tempfile::TempDir, PathBuf, Source) {
    let (images, labels) = halves();
    let source = Source::images(images).labels(labels);
    let stage = json!({ "couplings": 1, "hidden": 4 });
    let shape = json!({ "channels": 1, "height": 8, "width": 8 });
    let flow = json!({ "kind": "light", "shape": shape, "stages": [stage, stage] });
    let request =
        Request::new(source.clone()).with("train.steps", 40).with("architecture.image", flow).with("seed", 3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("halves.flow");
    flowgmm::fit(&request, &mut ()).unwrap().model.save(&path).unwrap();
    (folder, path, source)
}

fn numbers(value: &Value) -> Vec<u64> {
    value.as_array().unwrap().iter().map(|v| v.as_f64().unwrap().to_bits()).collect()
}

#[test]
fn images_are_scored_shown_moved_and_labelled() {
    let (_folder, path, source) = model();
    let images = Source::images(halves().0);
    let server = Running::start(|options| {
        options.models = vec![path.clone()];
        options.data = Some(source.clone());
    });
    let (address, model) = (server.address, load(&path));
    let ask = |what: &str, body: Value| post(address, &format!("/api/v1/models/halves/{what}"), &body);

    // The numbers of `flowgmm predict`, to the last bit.
    let (found, _) = flowgmm::predict(&model, &images).unwrap().all().unwrap();
    let pixels: Vec<u8> = (0..2).flat_map(pixels_of).collect();
    let outputs = ["class", "log_p", "z"].map(|name| json!({ "name": name }));
    let infer = |shape: Value, data: &[u8]| {
        let input = json!({ "name": "image", "shape": shape, "datatype": "UINT8", "data": data });
        post(address, "/v2/models/halves/infer", &json!({ "inputs": [input], "outputs": outputs }))
    };
    let answer = infer(json!([2, 8, 8, 1]), &pixels).of(200);
    assert_eq!(answer["outputs"], infer(json!([2, 8, 8]), &pixels).of(200)["outputs"]);
    let log_p: Vec<u64> = found.log_marginal[..2].iter().map(|v| v.to_bits()).collect();
    assert_eq!(numbers(&answer["outputs"][1]["data"]), log_p);
    let z: Vec<u64> = found.z.rows().into_iter().take(2).flatten().map(|v| v.to_bits()).collect();
    assert_eq!(numbers(&answer["outputs"][2]["data"]), z);
    assert!(
        infer(json!([2, 8, 9, 1]), &pixels).status == 400
            && infer(json!([1, 8, 4, 2]), &pixels[..64]).status == 400
    );

    // A card, a path, samples and channels show images.
    let card = get(address, "/api/v1/models/halves/rows/3").of(200);
    assert_eq!(
        (&card["label"], &card["image"]["height"], &card["image"]["channels"]),
        (&json!("right"), &json!(8), &json!(1))
    );
    assert!(card["nearest"].as_array().unwrap().iter().all(|near| near["image"]["width"] == 8));
    let path = ask("path", json!({ "from": { "row": 0 }, "to": { "class": "right" }, "steps": 5 })).of(200);
    assert_eq!(path["points"].as_array().unwrap().len(), 5);
    assert_eq!(path["points"][0]["image"]["pixels"].as_str().unwrap().len(), 64_usize.div_ceil(3) * 4);
    assert_eq!(
        ask("sample", json!({ "n": 3, "class": "left" })).of(200)["images"].as_array().unwrap().len(),
        3
    );
    let moved =
        ask("features", json!({ "layer": 2, "channel": 0, "alphas": [-1, 0, 1], "rows": [3] })).of(200);
    assert_eq!(moved["images"][0].as_array().unwrap().len(), 3);
    assert_ne!(moved["images"][0][0], moved["images"][0][2], "a moved channel is seen");
    let nowhere = json!({ "layer": 1, "channel": 0, "place": [90, 0], "alphas": [1], "rows": [0] });
    assert_eq!(ask("features", nowhere).status, 400);

    // Labels given to images, and a fit with them.
    ask("labels", json!({ "labels": [{ "row": 20, "class": "left" }, { "row": 21, "class": "right" }] }))
        .of(200);
    let job = ask("refit", json!({ "settings": { "train.steps": 20 } })).of(200);
    let lines = get(address, &format!("/api/v1/jobs/{}", job["job"].as_str().unwrap()));
    let end: Value = serde_json::from_str(lines.text().lines().last().unwrap()).unwrap();
    assert_eq!(end["finished"]["version"], 2, "{end}");
    assert_eq!(get(address, "/api/v1/models/halves/card").of(200)["n_labelled"], 22);
}
