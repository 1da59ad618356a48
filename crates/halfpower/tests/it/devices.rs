//! Writes to block devices that are allowed (named, free and blank); each is the opposite of a refusal.

use crate::program::{Outcome, found, halfpower, trial};
use record::{FindingCode, Severity, Trial};
use std::path::Path;
use testkit::{LoopDevice, Zram, partition, requires};

const MIB: u64 = 1 << 20;

fn kernel_name(device: &Path) -> String {
    device.file_name().unwrap().to_string_lossy().into_owned()
}

/// Random writes to a device under its own name.
fn write_to(device: &Path, flags: &str) -> Outcome {
    let name = kernel_name(device);
    let words = format!("run {} --rw randwrite --io-size 4m --runtime 60s", device.display());
    halfpower(&format!("{words} --destroy-data-on {name} --no-save {flags}"))
}

fn destroyed(trial: &Trial) -> Vec<&record::Finding> {
    let is = |finding: &&record::Finding| finding.code == FindingCode::DataDestroyed;
    trial.findings.iter().filter(is).collect()
}

#[test]
fn a_blank_device_of_that_name_is_written_and_the_trial_says_what_it_destroyed() {
    requires!(Root, Loop);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let ended = write_to(device.path(), "--json").expect(0);
    let trial = ended.trial();
    assert!(trial.result.write.as_ref().unwrap().ios > 0);
    assert!(std::fs::read(device.path()).unwrap().iter().any(|byte| *byte != 0));
    let said = destroyed(&trial);
    assert_eq!(said.len(), 1, "{:?}", trial.findings);
    assert_eq!(said[0].severity, Severity::Info);
    let name = kernel_name(device.path());
    for word in [&*device.path().display().to_string(), &name, "16 MiB", "--destroy-data-on"] {
        assert!(said[0].claim.contains(word), "{word:?} is not in {}", said[0].claim);
    }
    let page = write_to(device.path(), "--verbose").expect(0).stdout;
    assert!(page.contains("The run destroyed data on"), "{page}");
}

#[test]
fn what_a_run_wrote_is_no_signature_so_that_the_device_can_be_written_again() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    for _ in 0..3 {
        let words = "--rw write --bs 64k --io-size 32m --runtime 60s";
        let name = kernel_name(device.path());
        let path = device.path().display();
        halfpower(&format!("run {path} {words} --destroy-data-on {name} --no-save")).expect(0);
    }
    let bytes = std::fs::read(device.path()).unwrap();
    assert!(bytes.chunks(4096).all(|block| block.iter().any(|byte| *byte != 0)));
}

#[test]
fn only_the_area_that_was_named_is_written() {
    requires!(Root, Loop);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let ended = write_to(device.path(), "--offset 4m --size 2m --json").expect(0);
    let bytes = std::fs::read(device.path()).unwrap();
    let is_blank = |from: usize, to: usize| bytes[from << 20..to << 20].iter().all(|b| *b == 0);
    assert!(is_blank(0, 4) && is_blank(6, 16) && !is_blank(4, 6));
    let trial = ended.trial();
    assert!(destroyed(&trial)[0].claim.contains("2 MiB, beginning at byte 4194304"), "{trial:?}");
}

#[test]
fn reads_of_a_device_destroy_nothing_and_need_no_name() {
    requires!(Root, Loop);
    let device = LoopDevice::new(16 * MIB).unwrap();
    let read = trial(0, &format!("{} --io-size 4m --runtime 60s", device.path().display()));
    assert!(!found(&read.findings, FindingCode::DataDestroyed), "{:?}", read.findings);
    assert!(std::fs::read(device.path()).unwrap().iter().all(|byte| *byte == 0));
}

#[test]
fn a_link_to_a_blank_device_is_written_under_the_devices_name() {
    requires!(Root, Loop);
    let device = LoopDevice::new(8 * MIB).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(device.path(), &link).unwrap();
    let name = kernel_name(device.path());
    let words = format!("run {} --rw randwrite --io-size 4m --runtime 60s", link.display());
    halfpower(&format!("{words} --destroy-data-on {name} --no-save")).expect(0);
    let node = device.path().display();
    halfpower(&format!("{words} --destroy-data-on {node} --no-save")).expect(0);
    halfpower(&format!("{words} --destroy-data-on link --no-save"))
        .refuses(3, &["which is another device", &name]);
}

#[test]
fn a_blank_partition_of_a_free_disk_is_written_and_nothing_beside_it() {
    requires!(Root, Loop, Partitions);
    let device = LoopDevice::new(32 * MIB).unwrap();
    let (part, _part) = partition(device.path(), 1, 2048, 32_768).unwrap();
    write_to(&part, "").expect(0);
    let bytes = std::fs::read(device.backing_file()).unwrap();
    let is_blank = |from: usize, to: usize| bytes[from << 20..to << 20].iter().all(|b| *b == 0);
    assert!(is_blank(0, 1) && !is_blank(1, 17) && is_blank(17, 32));
}

#[test]
fn a_device_is_claimed_as_long_as_it_is_written() {
    requires!(Root, Loop, Ext4);
    use crate::program::{Running, program};
    let device = LoopDevice::new(16 * MIB).unwrap();
    let name = kernel_name(device.path());
    let mut command = program();
    let path = device.path().display();
    let words = format!("run {path} --rw randwrite --runtime 30s --destroy-data-on {name}");
    command.args(words.split_whitespace()).arg("--no-save");
    let mut running = Running::start(command);
    running.wait_for("measure ...");
    let made = std::process::Command::new("mkfs.ext4").arg("-qF").arg(device.path()).output();
    let made = made.unwrap();
    assert!(!made.status.success(), "{made:?}");
    halfpower(&format!("run {path} --rw write --destroy-data-on {name} --no-save"))
        .refuses(3, &["halfpower", "open for writing"]);
    running.signal("INT");
    running.end();
}

#[test]
fn a_ram_disk_is_written_and_its_own_counters_are_used_although_the_queue_keeps_none() {
    requires!(Root, Zram);
    let device = Zram::new(16 * MIB).unwrap();
    // A device with zero counters may not count at all, so a first run is needed.
    write_to(device.path(), "").expect(0);
    let trial = write_to(device.path(), "--json").expect(0).trial();
    let writes = trial.result.write.as_ref().unwrap().ios;
    let counters = trial.device_counters.value().expect("no counters");
    let ratio = counters.ratio_ios.unwrap();
    assert!((0.9..1.1).contains(&ratio), "{ratio} of {writes}: {counters:?}");
    assert_eq!(destroyed(&trial).len(), 1);
}

#[test]
fn two_devices_need_two_names() {
    requires!(Root, Loop);
    let (one, two) = (LoopDevice::new(8 * MIB).unwrap(), LoopDevice::new(8 * MIB).unwrap());
    let (first, second) = (kernel_name(one.path()), kernel_name(two.path()));
    let words = format!(
        "run {} {} --rw randwrite --io-size 4m --runtime 60s --numjobs 2 --no-save --json",
        one.path().display(),
        two.path().display()
    );
    halfpower(&format!("{words} --destroy-data-on {first}"))
        .refuses(3, &["which is another device", &format!("add --destroy-data-on {second}")]);
    assert!(std::fs::read(one.path()).unwrap().iter().all(|byte| *byte == 0));
    let both = format!("{words} --destroy-data-on {first} --destroy-data-on {second}");
    let trial = halfpower(&both).expect(0).trial();
    assert_eq!(destroyed(&trial).len(), 2, "{:?}", trial.findings);
}
