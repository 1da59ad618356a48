//! Reads samples as a Prometheus server stores them, with the remote-read protocol and streamed chunks.
//!
//! A week of ten thousand devices is billions of samples: fifty gigabytes as JSON, three as stored. The
//! protocol consists of four Protocol Buffers messages and one encoding of samples: second differences of
//! times, and exclusive-ors of values (Gorilla, VLDB 2015). A crate for it would add a code generator and a
//! second HTTP stack.

use crate::prometheus::crc32c::crc32c;
use std::collections::BTreeMap;
use std::io::{BufReader, ErrorKind, Read};

/// Maximum frame size. A server sends about a megabyte at a time.
const FRAME_BYTES: u64 = 64 << 20;

/// A remote-read query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawQuery {
    /// Start of the range, milliseconds since 1970.
    pub begin_ms: i64,
    /// End of the range, inclusive.
    pub end_ms: i64,
    /// Regular expression that must match the complete name of a series.
    pub names: String,
}

/// A part of a series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RawSeries {
    /// Labels, including `__name__`.
    pub labels: BTreeMap<String, String>,
    /// Times in milliseconds since 1970, with values.
    pub samples: Vec<(i64, f64)>,
}

/// Encodes the query message. The protocol requires Snappy; this writes literal blocks only.
pub(crate) fn request(query: &RawQuery) -> Vec<u8> {
    let mut matcher = Vec::new();
    put_number(&mut matcher, 1, 2); // a regular expression that matches
    put_bytes(&mut matcher, 2, b"__name__");
    put_bytes(&mut matcher, 3, query.names.as_bytes());
    let mut one = Vec::new();
    put_number(&mut one, 1, query.begin_ms.cast_unsigned());
    put_number(&mut one, 2, query.end_ms.cast_unsigned());
    put_bytes(&mut one, 3, &matcher);
    let mut message = Vec::new();
    put_bytes(&mut message, 1, &one);
    // Accepted responses: streamed chunks.
    put_number(&mut message, 2, 1);
    literal(&message)
}

fn literal(message: &[u8]) -> Vec<u8> {
    let mut block = Vec::with_capacity(message.len() + 16);
    put_varint(&mut block, message.len() as u64);
    // The longest literal with a length of two bytes.
    for part in message.chunks(1 << 16) {
        block.push(61 << 2);
        block.extend_from_slice(&((part.len() - 1) as u16).to_le_bytes());
        block.extend_from_slice(part);
    }
    block
}

fn put_varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn put_number(to: &mut Vec<u8>, field: u8, value: u64) {
    to.push(field << 3);
    put_varint(to, value);
}

fn put_bytes(to: &mut Vec<u8>, field: u8, bytes: &[u8]) {
    to.push(field << 3 | 2);
    put_varint(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// Reads the frames of a response and passes on each part of a series. A server sends complete chunks, even
/// if they exceed the requested range; the samples outside it are omitted.
///
/// # Errors
/// What is wrong with the response.
pub(crate) fn read_frames(
    query: &RawQuery,
    body: impl Read,
    mut each: impl FnMut(RawSeries) -> bool,
) -> Result<(), String> {
    let mut body = BufReader::with_capacity(1 << 16, body);
    let mut frame = Vec::new();
    while let Some(length) = frame_length(&mut body)? {
        if length > FRAME_BYTES {
            return Err(format!("a frame of {length} bytes, longer than any server sends"));
        }
        let mut sum = [0; 4];
        body.read_exact(&mut sum).map_err(|error| ended(&error))?;
        frame.resize(length as usize, 0);
        body.read_exact(&mut frame).map_err(|error| ended(&error))?;
        if crc32c(&frame) != u32::from_be_bytes(sum) {
            return Err("a frame does not match its checksum".to_owned());
        }
        for field in fields(&frame) {
            let (1, Field::Bytes(series)) = field? else { continue };
            let mut series = one_series(series)?;
            series.samples.retain(|(time, _)| (query.begin_ms..=query.end_ms).contains(time));
            if !each(series) {
                return Ok(());
            }
        }
    }
    Ok(())
}

fn ended(error: &std::io::Error) -> String {
    format!("the response ended early: {error}")
}

/// The length of the next frame; `None` at the end of the response.
fn frame_length(body: &mut impl Read) -> Result<Option<u64>, String> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let mut byte = [0];
        match body.read_exact(&mut byte) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof && shift == 0 => {
                return Ok(None);
            }
            read => read.map_err(|error| ended(&error))?,
        }
        value |= u64::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(Some(value));
        }
        shift += 7;
        if shift > 56 {
            return Err("a frame without a length".to_owned());
        }
    }
}

enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

/// The fields of a message, in order.
fn fields(mut rest: &[u8]) -> impl Iterator<Item = Result<(u64, Field<'_>), String>> {
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = field(&mut rest);
        if found.is_none() {
            rest = &[];
        }
        Some(found.ok_or_else(|| "a message that is not a Protocol Buffer".to_owned()))
    })
}

fn field<'a>(rest: &mut &'a [u8]) -> Option<(u64, Field<'a>)> {
    let key = varint(rest)?;
    let value = match key & 7 {
        0 => Field::Number(varint(rest)?),
        1 => Field::Bytes(rest.split_off(..8)?),
        2 => {
            let length = usize::try_from(varint(rest)?).ok()?;
            Field::Bytes(rest.split_off(..length)?)
        }
        5 => Field::Bytes(rest.split_off(..4)?),
        _ => return None,
    };
    Some((key >> 3, value))
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0u64, 0);
    loop {
        let byte = *rest.split_off_first()?;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
        shift += 7;
        if shift > 63 {
            return None;
        }
    }
}

fn one_series(message: &[u8]) -> Result<RawSeries, String> {
    let mut series = RawSeries::default();
    for found in fields(message) {
        match found? {
            (1, Field::Bytes(label)) => {
                let (name, value) = one_label(label)?;
                series.labels.insert(name, value);
            }
            (2, Field::Bytes(chunk)) => one_chunk(chunk, &mut series.samples)?,
            _ => {}
        }
    }
    Ok(series)
}

fn one_label(message: &[u8]) -> Result<(String, String), String> {
    let (mut name, mut value) = (String::new(), String::new());
    for found in fields(message) {
        match found? {
            (1, Field::Bytes(bytes)) => name = String::from_utf8_lossy(bytes).into_owned(),
            (2, Field::Bytes(bytes)) => value = String::from_utf8_lossy(bytes).into_owned(),
            _ => {}
        }
    }
    Ok((name, value))
}

/// The only chunk encoding that is supported.
const XOR: u64 = 1;

fn one_chunk(message: &[u8], samples: &mut Vec<(i64, f64)>) -> Result<(), String> {
    let (mut encoding, mut data) = (0, &[][..]);
    for found in fields(message) {
        match found? {
            (3, Field::Number(number)) => encoding = number,
            (4, Field::Bytes(bytes)) => data = bytes,
            _ => {}
        }
    }
    if encoding != XOR {
        // Histograms are not needed here.
        return Ok(());
    }
    decode(data, samples).ok_or_else(|| "a truncated chunk of samples".to_owned())
}

/// Decodes the samples of a chunk; `None` if the chunk is truncated.
fn decode(data: &[u8], samples: &mut Vec<(i64, f64)>) -> Option<()> {
    let (head, rest) = data.split_first_chunk::<2>()?;
    let count = u16::from_be_bytes(*head);
    let mut bits = Bits { data: rest, at: 0 };
    if count == 0 {
        return Some(());
    }
    let mut time = bits.signed_varint()?;
    let mut value = bits.take(64)?;
    samples.push((time, f64::from_bits(value)));
    let mut delta = 0i64;
    let (mut leading, mut trailing) = (0u32, 0u32);
    for index in 1..count {
        if index == 1 {
            delta = bits.varint()?.cast_signed();
        } else {
            // More leading ones mean a longer second difference.
            let mut width = 0;
            for wider in [14, 17, 20, 64] {
                if bits.take(1)? == 0 {
                    break;
                }
                width = wider;
            }
            let second = match width {
                0 => 0,
                64 => bits.take(64)?.cast_signed(),
                width => {
                    let raw = bits.take(width)?.cast_signed();
                    // Values above half the range are negative; half the range itself is positive.
                    if raw > 1 << (width - 1) { raw - (1 << width) } else { raw }
                }
            };
            delta = delta.wrapping_add(second);
        }
        time = time.wrapping_add(delta);
        if bits.take(1)? == 1 {
            if bits.take(1)? == 1 {
                leading = bits.take(5)? as u32;
                let significant = match bits.take(6)? as u32 {
                    0 => 64,
                    some => some,
                };
                trailing = 64u32.checked_sub(leading + significant)?;
            }
            value ^= bits.take(64 - leading - trailing)? << trailing;
        }
        samples.push((time, f64::from_bits(value)));
    }
    Some(())
}

/// Reads bits, from the highest to the lowest of each byte.
struct Bits<'a> {
    data: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: u32) -> Option<u64> {
        let (mut value, mut left) = (0u64, count);
        while left > 0 {
            let byte = *self.data.get(self.at / 8)?;
            let free = 8 - (self.at % 8) as u32;
            let taken = left.min(free);
            let part = (byte >> (free - taken)) & (0xff >> (8 - taken));
            value = if taken == 64 { 0 } else { value << taken } | u64::from(part);
            self.at += taken as usize;
            left -= taken;
        }
        Some(value)
    }

    fn varint(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0u64, 0);
        loop {
            let byte = self.take(8)?;
            value |= (byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    /// Zigzag encoding: the lowest bit is the sign.
    fn signed_varint(&mut self) -> Option<i64> {
        let raw = self.varint()?;
        Some((raw >> 1).cast_signed() ^ -((raw & 1).cast_signed()))
    }
}
