//! Missing pages, which only a memory mapping can meet.

use crate::common::{BLOCK, LENGTH, drive, patterned_file, read_at, setup};
use engine::{Completion, Engine, MmapEngine, OpenEngine};
use record::OpKind;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::ExitStatusExt;
use testkit::requires;
use testkit::{in_child, is_child};
use workload::Request;

const EIO: i32 = 5;

fn outcomes(engine: &mut MmapEngine, requests: &[Request]) -> Vec<i32> {
    let mut outcomes = Vec::new();
    drive(engine, 1, requests, |_, completion: Completion, _| outcomes.push(completion.outcome));
    outcomes
}

#[test]
fn a_file_cut_under_its_mapping_is_requests_that_failed_and_no_crash() {
    let file = patterned_file();
    let mut engine = MmapEngine::open(&setup(&file, 1, true)).unwrap();
    let write = Request { op: OpKind::Write, ..read_at(LENGTH - 4_096) };
    let requests = [read_at(0), read_at(LENGTH - 4_096), write];
    assert_eq!(outcomes(&mut engine, &requests), [BLOCK as i32; 3]);
    file.set_len(10 * 4_096).unwrap();
    assert_eq!(outcomes(&mut engine, &requests[..2]), [BLOCK as i32, -EIO]);
    // The new length is known now: reads end there, and a write is refused.
    assert_eq!(outcomes(&mut engine, &requests), [BLOCK as i32, 0, -28]);
    // Another engine, and a file truncated to zero.
    file.set_len(LENGTH).unwrap();
    let mut engine = MmapEngine::open(&setup(&file, 1, true)).unwrap();
    file.set_len(0).unwrap();
    assert_eq!(outcomes(&mut engine, &[write]), [-EIO]);
}

#[test]
fn a_file_cut_within_a_page_is_seen_within_256_requests() {
    let file = patterned_file();
    let mut engine = MmapEngine::open(&setup(&file, 1, false)).unwrap();
    file.set_len(100).unwrap();
    let outcomes = outcomes(&mut engine, &[read_at(0); 300]);
    assert!(outcomes.ends_with(&[100; 45]), "the rest of the page reads as zeros: {outcomes:?}");
}

#[test]
fn a_full_file_system_below_a_mapping_is_a_request_that_failed() {
    requires!(Root, Mount);
    let tmpfs = testkit::Mounted::tmpfs(64 << 10).unwrap();
    let open = |name| {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).open(tmpfs.path().join(name)).unwrap()
    };
    // A sparse file: its pages are allocated when they are written.
    let file = open("sparse");
    file.set_len(1 << 20).unwrap();
    open("rest").write_all_at(&[1; 48 << 10], 0).unwrap();
    let mut engine = MmapEngine::open(&setup(&file, 1, true)).unwrap();
    let writes: Vec<Request> =
        (0..20).map(|block| Request { op: OpKind::Write, ..read_at(block * 4_096) }).collect();
    let outcomes = outcomes(&mut engine, &writes);
    assert_eq!((outcomes[0], outcomes[19]), (BLOCK as i32, -EIO), "{outcomes:?}");
}

#[test]
fn write_through_is_an_msync_and_the_result_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data");
    File::create(&path).unwrap().set_len(LENGTH).unwrap();
    let file =
        OpenOptions::new().read(true).write(true).custom_flags(libc::O_DSYNC).open(&path).unwrap();
    let mut engine = MmapEngine::open(&setup(&file, 1, true)).unwrap();
    let write = Request { op: OpKind::Write, ..read_at(5 * 4_096 + 512) };
    assert_eq!(outcomes(&mut engine, &[write]), [BLOCK as i32]);
    assert!(engine.features().contains(&"msync after each write".to_owned()));
}

#[test]
fn a_bus_error_that_is_not_a_copy_of_ours_still_ends_the_process() {
    const TEST: &str =
        "linux::mapping::a_bus_error_that_is_not_a_copy_of_ours_still_ends_the_process";
    if !is_child() {
        let output = in_child(TEST, &[]).unwrap();
        assert_eq!(output.status.signal(), Some(7), "SIGBUS: {output:?}");
        return;
    }
    let file = patterned_file();
    let _engine = MmapEngine::open(&setup(&file, 1, false)).unwrap();
    // A plain read from a mapping of a truncated file.
    let flags = (rustix::mm::ProtFlags::READ, rustix::mm::MapFlags::SHARED);
    // SAFETY: a new mapping at an address chosen by the kernel.
    let base = unsafe { rustix::mm::mmap(std::ptr::null_mut(), 4_096, flags.0, flags.1, &file, 0) };
    let base = base.unwrap().cast::<u8>();
    file.set_len(0).unwrap();
    // SAFETY: this is deliberately not safe: this access must end the process.
    std::hint::black_box(unsafe { base.read_volatile() });
}
