//! Estimates the latency of a healthy device of a kind, for each kind of work.
//!
//! If devices of several hosts, racks and so on did exactly this work, the reference is their median. But a
//! slow drive soon reaches a concurrency at which no healthy one is ever seen, and a rack may have an
//! application of its own. Such work is compared with a bound: from any known work, twice the concurrency
//! takes at most twice the time, and so does twice the size. A drive above the bound is slow, by at least
//! that ratio. A drive below it is not judged by this work. The bound also limits the medians themselves,
//! in case most devices that did the work are slow.
//!
//! To find the slowest among devices that share such work, no others are needed
//! ([`crate::fleet::nearest`]). To find whether all of them are slow, others are needed.
//!
//! Rejected: a sum of the costs of size, mix and concurrency (a median polish): if bandwidth is the limit,
//! size and concurrency multiply, and an application of its own looked twice as slow as it is; medians over
//! all devices regardless of host and rack: a slow rack with its own application would be its own baseline.

use crate::fleet::PEERS_MIN;
use crate::fleet::tally::{DEPTH_STEPS_PER_OCTAVE, Work};
use std::collections::{BTreeMap, HashMap};

/// Number of different values of a label whose devices must have done such work, if the label has as many.
const VALUES_ENOUGH: usize = 3;
/// Minimum number of device windows for a median to bound other work. The lowest of many bounds applies, so
/// each must be precise.
const BOUNDING: u32 = 60;
/// Bin width of the logarithm of the latency, far below the difference between two devices.
const BIN: f64 = 0.02;

/// Allowed change of the latency for each quarter of the read share, as a logarithm: a factor of four and a
/// half from pure reads to mostly writes. An assumption: no law bounds it.
const MIX_STEP: f64 = 0.5;

/// Allowance for the scatter of readings in a bound that limits a median, as a logarithm. A reading that
/// chance makes longer also shows more concurrency. If loads use a few fixed depths, as batch jobs do, the
/// depths in between occur only in readings that chance made short or long. The lowest of their medians
/// would then lower the others. An assumption, compared in simulated fleets with no allowance and with
/// twice as much.
const SCATTER: f64 = 0.1;

/// What was observed for one kind of work.
struct Seen {
    /// The first devices that did it, until there are enough.
    devices: Vec<u32>,
    /// The first different values of each common label.
    values: Vec<Vec<u32>>,
    bins: BTreeMap<i32, u32>,
    total: u32,
}

impl Seen {
    fn median(&self) -> f64 {
        let mut below = 0;
        for (bin, count) in &self.bins {
            if 2 * (below + count) >= self.total {
                let within = (f64::from(self.total) / 2.0 - f64::from(below)) / f64::from(*count);
                return BIN * (f64::from(*bin) + within);
            }
            below += count;
        }
        f64::NAN
    }
}

/// The latency expected for a kind of work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    /// Median of healthy devices, as a logarithm.
    Median(f64),
    /// Upper bound for healthy devices, as a logarithm.
    AtMost(f64),
}

/// The latencies of one kind of device.
pub(crate) struct Reference {
    /// Required number of different values of each label.
    needed: Vec<usize>,
    cells: HashMap<Work, Seen>,
    /// Known work in order, with its median and whether the median may bound other work.
    known: Vec<(Work, f64, bool)>,
    expected: HashMap<Work, Option<Expected>>,
}

impl Reference {
    /// For devices whose common labels have these numbers of values.
    pub(crate) fn new(values: &[usize]) -> Self {
        let needed = values.iter().map(|values| VALUES_ENOUGH.min(*values)).collect();
        Self { needed, cells: HashMap::new(), known: Vec::new(), expected: HashMap::new() }
    }

    /// Adds the latency (logarithm) of a device for this work in a window; `values` are its label values.
    pub(crate) fn add(&mut self, work: Work, device: u32, values: &[Option<u32>], log: f64) {
        let seen = self.cells.entry(work).or_insert_with(|| Seen {
            devices: Vec::new(),
            values: vec![Vec::new(); values.len()],
            bins: BTreeMap::new(),
            total: 0,
        });
        if seen.devices.len() < PEERS_MIN && !seen.devices.contains(&device) {
            seen.devices.push(device);
        }
        for (known, value) in seen.values.iter_mut().zip(values) {
            if let Some(value) = value.filter(|value| !known.contains(value))
                && known.len() < VALUES_ENOUGH
            {
                known.push(value);
            }
        }
        *seen.bins.entry((log / BIN).floor() as i32).or_default() += 1;
        seen.total += 1;
    }

    /// Computes the medians from the added latencies.
    pub(crate) fn settle(&mut self) {
        let enough = |seen: &Seen| {
            seen.devices.len() >= PEERS_MIN
                && seen.values.iter().zip(&self.needed).all(|(seen, needed)| seen.len() >= *needed)
        };
        self.known = self
            .cells
            .iter()
            .filter(|(_, seen)| enough(seen))
            .map(|(work, seen)| (*work, seen.median(), seen.total >= BOUNDING))
            .collect();
        // Hash maps have no order.
        self.known.sort_by_key(|(work, ..)| *work);
        self.expected.clear();
    }

    /// Indexes of the labels of which too few values did this work; `None` if the work has a median.
    pub(crate) fn lacking(&self, work: Work) -> Option<Vec<usize>> {
        if self.known.binary_search_by_key(&work, |(known, ..)| *known).is_ok() {
            return None;
        }
        let Some(seen) = self.cells.get(&work) else { return Some(Vec::new()) };
        let all = seen.values.iter().zip(&self.needed).enumerate();
        Some(all.filter(|(_, (seen, needed))| seen.len() < **needed).map(|(at, _)| at).collect())
    }

    /// The latency expected of healthy devices for this work; `None` if unknown.
    pub(crate) fn expected(&mut self, work: Work) -> Option<Expected> {
        if let Some(found) = self.expected.get(&work) {
            return *found;
        }
        let own = self.known.binary_search_by_key(&work, |(known, ..)| *known);
        let bound = |same_size: bool| {
            self.known
                .iter()
                .filter(|(known, _, bounds)| *bounds && *known != work && may_bound(*known, work))
                .filter(|(known, ..)| !same_size || known.octave == work.octave)
                .map(|(known, log, _)| log + steepest(*known, work))
                .min_by(f64::total_cmp)
        };
        let found = match own {
            Ok(place) => {
                let median = self.known[place].1;
                let held = |bound: f64| median.min(bound + SCATTER);
                Some(Expected::Median(bound(true).map_or(median, held)))
            }
            Err(_) => bound(false).map(Expected::AtMost),
        };
        self.expected.insert(work, found);
        found
    }
}

/// Whether known work bounds other work. A larger size cannot bound a smaller one: large requests are
/// mostly sequential, so a small request may take longer.
fn may_bound(known: Work, work: Work) -> bool {
    known.direction == work.direction && known.octave <= work.octave
}

/// Logarithm of how much longer one kind of work may take than another: proportional to an increase of size
/// or depth, nothing for a decrease, and [`MIX_STEP`] for each quarter of the mix.
pub(crate) fn steepest(from: Work, to: Work) -> f64 {
    let octaves = f64::from(to.octave - from.octave)
        + f64::from(to.depth.saturating_sub(from.depth)) / DEPTH_STEPS_PER_OCTAVE;
    octaves * std::f64::consts::LN_2 + MIX_STEP * f64::from(to.mix.abs_diff(from.mix))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    fn work(octave: u8, depth: u8) -> Work {
        Work { direction: 0, octave, mix: 0, depth }
    }

    /// A device of eight servers with a bandwidth limit: constant, then proportional.
    fn truth(work: Work) -> f64 {
        let both = f64::from(work.octave) - 12.0 + f64::from(work.depth) / DEPTH_STEPS_PER_OCTAVE;
        -7.0 + (both - 3.0).max(0.0) * LN_2
    }

    #[test]
    fn what_devices_of_several_hosts_did_is_known_and_what_lies_beyond_is_bounded() {
        let mut reference = Reference::new(&[20]);
        for device in 0..60u32 {
            for depth in 0..16 {
                let one = work(12, depth);
                reference.add(one, device, &[Some(device / 3)], truth(one));
            }
        }
        reference.settle();
        let Some(Expected::Median(seen)) = reference.expected(work(12, 14)) else { panic!() };
        assert!((seen - truth(work(12, 14))).abs() < BIN);
        // Proportional, from work that is proportional already.
        let Some(Expected::AtMost(bound)) = reference.expected(work(13, 24)) else { panic!() };
        assert!((bound - truth(work(13, 24))).abs() < 2.0 * BIN, "{bound}");
        assert_eq!(reference.expected(Work { direction: 1, ..work(12, 3) }), None);
    }

    #[test]
    fn work_of_one_host_alone_is_no_yardstick_and_work_of_slow_devices_is_held_down() {
        let mut reference = Reference::new(&[20]);
        for device in 0..60u32 {
            for depth in 0..8 {
                let one = work(12, depth);
                reference.add(one, device, &[Some(device / 3)], truth(one));
            }
        }
        for device in 60..80u32 {
            // A host with a size of its own, and slow devices of many hosts at a depth that no other
            // reaches.
            reference.add(work(13, 3), device, &[Some(20)], truth(work(13, 3)) + 2.0);
            reference.add(work(12, 10), device, &[Some(device)], truth(work(12, 10)) + 2.0);
        }
        reference.settle();
        let Some(Expected::AtMost(bound)) = reference.expected(work(13, 3)) else { panic!() };
        assert!((bound - truth(work(12, 3)) - LN_2).abs() < BIN);
        let Some(Expected::Median(held)) = reference.expected(work(12, 10)) else { panic!() };
        let most = 3.0 / DEPTH_STEPS_PER_OCTAVE * LN_2 + SCATTER;
        assert!(held - truth(work(12, 10)) < most + BIN);
    }

    #[test]
    fn readings_that_chance_made_short_hold_no_work_down_that_is_known() {
        let mut reference = Reference::new(&[20]);
        for device in 0..60u32 {
            for _ in 0..4 {
                // Batch jobs of a fixed depth, and others of twice that depth. Only short readings fall
                // between the two.
                reference.add(work(12, 4), device, &[Some(device / 3)], -7.0);
                reference.add(work(12, 8), device, &[Some(device / 3)], -7.0);
            }
            reference.add(work(12, 7), device, &[Some(device / 3)], -7.09);
        }
        reference.settle();
        let Some(Expected::Median(seen)) = reference.expected(work(12, 4)) else { panic!() };
        assert!((seen + 7.0).abs() < BIN, "{seen}");
    }
}
