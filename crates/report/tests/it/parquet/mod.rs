//! Tests the bytes of Parquet files, and what a table rejects. The program's own tests check that
//! other programs can read the files, if Python is available.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use report::parquet::{Column, Kind, ParquetError, Value, Writer, read_footer};
use std::io::Cursor;

fn column(name: &str, kind: Kind) -> Column {
    Column { name: name.to_owned(), kind }
}

fn whole(name: &str) -> Writer {
    Writer::new(vec![column(name, Kind::Integer)])
}

#[test]
fn a_file_is_what_the_format_says_byte_for_byte() {
    let mut table = whole("n");
    table.row(&[Value::Whole(3)]).unwrap();
    table.row(&[Value::Null]).unwrap();
    let file = table.finish(&[("k".to_owned(), "v".to_owned())], "me");
    // Computed by hand from the format's own documents.
    #[rustfmt::skip]
    let page = [
        0x15, 0, 0x15, 32, 0x15, 32, // page header: data page, 16 bytes, 16 bytes
        0x2c, 0x15, 4, 0x15, 0, 0x15, 6, 0x15, 6, 0, 0, // 2 values, plain, levels as runs
        4, 0, 0, 0, 2, 1, 2, 0, // 4 bytes of levels: once 1, once 0
        3, 0, 0, 0, 0, 0, 0, 0, // the value
    ];
    #[rustfmt::skip]
    let footer = [
        0x15, 2, // version 1
        0x19, 0x2c, // 2 elements of the schema
        0x48, 6, b's', b'c', b'h', b'e', b'm', b'a', 0x15, 2, 0, // a root with one child
        0x15, 4, 0x25, 2, 0x18, 1, b'n', // 64 bits, optional, its name
        0x25, 36, 0x4c, 0xac, 0x13, 64, 0x11, 0, 0, 0, // INT_64; an integer of 64 bits, signed
        0x16, 4, // 2 rows
        0x19, 0x1c, // a row group
        0x19, 0x1c, 0x26, 8, // a chunk, at byte 4
        0x1c, 0x15, 4, 0x19, 0x25, 0, 6, 0x19, 0x18, 1, b'n', // 64 bits; plain, runs; its name
        0x15, 0, 0x16, 4, 0x16, 66, 0x16, 66, 0x26, 8, 0, 0, // raw, 2 values, 33 bytes, at byte 4
        0x16, 66, 0x16, 4, 0, // 33 bytes, 2 rows
        0x19, 0x1c, 0x18, 1, b'k', 0x18, 1, b'v', 0, // one pair
        0x18, 2, b'm', b'e', 0, // who wrote it
    ];
    let length = (footer.len() as u32).to_le_bytes();
    let expected = [b"PAR1", page.as_slice(), &footer, &length, b"PAR1"].concat();
    assert_eq!(file, expected);
    assert_eq!(read_footer(&mut Cursor::new(file)).unwrap(), footer);
}

#[test]
fn what_is_no_parquet_file_has_no_footer() {
    let whole_file = whole("n").finish(&[], "me");
    let cut = &whole_file[..whole_file.len() - 1];
    let too_long = [b"PAR1", [0xff, 0xff, 0xff, 0x7f].as_slice(), b"PAR1"].concat();
    for bytes in [b"".as_slice(), b"PAR1", b"a text of some length", cut, &too_long] {
        let error = read_footer(&mut Cursor::new(bytes)).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidData, "{bytes:?}");
    }
}

#[test]
fn a_row_that_does_not_fit_is_refused_with_the_column_and_the_value() {
    let said = |values: &[Value]| whole("n").row(values).unwrap_err();
    assert_eq!(said(&[]), ParquetError::Row(0, 1));
    for value in [Value::Whole(1 << 63), Value::Number(1.0), "1".into(), Value::Timestamp(1)] {
        let error = said(std::slice::from_ref(&value));
        let expected = ParquetError::Value { column: "n".to_owned(), kind: Kind::Integer, value };
        assert_eq!(error, expected);
    }
    whole("n").row(&[Value::Signed(i64::MIN)]).unwrap();
    let mut unsigned = Writer::new(vec![column("n", Kind::Unsigned)]);
    assert!(unsigned.row(&[Value::Signed(-1)]).is_err());
    unsigned.row(&[Value::Whole(u64::MAX)]).unwrap();
    assert_eq!(unsigned.rows(), 1);
}

#[test]
fn a_text_is_written_once_however_many_rows_hold_it() {
    let bytes = |rows: usize| {
        let mut table = Writer::new(vec![column("id", Kind::Text)]);
        for _ in 0..rows {
            table.row(&["0197f3a0".into()]).unwrap();
        }
        table.finish(&[], "me").len()
    };
    // Only the numbers of rows and of runs grow.
    assert!(bytes(10_000) - bytes(1) < 20, "{} {}", bytes(1), bytes(10_000));
}
