//! Disks that are full or become full: the message names the disk, and existing data is preserved. A result
//! that does not fit in the database is still printed.

use crate::program::{Running, halfpower, halfpower_in, names, program, program_under, run};
use testkit::{LoopDevice, Mounted, disk_folder, requires};

#[test]
fn a_disk_that_fills_up_while_the_test_file_is_written_is_named_and_no_file_is_left() {
    requires!(Root, Loop, Mount, Ext4);
    // Thin provisioning: the file system has 4 GiB on a device with 24 MiB.
    let memory = Mounted::tmpfs(24 << 20).unwrap();
    let device = LoopDevice::within(memory.path(), 4 << 30, 512).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let before = names(disk.path());
    for verb in ["run", "check"] {
        halfpower_in(disk.path(), &format!("{verb} . --size 64m --no-save"))
            .refuses(4, &["no space for the test file", "64 MiB", "free some space"]);
        assert_eq!(names(disk.path()), before);
    }
}

#[test]
fn a_quota_that_forbids_the_test_file_is_named() {
    requires!(Disk, Strace);
    let folder = disk_folder().unwrap();
    let mut command = program_under(
        "strace -f -qq -o /dev/null -e trace=pwrite64 -e inject=pwrite64:error=EDQUOT",
    );
    command.current_dir(folder.path());
    run(command, "run . --size 64m --no-save")
        .refuses(4, &["no space for the test file", "quota exceeded", "--size"]);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_full_disk_below_the_database_is_named_and_what_was_saved_before_is_kept() {
    requires!(Mount);
    let disk = Mounted::tmpfs(512 << 10).unwrap();
    let path = disk.path().join("kept.db");
    let save = |seed: u32| {
        let words = format!("check sim:mdc,service=1ms --no-write --budget 5s --seed {seed}");
        halfpower(&format!("{words} --db {}", path.display()))
    };
    let mut saved = 0;
    let failed = loop {
        let ended = save(saved);
        if ended.stderr.contains("not saved") {
            break ended;
        }
        saved += 1;
        assert!(saved < 50, "a disk of 512 KiB never becomes full");
    };
    let failed = failed.expect(0);
    for word in ["no space left", "kept.db", "--db"] {
        assert!(failed.stderr.contains(word), "{word:?} is not in {failed:#?}");
    }
    let listed =
        halfpower(&format!("show list --kind profile --json --db {}", path.display())).expect(0);
    let profiles: Vec<record::KeptDocument> = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(profiles.len(), saved as usize);
}

#[test]
fn a_result_that_cannot_be_saved_is_printed_with_its_own_exit_code_and_a_warning() {
    requires!(Disk, Mount);
    for words in
        ["run . --ioengine sync --size 64m --runtime 500ms", "check . --size 64m --budget 5s"]
    {
        let (folder, disk) = (disk_folder().unwrap(), Mounted::tmpfs(1 << 20).unwrap());
        let path = disk.path().join("kept.db");
        let mut command = program();
        command.current_dir(folder.path()).args(words.split_whitespace());
        command.args(["--json", "--db"]).arg(&path);
        let mut running = Running::start(command);
        // The database is open by now; from here on there is no space for it.
        running.wait_for("write test file ...");
        assert!(std::fs::write(disk.path().join("filler"), vec![1; 2 << 20]).is_err());
        let ended = running.end();
        assert!(matches!(ended.code, Some(0 | 1)), "{ended:?}");
        let document: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
        assert!(document["id"].is_string());
        let last = ended.stderr.lines().last().unwrap();
        for word in ["not saved: ", "no space left", "kept.db", "--db"] {
            assert!(last.contains(word), "{word:?} is not in {last:?}");
        }
    }
}

#[test]
fn a_full_standard_output_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let mut command = program();
    command.args(["run", "sim:mm1", "--no-save"]).stdout(full);
    command.stderr(std::process::Stdio::null());
    let ended = Running::start_as_set(command).end();
    assert_eq!(ended.code, Some(4));
}
