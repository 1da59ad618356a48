//! Finds limits in a check that are not the device's own: caps of a provider or a hypervisor.
//!
//! Flash drives, disk arms and links have ceilings too. A cap differs in three ways. Requests of several
//! sizes, depths and places, cache hits included, end at the same rate within a few percent. A request at
//! queue depth 1 takes far less time than the cap would allow it. The rate varies less between visits than
//! chance allows. A device of several equal servers can look the same, so one more sign is required: a
//! ceiling of bytes besides the one of requests, or a cap that is no whole multiple of the rate at queue
//! depth 1. A ceiling of bytes alone may be a link's. Rejected: a published limit at that rate as a sign,
//! because eight servers of 0.5 ms complete 16,000 requests per second, too.

use crate::published_limits::published_limit;
use model::counts;
use record::{
    Arrival, CacheMode, Cap, Cell, Estimate, OpKind, Pattern, Profile, StepCause, Sustained, Trial,
};
use std::collections::BTreeSet;

/// Rates within this share of a cap are at the cap.
const AT_CAP: f64 = 0.02;
/// Fewest depths, sizes and cells at a cap of requests, and fewest sizes at a cap of bytes.
const DEPTHS_MIN: usize = 2;
const SIZES_MIN: usize = 2;
const CELLS_MIN: usize = 3;
const SIZES_OF_BYTES_MIN: usize = 3;
/// Largest share of the cap that queue depth 1 reaches.
const ALONE_MAX: f64 = 0.75;
/// Largest variation of a capped rate between visits: as a share of the counting noise of as many
/// requests, but at least `VARIATION` of the rate.
const OF_CHANCE: f64 = 0.5;
const VARIATION: f64 = 0.005;
/// Largest request size that a cap of requests limits before one of bytes does.
const SMALL_BYTES: u64 = 4 << 10;
/// Largest distance from a whole number of parallel requests for equal servers.
const WHOLE: f64 = 0.1;

/// The cells at a ceiling, and its rate.
struct Ceiling<'a> {
    per_s: Estimate,
    cells: Vec<&'a Cell>,
}

/// The caps of a profile. `trials` are the trials that the profile was made from.
#[must_use]
pub fn caps(profile: &Profile, trials: &[Trial]) -> Vec<Cap> {
    let mut found: Vec<Cap> = Vec::new();
    let most = most_bytes_per_s(profile);
    for op in OpKind::ALL {
        let cells = direct(profile, op);
        let requests = ceiling(&cells, trials, false);
        let bytes = ceiling(&cells, trials, true);
        let requests = requests.filter(|one| is_above_the_device(&cells, one, bytes.is_some()));
        let bytes = bytes.filter(|_| requests.is_some());
        let cap = |ceiling: Ceiling<'_>, bytes: bool| Cap {
            op: Some(op),
            bytes,
            per_s: ceiling.per_s,
            cells: ceiling.cells.len() as u32,
            published: published_limit(ceiling.per_s.value, bytes, most).map(str::to_owned),
        };
        found.extend(requests.map(|one| cap(one, false)));
        found.extend(bytes.map(|one| cap(one, true)));
    }
    found.extend(profile.sustained.iter().filter_map(|load| after_credit(load, most)));
    of_both(found)
}

/// The rate at which a load ended after its credit was used up.
fn after_credit(load: &Sustained, most_bytes_per_s: f64) -> Option<Cap> {
    let step = load.step.as_ref().filter(|step| step.cause == StepCause::Credit)?;
    // A cap of requests limits small requests, a cap of bytes large ones.
    let size = load.workload.max_bs().0;
    let bytes = size > SMALL_BYTES;
    let per_s = if bytes { step.iops.scaled(size as f64) } else { step.iops };
    let published = published_limit(per_s.value, bytes, most_bytes_per_s).map(str::to_owned);
    Some(Cap { op: load.workload.only_op(), bytes, per_s, cells: 1, published })
}

/// The largest throughput measured with direct I/O.
pub(crate) fn most_bytes_per_s(profile: &Profile) -> f64 {
    let direct = profile.cells.iter().filter(|cell| cell.workload.cache == CacheMode::Device);
    direct.map(|cell| cell.bytes_per_s.value).fold(0.0, f64::max)
}

/// Closed-loop cells of one operation with direct I/O.
pub(crate) fn direct(profile: &Profile, op: OpKind) -> Vec<&Cell> {
    let cells = profile.cells.iter().filter(|cell| {
        let workload = &cell.workload;
        workload.arrival == Arrival::Closed
            && workload.cache == CacheMode::Device
            && workload.only_op() == Some(op)
    });
    cells.collect()
}

pub(crate) fn per_s(cell: &Cell, bytes: bool) -> f64 {
    if bytes { cell.bytes_per_s.value } else { cell.iops.value }
}

/// The ceiling of the largest rates, if several sizes and depths share it.
fn ceiling<'a>(cells: &[&'a Cell], trials: &[Trial], bytes: bool) -> Option<Ceiling<'a>> {
    let rate = |cell: &&Cell| per_s(cell, bytes);
    let largest = cells.iter().map(rate).reduce(f64::max)?;
    let near = |cell: &&&Cell| rate(cell) >= largest * (1.0 - 2.0 * AT_CAP);
    let mut rates: Vec<f64> = cells.iter().filter(near).map(rate).collect();
    rates.sort_by(f64::total_cmp);
    let level = *rates.get(rates.len() / 2)?;
    let held: Vec<&Cell> =
        cells.iter().filter(|cell| (rate(cell) / level - 1.0).abs() <= AT_CAP).copied().collect();
    // A cell clearly above the ceiling disproves the cap.
    let beyond = cells.iter().any(|cell| {
        let estimate = if bytes { cell.bytes_per_s } else { cell.iops };
        estimate.low > level * (1.0 + AT_CAP)
    });
    let of =
        |number: fn(&Cell) -> u64| held.iter().map(|cell| number(cell)).collect::<BTreeSet<u64>>();
    let sizes = of(|cell| cell.workload.max_bs().0).len();
    let depths = of(|cell| u64::from(cell.workload.depth)).len();
    let wide = match bytes {
        true => sizes >= SIZES_OF_BYTES_MIN,
        false => sizes >= SIZES_MIN && depths >= DEPTHS_MIN,
    };
    if beyond || !wide || held.len() < CELLS_MIN || !is_exact(&held, trials) {
        return None;
    }
    let visits = trials.iter().filter(|trial| counts(trial));
    let of_held = visits.filter(|trial| held.iter().any(|cell| cell.cell == trial.cell));
    let of_held: Vec<&Trial> = of_held.collect();
    let rates: Vec<f64> = of_held.iter().map(|trial| settled_rate(trial, bytes)).collect();
    // The end of a window cuts off a part of a request, whatever the rate.
    let requests: u64 = of_held.iter().map(|trial| trial.completed()).sum();
    let counting = (of_held.len() as f64).sqrt() / requests.max(1) as f64;
    // The median: some cells reach the cap only part of the time and are slightly below it.
    let level = stats::median_interval(rates.clone()).or_else(|| stats::visits_mean(&rates))?;
    Some(Ceiling { per_s: level.at_least(2.0 * counting), cells: held })
}

/// Rate or throughput of the second half of a visit. The burst that a cap admits after idle time
/// falls in the first half. Servers of equal times complete requests in groups. A half with one group less is
/// no slower, and on short visits that error would be the same each time.
fn settled_rate(trial: &Trial, bytes: bool) -> f64 {
    let ios = &trial.result.series.ios;
    let (all, late): (u64, u64) = (ios.iter().sum(), ios[ios.len() / 2..].iter().sum());
    let share_of_time = (ios.len() - ios.len() / 2) as f64 / ios.len().max(1) as f64;
    let even = all as f64 * share_of_time;
    let group = ios.iter().copied().fold(0, stats::gcd) as f64;
    let gain = if (late as f64 - even).abs() <= group { 1.0 } else { late as f64 / even };
    let size = if bytes { trial.workload.max_bs().0 as f64 } else { 1.0 };
    gain * trial.iops() * size
}

/// Whether visits to the same cells vary less than chance allows.
fn is_exact(held: &[&Cell], trials: &[Trial]) -> bool {
    let (mut squares, mut allowed) = (0.0, 0.0);
    for cell in held {
        let of_cell = trials.iter().filter(|trial| counts(trial) && trial.cell == cell.cell);
        let visits: Vec<&Trial> = of_cell.collect();
        let mean = stats::mean(&visits.iter().map(|trial| trial.iops()).collect::<Vec<f64>>());
        // Their mean uses up one degree of freedom.
        let free = 1.0 - 1.0 / visits.len().max(1) as f64;
        for trial in visits {
            let by_chance = OF_CHANCE / (trial.completed() as f64).sqrt();
            squares += (trial.iops() / mean - 1.0).powi(2);
            allowed += free * by_chance.max(VARIATION).powi(2);
        }
    }
    allowed > 0.0 && squares <= allowed
}

/// Whether a ceiling of requests is a cap rather than the device's own limit.
fn is_above_the_device(cells: &[&Cell], ceiling: &Ceiling<'_>, with_bytes: bool) -> bool {
    let alone = cells.iter().find(|cell| {
        let workload = &cell.workload;
        workload.depth == 1 && workload.pattern == Pattern::Random && cell_is_smallest(cells, cell)
    });
    let Some(alone) = alone else { return false };
    let side_by_side = ceiling.per_s.value / alone.iops.value;
    let off = (side_by_side - libm::round(side_by_side)).abs();
    let unsure = side_by_side * alone.iops.relative_half_width();
    side_by_side >= 1.0 / ALONE_MAX && (with_bytes || off > WHOLE + unsure)
}

fn cell_is_smallest(cells: &[&Cell], cell: &Cell) -> bool {
    cells.iter().all(|other| other.workload.max_bs() >= cell.workload.max_bs())
}

/// Merges equal caps of reads and of writes.
fn of_both(found: Vec<Cap>) -> Vec<Cap> {
    let mut all: Vec<Cap> = Vec::new();
    for cap in found {
        let same = |other: &&mut Cap| {
            other.bytes == cap.bytes && (other.per_s.value / cap.per_s.value - 1.0).abs() <= AT_CAP
        };
        match all.iter_mut().find(same) {
            Some(other) => {
                // The more precise estimate represents both.
                if cap.per_s.relative_half_width() < other.per_s.relative_half_width() {
                    other.per_s = cap.per_s;
                }
                (other.op, other.cells) = (None, other.cells + cap.cells);
            }
            None => all.push(cap),
        }
    }
    all
}
