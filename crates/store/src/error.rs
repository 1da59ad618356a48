//! Defines the errors of the database file. Each is one message: the operation, the file, the system's
//! reason, and what to do.
//!
//! SQLite's own texts ("database is locked", "file is not a database") name neither the file nor a
//! solution. So each code that a user can meet has a variant here. All other codes become
//! [`StoreError::Sqlite`] with SQLite's words. Rejected: handing `rusqlite::Error` through, which would
//! make every caller translate, and each one differently.

use engine::input;
use record::{DocumentKind, short_id};
use rusqlite::ErrorCode;
use std::fs::File;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// `SQLITE_IOERR_SHMSIZE`: the shared-memory file of WAL mode could not grow because the file system is
/// full (<https://www.sqlite.org/rescode.html#ioerr_shmsize>).
const IOERR_SHMSIZE: i32 = 4874;

/// Why an operation of the store failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The default database has no location.
    #[error(
        "no location for the database: neither XDG_DATA_HOME nor HOME nor (on Windows) \
         LOCALAPPDATA is set to an absolute path; name a file with --db or HALFPOWER_DB"
    )]
    NoDefaultPath,
    /// The file to read does not exist.
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
    /// The folder of the default database could not be created, with the system's reason.
    #[error(
        "cannot create the folder {} for the database: {}; check its permissions, or name another \
         file with --db or HALFPOWER_DB", .0.display(), .1
    )]
    Folder(PathBuf, std::io::Error),
    /// The file cannot be opened, with the reason of the system or SQLite.
    #[error("cannot open the database {}: {}; check the path and its permissions, or name \
             another file with --db or HALFPOWER_DB", .0.display(), .1)]
    CannotOpen(PathBuf, String),
    /// The file is not a halfpower database, with a description of what it is.
    #[error(
        "{} is not a halfpower database: {}; nothing in it was changed; name another file \
         with --db or HALFPOWER_DB", .0.display(), .1
    )]
    NotADatabase(PathBuf, &'static str),
    /// A later version of halfpower wrote the file.
    #[error(
        "{} was written by a newer halfpower: schema {found}, but this program supports {known}; \
         update halfpower or use another --db", .path.display()
    )]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The schema version of the file.
        found: u32,
        /// The newest schema version that this program supports.
        known: u32,
    },
    /// Another process holds the lock for longer than the timeout.
    #[error(
        "the database {} is locked by another process; wait until the other halfpower exits, or \
         use another --db", .0.display()
    )]
    Locked(PathBuf),
    /// The file or its file system is read-only.
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
    /// The file is a damaged halfpower database, with a description of the damage.
    #[error(
        "the database {} is damaged: {}; back it up, recover the readable rows with `sqlite3 FILE \
         .recover`, and continue with another --db", .0.display(), .1
    )]
    Damaged(PathBuf, String),
    /// The argument can only be a file, and no such file exists.
    #[error("{} is not a file; name a JSON document or an id", .0.display())]
    NoFile(PathBuf),
    /// A file of documents cannot be read.
    #[error(transparent)]
    Input(#[from] input::InputError),
    /// A file of documents is invalid, with a description of the error.
    #[error("cannot read {}: {}; name a JSON document or an id", .0.display(), .1)]
    File(PathBuf, String),
    /// No document has this id.
    #[error("no {} {id:?} in {}; {}", names(.kinds), .path.display(), what_is_there(.kinds))]
    NotFound {
        /// The kinds that were searched.
        kinds: Vec<DocumentKind>,
        /// The requested id, prefix or word.
        id: String,
        /// The file.
        path: PathBuf,
    },
    /// The only profile is partial.
    #[error(
        "no complete profile in {}: {}, the newest, is partial, because its check ended early; repeat \
         `halfpower check`, or name that id", .path.display(), short_id(.id)
    )]
    Partial {
        /// The id of the partial profile.
        id: String,
        /// The file.
        path: PathBuf,
    },
    /// Several documents have ids with this prefix.
    #[error("{id:?} matches more than one document in {}: {}; give more characters of the id",
            .path.display(), .candidates.join(", "))]
    Ambiguous {
        /// The requested prefix.
        id: String,
        /// The matching documents, by kind and id; the first few of each kind.
        candidates: Vec<String>,
        /// The file.
        path: PathBuf,
    },
    /// A measured document with this id already exists with other content.
    #[error(
        "{} {id} is already in {}, with different content; it was not replaced", .kind.name(),
        .path.display()
    )]
    Duplicate {
        /// Its kind.
        kind: DocumentKind,
        /// Its id.
        id: String,
        /// The file.
        path: PathBuf,
    },
    /// The document cannot be read, or cannot be written as JSON that can be read back.
    #[error("{} {id}: {cause}; the document in {} does not fit this version: update \
             halfpower, or report this", .kind.name(), .path.display())]
    Document {
        /// Its kind.
        kind: DocumentKind,
        /// Its id.
        id: String,
        /// The file.
        path: PathBuf,
        /// The error of the JSON parser.
        cause: serde_json::Error,
    },
    /// Any other error of SQLite, in its words.
    #[error(
        "the database {}: {}; check the disk and `ulimit -f`, or use another --db", .0.display(), .1
    )]
    Sqlite(PathBuf, rusqlite::Error),
}

impl StoreError {
    /// Whether the file is of another kind or version. The user named the wrong file, so a retry cannot
    /// help.
    #[must_use]
    pub fn is_wrong_file(&self) -> bool {
        matches!(self, Self::NotADatabase(..) | Self::NewerSchema { .. })
    }

    /// The variant for SQLite's error about `path`.
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
            // SQLite reports only "unable to open"; ask the system for its reason.
            ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
                let cause = File::open(&path).err().map_or(words, |error| error.to_string());
                Self::CannotOpen(path, cause)
            }
            _ => Self::Sqlite(path, cause),
        }
    }
}

fn names(kinds: &[DocumentKind]) -> String {
    if kinds.len() == DocumentKind::ALL.len() {
        return "document".to_owned();
    }
    kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ")
}

/// How the user can name documents of these kinds.
fn what_is_there(kinds: &[DocumentKind]) -> &'static str {
    match kinds {
        [DocumentKind::Profile] => {
            "`halfpower show list` lists what is saved; run `halfpower check` to \
                        create one"
        }
        [DocumentKind::Experiment] => {
            "`halfpower show list` lists what is saved; run `halfpower sweep` to \
                           create one"
        }
        [DocumentKind::Observation] => {
            "run `halfpower record` to create one or to save another tool's file"
        }
        _ => "name an id, or its beginning or end; `halfpower show list` lists what is saved",
    }
}
