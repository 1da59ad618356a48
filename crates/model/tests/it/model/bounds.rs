//! Statements of one prediction that must not contradict each other, on drawn devices under drawn loads.

use crate::model::synthetic::{closed_cell, workload};
use model::{PredictError, Predictor};
use record::{Cell, Estimate, Locality, Mix, MixClass, Offered, OpKind, Pattern, Prediction};
use stats::SplitMix64;

/// A device whose requests take a fixed time and that of their bytes, several at a time, up to a throughput.
#[derive(Clone, Copy, Debug)]
struct Device {
    fixed_s: f64,
    bytes_per_s: f64,
    max_iops: f64,
}

impl Device {
    fn iops(&self, bytes: u64, depth: u32) -> f64 {
        let transfer_s = bytes as f64 / self.bytes_per_s;
        let loops = f64::from(depth) / (self.fixed_s + transfer_s);
        loops.min(1.0 / transfer_s).min(self.max_iops)
    }

    fn cell(&self, pattern: Pattern, op: OpKind, (bytes, depth): (u64, u32)) -> Cell {
        closed_cell(workload(op, pattern, bytes, depth), self.iops(bytes, depth))
    }

    /// Random requests of these sizes, and sequential ones up to 256 KiB.
    fn cells(&self, op: OpKind, random: &[u64], depths: &[u32]) -> Vec<Cell> {
        let sequential = [64u64 << 10, 128 << 10, 256 << 10];
        let places = [(Pattern::Random, random), (Pattern::Sequential, &sequential)];
        let of_place = |(pattern, sizes): (Pattern, &[u64])| {
            let points: Vec<_> =
                sizes.iter().flat_map(|&size| depths.iter().map(move |&at| (size, at))).collect();
            points.into_iter().map(|point| self.cell(pattern, op, point)).collect::<Vec<_>>()
        };
        places.into_iter().flat_map(of_place).collect()
    }
}

const SIZES: [u64; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const DEPTHS: [u32; 4] = [1, 4, 16, 64];

fn reads(bytes: u64) -> Mix {
    Mix::one(OpKind::Read, Locality::Random, bytes)
}

#[test]
fn a_size_beyond_the_measured_ones_adds_its_bytes_at_the_measured_throughput() {
    let device = Device { fixed_s: 80e-6, bytes_per_s: 2e9, max_iops: 4e5 };
    let predictor = Predictor::of_cells(&device.cells(OpKind::Read, &SIZES, &DEPTHS));
    for (bytes, depth) in [(128 << 10, 1), (1 << 20, 1), (1 << 20, 16), (4 << 20, 64)] {
        let found = predictor.predict(&reads(bytes), Offered::Depth(f64::from(depth))).unwrap();
        let truth = device.iops(bytes, depth);
        assert!((found.iops.value / truth - 1.0).abs() < 0.05, "{bytes} {depth}: {found:?}");
        assert!(found.iops.includes(truth), "{bytes} {depth}: {found:?}");
        assert!(found.iops.value <= found.max_iops.value, "{bytes} {depth}: {found:?}");
        let told = found.extrapolated.iter().any(|it| it.contains("2.00 GB/s"));
        assert!(told, "{:?}", found.extrapolated);
    }
    // Each doubling of the distance widens the interval.
    let widths = [64u64, 128, 1024]
        .map(|kib| predictor.predict(&reads(kib << 10), Offered::Depth(1.0)).unwrap().in_run_rel);
    assert!(widths[0] < widths[1] && 2.0 * widths[1] < widths[2], "{widths:?}");
}

#[test]
fn a_single_size_leaves_everything_open_between_its_time_and_its_throughput() {
    let device = Device { fixed_s: 1e-3, bytes_per_s: 1e9, max_iops: 1e9 };
    let cells = [1, 8].map(|depth| device.cell(Pattern::Random, OpKind::Read, (4 << 10, depth)));
    let predictor = Predictor::of_cells(&cells);
    let found = predictor.predict(&reads(64 << 10), Offered::Depth(1.0)).unwrap().latency_ns;
    assert!(found.low < 1.01e6 && found.high > 15.9e6, "{found:?}");
}

fn drawn(rng: &mut SplitMix64, from: f64, to: f64) -> f64 {
    from * (to / from).powf(rng.unit())
}

fn drawn_cells(rng: &mut SplitMix64) -> Vec<Cell> {
    let mut cells = Vec::new();
    for op in [OpKind::Read, OpKind::Write] {
        let device = Device {
            fixed_s: drawn(rng, 1e-5, 1e-2),
            bytes_per_s: drawn(rng, 1e7, 1e10),
            max_iops: drawn(rng, 1e3, 1e6),
        };
        let sizes = &SIZES[..1 + rng.below(5) as usize];
        let depths = &DEPTHS[..1 + rng.below(4) as usize];
        for mut cell in device.cells(op, sizes, depths) {
            let noise = 1.0 + 0.2 * (rng.unit() - 0.5);
            cell.iops = Estimate::symmetric(cell.iops.value * noise, 0.1 * cell.iops.value, 3);
            cell.latency_ns = cell.latency_ns.scaled(1.0 / noise);
            cells.push(cell);
        }
    }
    cells
}

fn drawn_mix(rng: &mut SplitMix64) -> Mix {
    let bytes = 1 << (9 + rng.below(14));
    let locality = [Locality::Random, Locality::Sequential][rng.below(2) as usize];
    let share = [0.0, 0.3, 1.0][rng.below(3) as usize];
    let class = |op, share| MixClass { op, locality, bytes, share };
    let mut classes = vec![class(OpKind::Read, share), class(OpKind::Write, 1.0 - share)];
    classes.retain(|class| class.share > 0.0);
    Mix { classes }
}

fn assert_consistent(found: &Prediction) {
    let percentiles = [found.p50_ns, found.p90_ns, found.p99_ns];
    let others = [found.read_latency_ns, found.write_latency_ns];
    let all = [found.latency_ns, found.unloaded_latency_ns, found.iops, found.max_iops];
    for estimate in all.into_iter().chain(others.into_iter().chain(percentiles).flatten()) {
        assert!(estimate.low > 0.0 && estimate.high.is_finite(), "{estimate:?} in {found:?}");
        assert!(estimate.includes(estimate.value), "{estimate:?} in {found:?}");
    }
    let known: Vec<f64> = percentiles.into_iter().flatten().map(|it| it.value).collect();
    assert!(known.is_sorted(), "{found:?}");
    let rounding = 1.0 + 1e-9;
    assert!(found.iops.value <= found.max_iops.value * rounding, "{found:?}");
    assert!(found.saturation <= 1.0 && found.latency_ns.value > 0.0, "{found:?}");
}

#[test]
fn no_prediction_contradicts_itself_on_drawn_devices_under_drawn_loads() {
    let mut rng = SplitMix64::new(7);
    let mut predicted = 0;
    for _ in 0..12 {
        let predictor = Predictor::of_cells(&drawn_cells(&mut rng));
        for _ in 0..8 {
            let mix = drawn_mix(&mut rng);
            let mut before = 0.0;
            for depth in [1.0, 2.5, 8.0, 64.0, 300.0] {
                let found = predictor.predict(&mix, Offered::Depth(depth)).unwrap();
                assert_consistent(&found);
                assert!(found.iops.value >= before, "{depth}: {found:?}");
                before = found.iops.value;
                predicted += 1;
            }
            let max = predictor.max_rate(&mix).unwrap().value;
            assert!((before / max - 1.0).abs() < 1e-9, "{mix:?}: {before} {max}");
            for share in [0.01, 0.5, 0.9] {
                match predictor.predict(&mix, Offered::PoissonPerS(share * max)) {
                    Ok(found) => assert_consistent(&found),
                    Err(error) => assert!(matches!(error, PredictError::Saturated { .. })),
                }
            }
        }
    }
    assert_eq!(predicted, 480);
}
