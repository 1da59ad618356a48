//! Tests who shares a device: groups of many processes, processes that flush, and what is unknown
//! without privileges. Each case has a counterpart that differs in one condition.

use crate::diagnose::staged::{
    EIGHT, EIGHT_PROFILE as PROFILE, closed, diagnosed, has_cause, longest, reads, seen,
};
use record::{CauseCode, Episode, Figure, Observation, ProcessIo, Verdict};

/// The activity of a program with several processes in one second.
struct Program {
    name: &'static str,
    first: u32,
    processes: u32,
    reads: u64,
    writes: u64,
    fsyncs: u64,
}

const READER: Program =
    Program { name: "mysqld", first: 1, processes: 1, reads: 700, writes: 0, fsyncs: 0 };
const WRITERS: Program =
    Program { name: "fio", first: 10, processes: 8, reads: 0, writes: 1_200, fsyncs: 840 };
const JOURNAL: Program =
    Program { name: "jbd2/sda-8", first: 90, processes: 1, reads: 0, writes: 800, fsyncs: 0 };

/// An observation in which these programs used the device.
fn used(mut observation: Observation, programs: &[&Program]) -> Observation {
    let rows = |program: &&Program| {
        let share = u64::from(program.processes);
        let row = |id: u32| ProcessIo {
            process: Some(id),
            processes: 1,
            name: program.name.to_owned(),
            group: Some("/user.slice".to_owned()),
            kernel_thread: program.name.starts_with("jbd2"),
            reads: program.reads / share,
            writes: program.writes / share,
            fsyncs: program.fsyncs / share,
            ..ProcessIo::default()
        };
        (program.first..program.first + program.processes).map(row).collect::<Vec<_>>()
    };
    for interval in &mut observation.intervals {
        interval.processes = Some(programs.iter().flat_map(rows).collect());
    }
    observation
}

fn rival(episode: &Episode, verdict: Verdict) -> Option<&str> {
    let found = episode.alternatives.iter().find(|one| one.verdict == verdict)?;
    Some(&found.because)
}

#[test]
fn eight_writers_are_one_neighbour_though_each_is_small_and_the_disk_does_what_it_should() {
    let found = |programs: &[&Program]| {
        let observation = used(seen(EIGHT, vec![reads(0, 60, 6_800)], false), programs);
        longest(&diagnosed(&observation, Some(&PROFILE))).clone()
    };
    let episode = found(&[&READER, &WRITERS, &JOURNAL]);
    assert_eq!(episode.verdict, Verdict::Healthy, "{episode:#?}");
    let because = rival(&episode, Verdict::Overloaded).unwrap();
    for words in [
        "fio (8 processes) in /user.slice has 100 % of the flushes and",
        "840 fsyncs/s",
        "60 % of the writes",
    ] {
        assert!(because.contains(words), "{because}");
    }
    assert!(has_cause(&episode, CauseCode::Neighbour), "{episode:#?}");
    let journal = rival(&episode, Verdict::NotTheDisk).unwrap();
    assert!(journal.contains("journal") && journal.contains("fio (8 processes)"), "{journal}");
    assert_eq!(episode.groups.len(), 3);
    // A program alone has no neighbour, not even the journal that writes on its behalf.
    let alone = found(&[&WRITERS, &JOURNAL]);
    assert!(!has_cause(&alone, CauseCode::Neighbour), "{alone:#?}");
    // Writers of the same program as the reader are distinguished by their fsyncs.
    let twin = Program { name: "fio", ..READER };
    let because = found(&[&twin, &WRITERS]);
    assert!(
        rival(&because, Verdict::Overloaded).unwrap().contains("fio (8 processes)"),
        "{because:#?}"
    );
    // But a program is no neighbour of itself.
    assert!(!has_cause(&because, CauseCode::Neighbour), "{because:#?}");
    // Nor is the largest program where a kernel thread, such as the worker of a loop device, does the work.
    let worker = Program { name: "jbd2/loop", reads: 20_000, ..JOURNAL };
    let beside =
        found(&[&worker, &Program { reads: 10, ..READER }, &Program { reads: 90, ..twin }]);
    assert!(!has_cause(&beside, CauseCode::Neighbour), "{beside:#?}");
    // No program waits for a few fsyncs.
    let calm = Program { fsyncs: 0, ..WRITERS };
    assert_eq!(rival(&found(&[&READER, &calm]), Verdict::NotTheDisk), None);
}

#[test]
fn a_neighbour_that_flushes_is_told_with_the_time_of_a_flush() {
    let load = seen(EIGHT, vec![reads(0, 60, 6_800)], false);
    let mut observation = used(load, &[&READER, &WRITERS, &JOURNAL]);
    for interval in &mut observation.intervals {
        interval.flushes_per_s = Some(Figure::measured(100.0, 1.0));
        interval.flush_latency_ns = Some(Figure::derived(2e5, 1e4));
    }
    let episode = longest(&diagnosed(&observation, Some(&PROFILE))).clone();
    assert!(
        format!("{episode:?}").contains("; a flush of the device takes 200 µs"),
        "{episode:#?}"
    );
}

#[test]
fn flushes_without_a_name_are_told_from_the_counters() {
    let found = |per_s: f64| {
        let mut observation = seen(EIGHT, vec![closed(0, 60, 4)], false);
        for interval in &mut observation.intervals {
            interval.flushes_per_s = Some(Figure::measured(per_s, 1.0));
            interval.flush_latency_ns = Some(Figure::derived(2e6, 1e5));
        }
        longest(&diagnosed(&observation, Some(&PROFILE))).clone()
    };
    let episode = found(400.0);
    let because = rival(&episode, Verdict::NotTheDisk).unwrap();
    for words in ["flushes 400 times/s", "2.00 ms each", "as root"] {
        assert!(because.contains(words), "{because}");
    }
    assert!(has_cause(&episode, CauseCode::ManyFlushes), "{episode:#?}");
    assert_eq!(rival(&found(2.0), Verdict::NotTheDisk), None);
}
