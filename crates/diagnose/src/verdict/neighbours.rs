//! Who shares a device, and what their flushes do to the others.
//!
//! A neighbour is a group of processes with most of the flushes, of the time in progress or of the bytes, beside
//! others that use the device too. (By the number of requests a few large writes of a copy that fills the device would
//! be nothing beside the small reads that wait for them.) Which of them a reader cares for is not known, so that the
//! group is named with its figures and no guess. Flushes are looked at first: few of them stop
//! many requests, because the device writes out its cache and the file system commits its journal
//! meanwhile, and that wait is in no counter of reads and writes. The threads of the kernel write for
//! others and are nobody's neighbour. Rejected: the share of one process (eight writers share it).

use super::device_users::{NeighbourBy, NeighbourGroup};
use super::facts::{REQUESTS_MIN, Segment};
use record::{IoGroup, format_count, format_nanos};

/// Flushes count from this share of the requests, or of the time in a flush, on.
const FLUSHES_SHARE: f64 = 0.05;
/// Requests that take this many times what a lone one takes wait for others.
const WAITS_BESIDE: f64 = 1.3;

/// Flushes that are many.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flushes {
    /// Of the device, per second; `None` where the source does not tell.
    device_per_s: Option<f64>,
    each_ns: Option<f64>,
    /// fsyncs of programs per second.
    fsyncs_per_s: f64,
}

impl Segment<'_> {
    /// Who uses the device much, beside others.
    pub(crate) fn neighbour(&self) -> Option<NeighbourGroup<'_>> {
        let users = self.around.users.as_ref()?;
        let bytes = |group: &IoGroup| group.read_bytes_per_s + group.write_bytes_per_s;
        let each = [&self.tally.read, &self.tally.write].map(|op| op.latency_ns().unwrap_or(0.0));
        let work = |group: &IoGroup| group.reads_per_s * each[0] + group.writes_per_s * each[1];
        self.many_flushes()
            .and_then(|_| {
                users.most(users.flushing.iter(), NeighbourBy::Flushes, IoGroup::syncs_per_s)
            })
            .or_else(|| users.most(users.programs(), NeighbourBy::Work, work))
            .or_else(|| users.most(users.programs(), NeighbourBy::Bytes, bytes))
    }

    /// `840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn figures(&self, group: &IoGroup) -> String {
        group.figures(self.around.users.as_ref().map_or(&[], |users| &users.groups))
    }

    /// `fio ×8 in /user.slice: 840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn told(&self, group: &IoGroup) -> String {
        format!("{}: {}", group.label(), self.figures(group))
    }

    /// `fio ×8 in /user.slice has 93 % of the flushes and 18 % of the requests: 840 fsyncs/s, 61 % of the writes`.
    pub(crate) fn neighbour_told(&self, neighbour: &NeighbourGroup<'_>) -> String {
        let (group, shares) = (neighbour.group, neighbour.shares());
        format!("{} has {shares}: {}", group.label(), self.figures(group))
    }

    /// Whether requests take longer than lone ones would, whatever is expected of so many.
    pub(crate) fn waits_beside(&self) -> bool {
        self.best_look().is_some_and(|(look, latency)| {
            (latency - self.waking_ns) / look.unloaded_ns.max(1.0) >= WAITS_BESIDE
        })
    }

    /// Time in flushes, over the time.
    pub(crate) fn in_flush(&self) -> Option<f64> {
        Some(self.tally.flush_ns? / 1e9 / self.tally.seconds.max(1e-9))
    }

    /// Flushes, where they are many.
    pub(crate) fn many_flushes(&self) -> Option<Flushes> {
        let seconds = self.tally.seconds.max(1e-9);
        let users = self.around.users.as_ref();
        let fsyncs_per_s = users.map_or(0.0, |users| users.sum(|group| group.fsyncs_per_s));
        let count = self.tally.flushes.unwrap_or(0.0).max(fsyncs_per_s * seconds);
        let in_flush = self.in_flush().unwrap_or(0.0);
        let often = count >= FLUSHES_SHARE * self.tally.all.count() || in_flush >= FLUSHES_SHARE;
        (count >= REQUESTS_MIN && often).then(|| Flushes {
            device_per_s: self.tally.flushes.map(|count| count / seconds),
            each_ns: self
                .tally
                .flush_ns
                .zip(self.tally.flushes.filter(|count| *count > 0.0))
                .map(|(time_ns, count)| time_ns / count),
            fsyncs_per_s,
        })
    }

    /// Who flushes most, or how to learn it.
    pub(crate) fn who_flushes(&self) -> String {
        let Some(users) = &self.around.users else {
            return "Run as root to count flushes per program.".to_owned();
        };
        let most = users.flushing.iter().max_by(|a, b| a.syncs_per_s().total_cmp(&b.syncs_per_s()));
        match most {
            Some(group) => format!("Most come from {}.", self.told(group)),
            None => {
                "No fsync calls were seen: the file system does not report them, or the kernel \
                 flushes on its own."
                    .to_owned()
            }
        }
    }
}

impl Flushes {
    /// `fsync runs 840 times/s; the device flushes 210 times/s, 3.1 ms each`.
    pub(crate) fn sentence(&self) -> String {
        let mut parts = Vec::new();
        if self.fsyncs_per_s > 0.0 {
            parts.push(format!("programs call fsync {} times/s", format_count(self.fsyncs_per_s)));
        }
        if let Some(per_s) = self.device_per_s.filter(|per_s| *per_s > 0.0) {
            let each = self.each_ns.filter(|each| *each > 0.0).map(format_nanos);
            let each = each.map(|each| format!(", {each} each")).unwrap_or_default();
            parts.push(format!("the device flushes {} times/s{each}", format_count(per_s)));
        }
        parts.join("; ")
    }

    /// What stands behind the sentence.
    pub(crate) fn numbers(&self) -> Vec<super::judgement::Number> {
        let mut numbers = vec![("fsyncs", self.fsyncs_per_s, "1/s")];
        numbers.extend(self.device_per_s.map(|per_s| ("flushes of the device", per_s, "1/s")));
        numbers.extend(self.each_ns.map(|each_ns| ("latency of a flush", each_ns, "ns")));
        numbers
    }
}
