//! Errors from the system: exit code 4, and a message with path, cause and remedy.

use crate::program::{halfpower, halfpower_in, names, program, program_under, run, unprivileged};
use std::path::{Path, PathBuf};
use testkit::{Mounted, disk_folder, requires};

#[test]
fn a_missing_target_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ["run", "check"] {
        halfpower_in(folder.path(), &format!("{verb} no/such/place --no-save"))
            .refuses(4, &["no/such/place", "No such file", "check the path"]);
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_directory_without_write_permission_is_named() {
    requires!(Root, Setpriv);
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    for verb in ["run", "check"] {
        let words = format!("{verb} {} --no-save", closed.display());
        run(unprivileged(folder.path()), &words)
            .refuses(4, &["closed", "Permission denied", "a target that you own"]);
        assert_eq!(names(&closed), [""; 0]);
    }
}

#[test]
fn a_database_in_a_folder_without_write_permission_is_named_and_the_result_is_printed() {
    requires!(Root, Setpriv);
    let folder = tempfile::tempdir().unwrap();
    let closed = folder.path().join("closed");
    std::fs::create_dir(&closed).unwrap();
    for place in ["new.db", "below/new.db"] {
        let words = format!("run sim:mm1 --db {}/{place}", closed.display());
        let ended = run(unprivileged(folder.path()), &words).expect(0);
        assert!(
            ended.stderr.contains("not saved: ") && ended.stderr.contains("closed"),
            "{ended:?}"
        );
        assert_eq!(names(&closed), [""; 0]);
    }
}

#[test]
fn a_read_only_file_system_is_named() {
    requires!(Mount);
    let disk = Mounted::tmpfs(1 << 20).unwrap();
    disk.make_read_only().unwrap();
    for verb in ["run", "check"] {
        halfpower(&format!("{verb} {} --no-save", disk.path().display()))
            .refuses(4, &["Read-only file system", "mounted read-write"]);
    }
    let ended = halfpower(&format!("run sim:mm1 --db {}/new.db", disk.path().display())).expect(0);
    assert!(ended.stderr.contains("not saved: ") && ended.stderr.contains("new.db"), "{ended:?}");
}

#[test]
fn a_file_on_a_file_system_that_takes_no_direct_reads_is_named_with_the_way_around() {
    // A file in sysfs is a page of text that the kernel makes when it is read.
    let file = "/sys/kernel/uevent_seqnum";
    halfpower(&format!("run {file} --no-save"))
        .refuses(4, &[file, "sysfs", "O_DIRECT", "--cache all"]);
}

#[test]
fn a_directory_on_a_file_system_that_takes_no_direct_requests_is_named_with_the_way_around() {
    requires!(Mount);
    let disk = Mounted::new("ramfs", "halfpower-test").unwrap();
    for verb in ["run", "check"] {
        halfpower_in(disk.path(), &format!("{verb} . --size 16m --no-save"))
            .refuses(4, &["ramfs", "O_DIRECT", "--cache all"]);
        assert_eq!(names(disk.path()), [""; 0]);
    }
}

#[test]
fn a_file_system_whose_driver_says_einval_to_direct_requests_is_named() {
    requires!(Disk, Strace);
    let folder = disk_folder().unwrap();
    // For the run, the test file is opened through its descriptor, whose number is unknown.
    let paths: String = (3..40).map(|number| format!(" -P /proc/self/fd/{number}")).collect();
    let mut command = program_under(&format!(
        "strace -f -qq -o /dev/null{paths} -e trace=open,openat \
         -e inject=open,openat:error=EINVAL"
    ));
    command.current_dir(folder.path());
    run(command, "run . --size 64m --no-save").refuses(4, &["O_DIRECT", "--cache all"]);
    assert_eq!(names(folder.path()), [""; 0]);
}

/// A folder with a database in which one run was saved.
fn database() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept.db");
    halfpower(&format!("run sim:mm1 --runtime 10s --db {}", path.display())).expect(0);
    (folder, path)
}

/// Checks that every command that uses the database rejects it with this message.
#[track_caller]
fn refused_database(path: &Path, message: &[&str]) {
    let before = std::fs::read(path).unwrap();
    let path = path.display();
    for words in ["run sim:mm1", "check sim:mm1", "show list", "show last"] {
        halfpower(&format!("{words} --db {path}")).refuses(4, message);
    }
    assert_eq!(std::fs::read(path.to_string()).unwrap(), before);
}

#[test]
fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("letter.txt");
    std::fs::write(&path, "Dear reader, ".repeat(1000)).unwrap();
    refused_database(&path, &["letter.txt", "not a halfpower database", "--db"]);
    assert_eq!(names(folder.path()), ["letter.txt"]);
}

#[test]
fn a_database_of_a_newer_schema_is_refused_and_left_as_it_is() {
    // PRAGMA user_version, big-endian (https://www.sqlite.org/fileformat.html, 1.3).
    const USER_VERSION: std::ops::Range<usize> = 60..64;
    let (_folder, path) = database();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[USER_VERSION].copy_from_slice(&999_u32.to_be_bytes());
    std::fs::write(&path, bytes).unwrap();
    refused_database(&path, &["kept.db", "newer halfpower", "999", "update"]);
}

#[test]
fn a_directory_as_database_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    halfpower(&format!("run sim:mm1 --db {path}")).refuses(4, &["it is a directory", "--db"]);
}

#[test]
fn a_bad_database_is_refused_before_a_test_file_is_written() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    std::fs::write(folder.path().join("letter.txt"), "Dear reader, ".repeat(1000)).unwrap();
    for verb in ["run", "check"] {
        let mut command = program();
        command.current_dir(folder.path());
        let ended = run(command, &format!("{verb} . --size 64m --db letter.txt"));
        assert!(!ended.stderr.contains("write test file"), "{ended:?}");
        ended.refuses(4, &["letter.txt", "not a halfpower database"]);
    }
}
