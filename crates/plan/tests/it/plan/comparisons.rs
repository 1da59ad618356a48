//! How often a comparison raises a false alarm, and how often it finds a real difference.
//!
//! Pairs of runs, each with five blocks of six cells, on simulated devices with varying times. First both
//! runs of a pair use one unchanged device; then one cell of the second is a tenth slower. Counts are printed.
//! All draws come from consecutive seeds, so the counts are the same on every machine.

use model::{CompareOptions, Side, compare};
use record::{
    Bytes, ComparedCell, ComparedMetric, ComparedRow, ComparedVerdict, Comparison, DoneTrial,
    EXPERIMENT_SCHEMA, EngineName, Experiment, Nanos, Pattern, PlannedTrial, Target, TargetKind,
    Trial, Workload,
};
use simdisk::{SimBackend, SimSpec};
use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use std::thread;
use trial::{Identity, run_trial};
use workload::Spec;

const BLOCKS: u32 = 5;
/// Unchanged devices, used in turn, and the same devices with requests so much longer that the rate is a
/// tenth lower. The rate of a trial varies by about 3 % on each.
const DEVICES: [[&str; 2]; 4] = [
    ["mm1,service=500us", "mm1,service=555556ns"],
    ["mmc,servers=2,service=500us", "mmc,servers=2,service=555556ns"],
    ["mg1,cv=0.7,service=1ms", "mg1,cv=0.7,service=1111111ns"],
    [
        "jittery,servers=2,service=1ms,stall=10ms,stall-every=250ms",
        "jittery,servers=2,service=1116us,stall=10ms,stall-every=250ms",
    ],
];

/// Share of reads, pattern, request size and queue depth of the cells.
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
        Spec::of(Workload {
            read_percent,
            pattern,
            iodepth,
            engine: EngineName::Sim,
            runtime_ns: Nanos(700_000_000),
            ..Workload::default()
        })
        .with_bs(bytes)
        .build(Bytes(1 << 30))
        .unwrap()
    };
    CELLS.iter().map(workload).collect()
}

/// The trials of a run: every cell in every block.
type Trials = Vec<Trial>;

/// A run of all cells in blocks.
fn run(device: &str, seed: u64) -> Trials {
    let workloads = workloads();
    let mut rig = SimBackend::new(&SimSpec::parse(device).unwrap(), seed);
    let positions = 0..BLOCKS as usize * workloads.len();
    positions
        .map(|position| {
            let workload = &workloads[position % workloads.len()];
            let trial_seed = seed * 1_000 + position as u64;
            trial(&mut rig, workload, trial_seed, format!("{seed:x}-{position}"))
        })
        .collect()
}

/// The same, with the trials of one cell from another device.
fn with_cell(trials: &Trials, device: &str, seed: u64, cell: usize) -> Trials {
    let mut rig = SimBackend::new(&SimSpec::parse(device).unwrap(), seed ^ 1 << 40);
    let replaced = |(position, old): (usize, &Trial)| {
        if position % CELLS.len() != cell {
            return old.clone();
        }
        trial(&mut rig, &old.workload, old.seed ^ 1 << 40, format!("{}-slow", old.id))
    };
    trials.iter().enumerate().map(replaced).collect()
}

fn side(trials: &Trials) -> Side {
    let position = |index: usize| u32::try_from(index).unwrap();
    let plan = trials.iter().enumerate().map(|(index, trial)| PlannedTrial {
        block: position(index / CELLS.len()),
        levels: BTreeMap::from([("cell".to_owned(), (index % CELLS.len()).to_string())]),
        workload: trial.workload.clone(),
        seed: trial.seed,
        ..PlannedTrial::default()
    });
    let done = trials.iter().enumerate().map(|(index, trial)| DoneTrial {
        position: position(index),
        trial_id: trial.id.clone(),
        extras: BTreeMap::new(),
    });
    let ids: Vec<&str> = trials.iter().map(|trial| trial.id.as_str()).collect();
    let experiment = Experiment {
        schema: EXPERIMENT_SCHEMA.to_owned(),
        id: ids.join(" "),
        simulated: true,
        axes: vec!["cell".to_owned()],
        plan: plan.collect(),
        done: done.collect(),
        ..Experiment::default()
    };
    Side::of_experiment("run", &experiment, trials, &BTreeMap::new()).unwrap()
}

fn trial(rig: &mut SimBackend, workload: &Workload, seed: u64, id: String) -> Trial {
    let target = Target {
        path: "sim:".to_owned(),
        kind: TargetKind::Simulated,
        size_bytes: Bytes(1 << 30),
        device: None,
        filesystem: None,
        extents: None,
        file_hash: None,
        test_file: None,
    };
    let identity = Identity {
        id,
        time: None,
        halfpower_version: String::new(),
        targets: vec![target],
        environment: None,
        findings: Vec::new(),
        cache_dropped: None,
        preconditioning: None,
        beside: Vec::new(),
    };
    let stop = AtomicBool::new(false);
    run_trial(rig, workload, (workload, seed), identity, &stop, &mut |_| ()).unwrap().0
}

/// Number of pairs. Each of the devices meets each slow cell equally often.
fn count() -> u64 {
    testkit::draws(48, 400)
}

/// The smallest and the largest number of pairs that agree with this share of all. Few draws may miss it by
/// three standard deviations of the binomial distribution.
fn bounds(share: f64) -> (u64, u64) {
    let pairs = count() as f64;
    let of_chance = testkit::draws(3.0, 0.0) * (pairs * share * (1.0 - share)).sqrt();
    ((pairs * share - of_chance).ceil() as u64, (pairs * share + of_chance) as u64)
}

fn at_least(share: f64) -> u64 {
    bounds(share).0
}

fn at_most(share: f64) -> u64 {
    bounds(share).1
}

/// The comparisons of a pair: both runs on one device, and the second with a slower cell.
struct Pair {
    number: u64,
    unchanged: Comparison,
    slower: Comparison,
}

/// All pairs, run once for all tests.
fn pairs() -> &'static [Pair] {
    static PAIRS_RUN: OnceLock<Vec<Pair>> = OnceLock::new();
    PAIRS_RUN.get_or_init(|| {
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let of_thread =
            |first: u64| -> Vec<Pair> { (first..count()).step_by(threads).map(pair).collect() };
        let mut all: Vec<Pair> = thread::scope(|scope| {
            let start = |first| scope.spawn(move || of_thread(first));
            let running: Vec<_> = (0..threads as u64).map(start).collect();
            running.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        all.sort_by_key(|pair| pair.number);
        all
    })
}

fn pair(number: u64) -> Pair {
    let [device, slow] = DEVICES[number as usize % DEVICES.len()];
    let (first, second) = (run(device, 2 * number + 1), run(device, 2 * number + 2));
    let planted = with_cell(&second, slow, 2 * number + 2, slow_cell(number));
    let first = side(&first);
    let options = CompareOptions { fail_on_worse_rel: Some(0.02), ..CompareOptions::default() };
    Pair {
        number,
        unchanged: compare(&first, &side(&second), &options),
        slower: compare(&first, &side(&planted), &options),
    }
}

/// The cell that is slower in a pair.
fn slow_cell(number: u64) -> usize {
    (number as usize / DEVICES.len()) % CELLS.len()
}

fn differs(row: &ComparedRow) -> bool {
    matches!(row.verdict, ComparedVerdict::Better | ComparedVerdict::Worse)
}

fn rate(cell: &ComparedCell) -> &ComparedRow {
    cell.rows.iter().find(|row| row.metric == ComparedMetric::RatePerS).unwrap()
}

#[test]
fn runs_of_one_device_raise_an_alarm_anywhere_in_the_table_in_at_most_a_twentieth() {
    let all: Vec<&Comparison> = pairs().iter().map(|pair| &pair.unchanged).collect();
    let alarms = all.iter().filter(|one| one.rows().any(differs)).count();
    let failed = all.iter().filter(|one| one.fails()).count();
    let rows: u32 = all.iter().map(|one| one.tests).sum();
    let pairs = count();
    println!("{alarms} of {pairs} tables with a false alarm, {failed} fail; {rows} rows tested");
    assert!(all.iter().all(|one| one.tests >= 7), "all cells and all of them together");
    assert!(u64::from(rows) > 8 * pairs, "latencies, too: {rows}");
    assert!(alarms as u64 <= at_most(0.05), "{alarms}");
    assert!(failed <= alarms, "{failed}");
    // Intervals wide enough to always include one would raise no alarm either.
    let intervals = all.iter().flat_map(|one| &one.cells).map(rate);
    let widths = intervals.map(|row| row.ratio_high.unwrap() - row.ratio_low.unwrap()).collect();
    let median = stats::median(widths);
    assert!((0.02..0.2).contains(&median), "{median}");
}

#[test]
fn a_cell_that_is_a_tenth_slower_is_found_in_four_of_five_runs_of_five_blocks() {
    let (mut found, mut failed, mut others) = (0, 0, 0);
    for pair in pairs() {
        let slow = slow_cell(pair.number);
        let cells = &pair.slower.cells;
        found += u64::from(rate(&cells[slow]).verdict == ComparedVerdict::Worse);
        failed += u64::from(pair.slower.fails());
        let innocent = cells.iter().enumerate().filter(|(cell, _)| *cell != slow);
        others += u64::from(innocent.flat_map(|(_, cell)| &cell.rows).any(differs));
    }
    let pairs = count();
    println!("found in {found} of {pairs}; by more than 2 % in {failed}; others {others}");
    assert!(found >= at_least(0.8), "{found}");
    assert!(others <= at_most(0.05), "{others} tables with an alarm in another cell");
    assert!(failed >= at_least(0.5), "{failed}");
}

#[test]
fn a_run_against_itself_has_no_difference_and_nothing_to_test() {
    let side = side(&run(DEVICES[0][0], 7));
    let comparison = compare(&side, &side, &CompareOptions::default());
    assert_eq!(comparison.tests, 0);
    assert!(comparison.conditions.is_empty(), "{:?}", comparison.conditions);
    for row in comparison.rows() {
        assert_eq!((row.ratio, row.verdict), (Some(1.0), ComparedVerdict::Same), "{row:?}");
    }
}
