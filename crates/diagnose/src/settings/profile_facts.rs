//! Answers the questions that the settings of other programs ask of a profile.

use super::Derived;
use model::Predictor;
use record::{
    Arrival, Cell, CommitPoint, Commits, DepthCurve, DeviceFacts, Estimate, Locality, LogKind, Mix,
    Offered, OpKind, Profile, format_bytes, format_count, format_nanos,
};

/// Share of the maximum throughput from which larger requests are not worth their memory.
const NEARLY: f64 = 0.9;

/// Largest ratio of the highest to the lowest value that the errors of a check allow, for which a
/// number is still given as a setting: about ±50 %.
const OPEN_MAX: f64 = 3.0;

pub(super) struct ProfileFacts<'a> {
    pub(super) profile: &'a Profile,
    predictor: Predictor,
    /// Facts of this disk's previous profile.
    earlier: Option<Box<Self>>,
}

impl<'a> ProfileFacts<'a> {
    /// From a profile, and from earlier profiles of the same disk, the latest first.
    pub(super) fn new(profile: &'a Profile, earlier: &'a [Profile]) -> Self {
        let earlier =
            earlier.split_first().map(|(first, others)| Box::new(Self::new(first, others)));
        Self { profile, predictor: Predictor::new(profile), earlier }
    }

    /// Facts of the previous profile of this disk.
    pub(super) fn earlier(&self) -> Option<&Self> {
        self.earlier.as_deref()
    }

    /// Closed-loop cells of one kind with direct I/O, with their request sizes.
    fn cells(&self, op: OpKind, place: Locality) -> impl Iterator<Item = (&'a Cell, u64)> {
        self.profile.cells.iter().filter_map(move |cell| {
            let workload = &cell.workload;
            let plain = workload.arrival == Arrival::Closed && workload.blend.is_none();
            let mix = model::mix_of(workload).filter(|_| plain)?;
            let [class] = mix.classes.as_slice() else { return None };
            ((class.op, class.locality) == (op, place)).then_some((cell, class.bytes))
        })
    }

    /// Sequential reads at queue depth 1.
    fn streams_alone(&self) -> impl Iterator<Item = (&'a Cell, u64)> {
        let reads = self.cells(OpKind::Read, Locality::Sequential);
        reads.filter(|(cell, _)| cell.workload.depth == 1)
    }

    /// An error unless random requests of this kind were measured.
    fn known(&self, op: OpKind) -> Result<(), String> {
        if self.predictor.knows(op, Locality::Random) {
            return Ok(());
        }
        Err(format!("the profile has no random {}s with direct I/O", op.name()))
    }

    /// Maximum rate of random requests of a size, and whether that size was measured.
    pub(super) fn rate(&self, op: OpKind, bytes: u64) -> Result<(Estimate, &'static str), String> {
        self.known(op)?;
        let max = self.predictor.max_rate(&Mix::one(op, Locality::Random, bytes));
        let max = max.map_err(|error| error.to_string())?;
        let measured = self.cells(op, Locality::Random).any(|(_, size)| size == bytes);
        Ok((max, if measured { "" } else { ", computed from the sizes that were measured" }))
    }

    /// Latency of a random read of a size at queue depth 1.
    pub(super) fn alone_ns(&self, bytes: u64) -> Result<Estimate, String> {
        self.known(OpKind::Read)?;
        let mix = Mix::one(OpKind::Read, Locality::Random, bytes);
        let found = self.predictor.predict(&mix, Offered::Depth(1.0));
        Ok(found.map_err(|error| error.to_string())?.latency_ns)
    }

    /// The sequential writes with the maximum throughput.
    pub(super) fn fastest_writes(&self) -> Result<&'a Cell, String> {
        let best = fastest(self.cells(OpKind::Write, Locality::Sequential));
        best.map(|(cell, _)| cell).ok_or_else(|| "the profile has no sequential writes".to_owned())
    }

    /// The value derived from an estimate, if both ends of its interval give the same value, or numbers whose
    /// ratio is at most [`OPEN_MAX`]. Otherwise an error with the command that narrows it.
    pub(super) fn settled(
        &self,
        estimate: &Estimate,
        words: &str,
        value: impl Fn(f64) -> String,
    ) -> Derived {
        let [least, most] = [estimate.low.max(0.0), estimate.high].map(&value);
        let number = |text: &str| text.trim_end_matches("kB").parse::<f64>().ok();
        let near = match number(&least).zip(number(&most)) {
            Some((low, high)) => low.max(high) <= OPEN_MAX * low.min(high),
            None => least == most,
        };
        if near {
            let open = if least == most { String::new() } else { format!(" ({least} to {most})") };
            return Ok((value(estimate.value), format!("{words}{open}")));
        }
        Err(format!(
            "uncertain: the error bars of this check range from {least} to {most}. {}. To narrow \
             the range, stop other programs and run: {}",
            words.trim_end_matches('.'),
            self.profile.longer_check()
        ))
    }

    /// The smallest measured size of sequential reads at queue depth 1 that gives nearly the
    /// maximum throughput at that depth, with the words of its derivation. Its interval spans the
    /// sizes that the errors allow.
    pub(super) fn enough_bytes(&self) -> Result<(Estimate, String), String> {
        let mut sizes: Vec<(u64, Estimate)> =
            self.streams_alone().map(|(cell, bytes)| (bytes, cell.bytes_per_s)).collect();
        sizes.sort_by_cached_key(|&(bytes, _)| bytes);
        if sizes.len() < 3 {
            return Err("the profile has fewer than three sizes of sequential reads at QD 1; \
                        `check --full` measures them"
                .to_owned());
        }
        let rates: Vec<Estimate> = sizes.iter().map(|(_, rate)| *rate).collect();
        let largest = rates.iter().map(|rate| rate.value).fold(0.0, f64::max);
        let found = model::enough(&rates, NEARLY).ok_or("no size was measured")?;
        let [enough, least, surely] =
            [found.at, found.least, found.most].map(|index| sizes[index].0);
        let beyond = if found.at + 1 == sizes.len() { ", the largest that was tried" } else { "" };
        let words = format!(
            "sequential reads at QD 1 reach {:.0} % of their maximum throughput ({}) with {} \
             requests{beyond}",
            NEARLY * 100.0,
            record::format_rate(largest),
            format_bytes(enough)
        );
        Ok((Estimate::spanning(enough as f64, least as f64, surely as f64, 0), words))
    }

    /// The depth curve of random requests.
    pub(super) fn curve(&self, op: OpKind) -> Result<&'a DepthCurve, String> {
        let curve = self.profile.depth_curves.iter().find(|curve| curve.op == op);
        curve.ok_or_else(|| format!("the profile has no depth curve of random {}s", op.name()))
    }

    /// The sufficient depth, with an interval of the depths that the errors of the curve allow, and
    /// the words of its derivation. A value from an earlier check of the disk stays unless this
    /// measurement excludes it.
    pub(super) fn knee(&self, op: OpKind) -> Result<(Estimate, String), String> {
        let curve = self.curve(op)?;
        let (name, size) = (op.name(), format_bytes(curve.bs_bytes));
        let none = || format!("no queue depth was found to be sufficient for random {name}s");
        let enough = model::deep_enough(&model::rates(&curve.points), curve.knee_gain);
        let enough = enough.ok_or_else(none)?;
        let depth = |index: usize| curve.points[index].depth;
        let chosen = depth(enough.at);
        let between = |depth_now: u32| {
            let [least, most] = [enough.least, enough.most].map(|index| f64::from(depth(index)));
            Estimate::spanning(f64::from(depth_now), least, most, 0)
        };
        if enough.at + 1 == curve.points.len() {
            let words = format!(
                "{size} random {name}s were fastest at queue depth {chosen}, the highest tried; a \
                 higher one may be faster still"
            );
            return Ok((between(chosen), words));
        }
        let earlier =
            self.earlier().and_then(|earlier| Some(earlier.knee(op).ok()?.0.value as u32));
        let open = depth(enough.least)..=depth(enough.most);
        if let Some(before) = earlier.filter(|before| *before != chosen && open.contains(before)) {
            let words = format!(
                "an earlier check of this disk found queue depth {before} to be enough for {size} \
                 random {name}s; this check found {chosen}, and its error bars include both"
            );
            return Ok((between(before), words));
        }
        let share = curve.points[enough.at].iops.value / curve.max_iops.value;
        let words = format!(
            "queue depth {chosen} gives {} of the maximum rate of {size} random {name}s ({})",
            record::format_share(share),
            record::format_iops(curve.max_iops.value)
        );
        Ok((between(chosen), words))
    }

    /// The larger of the sufficient depths for random reads and for random writes, with the words
    /// of its derivation.
    pub(super) fn deepest(&self) -> Result<(Estimate, String), String> {
        let (reads, _) = self.knee(OpKind::Read)?;
        let words = format!("queue depth {:.0} is enough for random reads", reads.value);
        let Ok((writes, _)) = self.knee(OpKind::Write) else { return Ok((reads, words)) };
        let words = format!("{words}, {:.0} for writes", writes.value);
        let [value, low, high] =
            [(reads.value, writes.value), (reads.low, writes.low), (reads.high, writes.high)]
                .map(|(reads, writes)| reads.max(writes));
        Ok((Estimate::spanning(value, low, high, 0), words))
    }

    /// Ratio of the latency of a random read to its share of a sequential stream, both at queue
    /// depth 1, with both in words. A stream uses large requests by read-ahead, so its share is
    /// that of the size with the maximum throughput at that depth.
    pub(super) fn random_over_sequential(&self, bytes: u64) -> Result<(Estimate, String), String> {
        let random = self.alone_ns(bytes)?;
        let (cell, size) =
            fastest(self.streams_alone()).ok_or("the profile has no sequential reads at QD 1")?;
        // The variation between runs is part of the random read's error.
        let per_s = cell.bytes_per_s;
        let sequential = bytes as f64 / per_s.value * 1e9;
        let words = format!(
            "at queue depth 1, a random read of {} takes {} and a sequential one {} (as part of {} \
             requests at {})",
            format_bytes(bytes),
            format_nanos(random.value),
            format_nanos(sequential),
            format_bytes(size),
            record::format_rate(per_s.value)
        );
        let rel = [random, per_s].map(|one| one.half_width() / one.value);
        let ratio = random.value / sequential;
        Ok((Estimate::within_ratio(ratio, libm::hypot(rel[0], rel[1])), words))
    }

    /// The measured commits, or why they are unknown.
    pub(super) fn commits(&self) -> Result<&'a Commits, String> {
        self.profile.commits.known().map_err(|why| format!("the profile has no commits: {why}"))
    }

    /// A single committer on a log, with its numbers in words.
    pub(super) fn commit(&self, log: LogKind) -> Result<(&'a CommitPoint, String), String> {
        let point = self
            .commits()?
            .point(log, 1)
            .ok_or("the profile has no commits by a single committer")?;
        let words = format!(
            "one committer that flushes after each write of {} completes {} commits per second \
             ({}), at {} per flush",
            format_bytes(point.bytes.0),
            format_count(point.commits_per_s.value),
            log.name(),
            format_nanos(point.flush_ns.value)
        );
        Ok((point, words))
    }

    pub(super) fn device(&self) -> Option<&'a DeviceFacts> {
        self.profile.target.device.as_ref()
    }
}

/// The cell with the maximum throughput, and its request size.
fn fastest<'a>(cells: impl Iterator<Item = (&'a Cell, u64)>) -> Option<(&'a Cell, u64)> {
    cells.max_by(|a, b| a.0.bytes_per_s.value.total_cmp(&b.0.bytes_per_s.value))
}
