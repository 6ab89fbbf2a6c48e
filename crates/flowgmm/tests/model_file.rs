//! The model file: what is saved is what is loaded, bit for bit; and nothing in a file is believed. Every truncation,
//! every changed byte of the header and every lie that carries a right checksum is an error, soon and without
//! allocating what the lie asks for.

#[path = "../../core/tests/support/mod.rs"]
mod support;

use std::{collections::BTreeMap, fs, path::Path, sync::OnceLock, time::Instant};

use flowgmm::{
    Covariance, Error, FitConfig, Model, MultiStart, Prepare, Transform,
    bijection::Form,
    tensor::{Place, to_vec},
};
use semisup::{Classifier, SemiSupervised, Toy};
use serde_json::{Value, json};
use support::bits;
use tempfile::TempDir;

fn data() -> SemiSupervised {
    let train = Toy::Moons.problem(1).train;
    let mut rows = train.labelled();
    rows.extend(train.unlabelled().into_iter().take(30));
    train.select(&rows).unwrap()
}

fn config() -> FitConfig {
    let mut config = FitConfig::toy();
    config.architecture.depth = 2;
    config.architecture.hidden = vec![3];
    config.multi_start = MultiStart { starts: 1, ..config.multi_start };
    config.train.steps = 4;
    config
}

/// The smallest model there is, as bytes.
fn tiny() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("tiny.flowgmm");
        fit(&config(), &data(), 1).unwrap().save(&path).unwrap();
        fs::read(&path).unwrap()
    })
}

fn load(path: &Path, bytes: &[u8]) -> Result<Model, Error> {
    let _ = fs::remove_file(path); // a file system may wait for the disk when a file is overwritten
    fs::write(path, bytes).unwrap();
    Model::load(path, &Place::cpu())
}

#[track_caller]
fn assert_refused(what: &str, result: Result<Model, Error>) {
    match result {
        Err(Error::ModelFile { reason, .. }) => assert!(!reason.is_empty()),
        Err(other) => panic!("{what}: {other:?}"),
        Ok(_) => panic!("{what}: it was believed"),
    }
}

#[test]
fn a_loaded_model_gives_the_scores_of_the_saved_one() {
    let mut variants = vec![config(); 6];
    variants[1].prepare = Prepare::Pca { dims: 2, whiten: 0.5 };
    variants[1].architecture.per_class = 2;
    variants[1].architecture.covariance = Covariance::Diagonal;
    variants[2].architecture.coupling = Transform::Spline { bins: 4, bound: 3.0 };
    variants[3].prepare = Prepare::Standardise;
    variants[3].architecture.coupling = Transform::Affine { form: Form::ShiftThenScale };
    for (variant, covariance) in variants[4..].iter_mut().zip([Covariance::Full, Covariance::Tied]) {
        variant.architecture.covariance = covariance;
        variant.architecture.trainable.covariances = true;
    }
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("model");
    for config in variants {
        let data = data();
        let model = fit(&config, &data, 2).unwrap();
        model.save(&path).unwrap();
        let loaded = Model::load(&path, &Place::cpu()).unwrap();
        let (saved, found) = (model.score(data.x()), loaded.score(data.x()));
        assert_eq!(bits(&saved.log_marginal), bits(&found.log_marginal));
        assert_eq!(saved.log_probs, found.log_probs);
        assert_eq!(model.encode(data.x()), loaded.encode(data.x()));
        assert_eq!(
            model.sample(5, None, 1.0, &mut semisup::rng(1)),
            loaded.sample(5, None, 1.0, &mut semisup::rng(1))
        );
        for (one, other) in model.gmm().thetas().iter().zip(loaded.gmm().thetas()) {
            assert_eq!(bits(&to_vec(one.value())), bits(&to_vec(other.value())));
        }
        assert_eq!(model.gmm().spec(), loaded.gmm().spec());
        assert_eq!((model.classes(), model.columns()), (loaded.classes(), loaded.columns()));
        assert_eq!(model.provenance(), loaded.provenance());
        assert_eq!(model.history(), loaded.history());
        let bytes = fs::read(&path).unwrap();
        loaded.save(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), bytes, "saved again, it is the same file");
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1, "no temporary file is left");
    }
}

#[test]
fn a_file_that_is_not_there_is_an_io_error() {
    let directory = TempDir::new().unwrap();
    let found = Model::load(&directory.path().join("none"), &Place::cpu());
    assert!(matches!(found, Err(Error::Io { .. })));
    let model = fit(&config(), &data(), 1).unwrap();
    assert!(matches!(model.save(&directory.path().join("no/such/directory")), Err(Error::Io { .. })));
}

#[test]
fn every_truncation_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("cut");
    for end in 0..tiny().len() {
        assert_refused(&format!("cut at {end}"), load(&path, &tiny()[..end]));
    }
    let longer: Vec<u8> = tiny().iter().copied().chain([0]).collect();
    assert_refused("one byte more", load(&path, &longer));
}

#[test]
fn every_changed_byte_of_the_header_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("changed");
    let header = 8 + u64::from_le_bytes(tiny()[..8].try_into().unwrap()) as usize;
    for at in 0..header {
        for mask in [0x01, 0x20, 0xff] {
            let mut bytes = tiny().to_vec();
            bytes[at] ^= mask;
            assert_refused(&format!("byte {at} xor {mask}"), load(&path, &bytes));
        }
    }
    for at in header..tiny().len() {
        let mut bytes = tiny().to_vec();
        bytes[at] ^= 0x40;
        assert_refused(&format!("byte {at} of the data"), load(&path, &bytes));
    }
}

/// Shapes and values by name.
type Tensors = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

/// A file taken apart: our JSON header and the tensors; written again with a right checksum.
#[derive(Clone)]
struct Parts {
    header: Value,
    tensors: Tensors,
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let (_, metadata) = safetensors::SafeTensors::read_metadata(bytes).unwrap();
        let header = serde_json::from_str(&metadata.metadata().as_ref().unwrap()["flowgmm"]).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(bytes).unwrap();
        let values =
            |data: &[u8]| data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        let tensors = tensors
            .tensors()
            .into_iter()
            .map(|(name, view)| (name, (view.shape().to_vec(), values(view.data()))))
            .collect();
        Self { header, tensors }
    }

    fn bytes(&self) -> Vec<u8> {
        assemble(&self.header.to_string(), &self.tensors, "F32")
    }
}

/// A safetensors file as `container.rs` documents it, by other code: the digest is that of the file with 64 zeros in
/// the digest's place.
fn assemble(header: &str, tensors: &Tensors, dtype: &str) -> Vec<u8> {
    let zeros = "0".repeat(64);
    let mut json = format!(
        "{{\"__metadata__\":{{\"digest\":\"{zeros}\",\"flowgmm\":{}}}",
        serde_json::to_string(header).unwrap()
    );
    let mut data = Vec::new();
    for (name, (shape, values)) in tensors {
        let start = data.len();
        data.extend(values.iter().flat_map(|v| v.to_le_bytes()));
        let entry = json!({ "dtype": dtype, "shape": shape, "data_offsets": [start, data.len()] });
        json += &format!(",{}:{entry}", serde_json::to_string(name).unwrap());
    }
    json.push('}');
    while json.len() % 8 != 0 {
        json.push(' ');
    }
    sealed([&(json.len() as u64).to_le_bytes()[..], json.as_bytes(), &data].concat())
}

/// Puts the right digest in the place of the zeros.
fn sealed(mut bytes: Vec<u8>) -> Vec<u8> {
    let digest = blake3::hash(&bytes).to_hex();
    let key = b"\"digest\":\"";
    let at = bytes.windows(key.len()).position(|w| w == key).unwrap() + key.len();
    bytes[at..at + 64].copy_from_slice(digest.as_bytes());
    bytes
}

#[test]
fn our_own_writer_writes_what_is_believed() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("rewritten");
    let rewritten = load(&path, &Parts::of(tiny()).bytes()).unwrap();
    let original = load(&path, tiny()).unwrap();
    let x = data();
    assert_eq!(rewritten.score(x.x()).log_probs, original.score(x.x()).log_probs);
}

/// Changes of the header by JSON pointer; a missing key is an error of this test.
fn lie(pointer: &str, value: Value) -> (String, Parts) {
    let mut parts = Parts::of(tiny());
    *parts.header.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value.clone();
    let shown: String = value.to_string().chars().take(80).collect();
    (format!("{pointer} = {shown}"), parts)
}

fn lies_in_the_header() -> Vec<(String, Parts)> {
    let layer = |kind: Value| json!([kind]);
    let affine = |hidden: Value| json!({ "kind": "affine", "mask": "keep-even", "hidden": hidden, "form": "scale-then-shift" });
    let spline = |bins: u64, bound: f64| json!({ "kind": "spline", "mask": "keep-even", "hidden": [3], "bins": bins, "bound": bound });
    let huge = 1_u64 << 40;
    let half = 1_u64 << 63;
    let mut lies = vec![
        lie("/format", json!(0)),
        lie("/format", json!(3)),
        lie("/rows", json!({ "kind": "images", "layout": { "channels": 1, "height": 1, "width": 2 } })),
        lie("/format", json!(flowgmm::FORMAT + 1)),
        lie("/format", json!("1")),
        lie("/spec/flow/dim", json!(huge)),
        lie("/spec/flow/dim", json!(0)),
        lie("/spec/flow/dim", json!(3)),
        lie("/spec/flow/dim", json!(-2)),
        lie("/spec/mixture/dim", json!(huge)),
        lie("/spec/mixture/dim", json!(u64::MAX)),
        lie("/spec/flow/layers", json!([])),
        lie("/spec/flow/layers", json!(vec![affine(json!([3])); 2000])),
        lie("/spec/flow/layers", layer(affine(json!([huge])))),
        lie("/spec/flow/layers", layer(affine(json!([65536, 65536])))),
        lie("/spec/flow/layers", layer(affine(json!(vec![65536; 16])))),
        lie("/spec/flow/layers", layer(affine(json!(vec![3; 17])))),
        lie("/spec/flow/layers", layer(affine(json!([0])))),
        lie("/spec/flow/layers", layer(json!({ "kind": "magic" }))),
        lie("/spec/flow/layers", layer(spline(1, 3.0))),
        lie("/spec/flow/layers", layer(spline(0, 3.0))),
        lie("/spec/flow/layers", layer(spline(huge, 3.0))),
        lie("/spec/flow/layers", layer(spline(4, -3.0))),
        lie("/spec/flow/layers", layer(json!({ "kind": "logit", "alpha": 0.7 }))),
        lie("/spec/flow/layers", layer(json!({ "kind": "permutation", "order": [0, 0] }))),
        lie("/spec/flow/layers", layer(json!({ "kind": "permutation", "order": [0, huge] }))),
        lie("/spec/flow/layers", layer(json!({ "kind": "linear", "order": [1] }))),
        lie("/spec/mixture/per_class", json!([])),
        lie("/spec/mixture/per_class", json!([1])),
        lie("/spec/mixture/per_class", json!([1, 1, 1])),
        lie("/spec/mixture/per_class", json!([2, 1])),
        lie("/spec/mixture/per_class", json!([0, 2])),
        lie("/spec/mixture/per_class", json!([huge, huge])),
        lie("/spec/mixture/per_class", json!([half, half])),
        lie("/spec/mixture/per_class", json!([u64::MAX, 3])),
        lie("/spec/mixture/covariance", json!("diagonal")),
        lie("/spec/mixture/covariance", json!("full")),
        lie("/classes", json!(["0"])),
        lie("/classes", json!(["0", "1", "2"])),
        lie("/rows/columns", json!(["x1"])),
        lie("/rows/columns", json!([])),
        lie("/preprocess/shift", json!([0.0])),
        lie("/preprocess/scale", json!([0.0, 1.0])),
        lie("/preprocess/scale", json!([-1.0, 1.0])),
        lie("/preprocess/scale", json!([null, 1.0])),
        lie("/preprocess/constant", json!([huge])),
        lie("/preprocess/projection", json!({ "directions": [1.0, 1.0], "gain": [1.0] })),
        lie("/preprocess/projection", json!({ "directions": [], "gain": [] })),
        lie("/support", json!([null])),
        lie("/support", json!([{ "ranges": [[1.0, 0.0]], "cuts": [] }, null])),
        lie("/support", json!([{ "ranges": [[0.0, 1.0]], "cuts": [0.5] }, null])),
        lie("/support", json!([{ "ranges": [], "cuts": [] }, null])),
        lie("/spec", json!(null)),
        lie("/spec/flow", json!({})),
        lie("", json!([])),
        lie("", json!("flowgmm")),
    ];
    // Both sides of the architecture agree, but not with the tensors.
    let mut wide = Parts::of(tiny());
    for pointer in ["/spec/flow/dim", "/spec/mixture/dim"] {
        *wide.header.pointer_mut(pointer).unwrap() = json!(60_000);
    }
    for pointer in ["/preprocess/shift", "/preprocess/scale"] {
        *wide.header.pointer_mut(pointer).unwrap() = json!(vec![1.0; 60_000]);
    }
    *wide.header.pointer_mut("/rows/columns").unwrap() = json!(vec!["x"; 60_000]);
    *wide.header.pointer_mut("/spec/flow/layers").unwrap() =
        layer(json!({ "kind": "linear", "order": (0..60_000).collect::<Vec<_>>() }));
    lies.push(("a linear map of 60000 columns".into(), wide));
    lies
}

fn lies_in_the_tensors() -> Vec<(String, Parts)> {
    let whole = Parts::of(tiny());
    let names: Vec<String> = whole.tensors.keys().cloned().collect();
    assert!(
        names.iter().any(|n| n == "flow.0.W1") && names.iter().any(|n| n == "mixture.means.means"),
        "{names:?}"
    );
    let mut lies = Vec::new();
    let mut add = |what: String, change: &dyn Fn(&mut Tensors)| {
        let mut parts = whole.clone();
        change(&mut parts.tensors);
        lies.push((what, parts));
    };
    for name in &names {
        add(format!("no {name}"), &|tensors| {
            tensors.remove(name);
        });
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            add(format!("{value} in {name}"), &|tensors| {
                *tensors.get_mut(name).unwrap().1.last_mut().unwrap() = value;
            });
        }
        add(format!("{name} under another name"), &|tensors| {
            let tensor = tensors.remove(name).unwrap();
            tensors.insert(format!("{name}x"), tensor);
        });
        add(format!("{name} flattened"), &|tensors| {
            let tensor = tensors.get_mut(name).unwrap();
            tensor.0 = vec![tensor.1.len()];
        });
        add(format!("{name} longer by one"), &|tensors| {
            let tensor = tensors.get_mut(name).unwrap();
            tensor.1.push(0.0);
            tensor.0 = vec![1, tensor.1.len()];
        });
    }
    add("one tensor too many".into(), &|tensors| {
        tensors.insert("extra".into(), (vec![1], vec![1.0]));
    });
    add("an empty tensor too many".into(), &|tensors| {
        tensors.insert("extra".into(), (vec![0], vec![]));
    });
    add("no tensors at all".into(), &|tensors| tensors.clear());
    lies
}

#[test]
fn lies_with_a_right_checksum_are_refused_soon_and_without_huge_allocations() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("lie");
    let before = peak_memory();
    for (what, parts) in lies_in_the_header().into_iter().chain(lies_in_the_tensors()) {
        let bytes = parts.bytes();
        let start = Instant::now();
        assert_refused(&what, load(&path, &bytes));
        assert!(start.elapsed().as_secs_f64() < 2.0, "{what}: took {:?}", start.elapsed());
    }
    if let (Some(before), Some(after)) = (before, peak_memory()) {
        assert!(after - before < 1 << 20, "{} MiB were asked for", (after - before) >> 10);
    }
}

/// The most virtual memory this process ever had, in KiB, where the system tells.
fn peak_memory() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmPeak:"))?.trim().strip_suffix(" kB")?.parse().ok()
}

#[test]
fn other_files_are_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("other");
    let Parts { header, tensors } = Parts::of(tiny());
    let header = header.to_string();
    assert_refused("an empty file", load(&path, b""));
    assert_refused("text", load(&path, b"x1,x2,label\n1.0,2.0,a\n"));
    assert_refused("a length without end", load(&path, &[0xff; 64]));
    assert_refused("a header that is no JSON", load(&path, &assemble("{", &tensors, "F32")));
    assert_refused(
        "a header of two documents",
        load(&path, &assemble(&(header.clone() + "{}"), &tensors, "F32")),
    );
    assert_refused("integers", load(&path, &assemble(&header, &tensors, "I32")));
    let nested = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    assert_refused("a deep header", load(&path, &assemble(&nested, &tensors, "F32")));
    let json = b"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}     ";
    let mut plain = (json.len() as u64).to_le_bytes().to_vec();
    plain.extend(json);
    plain.extend([0; 4]);
    assert_refused("safetensors of someone else", load(&path, &plain));
    assert_refused(
        "a wrong checksum",
        load(&path, &{
            let mut bytes = Parts::of(tiny()).bytes();
            *bytes.last_mut().unwrap() ^= 1;
            bytes
        }),
    );
}

/// A fit to numbers, without anybody watching.
fn fit(config: &FitConfig, data: &SemiSupervised, seed: u64) -> flowgmm::Result<flowgmm::Model> {
    flowgmm::Fitter::new(config, data, seed).run(&mut ())
}
