//! Each problem with the file has its own message, with the path and a remedy, and foreign files are not
//! changed.

use crate::trial;
use halfpower_store::{Store, StoreError};
use record::Trial;
use std::path::Path;
use tempfile::tempdir;
use testkit::{Mounted, requires};

/// The message names the file and a remedy, in one line.
fn check_message(error: &StoreError, path: &Path) {
    let words = error.to_string();
    assert!(words.contains(&path.display().to_string()), "{words}");
    assert!(words.contains(';'), "no advice: {words}");
    assert!(!words.contains('\n') && !words.contains("  "), "{words:?}");
}

#[test]
fn reading_creates_nothing_where_there_is_no_database() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("sub/x.db");
    let missing = Store::open_existing(&path).unwrap_err();
    assert!(matches!(missing, StoreError::Missing(_)), "{missing}");
    check_message(&missing, &path);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_text_file_and_another_programs_database_are_refused_unchanged() {
    let folder = tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "these are my notes, and they are no database. ".repeat(100)).unwrap();
    let foreign = folder.path().join("theirs.db");
    rusqlite::Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE trial (document TEXT)")
        .unwrap();
    for path in [&text, &foreign] {
        let before = std::fs::read(path).unwrap();
        for result in [Store::open(path), Store::open_existing(path)] {
            let refused = result.unwrap_err();
            assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused}");
            check_message(&refused, path);
        }
        assert_eq!(std::fs::read(path).unwrap(), before);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "a file was left beside");
}

#[test]
fn a_directory_and_a_device_are_no_databases() {
    let folder = tempdir().unwrap();
    for path in [folder.path(), Path::new("/dev/null")] {
        let refused = Store::open(path).unwrap_err();
        assert!(matches!(refused, StoreError::NotADatabase { .. }), "{refused}");
        check_message(&refused, path);
    }
}

#[test]
fn a_missing_folder_of_a_named_database_is_not_made() {
    let folder = tempdir().unwrap();
    let missing = folder.path().join("misspelt");
    let refused = Store::open(&missing.join("x.db")).unwrap_err();
    assert!(matches!(refused, StoreError::NoFolder { .. }), "{refused}");
    check_message(&refused, &missing);
    assert!(!missing.exists());
}

#[test]
fn a_damaged_file_is_called_damaged() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut store = Store::open(&path).unwrap();
    for number in 0..50 {
        store.add_document(&trial(&format!("{number:x}"))).unwrap();
    }
    drop(store);
    let mut bytes = std::fs::read(&path).unwrap();
    // After the header page and the pages of the schema.
    bytes[12_288..].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open(&path).unwrap();
    let damaged = (0..50).find_map(|n| store.document::<Trial>(&format!("{n:x}")).err()).unwrap();
    assert!(matches!(damaged, StoreError::Damaged { .. }), "{damaged}");
    check_message(&damaged, &path);
}

#[test]
fn a_file_that_another_process_holds_is_called_locked() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut store = Store::open(&path).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let locked = store.add_document(&trial("1")).unwrap_err();
    assert!(matches!(locked, StoreError::Locked(_)), "{locked}");
    check_message(&locked, &path);
    other.execute_batch("ROLLBACK").unwrap();
    store.add_document(&trial("1")).unwrap();
}

#[test]
fn a_database_on_a_read_only_file_system_can_be_read_and_not_added_to() {
    requires!(Mount);
    let disk = Mounted::tmpfs(8 << 20).unwrap();
    // Special characters of a URI must not change the path.
    let path = disk.path().join("a?b#c%20.db");
    Store::open(&path).unwrap().add_document(&trial("1")).unwrap();
    disk.make_read_only().unwrap();
    assert_eq!(Store::open_existing(&path).unwrap().document::<Trial>("1").unwrap(), trial("1"));
    let read_only = Store::open_existing(&path).unwrap().add_document(&trial("2")).unwrap_err();
    assert!(matches!(read_only, StoreError::ReadOnly(_)), "{read_only}");
    check_message(&read_only, &path);
    let new = disk.path().join("new.db");
    let refused = Store::open(&new).unwrap_err();
    check_message(&refused, &new);
}

#[test]
fn a_full_file_system_is_called_full_and_keeps_what_was_saved() {
    requires!(Mount);
    let disk = Mounted::tmpfs(512 << 10).unwrap();
    let path = disk.path().join("x.db");
    let mut store = Store::open(&path).unwrap();
    let full = (0u32..)
        .find_map(|number| store.add_document(&trial(&format!("{number:04x}"))).err())
        .unwrap();
    assert!(matches!(full, StoreError::NoSpace(_)), "{full}");
    check_message(&full, &path);
    assert_eq!(store.document::<Trial>("0000").unwrap(), trial("0000"));
}

#[test]
fn a_file_of_the_users_own_under_the_name_of_a_log_is_refused_and_left_as_it_is() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    for name in ["x.db-wal", "x.db-shm", "x.db-journal"] {
        let beside = folder.path().join(name);
        std::fs::write(&beside, "my notes").unwrap();
        let refused = Store::open(&path).unwrap_err();
        assert!(matches!(refused, StoreError::NotADatabase(..)), "{refused:?}");
        check_message(&refused, &beside);
        assert_eq!(std::fs::read_to_string(&beside).unwrap(), "my notes");
        assert!(!path.exists());
        std::fs::remove_file(&beside).unwrap();
    }
    let kept = Store::open(&path).unwrap();
    // A second connection beside the first, while the first one's logs exist.
    Store::open(&path).unwrap();
    drop(kept);
    std::fs::write(folder.path().join("x.db-wal"), "my notes").unwrap();
    assert!(Store::open(&path).is_err() && Store::open_existing(&path).is_err());
}
