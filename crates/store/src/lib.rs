//! The SQLite file in which trials, profiles, experiments and other documents are kept.
//!
//! Each document is kept whole, as the JSON text that `--json` prints, with the few columns beside
//! it that lists and searches need. The text is the truth, the columns are an index: a document
//! keeps every field that its version had, whatever later versions of the program know, and a new
//! field needs no change of the tables. Rejected: a column per quantity (each new quantity would
//! be a migration, and nothing here computes on them), and one JSON file per trial (a directory
//! of thousands of files has no order, no search and no atomic "profile with its trials"). The intervals of an
//! observation alone are kept by columns (`columns.rs`), because a day of them is 350 MB of JSON.
//!
//! Durability: each document is committed, with `synchronous = NORMAL` in WAL mode, before the call
//! that adds it returns. A process that is killed loses the trial in progress and nothing else. The
//! disk is flushed when the database is closed and not per trial, because the database often lies
//! on the very disk that is being measured, and a flush there would change what the next trial
//! finds: a power failure may therefore lose the last minutes, but not the database.
//!
//! The file carries an application id, so that another program's SQLite file is told apart from
//! one of ours before anything in it is touched, and a schema version, so that a file of a newer
//! program is refused rather than misread.
#![forbid(unsafe_code)]

mod columns;
mod document;
mod error;
mod library;
mod links;
mod open;
mod schema;

pub use document::{Document, DocumentRow, LAST};
pub use error::StoreError;
pub use library::Library;
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};

use std::path::{Path, PathBuf};

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: rusqlite::Connection,
    path: PathBuf,
    /// Behind the connection, which is closed first.
    _open: open::OpenDatabase,
}

impl Store {
    /// The file that this is, as it was named when it was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files that the database consists of: its own, the log, the index of the log
    /// (<https://www.sqlite.org/wal.html>) and the journal. The last three come and go.
    #[must_use]
    pub fn files(&self) -> [PathBuf; 4] {
        Self::files_at(&self.path)
    }

    /// The files of a database at this path.
    #[must_use]
    pub fn files_at(path: &Path) -> [PathBuf; 4] {
        ["", "-wal", "-shm", "-journal"].map(|suffix| {
            let mut name = path.to_owned().into_os_string();
            name.push(suffix);
            name.into()
        })
    }
}
