//! Encodes pages and footer in Thrift's compact protocol
//! (<https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>).
//!
//! Write only: a struct is written field by field, in order of number. Each method names its type,
//! so that code reads like the declaration that it follows.

/// Type numbers of the protocol.
const TRUE: u8 = 1;
const FALSE: u8 = 2;
const BYTE: u8 = 3;
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// A struct under construction.
#[derive(Debug, Default)]
pub(crate) struct Struct {
    bytes: Vec<u8>,
    last_field: u8,
}

/// Appends an unsigned integer with seven bits per byte, lowest first (ULEB128).
pub(crate) fn varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Maps small signed numbers to small unsigned ones, in the order 0, -1, 1, -2, ….
fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn binary(bytes: &mut Vec<u8>, content: &[u8]) {
    varint(bytes, content.len() as u64);
    bytes.extend_from_slice(content);
}

impl Struct {
    /// Appends a field header, which stores the difference from the previous field number.
    fn head(mut self, field: u8, kind: u8) -> Self {
        self.bytes.push((field - self.last_field) << 4 | kind);
        self.last_field = field;
        self
    }

    pub(crate) fn bool(self, field: u8, value: bool) -> Self {
        self.head(field, if value { TRUE } else { FALSE })
    }

    pub(crate) fn byte(self, field: u8, value: u8) -> Self {
        let mut this = self.head(field, BYTE);
        this.bytes.push(value);
        this
    }

    pub(crate) fn i32(self, field: u8, value: usize) -> Self {
        let mut this = self.head(field, I32);
        varint(&mut this.bytes, zigzag(value as i64));
        this
    }

    pub(crate) fn i64(self, field: u8, value: usize) -> Self {
        let mut this = self.head(field, I64);
        varint(&mut this.bytes, zigzag(value as i64));
        this
    }

    pub(crate) fn text(self, field: u8, value: &str) -> Self {
        let mut this = self.head(field, BINARY);
        binary(&mut this.bytes, value.as_bytes());
        this
    }

    pub(crate) fn inner(self, field: u8, value: Self) -> Self {
        let mut this = self.head(field, STRUCT);
        this.bytes.extend(value.finish());
        this
    }

    /// Appends a list of encoded elements.
    fn list(self, field: u8, kind: u8, elements: &[Vec<u8>]) -> Self {
        let mut this = self.head(field, LIST);
        match elements.len() {
            short @ 0..15 => this.bytes.push((short as u8) << 4 | kind),
            long => {
                this.bytes.push(0xf0 | kind);
                varint(&mut this.bytes, long as u64);
            }
        }
        this.bytes.extend(elements.concat());
        this
    }

    pub(crate) fn i32s(self, field: u8, values: &[usize]) -> Self {
        let one = |value: &usize| {
            let mut bytes = Vec::new();
            varint(&mut bytes, zigzag(*value as i64));
            bytes
        };
        self.list(field, I32, &values.iter().map(one).collect::<Vec<_>>())
    }

    pub(crate) fn texts(self, field: u8, values: &[&str]) -> Self {
        let one = |value: &&str| {
            let mut bytes = Vec::new();
            binary(&mut bytes, value.as_bytes());
            bytes
        };
        self.list(field, BINARY, &values.iter().map(one).collect::<Vec<_>>())
    }

    pub(crate) fn structs(self, field: u8, values: impl IntoIterator<Item = Self>) -> Self {
        let values: Vec<_> = values.into_iter().map(Self::finish).collect();
        self.list(field, STRUCT, &values)
    }

    /// The bytes, with the end marker.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}
