//! The Open Inference Protocol.

use flowgmm::{
    Classifier as _, Source,
    tables::{self, InputFormat},
};
use serde_json::{Value, json};

use crate::{
    client::{get, post, send},
    fixture::{ODD, Running, files, load, tensors},
};

const INFER: &str = "/v2/models/kinds/infer";
const ALL: [&str; 6] = ["class", "probabilities", "log_p", "typicality", "boundary", "z"];

fn request(rows: &[usize], outputs: &[&str]) -> Value {
    let outputs: Vec<Value> = outputs.iter().map(|name| json!({ "name": name })).collect();
    json!({ "id": "seven", "inputs": tensors(rows), "outputs": outputs })
}

fn output(answer: &Value, name: &str) -> Value {
    let found = answer["outputs"].as_array().unwrap().iter().find(|output| output["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}"))["data"].clone()
}

fn bits(data: &Value) -> Vec<u64> {
    data.as_array().unwrap().iter().map(|v| v.as_f64().unwrap().to_bits()).collect()
}

fn bits_of<'a>(values: impl IntoIterator<Item = &'a f64>) -> Vec<u64> {
    values.into_iter().map(|v| v.to_bits()).collect()
}

#[test]
fn metadata_and_health() {
    let address = Running::shared();
    assert_eq!(get(address, "/v2").of(200)["name"], "flowgmm");
    assert_eq!(get(address, "/v2/health/live").of(200), json!({ "live": true }));
    assert_eq!(get(address, "/v2/health/ready").of(200), json!({ "ready": true }));
    let model = get(address, "/v2/models/kinds").of(200);
    let inputs: Vec<(&str, &str)> = model["inputs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|input| (input["name"].as_str().unwrap(), input["datatype"].as_str().unwrap()))
        .collect();
    assert_eq!(inputs, [("width", "FP64"), ("height", "FP64"), ("colour", "BYTES"), (ODD, "FP64")]);
    assert_eq!(get(address, "/v2/models/kinds/versions/1").of(200), model);
    assert_eq!(get(address, "/v2/models/kinds/ready").of(200)["ready"], true);
    for missing in [
        "/v2/models/nobody",
        "/v2/models/nobody/ready",
        "/v2/models/kinds/versions/9",
        "/v2/models/kinds/versions/x/ready",
    ] {
        let answer = get(address, missing);
        assert_eq!(answer.status, 404);
        assert!(answer.json()["error"].is_string(), "the protocol's errors are texts");
    }
}

/// One row, some, all; in JSON and in Arrow, alone and beside others: the bits of `flowgmm predict` on the file.
#[test]
fn answers_are_predictions_to_the_last_bit() {
    let address = Running::shared();
    let model = load(&files().model);
    let (found, _) = flowgmm::predict(&model, &Source::path(&files().data)).unwrap().all().unwrap();
    let (typicality, boundary) = (model.typicality(&found.log_marginal), model.boundary(found.z.view()));
    let check = |rows: &[usize]| {
        let answer = post(address, INFER, &request(rows, &ALL)).of(200);
        assert_eq!((&answer["id"], &answer["model_version"]), (&json!("seven"), &json!("1")));
        let pick = |values: &[f64]| rows.iter().map(|&row| values[row]).collect::<Vec<_>>();
        let classes: Vec<&str> =
            rows.iter().map(|&row| model.classes()[found.classes()[row]].as_str()).collect();
        assert_eq!(output(&answer, "class"), json!(classes));
        assert_eq!(bits(&output(&answer, "log_p")), bits_of(&pick(&found.log_marginal)));
        assert_eq!(bits(&output(&answer, "typicality")), bits_of(&pick(&typicality)));
        assert_eq!(bits(&output(&answer, "boundary")), bits_of(&pick(&boundary)));
        let wide = |of: &ndarray::Array2<f64>| of.select(ndarray::Axis(0), rows);
        assert_eq!(bits(&output(&answer, "probabilities")), bits_of(&wide(&found.log_probs).mapv(f64::exp)));
        assert_eq!(bits(&output(&answer, "z")), bits_of(&wide(&found.z)));
    };
    check(&(0..160).collect::<Vec<_>>());
    std::thread::scope(|scope| {
        for first in 0..8 {
            let check = &check;
            scope.spawn(move || {
                for row in (first..160).step_by(8) {
                    check(&[row]); // many at once, so that they share batches
                }
                check(&[first, first + 31, first + 64]);
            });
        }
    });
    let columns = ["width", "height", "colour", ODD];
    let options = tables::Options { columns: Some(columns.map(String::from).to_vec()), ..Default::default() };
    let frame = tables::open(files().data.as_path(), &options).unwrap().read_all().unwrap();
    let kinds = columns.map(|name| {
        let text = name == "colour";
        (name.to_string(), if text { tables::ColumnType::Text } else { tables::ColumnType::Number })
    });
    let mut writer = tables::Writer::new(Vec::new(), "rows", tables::OutputFormat::Arrow, &kinds).unwrap();
    writer.write(&frame).unwrap();
    let body = writer.finish().unwrap();
    let kind = [("content-type", "application/vnd.apache.arrow.file")];
    let answer = send(address, "POST", &format!("{INFER}?outputs=class,log_p,z"), &kind, &body);
    assert_eq!(
        (answer.status, answer.header("content-type")),
        (200, Some("application/vnd.apache.arrow.file"))
    );
    let options = tables::Options { format: Some(InputFormat::Arrow), ..Default::default() };
    let stream = tables::Source::stream("answer", std::io::Cursor::new(answer.body));
    let table = tables::open(stream, &options).unwrap().read_all().unwrap();
    assert_eq!(table.column_names()[..3], ["class", "log_p", "z1"]);
    let cells = table.column("log_p").unwrap();
    let log_p: Vec<f64> = (0..160).map(|row| cells.number(row).unwrap().unwrap()).collect();
    assert_eq!(bits_of(&log_p), bits_of(&found.log_marginal));
}

#[test]
fn shapes_and_orders_of_columns_do_not_matter() {
    let address = Running::shared();
    let usual = post(address, INFER, &request(&[4, 5], &[])).of(200);
    let names: Vec<&str> =
        usual["outputs"].as_array().unwrap().iter().map(|o| o["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["class", "probabilities", "log_p", "typicality"]);
    let mut inputs = tensors(&[4, 5]);
    for tensor in inputs.as_array_mut().unwrap() {
        tensor["shape"] = json!([2, 1]);
        let data = tensor["data"].as_array().unwrap().iter().map(|v| json!([v])).collect::<Vec<_>>();
        tensor["data"] = json!(data);
    }
    inputs.as_array_mut().unwrap().reverse();
    let other = post(address, INFER, &json!({ "inputs": inputs })).of(200);
    assert_eq!(other["outputs"], usual["outputs"]);
    assert_eq!(post(address, "/v2/models/kinds/versions/1/infer", &request(&[4], &[])).status, 200);
    assert_eq!(post(address, "/v2/models/kinds/versions/2/infer", &request(&[4], &[])).status, 404);
}

#[test]
fn requests_that_make_no_sense_are_told_what_is_wrong() {
    let address = Running::shared();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut body = request(&[1, 2], &[]);
        change(&mut body);
        body
    };
    type Case<'a> = (&'a str, Value);
    let cases: Vec<Case> = vec![
        ("missing field", json!({})),
        ("no inputs", json!({ "inputs": [] })),
        (
            "3 rows, the first input 2",
            changed(&|b| {
                b["inputs"][1]["shape"] = json!([3]);
                b["inputs"][1]["data"] = json!([1, 2, 3]);
            }),
        ),
        ("2 elements", changed(&|b| b["inputs"][0]["shape"] = json!([3]))),
        ("shape is empty", changed(&|b| b["inputs"][0]["shape"] = json!([]))),
        ("[n] or [n, 1]", changed(&|b| b["inputs"][0]["shape"] = json!([1, 2]))),
        (
            "no rows",
            changed(&|b| {
                b["inputs"][0]["shape"] = json!([0]);
                b["inputs"][0]["data"] = json!([]);
            }),
        ),
        ("datatype", changed(&|b| b["inputs"][0]["datatype"] = json!("FP128"))),
        ("it has texts", changed(&|b| b["inputs"][0]["data"] = json!(["a", "b"]))),
        ("no output", changed(&|b| b["outputs"] = json!([{ "name": "everything" }]))),
        ("width", changed(&|b| b["inputs"][0]["name"] = json!("breadth"))),
        (
            "elements",
            changed(&|b| {
                b["inputs"][0]["shape"] = json!([2, 9_007_199_254_740_993_u64, 9_007_199_254_740_993_u64])
            }),
        ),
        ("too far from the training data", changed(&|b| b["inputs"][0]["data"] = json!([3e38, 2]))),
    ];
    for (expected, body) in cases {
        let answer = post(address, INFER, &body);
        assert_eq!(answer.status, 400, "{expected}: {}", answer.text());
        assert!(answer.json()["error"].as_str().unwrap().contains(expected), "{expected}: {}", answer.text());
    }
    let kind = |kind: &str| send(address, "POST", INFER, &[("content-type", kind)], b"{}").status;
    assert_eq!((kind("text/plain"), kind("application/vnd.apache.arrow.stream")), (415, 400));
}
