//! Opens the database file: the default path, creation of a missing file, and read-only access.
//!
//! The file is switched to WAL mode only after a check that it is ours: changing the mode writes the
//! header, and another program's file must not be modified. Reading from a read-only place (a mount, a
//! backup) needs SQLite's `immutable` mode, because WAL keeps its index in a separate file. That mode is
//! safe only if no log with content exists.

use crate::{Store, StoreError, schema};
use rusqlite::{Connection, OpenFlags};
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// How long to wait for another process. Its longest transaction is one document and a flush, which
/// takes seconds on a very busy disk.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

impl Store {
    /// `halfpower/halfpower.db` under `XDG_DATA_HOME`, or under `~/.local/share` (XDG Base
    /// Directory Specification: relative paths in the variable are ignored); on Windows, where
    /// neither is set, under `LOCALAPPDATA`.
    ///
    /// # Errors
    /// If none of the three variables is an absolute path.
    pub fn default_path() -> Result<PathBuf, StoreError> {
        let variable = std::env::var_os;
        place(variable("XDG_DATA_HOME"), variable("HOME"), variable("LOCALAPPDATA"))
            .ok_or(StoreError::NoDefaultPath)
    }

    /// The default path of a user with this home directory.
    #[must_use]
    pub fn path_in_home(home: OsString) -> Option<PathBuf> {
        place(None, Some(home), None)
    }

    /// Opens the database for reading and adding. Creates a missing file and migrates an older one. A
    /// missing folder is created only for the default file, because a path that the user named may be
    /// misspelt.
    ///
    /// # Errors
    /// If the folder is missing, the file cannot be created or opened, is not ours, or is from a newer
    /// version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if let Some(folder) = folder.filter(|folder| !folder.exists()) {
            if !Self::default_path().is_ok_and(|default| default == path) {
                return Err(StoreError::NoFolder(folder.to_owned()));
            }
            std::fs::create_dir_all(folder)
                .map_err(|cause| StoreError::Folder(folder.to_owned(), cause))?;
        }
        if path.exists() {
            refuse_other_kinds(path)?;
        }
        connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens an existing database; does not create one. A read-only file can still be read.
    ///
    /// # Errors
    /// If it does not exist, or as [`Store::open`].
    pub fn open_existing(path: &Path) -> Result<Self, StoreError> {
        match path.try_exists() {
            Ok(true) => refuse_other_kinds(path)?,
            Ok(false) => return Err(StoreError::Missing(path.to_owned())),
            Err(cause) => return Err(cannot_open(path, &cause)),
        }
        let first = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE);
        match first {
            Err(StoreError::ReadOnly(_) | StoreError::CannotOpen(..)) if no_log(path) => {
                // Report the first error: the second only shows that the fallback failed too.
                connect_immutable(path).or(first)
            }
            other => other,
        }
    }
}

/// The default path, given the three variables.
fn place(
    data_home: Option<OsString>,
    home: Option<OsString>,
    local: Option<OsString>,
) -> Option<PathBuf> {
    let absolute = |value: Option<OsString>| value.map(PathBuf::from).filter(|it| it.is_absolute());
    absolute(data_home)
        .or_else(|| absolute(home).map(|home| home.join(".local/share")))
        .or_else(|| absolute(local))
        .map(|data| data.join("halfpower/halfpower.db"))
}

/// The first bytes of every SQLite database (its fileformat2.html).
const HEAD: &[u8; 16] = b"SQLite format 3\0";

/// Refuses files that are not databases before SQLite opens them. SQLite would wait on a FIFO and treat a
/// device as an empty file. For another program's locked file it would report a locked database. The head
/// is read only while this process has no database open, for the same reason as that of the index below.
fn refuse_other_kinds(path: &Path) -> Result<(), StoreError> {
    let facts = std::fs::metadata(path).map_err(|cause| cannot_open(path, &cause))?;
    let is_other = || {
        let mut head = [0; HEAD.len()];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut head));
        facts.len() > 0 && read.is_ok() && head != *HEAD
    };
    let kind = facts.file_type();
    let what = if kind.is_dir() {
        "it is a directory"
    } else if !kind.is_file() {
        "it is not a regular file"
    } else if OPEN.load(Ordering::SeqCst) == 0 && is_other() {
        "it is not a SQLite file"
    } else {
        return Ok(());
    };
    Err(StoreError::NotADatabase(path.to_owned(), what))
}

fn cannot_open(path: &Path, cause: &impl ToString) -> StoreError {
    StoreError::CannotOpen(path.to_owned(), cause.to_string())
}

/// The first bytes of the files that SQLite keeps beside a database (its fileformat2.html, walformat.html
/// and pager.c): the log, the index of the log, and the journal, whose head is zeros while it is written.
/// SQLite deletes and overwrites files with these names without checking their content.
const BESIDE: [(&str, &[&[u8]]); 3] = [
    ("-wal", &[&[0x37, 0x7f, 0x06, 0x82], &[0x37, 0x7f, 0x06, 0x83]]),
    ("-shm", &[&3_007_000_u32.to_ne_bytes(), &[0; 4]]),
    ("-journal", &[&[0xd9, 0xd5, 0x05, 0xf9], &[0; 4]]),
];

/// Refuses a database if a user's own file beside it has a name that SQLite uses. The index is checked only
/// if the database is new or this process has none open: closing the file would release SQLite's locks on
/// it.
fn refuse_others_beside(path: &Path) -> Result<(), StoreError> {
    let is_new = std::fs::metadata(path).map_or(true, |facts| facts.len() == 0);
    let none_open = is_new || OPEN.load(Ordering::SeqCst) == 0;
    for (suffix, heads) in BESIDE.into_iter().filter(|(suffix, _)| none_open || *suffix != "-shm") {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let Ok(facts) = std::fs::metadata(&name) else { continue };
        let is_other = || {
            let mut head = [0; 4];
            let read = File::open(&name).and_then(|mut file| file.read(&mut head));
            read.is_ok_and(|bytes| bytes > 0) && !heads.contains(&head.as_slice())
        };
        if !facts.is_file() || is_other() {
            let why = "SQLite would delete it as a log of the database, but it is not such a log";
            return Err(StoreError::NotADatabase(name.into(), why));
        }
    }
    Ok(())
}

/// Number of databases that this process has open.
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// Counts an open database.
#[derive(Debug)]
pub(crate) struct OpenDatabase;

impl OpenDatabase {
    fn new() -> Self {
        OPEN.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for OpenDatabase {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Opens the file, checks that it is ours, and migrates it to the current schema.
fn connect(path: &Path, flags: OpenFlags) -> Result<Store, StoreError> {
    refuse_others_beside(path)?;
    let open = OpenDatabase::new();
    let failed = |cause| StoreError::from_sqlite(path, cause);
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(BUSY_TIMEOUT).map_err(failed)?;
    schema::migrate(&mut connection, path)?;
    let mode: String =
        connection.query_row("PRAGMA journal_mode", [], |row| row.get(0)).map_err(failed)?;
    if mode != "wal" && !connection.is_readonly("main").map_err(failed)? {
        // A file system without shared memory keeps the old mode, which is as safe but slower.
        connection
            .query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0))
            .map_err(failed)?;
    }
    connection.pragma_update(None, "synchronous", "NORMAL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    Ok(Store { connection, path: path.to_owned(), _open: open })
}

/// Opens a read-only file without the index file that WAL needs beside it.
fn connect_immutable(path: &Path) -> Result<Store, StoreError> {
    let failed = |cause| StoreError::from_sqlite(path, cause);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let uri = format!("file:{}?immutable=1", uri_path(path)?);
    let open = OpenDatabase::new();
    let mut connection = Connection::open_with_flags(uri, flags).map_err(failed)?;
    schema::migrate(&mut connection, path)?;
    Ok(Store { connection, path: path.to_owned(), _open: open })
}

/// The path, with the special characters of a URI escaped (<https://www.sqlite.org/uri.html>).
fn uri_path(path: &Path) -> Result<String, StoreError> {
    let text = path.to_str().ok_or_else(|| cannot_open(path, &"its path is not UTF-8"))?;
    Ok(text.replace('%', "%25").replace('?', "%3f").replace('#', "%23"))
}

/// Whether no write-ahead log with content exists beside the file.
fn no_log(path: &Path) -> bool {
    let [_, log, ..] = Store::files_at(path);
    std::fs::metadata(log).map_or(true, |facts| facts.len() == 0)
}

#[cfg(test)]
mod tests {
    use super::place as three;

    #[test]
    fn the_default_file_follows_the_data_home_then_the_home_and_no_relative_path() {
        let place =
            |data_home: &str, home: &str| three(Some(data_home.into()), Some(home.into()), None);
        assert_eq!(place("/d", "/h"), Some("/d/halfpower/halfpower.db".into()));
        assert_eq!(place("d", "/h"), Some("/h/.local/share/halfpower/halfpower.db".into()));
        assert_eq!(place("", "/h"), Some("/h/.local/share/halfpower/halfpower.db".into()));
        assert_eq!(place("d", "h"), None);
        let local = || Some("/l".into());
        assert_eq!(three(None, None, local()), Some("/l/halfpower/halfpower.db".into()));
        let home = three(None, Some("/h".into()), local());
        assert_eq!(home, Some("/h/.local/share/halfpower/halfpower.db".into()));
    }
}
