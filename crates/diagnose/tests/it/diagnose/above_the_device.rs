//! Tests what delays programs above a healthy device: the page cache, its limits, and stalls.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE, closed, diagnosed, first_advice, has_cause, load, longest, reads, seen,
};
use record::{
    CauseCode, Context, DeviceFacts, Figure, MemoryLimit, Observation, Strategy, Verdict,
};

const PROFILES: [bool; 2] = [true, false];

fn found(observed: &Observation, profiled: bool) -> record::DeviceDiagnosis {
    diagnosed(observed, profiled.then_some(&*EIGHT_PROFILE))
}

fn with(mut observed: Observation, change: impl Fn(&mut Context)) -> Observation {
    observed.contexts.iter_mut().for_each(change);
    observed
}

#[test]
fn reads_of_what_the_page_cache_has_just_dropped_are_named_with_the_group_that_lacks_memory() {
    let seen = seen(EIGHT, vec![reads(0, 60, 900)], false);
    let read = 900.0 * 4096.0;
    let all = |again: f64, all: f64| {
        with(seen.clone(), |it| {
            (it.refaulted_bytes_per_s, it.read_bytes_per_s) =
                (Some(again * read), Some(all * read));
        })
    };
    let of_group = with(seen.clone(), |it| {
        it.memory_limits = vec![MemoryLimit {
            group: "/db".to_owned(),
            limit_bytes: 120 << 20,
            reached_per_s: 50.0,
            refaulted_bytes_per_s: 0.6 * read,
        }];
    });
    for profiled in PROFILES {
        let short = found(&all(0.6, 1.0), profiled);
        assert_eq!(longest(&short).verdict, Verdict::NotTheDisk, "{:#?}", longest(&short));
        assert!(has_cause(longest(&short), CauseCode::MemoryShort));
        assert_eq!(first_advice(&short), Some(Strategy::HostCache));
        let short = found(&of_group, profiled);
        let episode = longest(&short);
        assert!(
            episode.claim.contains("\"/db\"") && episode.claim.contains("120 MiB"),
            "{episode:?}"
        );
        // The rereads may belong to another device, which reads more.
        let others = found(&all(0.6, 3.0), profiled);
        assert!(!has_cause(longest(&others), CauseCode::MemoryShort), "{:#?}", longest(&others));
        let enough = found(&all(0.1, 1.0), profiled);
        assert!(!has_cause(longest(&enough), CauseCode::MemoryShort));
    }
}

#[test]
fn a_low_limit_of_what_may_wait_to_be_written_holds_programs_of_a_device_with_time_left() {
    let writes = |spec: &mut workload::Spec| {
        (spec.asked.rate_iops, spec.asked.read_percent) = (Some(900), 0);
    };
    let seen = seen(EIGHT, vec![load(0, 60, writes)], false);
    let limited = |limit: u64| {
        with(seen.clone(), move |it| {
            (it.dirty_bytes, it.writeback_bytes) = (Some(2 << 20), Some(512 << 10));
            it.dirty_limit_bytes = Some(limit);
        })
    };
    for profiled in PROFILES {
        let held = found(&limited(3 << 20), profiled);
        let episode = longest(&held);
        assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
        assert!(has_cause(episode, CauseCode::WriteBackLimit), "{:?}", episode.causes);
        assert_eq!(first_advice(&held), Some(Strategy::RaiseCap));
        let free = found(&limited(3 << 30), profiled);
        assert!(longest(&free).verdict.is_fine(), "{:#?}", longest(&free));
    }
}

#[test]
fn pages_in_order_one_at_a_time_are_those_of_a_reader_for_whom_nothing_is_read_ahead() {
    let in_order = |spec: &mut workload::Spec| {
        spec.asked.pattern = record::Pattern::Sequential;
        spec.asked.iodepth = 1;
    };
    let read_ahead = |bytes: u64| {
        let mut observed = seen(EIGHT, vec![load(0, 60, in_order)], true);
        observed.devices[0].facts = Some(DeviceFacts {
            disk: "sdx".to_owned(),
            read_ahead_bytes: Some(bytes),
            ..DeviceFacts::default()
        });
        observed
    };
    for profiled in PROFILES {
        let off = found(&read_ahead(0), profiled);
        assert_eq!(longest(&off).verdict, Verdict::NotTheDisk, "{:#?}", longest(&off));
        assert!(has_cause(longest(&off), CauseCode::ReadAheadOff));
        assert_eq!(first_advice(&off), Some(Strategy::ReadAhead));
        let on = found(&read_ahead(128 << 10), profiled);
        assert!(!has_cause(longest(&on), CauseCode::ReadAheadOff));
    }
}

#[test]
fn a_stop_while_tasks_wait_and_the_device_has_nothing_to_do_is_something_above_it() {
    let stopped = |waited: f64| {
        let mut observed = seen(EIGHT, vec![closed(0, 60, 2)], false);
        for (at, interval) in observed.intervals.iter_mut().enumerate() {
            if (20..22).contains(&at) {
                let none = Some(Figure::measured(0.0, 1.0));
                (interval.read.per_s, interval.read.bytes_per_s) = (none, none);
                interval.read.latency_ns = None;
                (interval.busy_share, interval.concurrency) = (none, none);
            }
        }
        for (at, context) in observed.contexts.iter_mut().enumerate() {
            let stop = (20..22).contains(&at);
            context.io_some_share = Some(if stop { waited } else { 0.5 });
        }
        observed
    };
    for profiled in PROFILES {
        let held = found(&stopped(1.0), profiled);
        let episode = longest(&held);
        assert_eq!(episode.verdict, Verdict::Capped, "{episode:#?}");
        assert!(episode.claim.contains("stopped in 2 of"), "{}", episode.claim);
        // A program that sleeps does not wait.
        let slept = found(&stopped(0.0), profiled);
        assert_ne!(longest(&slept).verdict, Verdict::Capped, "{:#?}", longest(&slept));
    }
}

#[test]
fn reads_that_are_quick_whenever_no_write_is_under_way_wait_behind_the_writes() {
    let flood = |from: u64, depth: u32| {
        load(from, from + 1, move |spec| {
            (spec.asked.iodepth, spec.asked.read_percent) = (depth, 0);
        })
    };
    let beside = |depth: u32| {
        let mut loads = vec![closed(0, 60, 1)];
        loads.extend((0..60).filter(|second| second % 3 == 2).map(|from| flood(from, depth)));
        seen(EIGHT, loads, false)
    };
    let crowded = found(&beside(64), false);
    assert!(
        crowded.episodes.iter().any(|one| one.verdict == Verdict::Overloaded),
        "{:#?}",
        crowded.episodes
    );
    let few = found(&beside(2), false);
    assert!(
        few.episodes.iter().all(|one| one.verdict != Verdict::Overloaded),
        "{:#?}",
        few.episodes
    );
}
