//! The crate through its public names, on this machine and on machines made of files.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use kernel::Roots;
use kernel::read::names;
use rustix::io::Errno;
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use testkit::{Fake, LoopDevice, Mounted, requires};
use tracer::{Issuers, Tracer, TracerError, request_disks};

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
        // Our own programs must never be what the kernel does not like.
        Err(error) => assert!(
            !matches!(error, TracerError::Rejected { cause: Errno::ACCESS | Errno::INVAL, .. }),
            "{error}"
        ),
    }
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
    // Nothing is told twice.
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
