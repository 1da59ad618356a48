//! The crate through its public names, on this machine and on machines made of files.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use kernel::Roots;
use kernel::read::names;
use rustix::io::Errno;
use testkit::Fake;
use tracer::{Tracer, TracerError, request_disks};

#[test]
fn a_tracer_opens_or_says_why_not_and_sees_nothing_that_did_not_happen() {
    let roots = Roots::default();
    let all = names(&roots.sys.join("class/block"));
    let disks = request_disks(&roots, all.iter().map(String::as_str));
    let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
    match Tracer::open(&roots, &numbers, true) {
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
fn devices_without_requests_are_told_apart() {
    let fake = Fake::new();
    fake.sys("class/block/sda/dev", "8:0\n");
    fake.sys("class/block/sda/mq/0/nr_tags", "64\n");
    fake.sys("class/block/dm-0/dev", "253:0\n");
    let roots = Roots::below(fake.root());
    assert_eq!(request_disks(&roots, ["sda", "dm-0"]), [("sda".to_owned(), (8, 0))]);
    let none = Tracer::open(&roots, &[(253, 0)], false).unwrap_err();
    assert_eq!(none, TracerError::NoRequests("253:0".to_owned()));
    assert_eq!(Tracer::open(&roots, &[], false).unwrap_err(), TracerError::NoDevices);
}
