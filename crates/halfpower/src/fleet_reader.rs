//! Reads a fleet's counters window by window, as the server stores them, and accumulates them at once.

use crate::fleet_devices::{Disk, Key, Span};
use ::model::fleet::{COUNTERS, Scrape, Tally, fold};
use live::prometheus::{Client, RawQuery, RawSeries};
use std::collections::HashMap;

/// Reads windows of samples and accumulates them per disk.
pub(crate) struct Reader<'a> {
    disks: &'a [Disk],
    /// Index of the samples of each key, and of each disk.
    places: HashMap<Key, usize>,
    place_of: Vec<usize>,
    /// Samples of the window, by place and counter.
    samples: Vec<[Vec<(i64, f64)>; 7]>,
    /// The last scrape of each disk.
    last: Vec<Option<Scrape>>,
    /// Totals of each disk.
    pub(crate) tallies: Vec<Tally>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(disks: &'a [Disk]) -> Self {
        let mut places = HashMap::new();
        let place_of: Vec<usize> = disks
            .iter()
            .map(|disk| {
                let next = places.len();
                *places.entry(disk.key.clone()).or_insert(next)
            })
            .collect();
        Self {
            disks,
            samples: (0..places.len()).map(|_| Default::default()).collect(),
            places,
            place_of,
            last: vec![None; disks.len()],
            tallies: vec![Tally::default(); disks.len()],
        }
    }

    /// Reads one window.
    pub(crate) fn read(&mut self, client: &Client, span: Span, window: u64) -> anyhow::Result<()> {
        self.samples.iter_mut().flatten().for_each(Vec::clear);
        let query = RawQuery {
            begin_ms: i64::try_from(span.window_begin_s(window) * 1000)?,
            end_ms: i64::try_from(span.window_begin_s(window + 1) * 1000)? - 1,
            names: COUNTERS.join("|"),
        };
        let (places, samples) = (&self.places, &mut self.samples);
        client.raw(&query, |series: RawSeries| {
            let counter = series.labels.get("__name__");
            let counter =
                counter.and_then(|name| COUNTERS.iter().position(|counter| counter == name));
            let place = Key::of(&series.labels).and_then(|key| places.get(&key).copied());
            if let (Some(counter), Some(place)) = (counter, place) {
                samples[place][counter].extend(series.samples);
            }
            true
        })?;
        let unsorted = self.samples.iter_mut().flatten();
        // Replicas each send their own part of the samples.
        for counter in unsorted.filter(|it| !it.is_sorted_by_key(|(time, _)| *time)) {
            counter.sort_by_key(|(time, _)| *time);
            counter.dedup_by_key(|(time, _)| *time);
        }
        let longest_ms = i64::try_from(span.window_s * 1000)?;
        for (at, disk) in self.disks.iter().enumerate() {
            let tally = &mut self.tallies[at];
            if disk.stood_there(window) {
                fold(&self.samples[self.place_of[at]], &mut self.last[at], longest_ms, tally);
            } else {
                self.last[at] = None;
                tally.clear();
            }
        }
        Ok(())
    }
}
