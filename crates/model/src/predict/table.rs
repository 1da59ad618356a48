//! Stores times per request of each single kind: by operation, pattern, size and queue depth. A row is one
//! request size at the measured depths, smoothed as in [`crate::curve`]. A row with fewer depths is
//! extended with the shape of the nearest deeper row, and the prediction reports this
//! ([`super::describe`]).

use super::row::{Row, row, stalls};
use crate::curve::{between, rising};
use crate::depth::ENOUGH_SHARE;
use crate::size::only_size;
use record::{
    Arrival, CacheMode, Cell, HistogramSnapshot, Locality, Mix, MixClass, OpKind, Workload,
};
use stats::Ordered;
use std::collections::BTreeSet;

/// Factor of queue depth within which latencies have a similar distribution.
const NEAR_DEPTH: f64 = 3.0;
/// Number of requests from which a page shows the p99 of a cell, so that a prediction for the same load shows it too.
const MANY: u64 = 1_000;
/// How much of an extended row's error is removed if its own rates follow the shape of the other row.
const SHAPE_TRUST: f64 = 0.5;
/// Depth of loops up to which a slow request may have met a stall ([`stalls`]).
const SHALLOW: u32 = 4;

/// All rows of one operation and pattern, by rising size.
#[derive(Clone, Debug)]
pub(crate) struct Rows<R = Row> {
    pub(crate) op: OpKind,
    pub(crate) locality: Locality,
    pub(crate) rows: Vec<R>,
}

impl<R> Rows<R> {
    /// The kinds that have rows.
    pub(crate) fn by_kind(rows: impl Fn(OpKind, Locality) -> Vec<R>) -> Vec<Self> {
        let mut kinds = Vec::new();
        for op in [OpKind::Read, OpKind::Write] {
            for locality in [Locality::Random, Locality::Sequential, Locality::Hit] {
                kinds.push(Self { op, locality, rows: rows(op, locality) });
            }
        }
        kinds.retain(|kind| !kind.rows.is_empty());
        kinds
    }

    pub(crate) fn find(kinds: &[Self], op: OpKind, locality: Locality) -> Option<&Self> {
        kinds.iter().find(|kind| kind.op == op && kind.locality == locality)
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Table {
    pub(crate) kinds: Vec<Rows>,
}

/// The throughput of an operation over all measured loads, in bytes per second.
#[derive(Clone, Copy, Debug)]
struct Throughput {
    most: f64,
    /// Whether it is a limit of the device: requests of two sizes, one at least twice the other, nearly reach
    /// it. Otherwise larger requests than the measured ones may exceed it.
    limits: bool,
}

/// Distance between two request sizes, in whole powers of two.
pub(super) fn doublings_between(one: u64, other: u64) -> u32 {
    one.max(1).ilog2().abs_diff(other.max(1).ilog2())
}

/// Whether a cell describes the device under direct I/O.
fn describes(workload: &Workload) -> bool {
    workload.cache == CacheMode::Device && workload.think_ns.0 == 0 && workload.zones.is_empty()
}

/// The mix of a workload, reads first; `None` for patterns that the models do not cover, and for loads
/// through the page cache.
#[must_use]
pub fn mix_of(workload: &Workload) -> Option<Mix> {
    if !describes(workload) {
        return None;
    }
    let base = workload.pattern.locality()?;
    let (sequential, hit) = workload.blend.map_or((0.0, 0.0), |blend| {
        (f64::from(blend.sequential_percent) / 100.0, f64::from(blend.hit_percent) / 100.0)
    });
    let places =
        [(base, 1.0 - sequential - hit), (Locality::Sequential, sequential), (Locality::Hit, hit)];
    let reads = f64::from(workload.read_percent) / 100.0;
    let mut classes = Vec::new();
    for (op, of_op) in [(OpKind::Read, reads), (OpKind::Write, 1.0 - reads)] {
        for (locality, of_place) in places {
            for size in &workload.bs {
                let share = of_op * of_place * f64::from(size.percent) / 100.0;
                if share > 1e-9 {
                    classes.push(MixClass { op, locality, bytes: size.bytes.0, share });
                }
            }
        }
    }
    Some(Mix { classes })
}

impl Table {
    pub(crate) fn new<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Self {
        let classed = cells.into_iter().filter_map(|cell| Some((class_of(&cell.workload)?, cell)));
        let classed: Vec<(MixClass, &Cell)> = classed.collect();
        let kinds = Rows::by_kind(|op, place| {
            let of_kind = classed.iter().filter(|it| (it.0.op, it.0.locality) == (op, place));
            let of_kind: Vec<&Cell> = of_kind.map(|it| it.1).collect();
            let sizes: BTreeSet<u64> = of_kind.iter().filter_map(|cell| only_size(cell)).collect();
            sizes.into_iter().filter_map(|bytes| row(&of_kind, bytes)).collect()
        });
        let mut table = Self { kinds };
        table.fill();
        table.prolong();
        table
    }

    /// Fills rows with few measured depths with the shape of a neighbour, which keeps the knee. A straight
    /// line between the points would describe a device without a knee.
    fn fill(&mut self) {
        let before = self.clone();
        for kind in &mut self.kinds {
            for row in &mut kind.rows {
                let Some(shape) = before.densest(kind.op, kind.locality, row.bytes) else {
                    continue;
                };
                for gap in row.pairs.windows(2) {
                    let ((from, low), (to, high)) = (gap[0], gap[1]);
                    let rise =
                        |depth: u32| shape.rates[(depth as usize).min(shape.rates.len()) - 1];
                    let whole = rise(to) - rise(from);
                    if whole <= 0.01 * rise(to) || to as usize > shape.rates.len() {
                        continue;
                    }
                    for depth in from + 1..to {
                        let share = (rise(depth) - rise(from)) / whole;
                        row.rates[depth as usize - 1] = low + share * (high - low);
                    }
                }
            }
        }
    }

    /// The row with many depths that is nearest in size. Rows of the same kind are used if they have more
    /// than half as many depths as random ones, otherwise random rows.
    fn densest(&self, op: OpKind, place: Locality, bytes: u64) -> Option<&Row> {
        let best = |place| {
            let rows = self.kind(op, place).into_iter().flat_map(|kind| &kind.rows);
            let most = rows.clone().map(|row| row.pairs.len()).max()?;
            let dense = rows.filter(|row| 2 * row.pairs.len() > most);
            dense.min_by_key(|row| doublings_between(row.bytes, bytes))
        };
        let own = best(place)?;
        let enough = 2 * own.pairs.len().saturating_sub(1);
        Some(best(Locality::Random).filter(|random| random.pairs.len() > enough).unwrap_or(own))
    }

    /// Extends every row to the same depths.
    fn prolong(&mut self) {
        let before = self.clone();
        let deepest = before.deepest();
        for kind in &mut self.kinds {
            for row in &mut kind.rows {
                let depth = row.rates.len();
                let shape = before.shape_beyond(kind.op, kind.locality, row);
                let last = row.rates[depth - 1];
                let Some(shape) = shape else {
                    row.rates.resize(deepest, last);
                    continue;
                };
                let throughput =
                    before.throughput(kind.op, kind.locality).map_or(0.0, |it| it.most);
                let most = (throughput / row.bytes.max(1) as f64).max(last);
                let (gain, part) =
                    (|to: usize, from: usize| shape.gain(to, from), row.part_of(shape));
                let rates = (depth + 1..=deepest).map(|at| last * libm::pow(gain(at, depth), part));
                let rates: Vec<f64> = rates.map(|rate| rate.min(most)).collect();
                let sure = 1.0 - SHAPE_TRUST * part;
                row.prolonged_rel = rates.last().map_or(0.0, |end| sure * libm::log(end / last));
                row.rates.extend(rates);
            }
        }
    }

    /// The throughput that random and sequential requests of an operation share, or that of its hits, which
    /// a cache serves. `None` without requests.
    fn throughput(&self, op: OpKind, place: Locality) -> Option<Throughput> {
        let hit = |place| place == Locality::Hit;
        let kinds = self.kinds.iter().filter(|it| it.op == op && hit(it.locality) == hit(place));
        let rows = kinds.flat_map(|kind| &kind.rows);
        let reached = |row: &Row| Some((row.bytes, row.pairs.last()?.1 * row.bytes as f64));
        let all: Vec<(u64, f64)> = rows.filter_map(reached).collect();
        let most = all.iter().map(|it| it.1).reduce(f64::max)?;
        let near = all.iter().filter(|it| it.1 >= ENOUGH_SHARE * most).map(|it| it.0);
        let limits = near.clone().max()? >= 2 * near.min()?;
        Some(Throughput { most, limits })
    }

    /// The row nearest in size that goes deeper: of the same kind, otherwise random requests of the same
    /// operation. A row with fewer measured depths has no shape for one with more, whose largest rate is
    /// therefore a measured one.
    fn shape_beyond(&self, op: OpKind, place: Locality, own: &Row) -> Option<&Row> {
        let of = |place| {
            let rows = self.kind(op, place).into_iter().flat_map(|kind| &kind.rows);
            let deeper = rows.filter(|row| {
                row.rates.len() > own.rates.len() && row.pairs.len() >= own.pairs.len()
            });
            deeper.min_by_key(|row| doublings_between(row.bytes, own.bytes))
        };
        of(place).or_else(|| of(Locality::Random))
    }

    fn all(&self) -> impl Iterator<Item = (OpKind, Locality, &Row)> {
        self.kinds.iter().flat_map(|kind| kind.rows.iter().map(|row| (kind.op, kind.locality, row)))
    }

    pub(crate) fn classes(&self) -> impl Iterator<Item = MixClass> {
        self.all().map(|(op, locality, row)| MixClass {
            op,
            locality,
            bytes: row.bytes,
            share: 1.0,
        })
    }

    fn kind(&self, op: OpKind, place: Locality) -> Option<&Rows> {
        Rows::find(&self.kinds, op, place)
    }

    /// The rows used for a class: its own kind, otherwise random requests of its operation, otherwise
    /// random requests of the other operation (see [`Table::knows`]).
    pub(crate) fn rows_for(&self, op: OpKind, place: Locality) -> Option<&Rows> {
        self.kind(op, place)
            .or_else(|| self.kind(op, Locality::Random))
            .or_else(|| self.kinds.iter().find(|kind| kind.locality == Locality::Random))
    }

    /// Whether the operation was measured.
    pub(crate) fn knows(&self, op: OpKind) -> bool {
        self.rows_for(op, Locality::Random).is_some_and(|rows| rows.op == op)
    }

    pub(crate) fn deepest(&self) -> usize {
        self.all().map(|(_, _, row)| row.rates.len()).max().unwrap_or(0)
    }

    /// The throughput limit of the device, in bytes per second, at which the additional bytes of a request
    /// larger than all measured ones are transferred; `None` for other sizes, and without a known limit.
    pub(super) fn limit_beyond(&self, class: &MixClass) -> Option<f64> {
        let kind = self.rows_for(class.op, class.locality)?;
        kind.rows.last().filter(|row| row.bytes < class.bytes)?;
        let throughput = self.throughput(kind.op, kind.locality)?;
        throughput.limits.then_some(throughput.most)
    }

    /// Nanoseconds per request of a single class at a depth. A request larger than all measured ones takes
    /// the time of the largest and that of its additional bytes: at the throughput limit, otherwise on the
    /// line of the last two sizes. No limit is known from a single size; then the time is halfway, in
    /// logarithms, between the time of that size and the same throughput. A request smaller than all measured
    /// ones takes the time of the smallest: no measurement shows that fewer bytes take less time there.
    pub(crate) fn time_ns(&self, class: &MixClass, depth: usize) -> Option<f64> {
        let rows = &self.rows_for(class.op, class.locality)?.rows;
        let bytes = class.bytes.max(rows.first()?.bytes) as f64;
        let last = rows.last()?;
        if let Some(limit) = self.limit_beyond(class) {
            return Some(last.time_ns(depth) + (bytes - last.bytes as f64) * 1e9 / limit);
        }
        let larger = bytes / last.bytes as f64;
        if larger > 1.0 && rows.len() == 1 {
            return Some(last.time_ns(depth) * libm::sqrt(larger));
        }
        let point = |row: &Row| (row.bytes as f64, row.time_ns(depth));
        let points: Vec<(f64, f64)> = rows.iter().map(point).collect();
        let found = between(&points, bytes)?;
        Some(if larger > 1.0 { found.min(last.time_ns(depth) * larger) } else { found })
    }

    /// The longest time of a request divided by [`Table::time_ns`]. A write smaller than all measured ones may
    /// be part of a block that the device has to read first.
    pub(super) fn rewriting(&self, class: &MixClass, depth: usize) -> f64 {
        let own = self.kind(class.op, class.locality);
        let rows = own.or_else(|| self.kind(class.op, Locality::Random));
        let smallest = rows.and_then(|kind| kind.rows.first()).map_or(0, |row| row.bytes);
        if class.op == OpKind::Read || class.bytes >= smallest {
            return 1.0;
        }
        let read = MixClass { op: OpKind::Read, locality: Locality::Random, ..*class };
        let times = [&read, class].map(|class| self.time_ns(class, depth));
        if let [Some(read), Some(write)] = times { 1.0 + read / write } else { 1.0 }
    }

    /// Nanoseconds per request of classes that alternate by their shares, at a depth.
    pub(crate) fn mean_ns(&self, classes: &[MixClass], depth: usize) -> Option<f64> {
        classes.iter().map(|class| Some(class.share * self.time_ns(class, depth)?)).sum()
    }

    /// The resulting rates, requests per second at depths 1, 2, …, never falling.
    pub(crate) fn rates(&self, classes: &[MixClass]) -> Option<Vec<f64>> {
        rising((1..=self.deepest().max(1)).map(|depth| self.mean_ns(classes, depth)))
    }

    /// The latencies of a class at the nearest size and at all measured depths near `depth`, nearest first; those
    /// of this very depth alone, if they are many. Empty if every depth differs by more than a factor of
    /// [`NEAR_DEPTH`].
    pub(crate) fn latencies(&self, class: &MixClass, depth: f64) -> Vec<&HistogramSnapshot> {
        let rows = self.kind(class.op, class.locality).map_or(&[][..], |kind| &kind.rows);
        let Some(row) = rows.iter().min_by_key(|row| doublings_between(row.bytes, class.bytes))
        else {
            return Vec::new();
        };
        let off = |measured: u32| libm::fabs(libm::log(f64::from(measured) / depth.max(1.0)));
        let mut near: Vec<_> =
            row.latencies.iter().filter(|it| off(it.0) <= libm::log(NEAR_DEPTH)).collect();
        near.sort_by_cached_key(|one| Ordered(off(one.0)));
        if near.first().is_some_and(|one| off(one.0) <= 0.0 && one.1.count() >= MANY) {
            near.truncate(1);
        }
        near.into_iter().map(|(_, histogram)| histogram).collect()
    }

    /// Squared coefficient of variation of a lone request's latency in a class.
    pub(crate) fn scv(&self, class: &MixClass) -> Option<f64> {
        let rows = &self.rows_for(class.op, class.locality)?.rows;
        let known = rows.iter().filter_map(|row| Some((row.bytes, row.scv?)));
        let distance =
            |bytes: u64| (bytes as f64 / class.bytes as f64).max(class.bytes as f64 / bytes as f64);
        known.min_by(|a, b| distance(a.0).total_cmp(&distance(b.0))).map(|(_, scv)| scv)
    }

    /// What stalls of the whole device add to random arrivals, in nanoseconds: the mean remaining time of
    /// slow requests at a random moment. A stall delays each request of a closed loop once, but all
    /// requests that arrive during it. Only loops of the mix's operations count: a load of reads causes no
    /// stall of writes.
    pub(super) fn stalls_ns(&self, mix: &Mix) -> f64 {
        let has = |op: OpKind| mix.classes.iter().any(|class| class.op == op);
        let random =
            self.all().filter(|(op, locality, _)| *locality == Locality::Random && has(*op));
        let shallow =
            random.flat_map(|(.., row)| row.latencies.iter().filter(|it| it.0 <= SHALLOW));
        let (squares, time) = shallow.fold((0.0, 0.0), |sum, (_, histogram)| {
            let own = stalls(histogram);
            (sum.0 + own.0, sum.1 + own.1)
        });
        if time > 0.0 { squares / (2.0 * time) } else { 0.0 }
    }

    /// How much the requests of these classes collide; see [`Row::collisions`].
    pub(super) fn collisions(&self, classes: &[MixClass]) -> f64 {
        let of = |class: &MixClass| Some(class.share * self.nearest(class)?.1.collisions());
        classes.iter().filter_map(of).sum()
    }

    /// CPU time of this program for a request of a class, nanoseconds.
    pub(super) fn cpu_ns(&self, class: &MixClass) -> Option<f64> {
        let rows = &self.rows_for(class.op, class.locality)?.rows;
        let known = |row: &Row| Some((row.bytes as f64, row.cpu_ns?));
        between(&rows.iter().filter_map(known).collect::<Vec<_>>(), class.bytes as f64)
    }

    /// The row that is nearest in size to a class.
    pub(super) fn nearest(&self, class: &MixClass) -> Option<(&Rows, &Row)> {
        let kind = self.rows_for(class.op, class.locality)?;
        let row = kind.rows.iter().min_by_key(|row| row.bytes.abs_diff(class.bytes))?;
        Some((kind, row))
    }
}

/// The class of a closed loop of one class with direct I/O and without flushes; `None` for any other load.
pub(crate) fn class_of(workload: &Workload) -> Option<MixClass> {
    if workload.arrival != Arrival::Closed || workload.flush.is_some() {
        return None;
    }
    let mix = mix_of(workload)?;
    let [class] = mix.classes.as_slice() else { return None };
    Some(*class)
}
