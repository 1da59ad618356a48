//! Tests facts about processes from their files, in both versions of control groups.

use host::kernel::Roots;
use host::kernel::process::{outstanding, process_facts};
use std::os::unix::fs::symlink;
use testkit::Fake;

/// Name and group of a process with these file contents.
fn told(stat: &str, groups: &str) -> Option<(String, Option<String>, bool)> {
    let fake = Fake::new();
    fake.proc("7/stat", stat);
    fake.proc("7/cgroup", groups);
    let facts = process_facts(&Roots::below(fake.root()), 7)?;
    Some((facts.name, facts.group, facts.kernel_thread))
}

#[test]
fn a_process_is_told_with_its_name_and_its_group() {
    let group = |text: &str| Some(text.to_owned());
    let stat = "7 (a (b) c) S 1 7 7 0 -1 4194304 1 0 0 0";
    let unit = "0::/system.slice/postgresql.service\n";
    assert_eq!(
        told(stat, unit),
        Some(("a (b) c".to_owned(), group("/system.slice/postgresql.service"), false))
    );
    let thread = "7 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0";
    assert_eq!(told(thread, "0::/\n"), Some(("kworker/0:1".to_owned(), group("/"), true)));
    assert_eq!(told("7 broken", unit), None);
    assert_eq!(process_facts(&Roots::below(Fake::new().root()), 7), None);
}

#[test]
fn of_several_trees_the_group_that_says_most_is_taken() {
    let stat = "7 (x) S 1 7 7 0 -1 0 1 0 0 0";
    let group = |lines: &str| told(stat, lines).unwrap().1.unwrap();
    let systemd = "4:memory:/jobs/a\n3:blkio:/\n1:name=systemd:/system.slice/db.service\n0::/\n";
    assert_eq!(group(systemd), "/system.slice/db.service");
    let id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_eq!(
        group(&format!("4:memory:/docker/{id}\n3:blkio:/\n0::/system.slice/containerd.service\n")),
        format!("/docker/{id}")
    );
    assert_eq!(group("4:memory:/jobs/a\n3:blkio:/slow\n0::/\n"), "/slow");
    assert_eq!(group("4:memory:/jobs/a\n3:blkio:/\n0::/\n"), "/");
    assert_eq!(group("3:cpu:/\n0::/user.slice\n"), "/user.slice");
}

#[test]
fn a_process_waits_for_what_it_has_not_taken_out_of_its_rings_and_for_threads_that_sleep() {
    let fake = Fake::new();
    let waits = || outstanding(&Roots::below(fake.root()), 7);
    assert_eq!(waits(), None, "it has ended");
    fake.proc("7/task/7/stat", "7 (db) S 1 7 7 0 -1 0 1 0 0 0");
    fake.proc("7/task/8/stat", "8 (db (reads)) D 1 7 7 0 -1 0 1 0 0 0");
    // A ring's own thread waits for an entry of the ring, which is already counted.
    fake.proc("7/task/9/stat", "9 (iou-wrk-7) D 1 7 7 0 -1 0 1 0 0 0");
    let descriptor = |number: u32, to: &str, info: &str| {
        fake.proc(&format!("7/fdinfo/{number}"), info);
        let directory = Roots::below(fake.root()).proc.join("7/fd");
        std::fs::create_dir_all(&directory).unwrap();
        symlink(to, directory.join(number.to_string())).unwrap();
    };
    descriptor(3, "/data/base", "pos:\t0\n");
    assert_eq!(waits(), Some(1));
    fake.proc("7/task/8/stat", "8 (db (reads)) S 1 7 7 0 -1 0 1 0 0 0");
    assert_eq!(waits(), None, "libaio shows nothing");
    fake.proc("7/task/8/stat", "8 (db (reads)) D 1 7 7 0 -1 0 1 0 0 0");
    let ring = "anon_inode:[io_uring]";
    descriptor(4, ring, "SqMask:\t0x3f\nSqHead:\t5\nSqTail:\t6\nCqHead:\t4294967270\nCqTail:\t1\n");
    assert_eq!(waits(), Some(33), "counters of rings wrap around");
    // Entries that complete repeatedly cannot be counted.
    descriptor(5, ring, "SqTail:\t6\nCqHead:\t9\n");
    assert_eq!(waits(), None);
}
