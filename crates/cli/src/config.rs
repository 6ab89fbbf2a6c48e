//! Configuration files, and settings printed as one.

use std::{fs, num::NonZeroUsize, path::Path};

use flowgmm::{Engine, FitPlan, Override, SettingOrigin, Settings};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, Formatted, InlineTable, Item, Table};

use crate::{
    exit::{Failure, Result},
    text,
};

/// The settings in a TOML file.
pub fn read(path: &Path) -> Result<Override> {
    let text = fs::read_to_string(path).map_err(Failure::io(path))?;
    let values: Map<String, Value> =
        toml_edit::de::from_str(&text).map_err(|error| wrong(path, error.to_string().trim_end()))?;
    Ok(Override { values, origin: SettingOrigin::ConfigFile })
}

/// What to say of a setting that is wrong in a file.
pub fn wrong(path: &Path, what: &str) -> Failure {
    Failure::Usage(format!("config file {}: {what}", text::path(path)))
}

/// The number of threads that a file asks for, if it can be read.
pub fn threads(path: &Path) -> Option<NonZeroUsize> {
    let document: DocumentMut = fs::read_to_string(path).ok()?.parse().ok()?;
    NonZeroUsize::new(usize::try_from(document.get("threads")?.as_integer()?).ok()?)
}

/// Every setting and where it came from, and why it was chosen, as TOML that `--config` reads.
pub fn to_toml(plan: &FitPlan, threads: usize) -> String {
    let settings = &plan.settings;
    let mut tree = settings.tree().clone();
    tree["threads"] = threads.into();
    let mut document = DocumentMut::new();
    fill(document.as_table_mut(), &tree, "", settings);
    let reasons = plan.decisions.iter().map(|d| (d.what.as_str(), text::decision(d))).collect::<Vec<_>>();
    let reasons = text::facts(&reasons);
    let reasons = reasons.lines().map(|line| format!("# {line}\n")).collect::<String>();
    format!("{reasons}{document}")
}

fn fill(table: &mut Table, tree: &Value, path: &str, settings: &Settings) {
    let entries = tree.as_object().into_iter().flatten();
    let (tables, leaves): (Vec<_>, Vec<_>) = entries.partition(|(_, value)| value.is_object());
    table.set_implicit(leaves.is_empty());
    for (key, value) in leaves {
        let path = join(path, key);
        let origin = settings.origin_of(&path).map_or("default", SettingOrigin::name);
        let mut value = toml(value);
        value.decor_mut().set_suffix(format!("  # from: {origin}{}", note(settings, &path)));
        table.insert(key, Item::Value(value));
    }
    for (key, value) in tables {
        let mut inner = Table::new();
        fill(&mut inner, value, &join(path, key), settings);
        table.insert(key, Item::Table(inner));
    }
}

/// What a value entails that other values do not show.
fn note(settings: &Settings, path: &str) -> &'static str {
    let drops = path == "train.dropout" && settings.config.train.dropout > 0.0;
    if drops && settings.engine != Engine::Composed { "; steps take composed operations" } else { "" }
}

/// A value as TOML; `"none"` stands for one that is absent.
pub fn toml(value: &Value) -> toml_edit::Value {
    match value {
        Value::Null => "none".into(),
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into(),
            None => toml_edit::Value::Float(Formatted::new(number.as_f64().unwrap_or(f64::NAN))),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(toml).collect::<Array>().into(),
        Value::Object(entries) => {
            let entries = entries.iter().map(|(key, value)| (key.as_str(), toml(value)));
            entries.collect::<InlineTable>().into()
        }
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_string() } else { format!("{path}.{key}") }
}
