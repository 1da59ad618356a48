//! Tests of the crate's public interface, on this machine and on machines made of files.
#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use host::kernel::read::names;
use host::kernel::{self, Roots};
use host::tracer::{Issuers, Tracer, TracerError, request_disks};
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use testkit::{Fake, LoopDevice, Mounted, requires};

#[test]
fn a_tracer_opens_or_says_why_not_and_sees_nothing_that_did_not_happen() {
    let roots = Roots::default();
    let all = names(&roots.sys.join("class/block"));
    let disks = request_disks(&roots, all.iter().map(String::as_str));
    let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
    match Tracer::open(&roots, &numbers) {
        Ok(mut tracer) => {
            let seen = tracer.read().unwrap();
            assert_eq!(seen.iter().map(|(number, _)| *number).collect::<Vec<_>>(), numbers);
            for (_, traced) in seen {
                for op in [traced.read, traced.write] {
                    assert!(op.queue_ns.count() <= op.device_ns.count());
                    assert_eq!(op.device_ns.count(), op.request_bytes.count());
                }
            }
        }
        // The kernel must never reject our own programs.
        Err(error) => assert!(
            !matches!(error, TracerError::Rejected { cause: Errno::ACCESS | Errno::INVAL, .. }),
            "{error}"
        ),
    }
}

/// A page aligned to its size, as direct requests require.
#[repr(align(4096))]
struct Page([u8; 4096]);

#[test]
fn each_request_of_a_disk_is_counted_once_with_its_size_and_its_times() {
    let name = "each_request_of_a_disk_is_counted_once_with_its_size_and_its_times";
    requires!(Root, Loop);
    const PAGES: u64 = 40;
    let device = LoopDevice::new(64 << 20).unwrap();
    let other = LoopDevice::new(64 << 20).unwrap();
    let number = |device: &LoopDevice| {
        kernel::device::numbers(std::fs::metadata(device.path()).unwrap().rdev())
    };
    let mut tracer = match Tracer::open(&Roots::default(), &[number(&other), number(&device)]) {
        Ok(tracer) => tracer,
        Err(error @ (TracerError::NotPermitted(_) | TracerError::NoSupport(_))) => {
            return testkit::skip(name, &error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    let direct = rustix::fs::OFlags::DIRECT.bits() as i32;
    let file = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(direct)
        .open(device.path())
        .unwrap();
    // Ignore requests by other programs that examined the new device.
    drop(tracer.read().unwrap());
    let mut page = Page([7; 4096]);
    let begin = std::time::Instant::now();
    for index in 0..PAGES {
        file.write_all_at(&page.0, index * 4096).unwrap();
    }
    for index in 0..2 * PAGES {
        // Each at a distance from the previous one.
        file.read_exact_at(&mut page.0, (index * 37 % 1000) * 16_384).unwrap();
    }
    let spent_ns = begin.elapsed().as_nanos() as f64;
    assert_eq!(tracer.lacks, Vec::<String>::new());
    let seen = tracer.read().unwrap();
    assert_eq!(seen[0].1.read.device_ns.count() + seen[0].1.write.device_ns.count(), 0);
    let traced = &seen[1].1;
    for (op, count) in [(&traced.write, PAGES), (&traced.read, 2 * PAGES)] {
        assert_eq!((op.device_ns.count(), op.queue_ns.count()), (count, count));
        let pages = record::bucket_index(4096) as u32;
        assert_eq!(op.request_bytes.buckets, [(pages, count)]);
    }
    // The first one follows no other request.
    let follows = (PAGES - 1) as f64 / PAGES as f64;
    assert_eq!(traced.write.sequential_share, Some(follows));
    assert_eq!(traced.read.sequential_share, Some(0.0));
    assert_eq!((traced.lost, traced.before_start_ns.count()), (0, 3 * PAGES));
    let sum = |histogram: &record::HistogramSnapshot| {
        let of = |&(bucket, count): &(u32, u64)| {
            record::bucket_mid(bucket as usize) as f64 * count as f64
        };
        histogram.buckets.iter().map(of).sum::<f64>()
    };
    // One at a time: together they take no longer than the total time, except for the buckets' 4 %.
    let all = [&traced.read, &traced.write].map(|op| sum(&op.device_ns) + sum(&op.queue_ns));
    let all = all[0] + all[1] + sum(&traced.before_start_ns);
    assert!(all > 0.0 && all < 1.04 * spent_ns, "{all} of {spent_ns} ns");
}

#[test]
fn who_writes_and_calls_fsync_on_a_file_system_is_counted_at_its_disk() {
    requires!(Root, Loop, Mount, Ext4);
    const COUNT: u64 = 10;
    let device = LoopDevice::new(64 << 20).unwrap();
    let mounted = Mounted::ext4(device.path()).unwrap();
    let number = kernel::device::numbers(std::fs::metadata(device.path()).unwrap().rdev());
    let mut issuers = match Issuers::open(&Roots::default(), &[number]) {
        Ok(issuers) => issuers,
        Err(TracerError::NotPermitted(what)) => {
            return testkit::skip(
                "who_writes_and_calls_fsync_on_a_file_system_is_counted_at_its_disk",
                what,
            );
        }
        Err(error) => panic!("{error}"),
    };
    let mut file = File::create(mounted.path().join("file")).unwrap();
    for _ in 0..COUNT {
        file.write_all(&[7; 4096]).unwrap();
        file.sync_all().unwrap();
    }
    let seen = issuers.read().unwrap();
    assert_eq!(seen[0].0, number);
    let own = seen[0].1.iter().find(|one| one.process == Some(std::process::id())).unwrap();
    assert_eq!((own.fsyncs, own.kernel_thread), (COUNT, false));
    assert!(own.writes >= COUNT && own.write_bytes >= 4096 * COUNT, "{own:?}");
    assert!(own.group.is_some() && !own.name.is_empty(), "{own:?}");
    // Nothing is reported twice.
    let again = issuers.read().unwrap();
    assert!(again[0].1.iter().all(|one| one.fsyncs == 0), "{again:?}");
}

#[test]
fn devices_without_requests_are_told_apart() {
    let fake = Fake::new();
    fake.sys("class/block/sda/dev", "8:0\n");
    fake.sys("class/block/sda/mq/0/nr_tags", "64\n");
    fake.sys("class/block/dm-0/dev", "253:0\n");
    let roots = Roots::below(fake.root());
    assert_eq!(request_disks(&roots, ["sda", "dm-0"]), [("sda".to_owned(), (8, 0))]);
    let none = Tracer::open(&roots, &[(253, 0)]).unwrap_err();
    assert_eq!(none, TracerError::NoRequests("253:0".to_owned()));
    assert_eq!(Tracer::open(&roots, &[]).unwrap_err(), TracerError::NoDevices);
}
