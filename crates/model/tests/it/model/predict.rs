//! Predictions against theory, on cells computed from theory.

use crate::model::synthetic;
use model::{DriftFactors, PredictError, Predictor};
use record::{
    Arrival, Cell, Estimate, HistogramSnapshot, Locality, Measured, Mix, MixClass, ModelName,
    Objective, Offered, OpKind, Pattern, Prediction, Workload,
};

/// The device as profiled.
const PROFILED: (DriftFactors, &[DriftFactors]) = (DriftFactors::PROFILED, &[]);

/// A cell of reads at a depth or, with a rate, in an open loop.
pub(crate) fn cell(bytes: u64, depth: u32, rate: Option<u64>, iops: f64, latency_ns: f64) -> Cell {
    let closed = synthetic::workload(OpKind::Read, Pattern::Random, bytes, depth);
    let arrival = if rate.is_some() { Arrival::Poisson } else { Arrival::Closed };
    synthetic::cell(Workload { arrival, rate_iops: rate, ..closed }, iops, latency_ns)
}

/// Closed loops of `servers` servers of 1 ms.
pub(crate) fn servers(servers: u32) -> Vec<Cell> {
    [1u32, 2, 4, 8, 16, 32, 64]
        .into_iter()
        .map(|depth| {
            let iops = 1_000.0 * f64::from(depth.min(servers));
            cell(4096, depth, None, iops, f64::from(depth) / iops * 1e9)
        })
        .collect()
}

pub(crate) fn reads(bytes: u64) -> Mix {
    Mix {
        classes: vec![MixClass { op: OpKind::Read, locality: Locality::Random, bytes, share: 1.0 }],
    }
}

fn latency(predictor: &Predictor, model: ModelName, rate: f64) -> f64 {
    let prediction = predictor.predict_by(model, &reads(4096), Offered::PoissonPerS(rate));
    prediction.unwrap().latency_ns.value / 1e6
}

#[test]
fn each_model_is_its_textbook_formula() {
    let predictor = Predictor::of_cells(&servers(1));
    assert!((latency(&predictor, ModelName::UtilizationLaw, 500.0) - 1.0).abs() < 0.01);
    assert!((latency(&predictor, ModelName::Mm1, 500.0) - 2.0).abs() < 0.01);
    assert!((latency(&predictor, ModelName::LoadDependent, 500.0) - 2.0).abs() < 0.01);
    // Constant times halve the queue.
    assert!((latency(&predictor, ModelName::Mg1, 500.0) - 1.5).abs() < 0.01);
    assert!((latency(&predictor, ModelName::MixCapacity, 500.0) - 1.5).abs() < 0.01);
}

#[test]
fn a_parallel_device_has_its_unloaded_time_where_mm1_has_a_fraction_of_it() {
    let predictor = Predictor::of_cells(&servers(8));
    assert!((latency(&predictor, ModelName::LoadDependent, 2_000.0) - 1.0).abs() < 0.01);
    assert!(latency(&predictor, ModelName::Mm1, 2_000.0) < 0.2);
    assert_eq!(predictor.advised(), ModelName::MixCapacity);
}

#[test]
fn a_depth_between_measured_ones_obeys_littles_law() {
    let predictor = Predictor::of_cells(&servers(8));
    let prediction = predictor.predict(&reads(4096), Offered::Depth(24.0)).unwrap();
    assert!((prediction.latency_ns.value / 3e6 - 1.0).abs() < 0.01, "{prediction:?}");
    assert!((prediction.concurrency - 24.0).abs() < 0.1);
}

#[test]
fn an_interval_holds_a_program_that_spends_half_a_microsecond_more_on_a_request() {
    // Memory behind one processor: 3 µs for a lone request, 2 µs each from two on, all of it CPU time.
    let reads_at = |depth: u32, iops: f64, cpu_us: f64| {
        let cost = Measured::Value(Estimate::symmetric(cpu_us, 0.01, 6));
        Cell { cpu_us_per_io: cost, ..cell(4096, depth, None, iops, f64::from(depth) / iops * 1e9) }
    };
    let of = |cpu_us: f64| {
        let rates = [(1, 333e3), (2, 500e3), (4, 500e3), (8, 500e3)];
        let cells: Vec<Cell> = rates.map(|(depth, iops)| reads_at(depth, iops, cpu_us)).into();
        let predictor = Predictor::of_cells(&cells);
        [1.0, 4.0].map(|depth| predictor.predict(&reads(4096), Offered::Depth(depth)).unwrap())
    };
    let [alone, several] = of(2.0);
    // 3.5 µs and 2.5 µs, with the 1 % of every interval.
    assert!((alone.iops.low / (1e9 / 3_530.0) - 1.0).abs() < 0.01, "{alone:?}");
    assert!((several.iops.low / 398e3 - 1.0).abs() < 0.01, "{several:?}");
    assert!((several.latency_ns.high / (4e9 / 398e3) - 1.0).abs() < 0.01, "{several:?}");
    assert!((several.iops.high / 500e3 - 1.0).abs() < 0.015, "{several:?}");
    let told = |one: &Prediction| one.extrapolated.iter().any(|clause| clause.contains("0.5 µs"));
    assert!(told(&alone) && told(&several));
    // With CPU time to spare, several requests lose nothing, and a lone one loses the additional time.
    let [alone, several] = of(1.0);
    assert!(alone.iops.low < 290e3 && several.iops.low > 490e3, "{alone:?} {several:?}");
    assert!(!told(&several));
}

#[test]
fn open_trials_overrule_theory_where_it_is_wrong() {
    // A token bucket: the curve of one server, and no queue below the cap.
    let mut cells = servers(1);
    for rate in [150u64, 300, 450, 550, 600, 650] {
        cells.push(cell(4096, 256, Some(rate), rate as f64, 1.0e6));
    }
    let predictor = Predictor::of_cells(&cells);
    assert_eq!(predictor.advised(), ModelName::Calibrated);
    let found = predictor.predict(&reads(4096), Offered::PoissonPerS(500.0)).unwrap();
    assert!((found.latency_ns.value / 1e6 - 1.0).abs() < 0.03, "{found:?}");
}

#[test]
fn what_cannot_be_answered_is_an_error() {
    let predictor = Predictor::of_cells(&servers(1));
    let writes = Mix { classes: vec![MixClass { op: OpKind::Write, ..reads(4096).classes[0] }] };
    let ask = |mix: &Mix, offered| predictor.predict(mix, offered).unwrap_err();
    assert!(matches!(ask(&writes, Offered::Depth(1.0)), PredictError::NotMeasured(_)));
    let full = ask(&reads(4096), Offered::PoissonPerS(1_000.0));
    assert!(matches!(full, PredictError::Saturated { .. }), "{full:?}");
    assert!(matches!(ask(&reads(4096), Offered::Depth(0.5)), PredictError::Offered(_)));
    assert!(matches!(ask(&Mix::default(), Offered::Depth(1.0)), PredictError::Shares(_)));
    let none = Predictor::of_cells(&[]);
    assert!(none.predict(&reads(4096), Offered::Depth(1.0)).is_err());
}

/// A device whose requests all take 1.25 times as long is another device of the same kind: the old profile
/// at that level predicts the same as the new device's own profile.
#[test]
fn a_level_is_another_clock() {
    let (then, slow) = (Predictor::of_cells(&servers(8)), slower_servers());
    let level = DriftFactors::clock(0.8);
    let mix = reads(4096);
    assert!((then.max_rate_at(level, &mix).unwrap().value / 6_400.0 - 1.0).abs() < 0.01);
    for offered in [
        Offered::PoissonPerS(2_000.0),
        Offered::PoissonPerS(5_500.0),
        Offered::Depth(1.0),
        Offered::Depth(24.0),
    ] {
        let model = ModelName::LoadDependent;
        let found = then.predict_at(level, model, &mix, offered).unwrap();
        let own = slow.predict_by(model, &mix, offered).unwrap();
        let same = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-6, "{found:?}\n{own:?}");
        same(found.latency_ns.value, own.latency_ns.value);
        same(found.unloaded_latency_ns.value, own.unloaded_latency_ns.value);
        same(found.iops.value, own.iops.value);
        same(found.concurrency, own.concurrency);
        same(found.saturation, own.saturation);
        assert_eq!(found.offered, offered);
    }
    let full = then.predict_at(level, ModelName::LoadDependent, &mix, Offered::PoissonPerS(7e3));
    let Err(PredictError::Saturated { rate_per_s, max_per_s }) = full else { panic!("{full:?}") };
    assert!((rate_per_s - 7e3).abs() < 1.0 && (max_per_s / 6_400.0 - 1.0).abs() < 0.01);
}

#[test]
fn reads_and_writes_of_a_mix_take_their_turns_at_levels_of_their_own() {
    let level = DriftFactors { reads: 0.5, ..DriftFactors::PROFILED };
    // Writes of 2 ms next to reads of 1 ms.
    let mut cells = servers(1);
    cells.extend(servers(1).into_iter().map(|one| {
        let workload = Workload { read_percent: 0, ..one.workload };
        Cell {
            cell: workload.cell(),
            workload,
            iops: one.iops.scaled(0.5),
            latency_ns: one.latency_ns.scaled(2.0),
            ..one
        }
    }));
    let predictor = Predictor::of_cells(&cells);
    let [read, write] = [OpKind::Read, OpKind::Write]
        .map(|op| Mix { classes: vec![MixClass { op, ..reads(4096).classes[0] }] });
    let half = |mix: &Mix| MixClass { share: 0.5, ..mix.classes[0] };
    let both = Mix { classes: vec![half(&read), half(&write)] };
    let slower = |level, mix: &Mix| {
        predictor.max_rate_at(level, mix).unwrap().value / predictor.max_rate(mix).unwrap().value
    };
    // A read and a write took 1 + 2 ms, and now take 2 + 2 ms.
    for (mix, expected) in [(&read, 0.5), (&write, 1.0), (&both, 0.75)] {
        let found = slower(level, mix);
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }
    // The factor of mixes does not affect reads alone, and few writes only slightly.
    let level = DriftFactors { mixes: 1.2, ..level };
    let few = Mix {
        classes: vec![
            MixClass { share: 0.99, ..read.classes[0] },
            MixClass { share: 0.01, ..write.classes[0] },
        ],
    };
    // Writes take 2 of 101 parts of the time: a fifth of the tenth.
    for (mix, expected) in [(&read, 0.5), (&both, 0.75 * 1.2), (&few, 0.505 * 1.04)] {
        let found = slower(level, mix);
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }
}

/// The error of a level is part of the error of a prediction. At an end of the level where the device
/// cannot sustain the rate no latency exists, and the interval of the largest rate shows it.
#[test]
fn the_interval_of_a_level_is_part_of_that_of_a_prediction() {
    let predictor = Predictor::of_cells(&servers(8));
    let (model, mix) = (ModelName::LoadDependent, reads(4096));
    let level = DriftFactors::clock(0.8);
    let ends = [
        DriftFactors { open: 0.7, ..level },
        DriftFactors { open: 0.9, ..level },
        DriftFactors { reads: 0.6, ..level },
        DriftFactors { reads: 0.9, ..level },
    ];
    let ask = |offered, ends: &[DriftFactors]| {
        predictor.predict_near(level, ends, model, &mix, offered).unwrap()
    };
    let half = Offered::PoissonPerS(2_000.0);
    let at = predictor.predict_at(level, model, &mix, half).unwrap();
    assert_eq!(ask(half, &[]), at);
    let near = ask(half, &ends);
    assert_eq!(near.latency_ns.value.to_bits(), at.latency_ns.value.to_bits());
    // A lone request of 1.25 ms takes 1.11 to 1.43 ms, and 6,400 per second are 4,800 to 7,200.
    let covers = |one: &Estimate, low: f64, high: f64| one.low <= low && one.high >= high;
    assert!(covers(&near.unloaded_latency_ns, 1.112e6, 1.428e6), "{near:?}");
    assert!(covers(&near.max_iops, 4_801.0, 7_199.0), "{near:?}");
    assert!(near.max_iops.low > 4_500.0 && near.max_iops.high < 7_500.0, "{near:?}");
    let full = ask(Offered::PoissonPerS(5_500.0), &ends);
    assert!(full.max_iops.low < 5_500.0 && full.latency_ns.high.is_finite(), "{full:?}");
}

fn slower_servers() -> Predictor {
    let cells = servers(8).into_iter().map(|cell| Cell {
        iops: cell.iops.scaled(0.8),
        latency_ns: cell.latency_ns.scaled(1.25),
        ..cell
    });
    Predictor::of_cells(&cells.collect::<Vec<_>>())
}

/// A neighbour takes half of the device: a lone request takes the usual time, and a load waits like twice
/// that load before. A closed loop still obeys Little's law.
#[test]
fn where_only_the_largest_rate_moved_lone_requests_take_as_long_as_before() {
    let predictor = Predictor::of_cells(&servers(8));
    let level = DriftFactors { reads: 0.5, writes: 0.5, ..DriftFactors::PROFILED };
    let mix = reads(4096);
    let model = ModelName::LoadDependent;
    let ask = |offered| predictor.predict_at(level, model, &mix, offered).unwrap();
    let light = ask(Offered::PoissonPerS(100.0));
    assert!((light.latency_ns.value / 1e6 - 1.0).abs() < 0.01, "{light:?}");
    let then = predictor.predict_by(model, &mix, Offered::PoissonPerS(7_000.0)).unwrap();
    let heavy = ask(Offered::PoissonPerS(3_500.0));
    assert!((heavy.latency_ns.value / then.latency_ns.value - 1.0).abs() < 1e-9, "{heavy:?}");
    for depth in [1.0, 3.0, 40.0] {
        let found = ask(Offered::Depth(depth));
        let little = found.iops.value * found.latency_ns.value / 1e9;
        assert!((little / depth - 1.0).abs() < 0.01, "{depth}: {found:?}");
    }
    // A device that stalls: a closed loop hardly notices it, an open load does.
    let stalls = DriftFactors { open: 0.5, ..DriftFactors::PROFILED };
    let at = |offered| predictor.predict_at(stalls, model, &mix, offered).unwrap().latency_ns;
    assert!((at(Offered::PoissonPerS(100.0)).value / 2e6 - 1.0).abs() < 0.01);
    assert!((at(Offered::Depth(1.0)).value / 1e6 - 1.0).abs() < 0.01);
    // A device where only lone requests became slower: a loop of depth one never waits there.
    let slow = DriftFactors { alone: 0.5, ..DriftFactors::PROFILED };
    let found = predictor.predict_at(slow, model, &mix, Offered::Depth(1.0)).unwrap();
    assert!((found.latency_ns.value / 2e6 - 1.0).abs() < 0.01, "{found:?}");
    assert!((found.iops.value / 500.0 - 1.0).abs() < 0.01, "{found:?}");
}

/// Closed loops of eight servers of 1 ms, whose rates are only known to a factor of about two.
fn unsure_servers() -> Predictor {
    let unsure = |cell: Cell| Cell { iops: Estimate::within_ratio(cell.iops.value, 0.7), ..cell };
    Predictor::of_cells(&servers(8).into_iter().map(unsure).collect::<Vec<_>>())
}

#[test]
fn a_rate_within_the_error_bar_of_the_maximum_has_no_latency() {
    let (predictor, mix) = (unsure_servers(), reads(4096));
    let max = predictor.max_rate(&mix).unwrap();
    assert!(max.low > 1_000.0 && max.low < 6_000.0, "{max:?}");
    let steady = |rate| {
        predictor.steady(predictor.predict(&mix, Offered::PoissonPerS(rate)).unwrap()).map(|_| ())
    };
    assert_eq!(steady(0.99 * max.low), Ok(()));
    assert!(matches!(steady(1.01 * max.low), Err(PredictError::NearMaximum { .. })));
}

#[test]
fn the_highest_rate_that_keeps_a_mean_is_where_the_mean_is_that() {
    let predictor = Predictor::of_cells(&servers(1));
    let found = predictor.highest_rate(PROFILED, &reads(4096), Objective::MeanNs(2e6)).unwrap();
    // M/D/1: 1 ms + 1 ms * rho / (2 (1 - rho)) is 2 ms at two thirds.
    assert!((found.iops.value - 667.0).abs() < 5.0, "{:?}", found.iops);
    assert!(found.iops.low < 667.0 && found.iops.high > 667.0, "{:?}", found.iops);
    assert_eq!(
        predictor.highest_rate(PROFILED, &reads(4096), Objective::MeanNs(5e5)),
        Err(PredictError::OutOfReach)
    );
}

#[test]
fn the_highest_rate_that_meets_a_target_is_one_that_has_a_steady_latency() {
    let (predictor, mix) = (unsure_servers(), reads(4096));
    for most in [2e6, 1e7, 1e8, 1e9] {
        let found = predictor.highest_rate(PROFILED, &mix, Objective::MeanNs(most)).unwrap();
        let at = |rate: f64| {
            predictor.steady(predictor.predict(&mix, Offered::PoissonPerS(rate)).unwrap())
        };
        assert_eq!(at(found.iops.value).unwrap().latency_ns, found.latency_ns);
        if found.iops.low > 0.0 {
            let safe = at(found.iops.low).unwrap();
            assert!(safe.latency_ns.high <= most * (1.0 + 1e-9), "{safe:?}");
        }
        assert!(found.iops.includes(found.iops.value), "{:?}", found.iops);
    }
}

#[test]
fn without_open_loads_a_percentile_is_kept_by_the_deepest_loop_that_keeps_it() {
    let predictor = Predictor::of_cells(&servers(1));
    let most = |ns: f64| predictor.highest_rate(PROFILED, &reads(4096), Objective::P99Ns(ns));
    // One server of 1 ms: all requests of a loop of n take n ms.
    assert_eq!(most(8.1e6).unwrap().offered, Offered::Depth(8.0));
    assert_eq!(most(5e5), Err(PredictError::OutOfReach));
    // If only deep loops have enough requests, a shallow one may meet a target that they miss.
    let deep = |cell: Cell| {
        let few = cell.workload.depth < 16;
        let histogram = if few { HistogramSnapshot::default() } else { cell.histogram.clone() };
        Cell { histogram, ..cell }
    };
    let predictor = Predictor::of_cells(&servers(1).into_iter().map(deep).collect::<Vec<_>>());
    let unknown = predictor.highest_rate(PROFILED, &reads(4096), Objective::P99Ns(1e6));
    assert_eq!(unknown, Err(PredictError::NoPercentile));
    let few = |cell: Cell| Cell { histogram: HistogramSnapshot::default(), ..cell };
    let predictor = Predictor::of_cells(&servers(1).into_iter().map(few).collect::<Vec<_>>());
    let none = predictor.highest_rate(PROFILED, &reads(4096), Objective::P99Ns(1e9));
    assert_eq!(none, Err(PredictError::NoPercentile));
}

#[test]
fn percentiles_of_a_loop_are_those_of_its_cell_and_unknown_without_requests() {
    let predictor = Predictor::of_cells(&servers(4));
    let found = predictor.predict(&reads(4096), Offered::Depth(16.0)).unwrap();
    for time in [found.p50_ns, found.p90_ns, found.p99_ns] {
        assert!((time.unwrap().value / found.latency_ns.value - 1.0).abs() < 0.02, "{time:?}");
    }
}

#[test]
fn sizes_and_depths_between_the_cells_are_as_wide_as_those_left_out_are_off() {
    let predictor = Predictor::of_cells(&bent());
    let width = |bytes: u64, depth: f64| {
        let found = predictor.predict(&reads(bytes), Offered::Depth(depth)).unwrap();
        (found.iops.relative_half_width(), found)
    };
    let (known, _) = width(16 << 10, 4.0);
    let (size, of_size) = width(8 << 10, 4.0);
    let (depth, of_depth) = width(16 << 10, 6.0);
    assert!(known < 0.02 && size > 0.1 && depth > 0.03, "{known} {size} {depth}");
    // The interval is as wide as the error.
    for (found, bytes, at) in [(of_size, 8 << 10, 4.0), (of_depth, 16 << 10, 6.0)] {
        assert!(found.iops.includes(bent_rate(bytes, at)), "{found:?}");
    }
}

/// A device whose rate is not linear in size or depth.
fn bent_rate(bytes: u64, depth: f64) -> f64 {
    1e5 * (depth / (depth + 6.0)) / (1.0 + (bytes as f64 / 16384.0).powf(1.6))
}

fn bent() -> Vec<Cell> {
    let sizes = [4_u64, 16, 64].map(|kib| kib << 10);
    let depths = [1_u32, 2, 4, 8, 16, 32];
    let cells = sizes.into_iter().flat_map(|bytes| depths.map(|depth| (bytes, depth)));
    let of = |(bytes, depth): (u64, u32)| {
        let rate = bent_rate(bytes, f64::from(depth));
        cell(bytes, depth, None, rate, f64::from(depth) / rate * 1e9)
    };
    cells.map(of).collect()
}

/// Four servers of 1 ms, and half a millisecond to them and back.
fn far_servers() -> Vec<Cell> {
    let closed = [1_u32, 2, 4, 8, 16, 32, 64, 128, 256].into_iter().map(|depth| {
        let program = f64::from(depth);
        let rate = (program / 1.5e-3).min(4_000.0);
        let inside = program - 0.5e-3 * rate;
        Cell {
            device_share: Measured::Value(inside / program),
            utilization: Measured::Value(inside.min(1.0)),
            ..cell(4096, depth, None, rate, program / rate * 1e9)
        }
    });
    let open = [(400, 1.6e6), (2_000, 1.7e6)].into_iter().map(|(rate, latency)| Cell {
        device_share: Measured::Value(1.0 - 0.5e6 / latency),
        ..cell(4096, 256, Some(rate), rate as f64, latency)
    });
    closed.chain(open).collect()
}

fn counted(predictor: &Predictor, offered: Offered) -> Prediction {
    let model = ModelName::MixCapacity;
    predictor.counted(predictor.predict_by(model, &reads(4096), offered).unwrap())
}

#[test]
fn the_way_to_the_device_is_no_time_of_the_device() {
    let predictor = Predictor::of_cells(&far_servers());
    let lone = counted(&predictor, Offered::Depth(1.0));
    assert!((lone.latency_ns.value / 1e6 - 1.0).abs() < 1e-6, "{lone:?}");
    assert!((lone.unloaded_latency_ns.value / 1e6 - 1.0).abs() < 1e-6, "{lone:?}");
    let quickest = predictor.quickest_counted_ns(OpKind::Read).unwrap();
    assert!((quickest / 1e6 - 1.0).abs() < 1e-6, "{quickest}");
    // Of the 16 that the program waits for, two are on their way.
    let depth = predictor.outstanding(&reads(4096), 14.0);
    assert!((depth / 16.0 - 1.0).abs() < 1e-6, "{depth}");
    let deep = counted(&predictor, Offered::Depth(depth));
    assert!((deep.latency_ns.value / 3.5e6 - 1.0).abs() < 1e-6, "{deep:?}");
    assert!((deep.iops.value / 4_000.0 - 1.0).abs() < 1e-6, "{deep:?}");
    assert!((deep.concurrency / 14.0 - 1.0).abs() < 1e-6, "{deep:?}");
    // Proportional beyond the deepest loop.
    let deeper = predictor.outstanding(&reads(4096), 508.0);
    assert!((deeper / 512.0 - 1.0).abs() < 1e-6, "{deeper}");
}

#[test]
fn an_open_load_has_the_share_of_those_that_are_like_it() {
    let predictor = Predictor::of_cells(&far_servers());
    for (rate, whole_ms) in [(400.0, 1.6), (2_000.0, 1.7)] {
        let offered = Offered::PoissonPerS(rate);
        let model = ModelName::MixCapacity;
        let plain = predictor.predict_by(model, &reads(4096), offered).unwrap();
        let share = counted(&predictor, offered).latency_ns.value / plain.latency_ns.value;
        assert!((share / (1.0 - 0.5 / whole_ms) - 1.0).abs() < 0.02, "{rate}: {share}");
    }
}

#[test]
fn where_counters_told_nothing_all_of_the_time_is_the_devices() {
    let cells: Vec<Cell> = far_servers()
        .into_iter()
        .map(|cell| Cell { device_share: Measured::not("simulated"), ..cell })
        .collect();
    let predictor = Predictor::of_cells(&cells);
    assert_eq!(predictor.outstanding(&reads(4096), 7.3).to_bits(), 7.3_f64.to_bits());
    let model = ModelName::MixCapacity;
    for offered in [Offered::Depth(16.0), Offered::PoissonPerS(400.0)] {
        let plain = predictor.predict_by(model, &reads(4096), offered).unwrap();
        // Counters give no percentile.
        let means = Prediction { p50_ns: None, p90_ns: None, p99_ns: None, ..plain.clone() };
        assert_eq!(predictor.counted(plain), means);
    }
}
