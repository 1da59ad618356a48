//! Tests staged cases, each with a counterpart that differs in one condition and has its own verdict.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, at, by_no_profile, closed, diagnosed, first_advice, has_cause, load,
    longest, may_be, profiled, reads, seen,
};
use diagnose::{DiagnoseOptions, FittedProfile, diagnose};
use plan::scenarios;
use record::{
    CauseCode, Change, Confidence, Episode, Figure, Measured, NoteCode, Observation,
    ObservedDevice, Pattern, Strategy, Verdict,
};
use std::sync::LazyLock;

/// A single server of 5 ms.
const ONE: &str = "mm1,service=5ms";
static ONE_PROFILE: LazyLock<FittedProfile> = LazyLock::new(|| profiled(ONE));
/// A disk drive of 1997.
const DRIVE: &str = "st34371w";
static DRIVE_PROFILE: LazyLock<FittedProfile> = LazyLock::new(|| profiled(DRIVE));

#[test]
fn a_device_that_does_what_its_profile_says_is_not_blamed_at_any_load() {
    let cases = [(EIGHT, &*EIGHT_PROFILE, 8_000.0), (ONE, &*ONE_PROFILE, 200.0)];
    for (device, profile, most) in cases {
        for (share, verdict) in [
            (0.05, Verdict::NotTheDisk),
            (0.15, Verdict::NotTheDisk),
            (0.3, Verdict::Healthy),
            (0.45, Verdict::Healthy),
        ] {
            let rate = (share * most) as u64;
            let found = diagnosed(&seen(device, vec![reads(0, 60, rate)], false), Some(profile));
            let episode = longest(&found);
            assert_eq!(episode.verdict, verdict, "{device} at {share}: {episode:#?}");
            assert_eq!(found.advice, [], "{device} at {share}");
            assert_eq!(found.worst, None);
        }
    }
}

#[test]
fn a_device_slower_than_its_profile_is_slow_at_any_load() {
    for (device, profile, rates) in [
        ("mmc,servers=8,service=1500us", &*EIGHT_PROFILE, [200, 1_500, 3_000]),
        ("mm1,service=7500us", &*ONE_PROFILE, [10, 40, 70]),
    ] {
        for rate in rates {
            let found = diagnosed(&seen(device, vec![reads(0, 60, rate)], false), Some(profile));
            let episode = longest(&found);
            assert_eq!(episode.verdict, Verdict::Slow, "{device} at {rate}: {episode:#?}");
            assert!(has_cause(episode, CauseCode::ServiceSlower));
            assert_eq!(first_advice(&found), Some(Strategy::Restore));
            let over = episode.calibrated.unwrap().latency_ratio;
            assert!((1.3..1.7).contains(&over), "{device} at {rate}: {over}");
        }
    }
}

#[test]
fn what_a_figure_rules_out_is_named_with_that_figure_and_is_no_alternative() {
    let slow = "mmc,servers=8,service=1500us";
    let both = [Verdict::Slow, Verdict::Overloaded];
    for (device, load, out) in [
        (EIGHT, reads(0, 60, 3_000), &both[..]),
        (EIGHT, closed(0, 60, 64), &both[..1]),
        (slow, reads(0, 60, 3_000), &both[1..]),
        (slow, closed(0, 60, 64), &[]),
    ] {
        let observed = seen(device, vec![load], false);
        let found = diagnosed(&observed, Some(&EIGHT_PROFILE));
        let episode = longest(&found);
        for verdict in out {
            let because = episode.excluded.iter().find(|one| one.verdict == *verdict);
            let because = &because.unwrap_or_else(|| panic!("{verdict:?}: {episode:#?}")).because;
            assert!(because.contains(|letter: char| letter.is_ascii_digit()), "{because}");
        }
        for one in &episode.excluded {
            assert_ne!(one.verdict, episode.verdict);
            assert!(!may_be(episode, one.verdict), "{episode:#?}");
        }
        assert!(both.iter().all(|one| out.contains(one) || !rules_out(episode, *one)));
        assert_eq!(longest(&diagnosed(&observed, None)).excluded, []);
    }
}

fn rules_out(episode: &Episode, verdict: Verdict) -> bool {
    episode.excluded.iter().any(|one| one.verdict == verdict)
}

#[test]
fn many_outstanding_on_a_fine_device_is_overload_and_on_a_slow_one_both() {
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 64)], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Overloaded, "{episode:#?}");
    assert!(has_cause(episode, CauseCode::DepthBeyondKnee));
    assert_eq!(first_advice(&found), Some(Strategy::ShallowerQueue));
    let slow = "mmc,servers=8,service=1500us";
    let found = diagnosed(&seen(slow, vec![closed(0, 60, 64)], false), Some(&EIGHT_PROFILE));
    assert_eq!(longest(&found).verdict, Verdict::SlowAndOverloaded);
    // The counterpart in depth: as many requests as the device serves in parallel do not wait.
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 4)], false), Some(&EIGHT_PROFILE));
    assert_eq!(longest(&found).verdict, Verdict::Healthy, "{:#?}", longest(&found));
}

#[test]
fn the_advice_for_a_deep_queue_comes_true() {
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 64)], false), Some(&EIGHT_PROFILE));
    let remedy = &found.advice[0];
    let Measured::Value(effect) = &remedy.effect else { panic!("{remedy:#?}") };
    let Some(Change::Depth(depth)) = remedy.change else { panic!("{remedy:#?}") };
    let after =
        diagnosed(&seen(EIGHT, vec![closed(0, 60, depth as u32)], false), Some(&EIGHT_PROFILE));
    let latency = longest(&after).numbers.latency_ns.unwrap();
    let predicted = &effect.latency_after_ns;
    assert!(predicted.low <= latency && latency <= predicted.high, "{latency} {effect:?}");
    let rate = longest(&after).numbers.iops.unwrap();
    assert!(effect.iops_after.low <= rate && rate <= effect.iops_after.high, "{rate} {effect:?}");
}

#[test]
fn an_interval_wider_than_ten_times_its_value_promises_no_gain() {
    let mut vague = EIGHT_PROFILE.profile().clone();
    vague.level_se_rel = Some(1.5);
    let vague = FittedProfile::new(vague);
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 64)], false), Some(&vague));
    let remedy = &found.advice[0];
    assert_eq!(remedy.strategy, Strategy::ShallowerQueue, "{remedy:#?}");
    assert_eq!((remedy.effect.reason(), remedy.gain), (Some("the error is too large"), None));
}

#[test]
fn a_writer_that_fills_the_device_is_found_while_it_is_there() {
    let writer = load(20, 40, |spec| {
        spec.asked.read_percent = 0;
        spec.asked.iodepth = 64;
    });
    let found =
        diagnosed(&seen(EIGHT, vec![reads(0, 60, 400), writer], true), Some(&EIGHT_PROFILE));
    assert_eq!(at(&found, 10).verdict, Verdict::NotTheDisk);
    assert_eq!(at(&found, 50).verdict, Verdict::NotTheDisk);
    let busy = at(&found, 30);
    assert_eq!(busy.verdict, Verdict::Overloaded, "{busy:#?}");
    for cause in [CauseCode::WritesInFront, CauseCode::Neighbour] {
        assert!(has_cause(busy, cause), "{busy:#?}");
    }
    let strategies: Vec<Strategy> = found.advice.iter().map(|it| it.strategy).collect();
    assert!(strategies.contains(&Strategy::MoveNeighbour), "{strategies:?}");
    assert!((busy.share_of_time - 1.0 / 3.0).abs() < 0.05, "{}", busy.share_of_time);
    assert_eq!(
        found.worst.map(|worst| found.episodes[worst as usize].begin_ns),
        Some(busy.begin_ns)
    );
}

#[test]
fn a_short_episode_that_is_far_worse_is_the_worst() {
    // Of 32 requests 24 wait, for 50 s; of 128 requests 120 wait, for 8 s.
    let loads = vec![closed(0, 50, 32), closed(52, 60, 128)];
    let found = diagnosed(&seen(EIGHT, loads, false), Some(&EIGHT_PROFILE));
    let (long, short) = (at(&found, 20), at(&found, 57));
    assert_ne!(long.begin_ns, short.begin_ns, "{:#?}", found.episodes);
    assert!(long.verdict.is_trouble() && short.verdict.is_trouble(), "{:#?}", found.episodes);
    let worst = found.worst.map(|worst| found.episodes[worst as usize].begin_ns);
    assert_eq!(worst, Some(short.begin_ns));
}

#[test]
fn a_control_groups_limit_is_named_when_it_is_reached_and_not_below() {
    let limited = |rate: Option<u64>| {
        let mut one = match rate {
            Some(rate) => reads(0, 60, rate),
            None => closed(0, 60, 32),
        };
        one.limits.extend(scenarios::GroupLimit::of("riops", 1_000));
        diagnosed(&seen(EIGHT, vec![one], false), Some(&EIGHT_PROFILE))
    };
    let found = limited(None);
    let episode = longest(&found);
    assert_eq!((episode.verdict, episode.confidence), (Verdict::Capped, Confidence::Certain));
    assert_eq!(first_advice(&found), Some(Strategy::RaiseCap));
    assert!(found.advice[0].cost.contains("smaller share"), "{}", found.advice[0].cost);
    assert_eq!(longest(&limited(Some(600))).verdict, Verdict::NotTheDisk);
    assert_eq!(limited(Some(600)).advice, []);
}

#[test]
fn a_limit_needs_no_profile() {
    let mut one = closed(0, 60, 32);
    one.limits.extend(scenarios::GroupLimit::of("riops", 1_000));
    let found = diagnosed(&seen(EIGHT, vec![one], false), None);
    assert_eq!(longest(&found).verdict, Verdict::Capped);
}

#[test]
fn a_constant_rate_without_evidence_from_above_has_a_cap_as_its_rival() {
    let mut paced = load(0, 60, |spec| spec.asked.rate_iops = Some(1_000));
    paced.workload.arrival = record::Arrival::Constant;
    let found = diagnosed(&seen(EIGHT, vec![paced], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::NotTheDisk);
    assert!(may_be(episode, Verdict::Capped), "{episode:#?}");
    assert_ne!(episode.confidence, Confidence::Certain);
    let varied = diagnosed(&seen(EIGHT, vec![reads(0, 60, 1_000)], false), Some(&EIGHT_PROFILE));
    assert!(!may_be(longest(&varied), Verdict::Capped));
}

#[test]
fn a_cap_inside_the_device_is_slow_or_capped_until_it_was_seen_to_be_fast_below() {
    let free = profiled("capped,iops=none");
    let capped = "capped,iops=3000";
    let found = diagnosed(&seen(capped, vec![closed(0, 60, 64)], false), Some(&free));
    let episode = longest(&found);
    assert_eq!(episode.confidence, Confidence::Possible, "{episode:#?}");
    let named = |verdict: Verdict| episode.verdict == verdict || may_be(episode, verdict);
    assert!(named(Verdict::Capped), "{episode:#?}");
    assert!(named(Verdict::Slow) || named(Verdict::SlowAndOverloaded), "{episode:#?}");
    let loads = vec![reads(0, 30, 1_500), closed(30, 60, 64)];
    let found = diagnosed(&seen(capped, loads, false), Some(&free));
    let episode = at(&found, 45);
    assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
    assert!(has_cause(episode, CauseCode::PinnedRate));
    assert!(!episode.alternatives.is_empty());
}

#[test]
fn one_request_at_a_time_is_the_program_and_not_the_disk() {
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, 1)], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::NotTheDisk);
    assert!(has_cause(episode, CauseCode::OneAtATime));
    assert_eq!(first_advice(&found), Some(Strategy::DeeperQueue));
    assert!(found.notes.iter().any(|note| note.code == NoteCode::BusyNotSaturated));
}

#[test]
fn too_little_io_is_not_enough_evidence_and_without_a_profile_no_gain_is_predicted() {
    let rare = load(0, 30, |spec| spec.asked.rate_iops = Some(1));
    let found = diagnosed(&seen(EIGHT, vec![rare], false), Some(&EIGHT_PROFILE));
    assert_eq!(longest(&found).verdict, Verdict::NotEnoughEvidence);
    let busy = seen(EIGHT, vec![closed(0, 60, 64)], false);
    let found = diagnosed(&busy, None);
    let episode = longest(&found);
    assert!(by_no_profile(episode) && episode.utilization_law.is_some());
    assert!(found.advice.iter().all(|one| one.gain.is_none()) && found.profile.reason().is_some());
}

#[test]
fn a_device_faster_than_its_profile_allows_is_no_match() {
    let fast = "mmc,servers=8,service=300us";
    let found = diagnosed(&seen(fast, vec![reads(0, 60, 1_000)], false), Some(&EIGHT_PROFILE));
    assert!(by_no_profile(longest(&found)), "{:#?}", longest(&found));
}

#[test]
fn larger_requests_raise_response_times_and_no_alarm() {
    let device = "mmc,servers=8,service=1ms,rate=100MB/s";
    let profile = profiled(device);
    let sized = |from, to, kib: u64| {
        load(from, to, |spec| {
            *spec = spec.clone().with_bs(kib << 10);
            spec.asked.rate_iops = Some(2_000);
        })
    };
    let found =
        diagnosed(&seen(device, vec![sized(0, 30, 4), sized(30, 60, 64)], false), Some(&profile));
    assert!(found.episodes.len() >= 2, "{:#?}", found.episodes.len());
    assert!(found.notes.iter().any(|note| note.code == NoteCode::SizesGrew), "{:#?}", found.notes);
    assert_eq!(found.worst, None, "{:#?}", found.episodes);
    // The counterpart: equally slow without larger requests.
    let slow = "mmc,servers=8,service=1650us,rate=100MB/s";
    let found = diagnosed(&seen(slow, vec![sized(0, 60, 4)], false), Some(&profile));
    assert_eq!(longest(&found).verdict, Verdict::Slow);
    assert!(found.notes.iter().all(|note| note.code != NoteCode::SizesGrew));
}

#[test]
fn a_shift_to_random_requests_is_no_slowness_and_a_tracer_makes_it_sure() {
    let streams = |from, to, pattern| {
        load(from, to, |spec| {
            spec.asked.pattern = pattern;
            *spec = spec.clone().with_bs(16 << 10);
        })
    };
    let loads = || vec![streams(0, 30, Pattern::Sequential), streams(30, 60, Pattern::Random)];
    for traced in [false, true] {
        let found = diagnosed(&seen(DRIVE, loads(), traced), Some(&DRIVE_PROFILE));
        for second in [15, 45] {
            let verdict = at(&found, second).verdict;
            assert!(
                !matches!(verdict, Verdict::Slow | Verdict::SlowAndOverloaded | Verdict::Capped),
                "{second} traced {traced}: {:#?}",
                at(&found, second)
            );
        }
        let note = found.notes.iter().find(|note| note.code == NoteCode::PatternChanged).unwrap();
        assert_eq!(note.claim.contains("slower device"), !traced, "{}", note.claim);
    }
}

#[test]
fn the_page_caches_writes_are_no_overload_and_a_programs_are() {
    let flush = |write_back| {
        let mut one = load(20, 32, |spec| {
            spec.asked.read_percent = 0;
            spec.asked.iodepth = 64;
        });
        one.write_back = write_back;
        diagnosed(&seen(EIGHT, vec![one], false), Some(&EIGHT_PROFILE))
    };
    let found = flush(true);
    assert_eq!(at(&found, 25).verdict, Verdict::Healthy, "{:#?}", at(&found, 25));
    assert!(may_be(at(&found, 25), Verdict::Overloaded));
    assert!(found.notes.iter().any(|note| note.code == NoteCode::WriteBackBursts));
    assert_eq!(at(&flush(false), 25).verdict, Verdict::Overloaded);
}

#[test]
fn short_bursts_do_not_make_a_fine_device_slow() {
    let burst = |from| {
        load(from, from + 1, |spec| {
            spec.asked.read_percent = 0;
            spec.asked.iodepth = 64;
        })
    };
    let mut loads: Vec<_> = (0..12).map(|index| burst(2 + 5 * index)).collect();
    loads.push(reads(0, 60, 200));
    let found = diagnosed(&seen(EIGHT, loads, false), Some(&EIGHT_PROFILE));
    for episode in &found.episodes {
        assert!(
            !matches!(episode.verdict, Verdict::Slow | Verdict::SlowAndOverloaded),
            "{episode:#?}"
        );
    }
}

#[test]
fn steal_takes_the_certainty_from_slowness() {
    let mut observation = seen("mmc,servers=8,service=1500us", vec![reads(0, 60, 1_000)], false);
    let certain = diagnosed(&observation, Some(&EIGHT_PROFILE));
    assert!(!may_be(longest(&certain), Verdict::NotTheDisk));
    for context in &mut observation.contexts {
        context.steal_share = Some(0.2);
    }
    let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
    assert_eq!(longest(&found).confidence, Confidence::Possible);
    assert!(may_be(longest(&found), Verdict::NotTheDisk));
    assert!(found.notes.iter().any(|note| note.code == NoteCode::Steal));
}

#[test]
fn without_a_busy_counter_slowness_is_only_possible() {
    let mut observation = seen("mmc,servers=8,service=1500us", vec![reads(0, 60, 1_000)], false);
    for interval in &mut observation.intervals {
        interval.busy_share = None;
    }
    let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
    assert_eq!(longest(&found).confidence, Confidence::Possible, "{:#?}", longest(&found));
    assert!(found.notes.iter().any(|note| note.code == NoteCode::FiguresMissing));
}

#[test]
fn split_requests_are_a_sign_of_fragmentation() {
    let mut observation = seen("mm1,service=7500us", vec![reads(0, 60, 70)], false);
    let note = |observation: &Observation| {
        let found = diagnosed(observation, Some(&ONE_PROFILE));
        let advised = found.advice.iter().any(|it| it.strategy == Strategy::Defragmentation);
        (found.notes.iter().any(|note| note.code == NoteCode::SplitRequests), advised)
    };
    assert_eq!(note(&observation), (false, false));
    for interval in &mut observation.intervals {
        interval.splits_per_s = Some(Figure::measured(15.0, 0.0));
    }
    assert!(note(&observation).0);
}

#[test]
fn advice_for_a_recording_of_windows_names_no_tool_of_linux() {
    let mut observation = seen(EIGHT, vec![closed(0, 60, 64)], false);
    for interval in &mut observation.intervals {
        interval.splits_per_s = Some(Figure::measured(2_000.0, 0.0));
    }
    let advised = |source: &str| {
        let observation = Observation { source: source.to_owned(), ..observation.clone() };
        let found = diagnosed(&observation, Some(&EIGHT_PROFILE));
        found.advice.into_iter().map(|it| it.action).collect::<Vec<_>>().join(" ")
    };
    let (linux, windows) = (advised("simulated"), advised("Windows PhysicalDisk CSV"));
    assert!(linux.contains("(fallocate)") && linux.contains("nr_requests"), "{linux}");
    assert!(windows.contains("(SetEndOfFile)"), "{windows}");
    for word in ["fallocate", "nr_requests", "e4defrag", "/sys/", "io.max", "control group"] {
        assert!(!windows.contains(word), "{word}: {windows}");
    }
}

#[test]
fn the_share_of_hits_is_found_from_the_response_time() {
    let device = "md1,service=5ms,cache=64m,hit=500us";
    let profile = profiled(device);
    let hot = load(0, 60, |spec| {
        spec.asked.pattern = Pattern::Hot;
        spec.hot_bytes = Some(record::Bytes(256 << 10));
        spec.hot_percent = Some(60);
        spec.asked.rate_iops = Some(20);
    });
    let found = diagnosed(&seen(device, vec![hot], false), Some(&profile));
    let Measured::Value(share) = &found.hit_share else { panic!("{:?}", found.hit_share) };
    // 64 blocks are read about 720 times in all: a tenth of these reads is the first of its block.
    let truth = 0.6 * (1.0 - 64.0 / 720.0);
    assert!(share.low <= truth && truth <= share.high, "{share:?}");
    // A plain profile does not determine how long arrivals wait, and the interval includes that.
    assert!(share.high - share.low < 0.8, "{share:?}");
    let found = diagnosed(&seen(EIGHT, vec![reads(0, 60, 500)], false), Some(&EIGHT_PROFILE));
    assert!(found.hit_share.reason().is_some_and(|why| why.contains("no faster")));
}

#[test]
fn friedmans_split_and_the_calibrated_one_agree_on_one_server_and_differ_on_eight() {
    let found = diagnosed(&seen(ONE, vec![reads(0, 60, 100)], false), Some(&ONE_PROFILE));
    let episode = longest(&found);
    let (utilization_law, calibrated) =
        (episode.utilization_law.unwrap(), episode.calibrated.unwrap());
    let apart = utilization_law.service_ns / calibrated.unloaded_ns;
    // The profile has about 200 lone requests with exponential latency: a standard error of 7 %.
    assert!((apart - 1.0).abs() < 0.2, "{apart}");
    assert!(found.splits_compared.contains("agree"), "{}", found.splits_compared);
    let found = diagnosed(&seen(EIGHT, vec![reads(0, 60, 4_000)], false), Some(&EIGHT_PROFILE));
    let episode = longest(&found);
    let (utilization_law, calibrated) =
        (episode.utilization_law.unwrap(), episode.calibrated.unwrap());
    assert!(utilization_law.service_ns < 0.4 * calibrated.unloaded_ns);
    assert!(utilization_law.queue_ns > 4.0 * calibrated.queue_ns.max(1.0));
    assert!(found.splits_compared.contains("in parallel"), "{}", found.splits_compared);
    assert_eq!(found.series.len(), 60);
}

#[test]
fn parts_and_built_devices_are_left_out_and_the_same_material_gives_the_same_diagnosis() {
    let mut observation = seen(EIGHT, vec![reads(0, 60, 500)], false);
    let whole = observation.devices[0].name.clone();
    observation.devices.push(ObservedDevice {
        name: "part".to_owned(),
        partition_of: Some(whole.clone()),
        ..ObservedDevice::default()
    });
    observation.devices.push(ObservedDevice {
        name: "dm-0".to_owned(),
        built_of: vec![whole],
        ..ObservedDevice::default()
    });
    let options = DiagnoseOptions::default();
    let one = diagnose(&observation, &|_| Some(&EIGHT_PROFILE), &options);
    assert_eq!((one.devices.len(), one.left_out.len()), (1, 2));
    assert_eq!(one, diagnose(&observation, &|_| Some(&EIGHT_PROFILE), &options));
}

#[test]
fn a_hot_device_beside_an_idle_one_is_told_to_share() {
    let mut observation = seen(EIGHT, vec![closed(0, 60, 64)], false);
    let idle = seen("mmc,servers=8,service=1001us", vec![reads(0, 60, 100)], false);
    let balanced = |observation: &Observation| {
        let options = DiagnoseOptions { chosen: true, ..DiagnoseOptions::default() };
        let found = diagnose(observation, &|_| Some(&EIGHT_PROFILE), &options);
        found.devices[0].advice.iter().any(|it| it.strategy == Strategy::LoadBalancing)
    };
    assert!(!balanced(&observation));
    observation.devices.extend(idle.devices);
    observation.intervals.extend(idle.intervals);
    assert!(balanced(&observation));
}

#[test]
fn a_rate_above_the_largest_of_a_profile_that_hardly_knows_it_is_the_largest() {
    // The device varied: the profile's best estimate is a fifth below its capability.
    let with_error = |error: f64| {
        let mut profile = EIGHT_PROFILE.profile().clone();
        for cell in &mut profile.cells {
            cell.iops.value *= 0.8;
            cell.iops.low = cell.iops.value * (1.0 - error);
            cell.iops.high = cell.iops.value * (1.0 + error);
            cell.iops.se = cell.iops.value * error / 2.0;
            let latency = &mut cell.latency_ns;
            latency.value /= 0.8;
            latency.low = latency.value * (1.0 - error);
            latency.high = latency.value * (1.0 + error);
        }
        FittedProfile::new(profile)
    };
    let mut seen = seen(EIGHT, vec![closed(0, 60, 64)], false);
    for interval in &mut seen.intervals {
        // The tracer shows that none were sequential, so no other mix explains the rate.
        let read = record::TracedOp { sequential_share: Some(0.0), ..Default::default() };
        interval.traced = Some(Box::new(record::Traced { read, ..Default::default() }));
    }
    let found = |error| longest(&diagnosed(&seen, Some(&with_error(error)))).clone();
    assert_eq!(found(0.4).verdict, Verdict::Overloaded);
    assert!(!by_no_profile(&found(0.4)) && by_no_profile(&found(0.02)));
}
