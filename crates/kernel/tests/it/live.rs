//! The sampler on machines made of files: plugs, resets, wraps, stacks, broken lines, and many
//! devices.

use kernel::Roots;
use kernel::live::{Sampler, Selection};
use record::{FindingCode, Interval};
use std::fmt::Write;
use testkit::Fake;

/// A line of 20 columns: requests read, sectors read, ms read, and the rest from these.
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

/// Name and reads of each interval.
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
    // More requests than the old one had: only its absence tells that it is another.
    fake.proc("diskstats", &(line("8 0", "sda", 101, 50) + &line("8 16", "sdb", 5_000, 90)));
    assert_eq!(reads(&sampler.sample().unwrap()), [("sda", 0.0)]);
    assert!(sampler.findings()[0].claim.contains("sdb appeared; sdb went away"));
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
    // The same counters under other numbers are another device, too.
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
    // A step over an unknown time has no rate.
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
    assert!(error.to_string().contains("\"sdb\"") && error.to_string().contains("there are sda"));
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
fn old_kernels_are_doubted_for_their_busy_time() {
    let fake = machine(&line("8 0", "sda", 100, 50));
    fake.proc("sys/kernel/osrelease", "5.15.0-91-generic\n");
    let sampler = sampler(&fake, all());
    assert!(sampler.devices()[0].busy_doubt.as_ref().unwrap().contains("Linux 5.15"));
    assert_eq!(codes(&sampler), [FindingCode::BusyDoubtful]);
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
