//! The few messages of ONNX that an export needs, written as protocol buffers (onnx.proto, version 1 of the format).
//!
//! ```text
//! field = key (number << 3 | wire type), then a varint (0), or a length and bytes (2); a message is a list of fields
//! ```

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// Adds a whole number; negative ones take ten bytes, as the format wants it.
    pub(super) fn int(mut self, field: u32, value: i64) -> Self {
        self.varint(u64::from(field << 3));
        self.varint(value as u64);
        self
    }

    /// Adds a 32-bit number.
    pub(super) fn float(mut self, field: u32, value: f32) -> Self {
        self.varint(u64::from(field << 3 | 5));
        self.0.extend(value.to_le_bytes());
        self
    }

    /// Adds bytes or a text.
    pub(super) fn bytes(mut self, field: u32, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        self.varint(u64::from(field << 3 | 2));
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    /// Adds a message.
    pub(super) fn message(self, field: u32, message: Message) -> Self {
        self.bytes(field, message.0)
    }

    /// Adds several values of one field.
    pub(super) fn each<T>(self, values: impl IntoIterator<Item = T>, add: impl Fn(Self, T) -> Self) -> Self {
        values.into_iter().fold(self, add)
    }

    /// The bytes.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

/// Types of elements, as TensorProto numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Element {
    Float = 1,
    Uint8 = 2,
    Int64 = 7,
    String = 8,
    Bool = 9,
    Double = 11,
}

/// A TensorProto of raw bytes.
pub(super) fn tensor(name: &str, shape: &[usize], element: Element, raw: Vec<u8>) -> Message {
    let dims = Message::default().each(shape, |message, &n| message.int(1, n as i64));
    dims.int(2, element as i64).bytes(8, name).bytes(9, raw)
}

/// A TensorProto of texts.
pub(super) fn texts(name: &str, values: &[String]) -> Message {
    let dims = Message::default().int(1, values.len() as i64).int(2, Element::String as i64);
    dims.each(values, |message, text| message.bytes(6, text)).bytes(8, name)
}

/// A ValueInfoProto: a tensor `[n, ..]` with so many more dimensions.
pub(super) fn value_info(name: &str, element: Element, more: &[usize]) -> Message {
    let shape = Message::default().message(1, Message::default().bytes(2, "n"));
    let shape = shape.each(more, |shape, &length| shape.message(1, Message::default().int(1, length as i64)));
    let tensor = Message::default().int(1, element as i64).message(2, shape);
    Message::default().bytes(1, name).message(2, Message::default().message(1, tensor))
}

/// A StringStringEntryProto, for readers of the file.
pub(super) fn entry(key: &str, value: &str) -> Message {
    Message::default().bytes(1, key).bytes(2, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes of the protocol buffers' own documentation: 150 in field 1, "testing" in field 2.
    #[test]
    fn fields_are_written_as_documented() {
        assert_eq!(Message::default().int(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().bytes(2, "testing").into_bytes();
        assert_eq!(text, [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
        assert_eq!(Message::default().int(3, -1).into_bytes().len(), 11);
    }
}
