//! `diagnose` of a directory on several real devices: names the device that the others wait for.

use crate::program::{Running, program, run};
use record::{Diagnosis, Episode, Verdict};
use std::path::Path;
use testkit::{LoopDevice, Mounted, Throttle, ThrottledGroup, requires};

const MIB: u64 = 1 << 20;
/// Limit of one leg in reads per second, lower than any disk's rate.
const LEG_IOPS: u64 = 300;

fn name(device: &LoopDevice) -> String {
    device.path().file_name().unwrap().to_string_lossy().into_owned()
}

fn episode<'d>(diagnosis: &'d Diagnosis, device: &LoopDevice) -> &'d Episode {
    let is_its = |one: &&record::DeviceDiagnosis| one.device == name(device);
    let found = diagnosis.devices.iter().find(is_its);
    let found = found.unwrap_or_else(|| panic!("{} is missing: {diagnosis:#?}", name(device)));
    let longest = found.episodes.iter().max_by_key(|episode| episode.duration_ns);
    longest.unwrap_or_else(|| panic!("{found:#?}"))
}

/// Whether other processes kept the machine so busy that a rate was below its limit, or varied. The machine,
/// not the limit, then determines the result, and the test is skipped.
fn stood_still(test: &str, found: &Diagnosis, held: &LoopDevice) -> bool {
    let (done, allowed) = (episode(found, held).numbers.iops.unwrap(), LEG_IOPS as f64);
    let why = if done < 0.93 * allowed {
        format!("the machine stood still: {done:.0} of {allowed:.0} reads per second")
    } else if let Some(device) = found.devices.iter().find(|device| device.episodes.len() > 1) {
        // The load is constant, so a change of the device's state has another cause.
        format!("the machine stood still for a time: {} was not the same throughout", device.device)
    } else {
        return false;
    };
    testkit::skip(test, &why);
    true
}

/// The diagnosis of a directory in a file system while a group randomly reads a file in it.
fn diagnosed_while_read(file_system: &Path, group: &ThrottledGroup) -> Diagnosis {
    let folder = file_system.join("db");
    std::fs::create_dir(&folder).unwrap();
    let file = folder.join("data");
    std::fs::write(&file, vec![7; 64 << 20]).unwrap();
    std::fs::File::open(&file).unwrap().sync_all().unwrap();
    let mut reader = group.entered();
    reader.arg(env!("CARGO_BIN_EXE_halfpower")).arg("run").arg(&file);
    reader.args("--iodepth 32 --runtime 60s --no-save".split_whitespace());
    let mut reading = Running::start(reader);
    reading.wait_for("measure ...");
    let mut command = program();
    command.arg("diagnose").arg(&folder);
    let ended = run(command, "--for 5s --interval 500ms --no-save --json").expect(0);
    drop(reading);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[test]
fn a_leg_of_a_stripe_that_is_held_back_is_named_and_the_other_is_not_blamed() {
    requires!(Root, Loop, Mount, Btrfs, BlkioGroup);
    let memory = Mounted::tmpfs(320 * MIB).unwrap();
    let [quick, held] =
        [(); 2].map(|()| LoopDevice::within(memory.path(), 128 * MIB, 512).unwrap());
    let disk = Mounted::btrfs_striped(&[quick.path(), held.path()]).unwrap();
    let group = ThrottledGroup::new().unwrap();
    group.limit(held.path(), Throttle::ReadIops, LEG_IOPS).unwrap();
    let found = diagnosed_while_read(disk.path(), &group);
    if stood_still("a_leg_of_a_stripe_that_is_held_back", &found, &held) {
        return;
    }
    let leg = episode(&found, &held);
    assert_eq!(leg.verdict, Verdict::Capped, "{found:#?}");
    assert!(leg.claim.contains(&format!("waits for {}", name(&held))), "{found:#?}");
    let other = episode(&found, &quick);
    assert!(!other.verdict.is_slow() && other.verdict != Verdict::Capped, "{found:#?}");
}

#[test]
fn a_leg_whose_file_lies_on_a_capped_disk_is_waited_for_and_that_disk_is_looked_at() {
    requires!(Root, Loop, Mount, Btrfs, Ext4, BlkioGroup);
    let memory = Mounted::tmpfs(448 * MIB).unwrap();
    let quick = LoopDevice::within(memory.path(), 128 * MIB, 512).unwrap();
    let below = LoopDevice::within(memory.path(), 192 * MIB, 512).unwrap();
    let between = Mounted::ext4(below.path()).unwrap();
    let file = between.path().join("leg");
    std::fs::File::create(&file).unwrap().set_len(128 * MIB).unwrap();
    let slow = LoopDevice::over(&file, &["--direct-io=on"]).unwrap();
    let disk = Mounted::btrfs_striped(&[quick.path(), slow.path()]).unwrap();
    let group = ThrottledGroup::new().unwrap();
    group.limit(below.path(), Throttle::ReadIops, LEG_IOPS).unwrap();
    let found = diagnosed_while_read(disk.path(), &group);
    if stood_still("a_leg_whose_file_lies_on_a_capped_disk", &found, &below) {
        return;
    }
    let leg = episode(&found, &slow);
    // Capped if its rate is constant behind a full queue in each interval, which a busy machine may not show.
    assert!(leg.verdict.is_slow() || leg.verdict == Verdict::Capped, "{leg:#?}");
    assert!(leg.claim.contains("the btrfs raid0 waits for "), "{}", leg.claim);
    for device in [&quick, &slow] {
        assert!(leg.claim.contains(&name(device)), "{}", leg.claim);
    }
    assert!(!episode(&found, &quick).verdict.is_slow(), "{found:#?}");
    // This device holds the loop device's file.
    assert_eq!(episode(&found, &below).verdict, Verdict::Capped, "{found:#?}");
    let cause = format!("This device's file is on {}, which is capped", name(&below));
    assert!(leg.claim.contains(&cause), "{}", leg.claim);
}
