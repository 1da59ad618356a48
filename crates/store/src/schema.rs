//! Contains all DDL as a list of steps, and migrates a file from its version to ours.
//!
//! Step `n` takes a file of schema `n` to schema `n + 1`; a file's version is SQLite's `user_version`.
//! Steps are only ever appended, because existing files have gone through every released step. A test opens
//! a committed file of each past version. All steps that a file lacks run in one exclusive transaction. So
//! a kill in the middle leaves the old file, and two processes that open a new file together do not both
//! create its tables.
//!
//! Rejected: `CREATE TABLE IF NOT EXISTS` at each opening, which cannot change a table and cannot tell
//! which program the file belongs to.

use crate::StoreError;
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;

/// SQLite's `application_id` of our files: the letters `hpow`.
pub const APPLICATION_ID: i32 = i32::from_be_bytes(record::DATABASE_MARK);

/// The steps, oldest first.
///
/// `document` is the JSON text. The other columns repeat parts of it for lists and searches: `time` (RFC
/// 3339 in UTC, null if simulated), `target` (the path as the user named it), `kind` (of the target, as in
/// JSON), `device` (the whole disk's kernel name), `clean` (no finding makes the numbers invalid). `rowid`
/// is the order in which documents were saved.
///
/// `part` marks a trial that belongs to another document. A check saves its trials before its profile
/// exists, so links alone would not show it. In older files, limits, validations and zone maps list their
/// trials only in their JSON.
///
/// Documents that need no further columns share one table and differ by `kind`. An experiment has a table
/// of its own, because its trials refer to it: each is linked as it ends, by its place in the plan, with
/// the additional results of its preset (`extras`, a JSON object).
///
/// The intervals of an observation are in `columns` (null in older files, whose text has them): a day of
/// eight disks is 350 MB of JSON, and a few per cent of that in columns.
const STEPS: [&str; 4] = [
    "
    CREATE TABLE trial (
        id TEXT NOT NULL UNIQUE,
        time TEXT,
        cell TEXT NOT NULL,
        target TEXT NOT NULL,
        kind TEXT NOT NULL,
        device TEXT,
        simulated INTEGER NOT NULL,
        clean INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE INDEX trial_by_cell ON trial (cell);
    CREATE TABLE profile (
        id TEXT NOT NULL UNIQUE,
        time TEXT,
        target TEXT NOT NULL,
        kind TEXT NOT NULL,
        device TEXT,
        model TEXT,
        simulated INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE profile_trial (
        profile_id TEXT NOT NULL REFERENCES profile (id),
        position INTEGER NOT NULL,
        trial_id TEXT NOT NULL REFERENCES trial (id),
        PRIMARY KEY (profile_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX profile_trial_by_trial ON profile_trial (trial_id);
",
    "
    CREATE TABLE document (
        kind TEXT NOT NULL,
        id TEXT NOT NULL,
        time TEXT,
        target TEXT NOT NULL,
        simulated INTEGER NOT NULL,
        document TEXT NOT NULL,
        UNIQUE (kind, id)
    ) STRICT;
    CREATE TABLE experiment (
        id TEXT NOT NULL UNIQUE,
        time TEXT,
        target TEXT NOT NULL,
        simulated INTEGER NOT NULL,
        document TEXT NOT NULL
    ) STRICT;
    CREATE TABLE experiment_trial (
        experiment_id TEXT NOT NULL REFERENCES experiment (id),
        position INTEGER NOT NULL,
        trial_id TEXT NOT NULL REFERENCES trial (id),
        extras TEXT NOT NULL,
        PRIMARY KEY (experiment_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX experiment_trial_by_trial ON experiment_trial (trial_id);
",
    "
    ALTER TABLE document ADD COLUMN columns BLOB;
",
    "
    ALTER TABLE trial ADD COLUMN part INTEGER NOT NULL DEFAULT 0;
    UPDATE trial SET part = 1 WHERE id IN (SELECT trial_id FROM profile_trial)
        OR id IN (SELECT trial_id FROM experiment_trial)
        OR id IN (SELECT entry.value FROM document AS other, json_tree(other.document) AS entry
            WHERE other.kind IN ('limits', 'validation', 'zones')
            AND entry.path GLOB '*trial_ids*');
",
];

/// The schema version that this program writes.
pub const SCHEMA_VERSION: u32 = STEPS.len() as u32;

/// The schema version of a file; 0 if it is empty. Changes nothing.
fn version(connection: &Connection, path: &Path) -> Result<u32, StoreError> {
    let failed = |cause| StoreError::from_sqlite(path, cause);
    let number =
        |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i32>(0)).map_err(failed);
    let application = number("PRAGMA application_id")?;
    let version = number("PRAGMA user_version")?;
    if application == APPLICATION_ID {
        return match u32::try_from(version) {
            Ok(found) if found > SCHEMA_VERSION => {
                let path = path.to_owned();
                Err(StoreError::NewerSchema { path, found, known: SCHEMA_VERSION })
            }
            Ok(found) if found > 0 => Ok(found),
            _ => Err(StoreError::Damaged(path.to_owned(), format!("it claims schema {version}"))),
        };
    }
    let tables = number("SELECT count(*) FROM sqlite_schema")?;
    if application == 0 && version == 0 && tables == 0 {
        return Ok(0);
    }
    Err(StoreError::NotADatabase(path.to_owned(), "it is a SQLite file of another program"))
}

/// Migrates the file to [`SCHEMA_VERSION`] if necessary.
///
/// # Errors
/// If the file is not ours, is from a newer version, or cannot be changed.
pub(crate) fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |cause| StoreError::from_sqlite(path, cause);
    // In one transaction, which sees one state of the file. Between separate statements another process
    // might create its tables, and a file with tables but without our id looks like another program's.
    let look =
        connection.transaction_with_behavior(TransactionBehavior::Deferred).map_err(failed)?;
    let found = version(&look, path)?;
    look.finish().map_err(failed)?;
    if found == SCHEMA_VERSION {
        return Ok(());
    }
    let transaction =
        connection.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(failed)?;
    // Checked again under the lock: another process may have migrated the file while we waited.
    let from = version(&transaction, path)?;
    if from == 0 {
        transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    }
    for step in &STEPS[from as usize..] {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "user_version", SCHEMA_VERSION).map_err(failed)?;
    transaction.commit().map_err(failed)
}
