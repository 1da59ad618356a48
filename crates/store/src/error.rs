//! What can go wrong with the file, each as one message: what was tried, on which file, what the
//! system said, and what to do.
//!
//! SQLite's own texts ("database is locked", "file is not a database") name neither the file nor a
//! way out, so each code that a user can meet has a variant of its own here. What remains goes
//! into [`StoreError::Sqlite`] with SQLite's words. Rejected: handing `rusqlite::Error` through,
//! which would make every caller translate, and each one differently.

use engine::input;
use rusqlite::ErrorCode;
use std::fs::File;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// `SQLITE_IOERR_SHMSIZE`: the shared-memory file of WAL mode could not grow, which a full file
/// system causes (<https://www.sqlite.org/rescode.html#ioerr_shmsize>).
const IOERR_SHMSIZE: i32 = 4874;

/// Why the store could not do what was asked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no place for the default database.
    #[error(
        "no location for the database: neither XDG_DATA_HOME nor HOME nor (on Windows) \
         LOCALAPPDATA is set to an absolute path; name a file with --db or HALFPOWER_DB"
    )]
    NoDefaultPath,
    /// The file is to be read, and is not there.
    #[error(
        "no database at {}: nothing has been saved there yet; run `halfpower check` first, or \
         name another file with --db or HALFPOWER_DB", .0.display()
    )]
    Missing(PathBuf),
    /// The folder of a database that the user named does not exist.
    #[error(
        "the folder {} for the database does not exist; create it, or name another file with --db or \
         HALFPOWER_DB", .0.display()
    )]
    NoFolder(PathBuf),
    /// The folder of the default database could not be made; the system says why.
    #[error(
        "cannot create the folder {} for the database: {}; check its permissions, or name another \
         file with --db", .0.display(), .1
    )]
    Folder(PathBuf, std::io::Error),
    /// The system does not let us open the file; it or SQLite says why.
    #[error("cannot open the database {}: {}; check the path and its permissions, or name \
             another file with --db", .0.display(), .1)]
    CannotOpen(PathBuf, String),
    /// The file is something else: what it is.
    #[error(
        "{} is not a halfpower database: {}; nothing in it was changed; name another file \
         with --db", .0.display(), .1
    )]
    NotADatabase(PathBuf, &'static str),
    /// The file was written by a later version of the program.
    #[error(
        "{} was written by a newer halfpower: schema {found}, but this program supports {known}; \
         update halfpower or use another --db", .path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version in it.
        found: u32,
        /// The newest version that this program knows.
        known: u32,
    },
    /// Somebody else holds the file for longer than we wait.
    #[error(
        "the database {} is locked by another process; wait until the other halfpower exits, or \
         use another --db", .0.display()
    )]
    Locked(PathBuf),
    /// The file or its file system does not take writes.
    #[error(
        "the database {} cannot be written: it, its folder or its file system is read-only; name \
         a writable file with --db, or use --no-save", .0.display()
    )]
    ReadOnly(PathBuf),
    /// The file system is full.
    #[error(
        "no space left for the database {}; earlier results are kept; free some space, or \
         name a file on another file system with --db", .0.display()
    )]
    NoSpace(PathBuf),
    /// The file is one of ours, and broken: what is wrong with it.
    #[error(
        "the database {} is damaged: {}; back it up, recover the readable rows with `sqlite3 FILE \
         .recover`, and continue with another --db", .0.display(), .1
    )]
    Damaged(PathBuf, String),
    /// A word that can only be a file, and there is none.
    #[error("{} is not a file; name a JSON document or an id", .0.display())]
    NoFile(PathBuf),
    /// A file of documents that cannot be read.
    #[error(transparent)]
    Input(#[from] input::InputError),
    /// A file of documents that cannot be used: what is wrong with it.
    #[error("cannot read {}: {}; name a JSON document or an id", .0.display(), .1)]
    File(PathBuf, String),
    /// No document has such an id.
    #[error("no {} {id:?} in {}; {}", .kinds.join(" or "), .path.display(), what_is_there(.kinds))]
    NotFound {
        /// The kinds that were looked for, `trial` or others.
        kinds: Vec<&'static str>,
        /// The id, the prefix or the word asked for.
        id: String,
        /// The file.
        path: PathBuf,
    },
    /// Several documents have ids that begin so.
    #[error("{id:?} matches more than one document in {}: {}; give more characters of the id",
            .path.display(), .candidates.join(", "))]
    Ambiguous {
        /// The prefix asked for.
        id: String,
        /// The documents that it begins, by kind and id, the first few of each kind.
        candidates: Vec<String>,
        /// The file.
        path: PathBuf,
    },
    /// A measured document with this id is there already, with other content.
    #[error("{kind} {id} is already in {}, with different content; it was not replaced", .path.display())]
    Duplicate {
        /// Its kind, `trial` or another.
        kind: &'static str,
        /// Its id.
        id: String,
        /// The file.
        path: PathBuf,
    },
    /// The document cannot be written as JSON that reads back, or does not read.
    #[error("{kind} {id}: {cause}; the document in {} does not fit this version: update \
             halfpower, or report this", .path.display())]
    Document {
        /// Its kind, `trial` or another.
        kind: &'static str,
        /// Its id.
        id: String,
        /// The file.
        path: PathBuf,
        /// What the reader of JSON said.
        cause: serde_json::Error,
    },
    /// Anything else that SQLite reports, in its words.
    #[error("the database {}: {}; check the disk, or use another --db", .0.display(), .1)]
    Sqlite(PathBuf, rusqlite::Error),
}

impl StoreError {
    /// Whether the file is of another kind or version: the wrong one was named, and no other moment makes
    /// it ours.
    #[must_use]
    pub fn is_wrong_file(&self) -> bool {
        matches!(self, Self::NotADatabase(..) | Self::NewerSchema { .. })
    }

    /// The variant that fits what SQLite said about `path`.
    pub(crate) fn from_sqlite(path: &Path, cause: rusqlite::Error) -> Self {
        let rusqlite::Error::SqliteFailure(failure, ref words) = cause else {
            return Self::Sqlite(path.to_owned(), cause);
        };
        let words = words.clone().unwrap_or_else(|| failure.to_string());
        let path = path.to_owned();
        match failure.code {
            ErrorCode::NotADatabase => Self::NotADatabase(path, "it is not a SQLite file"),
            ErrorCode::DatabaseCorrupt => Self::Damaged(path, words),
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => Self::Locked(path),
            ErrorCode::ReadOnly => Self::ReadOnly(path),
            ErrorCode::DiskFull => Self::NoSpace(path),
            _ if failure.extended_code == IOERR_SHMSIZE => Self::NoSpace(path),
            // SQLite keeps only "unable to open" of what the system says.
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                let cause = File::open(&path).err().map_or(words, |error| error.to_string());
                Self::CannotOpen(path, cause)
            }
            _ => Self::Sqlite(path, cause),
        }
    }
}

/// How documents of these kinds can be named.
fn what_is_there(kinds: &[&str]) -> &'static str {
    match kinds {
        ["profile"] => {
            "`halfpower show list` lists what is saved; run `halfpower check` to \
                        create one"
        }
        ["experiment"] => {
            "`halfpower show list` lists what is saved; run `halfpower sweep` to \
                           create one"
        }
        ["observation"] => "run `halfpower record` to create one or to save another tool's file",
        _ => {
            "give the id that was printed with it, or its beginning or end; \"last\" is the \
             newest; `halfpower show list` lists what is saved"
        }
    }
}
