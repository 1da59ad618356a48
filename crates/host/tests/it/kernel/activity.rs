//! Tests the measurement of other traffic on a disk, with counters that change between two readings.

use host::kernel::{Roots, device_in_flight_activity};
use record::DeviceFacts;
use rustix::fs::Mode;
use std::fs::{self, File};
use std::io::Write;
use testkit::Fake;

#[test]
fn rates_are_the_difference_over_the_interval_summed_over_the_leaves() {
    let fake = Fake::new();
    let (counters, after) = (fake.path("proc/diskstats"), fake.path("proc/after"));
    // Reading a pipe waits for its writer, which first puts the later counters in its place.
    rustix::fs::mkfifoat(rustix::fs::CWD, &counters, Mode::RUSR | Mode::WUSR).unwrap();
    fake.proc("after", "8 0 sda 300 0 1000 0 60 0 400 0 2 2 0\n8 16 sdb 10 0 0 0 0 0 0 0 1 7 0\n");
    let writer = std::thread::spawn(move || {
        let mut pipe = File::options().write(true).open(&counters).unwrap();
        let before = "8 0 sda 100 0 800 0 50 0 400 0 0 4294967290 0\n\
                      8 16 sdb 0 0 0 0 0 0 0 0 0 10 0\n";
        pipe.write_all(before.as_bytes()).unwrap();
        fs::rename(after, counters).unwrap();
    });
    let leaves = vec!["sda".to_owned(), "sdb".to_owned()];
    let disk = DeviceFacts { leaves, ..DeviceFacts::default() };
    let activity = device_in_flight_activity(&Roots::below(fake.root()), &disk, 20).unwrap();
    writer.join().unwrap();
    let total = |per_s: f64| (per_s * activity.interval.as_secs_f64() * 1e3).round() / 1e3;
    assert_eq!((total(activity.reads_per_s), total(activity.writes_per_s)), (210.0, 10.0));
    assert_eq!(total(activity.bytes_per_s), 200.0 * 512.0);
    // Of the busiest leaf, whose 32-bit counter wrapped; that of the other went back a little.
    assert_eq!(total(activity.busy_share), 0.008);
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
    assert!(error.to_string().contains("no line for the device sdz"), "{error}");
}
