//! Tests real machines: queues that programs keep up although their length varies, saturated CPUs,
//! and uncertain profiles. Each case has a counterpart that differs in one condition.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE as PROFILE, by_no_profile, closed, diagnosed, first_advice, has_cause,
    load, longest, may_be, reads, seen,
};
use diagnose::FittedProfile;
use plan::scenarios::ScenarioLoad;
use record::{
    CauseCode, Change, Confidence, Figure, Nanos, Observation, OpInterval, OpKind, Strategy,
    Verdict,
};

/// Sets this share of idle CPU time.
fn idle(mut observation: Observation, share: f64) -> Observation {
    observation.contexts.iter_mut().for_each(|context| context.idle_share = Some(share));
    observation
}

/// Like a machine whose CPUs are the device: in every other second it does a third less, and
/// waiting programs see the latency rise by `slower`.
fn wandering(mut observation: Observation, slower: f64) -> Observation {
    let scale = |figure: &mut Option<Figure>, factor: f64| {
        if let Some(figure) = figure {
            figure.value *= factor;
        }
    };
    for interval in observation.intervals.iter_mut().step_by(2) {
        let change = |op: &mut OpInterval| {
            scale(&mut op.per_s, 2.0 / 3.0);
            scale(&mut op.bytes_per_s, 2.0 / 3.0);
            scale(&mut op.latency_ns, slower);
        };
        [&mut interval.read, &mut interval.write, &mut interval.all].into_iter().for_each(change);
        scale(&mut interval.concurrency, slower / 1.5);
        scale(&mut interval.in_flight, slower / 1.5);
    }
    observation
}

#[test]
fn a_check_and_a_diagnosis_agree_on_how_deep_is_enough() {
    let curves = &PROFILE.profile().depth_curves;
    let curve = curves.iter().find(|curve| curve.op == OpKind::Read).unwrap();
    let advised = curve.knee.unwrap();
    for depth in [3 * advised, 16 * advised] {
        let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, depth)], false), Some(&PROFILE));
        assert_eq!(first_advice(&found), Some(Strategy::ShallowerQueue), "{depth}: {found:#?}");
        assert_eq!(found.advice[0].change, Some(Change::Depth(f64::from(advised))));
    }
    let found = diagnosed(&seen(EIGHT, vec![closed(0, 60, advised)], false), Some(&PROFILE));
    assert!(!has_cause(longest(&found), CauseCode::DepthBeyondKnee));
}

#[test]
fn a_queue_that_stays_while_the_rate_wanders_is_kept_up_by_a_program() {
    let deep = || seen(EIGHT, vec![closed(0, 60, 64)], false);
    // Latency rises as the rate falls: the queue depth stays the same within a twentieth.
    let found = diagnosed(&wandering(deep(), 1.45), Some(&PROFILE));
    assert!(has_cause(longest(&found), CauseCode::DepthBeyondKnee), "{:#?}", longest(&found));
    assert!(found.advice.iter().any(|one| one.strategy == Strategy::ShallowerQueue));
}

#[test]
fn more_work_than_the_device_does_is_no_queue_that_a_program_keeps_up() {
    let found = diagnosed(&seen(EIGHT, vec![reads(0, 60, 7_600)], false), Some(&PROFILE));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::Overloaded, "{episode:#?}");
    assert_ne!(first_advice(&found), Some(Strategy::ShallowerQueue), "{:#?}", found.advice);
}

/// 64 outstanding for 10 ms, four times a second, and none in between.
fn bursts() -> Vec<ScenarioLoad> {
    let quarter = 250_000_000;
    let burst = |at: u64| ScenarioLoad {
        name: "bursts".to_owned(),
        begin: Nanos(at * quarter),
        end: Nanos(at * quarter + 10_000_000),
        ..closed(0, 60, 64)
    };
    (0..240).map(burst).collect()
}

#[test]
fn bursts_of_programs_that_wait_for_a_processor_are_not_the_disks() {
    let verdict = |left: f64| {
        let found = diagnosed(&idle(seen(EIGHT, bursts(), false), left), Some(&PROFILE));
        let episode = longest(&found).clone();
        (episode.verdict, may_be(&episode, Verdict::Overloaded))
    };
    assert_eq!(verdict(0.01), (Verdict::NotTheDisk, true));
    assert_eq!(verdict(0.6), (Verdict::Overloaded, false));
}

#[test]
fn slowness_without_a_processor_to_spare_may_be_the_processors() {
    let slow = || seen("mmc,servers=8,service=1500us", vec![reads(0, 60, 1_500)], false);
    let found = diagnosed(&idle(slow(), 0.01), Some(&PROFILE));
    let episode = longest(&found);
    assert_eq!((episode.verdict, episode.confidence), (Verdict::Slow, Confidence::Possible));
    assert!(may_be(episode, Verdict::NotTheDisk));
    let found = diagnosed(&idle(slow(), 0.6), Some(&PROFILE));
    assert!(!may_be(longest(&found), Verdict::NotTheDisk), "{:#?}", longest(&found));
}

#[test]
fn a_programs_own_writes_are_not_the_page_caches_because_another_disk_is_written_back_to() {
    let writer = load(0, 60, |spec| {
        spec.asked.read_percent = 0;
        spec.asked.iodepth = 64;
    });
    let mut observation = seen(EIGHT, vec![writer], false);
    let mut verdict = |bytes: u64| {
        for context in &mut observation.contexts {
            context.writeback_bytes = Some(bytes);
        }
        longest(&diagnosed(&observation, Some(&PROFILE))).verdict
    };
    assert_eq!(verdict(8 << 10), Verdict::Overloaded);
    assert_ne!(verdict(64 << 12), Verdict::Overloaded);
}

#[test]
fn a_time_that_the_profile_hardly_knows_does_not_contradict_it() {
    let seen = seen("mmc,servers=8,service=300us", vec![reads(0, 60, 600)], false);
    let found = diagnosed(&seen, Some(&PROFILE));
    assert!(by_no_profile(longest(&found)), "{:#?}", longest(&found));
    let vague = record::Profile { level_se_rel: Some(0.5), ..PROFILE.profile().clone() };
    let found = diagnosed(&seen, Some(&FittedProfile::new(vague)));
    let episode = longest(&found);
    assert_eq!(episode.verdict, Verdict::NotTheDisk, "{episode:#?}");
    assert!(episode.confidence != Confidence::Certain && may_be(episode, Verdict::Slow));
}

/// A profile whose open loads met random stalls knows the latency under load only to within a
/// factor. Still, no request takes less than one alone, even on a repaired device.
#[test]
fn no_remedy_promises_less_than_a_lone_request_takes() {
    let mut profile = PROFILE.profile().clone();
    let alone = |cell: &&record::Cell| {
        cell.workload.depth == 1
            && !cell.workload.writes()
            && cell.workload.pattern == record::Pattern::Random
    };
    let lone = profile.cells.iter().find(alone).unwrap().clone();
    profile.mixes = (0..24u32)
        .map(|at| {
            let mut cell = lone.clone();
            cell.workload.arrival = record::Arrival::Poisson;
            cell.workload.rate_iops = Some(300 * u64::from(at + 1));
            cell.cell = cell.workload.cell();
            cell.latency_ns = lone.latency_ns.scaled([0.5, 1.0, 1.0, 9.0][at as usize % 4]);
            cell
        })
        .collect();
    let slow = seen("mmc,servers=8,service=3ms", vec![reads(0, 60, 1_500)], false);
    let found = diagnosed(&slow, Some(&FittedProfile::new(profile)));
    let effects: Vec<_> = found
        .advice
        .iter()
        .filter(|remedy| remedy.strategy == Strategy::Restore)
        .filter_map(|remedy| remedy.effect.value())
        .collect();
    assert!(!effects.is_empty(), "{:#?}", longest(&found));
    for effect in effects {
        let low = effect.latency_after_ns.low;
        assert!(low >= 0.85 * lone.latency_ns.value, "{effect:#?}");
    }
}

#[test]
fn what_sleeping_processors_take_to_wake_up_is_not_the_disks() {
    let verdict = |slower: f64, late_ns: u64| {
        let mut observation = seen(EIGHT, vec![reads(0, 60, 100)], false);
        for interval in &mut observation.intervals {
            for op in [&mut interval.read, &mut interval.write, &mut interval.all] {
                op.latency_ns.iter_mut().for_each(|figure| figure.value *= slower);
            }
        }
        let slept = [100_000, 1_600_000, 10_000_000];
        let late = [5_000, late_ns, late_ns];
        let wake_up = |(slept_ns, late_ns)| record::WakeUp { slept_ns, late_ns };
        observation.wake_ups = slept.into_iter().zip(late).map(wake_up).collect();
        let found = diagnosed(&observation, Some(&PROFILE));
        (longest(&found).verdict, may_be(longest(&found), Verdict::Slow))
    };
    assert_eq!(verdict(1.4, 500_000), (Verdict::NotTheDisk, true));
    assert_eq!(verdict(1.4, 5_000), (Verdict::Slow, false));
    assert_eq!(verdict(2.5, 500_000), (Verdict::Slow, false));
    assert_eq!(verdict(1.0, 500_000), (Verdict::NotTheDisk, false));
}
