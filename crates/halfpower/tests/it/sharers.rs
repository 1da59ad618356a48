//! A target that shares bytes with something in use is refused, and the message shows the connection: exit
//! code 3, and no byte changes. `refusals.rs` tests the dangers of the target itself.

use crate::program::{halfpower, halfpower_in, program, run};
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use testkit::{LoopDevice, Mounted, requires};

const MIB: u64 = 1 << 20;

/// The kernel's name of a device.
fn kernel_name(device: &Path) -> String {
    device.file_name().unwrap().to_string_lossy().into_owned()
}

/// Checks that a write to `target` with the user's permission is refused with these words, and that `kept`
/// does not change.
#[track_caller]
fn is_refused(target: &Path, kept: &Path, words: &[&str]) {
    let before = fs::read(kept).unwrap();
    let (path, name) = (target.display(), kernel_name(target));
    let flags =
        format!("--overwrite --destroy-data-on {name} --io-size 4m --runtime 60s --no-save");
    for rw in ["randwrite", "randtrim", "write --precondition", "randread --beside=--rw=write"] {
        halfpower(&format!("run {path} --rw {rw} {flags}")).refuses(3, words);
    }
    assert!(fs::read(kept).unwrap() == before, "{} has changed", kept.display());
}

#[test]
fn a_loop_device_over_a_mounted_one_is_refused_and_the_way_is_printed() {
    requires!(Root, Loop, Mount, Ext4);
    let below = LoopDevice::new(32 * MIB).unwrap();
    let mounted = Mounted::ext4(below.path()).unwrap();
    let above = LoopDevice::over(below.path(), &["--offset", "16M"]).unwrap();
    let (name, below_name) = (kernel_name(above.path()), kernel_name(below.path()));
    let way = format!("{name} is stored on {below_name}, which is mounted at");
    let point = mounted.path().display().to_string();
    is_refused(above.path(), &below.backing_file(), &[&way, &point, "umount"]);
}

#[test]
fn a_second_loop_device_over_a_mounted_file_is_refused_and_one_over_other_bytes_is_not() {
    requires!(Root, Loop, Mount, Ext4);
    let folder = tempfile::tempdir().unwrap();
    let image = folder.path().join("image");
    File::create(&image).unwrap().set_len(32 * MIB).unwrap();
    let first = LoopDevice::over(&image, &["--sizelimit", "16M"]).unwrap();
    let _mounted = Mounted::ext4(first.path()).unwrap();
    let second = LoopDevice::over(&image, &["--offset", "8M"]).unwrap();
    let first_name = kernel_name(first.path());
    is_refused(second.path(), &image, &["image", &first_name, "which is mounted at"]);
    drop(second);
    let beside = LoopDevice::over(&image, &["--offset", "16M"]).unwrap();
    let name = kernel_name(beside.path());
    let words = format!("run {} --rw randwrite --io-size 4m", beside.path().display());
    halfpower(&format!("{words} --runtime 60s --destroy-data-on {name} --no-save")).expect(0);
}

#[test]
fn a_file_that_another_program_writes_to_or_has_locked_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.qcow2");
    fs::write(&file, vec![7; 8 << 20]).unwrap();
    let writer = File::options().write(true).open(&file).unwrap();
    // The program is a different process than this test.
    is_refused(&file, &file, &["is open for writing by process", "end that process first"]);
    let hard = folder.path().join("other");
    fs::hard_link(&file, &hard).unwrap();
    halfpower_in(folder.path(), "run other --rw write --overwrite --no-save")
        .refuses(3, &["is open for writing by process"]);
    drop(writer);
    let reader = File::open(&file).unwrap();
    reader.lock_shared().unwrap();
    is_refused(&file, &file, &["is locked by process"]);
    reader.unlock().unwrap();
    // A process that only reads is no reason.
    let words = format!("run {} --rw randwrite --io-size 4m --runtime 60s", file.display());
    halfpower(&format!("{words} --overwrite --no-save")).expect(0);
}

#[test]
fn a_loop_device_over_a_file_that_another_program_writes_to_is_refused() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    let _writer = File::options().write(true).open(device.backing_file()).unwrap();
    let name = kernel_name(device.path());
    let words = [&*format!("{name} is stored on"), "is open for writing by process"];
    is_refused(device.path(), &device.backing_file(), &words);
}

#[test]
fn the_file_of_a_layer_whose_overlay_is_in_use_is_refused_whatever_name_it_has() {
    requires!(Root, Loop, Mount);
    let layers = Mounted::tmpfs(64 << 20).unwrap();
    let folder = |name: &str| {
        let folder = layers.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let (lower, upper, work) = (folder("lower"), folder("upper"), folder("work"));
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let Ok(merged) = Mounted::with_options("overlay", "overlay", &options) else {
        return testkit::skip("the file of a layer", "the kernel has no overlay here");
    };
    let seen = merged.path().join("image");
    fs::write(&seen, vec![7; 8 << 20]).unwrap();
    let kept = upper.join("image");
    let hard = layers.path().join("hard");
    fs::hard_link(&kept, &hard).unwrap();
    let writer = File::options().write(true).open(&seen).unwrap();
    is_refused(&hard, &kept, &["is open for writing"]);
    let above = LoopDevice::over(&kept, &[]).unwrap();
    is_refused(above.path(), &kept, &["is stored on", "is open for writing by process"]);
    drop((above, writer));
    let above = LoopDevice::over(&seen, &[]).unwrap();
    is_refused(&hard, &kept, &["in use as the loop device", &kernel_name(above.path())]);
}

#[test]
fn no_flag_lets_a_run_write_to_a_database_of_results() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| halfpower_in(folder.path(), words);
    run("run sim:mm1 --runtime 1s --db kept.db").expect(0);
    let before = fs::read(folder.path().join("kept.db")).unwrap();
    fs::hard_link(folder.path().join("kept.db"), folder.path().join("hard")).unwrap();
    symlink("kept.db", folder.path().join("link")).unwrap();
    for target in ["kept.db", "hard", "link"] {
        let write = format!("run {target} --bs 512 --rw randwrite --overwrite --io-size 64k");
        run(&format!("{write} --db kept.db")).refuses(3, &["the database of results"]);
        run(&format!("{write} --no-save")).refuses(3, &["a database of halfpower results"]);
        run(&format!("{write} --db other.db")).refuses(3, &["a database of halfpower results"]);
    }
    fs::write(folder.path().join("kept.db-wal"), vec![7; 1 << 16]).unwrap();
    run("run kept.db-wal --bs 512 --rw write --overwrite --io-size 64k --no-save")
        .refuses(3, &["a database of halfpower results"]);
    fs::remove_file(folder.path().join("kept.db-wal")).unwrap();
    assert!(fs::read(folder.path().join("kept.db")).unwrap() == before);
}

#[test]
fn a_file_that_describes_the_load_is_no_target_of_it() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| halfpower_in(folder.path(), words);
    let trace: String = (0..500).map(|n| format!("{}.0 0 {} 8 0\n", n, n * 8)).collect();
    fs::write(folder.path().join("requests.txt"), &trace).unwrap();
    let refused = run("run requests.txt --replay requests.txt --overwrite --no-save").expect(3);
    assert!(refused.stderr.contains("it is the recording that is replayed"), "{refused:?}");
    assert_eq!(fs::read_to_string(folder.path().join("requests.txt")).unwrap(), trace);
}

#[test]
fn a_setting_of_the_kernel_is_no_target() {
    for file in ["/sys/kernel/mm/transparent_hugepage/enabled", "/proc/sys/kernel/hostname"] {
        if !Path::new(file).exists() {
            return testkit::skip("settings of the kernel", "this kernel lacks one");
        }
        let before = fs::read(file).unwrap();
        halfpower(&format!("run {file} --rw write --bs 512 --overwrite --no-save"))
            .refuses(3, &["changes this system"]);
        assert_eq!(fs::read(file).unwrap(), before);
    }
}

#[test]
fn a_dangling_link_stays_and_what_it_names_gets_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name);
    fs::create_dir(place("deep")).unwrap();
    for (link, target, flag) in [
        ("document", "deep/document.json", "--output"),
        ("intervals", "deep/intervals.csv", "--interval 100ms --csv"),
        ("line", "deep/line.csv", "--sqlio-csv"),
    ] {
        symlink(target, place(link)).unwrap();
        let words = format!("run sim:mm1 --runtime 1s --no-save {flag} {link}");
        halfpower_in(folder.path(), &words).expect(0);
        assert_eq!(fs::read_link(place(link)).unwrap(), Path::new(target));
        assert!(fs::metadata(place(target)).unwrap().len() > 0, "{target}");
    }
}

#[test]
fn what_lies_under_the_name_of_an_incomplete_result_is_left_as_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    // The name contains the process id, so all ids of the near future are occupied.
    let last: u32 = fs::read_to_string("/proc/sys/kernel/ns_last_pid")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or_else(std::process::id);
    for process in last..last + 400 {
        symlink(&precious, folder.path().join(format!(".out.json.{process}-0.partial"))).unwrap();
    }
    halfpower_in(folder.path(), "run sim:mm1 --runtime 1s --no-save --output out.json").expect(0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
    assert!(fs::metadata(folder.path().join("out.json")).unwrap().is_file());
}

#[test]
fn a_folder_that_is_no_control_group_keeps_its_files() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["tasks", "cgroup.threads"] {
        let file = folder.path().join(name);
        fs::write(&file, "buy milk").unwrap();
        let words = format!("run . --size 1m --no-save --cgroup {}", folder.path().display());
        halfpower_in(folder.path(), &words)
            .refuses(2, &["it is not the directory of a control group"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), "buy milk");
        fs::remove_file(&file).unwrap();
    }
}

#[test]
fn a_result_replaces_an_older_one_of_its_own_kind_alone() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &str| halfpower_in(folder.path(), words);
    run("run sim:mm1 --runtime 1s --no-save --output trial.json").expect(0);
    let before = fs::read(folder.path().join("trial.json")).unwrap();
    run("record --for 1s --no-save --output trial.json")
        .refuses(3, &["trial.json", "is not a halfpower recording document"]);
    assert_eq!(fs::read(folder.path().join("trial.json")).unwrap(), before);
    run("run sim:mm1 --runtime 1s --seed 2 --no-save --output trial.json").expect(0);
}

#[test]
fn the_list_of_hosts_is_no_target() {
    let folder = tempfile::tempdir().unwrap();
    let hosts = format!("a\n{}", "# a note\n".repeat(1000));
    fs::write(folder.path().join("hosts.txt"), &hosts).unwrap();
    let agent = format!("{} agent", env!("CARGO_BIN_EXE_halfpower"));
    let mut command = program();
    command.current_dir(folder.path()).args(["run", "hosts.txt", "--hosts", "@hosts.txt"]);
    command.args(["--launch", &agent]);
    let words = "--rw randwrite --bs 512 --size 4k --io-size 4k --overwrite --no-save";
    run(command, words).refuses(3, &["hosts.txt", "the list of hosts"]);
    assert_eq!(fs::read_to_string(folder.path().join("hosts.txt")).unwrap(), hosts);
}

#[test]
fn a_pipe_that_nothing_reads_is_waited_for_until_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status();
    if !made.is_ok_and(|status| status.success()) {
        return testkit::skip("a pipe for a result", "there is no mkfifo");
    }
    let mut command = program();
    command.current_dir(folder.path());
    command.args(["run", "sim:mm1", "--runtime", "1s", "--no-save", "--output", "pipe"]);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(child.try_wait().unwrap(), None, "it waits for a reader");
    let pid = child.id().to_string();
    // Repeat until it ends: the program may not listen for signals yet.
    while child.try_wait().unwrap().is_none() {
        Command::new("kill").args(["-TERM", &pid]).status().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    assert!(child.wait().unwrap().code() != Some(0));
}
