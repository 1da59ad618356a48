//! What a healthy device of a kind takes for each kind of work.
//!
//! Where devices of several hosts, racks and so on did exactly this work, their median stands. A slow
//! drive is soon driven to a concurrency at which no healthy one is ever seen, and a rack may have an
//! application to itself: such work is held against a bound instead. From any work that is known, twice
//! the concurrency takes at most twice the time, and twice the size too. So a drive beyond the bound is
//! slow, at least by so much, and one below it is not judged by this work. The bound also holds the medians
//! themselves down where most that did such work are slow ones.
//!
//! Which of the devices that share such work is slower than the rest of them does not need others
//! ([`crate::fleet::nearest`]); whether all of them are does.
//!
//! Rejected: a sum of what size, mix and concurrency cost (a median polish): where the bandwidth binds,
//! size and concurrency multiply, and an application of its own looked twice as slow as it is; medians
//! without regard to whose they are: a slow rack with an application of its own is its own yardstick.

use crate::fleet::PEERS_MIN;
use crate::fleet::tally::{DEPTH_STEPS_PER_OCTAVE, Work};
use std::collections::{BTreeMap, HashMap};

/// Values of a label whose devices must have done such work, where there are so many.
const VALUES_ENOUGH: usize = 3;
/// Windows of devices from which on a median is sure enough to bound others: of many bounds the lowest
/// holds.
const BOUNDING: u32 = 60;
/// Width of a bin of the logarithm of the latency: far below what a device differs by from the next.
const BIN: f64 = 0.02;

/// What a quarter more or fewer reads may do to the time of either, as a logarithm: from pure reads to
/// mostly writes four and a half times. It is a choice: no law bounds it.
const MIX_STEP: f64 = 0.5;

/// What a bound allows for the scatter of readings where it holds a median down, as a logarithm. A reading that
/// chance makes longer shows as much more concurrency too. So where loads keep a few fixed depths, as batch jobs do,
/// the depths between them are seen only in readings that chance made short or long, and the lowest of all
/// their medians would hold the others down. It is a choice, tried beside none and twice as much in simulated fleets.
const SCATTER: f64 = 0.1;

/// What was seen of one kind of work.
struct Seen {
    /// The first devices of it, up to those that are enough.
    devices: Vec<u32>,
    /// The first values of each label that devices may have in common.
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

/// How a latency compares with what is known of such work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Expected {
    /// Healthy devices take this, as a logarithm.
    Median(f64),
    /// Healthy devices take at most this.
    AtMost(f64),
}

/// What the devices of one kind take.
pub(crate) struct Reference {
    /// Values of each label that must have been seen.
    needed: Vec<usize>,
    cells: HashMap<Work, Seen>,
    /// Work that is known, in order, with the median of it and whether that bounds others.
    known: Vec<(Work, f64, bool)>,
    expected: HashMap<Work, Option<Expected>>,
}

impl Reference {
    /// Of devices that have so many values of each label that they may have in common.
    pub(crate) fn new(values: &[usize]) -> Self {
        let needed = values.iter().map(|values| VALUES_ENOUGH.min(*values)).collect();
        Self { needed, cells: HashMap::new(), known: Vec::new(), expected: HashMap::new() }
    }

    /// Takes in that a device took this long for such work in a window; `values` are those of its labels.
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

    /// Draws its conclusions from what was taken in.
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
        // Maps that are hashed have no order.
        self.known.sort_by_key(|(work, ..)| *work);
        self.expected.clear();
    }

    /// Labels of which too few values did such work, by number; `None` where what it takes is known.
    pub(crate) fn lacking(&self, work: Work) -> Option<Vec<usize>> {
        if self.known.binary_search_by_key(&work, |(known, ..)| *known).is_ok() {
            return None;
        }
        let Some(seen) = self.cells.get(&work) else { return Some(Vec::new()) };
        let all = seen.values.iter().zip(&self.needed).enumerate();
        Some(all.filter(|(_, (seen, needed))| seen.len() < **needed).map(|(at, _)| at).collect())
    }

    /// What healthy devices take for such work; `None` where nothing is known.
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

/// Whether the time of one kind of work says something of that of another: a small request may take
/// longer than a large one, as large ones are mostly sequential.
fn may_bound(known: Work, work: Work) -> bool {
    known.direction == work.direction && known.octave <= work.octave
}

/// Logarithm of how much longer one kind of work may take than another: in proportion to what is more,
/// nothing for what is less, and [`MIX_STEP`] for each quarter of the mix.
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

    /// A device of eight servers that a bandwidth holds: flat, then in proportion.
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
        // In proportion from where it is in proportion already.
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
            // A host with a size of its own, and slow devices of many hosts where no other comes.
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
                // Batch jobs of a fixed depth, and others of twice the depth, of which short readings alone fall
                // between both.
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
