//! A rebuild during writes: the disk has the correct content after every step, and the amount of work is
//! correct.

use crate::volume::bytes::{Disks, arrays, part, random};
use record::OpKind;
use workload::Rng;
use workload::volume::{DiskLoad, Plan, Raid, RebuildSteps, StepsOver, Volume, VolumeSpec};

const KIB: u32 = 1 << 10;

fn steps(over: &[u32], ready: &[u32]) -> StepsOver {
    StepsOver { over: over.to_vec(), ready: ready.to_vec() }
}

#[test]
fn a_disk_is_rebuilt_beside_writes_and_reads_are_right_at_every_step() {
    for (raid, disks, failed) in arrays() {
        let Some(failed) = failed else { continue };
        let mut array = Disks::new(raid, disks, Some(failed));
        let mut rng = Rng::new(u64::from(disks) << 8 | u64::from(failed));
        let member = array.volume.member_bytes();
        let mut at = 0;
        while at < member {
            for _ in 0..20 {
                let (first, length) = part(&mut rng, array.written.len() as u64);
                let data = random(&mut rng, length);
                array.request(OpKind::Write, first, data);
            }
            array.check_reads();
            let bytes = (2 * KIB).min((member - at) as u32);
            assert!(array.volume.claim_rebuild(7, at, bytes));
            let before = array.moved.clone();
            assert_eq!(array.rebuild(7, at, bytes), steps(&[7], &[]), "nobody waits");
            at += u64::from(bytes);
            assert_eq!(array.volume.rebuilt_bytes(), at);
            let read: u64 = (0..disks as usize).map(|it| array.moved[it][0] - before[it][0]).sum();
            let sources = if raid == Raid::Raid1 { 1 } else { u64::from(disks) - 1 };
            assert_eq!(read, sources * u64::from(bytes), "{raid:?} of {disks}");
            let written = array.moved[failed as usize][1] - before[failed as usize][1];
            assert_eq!(written, u64::from(bytes));
        }
        assert!(array.consistent(), "{raid:?} of {disks}, {failed} rebuilt");
        // The disk serves reads again, as if it had never failed.
        let served = array.moved[failed as usize][0];
        array.check_reads();
        assert!(array.moved[failed as usize][0] > served || raid == Raid::Raid1);
        array.request(OpKind::Write, 0, vec![9; 5_000]);
        assert!(array.consistent());
    }
}

fn volume(raid: Raid) -> Volume {
    let failed = Some(0);
    let spec = VolumeSpec {
        raid,
        chunk_bytes: KIB.into(),
        failed,
        ordered: true,
        ..VolumeSpec::default()
    };
    Volume::new(&spec, 3, 64 << 10)
}

#[test]
fn steps_end_in_any_order_and_count_without_a_gap() {
    let mut volume = volume(Raid::Raid5);
    for (request, at) in (0..3).zip([0, 1_024, 2_048]) {
        assert!(volume.claim_rebuild(request, at, KIB));
    }
    assert!(!volume.claim(9, OpKind::Write, 2 * 2_048, 512), "a write to the third stripe waits");
    assert_eq!(volume.rebuilt(2, 2_048, KIB, true), steps(&[], &[]), "it keeps its stripe");
    assert_eq!(volume.rebuilt_bytes(), 0);
    assert_eq!(volume.rebuilt(0, 0, KIB, true), steps(&[0], &[]));
    assert_eq!(volume.rebuilt_bytes(), 1_024);
    assert_eq!(
        volume.rebuilt(1, 1_024, KIB, true),
        steps(&[1, 2], &[9]),
        "what waited for the last of them goes on"
    );
    assert_eq!(volume.rebuilt_bytes(), 3_072);
}

#[test]
fn after_a_step_that_failed_nothing_counts_and_programs_hardly_wait_for_ever() {
    let mut volume = volume(Raid::Raid1);
    for (request, at) in (0..3).zip([0, 1_024, 2_048]) {
        assert!(volume.claim_rebuild(request, at, KIB));
    }
    assert!(!volume.claim(9, OpKind::Write, 1_000, 2_000), "in the way of all three");
    assert_eq!(volume.rebuilt(2, 2_048, KIB, true), steps(&[], &[]));
    assert_eq!(volume.rebuilt(0, 0, KIB, false), steps(&[0, 2], &[]));
    assert_eq!(volume.rebuilt(1, 1_024, KIB, true), steps(&[1], &[9]));
    assert_eq!(volume.rebuilt_bytes(), 0);
}

#[test]
fn reads_made_from_parity_wait_for_writes_and_not_for_each_other() {
    let mut volume = volume(Raid::Raid5);
    let lost = {
        let mut plan = Plan::default();
        let mut disks = |chunk: u64| {
            volume.plan(OpKind::Read, chunk * 1_024, KIB, &[DiskLoad::default(); 3], &mut plan);
            plan.pieces.len()
        };
        (0..4).find(|&chunk| disks(chunk) == 2).unwrap() * 1_024
    };
    let (read, write) = (OpKind::Read, OpKind::Write);
    assert!(volume.claim(0, read, lost, 512) && volume.claim(1, read, lost, 512));
    assert!(!volume.claim(2, write, lost, 512), "a write waits for both");
    assert!(!volume.claim(3, read, lost, 512), "and the next read for it");
    assert!(!volume.claim(4, read, lost, 512));
    assert!(volume.release(0).is_empty());
    assert_eq!(volume.release(1), [2]);
    assert_eq!(volume.release(2), [3, 4], "then both go on at once");
    assert!(!volume.claim(5, write, lost, 512));
    assert!(volume.release(4).is_empty());
    assert_eq!(volume.release(3), [5]);
}

#[test]
fn steps_are_whole_chunks_that_make_up_the_disk_and_a_rate_says_when_each_is_due() {
    for (chunk, member, step) in [
        (64 << 10, 1 << 20, 64 << 10),
        (4 << 10, 1 << 20, 64 << 10),
        (4 << 10, 12 << 10, 4 << 10),
        (4 << 10, 24 << 10, 8 << 10),
        (1 << 20, 3 << 20, 1 << 20),
        (64 << 10, 100 << 10, 64 << 10),
    ] {
        let mut steps = RebuildSteps::new(chunk, member, 5, None);
        assert_eq!(steps.bytes(), step, "{member} in {chunk}");
        let mut at = 0;
        while let Some((offset, bytes)) = steps.take(5) {
            assert_eq!(offset, at);
            at += u64::from(bytes);
        }
        assert_eq!((at, steps.due()), (member, None));
    }
    let mut steps = RebuildSteps::new(65_536, 1 << 20, 1_000, Some(65_536_000));
    assert_eq!(steps.take(999), None);
    assert_eq!(steps.take(1_000), Some((0, 65_536)));
    assert_eq!((steps.due(), steps.take(1_000_999)), (Some(1_001_000), None));
    assert_eq!(steps.take(9_000_000), Some((65_536, 65_536)), "it catches up");
}
