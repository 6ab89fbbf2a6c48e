//! Settings of a fit and where each came from: flag > FLOWGMM_* variable > config file > default.
//!
//! All settings are one tree: the default [`FitConfig`] with `seed`, `threads`, `device` and `engine` beside it. A
//! config file is the part of that tree that differs, as TOML; what `--print-config` prints is a complete one. The
//! string `"none"` stands for an optional part that is absent, since TOML has no null.

use std::{collections::BTreeMap, fs, path::Path};

use clap::{ArgMatches, parser::ValueSource};
use flowgmm::{DeviceName, Engine, FitConfig};
use serde_json::{Map, Value, json};

use crate::exit::{Failure, Result};

/// Everything that decides a fit, but the data.
#[derive(Debug)]
pub struct Settings {
    /// Seed of all randomness.
    pub seed: u64,
    /// Threads to compute with.
    pub threads: usize,
    /// Where it computes.
    pub device: DeviceName,
    /// Code that computes couplings.
    pub engine: Engine,
    /// The rest.
    pub config: FitConfig,
    tree: Value,
    sources: BTreeMap<String, &'static str>,
}

/// A setting's value given outside the config file: its path, its argument's name, its value.
pub type Given = (&'static str, &'static str, Option<Value>);

impl Settings {
    /// The defaults, overlaid by the config file, overlaid by what was `given`.
    pub fn gather(
        defaults: &FitConfig,
        threads: usize,
        file: Option<&Path>,
        given: &[Given],
        matches: &ArgMatches,
    ) -> Result<Self> {
        let mut tree = serde_json::to_value(defaults).expect("plain data");
        tree["seed"] = json!(0);
        tree["threads"] = json!(threads);
        tree["device"] = json!(DeviceName::default());
        tree["engine"] = json!(Engine::default());
        let mut sources = BTreeMap::new();
        if let Some(path) = file {
            let text = fs::read_to_string(path).map_err(Failure::io(path))?;
            let wrong = |what: String| Failure::Usage(format!("config file {}: {what}", path.display()));
            let overlay = toml::from_str(&text).map_err(|e| wrong(e.to_string().trim_end().to_string()))?;
            tree = overlaid(tree, &overlay, &mut sources).map_err(wrong)?;
        }
        for (path, argument, value) in given {
            if let Some(value) = value {
                *at(&mut tree, path) = value.clone();
                let env = matches.value_source(argument) == Some(ValueSource::EnvVariable);
                sources.insert(path.to_string(), if env { "env" } else { "flag" });
            }
        }
        let (seed, threads, device, engine, config) = parse(&tree).map_err(Failure::Usage)?;
        Ok(Self { seed, threads, device, engine, config, tree, sources })
    }

    /// Every value and where it came from, as TOML that `--config` reads.
    pub fn to_toml(&self) -> String {
        let mut text = String::new();
        self.write_table(&mut text, &self.tree, "");
        text
    }

    fn write_table(&self, text: &mut String, table: &Value, path: &str) {
        let entries = table.as_object().into_iter().flatten();
        let (tables, leaves): (Vec<_>, Vec<_>) = entries.partition(|(_, value)| value.is_object());
        if !path.is_empty() && !leaves.is_empty() {
            text.push_str(&format!("\n[{path}]\n"));
        }
        for (key, value) in leaves {
            let shown = inline(value);
            let source = self.sources.get(&join(path, key)).unwrap_or(&"default");
            let note = self.note(&join(path, key), value);
            text.push_str(&format!("{key} = {shown}  # from: {source}{note}\n"));
        }
        for (key, value) in tables {
            self.write_table(text, value, &join(path, key));
        }
    }

    /// What a value entails that other values do not show.
    fn note(&self, path: &str, value: &Value) -> &'static str {
        let drops = path == "train.dropout" && value.as_f64().is_some_and(|share| share > 0.0);
        if drops && self.engine != Engine::Composed { "; steps take composed operations" } else { "" }
    }

    /// Settings that do not have their default: path, value as TOML, and where it came from.
    pub fn changed(&self) -> Vec<(String, String, &'static str)> {
        let entry = |(path, from): (&String, &&'static str)| {
            let value = look(&self.tree, path).map(inline).unwrap_or_default();
            (path.clone(), value, *from)
        };
        self.sources.iter().map(entry).collect()
    }

    /// Where the settings came from, in words.
    pub fn origin(&self) -> String {
        let from = |wanted: &str| {
            let names = self.sources.iter().filter(|(_, source)| **source == wanted);
            let names: Vec<&str> = names.map(|(path, _)| path.as_str()).collect();
            (!names.is_empty()).then(|| format!("{} from {wanted}", names.join(", ")))
        };
        let changed: Vec<String> = ["config file", "env", "flag"].into_iter().filter_map(from).collect();
        let kind = if self.config.architecture.image.is_some() { "images" } else { "tables" };
        match changed.as_slice() {
            [] => format!("defaults for {kind}"),
            changed => format!("defaults for {kind}, but {}", changed.join("; ")),
        }
    }
}

/// A value in one line of TOML.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "\"none\"".into(),
        Value::Array(values) => format!("[{}]", values.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(entries) => {
            let entries: Vec<String> =
                entries.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

type Parsed = (u64, usize, DeviceName, Engine, FitConfig);

/// The tree as typed settings.
fn parse(tree: &Value) -> std::result::Result<Parsed, String> {
    let mut rest = tree.clone();
    let mut take = |key: &str| rest.as_object_mut().and_then(|map| map.remove(key)).unwrap_or_default();
    let (seed, threads, device, engine) = (take("seed"), take("threads"), take("device"), take("engine"));
    let text = |error: serde_json::Error| error.to_string();
    let seed = serde_json::from_value(seed).map_err(text)?;
    let threads = serde_json::from_value::<std::num::NonZeroUsize>(threads).map_err(text)?.get();
    let device = serde_json::from_value(device).map_err(text)?;
    let engine = serde_json::from_value(engine).map_err(text)?;
    Ok((seed, threads, device, engine, serde_json::from_value(rest).map_err(text)?))
}

/// Lays the values of a config file over `tree`, one at a time, so that a wrong one can be named.
fn overlaid(
    mut tree: Value,
    file: &Value,
    sources: &mut BTreeMap<String, &'static str>,
) -> std::result::Result<Value, String> {
    let mut changes = Vec::new();
    collect(&tree, file.as_object().expect("TOML is a table"), "", &mut changes)?;
    for (path, value) in changes {
        let place = at(&mut tree, &path);
        *place = merged(place, &value);
        let parsed = parse(&tree).map_err(|error| format!("{path}: {error}"))?;
        // Some types skip keys they do not know; what they did not keep, they did not know.
        let kept = serde_json::to_value(&parsed.4).expect("plain data");
        if let (Value::Object(given), Some(kept)) = (&value, look(&kept, &path))
            && let Some(key) = given.keys().find(|key| kept.get(key.as_str()).is_none())
        {
            return Err(format!("unknown key '{path}.{key}'"));
        }
        leaves(&value, &path, &mut |leaf| {
            sources.insert(leaf, "config file");
        });
    }
    Ok(tree)
}

/// The file's values by path: scalars, lists, and the tables that are one choice (`kind` and its parameters).
fn collect(
    tree: &Value,
    file: &Map<String, Value>,
    path: &str,
    changes: &mut Vec<(String, Value)>,
) -> std::result::Result<(), String> {
    for (key, value) in file {
        let path = join(path, key);
        let Some(default) = tree.get(key) else {
            let known: Vec<&str> =
                tree.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
            return Err(format!("unknown key '{path}'. Known here: {}", known.join(", ")));
        };
        match (default, value) {
            (Value::Object(known), Value::Object(inner)) if !known.contains_key("kind") => {
                collect(default, inner, &path, changes)?;
            }
            _ => changes.push((path, value.clone())),
        }
    }
    Ok(())
}

/// The new value; a table of the same kind keeps the parameters it does not mention.
fn merged(default: &Value, value: &Value) -> Value {
    match (default, value) {
        (_, Value::String(text)) if text == "none" => Value::Null,
        (Value::Object(old), Value::Object(new))
            if new.get("kind").is_none_or(|k| Some(k) == old.get("kind")) =>
        {
            let mut all = old.clone();
            all.extend(new.iter().map(|(key, value)| (key.clone(), value.clone())));
            Value::Object(all)
        }
        _ => value.clone(),
    }
}

fn leaves(value: &Value, path: &str, found: &mut dyn FnMut(String)) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| leaves(value, &join(path, key), found)),
        _ => found(path.to_string()),
    }
}

fn look<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |tree, key| tree.get(key))
}

fn at<'a>(tree: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('.').fold(tree, |tree, key| &mut tree[key])
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}
