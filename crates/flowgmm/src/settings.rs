//! Settings of a fit and where each came from: a preset's values, overridden by configuration files, variables and flags.
//!
//! All settings are one tree: the [`FitConfig`] with `seed`, `threads`, `device` and `engine` beside it. An override is a
//! part of that tree. The string `"none"` stands for an optional part that is absent, since TOML has no null.

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZeroUsize,
};

use flowgmm_core::{DeviceName, Engine};
use serde_json::{Map, Value, json};

use crate::{Error, FitConfig, Result};

/// Settings that have another name than in earlier versions.
const RENAMED_KEYS: [(&str, &str); 4] = [
    ("columns", "quantile_transform"),
    ("guides", "teachers"),
    ("by", "method"),
    ("sharpness", "temperature"),
];

/// Where a setting's value came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SettingOrigin {
    /// The recipe, which chose it from the data.
    Recipe,
    /// A configuration file.
    ConfigFile,
    /// An environment variable.
    Environment,
    /// An argument of the command or of a call.
    Argument,
}

impl SettingOrigin {
    /// In a word or two.
    pub fn name(self) -> &'static str {
        match self {
            Self::Recipe => "chosen from the data",
            Self::ConfigFile => "config file",
            Self::Environment => "env",
            Self::Argument => "flag",
        }
    }
}

/// Values that replace a preset's.
#[derive(Clone, Debug, PartialEq)]
pub struct Override {
    /// The part of the tree of settings that differs.
    pub values: Map<String, Value>,
    /// Where it came from.
    pub origin: SettingOrigin,
}

impl Override {
    /// One value, by its path: `train.steps`.
    pub fn new(path: &str, value: impl Into<Value>) -> Self {
        Self::from(path, value, SettingOrigin::Argument)
    }

    /// One value, by its path, and where it came from.
    pub fn from(path: &str, value: impl Into<Value>, origin: SettingOrigin) -> Self {
        let nested = path.rsplit('.').fold(value.into(), |value, key| json!({ key: value }));
        let Value::Object(values) = nested else { unreachable!("a path has at least one key") };
        Self { values, origin }
    }

    /// The value at a path, if it is given.
    pub(crate) fn at(&self, path: &str) -> Option<&Value> {
        let (first, rest) = path.split_once('.').unwrap_or((path, ""));
        let value = self.values.get(first)?;
        if rest.is_empty() { Some(value) } else { look(value, rest) }
    }
}

/// Settings of the architecture that are not written down where they are as usual, and the usual values.
const UNSAID: [(&str, &str); 2] = [("between", "[]"), ("mask", "\"keep-even\"")];

/// Everything that decides a fit, but the data.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Seed of all randomness.
    pub seed: u64,
    /// Threads that a front end should compute with, if it was told; results do not depend on it.
    pub threads: Option<NonZeroUsize>,
    /// Where it computes.
    pub device: DeviceName,
    /// Code that computes couplings.
    pub engine: Engine,
    /// The rest.
    pub config: FitConfig,
    tree: Value,
    origins: BTreeMap<String, SettingOrigin>,
    /// Settings that the recipe chose otherwise than the default.
    chosen: BTreeSet<String>,
}

impl Settings {
    /// The preset's values, overridden one after the other.
    pub fn gather(preset: &FitConfig, overrides: &[Override]) -> Result<Self> {
        let mut tree = serde_json::to_value(preset).expect("plain data");
        tree["seed"] = json!(0);
        tree["threads"] = Value::Null;
        tree["device"] = json!(DeviceName::default());
        tree["engine"] = json!(Engine::default());
        for (key, usual) in UNSAID {
            let path = format!("architecture.{key}");
            if overrides.iter().any(|change| change.at(&path).is_some()) && look(&tree, &path).is_none() {
                tree["architecture"][key] = serde_json::from_str(usual).expect("plain data");
            }
        }
        let mut origins = BTreeMap::new();
        for change in overrides {
            tree = overlaid(tree, change, &mut origins).map_err(Error::Request)?;
        }
        let Parsed { seed, threads, device, engine, config } = parse(&tree).map_err(Error::Request)?;
        Ok(Self { seed, threads, device, engine, config, tree, origins, chosen: BTreeSet::new() })
    }

    /// Notes which settings of a recipe differ from those it started from: these were chosen.
    pub(crate) fn chosen_by(mut self, recipe: &FitConfig, start: &FitConfig) -> Self {
        let tree = |config| serde_json::to_value(config).expect("plain data");
        let (recipe, start) = (tree(recipe), tree(start));
        leaves(&recipe, "", &mut |path| {
            if look(&recipe, &path) != look(&start, &path) {
                self.chosen.insert(path);
            }
        });
        self
    }

    /// All settings as one tree.
    pub fn tree(&self) -> &Value {
        &self.tree
    }

    /// Where the value at a path came from; `None` if it is the preset's.
    pub fn origin_of(&self, path: &str) -> Option<SettingOrigin> {
        let chosen = || self.chosen.contains(path).then_some(SettingOrigin::Recipe);
        self.origins.get(path).copied().or_else(chosen)
    }

    /// Settings that were overridden: path, value and where it came from.
    pub fn overridden(&self) -> impl Iterator<Item = (&str, &Value, SettingOrigin)> {
        self.origins
            .iter()
            .filter_map(|(path, origin)| Some((path.as_str(), look(&self.tree, path)?, *origin)))
    }

    /// Where the settings came from, in words.
    pub fn describe(&self) -> String {
        let from = |wanted: SettingOrigin| {
            let names = self.origins.iter().filter(|(_, origin)| **origin == wanted);
            let names: Vec<&str> = names.map(|(path, _)| path.as_str()).collect();
            (!names.is_empty()).then(|| format!("{} from {}", names.join(", "), wanted.name()))
        };
        let all = [SettingOrigin::ConfigFile, SettingOrigin::Environment, SettingOrigin::Argument];
        let changed: Vec<String> = all.into_iter().filter_map(from).collect();
        let kind = if self.config.architecture.image.is_some() { "images" } else { "tables" };
        match changed.as_slice() {
            [] => format!("defaults for {kind}"),
            changed => format!("defaults for {kind}, but {}", changed.join("; ")),
        }
    }

    /// The engine that trains: kernels are for the CPU only, and have no dropout.
    pub fn engine_used(&self) -> Engine {
        match self.device {
            DeviceName::Cpu if self.config.train.dropout > 0.0 => Engine::Composed,
            DeviceName::Cpu => self.engine,
            DeviceName::Gpu(_) | DeviceName::SoftwareGpu => Engine::Composed,
        }
    }
}

struct Parsed {
    seed: u64,
    threads: Option<NonZeroUsize>,
    device: DeviceName,
    engine: Engine,
    config: FitConfig,
}

/// The tree as typed settings.
fn parse(tree: &Value) -> std::result::Result<Parsed, String> {
    let mut rest = tree.clone();
    let mut take = |key: &str| rest.as_object_mut().and_then(|map| map.remove(key)).unwrap_or_default();
    let (seed, threads, device, engine) = (take("seed"), take("threads"), take("device"), take("engine"));
    let text = |error: serde_json::Error| error.to_string();
    Ok(Parsed {
        seed: serde_json::from_value(seed).map_err(text)?,
        threads: serde_json::from_value(threads).map_err(text)?,
        device: serde_json::from_value(device).map_err(text)?,
        engine: serde_json::from_value(engine).map_err(text)?,
        config: serde_json::from_value(rest).map_err(text)?,
    })
}

/// Lays the values of an override over the tree, one at a time, so that a wrong one can be named.
fn overlaid(
    mut tree: Value,
    change: &Override,
    origins: &mut BTreeMap<String, SettingOrigin>,
) -> std::result::Result<Value, String> {
    let mut changes = Vec::new();
    collect(&tree, &change.values, "", &mut changes)?;
    for (path, value) in changes {
        let slot = at(&mut tree, &path);
        *slot = merged(slot, &value);
        let parsed = parse(&tree).map_err(|error| format!("{path}: {error}"))?;
        // Some types skip keys they do not know; what they did not keep, they did not know.
        let kept = serde_json::to_value(&parsed.config).expect("plain data");
        if let (Value::Object(given), Some(kept)) = (&value, look(&kept, &path))
            && let Some(key) = given.keys().find(|key| kept.get(key.as_str()).is_none())
        {
            return Err(unknown(&join(&path, key), None));
        }
        leaves(&value, &path, &mut |leaf| {
            origins.insert(leaf, change.origin);
        });
    }
    Ok(tree)
}

/// The values by path: scalars, lists, and the tables that are one choice (`kind` and its parameters).
fn collect(
    tree: &Value,
    values: &Map<String, Value>,
    path: &str,
    changes: &mut Vec<(String, Value)>,
) -> std::result::Result<(), String> {
    for (key, value) in values {
        let path = join(path, key);
        let Some(default) = tree.get(key) else {
            return Err(unknown(&path, tree.as_object()));
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

/// What to say of a key that no setting has: its new name, or the keys there are.
fn unknown(path: &str, known: Option<&Map<String, Value>>) -> String {
    let renamed = RENAMED_KEYS.iter().chain(flowgmm_core::RENAMED_KEYS);
    let mut renamed = renamed.filter(|(old, _)| path == *old || path.ends_with(&format!(".{old}")));
    if let Some((_, new)) = renamed.next() {
        return format!("'{path}' is called '{new}' now");
    }
    match known {
        None => format!("unknown key '{path}'"),
        Some(known) => {
            let known: Vec<&str> = known.keys().map(String::as_str).collect();
            format!("unknown key '{path}'. Known here: {}", known.join(", "))
        }
    }
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
