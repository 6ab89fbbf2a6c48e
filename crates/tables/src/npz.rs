//! NPZ files: zip archives of NumPy arrays, which side by side make a table.
//!
//! ```text
//! zip directory ─Member→ bytes (stored or deflated, sum checked) ─npy→ arrays ─suffix, columns→ those of one length
//! ```

mod member;
mod raw;

use std::collections::BTreeMap;
use std::io::BufReader;

use zip::ZipArchive;

use crate::{
    Error, Options, Result,
    damage::decode,
    npy::{Array, Batches, Header},
    shared::Shared,
};
use member::Member;
pub use raw::{RawArray, RawValues, read_arrays};

const FORMAT: &str = "NPZ";

/// The batches of the arrays that the options select.
pub(crate) fn open(file: Shared, name: &str, options: &Options) -> Result<Batches> {
    let members = members(&file, name)?;
    let suffix = options.suffix.as_deref().unwrap_or_default();
    let mut arrays = Vec::new();
    for member in &members {
        if let Some(prefix) = member.array.strip_suffix(suffix) {
            let prefix = if prefix.is_empty() { &member.array } else { prefix };
            if options.columns.as_deref().is_none_or(|wanted| may_hold(prefix, wanted)) {
                arrays.push(array(&file, name, member, prefix)?);
            }
        }
    }
    let batches = Batches::new(name, arrays, options)?;
    let lengths: Vec<u64> = batches.lengths().collect();
    let why = match lengths.as_slice() {
        [] if suffix.is_empty() => "no array holds the columns asked for".to_string(),
        [] => format!("no array has a name that ends in '{suffix}'"),
        [first, rest @ ..] if rest.iter().any(|n| n != first) => {
            "its arrays differ in length, so they are not columns of one table".to_string()
        }
        _ => return Ok(batches),
    };
    Err(explain(&file, name, &members, why))
}

/// Whether an array of this name can hold one of these columns.
fn may_hold(prefix: &str, wanted: &[String]) -> bool {
    wanted
        .iter()
        .filter_map(|name| name.strip_prefix(prefix))
        .any(|rest| rest.bytes().all(|b| b.is_ascii_digit()))
}

fn array(file: &Shared, name: &str, member: &Member, prefix: &str) -> Result<Array> {
    let mut stream = BufReader::with_capacity(1 << 16, member.open(file, name)?);
    let header = Header::read(&mut stream, name, &member.array)?;
    let expected = header.size.saturating_add(header.bytes());
    if expected != member.size {
        let (array, shape) = (&member.array, header.shape());
        let why = format!("array '{array}' of shape {shape} needs {expected} bytes, but has {}", member.size);
        return Err(Error::damaged(name, FORMAT, why));
    }
    Ok(Array::new(Box::new(stream), name, prefix, header))
}

/// The arrays of the archive, in its order.
fn members(file: &Shared, name: &str) -> Result<Vec<Member>> {
    let mut archive = decode(name, FORMAT, || ZipArchive::new(BufReader::new(file.clone())))?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let entry = decode(name, FORMAT, || Member::read(&mut archive, index))?;
        members.extend(entry);
    }
    if members.is_empty() {
        let sheet = archive.file_names().any(|file| file.starts_with("xl/") || file == "content.xml");
        let (what, remedy) = match sheet {
            true => ("a spreadsheet", "save the sheet as CSV in UTF-8"),
            false => ("a zip archive without NumPy arrays", "unpack it, or pack it with gzip"),
        };
        return Err(Error::Foreign { name: name.into(), what, remedy });
    }
    Ok(members)
}

/// Why the arrays are no table, and which of them would be.
fn explain(file: &Shared, name: &str, members: &[Member], why: String) -> Error {
    let mut shapes = Vec::new();
    let mut by_suffix: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for member in members {
        let Ok(array) = array(file, name, member, &member.array) else {
            shapes.push(format!("{} (not readable)", member.array));
            continue;
        };
        shapes.push(format!("{} {}", member.array, array.header.shape()));
        if let Some(at) = member.array.rfind('_').filter(|&at| at > 0) {
            by_suffix.entry(&member.array[at..]).or_default().push(array.header.n);
        }
    }
    by_suffix.retain(|_, lengths| lengths.iter().all(|n| *n == lengths[0]));
    let suffixes: Vec<String> = by_suffix.keys().map(|suffix| format!("'{suffix}'")).collect();
    let remedy = match suffixes.is_empty() {
        true => "Ask for columns of arrays of one length, or save those arrays alone".to_string(),
        false => format!("Choose some by the end of their names: {}", suffixes.join(" or ")),
    };
    Error::Arrays { name: name.into(), why, arrays: shapes.join(", "), remedy }
}
