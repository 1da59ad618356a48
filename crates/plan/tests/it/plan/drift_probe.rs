//! The drift probe on a simulated device. Its cells are changed to look like a profile of a faster device.

use model::{DriftFactors, Predictor};
use plan::session::{Session, simulated};
use plan::{Amount, DriftProbe, LoadSpec, Look, Plan};
use record::{Arrival, Bytes, Cell, FindingCode, Locality, Nanos, OpKind, Trial, Workload};
use std::sync::{Arc, OnceLock};

const AREA: Bytes = Bytes(1 << 30);
const DEEP: u32 = 64;
/// Lone reads, deep reads, deep writes, deep mixes, open loads.
const KINDS: usize = 5;
/// Number of visits that are averaged for the level of lone reads.
const LATEST: usize = 12;

/// A simulated device and its cells: reads of four sizes, alone, deep, and at a tenth and two fifths of the
/// maximum rate; deep writes; and deep loops that do both.
fn device() -> (Session, Vec<Cell>) {
    static CELLS: OnceLock<Vec<Cell>> = OnceLock::new();
    let session = || {
        let spec = simulated("sim:mmc,service=1ms").unwrap().unwrap();
        Session::simulated(&spec, Some(AREA), 1, &Arc::default())
    };
    (session(), CELLS.get_or_init(|| measured(&mut session())).clone())
}

fn measured(session: &mut Session) -> Vec<Cell> {
    let mut trials = Vec::new();
    for (read_percent, amount) in [
        (100, Amount::Depth(1)),
        (100, Amount::Depth(DEEP)),
        (0, Amount::Depth(DEEP)),
        (100, Amount::Poisson(100)),
        (100, Amount::Poisson(400)),
        (50, Amount::Depth(DEEP)),
    ] {
        for kib in [4, 8, 16, 64] {
            let load = LoadSpec::pure(OpKind::Read, Locality::Random, kib << 10);
            let load = LoadSpec { read_percent, ..load };
            let workload = load.workload(amount, AREA, session.engine, session.alignment());
            let runtime_ns = Nanos(3_000_000_000);
            let workload = Workload { runtime_ns, ..workload.unwrap() };
            trials.push(session.trial(&workload, 3, &mut |_| ()).unwrap());
        }
    }
    model::aggregate(&trials, 0.1)
}

/// Runs the visits of a probe run; returns their number. `change` modifies each trial first.
fn carry_out(
    probe: &mut DriftProbe<'_>,
    session: &mut Session,
    change: &dyn Fn(&mut Trial),
) -> usize {
    let mut visits = 0;
    while let Some(planned) = probe.next() {
        let mut trial = session.trial(&planned.workload, planned.seed, &mut |_| ()).unwrap();
        change(&mut trial);
        probe.observe(&trial, planned.longest());
        visits += 1;
    }
    visits
}

#[test]
fn a_device_that_does_less_than_its_profile_says_is_told_by_how_much() {
    let (mut session, mut cells) = device();
    for cell in &mut cells {
        // As if the device had been faster.
        if cell.workload.arrival == Arrival::Poisson {
            cell.latency_ns = cell.latency_ns.scaled(1.0 / 1.4);
            continue;
        }
        let factor = match (cell.workload.depth, cell.workload.only_op()) {
            (1, _) => 1.1,
            (_, Some(OpKind::Read)) => 1.25,
            (_, Some(OpKind::Write)) => 1.6,
            // Turns of 0.8 and 0.625 ms now take 1 ms each; the mix changed by a further factor of 1.2.
            (_, None) => 1.2 * 2.0 / (0.8 + 0.625),
        };
        cell.iops = cell.iops.scaled(factor);
    }
    let predictor = Predictor::of_cells(&cells);
    let mut probe = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
    let mut visits = 0;
    for look in [Look::Whole, Look::BeforeOpen, Look::BeforeClosed] {
        if look != Look::Whole {
            probe.begin(look);
        }
        let now = carry_out(&mut probe, &mut session, &|trial| {
            assert!(look != Look::BeforeOpen || !trial.workload.writes());
        });
        let level = probe.level().unwrap();
        assert!((level.reads * 1.25 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
        assert!((level.writes * 1.6 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
        assert!((level.mixes * 1.2 - 1.0).abs() < 0.05, "{look:?}: {level:?}");
        assert!((level.alone * 1.1 - 1.0).abs() < 0.1, "{look:?}: {level:?}");
        assert!((level.open * 1.4 - 1.0).abs() < 0.1, "{look:?}: {level:?}");
        assert_eq!(now, look.visits().iter().sum::<usize>());
        visits += now;
    }
    let level = probe.level().unwrap();
    let ends = probe.ends();
    assert_eq!(ends.len(), 2 * KINDS);
    // One number at a time, on both sides of its value, and near it.
    let numbers = |one: &DriftFactors| [one.alone, one.reads, one.writes, one.mixes, one.open];
    for number in 0..KINDS {
        let share = |end: usize| numbers(&ends[end])[number] / numbers(&level)[number];
        let (low, high) = (share(2 * number), share(2 * number + 1));
        assert!((0.8..1.0).contains(&low) && (1.0..1.2).contains(&high), "{low} {high}");
        let moved = ends.iter().filter(|end| numbers(end)[number] != numbers(&level)[number]);
        assert_eq!(moved.count(), 2);
    }
    let since = probe.since();
    assert_eq!(since.trial_ids.len(), visits);
    // All loops of a kind moved alike, so each update is within the variation of the visits.
    let near = |(updated, cell): (&Cell, &Cell)| {
        let factor = updated.iops.value / cell.iops.value;
        let inverse = cell.latency_ns.value / updated.latency_ns.value;
        (factor - 1.0).abs() < 0.05 && (factor - inverse).abs() < 1e-9
    };
    assert!(probe.updated(&cells).iter().zip(&cells).all(near));
    // The predictions for now match the device: levels and updated cells are each within 5 % of the truth.
    let now = Predictor::of_cells(&probe.updated(&cells));
    for (read_percent, truth) in [(100, 1.0 / 1.25), (0, 1.0 / 1.6)] {
        let load = LoadSpec::pure(OpKind::Read, Locality::Random, 8 << 10);
        let mix = LoadSpec { read_percent, ..load }.mix();
        let then = predictor.max_rate(&mix).unwrap().value;
        let moved = now.max_rate_at(level, &mix).unwrap().value / then;
        assert!((moved / truth - 1.0).abs() < 0.1, "{read_percent} % reads: {moved}");
    }
    // Four loops of a kind are too few for an interval.
    assert!(since.reads_ratio.is_none());
    assert!(since.least_deep_ratio.unwrap() <= since.most_deep_ratio.unwrap());
}

/// The profile has the rate of one of the four loops in a kind too high by half. Each new visit counts as
/// much as the one in the profile.
#[test]
fn visits_since_update_a_cell_that_chance_put_beside_its_kind() {
    let (mut session, mut cells) = device();
    let at = cells.iter().position(|cell| cell.workload.depth == DEEP).unwrap();
    cells[at].iops = cells[at].iops.scaled(1.5);
    let predictor = Predictor::of_cells(&cells);
    let mut probe = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
    carry_out(&mut probe, &mut session, &|_| ());
    // Six visits to each: at 2/3 and three times 1, over 11/12. One in the profile, six now.
    let updated = probe.updated(&cells);
    let factor = |at: usize| updated[at].iops.value / cells[at].iops.value;
    let expected = |ratio: f64| (1.0 + 6.0 * ratio / (11.0 / 12.0)) / 7.0;
    assert!((factor(at) - expected(2.0 / 3.0)).abs() < 0.02, "{}", factor(at));
    assert!((factor(at + 1) - expected(1.0)).abs() < 0.02, "{}", factor(at + 1));
    // Open loads are unchanged.
    let open = cells.iter().position(|cell| cell.workload.arrival == Arrival::Poisson).unwrap();
    assert_eq!(updated[open], cells[open]);
}

#[test]
fn a_level_forgets_what_lies_minutes_back() {
    let (mut session, cells) = device();
    let predictor = Predictor::of_cells(&cells);
    let mut probe = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
    carry_out(&mut probe, &mut session, &|_| ());
    let before = probe.level().unwrap();
    // Each look has two lone reads, and four of the 24 deep reads that are averaged.
    for _ in 0..LATEST / Look::BeforeOpen.visits()[0] {
        probe.begin(Look::BeforeOpen);
        carry_out(&mut probe, &mut session, &|trial| {
            if let Some(read) = &mut trial.result.read {
                read.iops *= 0.5;
            }
        });
    }
    let after = probe.level().unwrap();
    assert!((after.reads / before.reads - 0.5).abs() < 0.03, "{before:?} {after:?}");
    assert!((after.alone / before.alone - 0.5).abs() < 0.05, "{before:?} {after:?}");
}

#[test]
fn without_loops_or_with_visits_that_do_not_count_there_is_no_level() {
    let (mut session, cells) = device();
    let predictor = Predictor::of_cells(&cells);
    assert!(DriftProbe::new(&cells[..2], &predictor, true, 7).is_none());
    // Without permission to write, no load writes.
    let mut reads = DriftProbe::new(&cells, &predictor, false, 7).unwrap();
    carry_out(&mut reads, &mut session, &|trial| assert!(!trial.workload.writes()));
    let level = reads.level().unwrap();
    assert_eq!(level.reads.to_bits(), level.writes.to_bits());
    let ends = reads.ends();
    assert_eq!(ends.len(), 6);
    assert!(ends.iter().all(|end| end.reads.to_bits() == end.writes.to_bits()), "{ends:?}");
    // A profile without open loads: these are assumed to move like lone reads.
    let closed: Vec<Cell> = cells[..12].to_vec();
    let of_closed = Predictor::of_cells(&closed);
    let mut probe = DriftProbe::new(&closed, &of_closed, true, 7).unwrap();
    carry_out(&mut probe, &mut session, &|trial| {
        assert!(trial.workload.arrival == Arrival::Closed);
    });
    let level = probe.level().unwrap();
    assert_eq!(level.open.to_bits(), level.alone.to_bits());
    let ends = probe.ends();
    assert!(ends.iter().all(|end| end.open.to_bits() == end.alone.to_bits()), "{ends:?}");
    let mut probe = DriftProbe::new(&cells, &predictor, true, 7).unwrap();
    carry_out(&mut probe, &mut session, &|trial| {
        trial.findings.push(record::Finding::new(
            FindingCode::PageCacheServed,
            record::Severity::Invalid,
            "all from memory",
            "read past it",
        ));
    });
    assert_eq!(probe.level(), None);
    assert_eq!(probe.since().most_deep_ratio, None);
}
