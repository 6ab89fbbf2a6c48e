//! What the paper does with models of images, on small images in the formats of its sets: every analysis writes its result.

use std::{fs, io::Write as _, path::Path};

use flowgmm::insight::Feature;
use flowgmm_bench::paper::{
    Labels, Models, Moves, run_boundary, run_calibration, run_domains, run_features, run_generation,
    run_interpolation,
};
use flowgmm_datasets::Store;
use semisup::digits_problem;

/// Training images; a split of 1,000 of them has labels.
const TRAIN: usize = 1150;
const TEST: usize = 100;

/// 8 x 8 digits under the names of 28 x 28 sets, and a split of labels.
fn data(root: &Path) {
    let all = digits_problem(5, 0);
    let x: Vec<Vec<u8>> = [all.train.x(), all.test.x()]
        .iter()
        .flat_map(|x| x.rows().into_iter().map(|row| row.iter().map(|v| (15.9 * v) as u8).collect()))
        .collect();
    // What matters here is that all is computed, not what is learnt.
    let y: Vec<u8> = (0..x.len()).map(|row| (row % 10) as u8).collect();
    for set in ["mnist", "fashion-mnist", "notmnist"] {
        let folder = root.join(set);
        fs::create_dir_all(&folder).unwrap();
        for (part, rows) in [("train", 0..TRAIN), ("t10k", TRAIN..TRAIN + TEST)] {
            let n = rows.len() as u32;
            let images: Vec<u8> = x[rows.clone()].concat();
            let head = |magic: u32, sizes: &[u32]| {
                [&[magic], sizes].concat().iter().flat_map(|v| v.to_be_bytes()).collect::<Vec<u8>>()
            };
            gzip(
                &folder.join(format!("{part}-images-idx3-ubyte.gz")),
                &[head(0x803, &[n, 8, 8]), images].concat(),
            );
            gzip(
                &folder.join(format!("{part}-labels-idx1-ubyte.gz")),
                &[head(0x801, &[n]), y[rows].to_vec()].concat(),
            );
        }
    }
    let text = "{'descr': '<i4', 'fortran_order': False, 'shape': (1, 1000), }";
    let header = format!("{text:<117}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((header.len() as u16).to_le_bytes());
    npy.extend(header.bytes());
    npy.extend((0..1000i32).flat_map(i32::to_le_bytes));
    fs::create_dir_all(root.join("labels")).unwrap();
    fs::write(root.join("labels/mnist_1000_labeled_indices.npy"), npy).unwrap();
}

fn gzip(path: &Path, bytes: &[u8]) {
    let mut out = flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap();
}

#[test]
fn every_analysis_writes_what_it_found() {
    let directory = tempfile::tempdir().unwrap();
    let (root, out) = (directory.path().join("data"), directory.path().join("results"));
    data(&root);
    let mut observer = ();
    let mut models = Models {
        store: Store::offline(&root),
        directory: directory.path().join("models"),
        steps: 12,
        given: Vec::new(),
        observer: &mut observer,
    };

    let found = run_calibration("mnist", &mut models, &out).unwrap();
    assert_eq!((&found["validation"], &found["test"]), (&150.into(), &TEST.into()));
    let nll = |state: &str| found[state]["measures"]["nll"].as_f64().unwrap();
    assert!(nll("learnt").is_finite() && found["one"]["sigma_squared"] == 1.0, "{found}");
    assert!(models.path("mnist", Labels::Only(1000)).is_file(), "the model is kept");

    let found = run_boundary("mnist", 90, &mut models, &out).unwrap();
    assert_eq!(found["images"], 90);
    let count = found["supervised"]["nearer_than_5"].as_f64().unwrap();
    assert_eq!(found["supervised"]["percent"].as_f64().unwrap(), 100.0 * count / 90.0);

    let found = run_interpolation("mnist", &[[3, 8], [5, 5]], &mut models, &out).unwrap();
    assert_eq!(found["paths"][0]["images"], serde_json::json!([3, 8]));
    assert_eq!(found["paths"][1]["dip"], 0.0, "from an image to itself");
    assert!(run_interpolation("mnist", &[[0, 100]], &mut models, &out).is_err(), "there are 100 images");

    let feature = Feature { layer: 2, channel: 0, place: Some((1, 1)) };
    let moves = Moves { feature, alphas: vec![-2.0, 2.0], images: vec![0, 1] };
    let found = run_features("mnist", &moves, &mut models, &out).unwrap();
    assert_eq!(found["activations"].as_array().unwrap().len(), 2);
    run_features("fashion-mnist", &moves, &mut models, &out).unwrap();
    assert!(out.join("figure4d-fashion-mnist.png").is_file(), "another set does not replace what MNIST gave");
    let none = Moves { feature: Feature { layer: 999, ..feature }, ..moves };
    assert!(run_features("mnist", &none, &mut models, &out).unwrap_err().to_string().contains("layer 999"));

    let found = run_domains("mnist", &["fashion-mnist", "notmnist"], &mut models, &out).unwrap();
    let shares = found["others"]["notmnist"]["percent_by_class"].as_object().unwrap();
    let total: f64 = shares.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((total - 100.0).abs() < 1e-9 && shares.len() == 10, "{found}");
    // The other sets are copies: nothing tells them apart.
    assert!((found["others"]["fashion-mnist"]["auroc"].as_f64().unwrap() - 0.5).abs() < 1e-9);
    assert!(found["zero"]["class_number"].as_u64().unwrap() < 10);

    let found = run_generation("mnist", &mut models, &out).unwrap();
    assert!((0.0..=1.0).contains(&found["samples_of_their_class"].as_f64().unwrap()));

    for name in [
        "calibration-mnist.json",
        "figure4c.svg",
        "figure4ab.png",
        "figure4ab.svg",
        "figure4d.png",
        "figure4d.svg",
        "appendix-f-mnist.svg",
        "appendix-h.png",
    ] {
        assert!(fs::metadata(out.join(name)).unwrap().len() > 100, "{name}");
    }
}

/// A model that is given is taken, and none is fitted.
#[test]
fn given_models_are_taken() {
    let directory = tempfile::tempdir().unwrap();
    let mut observer = ();
    let mut models = Models {
        store: Store::offline(directory.path()),
        directory: directory.path().join("models"),
        steps: 1,
        given: vec![directory.path().join("absent.flow")],
        observer: &mut observer,
    };
    let error = models.get("mnist", Labels::All).unwrap_err().to_string();
    assert!(error.contains("absent.flow"), "{error}");
    let error = models.get("mnist", Labels::All).unwrap_err().to_string();
    assert!(error.contains("mnist"), "then the images are looked for: {error}");
}

#[test]
fn a_model_of_a_table_is_none_of_images() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("data");
    data(&root);
    let moons = semisup::Toy::Moons.problem(1).train;
    let mut config = flowgmm::FitConfig::toy();
    config.train.steps = 5;
    let model = flowgmm::Fitter::new(&config, &moons, 0).run(&mut ()).unwrap();
    let path = directory.path().join("moons.flow");
    model.save(&path).unwrap();
    let mut observer = ();
    let mut models = Models {
        store: Store::offline(&root),
        directory: directory.path().join("models"),
        steps: 1,
        given: vec![path],
        observer: &mut observer,
    };
    let error = models.get("mnist", Labels::All).unwrap_err().to_string();
    assert!(error.contains("moons.flow") && error.contains("no model of images"), "{error}");
}
