//! Predicts the part of a program's latency that the device's own counters show. A program's latency also
//! includes the system call, the way to the device's queue, and the wait for a processor: 15 to 60 % of it
//! on a loop device over memory and on a virtual disk. Compared with that latency, counters would show a
//! device as healthy that is a third slower.
//!
//! A profile's trials record both. The expected counter value is the program's time multiplied by the
//! device's share. For closed loops the share depends on operation, size and depth, interpolated linearly
//! over their logarithms. For open loads it is the mean of similar loads. The requests in flight while busy
//! follow from the same data. Without such trials the whole time counts as device time, as on a simulated
//! device. Sequential loads are treated as random ones, because they are merged on their way.

use super::Predictor;
use super::capacity::{Capacity, place};
use super::row::DEEPEST;
use super::table::mix_of;
use crate::curve::straight;
use crate::size::only_size;
use record::{Arrival, Cell, Estimate, Locality, Mix, Offered, OpKind, Prediction};
use stats::Ordered;
use std::collections::BTreeMap;

/// Distance between loads over which their shares are similar; see [`place`].
const NEAR: f64 = 0.3;

/// A closed loop.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// Base-2 logarithm of the program's queue depth.
    depth: f64,
    /// Share of the latency spent in the device.
    share: f64,
    /// Base-2 logarithm of the requests that the counters show while the device is busy, divided by the
    /// queue depth: at most 0.
    shown: f64,
}

impl Loop {
    fn of(cell: &Cell, share: f64) -> Self {
        let depth = f64::from(cell.workload.depth.max(1));
        let busy = cell.utilization.value().copied().filter(|busy| *busy > 0.0).unwrap_or(1.0);
        // A lone request is alone while the device is busy, whatever a coarse counter shows.
        let shown = if depth > 1.0 { (share / busy).clamp(1.0 / depth, 1.0) } else { 1.0 };
        Self { depth: libm::log2(depth), share, shown: libm::log2(shown) }
    }
}

/// Shares of the latency spent in the device.
#[derive(Clone, Debug, Default)]
pub(super) struct DeviceTimeShare {
    /// Closed loops by rising depth, of one operation and size in bytes.
    curves: BTreeMap<(OpKind, u64), Vec<Loop>>,
    /// Open loads and their shares.
    open: Vec<(Mix, f64, f64)>,
}

impl DeviceTimeShare {
    pub(super) fn new(capacity: &Capacity, cells: &[Cell]) -> Self {
        let mut inside = Self::default();
        for cell in cells {
            let Some(share) = cell.device_share.value() else { continue };
            let Some(mix) = mix_of(&cell.workload) else { continue };
            match (cell.workload.arrival, mix.classes.as_slice(), only_size(cell)) {
                (Arrival::Closed, [class], Some(_)) if class.locality == Locality::Random => {
                    let curve = inside.curves.entry((class.op, class.bytes.max(1))).or_default();
                    curve.push(Loop::of(cell, *share));
                }
                (Arrival::Poisson, ..) => {
                    let Some(rate) = cell.workload.rate_iops else { continue };
                    let Ok(max) = capacity.max_rate(&mix) else { continue };
                    inside.open.push((mix, rate as f64 / max.value, *share));
                }
                _ => {}
            }
        }
        for loops in inside.curves.values_mut() {
            loops.sort_by_cached_key(|one| Ordered(one.depth));
            // A deeper queue in the program never means fewer requests at the device.
            let mut most = 0.0;
            for one in loops {
                most = f64::max(most, one.depth + one.shown);
                one.shown = most - one.depth;
            }
        }
        inside
    }

    /// Interpolates a number of a mix's closed loops at a logarithm of a depth; `None` without data.
    fn of_loops(&self, mix: &Mix, depth: f64, of: fn(&Loop) -> f64) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        let log = |bytes: u64| libm::log2(bytes.max(1) as f64);
        for class in &mix.classes {
            let any = self.curves.keys().any(|(op, _)| *op == class.op);
            let curves = self.curves.iter().filter(|((op, _), _)| *op == class.op || !any);
            let points = curves.filter_map(|((_, bytes), loops)| {
                Some((log(*bytes), straight(loops, depth, |one| one.depth, of)?))
            });
            let points: Vec<(f64, f64)> = points.collect();
            let size = log(class.bytes);
            sum += class.share * straight(&points, size, |point| point.0, |point| point.1)?;
            weights += class.share;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// Share of a closed loop's latency at a depth of the program.
    fn share_at(&self, mix: &Mix, depth: f64) -> f64 {
        self.of_loops(mix, libm::log2(depth.max(1.0)), |one| one.share).unwrap_or(1.0)
    }

    /// Share of an open load's latency at `rho`, a share of saturation. Without a similar open load, the
    /// share of the closed loop with the same concurrency.
    fn share_of_open(&self, mix: &Mix, rho: f64, concurrency: f64) -> f64 {
        let at = place(mix, rho);
        let distance = |other: &Mix, load: f64| -> f64 {
            let there = place(other, load);
            at.iter().zip(there).map(|(here, there)| (here - there).powi(2)).sum()
        };
        let distances: Vec<f64> =
            self.open.iter().map(|(mix, rho, _)| distance(mix, *rho)).collect();
        let Some(least) = distances.iter().copied().reduce(f64::min) else {
            return self.share_at(mix, concurrency);
        };
        // Relative to the nearest one; otherwise all weights of a very different load would be zero.
        let weight = |distance: &f64| libm::exp((least - distance) / (2.0 * NEAR * NEAR));
        let weights: f64 = distances.iter().map(weight).sum();
        let sum: f64 = distances.iter().zip(&self.open).map(|(far, one)| weight(far) * one.2).sum();
        sum / weights
    }
}

impl Predictor {
    /// The queue depth of a program for which the device's counters show `present` requests while busy; at
    /// least one. Beyond the deepest loop it is proportional.
    #[must_use]
    pub fn outstanding(&self, mix: &Mix, present: f64) -> f64 {
        let inside = &self.inside;
        if inside.curves.is_empty() {
            return present.max(1.0);
        }
        let wanted = libm::log2(present.max(1.0));
        let deepest = libm::log2(DEEPEST as f64);
        let shown =
            |depth: f64| depth + inside.of_loops(mix, depth, |one| one.shown).unwrap_or(0.0);
        let most = shown(deepest);
        if wanted >= most {
            return libm::exp2(deepest + wanted - most);
        }
        // Between the depths of the loops the relation is linear, so its inverse is linear too.
        let loops = inside.curves.values().flatten();
        let mut depths: Vec<f64> = loops.map(|one| one.depth).chain([0.0, deepest]).collect();
        depths.sort_by(f64::total_cmp);
        let knots: Vec<(f64, f64)> =
            depths.into_iter().map(|depth| (shown(depth), depth)).collect();
        libm::exp2(straight(&knots, wanted, |knot| knot.0, |knot| knot.1).unwrap_or(wanted))
    }

    /// Converts a prediction for a program into what the device's counters show. Rates stay the same.
    /// Latencies and requests in flight are those inside the device. Percentiles inside the device were not
    /// measured.
    #[must_use]
    pub fn counted(&self, prediction: Prediction) -> Prediction {
        let (mix, inside) = (&prediction.mix, &self.inside);
        let alone = inside.share_at(mix, 1.0);
        let share = match prediction.offered {
            Offered::Depth(depth) => inside.share_at(mix, depth),
            _ => inside.share_of_open(mix, prediction.saturation, prediction.concurrency),
        };
        // Wake-up after idle happens on the way to the device or inside it. The block layer sees most of
        // it.
        let rest_ns = prediction.after_rest_ns.map_or(0.0, |longer| longer.value);
        let scaled = |time: Estimate| {
            let inside = (time.value - rest_ns) * share + rest_ns;
            time.scaled(inside / time.value.max(f64::MIN_POSITIVE))
        };
        let latency_ns = scaled(prediction.latency_ns);
        let unloaded_latency_ns = prediction.unloaded_latency_ns.scaled(alone);
        Prediction {
            latency_ns,
            read_latency_ns: prediction.read_latency_ns.map(scaled),
            write_latency_ns: prediction.write_latency_ns.map(scaled),
            queue_ns: (latency_ns.value - rest_ns - unloaded_latency_ns.value).max(0.0),
            unloaded_latency_ns,
            p50_ns: None,
            p90_ns: None,
            p99_ns: None,
            concurrency: prediction.concurrency * latency_ns.value
                / prediction.latency_ns.value.max(f64::MIN_POSITIVE),
            ..prediction
        }
    }

    /// The shortest latency of a lone request of an operation in the profile, in nanoseconds, over all
    /// sizes and patterns, as the device's counters show it. Anything faster is another device.
    #[must_use]
    pub fn quickest_counted_ns(&self, op: OpKind) -> Option<f64> {
        let of_op = self.capacity.table.kinds.iter().filter(|kind| kind.op == op);
        let alone = of_op.flat_map(|kind| &kind.rows).filter_map(|row| {
            let rate = row.rates.first()?;
            let alone = Mix::one(op, Locality::Random, row.bytes);
            Some(self.inside.share_at(&alone, 1.0) * 1e9 / rate)
        });
        alone.reduce(f64::min)
    }
}
