//! Rows and images as JSON.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use flowgmm::{
    data::Image,
    study::{Cell, Decoded},
};
use serde::{Serialize, Serializer, ser::SerializeMap as _};

/// `{"row": {column: value}}` or `{"image": {...}}`, to be flattened into what it belongs to.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Cells by column, in their order.
    Row(Cells),
    /// An image.
    Image(Picture),
}

impl From<Decoded> for Shown {
    fn from(decoded: Decoded) -> Self {
        match decoded {
            Decoded::Row(cells) => Self::Row(Cells(cells)),
            Decoded::Image(image) => Self::Image(image.into()),
        }
    }
}

/// Cells by column, in their order.
pub struct Cells(pub Vec<(String, Cell)>);

impl Serialize for Cells {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in &self.0 {
            map.serialize_entry(column, &CellValue(cell))?;
        }
        map.end()
    }
}

/// A cell: a number, a text or null.
pub struct CellValue<'a>(pub &'a Cell);

impl Serialize for CellValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Cell::Missing => serializer.serialize_none(),
            Cell::Number(value) => serializer.serialize_f64(*value),
            Cell::Text(text) => serializer.serialize_str(text),
        }
    }
}

/// An image: its bytes in the order row, column, channel, in base64.
#[derive(Serialize)]
pub struct Picture {
    height: usize,
    width: usize,
    channels: usize,
    pixels: String,
}

impl From<Image> for Picture {
    fn from(image: Image) -> Self {
        let Image { channels, height, width, pixels } = image;
        let area = height * width;
        let interleaved: Vec<u8> =
            (0..area).flat_map(|at| (0..channels).map(move |c| c * area + at)).map(|at| pixels[at]).collect();
        Self { height, width, channels, pixels: STANDARD.encode(interleaved) }
    }
}

/// Several rows: `{"rows": [...]}` or `{"images": [...]}`, to be flattened into what they belong to.
#[derive(Serialize)]
#[serde(transparent)]
pub struct Several<T>(BTreeMap<&'static str, Vec<T>>);

impl Several<Inner> {
    /// Of one list.
    pub fn of(decoded: Vec<Decoded>) -> Self {
        let (key, inner) = list(decoded);
        Self(BTreeMap::from([(key, inner)]))
    }
}

impl Several<Vec<Inner>> {
    /// Of one list for each row, all of one kind.
    pub fn lists(lists: Vec<Vec<Decoded>>) -> Self {
        let (keys, inner): (Vec<_>, Vec<_>) = lists.into_iter().map(list).unzip();
        Self(keys.first().map(|key| (*key, inner)).into_iter().collect())
    }
}

/// The word for these rows, and the rows without it.
fn list(decoded: Vec<Decoded>) -> (&'static str, Vec<Inner>) {
    let key = if matches!(decoded.first(), Some(Decoded::Image(_))) { "images" } else { "rows" };
    (key, decoded.into_iter().map(Inner::from).collect())
}

/// A row or an image without the word for it.
#[derive(Serialize)]
#[serde(untagged)]
pub enum Inner {
    /// Cells by column.
    Row(Cells),
    /// An image.
    Image(Picture),
}

impl From<Decoded> for Inner {
    fn from(decoded: Decoded) -> Self {
        match decoded {
            Decoded::Row(cells) => Self::Row(Cells(cells)),
            Decoded::Image(image) => Self::Image(image.into()),
        }
    }
}
