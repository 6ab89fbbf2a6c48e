//! Arrow IPC, one record batch in memory at a time.
//!
//! A stream is messages of metadata (a flatbuffer) and a body (the buffers): a schema, then dictionaries and record
//! batches, then an end-of-stream mark. A file is the magic word, a stream, and a footer for random access. It is read
//! front to back, which works through a pipe; the footer is compared with what was read, so that a file which was cut
//! off, however late, is refused. For the same reason a stream must have its mark: the specification lets a writer end a
//! stream by closing the connection, but then nothing tells a complete stream from one that was cut between two messages,
//! and all common writers do write the mark. See <https://arrow.apache.org/docs/format/Columnar.html>.

use std::{
    collections::HashMap,
    io::{BufRead, BufReader, Read},
};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_ipc::{
    CompressionType, Message, MessageHeader,
    convert::fb_to_schema,
    reader::{RecordBatchDecoder, read_dictionary},
};
use arrow_schema::{ArrowError, SchemaRef};
use flowgmm_data::Frame;

use crate::{
    Error, Options, Result, Warning,
    damage::{decode, plausible},
    record_batch::{Layout, Slices},
};

const FORMAT: &str = "Arrow";
const MAGIC: &[u8] = b"ARROW1";
const CONTINUATION: [u8; 4] = [0xff; 4];
/// A footer has 24 bytes for each record batch.
const LONGEST_FOOTER: u64 = 1 << 28;

/// Batches of rows of Arrow IPC.
pub(crate) struct Batches {
    messages: Messages,
    schema: SchemaRef,
    layout: Layout,
    dictionaries: HashMap<i64, ArrayRef>,
    slices: Slices,
    /// Record batches that were read.
    batches: usize,
}

/// Reads the schema and finds the columns.
pub(crate) fn open(
    stream: Box<dyn Read + Send>,
    name: &str,
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Batches> {
    let mut messages = Messages::open(stream, name)?;
    let first = messages.next()?.ok_or_else(|| Error::damaged(name, FORMAT, "it has no schema"))?;
    let schema: SchemaRef = decode(name, FORMAT, || {
        let message = message(&first.metadata)?;
        let schema = message.header_as_schema().ok_or_else(|| broken("it does not start with a schema"))?;
        match schema.endianness().equals_to_target_endianness() {
            true => Ok(fb_to_schema(schema).into()),
            false => Err(broken("its numbers are in the byte order of another machine")),
        }
    })?;
    let layout = Layout::new(name, &schema, options, warnings)?;
    let rows = options.rows(layout.width(&schema));
    Ok(Batches {
        messages,
        schema,
        layout,
        dictionaries: HashMap::new(),
        slices: Slices::new(rows),
        batches: 0,
    })
}

impl Batches {
    fn read(&mut self) -> Result<Option<Frame>> {
        loop {
            if let Some(slice) = self.slices.next() {
                return self.layout.frame(&slice).map(Some);
            }
            let Some(part) = self.messages.next()? else {
                self.messages.check_end(self.batches)?;
                return Ok(None);
            };
            let name = self.messages.name.clone();
            if let Some(batch) = decode(&name, FORMAT, || self.decode(part))? {
                self.batches += 1;
                self.slices.put(batch);
            }
        }
    }

    /// The record batch of a message, or the dictionary put aside.
    fn decode(
        &mut self,
        Part { metadata, body }: Part,
    ) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        let message = message(&metadata)?;
        let version = message.version();
        match message.header_type() {
            MessageHeader::RecordBatch => {
                let batch = message.header_as_record_batch().ok_or_else(|| broken("a batch is missing"))?;
                check(&batch, &body)?;
                let body = body.into();
                RecordBatchDecoder::try_new(&body, batch, self.schema.clone(), &self.dictionaries, &version)?
                    .with_projection(Some(self.layout.roots()))
                    .read_record_batch()
                    .map(Some)
            }
            MessageHeader::DictionaryBatch => {
                let batch =
                    message.header_as_dictionary_batch().ok_or_else(|| broken("a dictionary is missing"))?;
                let values = batch.data().ok_or_else(|| broken("a dictionary has no values"))?;
                check(&values, &body)?;
                let body = body.into();
                read_dictionary(&body, batch, &self.schema, &mut self.dictionaries, &version)?;
                Ok(None)
            }
            other => Err(broken(&format!("a message is of the unexpected kind {other:?}"))),
        }
    }
}

impl Iterator for Batches {
    type Item = Result<Frame>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read().transpose()
    }
}

/// Checks that the buffers of a batch lie in its body, and how much they say they unpack to.
fn check(batch: &arrow_ipc::RecordBatch, body: &[u8]) -> std::result::Result<(), ArrowError> {
    let packed = match batch.compression().map(|compression| compression.codec()) {
        None => false,
        Some(CompressionType::LZ4_FRAME | CompressionType::ZSTD) => true,
        Some(other) => return Err(broken(&format!("it is packed in the unknown way {other:?}"))),
    };
    for buffer in batch.buffers().into_iter().flatten() {
        let range = usize::try_from(buffer.offset()).ok().zip(usize::try_from(buffer.length()).ok());
        let bytes = range.and_then(|(at, length)| body.get(at..at.checked_add(length)?));
        let bytes = bytes.ok_or_else(|| broken("values are outside of the file"))?;
        // Packed buffers start with their unpacked size, -1 if not packed after all.
        if let Some(size) = bytes.first_chunk().filter(|_| packed) {
            let size = i64::from_le_bytes(*size);
            if size < -1 || (size > 0 && !plausible(bytes.len() as u64, size as u64)) {
                return Err(broken("values unpack to an absurd size"));
            }
        }
    }
    Ok(())
}

fn broken(why: &str) -> ArrowError {
    ArrowError::ParseError(why.into())
}

/// The messages of a stream, or of the stream in a file.
struct Messages {
    name: String,
    stream: BufReader<Box<dyn Read + Send>>,
    /// Whether a footer follows the messages.
    is_file: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Reading,
    /// After the end-of-stream mark.
    Ended,
    /// After the footer, too.
    Checked,
}

/// One message: metadata and body.
struct Part {
    metadata: Vec<u8>,
    body: Vec<u8>,
}

fn message(metadata: &[u8]) -> std::result::Result<Message<'_>, ArrowError> {
    arrow_ipc::root_as_message(metadata).map_err(|_| broken("a message makes no sense"))
}

impl Messages {
    fn open(stream: Box<dyn Read + Send>, name: &str) -> Result<Self> {
        let mut stream = BufReader::with_capacity(1 << 16, stream);
        let failed = |error| Error::reading(name, FORMAT, error);
        let is_file = stream.fill_buf().map_err(failed)?.starts_with(MAGIC);
        if is_file {
            // Padded with zeros, to 8 bytes by most writers, to 64 by some.
            stream.consume(MAGIC.len());
            let zeros =
                stream.fill_buf().map_err(failed)?.iter().take(64).take_while(|&&byte| byte == 0).count();
            stream.consume(zeros);
        }
        Ok(Self { name: name.into(), stream, is_file, state: State::Reading })
    }

    fn next(&mut self) -> Result<Option<Part>> {
        if self.state != State::Reading {
            return Ok(None);
        }
        let length = self.length()?;
        if length == 0 {
            self.state = State::Ended;
            return Ok(None);
        }
        let metadata = self.exactly(length.into())?;
        let body = decode(&self.name, FORMAT, || {
            let length = message(&metadata)?.bodyLength();
            u64::try_from(length).map_err(|_| broken("a message has a negative length"))
        })?;
        Ok(Some(Part { metadata, body: self.exactly(body)? }))
    }

    /// The length of the next metadata, 0 at the end-of-stream mark.
    fn length(&mut self) -> Result<u32> {
        let mut prefix = self.prefix()?;
        if prefix == CONTINUATION {
            prefix = self.prefix()?;
        }
        Ok(u32::from_le_bytes(prefix))
    }

    fn prefix(&mut self) -> Result<[u8; 4]> {
        let mut bytes = Vec::new();
        let taken = (&mut self.stream).take(4).read_to_end(&mut bytes);
        taken.map_err(|error| Error::reading(&self.name, FORMAT, error))?;
        bytes.first_chunk().copied().ok_or_else(|| {
            let why = "it ends without an end-of-stream mark, which a writer adds when it is closed";
            Error::damaged(&self.name, FORMAT, why)
        })
    }

    /// Checks, once the messages are read, that a file ends with a footer of as many record batches:
    /// `footer, its length (4 bytes), ARROW1`.
    fn check_end(&mut self, batches: usize) -> Result<()> {
        if !self.is_file || self.state == State::Checked {
            return Ok(());
        }
        self.state = State::Checked;
        let mut rest = Vec::new();
        let read = (&mut self.stream).take(LONGEST_FOOTER).read_to_end(&mut rest);
        read.map_err(|error| Error::reading(&self.name, FORMAT, error))?;
        decode(&self.name, FORMAT, || {
            let footer = rest.strip_suffix(MAGIC).and_then(|rest| rest.split_last_chunk());
            let (footer, length) = footer.ok_or_else(|| broken("its footer is cut off"))?;
            if u64::from(u32::from_le_bytes(*length)) != footer.len() as u64 {
                return Err(broken("its footer has another length than it says"));
            }
            let footer =
                arrow_ipc::root_as_footer(footer).map_err(|_| broken("its footer makes no sense"))?;
            match footer.recordBatches().map_or(0, |blocks| blocks.len()) {
                listed if listed == batches => Ok(()),
                listed => Err(broken(&format!("it lists {listed} record batches and holds {batches}"))),
            }
        })
    }

    /// Exactly as many bytes. Memory is allocated as bytes arrive, not as the message claims.
    fn exactly(&mut self, length: u64) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let taken = (&mut self.stream).take(length).read_to_end(&mut bytes);
        taken.map_err(|error| Error::reading(&self.name, FORMAT, error))?;
        if bytes.len() as u64 == length { Ok(bytes) } else { Err(self.too_short()) }
    }

    fn too_short(&self) -> Error {
        Error::damaged(&self.name, FORMAT, "it ends too early")
    }
}
