//! Stores trials, profiles, experiments and other documents in an SQLite file.
//!
//! Each document is stored whole, as the JSON text that `--json` prints. A few columns beside the text
//! serve lists and searches. The text is authoritative and the columns are an index: a document keeps every
//! field of its version, and a new field needs no change of the tables. Rejected: a column per quantity
//! (each new quantity would be a migration, and nothing here computes on them), and one JSON file per trial
//! (a directory of thousands of files has no order, no search and no atomic "profile with its trials").
//! Only the intervals of an observation are stored in columns (`columns.rs`), because a day of them is 350
//! MB of JSON.
//!
//! Durability: the call that adds a document returns after its commit, with `synchronous = NORMAL` in WAL
//! mode. A process that is killed loses only the trial in progress. The disk is flushed when the database
//! is closed, not after each trial: the database is often on the disk being measured, and a flush would
//! disturb the next trial. A power failure may therefore lose the last minutes, but not the database.
//!
//! The file has an application id, so that another program's SQLite file is recognised before it is
//! changed. It also has a schema version, so that the file of a newer program is refused and not misread.
#![forbid(unsafe_code)]

mod columns;
mod document;
mod error;
mod find;
mod library;
mod links;
mod open;
mod schema;

pub use document::Document;
pub use error::StoreError;
pub use find::LAST;
pub use library::Library;
pub use schema::{APPLICATION_ID, SCHEMA_VERSION};

use std::path::{Path, PathBuf};

/// An open database.
#[derive(Debug)]
pub struct Store {
    connection: rusqlite::Connection,
    path: PathBuf,
    /// After the connection, because fields are dropped in this order and the connection must close first.
    _open: open::OpenDatabase,
}

impl Store {
    /// The path with which the database was opened.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The files of the database: the database itself, its log, the index of the log
    /// (<https://www.sqlite.org/wal.html>) and the journal. The last three exist only temporarily.
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
