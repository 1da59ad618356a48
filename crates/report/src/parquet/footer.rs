//! Writes the footer: the columns, the positions of their chunks, and the writer's name
//! (<https://github.com/apache/parquet-format/blob/master/src/main/thrift/parquet.thrift>).

use crate::parquet::chunk::{PLAIN, RLE, RLE_DICTIONARY, Written};
use crate::parquet::thrift::Struct;
use crate::parquet::{Column, Kind};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};

/// First and last bytes of a file.
pub(crate) const MAGIC: &[u8; 4] = b"PAR1";
/// Length of the footer and magic at the end of a file.
const TAIL_BYTES: u64 = 8;
/// The format's number for a nullable column.
const OPTIONAL: usize = 1;

/// The chunks of all columns, in column order.
pub(crate) type RowGroup = Vec<Written>;

impl Kind {
    /// The format's number for the physical type.
    fn stored_as(self) -> usize {
        match self {
            Self::Flag => 0,
            Self::Timestamp | Self::Integer | Self::Unsigned => 2,
            Self::Number => 5,
            Self::Text => 6,
        }
    }

    /// The meaning of the values, for old readers and for new ones: the number of the converted
    /// type, the field of the logical type, and its content.
    fn means(self) -> Option<(Option<usize>, u8, Struct)> {
        let integer = |signed| Struct::default().byte(1, 64).bool(2, signed);
        match self {
            Self::Text => Some((Some(0), 1, Struct::default())),
            Self::Timestamp => {
                let nanoseconds = Struct::default().inner(3, Struct::default());
                Some((None, 8, Struct::default().bool(1, true).inner(2, nanoseconds)))
            }
            Self::Integer => Some((Some(18), 10, integer(true))),
            Self::Unsigned => Some((Some(14), 10, integer(false))),
            Self::Number | Self::Flag => None,
        }
    }
}

fn schema_element(column: &Column) -> Struct {
    let element = Struct::default().i32(1, column.kind.stored_as()).i32(3, OPTIONAL);
    let element = element.text(4, &column.name);
    let Some((converted, field, meaning)) = column.kind.means() else { return element };
    let element = converted.into_iter().fold(element, |element, number| element.i32(6, number));
    element.inner(10, Struct::default().inner(field, meaning))
}

fn chunk(column: &Column, written: &Written) -> Struct {
    let Written { at, dictionary_bytes, bytes, rows } = *written;
    let has_dictionary = dictionary_bytes > 0;
    let encodings =
        if has_dictionary { [PLAIN, RLE, RLE_DICTIONARY].as_slice() } else { &[PLAIN, RLE] };
    let facts = Struct::default()
        .i32(1, column.kind.stored_as())
        .i32s(2, encodings)
        .texts(3, &[&column.name])
        // No compression.
        .i32(4, 0)
        .i64(5, rows)
        .i64(6, bytes)
        .i64(7, bytes)
        .i64(9, at + dictionary_bytes);
    let facts = if has_dictionary { facts.i64(11, at) } else { facts };
    Struct::default().i64(2, at).inner(3, facts)
}

/// Largest footer that is read: enough for thousands of row groups, and limited to protect memory.
const FOOTER_BYTES_MAX: u64 = 64 << 20;

/// The bytes of the footer for a file with these row groups.
pub(crate) fn footer(
    columns: &[Column],
    groups: &[RowGroup],
    metadata: &[(String, String)],
    created_by: &str,
) -> Vec<u8> {
    let rows_of = |group: &RowGroup| group.first().map_or(0, |first| first.rows);
    let root = Struct::default().text(4, "schema").i32(5, columns.len());
    let schema = std::iter::once(root).chain(columns.iter().map(schema_element));
    let groups_told = groups.iter().map(|group| {
        let chunks = columns.iter().zip(group).map(|(column, written)| chunk(column, written));
        let bytes = group.iter().map(|written| written.bytes).sum();
        Struct::default().structs(1, chunks).i64(2, bytes).i64(3, rows_of(group))
    });
    let pairs = metadata.iter().map(|(key, value)| Struct::default().text(1, key).text(2, value));
    Struct::default()
        // The version of the format that all readers support.
        .i32(1, 1)
        .structs(2, schema)
        .i64(3, groups.iter().map(rows_of).sum())
        .structs(4, groups_told)
        .structs(5, pairs)
        .text(6, created_by)
        .finish()
}

/// Reads the footer of a Parquet file. Names and texts are readable in its bytes, which is enough
/// to find out which program wrote the file.
///
/// # Errors
/// If the file cannot be read, or is not a Parquet file.
pub fn read_footer(file: &mut (impl Read + Seek)) -> Result<Vec<u8>> {
    let no_parquet = || Error::new(ErrorKind::InvalidData, "it is not a Parquet file");
    let length = file.seek(SeekFrom::End(0))?;
    let tail_at = length.checked_sub(TAIL_BYTES).ok_or_else(no_parquet)?;
    file.seek(SeekFrom::Start(tail_at))?;
    let mut tail = [0; TAIL_BYTES as usize];
    file.read_exact(&mut tail)?;
    let ([a, b, c, d], magic) = ([tail[0], tail[1], tail[2], tail[3]], &tail[4..]);
    let bytes = u64::from(u32::from_le_bytes([a, b, c, d]));
    let at = tail_at.checked_sub(bytes).filter(|_| magic == MAGIC && bytes <= FOOTER_BYTES_MAX);
    let at = at.ok_or_else(no_parquet)?;
    file.seek(SeekFrom::Start(at))?;
    let mut footer = vec![0; bytes as usize];
    file.read_exact(&mut footer)?;
    Ok(footer)
}
