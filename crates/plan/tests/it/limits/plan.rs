//! The planned trials of `limits`.

use plan::limits::plan::{BUS_AREA, Purpose, Settings, trials};
use plan::{Plan, PlannedTrial, Preparation};
use record::{Bytes, EngineName, Nanos, OpKind, Workload};

fn settings() -> Settings {
    Settings {
        area: Bytes(256 << 20),
        engine: EngineName::IoUring,
        alignment: 512,
        targets: 3,
        machines: Vec::new(),
        write: true,
        device: true,
        cached: true,
        delay: Nanos(1_000_000),
        budget: Nanos(20_000_000_000),
        seed: 7,
    }
}

/// Each trial with its purpose.
fn all(settings: &Settings) -> Vec<(Purpose, PlannedTrial)> {
    let (purposes, mut plan) = trials(settings);
    purposes.into_iter().zip(std::iter::from_fn(|| plan.next())).collect()
}

/// The first workload for a purpose.
fn workload_of(settings: &Settings, purpose: Purpose) -> Workload {
    all(settings).into_iter().find(|(other, _)| *other == purpose).unwrap().1.workload
}

#[test]
fn every_workload_is_visited_in_each_round_and_rounds_have_orders_of_their_own() {
    let planned = all(&settings());
    let round = planned.len() / stats::MIN_VISITS;
    let cells = |round_number: usize| -> Vec<String> {
        planned[round_number * round..][..round].iter().map(|(_, p)| p.workload.cell()).collect()
    };
    let (first, second) = (cells(0), cells(1));
    assert_ne!(first, second);
    let sorted = |mut cells: Vec<String>| {
        cells.sort();
        cells
    };
    assert_eq!(sorted(first.clone()), sorted(second));
    assert_eq!(sorted(first), sorted(cells(2)));
}

#[test]
fn the_disk_cache_test_reads_two_deep_on_one_target_and_on_more() {
    for again in 1..=3 {
        let workload = workload_of(&settings(), Purpose::Again(again));
        assert_eq!((workload.targets, workload.depth), (again, 2 * again));
        assert_eq!(workload.hit_bytes, Some(BUS_AREA));
    }
    let machines = vec!["sim:two".to_owned(), "sim:three".to_owned()];
    let sim = Settings { engine: EngineName::Sim, machines, ..settings() };
    let workload = workload_of(&sim, Purpose::Again(3));
    assert_eq!((workload.targets, workload.depth), (1, 6));
    assert_eq!(workload.size_bytes, Bytes(3 * BUS_AREA.0));
    for (purpose, planned) in all(&sim) {
        let three = purpose == Purpose::Again(3);
        assert_eq!(planned.targets == ["sim:three"], three, "{purpose:?}");
    }
}

#[test]
fn a_cached_file_is_read_into_the_cache_first_and_what_is_written_to_it_is_flushed() {
    for (purpose, planned) in all(&settings()) {
        let filled = matches!(planned.preparation, Preparation::FillPageCache { .. });
        assert_eq!(filled, matches!(purpose, Purpose::Cached(_)), "{purpose:?}");
        assert!(planned.flush || purpose != Purpose::Cached(OpKind::Write));
    }
}

#[test]
fn a_target_that_is_only_read_is_only_read() {
    let planned = all(&Settings { write: false, ..settings() });
    assert!(planned.iter().all(|(_, planned)| planned.workload.read_percent == 100));
}

#[test]
fn sizes_that_the_alignment_forbids_are_left_out() {
    let planned = all(&Settings { alignment: 4_096, ..settings() });
    let sizes = |purpose| -> Vec<u64> {
        let mut sizes: Vec<u64> = planned
            .iter()
            .filter(|(other, _)| *other == purpose)
            .map(|(_, planned)| planned.workload.max_bs().0)
            .collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    };
    assert_eq!(sizes(Purpose::Hit), [4_096, 8_192, 16_384, 32_768, 65_536]);
    assert_eq!(sizes(Purpose::Ahead), sizes(Purpose::Hit));
}

#[test]
fn the_time_allowed_is_shared_out_and_delays_get_their_requests() {
    let slow = Settings { delay: Nanos(20_000_000), ..settings() };
    let (_, plan) = trials(&slow);
    assert!(plan.longest() < Nanos(60_000_000_000), "{:?}", plan.longest());
    let ahead = workload_of(&slow, Purpose::Ahead);
    assert_eq!(ahead.runtime_ns, Nanos(400_000_000));
}
