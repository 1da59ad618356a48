//! How often a comparison raises a false alarm, and how often it finds what is there.
//!
//! Four hundred pairs of runs, each of five blocks of six cells, on simulated devices whose times
//! vary. First both runs of a pair are of one unchanged device; then one cell of the second is a
//! tenth slower. Counts are printed. Everything is drawn from seeds that count up, so the counts are
//! the same on every machine.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use model::{CompareOptions, Side, compare};
use record::{
    Bytes, ComparedCell, ComparedMetric, ComparedRow, ComparedVerdict, Comparison, DoneTrial,
    EXPERIMENT_SCHEMA, EngineName, Experiment, Nanos, Pattern, PlannedTrial, Target, TargetKind,
    Trial, Workload,
};
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::thread;
use trial::{Identity, SimRig, conduct};
use workload::Spec;

const PAIRS: u64 = 400;
const BLOCKS: u32 = 5;
/// Devices of which nothing changes, taken in turn. A request takes 1 ms on each.
const DEVICES: [&str; 4] = [
    "mm1,service=1ms",
    "mmc,servers=2,service=1ms",
    "mg1,cv=2,service=1ms",
    "jittery,servers=2,service=1ms,stall=20ms,stall-every=500ms",
];
/// The same with requests that take so much longer that the rate is a tenth lower.
fn slower(device: &str) -> String {
    device.replace("service=1ms", "service=1111us")
}

/// Share of reads, pattern, request size and depth of the cells.
const CELLS: [(u8, Pattern, u64, u32); 6] = [
    (100, Pattern::Random, 4 << 10, 1),
    (100, Pattern::Random, 4 << 10, 2),
    (100, Pattern::Random, 64 << 10, 1),
    (100, Pattern::Sequential, 64 << 10, 1),
    (0, Pattern::Random, 4 << 10, 1),
    (50, Pattern::Random, 4 << 10, 2),
];

fn workloads() -> Vec<Workload> {
    let workload = |&(read_percent, pattern, bytes, iodepth): &(u8, Pattern, u64, u32)| {
        Spec {
            read_percent,
            pattern,
            iodepth,
            engine: EngineName::Sim,
            runtime: Nanos(2_000_000_000),
            ..Spec::default().with_bs(bytes)
        }
        .build(Bytes(1 << 30))
        .unwrap()
    };
    CELLS.iter().map(workload).collect()
}

/// A run of all cells in blocks; `planted` is the cell that another device carries out.
fn run(device: &str, seed: u64, planted: Option<(usize, &str)>) -> Side {
    let mut rig = SimRig::new(&SimSpec::parse(device).unwrap(), seed);
    let mut other = planted.map(|(cell, device)| {
        (cell, SimRig::new(&SimSpec::parse(device).unwrap(), seed ^ 1 << 40))
    });
    let workloads = workloads();
    let (mut plan, mut done, mut trials) = (Vec::new(), Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        for (cell, workload) in workloads.iter().enumerate() {
            let rig = match &mut other {
                Some((planted, rig)) if *planted == cell => rig,
                _ => &mut rig,
            };
            let position = plan.len() as u32;
            let trial_seed = seed * 1_000 + u64::from(position);
            let trial = trial(rig, workload, trial_seed, format!("{seed:x}-{position}"));
            plan.push(PlannedTrial {
                block,
                levels: BTreeMap::from([("cell".to_owned(), cell.to_string())]),
                workload: workload.clone(),
                seed: trial_seed,
                ..PlannedTrial::default()
            });
            done.push(DoneTrial { position, trial_id: trial.id.clone(), extras: BTreeMap::new() });
            trials.push(trial);
        }
    }
    let experiment = Experiment {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        id: format!("{seed:x}"),
        seed,
        simulated: true,
        design_text: "comparisons".to_owned(),
        axes: vec!["cell".to_owned()],
        plan,
        done,
        ..Experiment::default()
    };
    Side::of_experiment("run", &experiment, &trials, &BTreeMap::new()).unwrap()
}

fn trial(rig: &mut SimRig, workload: &Workload, seed: u64, id: String) -> Trial {
    let target = Target {
        path: "sim:".to_owned(),
        kind: TargetKind::Simulated,
        size_bytes: Bytes(1 << 30),
        device: None,
        filesystem: None,
        extents: None,
    };
    let identity = Identity {
        id,
        time: None,
        halfpower_version: String::new(),
        targets: vec![target],
        environment: None,
        findings: Vec::new(),
        scrubbed: None,
        preconditioning: None,
    };
    let stop = AtomicBool::new(false);
    conduct(rig, workload, seed, identity, &stop, &mut |_| ()).unwrap()
}

/// The comparisons of all pairs, each of a number, in order.
fn pairs(compared: impl Fn(u64) -> Comparison + Sync) -> Vec<Comparison> {
    let threads = thread::available_parallelism().map_or(1, usize::from) as u64;
    let of_thread = |first: u64| -> Vec<(u64, Comparison)> {
        (first..PAIRS).step_by(threads as usize).map(|pair| (pair, compared(pair))).collect()
    };
    let mut all: Vec<(u64, Comparison)> = thread::scope(|scope| {
        let of_thread = &of_thread;
        let running: Vec<_> =
            (0..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    all.sort_by_key(|(pair, _)| *pair);
    all.into_iter().map(|(_, comparison)| comparison).collect()
}

fn device(pair: u64) -> &'static str {
    DEVICES[pair as usize % DEVICES.len()]
}

/// Two runs of one device; with `planted`, one cell of the second is a tenth slower.
fn pair(pair: u64, planted: Option<usize>, options: &CompareOptions) -> Comparison {
    let device = device(pair);
    let slow = slower(device);
    let first = run(device, 2 * pair + 1, None);
    let second = run(device, 2 * pair + 2, planted.map(|cell| (cell, slow.as_str())));
    compare(&first, &second, options)
}

fn differs(row: &ComparedRow) -> bool {
    matches!(row.verdict, ComparedVerdict::Better | ComparedVerdict::Worse)
}

fn rate(cell: &ComparedCell) -> &ComparedRow {
    cell.rows.iter().find(|row| row.metric == ComparedMetric::RatePerS).unwrap()
}

/// The cell that is slower in a pair.
fn slow_cell(pair: u64) -> usize {
    (pair as usize / DEVICES.len()) % CELLS.len()
}

#[test]
fn runs_of_one_device_raise_an_alarm_anywhere_in_the_table_in_at_most_a_twentieth() {
    let all = pairs(|number| pair(number, None, &CompareOptions::default()));
    let alarms: Vec<&Comparison> = all.iter().filter(|one| one.rows().any(differs)).collect();
    let rows: u32 = all.iter().map(|one| one.tests).sum();
    println!("{} of {PAIRS} tables with a false alarm, {rows} rows tested", alarms.len());
    assert!(all.iter().all(|one| one.tests >= 12), "response times, too, and all cells together");
    assert!(alarms.len() as u64 <= PAIRS / 20, "{} alarms", alarms.len());
    // Intervals that hold one always would raise no alarm either.
    let intervals = all.iter().flat_map(|one| &one.cells).map(rate);
    let widths: Vec<f64> =
        intervals.map(|row| row.ratio_high.unwrap() - row.ratio_low.unwrap()).collect();
    let median = stats::median(widths);
    assert!((0.02..0.3).contains(&median), "{median}");
}

#[test]
fn a_cell_that_is_a_tenth_slower_is_found_in_four_of_five_runs_of_five_blocks() {
    let options = CompareOptions { fail_on_worse_rel: Some(0.02), ..CompareOptions::default() };
    let all = pairs(|number| pair(number, Some(slow_cell(number)), &options));
    let (mut found, mut failed, mut others) = (0, 0, 0);
    for (number, comparison) in (0..).zip(&all) {
        let slow = slow_cell(number);
        let worse = |cell: &ComparedCell| rate(cell).verdict == ComparedVerdict::Worse;
        found += u64::from(worse(&comparison.cells[slow]));
        failed += u64::from(comparison.fails());
        let innocent = comparison.cells.iter().enumerate().filter(|(cell, _)| *cell != slow);
        others += u64::from(innocent.flat_map(|(_, cell)| &cell.rows).any(differs));
    }
    println!("found in {found} of {PAIRS}; worse by more than 2 % in {failed}; others {others}");
    assert!(found >= PAIRS * 4 / 5, "{found}");
    assert!(others <= PAIRS / 20, "{others} tables with an alarm in another cell");
    assert!(failed < found && failed > PAIRS / 4, "{failed}");
}

#[test]
fn a_run_against_itself_has_no_difference_and_nothing_to_test() {
    let side = run(DEVICES[0], 7, None);
    let comparison = compare(&side, &side, &CompareOptions::default());
    assert_eq!(comparison.tests, 0);
    assert!(comparison.conditions.is_empty(), "{:?}", comparison.conditions);
    for row in comparison.rows() {
        assert_eq!((row.ratio, row.verdict), (Some(1.0), ComparedVerdict::Same), "{row:?}");
    }
}
