//! Models what open loads show and closed loops do not: a lone write is done when the drive's buffer has
//! it, a volume behind a token bucket queues nothing below its rate, service times vary less than
//! exponential ones. The profile's open-loop trials of single classes give two numbers at each share of
//! saturation. A, the time alone, is the latency of the lightest load minus its theoretical wait.
//! kappa(rho) is the rest of the latency divided by the queue time of the birth-death chain (1 for
//! exponential service, 1/2 for constant, near 0 behind a bucket).
//!
//! In a mix all requests wait in one queue. The wait is the mean of the classes' waits at the same
//! saturation, weighted by the device time of each, which is exact for M/G/1 (Pollaczek and Khinchine). If
//! the chain with the capacities of the mix is closer to the mixed trials, it gives the wait instead. The
//! remaining residuals of reads and of writes are modelled as a smooth function of the load
//! ([`super::kriging`]).
//!
//! Rejected: a queueing model with one variance per device (it cannot be 1 for reads and 0 for writes); a
//! table of latencies by rate, which cannot be applied to other mixes.

use super::capacity::{Capacity, place};
use super::kriging::{Kriging, Sample, Scale};
use super::stall_smoothing::StallSmoothing;
use super::table::{Rows, Table, doublings_between, mix_of};
use crate::curve::straight;
use crate::queueing::birth_death_latency;
use record::{Arrival, Cell, HistogramSnapshot, Locality, Mix, MixClass, OpKind};
use stats::Ordered;
use std::collections::BTreeSet;

/// Growth of kappa's denominator up to saturation, as a share of the time alone. With many servers the
/// birth-death queue is close to zero, and a ratio to it would be noise.
const YARDSTICK_GROWTH: f64 = 0.05;
/// Minimum share of the time alone in a light load's latency.
const LEAST_ALONE_SHARE: f64 = 0.3;
/// Maximum residual of a trial, as a logarithm.
const MOST_BEYOND: f64 = 1.0;
/// A latency this many times that of the chain counts as saturated, whatever the rate.
const RUNAWAY: f64 = 6.0;
/// At this saturation and above, an open-loop trial shows more noise than device behaviour.
const SATURATED: f64 = 0.97;

/// One open-loop trial of one class.
#[derive(Clone, Debug)]
struct Node {
    rho: f64,
    kappa: f64,
    histogram: HistogramSnapshot,
    latency_ns: f64,
}

/// The open-loop trials of one size, by rising load.
#[derive(Clone, Debug)]
struct OpenRow {
    bytes: u64,
    /// Time alone divided by the latency of the closed loop at depth 1.
    alone_share: f64,
    nodes: Vec<Node>,
}

/// A mix that arrives at a share of saturation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    pub(crate) mix: &'a Mix,
    /// Rate divided by the maximum rate.
    pub(crate) rho: f64,
    /// Queue time divided by that with Poisson arrivals.
    pub(crate) wait_factor: f64,
}

/// An open load of a profile.
#[derive(Clone, Debug)]
pub struct OpenLoad<'a> {
    /// The measured cell.
    pub cell: &'a Cell,
    /// The mix of its requests.
    pub mix: Mix,
    pub(crate) rate_per_s: f64,
    /// Mean latency in nanoseconds, with the stalls of the device spread evenly over the profile. Models
    /// are fitted to this value.
    pub latency_ns: f64,
    /// The same for its reads and its writes, if it has them and they were measured separately.
    by_op: [Option<f64>; 2],
}

/// Results of the open-loop trials.
#[derive(Clone, Debug, Default)]
pub(crate) struct OpenTable {
    kinds: Vec<Rows<OpenRow>>,
    /// Rate of the lightest trial.
    lightest_per_s: Option<f64>,
    /// Whether the chain gives the queue of mixes. It does if it is closer to the mixed trials than the
    /// mean of the classes' own waits.
    by_chain: bool,
    /// Remaining residuals of reads and of writes.
    beyond: [Option<Kriging>; 2],
}

/// The open loads among a profile's cells. Loads with constant intervals are excluded, because their kappa
/// differs.
#[must_use]
pub fn open_loads(cells: &[Cell]) -> Vec<OpenLoad<'_>> {
    let open = cells.iter().filter(|cell| cell.workload.arrival == Arrival::Poisson);
    let loads = open.filter_map(|cell| {
        let mix = mix_of(&cell.workload)?;
        let rate_per_s = cell.workload.rate_iops? as f64;
        let latency_ns = cell.latency_ns.value;
        Some(OpenLoad { cell, mix, rate_per_s, latency_ns, by_op: [None; 2] })
    });
    let mut loads: Vec<OpenLoad<'_>> = loads.collect();
    let smoothing =
        StallSmoothing::of(&loads.iter().map(|it| (it.cell, &it.mix)).collect::<Vec<_>>());
    for load in &mut loads {
        (load.latency_ns, load.by_op) = smoothing.means(load.cell, &load.mix);
    }
    loads
}

impl OpenTable {
    /// Builds the table from trials below saturation. `like` was built from more trials, and its choices
    /// are taken over.
    pub(crate) fn new(capacity: &Capacity, cells: &[OpenLoad<'_>], like: Option<&Self>) -> Self {
        let rho = |cell: &OpenLoad<'_>| {
            let max = capacity.max_rate(&cell.mix).ok()?.value;
            Some(cell.rate_per_s / max).filter(|&rho| rho < SATURATED)
        };
        let kinds = Rows::by_kind(|op, locality| {
            let of_kind = cells.iter().filter_map(|cell| match cell.mix.classes.as_slice() {
                [class] if class.op == op && class.locality == locality => {
                    Some((*class, rho(cell)?, cell))
                }
                _ => None,
            });
            open_rows(&capacity.table, &of_kind.collect::<Vec<_>>())
        });
        let lightest_per_s = cells.iter().map(|load| load.rate_per_s).reduce(f64::min);
        let mut open = Self { kinds, lightest_per_s, ..Self::default() };
        let with_load: Vec<(&OpenLoad<'_>, f64)> =
            cells.iter().filter_map(|cell| Some((cell, rho(cell)?))).collect();
        let off = |open: &Self| {
            let mixed = with_load.iter().filter(|(cell, _)| cell.mix.classes.len() > 1);
            let errors = mixed.filter_map(|&(cell, rho)| {
                let load = Load { mix: &cell.mix, rho, wait_factor: 1.0 };
                let modelled = open.latency(capacity, load)?;
                Some(libm::log(modelled / cell.latency_ns).abs())
            });
            stats::median(errors.collect())
        };
        let chain = Self { by_chain: true, ..open.clone() };
        open.by_chain = match like {
            Some(like) => like.by_chain,
            None => off(&chain) < off(&open),
        };
        open.beyond = [OpKind::Read, OpKind::Write].map(|op| {
            // If all trials together showed no residual, a part of them does not either.
            let scale = match like {
                Some(like) => Some(like.beyond[op as usize].as_ref()?.scale),
                None => None,
            };
            open.fitted(capacity, op, &with_load, scale)
        });
        open
    }

    pub(crate) fn lightest_per_s(&self) -> Option<f64> {
        self.lightest_per_s
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Whether a class was measured under open loads, at any size.
    pub(crate) fn knows(&self, class: &MixClass) -> bool {
        self.kind(class.op, class.locality).is_some()
    }

    fn kind(&self, op: OpKind, locality: Locality) -> Option<&Rows<OpenRow>> {
        Rows::find(&self.kinds, op, locality)
    }

    /// The rows of a class: its own kind, otherwise random requests of its operation.
    fn rows_for(&self, class: &MixClass) -> Option<&Rows<OpenRow>> {
        self.kind(class.op, class.locality).or_else(|| self.kind(class.op, Locality::Random))
    }

    fn alone_ns(&self, table: &Table, class: &MixClass) -> Option<f64> {
        let closed = table.time_ns(class, 1)?;
        let rows = self.rows_for(class);
        let share = rows.and_then(|kind| by_size(&kind.rows, class.bytes, |row| row.alone_share));
        Some(closed * share.unwrap_or(1.0))
    }

    /// Wait of a class's own load at a share of saturation.
    fn wait_ns(&self, table: &Table, class: &MixClass, rho: f64) -> Option<f64> {
        let alone = self.alone_ns(table, class)?;
        let Some(kind) = self.rows_for(class) else {
            return Some(prior(table, class) * chain_ns(table, class, rho)?);
        };
        let kappa = by_size(&kind.rows, class.bytes, |row| {
            // Constant beyond the trials.
            straight(&row.nodes, rho, |node| node.rho, |node| node.kappa).unwrap_or(1.0)
        })?;
        Some(kappa * yardstick_ns(table, class, rho, alone)?)
    }

    /// Wait in a mix at a share of saturation, without the residuals of mixes.
    fn shared_wait_ns(&self, table: &Table, mix: &Mix, rho: f64) -> Option<f64> {
        let deepest = table.deepest();
        let (mut wait, mut weights) = (0.0, 0.0);
        for class in &mix.classes {
            let weight = class.share * table.time_ns(class, deepest)?;
            wait += weight * self.wait_ns(table, class, rho)?;
            weights += weight;
        }
        (weights > 0.0).then(|| wait / weights)
    }

    /// Mean latency of an operation in a mix; `None` if the mix does not contain it.
    pub(crate) fn latency_of(
        &self,
        capacity: &Capacity,
        load: Load<'_>,
        op: OpKind,
    ) -> Option<f64> {
        let base = self.base_of(capacity, load, op)?;
        let beyond = self.beyond[op as usize].as_ref();
        let beyond = beyond.map_or(0.0, |beyond| beyond.at(&place(load.mix, load.rho)));
        Some(base * libm::exp(beyond))
    }

    /// The same without the residuals.
    fn base_of(&self, capacity: &Capacity, load: Load<'_>, op: OpKind) -> Option<f64> {
        let Load { mix, rho, wait_factor } = load;
        let table = &capacity.table;
        let of_op = mix.share(|class| class.op == op);
        if of_op <= 0.0 {
            return None;
        }
        let classes = mix.classes.iter().filter(|class| class.op == op);
        let alone: Option<f64> =
            classes.map(|class| Some(class.share * self.alone_ns(table, class)?)).sum();
        let alone = alone? / of_op;
        let wait_ns = if self.by_chain && mix.classes.len() > 1 {
            let rates = capacity.rates(mix)?;
            let latency = birth_death_latency(&rates, rho * rates.last()?)?;
            let factor: f64 =
                mix.classes.iter().map(|class| class.share * prior(table, class)).sum();
            factor * (latency - 1.0 / rates.first()?).max(0.0) * 1e9
        } else {
            self.shared_wait_ns(table, mix, rho)?
        };
        Some((alone + wait_factor * wait_ns).max(alone / 4.0))
    }

    pub(crate) fn latency(&self, capacity: &Capacity, load: Load<'_>) -> Option<f64> {
        let mut sum = 0.0;
        for op in [OpKind::Read, OpKind::Write] {
            let of_op = load.mix.share(|class| class.op == op);
            if of_op > 0.0 {
                sum += of_op * self.latency_of(capacity, load, op)?;
            }
        }
        Some(sum)
    }

    /// The latency distribution of a class at the load nearest to a share of saturation, with its mean.
    pub(crate) fn shape(&self, class: &MixClass, rho: f64) -> Option<(&HistogramSnapshot, f64)> {
        let kind = self.kind(class.op, class.locality)?;
        let distance = |row: &&OpenRow| doublings_between(row.bytes, class.bytes);
        let row = kind.rows.iter().min_by_key(distance)?;
        let node =
            row.nodes.iter().min_by(|a, b| (a.rho - rho).abs().total_cmp(&(b.rho - rho).abs()))?;
        Some((&node.histogram, node.latency_ns))
    }

    /// The residuals of open loads of an operation, pure loads included.
    fn fitted(
        &self,
        capacity: &Capacity,
        op: OpKind,
        cells: &[(&OpenLoad<'_>, f64)],
        scale: Option<Scale>,
    ) -> Option<Kriging> {
        let values: Vec<Sample> = cells
            .iter()
            .filter_map(|&(cell, rho)| {
                let measured = cell.by_op[op as usize]?;
                let load = Load { mix: &cell.mix, rho, wait_factor: 1.0 };
                let modelled = self.base_of(capacity, load, op)?;
                let value = libm::log(measured / modelled).clamp(-MOST_BEYOND, MOST_BEYOND);
                Some(Sample { place: place(&cell.mix, rho), value, spread: spread(rho) })
            })
            .collect();
        let errors = cells.iter().map(|(load, _)| load.cell.latency_ns.relative_se());
        Kriging::fit(&values, scale, stats::median(errors.collect()))
    }
}

/// Interpolates a number of rows at a size: linear in the logarithm of the size, constant beyond.
fn by_size(rows: &[OpenRow], bytes: u64, value: impl Fn(&OpenRow) -> f64) -> Option<f64> {
    let log = |bytes: u64| libm::log2(bytes.max(1) as f64);
    straight(rows, log(bytes), |row| log(row.bytes), value)
}

/// Uncertainty of a latency at a share of saturation: an error of the capacity changes the queue by that
/// error over the remaining capacity.
fn spread(rho: f64) -> f64 {
    1.0 / (1.0 - rho.min(SATURATED))
}

fn open_rows(table: &Table, cells: &[(MixClass, f64, &OpenLoad<'_>)]) -> Vec<OpenRow> {
    let sizes: BTreeSet<u64> = cells.iter().map(|(class, ..)| class.bytes).collect();
    let row = |bytes: u64| {
        let mut of_size: Vec<_> = cells.iter().filter(|(class, ..)| class.bytes == bytes).collect();
        of_size.sort_by_cached_key(|one| Ordered(one.1));
        let (class, lightest, load) = of_size.first()?;
        let waited = prior(table, class) * chain_ns(table, class, *lightest)?;
        let light = load.latency_ns;
        let alone_ns = (light - waited).max(LEAST_ALONE_SHARE * light);
        let nodes = of_size.iter().filter_map(|(class, rho, load)| {
            let expected = light + chain_ns(table, class, *rho)?;
            (load.latency_ns < RUNAWAY * expected).then_some(())?;
            Some(Node {
                rho: *rho,
                kappa: (load.latency_ns - alone_ns) / yardstick_ns(table, class, *rho, alone_ns)?,
                histogram: load.cell.histogram.clone(),
                latency_ns: load.latency_ns,
            })
        });
        Some(OpenRow {
            bytes,
            alone_share: alone_ns / table.time_ns(class, 1)?,
            nodes: nodes.collect(),
        })
    };
    sizes.into_iter().filter_map(row).collect()
}

/// Queue time of a class's own load, from the birth-death chain on its depth curve.
fn chain_ns(table: &Table, class: &MixClass, rho: f64) -> Option<f64> {
    let rates = table.rates(&[MixClass { share: 1.0, ..*class }])?;
    let latency = birth_death_latency(&rates, rho * rates.last()?)?;
    Some(((latency - 1.0 / rates.first()?) * 1e9).max(0.0))
}

fn yardstick_ns(table: &Table, class: &MixClass, rho: f64, alone_ns: f64) -> Option<f64> {
    Some(chain_ns(table, class, rho)? + YARDSTICK_GROWTH * rho * alone_ns)
}

/// kappa without measurements: Allen and Cunneen's factor.
fn prior(table: &Table, class: &MixClass) -> f64 {
    f64::midpoint(1.0, table.scv(class).unwrap_or(1.0))
}
