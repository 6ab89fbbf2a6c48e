//! Tensors in JSON: numbers, truths and texts, flat or nested.

use std::fmt;

use flowgmm::data::{Cells, TextCells};
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, Error, SeqAccess, Visitor},
};

/// A tensor of a request.
#[derive(Deserialize)]
pub struct Tensor {
    /// The column.
    pub name: String,
    /// How many elements in each direction.
    pub shape: Vec<usize>,
    /// What the elements are.
    pub datatype: String,
    /// The elements, row by row; nested lists count like flat ones.
    #[serde(default)]
    pub data: Elements,
    /// Where the elements are, if not in JSON.
    #[serde(default)]
    pub parameters: Parameters,
}

/// What is said of a tensor besides.
#[derive(Default, Deserialize)]
#[serde(default)]
pub struct Parameters {
    /// Bytes of its elements, which follow the JSON.
    pub binary_data_size: Option<usize>,
    /// Whether the answer's elements shall follow the JSON.
    pub binary_data: Option<bool>,
}

/// The elements of a tensor.
#[derive(Default)]
pub struct Elements {
    /// The numbers; NaN where an element is a text or null.
    pub numbers: Vec<f64>,
    /// The texts, as soon as there is one; none where an element is null.
    texts: Option<Vec<Option<String>>>,
}

impl Elements {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether all are numbers or null.
    pub fn are_numbers(&self) -> bool {
        self.texts.is_none()
    }

    /// A column of a table: texts that read as numbers are numbers, as in files.
    pub fn into_cells(self) -> Cells {
        match self.texts {
            None => Cells::Numbers(self.numbers),
            Some(texts) => Cells::from_texts(texts.iter().map(|text| text.as_deref()).collect::<TextCells>()),
        }
    }

    fn number(&mut self, value: f64) {
        if let Some(texts) = &mut self.texts {
            texts.push((!value.is_nan()).then(|| flowgmm::data::number_text(value)));
        }
        self.numbers.push(value);
    }

    fn text(&mut self, text: &str) {
        let numbers = &self.numbers;
        let texts = self.texts.get_or_insert_with(|| {
            let as_text = |v: &f64| (!v.is_nan()).then(|| flowgmm::data::number_text(*v));
            numbers.iter().map(as_text).collect()
        });
        // An empty text is a missing cell, as in files.
        let text = text.trim();
        texts.push((!text.is_empty()).then(|| text.to_string()));
        self.numbers.push(f64::NAN);
    }
}

impl Elements {
    /// Elements as bytes, little-endian; texts with their lengths before them. Nothing if they are no such bytes, or a
    /// number is infinite.
    pub fn from_bytes(datatype: &str, bytes: &[u8]) -> Option<Self> {
        let mut elements = Self::default();
        fn each<const N: usize>(bytes: &[u8], mut take: impl FnMut([u8; N])) -> Option<()> {
            let chunks = bytes.chunks_exact(N);
            chunks
                .remainder()
                .is_empty()
                .then(|| chunks.for_each(|chunk| take(chunk.try_into().expect("N bytes"))))
        }
        let mut number = |value: f64| elements.number(value);
        match datatype {
            "FP64" => each(bytes, |b| number(f64::from_le_bytes(b))),
            "FP32" => each(bytes, |b| number(f32::from_le_bytes(b).into())),
            "INT8" => each(bytes, |b| number(i8::from_le_bytes(b).into())),
            "INT16" => each(bytes, |b| number(i16::from_le_bytes(b).into())),
            "INT32" => each(bytes, |b| number(i32::from_le_bytes(b).into())),
            "INT64" => each(bytes, |b| number(i64::from_le_bytes(b) as f64)),
            "UINT8" => each(bytes, |b| number(u8::from_le_bytes(b).into())),
            "UINT16" => each(bytes, |b| number(u16::from_le_bytes(b).into())),
            "UINT32" => each(bytes, |b| number(u32::from_le_bytes(b).into())),
            "UINT64" => each(bytes, |b| number(u64::from_le_bytes(b) as f64)),
            "BOOL" => each(bytes, |[b]| elements.text(if b == 0 { "false" } else { "true" })),
            "BYTES" => {
                let mut rest = bytes;
                while let Some((length, after)) = rest.split_first_chunk() {
                    let length = u32::from_le_bytes(*length) as usize;
                    let (text, after) = after.split_at_checked(length)?;
                    elements.text(std::str::from_utf8(text).ok()?);
                    rest = after;
                }
                rest.is_empty().then_some(())
            }
            _ => None,
        }?;
        // JSON has no infinite numbers, and neither have rows.
        elements.numbers.iter().all(|v| !v.is_infinite()).then_some(elements)
    }
}

impl<'de> Deserialize<'de> for Elements {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut elements = Self::default();
        Collect(&mut elements).deserialize(deserializer)?;
        Ok(elements)
    }
}

/// Adds what is read to the elements.
struct Collect<'a>(&'a mut Elements);

impl<'de> DeserializeSeed<'de> for Collect<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Collect<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a number, a text, true, false, null, or a list of them")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.0.number(value);
        Ok(())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.0.number(value as f64);
        Ok(())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.0.number(value as f64);
        Ok(())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.0.text(if value { "true" } else { "false" });
        Ok(())
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<(), E> {
        self.0.text(value);
        Ok(())
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.0.number(f64::NAN);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Collect(self.0))?.is_some() {}
        Ok(())
    }
}
