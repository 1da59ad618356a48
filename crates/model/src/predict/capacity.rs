//! Computes rates of mixes: the weighted mean of the classes' times per request (rho is the sum of lambda_i
//! / Xmax_i), plus the interference between classes. Random requests break a stream, writes wait for a head
//! that reads moved, a link carries both directions at once.
//!
//! For each queue depth with mixed trials four coefficients are fitted (reads against writes, sequential
//! against the rest, hits against the rest, sizes against each other), each times the product of the shares
//! and the largest time involved. The method is ridge regression with the penalty that minimises the error
//! on held-out trials. The remaining residuals go to [`super::kriging`]. Rejected: limits that sizes of a
//! capped volume have in common; without them held-out errors are the same, because the trials of mixes
//! show the effect of such limits.

use super::kriging::{Kriging, Place, Sample};
use super::left_out::{Between, between};
use super::regress::ridge;
use super::row::Row;
use super::table::{Table, mix_of};
use super::{PredictError, checked};
use crate::curve::{rising, straight};
use record::{Arrival, Cap, Cell, Estimate, Locality, Mix, MixClass, NORMAL_95, OpKind};
use stats::Ordered;
use std::collections::BTreeSet;

/// Number of interference coefficients.
const KINDS: usize = 4;
/// Ridge penalties that are tried, besides zero.
const PRICES: [f64; 4] = [1.0, 0.1, 0.01, 0.001];
/// Minimum number of mixed trials at a depth for a fit.
const MIN_TRIALS: usize = 4;

/// Maximum share of an operation that was not measured and is replaced by the other one. The prediction
/// then covers nearly all requests and names the rest. Above this share, the effect of writes on reads
/// dominates.
const RARE_SHARE: f64 = 0.01;

/// Maximum distance, as a share, between a time and that of a limit for the limit to explain it.
pub(super) const AT_CAP: f64 = 0.05;

/// A mixed trial in a closed loop.
#[derive(Clone, Debug)]
struct Mixed {
    mix: Mix,
    depth: usize,
    /// Measured nanoseconds per request.
    time_ns: f64,
}

/// Interference at a depth.
#[derive(Clone, Debug)]
struct Fitted {
    depth: usize,
    coefficients: Vec<f64>,
    /// The residual, as a logarithm of measured over modelled times.
    beyond: Option<Kriging>,
    /// Root mean square of the relative errors on held-out trials.
    rms: f64,
}

/// Rates of single classes and of mixes.
#[derive(Clone, Debug)]
pub(crate) struct Capacity {
    pub(crate) table: Table,
    /// Errors of loads between the measured ones, by kind.
    between: Vec<Between>,
    fits: Vec<Fitted>,
    /// Limits that the profile found.
    pub(crate) caps: Vec<Cap>,
}

impl Capacity {
    pub(crate) fn new(cells: &[Cell], caps: &[Cap]) -> Self {
        let table = Table::new(cells);
        let mixed: Vec<Mixed> = cells.iter().filter_map(mixed).collect();
        let depths: BTreeSet<usize> = mixed.iter().map(|one| one.depth).collect();
        let fits = depths.into_iter().filter_map(|depth| {
            let of_depth: Vec<&Mixed> = mixed.iter().filter(|one| one.depth == depth).collect();
            fitted(&table, &of_depth, depth)
        });
        let fits = fits.collect();
        Self { between: between(cells), table, fits, caps: caps.to_vec() }
    }

    /// Nanoseconds per request of a mix, by queue depth.
    fn times_ns(&self, mix: &Mix) -> Option<impl Fn(usize) -> Option<f64>> {
        let fits = if mix.classes.len() == 1 { &[][..] } else { &self.fits };
        let ratios = fits.iter().map(|fit| Some((fit.depth, fit.ratio(&self.table, mix)?)));
        let ratios = ratios.collect::<Option<Vec<(usize, f64)>>>()?;
        let least_ns = self.least_ns(mix);
        Some(move |depth| {
            let time_ns = self.table.mean_ns(&mix.classes, depth)? * ratio(&ratios, depth);
            let held = |class: &MixClass| self.is_held(class, depth);
            // Between two sizes a limit has a bend. Use the limit itself instead of the line between the
            // sizes.
            let all_held = least_ns > 0.0 && mix.classes.iter().all(held);
            Some(if all_held { least_ns } else { time_ns.max(least_ns) })
        })
    }

    /// Minimum nanoseconds per request of a mix, set by limits in front of the device; 0 without limits.
    fn least_ns(&self, mix: &Mix) -> f64 {
        self.caps.iter().map(|cap| Self::least_ns_of(cap, mix)).fold(0.0, f64::max)
    }

    fn least_ns_of(cap: &Cap, mix: &Mix) -> f64 {
        let classes = mix.classes.iter().filter(|class| cap.op.is_none_or(|op| op == class.op));
        let each = |class: &MixClass| if cap.bytes { class.bytes as f64 } else { 1.0 };
        classes.map(|class| class.share * each(class)).sum::<f64>() * 1e9 / cap.per_s.value
    }

    /// Whether closed loops of a class reach a limit at this depth, judged by the measured sizes on both
    /// sides.
    fn is_held(&self, class: &MixClass, depth: usize) -> bool {
        let Some(rows) = self.table.rows_for(class.op, class.locality) else { return false };
        let below = rows.rows.iter().rev().find(|row| row.bytes <= class.bytes);
        let above = rows.rows.iter().find(|row| row.bytes >= class.bytes);
        let mut beside = below.into_iter().chain(above);
        beside.all(|row| {
            let least_ns = self.least_ns(&Mix::one(class.op, class.locality, row.bytes));
            row.time_ns(depth) < (1.0 + AT_CAP) * least_ns
        })
    }

    /// Rates of a mix, requests per second at depths 1, 2, …, never falling.
    pub(crate) fn rates(&self, mix: &Mix) -> Option<Vec<f64>> {
        rising((1..=self.table.deepest().max(1)).map(self.times_ns(mix)?))
    }

    pub(crate) fn knows_mixes(&self) -> bool {
        !self.fits.is_empty()
    }

    pub(crate) fn max_rate(&self, mix: &Mix) -> Result<Estimate, PredictError> {
        self.known(mix)?;
        let rates = self.rates(mix).ok_or_else(PredictError::nothing)?;
        let rate = rates.last().copied().ok_or_else(PredictError::nothing)?;
        let rel = match self.limit(mix) {
            Some(cap) => cap.per_s.relative_half_width(),
            None => self.max_rel(mix),
        };
        Ok(Estimate::within_ratio(rate, rel))
    }

    /// The longest time of a request of a mix divided by the expected one; above 1 if writes are smaller than
    /// all measured ones.
    pub(super) fn rewriting(&self, mix: &Mix, depth: usize) -> f64 {
        let of = |class: &MixClass| class.share * self.table.rewriting(class, depth);
        mix.classes.iter().map(of).sum::<f64>().max(1.0)
    }

    /// The limit in front of the device that sets the largest rate of a mix, regardless of file and time.
    pub(super) fn limit(&self, mix: &Mix) -> Option<&Cap> {
        let deepest = self.table.deepest().max(1);
        let is_held = mix.classes.iter().all(|class| self.is_held(class, deepest));
        let tightest = || self.caps.iter().max_by_key(|cap| Ordered(Self::least_ns_of(cap, mix)));
        is_held.then(tightest).flatten().filter(|cap| Self::least_ns_of(cap, mix) > 0.0)
    }

    /// Half-width of the interval of a mix's rate at a depth, as a share: the errors of its classes, and
    /// the held-out errors of the nearest fit.
    pub(crate) fn rel(&self, mix: &Mix, depth: f64) -> f64 {
        self.rel_by(mix, depth, |_| depth)
    }

    /// The same for the largest rate: each class at the largest depth of its curve.
    pub(super) fn max_rel(&self, mix: &Mix) -> f64 {
        self.rel_by(mix, self.table.deepest() as f64, Row::reach)
    }

    fn rel_by(&self, mix: &Mix, depth: f64, at: impl Fn(&Row) -> f64) -> f64 {
        let of = |class: &MixClass| class.share * self.rel_of(class, &at);
        let own: f64 = mix.classes.iter().map(of).sum();
        let off = |fit: &&Fitted| Ordered(libm::fabs(libm::log(fit.depth as f64 / depth)));
        let mixed = self.fits.iter().min_by_key(off).filter(|_| mix.classes.len() > 1);
        own.hypot(mixed.map_or(0.0, |fit| NORMAL_95 * fit.rms))
    }

    /// The same for a single class: the error of the nearest row. If the size or the depth was not
    /// measured, the leave-one-out error of such loads is added, or that of a rate beyond the curve.
    fn rel_of(&self, class: &MixClass, at: impl Fn(&Row) -> f64) -> f64 {
        let Some((kind, row)) = self.table.nearest(class) else { return 1.0 };
        let depth = at(row);
        let of_kind = |it: &&Between| (it.op, it.locality) == (kind.op, kind.locality);
        let off = self.between.iter().find(of_kind);
        let gap = |missing: bool, se: &dyn Fn(&Between) -> f64| {
            NORMAL_95 * off.filter(|_| missing).map_or(0.0, se)
        };
        let beyond = depth > f64::from(row.measured_depth);
        // A size below the measured ones takes the time of the smallest.
        let smaller = kind.rows.first().is_some_and(|smallest| class.bytes < smallest.bytes);
        let known = row.knows(depth) || (beyond && row.prolonged_rel <= 0.0);
        let of_depth = gap(!known, &|it| it.depth_se(row.bytes, depth));
        row.rel
            .hypot(if beyond { row.prolonged_rel } else { 0.0 })
            .hypot(self.beyond(class, depth))
            .hypot(gap(row.bytes != class.bytes && !smaller, &|it| it.size_se(class.bytes)))
            .hypot(row.gap(depth).map_or(of_depth, |(least, most)| of_depth.clamp(least, most)))
    }

    /// Half-width, as a logarithm, of the interval of the rate of a class at a depth beyond its curve; 0 within
    /// the curve, and at a limit, which holds at any depth.
    pub(super) fn beyond(&self, class: &MixClass, depth: f64) -> f64 {
        let row = self.table.nearest(class).map(|(_, row)| row);
        let free = row.filter(|_| !self.is_held(class, self.table.deepest().max(1)));
        free.map_or(0.0, |row| row.beyond_reach(depth))
    }

    /// Half-width, as a logarithm, of the interval of a percentile over the mean, by its index in
    /// [`PERCENTILES`]. Zero if the depth and size were measured.
    ///
    /// [`PERCENTILES`]: record::PERCENTILES
    pub(super) fn tail_rel(&self, mix: &Mix, depth: f64, which: usize) -> f64 {
        let of = |class: &MixClass| {
            let (kind, row) = self.table.nearest(class)?;
            let known = row.bytes == class.bytes && row.knows(depth);
            let of_kind = |it: &&Between| (it.op, it.locality) == (kind.op, kind.locality);
            let off = self.between.iter().find(of_kind)?.tails[which]?;
            Some(if known && mix.classes.len() == 1 { 0.0 } else { class.share * off })
        };
        NORMAL_95 * mix.classes.iter().filter_map(of).sum::<f64>()
    }

    /// An error unless every class has rows, its own or a substitute's.
    pub(crate) fn known(&self, mix: &Mix) -> Result<(), PredictError> {
        checked(mix)?;
        for class in &mix.classes {
            let rare = mix.share(|other| other.op == class.op) <= RARE_SHARE + 1e-9;
            let any = self.table.rows_for(class.op, class.locality).is_some();
            if !any || !(rare || self.table.knows(class.op)) {
                return Err(PredictError::NotMeasured(format!("random {}s", class.op.name())));
            }
        }
        Ok(())
    }
}

impl Fitted {
    /// Time of a mix divided by the time without interference.
    fn ratio(&self, table: &Table, mix: &Mix) -> Option<f64> {
        let plain = table.mean_ns(&mix.classes, self.depth)?;
        let features = features(table, mix, self.depth)?;
        let linear = (1.0 + dot(&self.coefficients, &features) / plain).max(1.0 / 3.0);
        let beyond = self.beyond.as_ref().map_or(0.0, |beyond| beyond.at(&place(mix, 0.0)));
        Some(linear * libm::exp(beyond))
    }
}

/// The fit at a depth; `None` if too few trials.
fn fitted(table: &Table, trials: &[&Mixed], depth: usize) -> Option<Fitted> {
    if trials.len() < MIN_TRIALS {
        return None;
    }
    // Divided by the measured time, so that errors are relative and of similar size.
    let rows: Vec<(Vec<f64>, f64)> = trials
        .iter()
        .filter_map(|one| {
            let plain = table.mean_ns(&one.mix.classes, depth)?;
            let features = features(table, &one.mix, depth)?;
            let features = features.iter().map(|value| value / one.time_ns).collect();
            Some((features, 1.0 - plain / one.time_ns))
        })
        .collect();
    let none = rms(&rows, |_| vec![0.0; KINDS]);
    let mut best = (None, none);
    for price in PRICES {
        let off = rms(&rows, |left_out| ridge(&without(&rows, left_out), KINDS, price));
        if off < best.1 {
            best = (Some(price), off);
        }
    }
    let coefficients = best.0.map_or_else(|| vec![0.0; KINDS], |price| ridge(&rows, KINDS, price));
    let mut fit = Fitted { depth, coefficients, beyond: None, rms: best.1 };
    // The residual of pure classes is zero by definition.
    let sample = |mix: &Mix, value| Sample { place: place(mix, 0.0), value, spread: 1.0 };
    let mut left: Vec<Sample> =
        table.classes().map(|class| sample(&Mix { classes: vec![class] }, 0.0)).collect();
    for one in trials {
        let modelled = table.mean_ns(&one.mix.classes, depth)? * fit.ratio(table, &one.mix)?;
        left.push(sample(&one.mix, libm::log(one.time_ns / modelled)));
    }
    let known = left.len() - trials.len();
    let errors: f64 = left[known..].iter().map(|sample| sample.value * sample.value).sum();
    let off = libm::sqrt(errors / trials.len() as f64);
    fit.beyond = Kriging::fit(&left, None, 0.0);
    if let Some(beyond) = &fit.beyond {
        // The error is over all places, most of which are pure; convert it to that of the mixes.
        let share = left.len() as f64 / trials.len() as f64;
        fit.rms = fit.rms.min(beyond.rms * libm::sqrt(share)).min(fit.rms.max(off));
    }
    Some(fit)
}

/// A ratio at a depth, interpolated in the logarithm of the depth.
fn ratio(ratios: &[(usize, f64)], depth: usize) -> f64 {
    let log = |depth: usize| libm::log2(depth as f64);
    straight(ratios, log(depth), |point| log(point.0), |point| point.1).unwrap_or(1.0)
}

/// The coordinates of a mix under a load: its shares, the logarithm of its mean size, the spread of its
/// sizes, the load, and the share of its sizes that are not powers of two. Requests are aligned to
/// multiples of their size. A power of two never crosses the border of a larger page or chunk. Other sizes
/// do, and then cost an additional page or chunk.
pub(crate) fn place(mix: &Mix, rho: f64) -> Place {
    let mean = mix.mean_bytes();
    let spread: f64 = mix
        .classes
        .iter()
        .map(|class| class.share * (class.bytes as f64 / mean - 1.0).powi(2))
        .sum();
    [
        mix.reads(),
        libm::log2(mean.max(1.0) / 4096.0) / 5.0,
        1.5 * mix.share(|class| class.locality == Locality::Sequential),
        1.5 * mix.share(|class| class.locality == Locality::Hit),
        1.5 * rho,
        libm::sqrt(spread) / 2.0,
        mix.share(|class| !class.bytes.is_power_of_two()),
    ]
}

/// Root mean square of the residuals, each with coefficients fitted without it.
fn rms(rows: &[(Vec<f64>, f64)], coefficients: impl Fn(usize) -> Vec<f64>) -> f64 {
    let squares =
        rows.iter().enumerate().map(|(at, (xs, y))| (y - dot(&coefficients(at), xs)).powi(2));
    libm::sqrt(squares.sum::<f64>() / rows.len().max(1) as f64)
}

fn without(rows: &[(Vec<f64>, f64)], left_out: usize) -> Vec<(Vec<f64>, f64)> {
    let others = rows.iter().enumerate().filter(|(at, _)| *at != left_out);
    others.map(|(_, row)| row.clone()).collect()
}

fn dot(left: &[f64], right: &[f64]) -> f64 {
    left.iter().zip(right).map(|(a, b)| a * b).sum()
}

fn mixed(cell: &Cell) -> Option<Mixed> {
    let workload = &cell.workload;
    let mix = mix_of(workload).filter(|mix| mix.classes.len() > 1)?;
    (workload.arrival == Arrival::Closed && cell.iops.value > 0.0).then(|| Mixed {
        mix,
        depth: workload.depth as usize,
        time_ns: 1e9 / cell.iops.value,
    })
}

/// The terms that interference is proportional to: products of shares, times the largest time involved.
fn features(table: &Table, mix: &Mix, depth: usize) -> Option<[f64; KINDS]> {
    let times = mix.classes.iter().map(|class| table.time_ns(class, depth));
    let largest = times.collect::<Option<Vec<f64>>>()?.into_iter().fold(0.0, f64::max);
    let against = |of: &dyn Fn(&MixClass) -> bool| {
        let part = mix.share(of);
        4.0 * part * (1.0 - part) * largest
    };
    let of_size = |bytes| mix.share(|class| class.bytes == bytes);
    let alike: f64 = mix.sizes().into_iter().map(|bytes| of_size(bytes).powi(2)).sum();
    Some([
        against(&|class| class.op == OpKind::Read),
        against(&|class| class.locality == Locality::Sequential),
        against(&|class| class.locality == Locality::Hit),
        2.0 * (1.0 - alike) * largest,
    ])
}
