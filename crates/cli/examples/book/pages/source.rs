//! Settings as the source declares them: fields, choices and their documentation.
//!
//! rustfmt fixes the layout of the source, so that reading it line by line is enough.

use std::{collections::BTreeMap, fs, path::Path};

/// Where settings are declared.
const FILES: [&str; 20] = [
    "crates/flowgmm/src/config.rs",
    "crates/flowgmm/src/teachers.rs",
    "crates/core/src/architecture.rs",
    "crates/core/src/em.rs",
    "crates/core/src/image.rs",
    "crates/core/src/means.rs",
    "crates/core/src/bijection/mod.rs",
    "crates/core/src/bijection/mask.rs",
    "crates/core/src/bijection/transform/mod.rs",
    "crates/core/src/bijection/transform/affine.rs",
    "crates/core/src/mixture/spec.rs",
    "crates/core/src/objective/settings.rs",
    "crates/core/src/train/config.rs",
    "crates/core/src/train/optim.rs",
    "crates/core/src/train/refine.rs",
    "crates/core/src/train/views.rs",
    "crates/core/src/train/schedule.rs",
    "crates/core/src/device.rs",
    "crates/core/src/flow/mod.rs",
    "crates/semisup/src/image_shape.rs",
];

/// A field, or a choice.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// As in a configuration file.
    pub name: String,
    /// Its documentation, in one line.
    pub docs: String,
    /// Its type; of a choice, nothing.
    pub kind: String,
    /// The parameters of a choice.
    pub fields: Vec<Declared>,
}

/// A type of settings.
#[derive(Clone, Debug)]
pub enum Type {
    /// A table of fields.
    Struct(Vec<Declared>),
    /// One of several.
    Enum(Vec<Declared>),
}

/// All types of settings by their names.
pub fn types(root: &Path) -> Result<BTreeMap<String, Type>, String> {
    let mut found = BTreeMap::new();
    for file in FILES {
        let text = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some((kind, name)) = line.strip_prefix("pub ").and_then(|rest| rest.split_once(' ')) else {
                continue;
            };
            let Some(name) = name.strip_suffix(" {") else { continue };
            let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "}").collect();
            match kind {
                "struct" => found.insert(name.to_string(), Type::Struct(declared(&body, false))),
                "enum" => found.insert(name.to_string(), Type::Enum(declared(&body, true))),
                _ => None,
            };
        }
    }
    Ok(found)
}

/// The fields or choices between braces.
fn declared(body: &[&str], choices: bool) -> Vec<Declared> {
    let mut found: Vec<Declared> = Vec::new();
    let mut docs = String::new();
    for line in body {
        let nested = line.starts_with("        ");
        let line = line.trim();
        if let Some(text) = line.strip_prefix("///") {
            docs += text;
        } else if line.starts_with("#[") || line.starts_with('}') || line.is_empty() || line.starts_with("//")
        {
            continue;
        } else {
            let line = line.trim_end_matches(" {").trim_end_matches(',');
            let docs = std::mem::take(&mut docs).trim().to_string();
            let (name, kind) =
                line.strip_prefix("pub ").unwrap_or(line).split_once(": ").unwrap_or((line, ""));
            let item = Declared { name: name.into(), docs, kind: kind.into(), fields: Vec::new() };
            match found.last_mut() {
                Some(choice) if choices && nested => choice.fields.push(item),
                _ if choices => {
                    let name = item.name.split('(').next().unwrap_or_default();
                    found.push(Declared { name: kebab(name), ..item });
                }
                _ => found.push(item),
            }
        }
    }
    found
}

/// `ScaleThenShift` as `scale-then-shift`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(letter.to_lowercase());
    }
    out
}
