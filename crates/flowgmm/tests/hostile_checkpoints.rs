//! Checkpoints that were made up: signed with the right digest, but with counts, sizes and numbers that no fit leaves
//! behind. Going on from one is an error of the file, or a fit that ends; never a panic.

mod small;

use std::{fs, path::PathBuf, time::Duration};

use flowgmm::{
    Checkpoints, Error, ErrorKind, FitConfig, Fitter, Model, Observer, Phase, Resume, train::Control,
};
use flowgmm_core::Container;
use serde_json::{Value, json};
use small::{config, data, variants};
use tempfile::TempDir;

/// Stops training at a step.
struct StopAt {
    step: usize,
    training: bool,
}

impl Observer for StopAt {
    fn phase(&mut self, phase: &Phase, _total: Option<usize>) {
        self.training = phase.counts_steps();
    }

    fn progress(&mut self, step: usize) -> Control {
        if self.training && step >= self.step { Control::Stop } else { Control::Continue }
    }
}

/// A checkpoint of a fit that was stopped at step 11.
struct Stopped {
    directory: TempDir,
    config: FitConfig,
    good: Container,
}

impl Stopped {
    fn new(config: FitConfig) -> Self {
        let directory = TempDir::new().unwrap();
        let checkpoints = Checkpoints::new(directory.path(), Duration::from_secs(3600), Resume::No);
        let stopped = Fitter::new(&config, &data(), 5)
            .checkpoints(checkpoints)
            .run(&mut StopAt { step: 11, training: false });
        assert!(matches!(stopped, Err(Error::Interrupted { step: 11 })), "{:?}", stopped.err());
        let good = Container::read(&directory.path().join("checkpoint.safetensors")).unwrap();
        Self { directory, config, good }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("checkpoint.safetensors")
    }

    /// Goes on from an altered checkpoint, signed anew.
    fn resume(&self, alter: impl FnOnce(&mut Value, &mut Container)) -> Result<Model, Error> {
        let mut file = self.good.clone();
        let mut header: Value = serde_json::from_str(&file.header).unwrap();
        alter(&mut header, &mut file);
        file.header = header.to_string();
        fs::write(self.path(), file.to_bytes()).unwrap();
        let checkpoints =
            Checkpoints::new(self.directory.path(), Duration::from_secs(3600), Resume::IfPresent);
        Fitter::new(&self.config, &data(), 5).checkpoints(checkpoints).run(&mut ())
    }

    #[track_caller]
    fn refused(&self, what: &str, alter: impl FnOnce(&mut Value, &mut Container)) {
        let error = self.resume(alter).err().unwrap_or_else(|| panic!("{what} was believed"));
        assert_eq!(error.kind(), ErrorKind::ModelFile, "{what}: {error}");
        assert!(error.to_string().contains("checkpoint.safetensors"), "{what}: {error}");
    }
}

#[test]
fn impossible_counts_and_scales_are_refused() {
    let stopped = Stopped::new(config());
    for (key, value) in [
        ("format", json!(2)),
        ("step", json!(41)),
        ("step", json!(u64::MAX)),
        ("step", json!(3)),
        ("updates", json!(12)),
        ("updates", json!(u64::MAX)),
        ("good_updates", json!(12)),
        ("rollbacks", json!(u64::MAX)),
        ("failures", json!(11)),
        ("rate_scale", json!(-1.0)),
        ("rate_scale", json!(1e300)),
        ("has_average", json!(false)),
    ] {
        stopped.refused(key, |header, _| header[key] = value);
    }
    stopped.refused("a score", |header, _| header["progress"]["scores"] = json!([f64::NAN.to_bits()]));
    stopped.refused("dim", |header, _| header["spec"]["flow"]["dim"] = json!(1u64 << 40));
    stopped.refused("classes", |header, _| {
        header["spec"]["mixture"]["per_class"] = json!([1u64 << 60, 1u64 << 60])
    });
    assert!(stopped.resume(|_, _| {}).is_ok(), "as it was, it is believed");
}

#[test]
fn tensors_of_other_sizes_or_numbers_are_refused() {
    let em = variants().into_iter().find(|(name, _)| *name == "EM, fixed mixture").unwrap().1;
    let stopped = Stopped::new(em);
    let names: Vec<String> = stopped.good.tensors.keys().cloned().collect();
    assert!(["m.0", "v.0", "ema.0", "good.theta.0", "q"].iter().all(|name| names.iter().any(|n| n == name)));
    for name in &names {
        stopped.refused(name, |_, file| {
            let (shape, values) = file.tensors.get_mut(name).unwrap();
            values.push(0.0);
            *shape = vec![values.len()];
        });
        stopped.refused(name, |_, file| file.tensors.get_mut(name).unwrap().1[0] = f32::NAN);
        if name != "q" {
            stopped.refused(name, |_, file| _ = file.tensors.remove(name));
        }
    }
    stopped.refused("a negative square", |_, file| file.tensors.get_mut("v.0").unwrap().1[0] = -1.0);
    stopped.refused("no probability", |_, file| file.tensors.get_mut("q").unwrap().1[0] = 7.0);
    stopped.refused("fewer rows", |_, file| _ = file.tensors.insert("q".into(), (vec![2], vec![0.5; 2])));
    stopped.refused("an extra", |_, file| _ = file.tensors.insert("w".into(), (vec![1], vec![0.0])));
    let plain = Stopped::new(config());
    plain.refused("unused targets", |_, file| {
        _ = file.tensors.insert("q".into(), (vec![120], vec![0.5; 120]))
    });
}

/// Every value of the header replaced by each of these.
#[test]
fn no_value_of_the_header_makes_it_panic() {
    let hostile = [
        json!(null),
        json!(-1),
        json!(0),
        json!(3),
        json!(u64::MAX),
        json!(1e300),
        json!("x"),
        json!([]),
        json!({}),
        json!(true),
    ];
    let stopped = Stopped::new(config());
    let header: Value = serde_json::from_str(&stopped.good.header).unwrap();
    let mut places = Vec::new();
    collect(&header, String::new(), &mut places);
    places.retain(|place| !place.starts_with("/history/epochs/1")); // one record stands for all
    assert!(places.len() > 40, "{places:?}");
    for place in places {
        for value in &hostile {
            if let Err(error) =
                stopped.resume(|header, _| *header.pointer_mut(&place).unwrap() = value.clone())
            {
                let expected = [ErrorKind::ModelFile, ErrorKind::Request, ErrorKind::Diverged];
                assert!(expected.contains(&error.kind()), "{place} = {value}: {error}");
            }
        }
    }
}

/// Paths of all values, as JSON pointers.
fn collect(value: &Value, path: String, places: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| collect(value, format!("{path}/{key}"), places))
        }
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(at, value)| collect(value, format!("{path}/{at}"), places));
        }
        _ => {}
    }
    if !path.is_empty() {
        places.push(path);
    }
}
