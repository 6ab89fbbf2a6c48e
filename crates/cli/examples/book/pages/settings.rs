//! The reference of settings: every path of a configuration file, its value before the recipe looks at the data, and what
//! its declaration says.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use flowgmm::{FitConfig, ImageShape};
use semisup::digits_problem;
use serde_json::Value;

use super::source::{Declared, Type, types};

pub fn reference(root: &Path) -> Result<String, String> {
    let types = types(root)?;
    let data = digits_problem(5, 0).train;
    let shape = ImageShape { channels: 1, height: 8, width: 8 };
    let images = FitConfig::image(&data, shape).map_err(|error| error.to_string())?;
    let mut page = Reference {
        types: &types,
        tables: serde_json::to_value(FitConfig::table(&data)).expect("plain data"),
        images: serde_json::to_value(images).expect("plain data"),
        rows: Vec::new(),
        choices: BTreeSet::new(),
    };
    page.walk("", "FitConfig")?;
    let mut out = String::from("| setting | tables | images | meaning |\n|---|---|---|---|\n");
    out += &page.rows.concat();
    out += "\n### Choices\n";
    for name in &page.choices {
        let Some(Type::Enum(choices)) = types.get(name) else { continue };
        out += &format!("\n**{}**\n\n", spaced(name));
        for choice in choices {
            out += &format!("- `{}`: {}\n", choice.name, lowered(&choice.docs));
            for field in &choice.fields {
                out += &format!("  - `{}`: {}\n", field.name, lowered(&field.docs));
            }
        }
    }
    Ok(out)
}

struct Reference<'a> {
    types: &'a BTreeMap<String, Type>,
    tables: Value,
    images: Value,
    rows: Vec<String>,
    choices: BTreeSet<String>,
}

impl Reference<'_> {
    /// Lists the fields of a type under a path.
    fn walk(&mut self, path: &str, name: &str) -> Result<(), String> {
        let Some(Type::Struct(fields)) = self.types.get(name) else {
            return Err(format!("the settings {name} are declared in no known file"));
        };
        for field in fields.clone() {
            let path = if path.is_empty() { field.name.clone() } else { format!("{path}.{}", field.name) };
            self.field(&path, &field)?;
        }
        Ok(())
    }

    fn field(&mut self, path: &str, field: &Declared) -> Result<(), String> {
        let inner = inner(&field.kind);
        let value = |tree: &Value| shown(look(tree, path));
        let (tables, images) = (value(&self.tables), value(&self.images));
        match self.types.get(inner) {
            Some(Type::Struct(_)) => {
                let optional = field.kind.starts_with("Option");
                let absent = |text: &str| if text == "`none`" { "`none`" } else { "" }.to_string();
                let (tables, images) = (absent(&tables), absent(&images));
                if optional || field.kind.starts_with("Vec") {
                    self.rows.push(format!("| `{path}` | {tables} | {images} | {} |\n", field.docs));
                }
                self.walk(path, inner)
            }
            known => {
                let mut docs = field.docs.clone();
                if known.is_some() {
                    self.choices.insert(inner.to_string());
                    docs += &format!(" See *{}*.", spaced(inner));
                }
                self.rows.push(format!("| `{path}` | {tables} | {images} | {docs} |\n"));
                Ok(())
            }
        }
    }
}

/// `T` of `Option<T>` and `Vec<T>`.
fn inner(kind: &str) -> &str {
    let outside = |kind: &str| kind.starts_with("Option<") || kind.starts_with("Vec<");
    if outside(kind) { kind.split_once('<').expect("seen").1.trim_end_matches('>') } else { kind }
}

fn look<'a>(tree: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(tree, |tree, key| match tree {
        Value::Array(list) => list.first()?.get(key),
        other => other.get(key),
    })
}

/// A value as a configuration file has it.
fn shown(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Null) => "`none`".into(),
        Some(Value::Object(map)) => match map.get("kind") {
            Some(Value::String(kind)) => format!("`{kind}`"),
            _ => String::new(),
        },
        Some(Value::String(text)) => format!("`{text}`"),
        Some(Value::Array(list)) if list.iter().any(Value::is_object) => String::new(),
        Some(other) => format!("`{other}`"),
    }
}

fn spaced(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push(' ');
            out.extend(letter.to_lowercase());
        } else {
            out.push(letter);
        }
    }
    out
}

/// A sentence within a list: without links to types, and without a capital that begins it.
fn lowered(text: &str) -> String {
    let text = &text.replace("[`Means::Centroids`]", "centroids").replace("[`", "`").replace("`]", "`");
    let mut letters = text.chars();
    match (letters.next(), letters.clone().next()) {
        (Some(first), Some(second)) if first.is_uppercase() && second.is_lowercase() => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.into(),
    }
}
