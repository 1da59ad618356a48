//! The trials that `limits` asks for.

use limits::plan::{BUS_AREA, Plan, Planned, Purpose, Settings};
use record::{Bytes, EngineName, Nanos};

fn settings() -> Settings {
    Settings {
        area: Bytes(256 << 20),
        engine: EngineName::IoUring,
        alignment: 512,
        targets: 3,
        write: true,
        device: true,
        cached: true,
        delay: Nanos(1_000_000),
        budget: Nanos(20_000_000_000),
        seed: 7,
    }
}

fn all(settings: &Settings) -> Vec<Planned> {
    let mut plan = Plan::new(settings);
    std::iter::from_fn(|| plan.next_trial()).collect()
}

#[test]
fn every_workload_is_visited_in_each_round_and_rounds_have_orders_of_their_own() {
    let planned = all(&settings());
    let round = planned.len() / stats::MIN_VISITS;
    let cells = |round_number: usize| -> Vec<String> {
        planned[round_number * round..][..round].iter().map(|p| p.workload.cell()).collect()
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
        let planned = all(&settings());
        let found = planned.iter().find(|p| p.purpose == Purpose::Again(again)).unwrap();
        let workload = &found.workload;
        assert_eq!((workload.targets, workload.depth), (again, 2 * again));
        assert_eq!(workload.hit_bytes, Some(BUS_AREA));
    }
    let sim = Settings { engine: EngineName::Sim, ..settings() };
    let planned = all(&sim);
    let found = planned.iter().find(|p| p.purpose == Purpose::Again(3)).unwrap();
    assert_eq!((found.workload.targets, found.workload.depth), (1, 6));
    assert_eq!(found.workload.size_bytes, Bytes(3 * BUS_AREA.0));
}

#[test]
fn a_target_that_is_only_read_is_only_read() {
    let planned = all(&Settings { write: false, ..settings() });
    assert!(planned.iter().all(|planned| planned.workload.read_percent == 100));
}

#[test]
fn sizes_that_the_alignment_forbids_are_left_out() {
    let planned = all(&Settings { alignment: 4_096, ..settings() });
    let sizes = |purpose| -> Vec<u64> {
        let mut sizes: Vec<u64> = planned
            .iter()
            .filter(|planned| planned.purpose == purpose)
            .map(|planned| planned.workload.max_bs().0)
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
    let plan = Plan::new(&slow);
    assert!(plan.length() < Nanos(60_000_000_000), "{:?}", plan.length());
    let planned = all(&slow);
    let ahead = planned.iter().find(|p| p.purpose == Purpose::Ahead).unwrap();
    assert_eq!(ahead.workload.runtime_ns, Nanos(400_000_000));
}
