//! /proc/diskstats in all the shapes that it has had.

use kernel::{Roots, TransferCounters, device_in_flight_activity, parse_diskstats};
use record::DeviceFacts;
use testkit::Fake;

const FULL: &str = " 8 0 sda 10 1 800 30 20 2 1600 40 3 55 70";

#[test]
fn each_generation_of_columns_is_read() {
    let text = format!(
        "{FULL}\n{FULL} 5 6 7 8\n{FULL} 5 6 7 8 9 11\n{FULL} 5 6 7 8 9 11 12 13\n\
         3 1 hda1 100 800 50 400\n"
    );
    let lines = parse_diskstats(&text).unwrap();
    let reads = TransferCounters { ios: 10, merges: Some(1), sectors: 800, time_ms: Some(30) };
    let discards = TransferCounters { ios: 5, merges: Some(6), sectors: 7, time_ms: Some(8) };
    assert_eq!(lines[0].reads, reads);
    assert_eq!(lines[0].writes.sectors, 1600);
    assert_eq!((lines[0].in_flight, lines[0].busy_ms), (Some(3), Some(55)));
    assert_eq!(lines[0].weighted_ms, Some(70));
    assert_eq!((lines[0].discards, lines[0].flushes), (None, None));
    assert_eq!((lines[1].discards, lines[1].flushes), (Some(discards), None));
    assert_eq!((lines[2].discards, lines[2].flushes), (Some(discards), Some((9, 11))));
    assert_eq!(lines[3], lines[2]);
    assert_eq!((lines[4].reads.ios, lines[4].reads.sectors), (100, 800));
    assert_eq!((lines[4].writes.ios, lines[4].writes.sectors), (50, 400));
    assert_eq!((lines[4].reads.time_ms, lines[4].busy_ms), (None, None));
    assert_eq!((lines[4].major, lines[4].minor, lines[4].device.as_str()), (3, 1, "hda1"));
}

#[test]
fn a_malformed_line_is_named_with_its_number_and_problem() {
    let error = parse_diskstats(&format!("{FULL}\n8 1 sda1 4 5 6\n")).unwrap_err();
    assert!(error.to_string().contains("line 2"), "{error}");
    assert!(error.to_string().contains("6 columns"), "{error}");
    let error = parse_diskstats(&FULL.replace("1600", "x")).unwrap_err();
    assert!(error.to_string().contains("column 10"), "{error}");
}

#[test]
fn a_negative_number_in_flight_is_none() {
    let line = &parse_diskstats(&FULL.replace(" 3 55", " -1 55")).unwrap()[0];
    assert_eq!(line.in_flight, Some(0));
}

#[test]
fn an_idle_disk_shows_no_activity_and_an_unknown_one_is_an_error() {
    let fake = Fake::new();
    fake.proc("diskstats", "8 0 sda 1 0 8 0 5 0 4 0 0 9 0\n");
    let activity = |name: &str| {
        let disk = DeviceFacts { disk: name.to_owned(), ..DeviceFacts::default() };
        device_in_flight_activity(&Roots::below(fake.root()), &disk, 1)
    };
    let idle = activity("sda").unwrap();
    assert_eq!((idle.reads_per_s, idle.writes_per_s, idle.busy_share), (0.0, 0.0, 0.0));
    let error = activity("sdz").unwrap_err();
    assert!(error.to_string().contains("sdz has no line"), "{error}");
}
