//! A kill at any moment loses at most the trial in progress; two programs can share one file.

use crate::trial;
use halfpower_store::Store;
use record::Trial;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::tempdir;

/// Environment variable of the child: the database that it adds to.
const CHILD: &str = "HALFPOWER_STORE_TEST_CHILD";
/// Lifetimes of the children: from before the file exists to many trials later.
const LIFETIMES_MS: [u64; 12] = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 150, 400];

/// The child: adds trials without end, and prints each id after its commit.
fn add_trials(path: &Path) -> ! {
    let mut store = Store::open(path).unwrap();
    for number in 0u32.. {
        let id = format!("{:x}-{number:x}", std::process::id());
        store.add_document(&trial(&id)).unwrap();
        eprintln!("{id}");
    }
    unreachable!("the parent kills this process");
}

/// SQLite's own check of the file.
fn integrity(path: &Path) -> String {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

#[test]
fn a_kill_at_any_moment_leaves_every_committed_trial_and_a_sound_file() {
    if let Some(path) = std::env::var_os(CHILD) {
        add_trials(Path::new(&path));
    }
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut committed = Vec::new();
    for lifetime_ms in LIFETIMES_MS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--nocapture"])
            .arg("durability::a_kill_at_any_moment_leaves_every_committed_trial_and_a_sound_file")
            .env(CHILD, &path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let told = BufReader::new(child.stderr.take().unwrap());
        std::thread::sleep(Duration::from_millis(lifetime_ms));
        child.kill().unwrap();
        child.wait().unwrap();
        committed.extend(told.lines().map(Result::unwrap));

        let store = Store::open(&path).unwrap();
        for id in &committed {
            assert_eq!(
                store.document::<Trial>(id).unwrap(),
                trial(id),
                "killed after {lifetime_ms} ms"
            );
        }
        drop(store);
        assert_eq!(integrity(&path), "ok", "killed after {lifetime_ms} ms");
    }
    assert!(committed.len() > 20, "the children hardly ran: {} trials", committed.len());
}

#[test]
fn programs_that_open_a_new_file_together_and_add_to_it_lose_nothing() {
    const WRITERS: usize = 4;
    const TRIALS: usize = 20;
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let path = &path;
            scope.spawn(move || {
                let mut store = Store::open(path).unwrap();
                for number in 0..TRIALS {
                    store.add_document(&trial(&format!("{writer:x}-{number:x}"))).unwrap();
                }
            });
        }
    });
    let store = Store::open_existing(&path).unwrap();
    for writer in 0..WRITERS {
        for number in 0..TRIALS {
            store.document::<Trial>(&format!("{writer:x}-{number:x}")).unwrap();
        }
    }
}
