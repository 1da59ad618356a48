//! Checks streams against the documented pattern: coverage, shares, order, and the same sequence in every
//! version.

use record::*;
use workload::*;

pub(super) fn requests(workload: &Workload, seed: u64, job: u32, count: usize) -> Vec<Request> {
    let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
    let mut batch = vec![empty; count];
    RequestStream::new(workload, seed, job).fill(&mut batch);
    batch
}

pub(super) fn workload(change: impl FnOnce(&mut Spec)) -> Workload {
    let mut spec = Spec::default();
    change(&mut spec);
    spec.build(Bytes(1 << 20)).unwrap()
}

#[test]
fn the_sequence_depends_on_seed_job_and_workload_alone() {
    let random = workload(|_| ());
    assert_eq!(requests(&random, 7, 0, 500), requests(&random, 7, 0, 500));
    assert_ne!(requests(&random, 7, 0, 500), requests(&random, 8, 0, 500));
    assert_ne!(requests(&random, 7, 0, 500), requests(&random, 7, 1, 500));
    let mut pieces = Vec::new();
    let mut stream = RequestStream::new(&random, 7, 0);
    for length in [1, 2, 3, 94, 400] {
        let mut piece =
            vec![pieces.first().copied().unwrap_or(requests(&random, 7, 0, 1)[0]); length];
        stream.fill(&mut piece);
        pieces.extend(piece);
    }
    assert_eq!(pieces, requests(&random, 7, 0, 500));
}

#[test]
fn these_first_requests_never_change_between_versions() {
    let offsets: Vec<u64> =
        requests(&workload(|_| ()), 1, 0, 4).iter().map(|r| r.offset / 4096).collect();
    assert_eq!(offsets, FIRST_RANDOM_BLOCKS);
}
const FIRST_RANDOM_BLOCKS: [u64; 4] = [20, 39, 68, 235];

#[test]
fn random_requests_cover_all_aligned_positions_evenly() {
    let blocks = 256;
    let draws = 256 * 400;
    let mut counts = vec![0u32; blocks];
    for request in requests(&workload(|_| ()), 3, 0, draws) {
        assert_eq!(request.offset % 4096, 0);
        counts[(request.offset / 4096) as usize] += 1;
    }
    let expected = draws as f64 / blocks as f64;
    let chi_square: f64 =
        counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
    // 255 degrees of freedom: mean 255, standard deviation 22.6; 1 in 10,000 is beyond 345.
    assert!((170.0..345.0).contains(&chi_square), "chi-square {chi_square}");
}

#[test]
fn sequential_jobs_cover_their_own_region_once_per_pass() {
    let sequential = workload(|spec| {
        spec.asked.pattern = Pattern::Sequential;
        spec.asked.numjobs = 4;
    });
    let mut seen = std::collections::BTreeSet::new();
    for job in 0..4 {
        let pass = requests(&sequential, 5, job, 64);
        for pair in pass.windows(2) {
            let adjacent = pair[1].offset == pair[0].offset + 4096;
            let wrapped = pair[1].offset == u64::from(job) * (1 << 18);
            assert!(adjacent || wrapped, "{pair:?}");
        }
        seen.extend(pass.iter().map(|request| request.offset));
    }
    assert_eq!(seen.len(), 256, "every block of the area exactly once");
}

#[test]
fn what_begins_at_the_start_of_the_area_goes_up_from_there_whatever_the_seed() {
    let appending = workload(|spec| spec.asked.pattern = Pattern::Sequential);
    let appending = Workload { from_start: true, ..appending };
    for seed in 1..5 {
        let offsets = requests(&appending, seed, 0, 256).into_iter().map(|it| it.offset);
        assert!(offsets.eq((0..256).map(|block| block * 4096)), "seed {seed}");
    }
}

#[test]
fn a_sequence_of_several_sizes_goes_on_to_the_end_of_the_area_with_those_that_fit() {
    let mixed = workload(|spec| {
        (spec.asked.pattern, spec.asked.from_start) = (Pattern::Sequential, true);
        sizes(spec, &[(4_096, 50), (256 << 10, 50)]);
    });
    let (mut end, mut passes) = (0, 0);
    for request in requests(&mixed, 5, 0, 4_000) {
        if request.offset == 0 && end > 0 {
            assert_eq!(end, 1 << 20, "a pass leaves nothing out");
            passes += 1;
        } else {
            assert_eq!(request.offset, end);
        }
        end = request.offset + u64::from(request.bytes);
    }
    assert!(passes > 10, "{passes} passes");
}

#[test]
fn strided_requests_from_the_start_go_up_or_down_and_come_back_to_the_same_places() {
    let strided = |backwards| {
        let built = workload(|spec| {
            spec.asked.pattern = Pattern::Strided;
            spec.asked.stride_bytes = Some(Bytes(16_384));
            spec.asked.from_start = true;
            spec.asked.backwards = backwards;
        });
        requests(&built, 3, 0, 130).into_iter().map(|it| it.offset).collect::<Vec<_>>()
    };
    let up = strided(false);
    assert_eq!((up[0], up[1], up[64]), (0, 16_384, 0));
    let down = strided(true);
    let last = (1 << 20) - 4_096 - 16_384;
    assert_eq!((down[0], down[1], down[2]), (0, last, last - 16_384));
    assert!(down.iter().all(|offset| *offset < 1 << 20));
}

#[test]
fn without_replacement_each_block_comes_once_in_each_pass() {
    let once = workload(|spec| {
        spec.asked.without_replacement = true;
        spec.asked.read_percent = 50;
    });
    let draws = requests(&once, 7, 0, 512);
    let (first, second) = draws.split_at(256);
    for pass in [first, second] {
        let seen: std::collections::BTreeSet<u64> = pass.iter().map(|it| it.offset).collect();
        assert_eq!(seen.len(), 256);
    }
    assert_ne!(first, second);
    let in_order = first.windows(2).filter(|pair| pair[1].offset == pair[0].offset + 4_096).count();
    assert!(in_order < 16, "{in_order} of 255 continue the one before");
}

#[test]
fn jobs_at_a_distance_have_areas_that_begin_there() {
    let apart = |distance| {
        workload(|spec| {
            spec.asked.pattern = Pattern::Sequential;
            spec.asked.from_start = true;
            spec.asked.numjobs = 3;
            spec.size = Some(Bytes(1 << 18));
            spec.asked.job_distance_bytes = Some(Bytes(distance));
        })
    };
    let first = |distance, job| requests(&apart(distance), 1, job, 1)[0].offset;
    assert_eq!([0, 1, 2].map(|job| first(0, job)), [0, 0, 0]);
    assert_eq!([0, 1, 2].map(|job| first(1 << 18, job)), [0, 1 << 18, 2 << 18]);
    let beyond = Spec {
        size: Some(Bytes(1 << 19)),
        ..Spec::of(Workload {
            numjobs: 3,
            job_distance_bytes: Some(Bytes(1 << 19)),
            ..Workload::default()
        })
    };
    assert!(beyond.build(Bytes(1 << 20)).is_err());
}

#[test]
fn zones_get_their_shares_of_the_requests() {
    let zoned = workload(|spec| {
        let zone = |request_percent, area_percent| AreaZone { request_percent, area_percent };
        spec.asked.zones = vec![zone(50, 5), zone(30, 15), zone(20, 80)];
    });
    let draws = requests(&zoned, 9, 0, 100_000);
    let below = |share: f64| {
        let end = (share * f64::from(1 << 20)) as u64 / 4_096 * 4_096;
        draws.iter().filter(|it| it.offset < end).count()
    };
    // Four standard deviations of a binomial of 100,000 draws are less than 640.
    assert!(below(0.05).abs_diff(50_000) < 640, "{}", below(0.05));
    assert!(below(0.2).abs_diff(80_000) < 640, "{}", below(0.2));
}

#[test]
fn random_requests_may_begin_at_multiples_of_more_than_their_size() {
    let aligned = workload(|spec| {
        spec.asked.bs = vec![
            SizeShare { bytes: Bytes(512), percent: 50 },
            SizeShare { bytes: Bytes(4096), percent: 50 },
        ];
        spec.asked.align_bytes = Some(Bytes(4096));
    });
    assert!(requests(&aligned, 2, 0, 1_000).iter().all(|it| it.offset % 4_096 == 0));
}

#[test]
fn as_many_requests_of_a_blend_continue_the_one_before_as_were_asked_for() {
    let blended = workload(|spec| {
        spec.asked.blend = Some(Blend { sequential_percent: 50, hit_percent: 0 });
    });
    let draws = requests(&blended, 4, 0, 100_000);
    let adjacent = |pair: &&[Request]| pair[1].offset == pair[0].offset + u64::from(pair[0].bytes);
    let count = draws.windows(2).filter(adjacent).count();
    // Random requests also land there, and the last block has no successor: both one in 256.
    assert!(count.abs_diff(50_000) < 640 + 400, "{count}");
}

#[test]
fn mix_shares_come_out_as_asked() {
    let mixed = workload(|spec| {
        spec.asked.read_percent = 70;
        spec.asked.bs = vec![
            SizeShare { bytes: Bytes(4096), percent: 60 },
            SizeShare { bytes: Bytes(65536), percent: 40 },
        ];
    });
    let draws = requests(&mixed, 9, 0, 100_000);
    let reads = draws.iter().filter(|request| request.op == OpKind::Read).count();
    let small = draws.iter().filter(|request| request.bytes == 4096).count();
    // Four standard deviations of a binomial of 100,000 draws are less than 620.
    assert!(reads.abs_diff(70_000) < 620, "{reads}");
    assert!(small.abs_diff(60_000) < 620, "{small}");
    assert!(draws.iter().all(|r| r.offset + u64::from(r.bytes) <= 1 << 20));
}

#[test]
fn a_hit_stream_reads_its_area_once_and_then_stays_in_it() {
    let hit = workload(|spec| {
        spec.asked.pattern = Pattern::Hit;
        spec.asked.hit_bytes = Some(Bytes(1 << 16));
    });
    let draws = requests(&hit, 2, 0, 2_000);
    let first: Vec<u64> = draws[..16].iter().map(|request| request.offset).collect();
    assert_eq!(first, (0..16).map(|block| block * 4096).collect::<Vec<u64>>());
    assert!(draws.iter().all(|request| request.offset < 1 << 16));
    assert_ne!(draws[16..32], draws[..16]);
}

pub(super) const PATTERNS: [Pattern; 6] = [
    Pattern::Sequential,
    Pattern::Random,
    Pattern::Hit,
    Pattern::Zipf,
    Pattern::Hot,
    Pattern::Strided,
];

/// A workload of a pattern, with all parameters that the pattern needs.
pub(super) fn of_pattern(pattern: Pattern, change: impl FnOnce(&mut Spec)) -> Workload {
    workload(|spec| {
        spec.asked.pattern = pattern;
        spec.asked.stride_bytes = (pattern == Pattern::Strided).then_some(Bytes(32_768));
        change(spec);
    })
}

pub(super) fn sizes(spec: &mut Spec, mix: &[(u64, u8)]) {
    spec.asked.bs =
        mix.iter().map(|&(bytes, percent)| SizeShare { bytes: Bytes(bytes), percent }).collect();
}

#[test]
fn every_pattern_stays_in_its_area_with_any_mix_and_repeats_with_the_seed() {
    for pattern in PATTERNS {
        let mixed = of_pattern(pattern, |spec| {
            sizes(spec, &[(4096, 50), (12_288, 30), (16_384, 20)]);
            spec.asked.read_percent = 60;
            spec.asked.offset_bytes = Bytes(8_192);
            spec.asked.misalign_bytes = Bytes(512);
            spec.asked.numjobs = 3;
        });
        let mut seen = std::collections::BTreeSet::new();
        for job in 0..3 {
            let all = requests(&mixed, 4, job, 5_000);
            for request in &all {
                let end = request.offset + u64::from(request.bytes);
                assert!(request.offset >= 8_704 && end <= 1 << 20, "{pattern:?}: {request:?}");
                assert_eq!(request.offset % 4096, 512, "{pattern:?}: {request:?}");
            }
            assert_eq!(all, requests(&mixed, 4, job, 5_000), "{pattern:?}");
            seen.insert(all[..40].iter().map(|r| r.offset).collect::<Vec<u64>>());
        }
        // Hit streams start with the same pass over their area, in the same order.
        assert!(seen.len() == 3 || pattern == Pattern::Hit, "{pattern:?}: jobs do the same");
    }
}

/// Offsets of the first requests of job 0 with seed 1, in blocks of 4 KiB.
fn first_blocks(pattern: Pattern) -> Vec<u64> {
    let first = requests(&of_pattern(pattern, |_| ()), 1, 0, 6);
    first.iter().map(|request| request.offset / 4096).collect()
}

#[test]
fn these_first_requests_of_each_pattern_never_change_between_versions() {
    let blocks: Vec<(Pattern, Vec<u64>)> =
        PATTERNS.iter().map(|&pattern| (pattern, first_blocks(pattern))).collect();
    let expected = FIRST_BLOCKS.map(|(pattern, blocks)| (pattern, blocks.to_vec()));
    assert_eq!(blocks, expected);
}
const FIRST_BLOCKS: [(Pattern, [u64; 6]); 6] = [
    (Pattern::Sequential, [20, 21, 22, 23, 24, 25]),
    (Pattern::Random, [20, 39, 68, 235, 151, 27]),
    (Pattern::Hit, [0, 1, 2, 3, 4, 5]),
    (Pattern::Zipf, [214, 76, 11, 0, 62, 176]),
    (Pattern::Hot, [7, 46, 5, 5, 16, 3]),
    (Pattern::Strided, [32, 40, 48, 56, 64, 72]),
];

#[test]
fn the_hot_part_gets_its_share_and_both_parts_are_covered_evenly() {
    let hot = of_pattern(Pattern::Hot, |spec| {
        spec.hot_bytes = Some(Bytes(64 * 4096));
        spec.hot_percent = Some(90);
    });
    let draws = 200_000;
    let mut counts = [0u32; 256];
    for request in requests(&hot, 6, 0, draws) {
        counts[(request.offset / 4096) as usize] += 1;
    }
    let in_hot: u32 = counts[..64].iter().sum();
    // Four standard deviations of a binomial of 200,000 draws at 0.9 are 537.
    assert!(in_hot.abs_diff(180_000) < 537, "{in_hot}");
    for (part, total) in [(&counts[..64], in_hot), (&counts[64..], draws as u32 - in_hot)] {
        let expected = f64::from(total) / part.len() as f64;
        let sum: f64 = part.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        let freedom = part.len() as f64 - 1.0;
        // Approximately normal with variance 2 f: four standard deviations.
        assert!((sum - freedom).abs() < 4.0 * (2.0 * freedom).sqrt(), "{sum} of {freedom}");
    }
}

#[test]
fn zipf_jobs_share_their_popular_blocks_with_the_popularity_of_the_law() {
    let zipf = of_pattern(Pattern::Zipf, |spec| {
        spec.asked.zipf_theta_milli = Some(1_000);
        spec.asked.numjobs = 2;
    });
    let draws = 100_000;
    let counts = |job| {
        let mut counts = vec![0u32; 256];
        for request in requests(&zipf, 8, job, draws) {
            counts[(request.offset / 4096) as usize] += 1;
        }
        counts
    };
    let (first, second) = (counts(0), counts(1));
    let by_rank = |counts: &[u32]| {
        let mut blocks: Vec<usize> = (0..256).collect();
        blocks.sort_by_key(|&block| std::cmp::Reverse(counts[block]));
        blocks
    };
    assert_eq!(by_rank(&first)[..4], by_rank(&second)[..4]);
    // Theta 1: rank k has 1/k of the harmonic number of 256, which is 6.1244.
    for (index, &block) in by_rank(&first)[..4].iter().enumerate() {
        let share = 1.0 / (index as f64 + 1.0) / 6.124_4;
        let deviation = (draws as f64 * share * (1.0 - share)).sqrt();
        let miss = f64::from(first[block]) - draws as f64 * share;
        assert!(miss.abs() < 4.0 * deviation, "rank {}: off by {miss}", index + 1);
    }
    let mut popular = by_rank(&first)[..16].to_vec();
    popular.sort_unstable();
    assert!(popular.windows(2).all(|pair| pair[1] - pair[0] >= 4), "{popular:?}");
    assert!(first.iter().zip(&second).all(|(a, b)| a + b > 0), "every block is reached");
}

#[test]
fn a_strided_job_keeps_its_distance_and_reads_every_block_before_any_again() {
    let strided = of_pattern(Pattern::Strided, |_| ());
    let pass = requests(&strided, 3, 0, 512);
    let start = pass[0].offset;
    for pair in pass.windows(2) {
        let wrapped = pair[1].offset < 32_768;
        assert!(pair[1].offset == pair[0].offset + 32_768 || wrapped, "{pair:?}");
    }
    // The first and the last row of a pass are one row, split where the job started.
    let blocks: std::collections::BTreeSet<u64> = pass[..256].iter().map(|r| r.offset).collect();
    assert_eq!(blocks.len(), 256, "every block once");
    assert_eq!(pass[256].offset, start);
    // With a distance that is not a multiple of the request size, rows never overlap.
    let uneven = of_pattern(Pattern::Strided, |spec| spec.asked.stride_bytes = Some(Bytes(10_240)));
    let starts: std::collections::BTreeSet<u64> =
        requests(&uneven, 3, 0, 1_000).iter().map(|r| r.offset).collect();
    let starts: Vec<u64> = starts.into_iter().collect();
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 4096));
}

#[test]
fn arrivals_come_with_the_same_requests_and_never_go_back() {
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let open = workload(|spec| {
            spec.asked.read_percent = 30;
            spec.asked.rate_iops = Some(5_000);
            spec.arrival = Some(arrival);
            spec.asked.numjobs = 2;
        });
        let closed = workload(|spec| (spec.asked.read_percent, spec.asked.numjobs) = (30, 2));
        let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
        for job in 0..2 {
            let mut stream = RequestStream::new(&open, 7, job);
            let (mut all, mut times) = (Vec::new(), Vec::new());
            for length in [1, 7, 92, 900] {
                let (mut batch, mut at) = (vec![empty; length], vec![Nanos(0); length]);
                stream.fill_timed(&mut batch, &mut at);
                all.extend(batch);
                times.extend(at);
            }
            assert_eq!(all, requests(&closed, 7, job, 1_000), "{arrival:?}");
            assert!(times.is_sorted(), "{arrival:?}");
            // 1,000 arrivals at 2,500 per second.
            let seconds = times[999].as_secs_f64();
            assert!((0.34..0.46).contains(&seconds), "{arrival:?}: {seconds}");
        }
    }
}

#[test]
fn with_a_rate_for_each_direction_a_sequential_mix_keeps_a_cursor_for_each() {
    let both = workload(|spec| {
        spec.asked.pattern = Pattern::Sequential;
        spec.asked.read_percent = 75;
        (spec.asked.rate_iops, spec.asked.write_rate_iops) = (Some(4_000), Some(1_000));
        (spec.asked.numjobs, spec.regions) = (2, Some(Regions::Shared));
    });
    let empty = Request { offset: 0, bytes: 0, op: OpKind::Read };
    let mut seen = [Vec::new(), Vec::new()];
    for job in 0..2 {
        let (mut batch, mut at) = (vec![empty; 400], vec![Nanos(0); 400]);
        RequestStream::new(&both, 7, job).fill_timed(&mut batch, &mut at);
        let reads = batch.iter().filter(|request| request.op == OpKind::Read).count();
        assert!(reads.abs_diff(300) <= 1, "{reads}");
        for request in batch {
            seen[request.op as usize].push(request.offset);
        }
    }
    for (offsets, count) in seen.iter_mut().zip([600, 200]) {
        offsets.sort_unstable();
        offsets.dedup();
        // Both jobs together cover the area without a gap. Reads wrap around its 256 blocks.
        assert!(offsets.len().abs_diff(count.min(256)) <= 1, "{}", offsets.len());
    }
}

#[test]
fn seeds_of_neighbouring_jobs_share_nothing() {
    let seeds: std::collections::HashSet<u64> = (0..1000).map(|i| derive_seed(1, i)).collect();
    assert_eq!(seeds.len(), 1000);
    let differing = (derive_seed(1, 0) ^ derive_seed(1, 1)).count_ones();
    assert!((16..=48).contains(&differing), "{differing} of 64 bits differ");
}

#[test]
fn an_order_has_every_item_once() {
    let mut order: Vec<u32> = (0..50).collect();
    Rng::new(9).shuffle(&mut order);
    assert_ne!(order, (0..50).collect::<Vec<_>>());
    order.sort_unstable();
    assert_eq!(order, (0..50).collect::<Vec<_>>());
}

/// The first outputs of xoshiro256++ from the `rand_xoshiro` crate, `seed_from_u64(0)`, which is also seeded
/// by SplitMix64.
#[test]
fn the_generator_is_xoshiro256_plus_plus_seeded_by_splitmix64() {
    let mut rng = Rng::new(0);
    let first: [u64; 4] = std::array::from_fn(|_| rng.next_u64());
    let known = [5987356902031041503, 7051070477665621255, 6633766593972829180, 211316841551650330];
    assert_eq!(first, known);
}
