//! Tests that devices are real and are removed, skips are recorded, and the lock excludes other tests.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use halfpower_testkit::{Capability, LoopDevice, Mounted, Zram, requires, undo_left_over};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Size of a block device by the kernel, in bytes.
fn kernel_size_bytes(device: &Path) -> u64 {
    let name = device.file_name().unwrap().to_str().unwrap();
    let sectors = std::fs::read_to_string(format!("/sys/block/{name}/size")).unwrap();
    sectors.trim().parse::<u64>().unwrap() * 512
}

/// Checks that data written to a device can be read back.
fn check_keeps_data(device: &Path) {
    let mut file = std::fs::File::options().read(true).write(true).open(device).unwrap();
    file.write_all(&[0x5a; 4096]).unwrap();
    file.sync_all().unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    let mut block = [0; 4096];
    file.read_exact(&mut block).unwrap();
    assert_eq!(block, [0x5a; 4096]);
}

#[test]
fn a_loop_device_has_the_size_and_block_asked_for_and_is_detached_at_the_end() {
    requires!(Root, Loop);
    let device = LoopDevice::within(&std::env::temp_dir(), 8 << 20, 4096).unwrap();
    let path = device.path().to_owned();
    assert_eq!(kernel_size_bytes(&path), 8 << 20);
    let name = path.file_name().unwrap().to_str().unwrap();
    let queue = format!("/sys/block/{name}/queue/logical_block_size");
    assert_eq!(std::fs::read_to_string(queue).unwrap().trim(), "4096");
    check_keeps_data(&path);
    drop(device);
    assert!(!Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists());
}

#[test]
fn a_file_system_on_a_device_is_mounted_and_goes_before_the_device() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(16 << 20).unwrap();
    let mounted = Mounted::ext4(device.path()).unwrap();
    let path = mounted.path().to_owned();
    std::fs::write(path.join("small"), "x").unwrap();
    let table = || std::fs::read_to_string("/proc/self/mounts").unwrap();
    let line = format!("{} {} ext4", device.path().display(), path.display());
    assert!(table().contains(&line), "{}", table());
    drop(mounted);
    assert!(!table().contains(&line) && !path.exists());
}

#[test]
fn a_loop_device_fails_where_its_file_was_cut_off() {
    requires!(Root, Loop);
    let device = LoopDevice::new(1 << 20).unwrap();
    let file = std::fs::File::options().write(true).open(device.backing_file()).unwrap();
    file.set_len(0).unwrap();
    let error = std::fs::read(device.path()).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "{error}");
}

#[test]
fn a_zram_device_has_the_size_asked_for_and_is_removed_at_the_end() {
    requires!(Zram);
    let device = Zram::new(8 << 20).unwrap();
    let path = device.path().to_owned();
    assert_eq!(kernel_size_bytes(&path), 8 << 20);
    check_keeps_data(&path);
    drop(device);
    assert!(!Path::new("/sys/block").join(path.file_name().unwrap()).exists());
}

#[test]
fn a_ram_file_system_is_full_at_its_size_can_be_made_read_only_and_is_unmounted() {
    requires!(Mount);
    let disk = Mounted::tmpfs(1 << 20).unwrap();
    let path = disk.path().to_owned();
    let full = std::fs::write(path.join("large"), vec![1; 2 << 20]).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    disk.make_read_only().unwrap();
    let refused = std::fs::write(path.join("small"), "x").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ReadOnlyFilesystem);
    drop(disk);
    assert!(!path.exists());
}

#[test]
fn a_skip_ends_the_test_and_is_written_to_the_log_with_its_name_and_reason() {
    const CHILD: &str = "HALFPOWER_TESTKIT_TEST_CHILD";
    if std::env::var_os(CHILD).is_some() {
        requires!(Fio);
        panic!("fio was found in an empty PATH");
    }
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("skips");
    let name = "a_skip_ends_the_test_and_is_written_to_the_log_with_its_name_and_reason";
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(CHILD, "1")
        .env("PATH", folder.path())
        .env(halfpower_testkit::SKIP_LOG, &log)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let lines = std::fs::read_to_string(log).unwrap();
    let expected = format!("SKIP devices::{name}: needs Fio: fio cannot be run: ");
    assert!(lines.starts_with(&expected) && lines.lines().count() == 1, "{lines}");
    let shown = String::from_utf8(output.stderr).unwrap();
    assert!(shown.contains(&lines), "the capture of the harness swallowed it: {shown}");
}

#[test]
fn tests_that_use_devices_exclude_each_other_and_others_do_not_wait() {
    let Some(held) = halfpower_testkit::enter("first::here", &[Capability::Loop]) else {
        return;
    };
    assert!(halfpower_testkit::enter("second::here", &[]).is_some(), "this one shares nothing");
    let waiting = std::thread::spawn(|| {
        let lock = halfpower_testkit::enter("third::here", &[Capability::Loop]);
        (std::time::Instant::now(), lock.is_some())
    });
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert!(!waiting.is_finished());
    let released = std::time::Instant::now();
    drop(held);
    let (entered, got_it) = waiting.join().unwrap();
    assert!(got_it && entered >= released);
}

/// Starts a process that holds a device and a mount, ends it with this signal; whether both still exist.
fn left_by(signal: &str, words: &[&str]) -> bool {
    let tests = std::env::current_exe().unwrap();
    let holder = tests.ancestors().nth(2).unwrap().join("examples/hold_devices");
    let mut child = std::process::Command::new(holder)
        .args(words)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).unwrap();
    let (device, mounted) = line.trim().split_once(' ').unwrap();
    assert!(held(device, mounted), "{line}");
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args([signal, &id]).status().unwrap().success());
    child.wait().unwrap();
    let left = held(device, mounted);
    assert_eq!(left, Path::new(mounted).exists(), "the folder goes with the mount");
    if left {
        let undone = undo_left_over().join(", ");
        assert!(undone.contains(device) && undone.contains(mounted), "{undone}");
        assert!(!held(device, mounted) && !Path::new(mounted).exists());
    }
    left
}

/// Whether a loop device and a mount exist.
fn held(device: &str, mounted: &str) -> bool {
    let name = device.trim_start_matches("/dev/");
    let table = std::fs::read_to_string("/proc/self/mounts").unwrap();
    let is_mounted = table.contains(mounted);
    let is_bound = Path::new(&format!("/sys/block/{name}/loop/backing_file")).exists();
    assert_eq!(is_mounted, is_bound, "both or none");
    is_mounted
}

#[test]
fn a_signal_undoes_what_was_changed_and_what_a_kill_leaves_is_undone_by_the_next() {
    requires!(Root, Loop, Mount, Ext4);
    assert!(!left_by("-TERM", &["--on-signals"]));
    assert!(!left_by("-INT", &["--on-signals"]));
    assert!(left_by("-KILL", &["--on-signals"]));
}
