use flowgmm::{ExplainRequest, Model, Source, explain, tensor::Place};
fn differ(path: &str, a: &serde_json::Value, b: &serde_json::Value, out: &mut Vec<String>) {
    use serde_json::Value::*;
    match (a, b) {
        (Object(a), Object(b)) => {
            for (k, v) in a {
                match b.get(k) {
                    Some(w) => differ(&format!("{path}.{k}"), v, w, out),
                    None => out.push(format!("{path}.{k} missing in new")),
                }
            }
            for k in b.keys() {
                if !a.contains_key(k) {
                    out.push(format!("{path}.{k} new"))
                }
            }
        }
        (Array(a), Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().for_each(|(i, (a, b))| differ(&format!("{path}[{i}]"), a, b, out))
        }
        _ if a == b => {}
        _ => out.push(format!("{path}: {a} -> {b}")),
    }
}
#[test]
fn compare() {
    let run = |model: &str, old: &str, request: ExplainRequest, page: &str| {
        let model = Model::load(std::path::Path::new(model), &Place::cpu()).unwrap();
        let found = explain(&model, &request, &mut ()).unwrap();
        std::fs::write(page, found.to_page().to_html()).unwrap();
        let new = serde_json::to_value(&found).unwrap();
        let old: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(old).unwrap()).unwrap();
        let mut out = Vec::new();
        differ("", &old, &new, &mut out);
        println!("== {} differences", out.len());
        out.iter().take(25).for_each(|line| println!("{}", &line[..line.len().min(200)]));
        let mut out = Vec::new();
        differ("ood", &old["out_of_domain"], &new["out_of_distribution"], &mut out);
        println!("{out:?}");
    };
    let p = |name: &str| Source::path(format!("/tmp/cmp/{name}"));
    run(
        "/tmp/cmp/m.flow",
        "/tmp/cmp/e.json",
        ExplainRequest {
            unlabelled: Some(p("train.csv")),
            out_of_distribution: Some(p("far.csv")),
            seed: 5,
            ..ExplainRequest::new(p("test.csv").label_column("label"))
        },
        "/tmp/cmp/new-e.html",
    );
    run(
        "/tmp/cmp/m.flow",
        "/tmp/cmp/f.json",
        ExplainRequest::new(p("test.csv").label_column("label")),
        "/tmp/cmp/new-f.html",
    );
    run(
        "/tmp/cmp/i.flow",
        "/tmp/cmp/i.json",
        ExplainRequest {
            out_of_distribution: Some(p("noise-images-idx3-ubyte")),
            ..ExplainRequest::new(p("bars-images-idx3-ubyte").label_file("/tmp/cmp/bars-labels-idx1-ubyte"))
        },
        "/tmp/cmp/new-i.html",
    );
}
