//! Encodes the values of one column in one row group as pages.
//!
//! A data page contains the definition levels (1 for a value, 0 for a null) followed by the
//! non-null values (<https://parquet.apache.org/docs/file-format/data-pages/encodings/>). Each
//! distinct text is stored once, in a dictionary page, because ids and targets repeat in every row.

use crate::parquet::thrift::{Struct, varint};
use crate::parquet::{Kind, Value};
use std::collections::HashMap;

/// Encoding numbers of the format.
pub(crate) const PLAIN: usize = 0;
pub(crate) const RLE: usize = 3;
pub(crate) const RLE_DICTIONARY: usize = 8;
/// Page type numbers of the format.
const DATA_PAGE: usize = 0;
const DICTIONARY_PAGE: usize = 2;

/// Run-length encoded values: value and count.
#[derive(Debug, Default)]
struct Runs(Vec<(u32, u64)>);

impl Runs {
    fn push(&mut self, value: u32) {
        match self.0.last_mut() {
            Some((last, count)) if *last == value => *count += 1,
            _ => self.0.push((value, 1)),
        }
    }

    /// Encodes in the hybrid of runs and bit-packing, with runs only: the count, shifted by the bit
    /// that marks a run, and then the value in whole bytes.
    fn encode(&self, value_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for &(value, count) in &self.0 {
            varint(&mut bytes, count << 1);
            bytes.extend_from_slice(&value.to_le_bytes()[..value_bytes]);
        }
        bytes
    }
}

/// The values of a column since the last row group.
#[derive(Debug, Default)]
pub(crate) struct Chunk {
    rows: usize,
    levels: Runs,
    /// Plain-encoded values; for texts, each distinct one once.
    plain: Vec<u8>,
    /// Texts with their indices in `plain`.
    places: HashMap<String, u32>,
    /// Text indices, row by row.
    texts: Runs,
    /// Number of one-bit values.
    flags: usize,
}

/// What the footer stores about a chunk.
#[derive(Debug)]
pub(crate) struct Written {
    /// Offset of its pages.
    pub(crate) at: usize,
    /// Length of the dictionary page, which comes first; 0 without one.
    pub(crate) dictionary_bytes: usize,
    pub(crate) bytes: usize,
    pub(crate) rows: usize,
}

impl Chunk {
    /// Adds a value. Returns `false` and adds nothing if it does not match the type.
    pub(crate) fn push(&mut self, kind: Kind, value: &Value) -> bool {
        match (kind, value) {
            (_, Value::Null) => {}
            (Kind::Text, Value::Text(text)) => self.push_text(text),
            (Kind::Integer, Value::Whole(value)) if i64::try_from(*value).is_err() => return false,
            (Kind::Integer | Kind::Unsigned, Value::Whole(value)) => {
                self.plain.extend(value.to_le_bytes());
            }
            (Kind::Integer, Value::Signed(value)) | (Kind::Timestamp, Value::Timestamp(value)) => {
                self.plain.extend(value.to_le_bytes());
            }
            (Kind::Number, Value::Number(value)) => self.plain.extend(value.to_le_bytes()),
            (Kind::Flag, Value::Flag(value)) => self.push_flag(*value),
            _ => return false,
        }
        self.levels.push(u32::from(*value != Value::Null));
        self.rows += 1;
        true
    }

    fn push_text(&mut self, text: &str) {
        let next = self.places.len() as u32;
        let place = self.places.get(text).copied().unwrap_or(next);
        if place == next {
            self.plain.extend((text.len() as u32).to_le_bytes());
            self.plain.extend_from_slice(text.as_bytes());
            self.places.insert(text.to_owned(), place);
        }
        self.texts.push(place);
    }

    /// Adds a flag: eight per byte, from the lowest bit.
    fn push_flag(&mut self, flag: bool) {
        if self.flags.is_multiple_of(8) {
            self.plain.push(0);
        }
        if let Some(last) = self.plain.last_mut() {
            *last |= u8::from(flag) << (self.flags % 8);
        }
        self.flags += 1;
    }

    /// Size of the values so far, in bytes.
    pub(crate) fn size(&self) -> usize {
        self.plain.len()
    }

    /// Appends the pages to the file and resets the chunk.
    pub(crate) fn write(&mut self, kind: Kind, file: &mut Vec<u8>) -> Written {
        let chunk = std::mem::take(self);
        let at = file.len();
        let is_text = kind == Kind::Text;
        if is_text {
            let head = Struct::default().i32(1, chunk.places.len()).i32(2, PLAIN);
            page(file, DICTIONARY_PAGE, (7, head), &chunk.plain);
        }
        let dictionary_bytes = file.len() - at;
        let levels = chunk.levels.encode(1);
        let mut content = (levels.len() as u32).to_le_bytes().to_vec();
        content.extend(levels);
        if is_text {
            let largest = (chunk.places.len() as u32).saturating_sub(1);
            // At least one bit, although a dictionary with a single text could do without.
            let bits = (u32::BITS - largest.leading_zeros()).max(1);
            content.push(bits as u8);
            content.extend(chunk.texts.encode(bits.div_ceil(8) as usize));
        } else {
            content.extend(chunk.plain);
        }
        let encoding = if is_text { RLE_DICTIONARY } else { PLAIN };
        let head = Struct::default().i32(1, chunk.rows).i32(2, encoding).i32(3, RLE).i32(4, RLE);
        page(file, DATA_PAGE, (5, head), &content);
        Written { at, dictionary_bytes, bytes: file.len() - at, rows: chunk.rows }
    }
}

/// Appends a page with its header, in which each page type has a field of its own.
fn page(file: &mut Vec<u8>, kind: usize, (field, head): (u8, Struct), content: &[u8]) {
    let header = Struct::default().i32(1, kind).i32(2, content.len()).i32(3, content.len());
    file.extend(header.inner(field, head).finish());
    file.extend_from_slice(content);
}
