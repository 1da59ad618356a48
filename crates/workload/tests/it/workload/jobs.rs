//! Checks which parts of an area the jobs of a load touch, and which they share.

use super::streams::{PATTERNS, of_pattern, requests, sizes};
use record::*;
use workload::*;

#[test]
fn jobs_that_share_one_sequence_take_its_requests_in_turn() {
    for pattern in [Pattern::Sequential, Pattern::Strided] {
        for (stripe, targets) in [(None, 1), (Some(Bytes(65_536)), 2)] {
            let shared = |numjobs| {
                of_pattern(pattern, |spec| {
                    sizes(spec, &[(4096, 70), (8192, 30)]);
                    spec.asked.read_percent = 50;
                    spec.regions = Some(Regions::Shared);
                    (spec.asked.numjobs, spec.asked.stripe_bytes, spec.asked.targets) =
                        (numjobs, stripe, targets);
                })
            };
            let one = requests(&shared(1), 5, 0, 600);
            for job in 0..3 {
                let own = requests(&shared(3), 5, job, 200);
                let turn: Vec<Request> =
                    one.iter().skip(job as usize).step_by(3).copied().collect();
                assert_eq!(own, turn, "{pattern:?}, job {job}");
            }
        }
    }
}

#[test]
fn random_jobs_keep_to_their_own_parts_only_if_they_are_told_to() {
    for pattern in [Pattern::Random, Pattern::Hit, Pattern::Hot, Pattern::Zipf] {
        for regions in [None, Some(Regions::PerJob)] {
            let workload = of_pattern(pattern, |spec| {
                (spec.asked.numjobs, spec.regions) = (4, regions);
            });
            let parts = if regions.is_some() { 4 } else { 1 };
            for job in 0..4 {
                let region = Region::of(&workload, job);
                assert_eq!(region.parts, parts, "{pattern:?}");
                let inside = region.start..region.start + region.length;
                assert!(
                    requests(&workload, 7, job, 500).iter().all(|r| inside.contains(&r.offset))
                );
            }
        }
    }
}

#[test]
fn jobs_on_several_targets_share_with_those_of_the_same_target_only() {
    let separate =
        of_pattern(Pattern::Sequential, |spec| (spec.asked.numjobs, spec.asked.targets) = (4, 2));
    for target in 0..2 {
        let mut seen = std::collections::BTreeSet::new();
        for job in [target, target + 2] {
            let region = Region::of(&separate, job);
            assert_eq!((region.start, region.length), (u64::from(job / 2) << 19, 1 << 19));
            seen.extend(requests(&separate, 5, job, 128).iter().map(|request| request.offset));
        }
        assert_eq!(seen.len(), 256, "each target is covered once by its two jobs");
    }
    let shared = |numjobs, targets| {
        of_pattern(Pattern::Sequential, |spec| {
            (spec.asked.numjobs, spec.asked.targets) = (numjobs, targets);
            spec.regions = Some(Regions::Shared);
        })
    };
    // With two targets, jobs 1 and 3 share the second, whose sequence is that of job 1 alone.
    let alone = requests(&shared(2, 2), 5, 1, 200);
    let turns = [1, 3].map(|job| requests(&shared(4, 2), 5, job, 100));
    for (index, request) in alone.iter().enumerate() {
        assert_eq!(turns[index % 2][index / 2], *request);
    }
}

#[test]
fn jobs_that_verify_never_touch_a_block_of_another_job() {
    for pattern in PATTERNS {
        let tagged = of_pattern(pattern, |spec| {
            spec.asked.data = Data::Tagged;
            spec.asked.read_percent = 0;
            spec.asked.numjobs = 3;
            sizes(spec, &[(4096, 50), (16_384, 50)]);
        });
        let mut owner = [None; 256];
        for job in 0..3 {
            for request in requests(&tagged, 5, job, 3_000) {
                let blocks =
                    request.offset / 4096..(request.offset + u64::from(request.bytes)) / 4096;
                for block in blocks {
                    let known = owner[block as usize].get_or_insert(job);
                    assert_eq!(*known, job, "{pattern:?}: block {block}");
                }
            }
        }
    }
}
