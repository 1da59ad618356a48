//! Writes a file row by row.

use crate::parquet::chunk::Chunk;
use crate::parquet::footer::{MAGIC, RowGroup, footer};
use crate::parquet::{Column, Kind, Value};
use thiserror::Error;

/// Rows per row group, the unit in which readers divide their work. DuckDB's own have about twice as many.
const GROUP_ROWS: usize = 1 << 16;
/// Size of a column in bytes that ends a row group, far below the 2 GiB limit of a page.
const GROUP_BYTES: usize = 64 << 20;

/// A row that does not fit a table.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum ParquetError {
    /// A value has the wrong type for its column, or is too large.
    #[error("the column {column} cannot contain {value:?}: its type is {kind:?}")]
    Value {
        /// Name of the column.
        column: String,
        /// Type of the column.
        kind: Kind,
        /// The value.
        value: Value,
    },
    /// The number of values differs from the number of columns.
    #[error("a row of {0} values does not fit a table of {1} columns")]
    Row(usize, usize),
}

/// A table under construction.
#[derive(Debug)]
pub struct Writer {
    columns: Vec<Column>,
    chunks: Vec<Chunk>,
    groups: Vec<RowGroup>,
    file: Vec<u8>,
    rows: usize,
    group_rows: usize,
}

impl Writer {
    /// A table without rows.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Self {
        let chunks = columns.iter().map(|_| Chunk::default()).collect();
        let file = MAGIC.to_vec();
        Self { columns, chunks, groups: Vec::new(), file, rows: 0, group_rows: 0 }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// If it does not fit the columns. The table is unusable afterwards.
    pub fn row(&mut self, values: &[Value]) -> Result<(), ParquetError> {
        if values.len() != self.columns.len() {
            return Err(ParquetError::Row(values.len(), self.columns.len()));
        }
        for ((column, chunk), value) in self.columns.iter().zip(&mut self.chunks).zip(values) {
            if !chunk.push(column.kind, value) {
                let (column, kind, value) = (column.name.clone(), column.kind, value.clone());
                return Err(ParquetError::Value { column, kind, value });
            }
        }
        self.rows += 1;
        self.group_rows += 1;
        let largest = || self.chunks.iter().map(Chunk::size).max().unwrap_or(0);
        if self.group_rows >= GROUP_ROWS || largest() >= GROUP_BYTES {
            self.end_group();
        }
        Ok(())
    }

    /// Number of rows so far.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn end_group(&mut self) {
        let pairs = self.columns.iter().zip(&mut self.chunks);
        let group = pairs.map(|(column, chunk)| chunk.write(column.kind, &mut self.file)).collect();
        self.groups.push(group);
        self.group_rows = 0;
    }

    /// Finishes the file and returns its bytes. `metadata` are text pairs that readers show.
    /// `created_by` is the name and version of the program (`halfpower version 1.2.3`).
    #[must_use]
    pub fn finish(mut self, metadata: &[(String, String)], created_by: &str) -> Vec<u8> {
        if self.group_rows > 0 {
            self.end_group();
        }
        let footer = footer(&self.columns, &self.groups, metadata, created_by);
        self.file.extend_from_slice(&footer);
        self.file.extend((footer.len() as u32).to_le_bytes());
        self.file.extend_from_slice(MAGIC);
        self.file
    }
}
