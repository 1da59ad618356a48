//! Tests that a changed setting is restored by its owner, or at the next start after the owner died.

use host::kernel::Roots;
use host::kernel::changed_setting::{ChangedSetting, undo_left};
use std::path::PathBuf;
use testkit::Fake;

const SETTING: &str = "block/loop3/queue/read_ahead_kb";

/// A machine with one loop device and this process among its processes, and a folder for the records.
fn machine() -> (Fake, Roots, PathBuf) {
    let fake = Fake::new();
    fake.sys(SETTING, "128\n");
    fake.proc("sys/kernel/random/boot_id", "first\n");
    lives(&fake, 77);
    let (roots, folder) = (Roots::below(fake.root()), fake.path("state/changed"));
    (fake, roots, folder)
}

/// Makes this process appear to run since this tick.
fn lives(fake: &Fake, start: u32) {
    let before_start = "S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0";
    let stat = format!("9 (a) b) {before_start} {start} 0 0\n");
    fake.proc(&format!("{}/stat", std::process::id()), &stat);
}

fn value(roots: &Roots) -> String {
    std::fs::read_to_string(roots.sys.join(SETTING)).unwrap().trim().to_owned()
}

fn change(roots: &Roots, folder: &std::path::Path) -> ChangedSetting {
    ChangedSetting::change(roots, folder, "loop3", "read_ahead_kb", "0").unwrap()
}

fn entries(folder: &std::path::Path) -> usize {
    std::fs::read_dir(folder).unwrap().count()
}

#[test]
fn a_setting_is_put_back_on_request_and_on_a_drop() {
    let (_fake, roots, folder) = machine();
    let changed = change(&roots, &folder);
    assert_eq!((value(&roots).as_str(), entries(&folder)), ("0", 1));
    assert_eq!(undo_left(&roots, &folder), [], "its owner lives");
    changed.put_back().unwrap();
    assert_eq!((value(&roots).as_str(), entries(&folder)), ("128", 0));
    drop(change(&roots, &folder));
    assert_eq!((value(&roots).as_str(), entries(&folder)), ("128", 0));
}

#[test]
fn what_a_killed_process_left_is_put_back_once() {
    let (fake, roots, folder) = machine();
    std::mem::forget(change(&roots, &folder));
    // Another process now has its number.
    lives(&fake, 78);
    assert_eq!(undo_left(&roots, &folder), [(roots.sys.join(SETTING), "128".to_owned())]);
    assert_eq!((value(&roots).as_str(), entries(&folder)), ("128", 0));
    assert_eq!(undo_left(&roots, &folder), []);
}

#[test]
fn a_setting_that_another_program_or_a_restart_has_changed_since_is_left_alone() {
    for restarted in [false, true] {
        let (fake, roots, folder) = machine();
        std::mem::forget(change(&roots, &folder));
        lives(&fake, 78);
        if restarted {
            fake.proc("sys/kernel/random/boot_id", "second\n");
        } else {
            fake.sys(SETTING, "512\n");
        }
        let now = value(&roots);
        assert_eq!(undo_left(&roots, &folder), []);
        assert_eq!((value(&roots), entries(&folder)), (now, 0));
    }
}

#[test]
fn a_setting_that_does_not_exist_is_an_error_that_names_it_and_leaves_no_entry() {
    let (_fake, roots, folder) = machine();
    let error = ChangedSetting::change(&roots, &folder, "loop4", "read_ahead_kb", "0").unwrap_err();
    assert!(error.to_string().contains("loop4/queue/read_ahead_kb"), "{error}");
    assert!(!folder.exists());
}
