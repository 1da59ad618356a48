//! When a device is steady, and what is written until then.

use plan::session;
use plan::{Plan, PreconditionPlan, steady};
use record::{Bytes, Nanos, Pattern, Workload};
use simdisk::SimSpec;

const AREA: Bytes = Bytes(1 << 26);

#[test]
fn five_rounds_agree_within_a_fifth_and_without_a_trend() {
    for (rounds, expected, why) in [
        (&[100.0; 5][..], true, "equal"),
        (&[100.0; 4], false, "too few"),
        (&[109.0, 91.0, 100.0, 91.0, 109.0], true, "18 % apart, no trend"),
        (&[112.0, 91.0, 100.0, 91.0, 112.0], false, "21 % apart"),
        (&[104.0, 102.0, 100.0, 98.0, 96.0], true, "falls by 8 %"),
        (&[106.0, 103.0, 100.0, 97.0, 94.0], false, "falls by 12 %"),
        (&[94.0, 97.0, 100.0, 103.0, 106.0], false, "rises by 12 %"),
        (&[0.0; 5], false, "a device that does nothing is not steady"),
        (&[900.0, 500.0, 100.0, 100.0, 101.0, 99.0, 100.0], true, "the last five count"),
        (&[100.0, 100.0, 101.0, 99.0, 100.0, 60.0], false, "the last five count"),
    ] {
        assert_eq!(steady(rounds), expected, "{why}");
    }
}

/// The workloads of the whole plan, on a device that is steady from the start.
fn workloads(asked: &Workload) -> Vec<Workload> {
    let device = SimSpec::parse("mdc,service=100us").unwrap();
    let mut plan = PreconditionPlan::new(asked, true, 1);
    let finished = session::simulate(&device, AREA, 1, &mut plan).unwrap();
    assert!(plan.outcome().steady, "{:?}", plan.outcome());
    assert_eq!(plan.outcome().round_iops.len(), finished.trials.len() - 1);
    assert_eq!(plan.outcome().filled_bytes.0, 2 * asked.size_bytes.0);
    finished.trials.into_iter().map(|trial| trial.workload).collect()
}

fn asked() -> Workload {
    Workload { size_bytes: AREA, engine: record::EngineName::Sim, ..Workload::default() }
}

#[test]
fn a_round_is_the_workload_asked_for_unless_that_only_reads() {
    let runtime_ns = Nanos(300_000_000);
    let mixed = Workload { iodepth: 4, depth: 4, read_percent: 70, runtime_ns, ..asked() };
    let all = workloads(&mixed);
    assert_eq!(all.len(), 1 + 5);
    let round = &all[1];
    assert_eq!((round.read_percent, round.iodepth, round.runtime_ns), (70, 4, runtime_ns));
    let reads = Workload { read_percent: 100, runtime_ns: Nanos(1), ..mixed };
    let round = &workloads(&reads)[1];
    assert_eq!((round.read_percent, round.pattern), (0, Pattern::Random));
    assert_eq!((round.max_bs(), round.depth), (Bytes(4096), 32));
    assert_eq!(round.runtime_ns, Nanos(100_000_000));
}

#[test]
fn the_area_is_written_twice_in_order_first() {
    let fill = &workloads(&asked())[0];
    assert_eq!((fill.pattern, fill.read_percent), (Pattern::Sequential, 0));
    assert_eq!((fill.max_bs(), fill.stop.passes), (Bytes(128 << 10), Some(2)));
    let small = Workload { size_bytes: Bytes(64 << 10), ..asked() };
    let fill = PreconditionPlan::new(&small, true, 1).next().unwrap().workload;
    assert_eq!(fill.max_bs(), Bytes(4096));
    // If each client gets a job of the fill, the clients write different parts.
    let shared = Workload { regions: record::Regions::Shared, ..asked() };
    let fill = PreconditionPlan::new(&shared, true, 1).next().unwrap().workload;
    assert_eq!(fill.regions, record::Regions::Own);
}
