//! What settings ask of a profile.

use super::Derived;
use model::Predictor;
use record::{
    Arrival, Cell, CommitPoint, Commits, DepthCurve, DepthPoint, DeviceFacts, Locality, LogKind,
    Mix, Offered, OpKind, Profile, format_bytes, format_count, format_nanos,
};

/// Share of the largest throughput from which on larger requests are not worth their memory.
const NEARLY: f64 = 0.9;

pub(super) struct ProfileFacts<'a> {
    pub(super) profile: &'a Profile,
    predictor: Predictor,
    /// Those of the profile of this disk before it.
    earlier: Option<Box<Self>>,
}

impl<'a> ProfileFacts<'a> {
    /// Of a profile, and of those of the same disk before it, the latest first.
    pub(super) fn new(profile: &'a Profile, earlier: &'a [Profile]) -> Self {
        let earlier =
            earlier.split_first().map(|(first, others)| Box::new(Self::new(first, others)));
        Self { profile, predictor: Predictor::new(profile), earlier }
    }

    /// What the profile before this one of the same disk says.
    pub(super) fn earlier(&self) -> Option<&Self> {
        self.earlier.as_deref()
    }

    /// Cells of one kind past the page cache in a closed loop, with the size of their requests.
    fn cells(&self, op: OpKind, place: Locality) -> impl Iterator<Item = (&'a Cell, u64)> {
        self.profile.cells.iter().filter_map(move |cell| {
            let workload = &cell.workload;
            let plain = workload.arrival == Arrival::Closed && workload.blend.is_none();
            let mix = model::mix_of(workload).filter(|_| plain)?;
            let [class] = mix.classes.as_slice() else { return None };
            ((class.op, class.locality) == (op, place)).then_some((cell, class.bytes))
        })
    }

    /// Sequential requests one at a time.
    fn streams_alone(&self, op: OpKind) -> impl Iterator<Item = (&'a Cell, u64)> {
        self.cells(op, Locality::Sequential).filter(|(cell, _)| cell.workload.depth == 1)
    }

    /// An error unless requests of a kind were measured.
    fn known(&self, op: OpKind, locality: Locality) -> Result<(), String> {
        if self.predictor.knows(op, locality) {
            return Ok(());
        }
        let (place, op) = (locality.word(), op.name());
        Err(format!("the profile has no {place} {op}s past the page cache"))
    }

    /// The largest rate of requests of a kind and size, and whether that size was measured.
    pub(super) fn rate(
        &self,
        op: OpKind,
        locality: Locality,
        bytes: u64,
    ) -> Result<(f64, &'static str), String> {
        self.known(op, locality)?;
        let max = self.predictor.max_rate(&Mix::one(op, locality, bytes));
        let max = max.map_err(|error| error.to_string())?;
        let measured = self.cells(op, locality).any(|(_, size)| size == bytes);
        Ok((max.value, if measured { "" } else { ", computed from the sizes that were measured" }))
    }

    /// The time of a request of a kind and size with no other in progress.
    pub(super) fn alone_ns(
        &self,
        op: OpKind,
        locality: Locality,
        bytes: u64,
    ) -> Result<f64, String> {
        self.known(op, locality)?;
        let found = self.predictor.predict(&Mix::one(op, locality, bytes), Offered::Depth(1.0));
        Ok(found.map_err(|error| error.to_string())?.latency_ns.value)
    }

    /// The sequential requests with the largest throughput, and their size.
    pub(super) fn fastest_stream(&self, op: OpKind) -> Result<(&'a Cell, u64), String> {
        let best = fastest(self.cells(op, Locality::Sequential));
        best.ok_or_else(|| format!("the profile has no sequential {}s", op.name()))
    }

    /// The largest throughput of sequential requests, in words.
    pub(super) fn largest_flow(&self, op: OpKind) -> Derived {
        let (cell, bytes) = self.fastest_stream(op)?;
        let (op, size, depth) = (op.name(), format_bytes(bytes), cell.workload.depth);
        let words =
            format!("the largest throughput of sequential {op}s, with {size} at depth {depth}");
        Ok((format!("{:.0}", cell.bytes_per_s.value), words))
    }

    /// The largest rate of requests of 4 KiB, in words.
    pub(super) fn largest_rate(&self, op: OpKind, locality: Locality) -> Derived {
        let (rate, how) = self.rate(op, locality, 4 << 10)?;
        let (place, op) = (locality.word(), op.name());
        Ok((format!("{rate:.0}"), format!("the largest rate of {place} {op}s of 4 KiB{how}")))
    }

    /// The smallest measured size of sequential requests, one at a time, that gives nearly the
    /// largest throughput of such; with the derivation's words.
    pub(super) fn enough_bytes(&self, op: OpKind) -> Result<(u64, String), String> {
        let mut sizes: Vec<(u64, f64)> =
            self.streams_alone(op).map(|(cell, bytes)| (bytes, cell.bytes_per_s.value)).collect();
        sizes.sort_by_cached_key(|&(bytes, _)| bytes);
        if sizes.len() < 3 {
            return Err(format!(
                "the profile has no three sizes of sequential {}s one at a time; `check --full` \
                 measures them",
                op.name()
            ));
        }
        let most = sizes.iter().map(|size| size.1).fold(0.0, f64::max);
        let enough = sizes.iter().find(|size| size.1 >= NEARLY * most).map_or(0, |size| size.0);
        let last = sizes.last().map_or(0, |size| size.0);
        let beyond = if enough == last { ", the largest that was tried" } else { "" };
        let words = format!(
            "sequential {}s one at a time reach {:.0} % of their largest throughput ({}) with \
             requests of {}{beyond}",
            op.name(),
            NEARLY * 100.0,
            record::format_rate(most),
            format_bytes(enough)
        );
        Ok((enough, words))
    }

    /// The depth curve of random requests.
    pub(super) fn curve(&self, op: OpKind) -> Result<&'a DepthCurve, String> {
        let curve = self.profile.depth_curves.iter().find(|curve| curve.op == op);
        curve.ok_or_else(|| format!("the profile has no depth curve of random {}s", op.name()))
    }

    /// The depth beyond which more hardly helps, with the derivation's words. One that an earlier check of
    /// the disk gave stays, unless this measurement excludes it.
    pub(super) fn knee(&self, op: OpKind) -> Result<(u32, String), String> {
        let curve = self.curve(op)?;
        let name = op.name();
        let size = format_bytes(curve.bs_bytes);
        let last = curve.points.last().ok_or_else(|| format!("no depth of random {name}s"))?.depth;
        let Some(knee) = curve.knee else {
            let words = format!(
                "the rate of random {name}s of {size} still grew at {last} outstanding, the highest that \
                was tried; a check with higher queue depths may show more"
            );
            return Ok((last, words));
        };
        let earlier = self.earlier().and_then(|earlier| Some(earlier.knee(op).ok()?.0));
        if let Some(before) = earlier.filter(|before| cannot_tell(curve, knee, *before)) {
            let words = format!(
                "an earlier check of this disk found {before} random {name}s of {size} outstanding to be \
                 enough; this one found {knee}, which is the same within its error"
            );
            return Ok((before, words));
        }
        let words = format!(
            "beyond {knee} random {name}s of {size} outstanding the rate grows less than {:.0} % per \
             doubling (largest: {})",
            curve.knee_gain * 100.0,
            record::format_iops(curve.max_iops.value)
        );
        Ok((knee, words))
    }

    /// The deepest queue of random requests at which the page of the profile still finds most of the rate,
    /// of reads and of writes, with the derivation's words.
    pub(super) fn deepest(&self) -> Result<(u32, String), String> {
        let of = |op| {
            let curve = self.curve(op)?;
            let (knee, _) = self.knee(op)?;
            let from = curve.points.iter().position(|point| point.depth >= knee).unwrap_or(0);
            let busy = model::enough(&model::rates(&curve.points), from);
            Ok::<_, String>(curve.points.get(busy).map_or(knee, |point| point.depth.max(knee)))
        };
        let (reads, writes) = (of(OpKind::Read)?, of(OpKind::Write).unwrap_or_default());
        let words = match writes {
            0 => format!("random reads gain up to {reads} outstanding"),
            writes => {
                format!("random reads gain up to {reads} outstanding, writes up to {writes}")
            }
        };
        Ok((reads.max(writes), words))
    }

    /// How much longer a random request takes than its share of a sequential stream, both at queue
    /// depth 1, with both in words. A stream asks ahead in large requests, so that its share is that of
    /// the size with the largest throughput at that depth.
    pub(super) fn random_over_sequential(
        &self,
        op: OpKind,
        bytes: u64,
    ) -> Result<(f64, String), String> {
        let random = self.alone_ns(op, Locality::Random, bytes)?;
        let (cell, size) = fastest(self.streams_alone(op))
            .ok_or_else(|| format!("the profile has no sequential {}s at depth 1", op.name()))?;
        let per_s = cell.bytes_per_s.value;
        let sequential = bytes as f64 / per_s * 1e9;
        let words = format!(
            "both at queue depth 1: a random {} of {} takes {}, one in sequence {} (its share of \
             requests of {} at {})",
            op.name(),
            format_bytes(bytes),
            format_nanos(random),
            format_nanos(sequential),
            format_bytes(size),
            record::format_rate(per_s)
        );
        Ok((random / sequential, words))
    }

    /// What commits came to, or why that is not known.
    pub(super) fn commits(&self) -> Result<&'a Commits, String> {
        self.profile.commits.known().map_err(|why| format!("the profile has no commits: {why}"))
    }

    /// One committer on a log, with its numbers in words.
    pub(super) fn commit(&self, log: LogKind) -> Result<(&'a CommitPoint, String), String> {
        let point =
            self.commits()?.point(log, 1).ok_or("the profile has no commits of one committer")?;
        let words = format!(
            "one that writes {} and flushes commits {} times per second ({}), a flush taking {}",
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

/// Of cells with their sizes the one with the largest throughput.
fn fastest<'a>(cells: impl Iterator<Item = (&'a Cell, u64)>) -> Option<(&'a Cell, u64)> {
    cells.max_by(|a, b| a.0.bytes_per_s.value.total_cmp(&b.0.bytes_per_s.value))
}

/// Whether the curve also allows another knee: the rates at both differ by less than their
/// errors, or the gain from the shallower to the deeper is within its error of what a knee asks for.
fn cannot_tell(curve: &DepthCurve, knee: u32, other: u32) -> bool {
    let at = |depth| curve.points.iter().find(|point: &&DepthPoint| point.depth == depth);
    let (Some(shallow), Some(deep)) = (at(knee.min(other)), at(knee.max(other))) else {
        return false;
    };
    let doublings = f64::from(deep.depth / shallow.depth).log2();
    let asked = (1.0 + curve.knee_gain).powf(doublings);
    let gain = deep.iops.over(&shallow.iops);
    (gain.low..=gain.high).contains(&asked) || !deep.iops.exceeds(&shallow.iops)
}
