//! Tests the sampler on machines made of files: hot-plug, resets, wraps, stacks, and broken lines.

use host::kernel::live::{Sampler, Selection, mount_points, wake_ups};
use host::kernel::{self, Roots};
use record::{ArrayState, FindingCode, Interval, LVM_ONCE, ObservedPath, VolumeKind};
use rustix::thread::current_timer_slack;
use std::fmt::Write;
use testkit::Fake;

/// A line of 20 columns: requests read, sectors read, ms read, and the other columns derived from these.
fn line(numbers: &str, name: &str, ios: u64, ms: u64) -> String {
    let sectors = ios * 8;
    format!("{numbers} {name} {ios} 0 {sectors} {ms} 0 0 0 0 0 {ms} {ms} 0 0 0 0 0 0\n")
}

fn machine(lines: &str) -> Fake {
    let fake = Fake::new();
    fake.proc("sys/kernel/osrelease", "6.12.0\n");
    fake.proc("diskstats", lines);
    fake
}

fn sampler(fake: &Fake, selection: Selection) -> Sampler {
    Sampler::new(Roots::below(fake.root()), selection).unwrap()
}

fn all() -> Selection {
    Selection { unused: true, ..Selection::default() }
}

/// Name and read count of each interval.
fn reads(intervals: &[Interval]) -> Vec<(&str, f64)> {
    let count = |interval: &Interval| {
        let per_s = interval.read.per_s.unwrap().value;
        (per_s * interval.duration_ns as f64 / 1e9).round()
    };
    intervals.iter().map(|interval| (interval.device.as_str(), count(interval))).collect()
}

fn codes(sampler: &Sampler) -> Vec<FindingCode> {
    sampler.findings().iter().map(|finding| finding.code).collect()
}

#[test]
fn each_sample_holds_what_happened_since_the_one_before() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    let mut sampler = sampler(&fake, all());
    fake.proc("diskstats", &line("8 0", "sda", 300, 150));
    let first = sampler.sample().unwrap();
    assert_eq!(reads(&first), [("sda", 200.0)]);
    fake.proc("diskstats", &line("8 0", "sda", 310, 152));
    let second = sampler.sample().unwrap();
    assert_eq!(reads(&second), [("sda", 10.0)]);
    assert!(second[0].begin_ns >= first[0].begin_ns);
    assert_eq!(sampler.findings(), []);
}

#[test]
fn a_device_that_is_plugged_in_is_seen_from_its_second_reading_and_noted() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    let mut sampler = sampler(&fake, all());
    fake.proc("diskstats", &(line("8 0", "sda", 101, 50) + &line("8 16", "sdb", 7, 1)));
    assert_eq!(reads(&sampler.sample().unwrap()), [("sda", 1.0)]);
    fake.proc("diskstats", &(line("8 0", "sda", 102, 50) + &line("8 16", "sdb", 9, 1)));
    assert_eq!(reads(&sampler.sample().unwrap()), [("sda", 1.0), ("sdb", 2.0)]);
    assert_eq!(codes(&sampler), [FindingCode::DevicesChanged]);
    assert!(sampler.findings()[0].claim.contains("sdb appeared"), "{:?}", sampler.findings());
}

#[test]
fn a_device_that_is_pulled_out_is_gone_and_a_new_one_of_its_name_starts_anew() {
    let both = line("8 0", "sda", 100, 50) + &line("8 16", "sdb", 900, 90);
    let fake = machine(&both);
    let mut sampler = sampler(&fake, all());
    fake.proc("diskstats", &line("8 0", "sda", 101, 50));
    assert_eq!(reads(&sampler.sample().unwrap()), [("sda", 1.0)]);
    assert_eq!(sampler.devices().len(), 1);
    // More requests than the old one had: only its absence shows that it is another device.
    fake.proc("diskstats", &(line("8 0", "sda", 101, 50) + &line("8 16", "sdb", 5_000, 90)));
    assert_eq!(reads(&sampler.sample().unwrap()), [("sda", 0.0)]);
    assert!(sampler.findings()[0].claim.contains("sdb appeared; sdb disappeared"));
}

#[test]
fn a_reset_costs_one_interval_and_is_noted() {
    let fake = machine(&line("8 0", "sda", 1_000, 50));
    let mut sampler = sampler(&fake, all());
    for (ios, seen) in [(10, vec![]), (14, vec![("sda", 4.0)])] {
        fake.proc("diskstats", &line("8 0", "sda", ios, 1));
        assert_eq!(reads(&sampler.sample().unwrap()), seen);
    }
    assert_eq!(codes(&sampler), [FindingCode::CountersReset]);
    // The same counters under other numbers also belong to another device.
    fake.proc("diskstats", &line("8 48", "sda", 15, 1));
    assert_eq!(reads(&sampler.sample().unwrap()), []);
    assert_eq!(sampler.findings()[0].evidence[0].value, 2.0);
}

#[test]
fn a_line_that_cannot_be_read_makes_one_longer_interval_for_its_device_alone() {
    let lines = |sda: u64, sdb: u64| line("8 0", "sda", sda, 50) + &line("8 16", "sdb", sdb, 50);
    let fake = machine(&lines(100, 200));
    let mut sampler = sampler(&fake, all());
    let broken = line("8 0", "sda", 110, 50) + "8 16 sdb 201 0 garbage\n\0\u{fffd}\n";
    fake.proc("diskstats", &broken);
    let seen = sampler.sample().unwrap();
    assert_eq!(reads(&seen), [("sda", 10.0)]);
    fake.proc("diskstats", &lines(111, 230));
    let next = sampler.sample().unwrap();
    assert_eq!(reads(&next), [("sda", 1.0), ("sdb", 30.0)]);
    assert!(next[1].duration_ns > next[0].duration_ns);
    assert_eq!(codes(&sampler), [FindingCode::CountersUnreadable]);
    assert_eq!(sampler.findings()[0].evidence[0].value, 2.0);
}

#[test]
fn counters_that_are_switched_off_have_no_figures_and_come_back() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    fake.block("pci/block/sda", "8:0", 1000);
    fake.sys("devices/pci/block/sda/mq/0", "");
    fake.sys("devices/pci/block/sda/queue/iostats", "1");
    let mut sampler = sampler(&fake, all());
    let mut figures = |ios: u64| {
        fake.proc("diskstats", &line("8 0", "sda", ios, 50));
        let seen = sampler.sample().unwrap();
        (seen[0].all.per_s.is_some(), codes(&sampler))
    };
    assert_eq!(figures(200), (true, vec![]));
    fake.sys("devices/pci/block/sda/queue/iostats", "0");
    assert_eq!(figures(200), (false, vec![FindingCode::CountersOff]));
    assert_eq!(figures(200), (false, vec![FindingCode::CountersOff]));
    fake.sys("devices/pci/block/sda/queue/iostats", "1");
    // An increase over an unknown time has no rate.
    assert_eq!(figures(250), (false, vec![]));
    assert_eq!(figures(260), (true, vec![]));
}

#[test]
fn partitions_and_unused_devices_are_shown_when_asked_for() {
    let text =
        line("8 0", "sda", 100, 5) + &line("8 1", "sda1", 90, 5) + &line("7 0", "loop0", 0, 0);
    let fake = machine(&text);
    fake.block("pci/block/sda", "8:0", 1000);
    fake.block("pci/block/sda/sda1", "8:1", 900);
    fake.sys("devices/pci/block/sda/sda1/partition", "1");
    let mut sampler = sampler(&fake, Selection::default());
    let mut names = |partitions, unused| {
        sampler.show(partitions, unused);
        let seen = sampler.sample().unwrap();
        let names: Vec<String> = seen.iter().map(|interval| interval.device.clone()).collect();
        assert_eq!(sampler.devices().len(), names.len());
        (names.join(" "), sampler.hidden())
    };
    assert_eq!(names(false, false), ("sda".to_owned(), 2));
    assert_eq!(names(true, false), ("sda sda1".to_owned(), 1));
    assert_eq!(names(true, true), ("sda sda1 loop0".to_owned(), 0));
}

#[test]
fn a_device_that_is_named_and_not_there_is_an_error_with_those_that_are() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    let named = |name: &str| Selection { named: vec![name.to_owned()], ..Selection::default() };
    let error = Sampler::new(Roots::below(fake.root()), named("sdb")).unwrap_err();
    assert!(
        error.to_string().contains("\"sdb\"") && error.to_string().contains("known devices: sda")
    );
    assert_eq!(
        Sampler::new(Roots::below(fake.root()), named("/dev/sda")).unwrap().devices().len(),
        1
    );
    let nothing = Fake::new();
    let error = Sampler::new(Roots::below(nothing.root()), all()).unwrap_err();
    assert!(error.to_string().contains("diskstats"), "{error}");
}

#[test]
fn a_volume_says_of_what_it_is_built_also_when_a_disk_is_added_to_it() {
    let lines = line("8 0", "sda", 100, 50) + &line("253 0", "dm-0", 100, 50);
    let fake = machine(&lines);
    fake.block("pci/block/sda", "8:0", 1000);
    fake.block("virtual/block/dm-0", "253:0", 800);
    fake.sys_link("devices/virtual/block/dm-0/slaves/sda", "devices/pci/block/sda");
    let mut sampler = sampler(&fake, all());
    let built_of = |sampler: &Sampler| sampler.devices().last().unwrap().built_of.clone();
    assert_eq!(built_of(&sampler), ["sda"]);
    assert_eq!(codes(&sampler), [FindingCode::BusyDoubtful]);
    fake.block("pci/block/sdb", "8:16", 1000);
    fake.sys_link("devices/virtual/block/dm-0/slaves/sdb", "devices/pci/block/sdb");
    fake.proc("diskstats", &(lines.clone() + &line("8 16", "sdb", 1, 1)));
    sampler.sample().unwrap();
    assert_eq!(sampler.devices()[1].built_of, ["sda", "sdb"]);
}

#[test]
fn only_kernels_that_count_or_sample_busy_time_wrongly_are_doubted() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    for (releases, doubt) in [
        (&["4.16.18", "6.10.0-rc1", "6.18.44-fc-v445", "7.0.1", "2.6.32", "unknown", "\n"][..], ""),
        (&["4.17.0", "4.19.325-generic", "4.20"], "allocated"),
        (&["5.0.0", "5.15.0-91-generic", "6.1.0-18-amd64", "6.9.12"], "timer tick"),
    ] {
        for release in releases {
            fake.proc("sys/kernel/osrelease", release);
            let sampler = sampler(&fake, all());
            let found = sampler.devices()[0].busy_doubt.clone().unwrap_or_default();
            assert_eq!(found.is_empty(), doubt.is_empty(), "{release}: {found}");
            assert!(found.contains(doubt), "{release}: {found}");
            assert_eq!(codes(&sampler).is_empty(), doubt.is_empty(), "{release}");
        }
    }
}

#[test]
fn a_thousand_devices_are_read_in_one_sample_each_with_its_own_figures() {
    let lines = |round: u64| {
        let mut text = String::new();
        for device in 0..1_000 {
            let (major, minor) = (8 + device / 256, device % 256);
            let ios = 1_000 + device * round;
            write!(text, "{}", line(&format!("{major} {minor}"), &format!("sd{device}"), ios, ios))
                .unwrap();
        }
        text
    };
    let fake = machine(&lines(0));
    let mut sampler = sampler(&fake, all());
    for round in 1..4 {
        fake.proc("diskstats", &lines(round));
        let seen = sampler.sample().unwrap();
        assert_eq!(seen.len(), 1_000);
        let all: Vec<(&str, f64)> = reads(&seen);
        assert_eq!((all[1], all[999]), (("sd1", 1.0), ("sd999", 999.0)));
    }
    assert_eq!(sampler.findings(), []);
}

#[test]
fn any_garbage_in_the_file_is_survived() {
    let fake = machine("");
    let mut sampler = sampler(&fake, all());
    let mut seed = 12_345_u64;
    for _ in 0..300 {
        let mut bytes = Vec::new();
        for word in line("8 0", "sda", 100, 5).repeat(3).split_inclusive(' ') {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            match seed >> 60 {
                0 => bytes.extend([0xff, 0, b'\n']),
                1 => bytes.extend(b"18446744073709551616 "),
                2 => bytes.extend(b"-1 "),
                3 => {}
                _ => bytes.extend(word.as_bytes()),
            }
        }
        std::fs::write(Roots::below(fake.root()).proc.join("diskstats"), bytes).unwrap();
        sampler.sample().unwrap();
        sampler.context();
        assert!(sampler.findings().len() <= 3);
    }
}

#[test]
fn sleeps_of_all_lengths_are_measured_once_and_the_slack_is_as_before() {
    let before = current_timer_slack().ok();
    let found = wake_ups();
    let slept: Vec<u64> = found.iter().map(|one| one.slept_ns / 1_000).collect();
    assert_eq!(slept, [100, 200, 400, 800, 1_600, 6_400, 25_600]);
    assert!(found.iter().all(|one| one.late_ns > 0), "{found:?}");
    assert_eq!(wake_ups(), found);
    assert_eq!(current_timer_slack().ok(), before);
}

/// md0 on dm-0 on sda1, a partition of sda.
fn stack() -> Fake {
    let lines: String = [("8 0", "sda"), ("8 1", "sda1"), ("253 0", "dm-0"), ("9 0", "md0")]
        .map(|(numbers, name)| line(numbers, name, 0, 0))
        .concat();
    let fake = machine(&lines);
    fake.block("pci/block/sda", "8:0", 1000);
    fake.block("pci/block/sda/sda1", "8:1", 900);
    fake.sys("devices/pci/block/sda/sda1/partition", "1");
    fake.block("virtual/block/dm-0", "253:0", 800);
    fake.sys_link("devices/virtual/block/dm-0/slaves/sda1", "devices/pci/block/sda/sda1");
    fake.block("virtual/block/md0", "9:0", 800);
    fake.sys_link("devices/virtual/block/md0/slaves/dm-0", "devices/virtual/block/dm-0");
    fake
}

#[test]
fn each_layer_names_what_it_repeats() {
    let fake = stack();
    let devices = sampler(&fake, Selection { partitions: true, ..all() }).devices();
    let [disk, part, volume, array] = &devices[..] else { panic!("{devices:?}") };
    assert_eq!((disk.built_of.len(), &disk.partition_of, &disk.busy_doubt), (0, &None, &None));
    assert_eq!(disk.facts.as_ref().unwrap().disk, "sda");
    assert_eq!(part.partition_of.as_deref(), Some("sda"));
    assert_eq!(volume.built_of, ["sda1"]);
    assert_eq!(array.built_of, ["dm-0"]);
    assert!(array.busy_doubt.as_ref().unwrap().contains("timer ticks"));
    assert_eq!(array.facts.as_ref().unwrap().leaves, ["sda"]);
}

#[test]
fn a_name_that_now_belongs_to_other_numbers_has_no_facts_of_the_old_device() {
    let fake = stack();
    fake.proc("diskstats", &line("8 1", "sdb", 0, 0));
    assert_eq!(sampler(&fake, all()).devices()[0].facts, None);
}

#[test]
fn without_sysfs_only_the_old_short_lines_are_known_as_partitions() {
    let fake = machine("3 1 hda1 1 8 1 8\n9 127 md127 0 0 0 0 0 0 0 0 0 0 0\n");
    let devices = sampler(&fake, Selection { partitions: true, ..all() }).devices();
    assert_eq!(devices[0].partition_of.as_deref(), Some("hda"));
    assert_eq!(devices[1].partition_of, None);
}

#[test]
fn a_file_system_is_found_from_every_device_below_it_and_read_only_ones_are_not() {
    let fake = stack();
    fake.proc(
        "self/mountinfo",
        "30 1 9:0 / /srv/data rw - ext4 /dev/md0 rw\n31 1 9:0 /x /srv rw - ext4 /dev/md0 rw\n\
         32 1 8:0 / /snap ro - squashfs /dev/sda ro\n33 1 0:5 / / rw - tmpfs tmpfs rw\n",
    );
    let points = mount_points(&Roots::below(fake.root()));
    let of = |name: &str| points.get(name).map(|path| path.display().to_string());
    assert_eq!(of("md0").as_deref(), Some("/srv"));
    assert_eq!(of("sda").as_deref(), Some("/srv"));
    assert_eq!(of("sdb"), None);
}

/// The path that a name refers to, and the names of the devices in the kernel's order.
fn meant(fake: &Fake, name: &str) -> Option<(ObservedPath, Vec<String>)> {
    let selection = Selection { named: vec![name.to_owned()], ..Selection::default() };
    let sampler = Sampler::new(Roots::below(fake.root()), selection).ok()?;
    let names = sampler.devices().iter().map(|device| device.name.clone()).collect();
    Some((sampler.paths()[0].clone(), names))
}

#[test]
fn a_named_volume_comes_with_all_devices_below_it_and_a_partition_with_its_disk() {
    let fake = stack();
    let names = |name: &str| meant(&fake, name).map_or(Vec::new(), |(_, names)| names);
    assert_eq!(names("md0"), ["sda", "sda1", "dm-0", "md0"], "in the order of the kernel");
    assert_eq!(names("/dev/sda"), ["sda"]);
    assert_eq!(names("sda1"), ["sda", "sda1"]);
    assert_eq!(names("sdz"), [""; 0]);
    assert_eq!(names("/no/such/path"), [""; 0]);
    let (path, _) = meant(&fake, "md0").unwrap();
    assert_eq!(path.devices, ["md0", "dm-0", "sda1", "sda"], "from the top");
    let volumes = path.volumes.iter().map(|it| (it.name.as_str(), it.members.concat()));
    let below: Vec<(&str, String)> = volumes.collect();
    assert_eq!(below, [("md0", "dm-0".to_owned()), ("dm-0", "sda1".to_owned())]);
}

/// A btrfs on loop0 and sdb; the file of loop0 is on a file system on sda. With `circle`, sdb is built on
/// loop0, so that they form a cycle.
fn btrfs(circle: bool) -> Fake {
    let lines: String = [("7 0", "loop0"), ("8 0", "sda"), ("8 16", "sdb"), ("8 32", "sdc")]
        .map(|(numbers, name)| line(numbers, name, 1, 1))
        .concat();
    let fake = machine(&lines);
    fake.block("virtual/block/loop0", "7:0", 800);
    fake.sys("devices/virtual/block/loop0/loop/backing_file", "/images/a.img");
    for (name, numbers) in [("sda", "8:0"), ("sdb", "8:16"), ("sdc", "8:32")] {
        fake.block(&format!("pci/block/{name}"), numbers, 1000);
    }
    let top = |point: &str| format!("30 1 0:40 / {point} rw - btrfs /dev/sdb rw\n");
    let images = "31 1 8:0 / /images rw - ext4 /dev/sda rw\n";
    fake.proc("self/mountinfo", &(top(&fake.path("data").display().to_string()) + images));
    std::fs::create_dir(fake.path("data")).unwrap();
    fake.sys_link("fs/btrfs/12-34/devices/loop0", "devices/virtual/block/loop0");
    fake.sys_link("fs/btrfs/12-34/devices/sdb", "devices/pci/block/sdb");
    fake.sys("fs/btrfs/12-34/allocation/data/flags", "1");
    fake.sys("fs/btrfs/12-34/allocation/data/raid0/used_bytes", "1");
    if circle {
        fake.sys_link("devices/pci/block/sdb/slaves/loop0", "devices/virtual/block/loop0");
    }
    fake
}

#[test]
fn an_array_tells_what_it_lacks_and_what_it_does_of_its_own() {
    let fake = stack();
    let array = |fake: &Fake| {
        let facts = kernel::device::device_of(&Roots::below(fake.root()), (9, 0));
        facts.and_then(|facts| facts.array)
    };
    assert_eq!(array(&fake), None, "an array without redundancy");
    let set = |degraded: &str, action: &str| {
        fake.sys("devices/virtual/block/md0/md/degraded", degraded);
        fake.sys("devices/virtual/block/md0/md/sync_action", action);
    };
    set("0", "idle");
    assert_eq!(array(&fake), Some(ArrayState::default()));
    set("1", "recover");
    let recovers = ArrayState { missing: 1, work: Some("recover".to_owned()) };
    assert_eq!(array(&fake), Some(recovers));

    let fake = btrfs(false);
    let state = |fake: &Fake| {
        let (path, _) = meant(fake, fake.path("data").to_str().unwrap()).unwrap();
        path.volumes[0].state.clone()
    };
    assert_eq!(state(&fake), Some(ArrayState::default()));
    for (member, missing) in [(1, "0"), (2, "0"), (3, "1")] {
        fake.sys(&format!("fs/btrfs/12-34/devinfo/{member}/missing"), missing);
    }
    fake.sys("fs/btrfs/12-34/exclusive_operation", "balance");
    let balances = ArrayState { missing: 1, work: Some("balance".to_owned()) };
    assert_eq!(state(&fake), Some(balances));
    fake.sys("fs/btrfs/12-34/exclusive_operation", "balance paused");
    assert_eq!(state(&fake), Some(ArrayState { missing: 1, work: None }));
}

#[test]
fn a_file_system_of_several_devices_is_looked_at_also_where_nothing_is_named() {
    let fake = btrfs(false);
    let sampler =
        Sampler::new(Roots::below(fake.root()), Selection { unused: true, ..Selection::default() });
    let sampler = sampler.unwrap();
    let [path] = &sampler.paths()[..] else { panic!("{:?}", sampler.paths()) };
    assert_eq!(path.volumes[0].members, ["loop0", "sdb"]);
    assert_eq!(path.devices, ["loop0", "sdb", "sda"]);
    let shown = sampler.devices().len();
    assert_eq!(shown, 4, "devices beside it are shown as well");
}

#[test]
fn a_directory_means_all_devices_of_its_file_system_and_those_below_the_file_of_a_loop_device() {
    for circle in [false, true] {
        let fake = btrfs(circle);
        let (path, names) = meant(&fake, fake.path("data").to_str().unwrap()).unwrap();
        assert_eq!(names, ["loop0", "sda", "sdb"], "{path:?}");
        assert_eq!(path.filesystem.as_ref().map(|it| it.kind.as_str()), Some("btrfs"));
        let volume = &path.volumes[0];
        assert_eq!((volume.kind, volume.name.as_str()), (VolumeKind::Btrfs, "12-34"));
        assert_eq!(volume.level.as_deref(), Some("raid0"));
        assert_eq!(volume.members, ["loop0", "sdb"]);
        let file = &path.volumes[1];
        assert_eq!((file.kind, file.members.concat()), (VolumeKind::Loop, "sda".to_owned()));
        assert_eq!(path.volumes.len(), if circle { 3 } else { 2 });
    }
}

#[test]
fn a_logical_volume_right_on_several_disks_keeps_each_block_once() {
    let lines: String =
        [("8 0", "sda"), ("8 16", "sdb"), ("253 0", "dm-0"), ("253 1", "dm-1"), ("253 2", "dm-2")]
            .map(|(numbers, name)| line(numbers, name, 0, 0))
            .concat();
    let fake = machine(&lines);
    fake.block("pci/block/sda", "8:0", 1000);
    fake.block("pci/block/sdb", "8:16", 1000);
    let mapped = [
        ("dm-0", "253:0", "LVM-abc", ["pci/block/sda", "pci/block/sdb"]),
        ("dm-1", "253:1", "mpath-abc", ["pci/block/sda", "pci/block/sdb"]),
        // A mirror or a snapshot, on volumes of its own.
        ("dm-2", "253:2", "LVM-abd", ["virtual/block/dm-0", "virtual/block/dm-1"]),
    ];
    for (name, numbers, id, members) in mapped {
        let own = format!("virtual/block/{name}");
        fake.block(&own, numbers, 800);
        fake.sys(&format!("devices/{own}/dm/uuid"), id);
        for member in members {
            let link = format!("devices/{own}/slaves/{}", member.rsplit('/').next().unwrap());
            fake.sys_link(&link, &format!("devices/{member}"));
        }
    }
    let level = |name: &str| {
        let (path, _) = meant(&fake, name).unwrap();
        (path.volumes[0].kind, path.volumes[0].level.clone())
    };
    let mapper = VolumeKind::DeviceMapper;
    assert_eq!(level("dm-0"), (mapper, Some(LVM_ONCE.to_owned())));
    assert_eq!(level("dm-1"), (mapper, None));
    assert_eq!(level("dm-2"), (mapper, None));
}
