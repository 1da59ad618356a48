//! Compares devices with each other if they do work that few other devices do.
//!
//! A rack with an application of its own has no baseline as a whole, because the devices that share a fault
//! also share the work. But a disk that takes twice as long as the other disks of the rack, in the same
//! hour for the same work, is slow by itself. A fault that all of them share cancels out. So devices are
//! compared within the rack or host that does the work. Each window is compared by itself, so that a rack
//! that becomes slow blames none of its disks.

use crate::fleet::PEERS_MIN;
use crate::fleet::reference::{Expected, Reference, steepest};
use crate::fleet::tally::Work;
use stats::median;
use std::collections::{BTreeMap, HashMap};

/// Minimum number of devices for which a median may bound other work.
const BOUNDING: usize = 2 * PEERS_MIN;
/// `ANY`: the label is not used to separate devices. `NONE`: the device does not have the label.
const ANY: u32 = u32::MAX;
const NONE: u32 = u32::MAX - 1;

/// Devices of one kind that share work in one window.
#[derive(Default)]
pub(crate) struct Nearest {
    /// The labels that separate the devices, by kind of work.
    lacking: BTreeMap<Work, Option<Vec<usize>>>,
    /// Latencies of the devices for this work, as logarithms, by work and shared label values.
    times: HashMap<(Work, Vec<u32>), Vec<f64>>,
    /// The median of each, and whether it may bound other work.
    medians: HashMap<(Work, Vec<u32>), (f64, bool)>,
    expected: HashMap<(Work, Vec<u32>), Option<Expected>>,
}

impl Nearest {
    /// Adds the latency (logarithm) of a device with these label values, if the reference has no median for
    /// this work.
    pub(crate) fn add(
        &mut self,
        reference: &Reference,
        work: Work,
        values: &[Option<u32>],
        log: f64,
    ) {
        let lacking = self.lacking.entry(work).or_insert_with(|| reference.lacking(work));
        if let Some(lacking) = lacking {
            self.times.entry((work, shared(lacking, values))).or_default().push(log);
        }
    }

    /// Computes the medians from the added latencies.
    pub(crate) fn settle(&mut self) {
        let enough = self.times.drain().filter(|(_, times)| times.len() >= PEERS_MIN);
        self.medians = enough
            .map(|(key, times)| {
                let bounds = times.len() >= BOUNDING;
                (key, (median(times), bounds))
            })
            .collect();
    }

    /// The latency expected from the devices that share the work and these label values; `None` if too few
    /// did this work or any work that bounds it.
    pub(crate) fn expected(&mut self, work: Work, values: &[Option<u32>]) -> Option<Expected> {
        // All labels are in the key, because the work that bounds may be separated by other labels than the
        // work itself.
        let all: Vec<u32> = values.iter().map(|value| value.unwrap_or(NONE)).collect();
        let key = (work, all);
        if let Some(found) = self.expected.get(&key) {
            return *found;
        }
        let of = |work: Work, lacking: &[usize]| self.medians.get(&(work, shared(lacking, values)));
        let lacking = self.lacking.get(&work).and_then(Option::as_deref);
        let own = lacking.and_then(|lacking| of(work, lacking));
        // Work of another size or mix gives no bound, because its latency is unrelated.
        let depths = Work { depth: 0, ..work }..=Work { depth: u8::MAX, ..work };
        let bound = self
            .lacking
            .range(depths)
            .filter(|(known, _)| **known != work)
            .filter_map(|(known, lacking)| {
                let (log, bounds) = of(*known, lacking.as_deref()?)?;
                bounds.then(|| log + steepest(*known, work))
            })
            .min_by(f64::total_cmp);
        let found = match (own, bound) {
            (Some((median, _)), bound) => {
                Some(Expected::Median(bound.map_or(*median, |bound| median.min(bound))))
            }
            (None, bound) => bound.map(Expected::AtMost),
        };
        self.expected.insert(key, found);
        found
    }
}

/// The label values that a device shares with those that it is compared with.
fn shared(lacking: &[usize], values: &[Option<u32>]) -> Vec<u32> {
    let value = |at: usize| if lacking.contains(&at) { values[at].unwrap_or(NONE) } else { ANY };
    (0..values.len()).map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    const WORK: Work = Work { direction: 0, octave: 12, mix: 1, depth: 4 };

    #[test]
    fn one_of_a_rack_shows_among_the_others_and_the_rack_itself_does_not() {
        // Rack 7 has an application of its own and is slow. One of its devices is slower still.
        let mut reference = Reference::new(&[20]);
        let (rack, other) = ([Some(7)], [Some(8)]);
        let time = |device: u32| -4.0 + if device == 3 { LN_2 } else { 0.0 };
        for device in 0..12 {
            reference.add(WORK, device, &rack, time(device));
        }
        reference.settle();
        assert_eq!(reference.expected(WORK), None);
        let mut nearest = Nearest::default();
        for device in 0..12 {
            nearest.add(&reference, WORK, &rack, time(device));
        }
        nearest.settle();
        assert_eq!(nearest.expected(WORK, &rack), Some(Expected::Median(-4.0)));
        assert_eq!(nearest.expected(WORK, &other), None);
        // Twice the concurrency takes at most twice the time. Another size has no expectation.
        let deeper = Work { depth: 8, ..WORK };
        nearest.add(&reference, deeper, &rack, -2.0);
        let Some(Expected::AtMost(bound)) = nearest.expected(deeper, &rack) else { panic!() };
        assert!((bound - (-4.0 + LN_2)).abs() < 1e-9, "{bound}");
        assert_eq!(nearest.expected(Work { octave: 13, ..WORK }, &rack), None);
    }

    #[test]
    fn work_that_many_racks_did_is_judged_by_all_of_them() {
        let mut reference = Reference::new(&[20]);
        for device in 0..12 {
            reference.add(WORK, device, &[Some(device / 3)], -4.0);
        }
        reference.settle();
        let mut nearest = Nearest::default();
        for device in 0..12 {
            nearest.add(&reference, WORK, &[Some(device / 3)], -4.0);
        }
        nearest.settle();
        assert_eq!(nearest.expected(WORK, &[Some(0)]), None);
    }
}
