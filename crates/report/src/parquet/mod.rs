//! Writes tables of typed columns as Parquet files, which DuckDB, pandas and Spark read with their types.
//!
//! A file is a sequence of column chunks with a footer that describes them
//! (<https://parquet.apache.org/docs/file-format/>). This writer uses the smallest part of the format that
//! every reader must support: one page per chunk, plain values, texts by a dictionary, no compression. Every
//! column may contain nulls, so the schema of a table never depends on its rows.
//!
//! Rejected: the crate `parquet`, which adds 669 kB to a program that should stay small (this adds 47 kB),
//! and ten times as much to its build time; and an optional feature that is off by default, because users of
//! the prebuilt program would not have it. The cost is the lack of compression: numbers take eight bytes
//! each.
#![forbid(unsafe_code)]

mod chunk;
mod footer;
mod thrift;
mod writer;

pub use footer::read_footer;
pub use writer::{ParquetError, Writer};

/// Type of a column. Each value may be null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text.
    Text,
    /// Nanoseconds since 1970-01-01 UTC.
    Timestamp,
    /// A signed integer of 64 bits.
    Integer,
    /// An unsigned integer of 64 bits.
    Unsigned,
    /// A double.
    Number,
    /// True or false.
    Flag,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name, with the unit at the end.
    pub name: String,
    /// Type.
    pub kind: Kind,
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Null, for a column of any type.
    Null,
    /// For [`Kind::Text`].
    Text(String),
    /// For [`Kind::Timestamp`].
    Timestamp(i64),
    /// For [`Kind::Integer`] up to its largest value, and for [`Kind::Unsigned`].
    Whole(u64),
    /// For [`Kind::Integer`], which may be negative.
    Signed(i64),
    /// For [`Kind::Number`].
    Number(f64),
    /// For [`Kind::Flag`].
    Flag(bool),
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<u32> for Value {
    fn from(value: u32) -> Self {
        Self::Whole(value.into())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}
