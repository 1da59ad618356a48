//! The flags of `predict`: a load, and optionally a change.
//!
//! The load comes from flags or from a recording; changes are flags, too. Three flags can be either. If no
//! load is set yet, they set it; otherwise they change it. `--bs 4k --bs 64k` therefore changes 4k to 64k.

use crate::failure::usage;
use crate::run_args::ARRIVALS;
use crate::store_args::ViewArgs;
use crate::values::{
    Mix as Sizes, choice, depth, mix, part, percent, raid, rate, short_time, unit,
};
use clap::Args;
use model::whatif::Setup;
use plan::LoadSpec;
use record::{Arrival, Bytes, Change, LogKind, Mix, Nanos, Objective, Offered, RaidLevel, Replay};
use std::path::PathBuf;
use workload::replay;

/// Percentage of reads without `--rwmixread`.
const READ_PERCENT: u8 = 100;
/// Request size without `--bs`.
const BS: Bytes = Bytes(4096);

/// Names of the log types that sessions commit to.
const LOGS: &[(&str, LogKind)] =
    &[("overwritten", LogKind::Overwritten), ("new-blocks", LogKind::NewBlocks)];

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  \
    halfpower predict last --rate-iops 3000 --rwmixread 70% --bs 8k\n  \
    halfpower predict last --bs 8k --slo p99=5ms    the highest rate that meets it\n  \
    halfpower predict last --rate-iops 90 --disks 4 --raid 5  before and after\n  \
    halfpower predict last --bs 4k --iodepth 1 --iodepth 16   QD 1, then QD 16\n  \
    halfpower predict night.json --host-cache 60%     the load of a recording\n  \
    halfpower predict last --sessions 16 --work 200us       commits of a database",
    after_long_help = "Examples:\n  \
    halfpower predict last --rate-iops 3000 --bs 8k --sequential 20%\n  \
    halfpower predict last --iodepth 16 --bs 64k\n  \
    halfpower predict last --rwmixread 70% --bs 8k --slo p99=5ms --slo mean=2ms\n  \
    halfpower predict last --now --rate-iops 3000 --bs 8k\n  \
    halfpower predict last --sessions 16 --work 200us     commits of a database\n  \
    halfpower predict --spec drive.toml --rate-iops 80 --bs 4k\n\n\
    Before and after a change:\n  \
    halfpower predict last --rate-iops 90 --bs 8k --disks 4 --raid 5\n  \
    halfpower predict last --rate-iops 3000 --faster 30% --cache-hit 80%\n  \
    halfpower predict last --bs 4k --iodepth 1 --iodepth 16      QD 1, then QD 16\n  \
    halfpower predict night.json --profile last --host-cache 60%\n  \
    halfpower predict observed --balance                    the newest recording\n\n\
    --bs, --iodepth and --sequential describe the load. A second value, or any value\n\
    for a recording, is a change to that load. --sequential +30% (with a sign) is\n\
    always a change.\n\n\
    A data sheet is a TOML file:\n  \
    name = \"a server disk of 2003\"\n  \
    seek = \"5ms\"\n  \
    write-seek = \"5.5ms\"     # if it differs\n  \
    rpm = 10000\n  \
    transfer = \"43MB/s\"\n  \
    overhead = \"0.1ms\"       # controller and bus, if known"
)]
pub(crate) struct PredictArgs {
    /// A saved profile (an id, its beginning or end, or last), or a recording to take the load
    /// from: an id, a file of any tool, or "observed" for the newest recording.
    #[arg(value_name = "PROFILE|RECORDING", conflicts_with = "spec")]
    pub(crate) source: Option<String>,
    #[command(flatten, next_help_heading = "Load")]
    pub(crate) load: LoadArgs,
    /// Request size, or sizes with shares (4k/60:64k/40) [default: 4k]; a second value is a change.
    #[arg(long, value_name = "SIZE", value_parser = mix, help_heading = "Load")]
    pub(crate) bs: Vec<Sizes>,
    /// Constant queue depth instead of a rate; with a rate, or as a second value, it is a change.
    #[arg(long, value_name = "N", value_parser = depth, help_heading = "Load")]
    pub(crate) iodepth: Vec<f64>,
    /// Share of sequential requests; with a plus sign, a change that adds to the share.
    #[arg(long, value_name = "PERCENT", value_parser = sequential, help_heading = "Load")]
    pub(crate) sequential: Vec<Sequential>,
    /// Find the highest rate that meets this SLO: mean=2ms or p99=5ms. Can be repeated.
    #[arg(long, value_name = "TARGET", value_parser = objective, help_heading = "Load")]
    pub(crate) slo: Vec<Objective>,
    #[command(flatten)]
    pub(crate) sessions: SessionArgs,
    #[command(flatten, next_help_heading = "Changes")]
    pub(crate) change: ChangeArgs,
    /// Measure for about 40 s how much the device's speed differs from the profile, and adjust the
    /// prediction. The profile must come from `check --for-diagnosis`.
    #[arg(long, conflicts_with = "spec")]
    pub(crate) now: bool,
    /// Predict from a data sheet (seek, rotation and transfer times) and an M/M/1 queue, instead of
    /// a profile.
    #[arg(long, value_name = "FILE")]
    pub(crate) spec: Option<PathBuf>,
    /// Profile of the recorded device [default: the saved profile that matches].
    #[arg(long, value_name = "ID")]
    pub(crate) profile: Option<String>,
    /// Device of the recording [default: the busiest].
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Option<String>,
    #[command(flatten)]
    pub(crate) view: ViewArgs,
}

/// Predict commits instead of requests: number of sessions that share flushes.
#[derive(Debug, Args)]
pub(crate) struct SessionArgs {
    /// Predict commits instead of requests: number of sessions that share flushes.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000),
        conflicts_with_all = ["spec", "now", "rate_iops", "iodepth", "slo", "bs", "rwmixread"],
        help_heading = "Commits")]
    pub(crate) sessions: Option<u32>,
    /// Time that each session computes between two commits.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "0s",
        requires = "sessions",
        value_parser = short_time,
        help_heading = "Commits"
    )]
    pub(crate) work: Nanos,
    /// Number of CPUs for --work [default: as in the profiled machine].
    #[arg(long, value_name = "N", requires = "sessions", help_heading = "Commits",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) processors: Option<u32>,
    /// Bytes per commit with --log new-blocks, where only the first commit in a block has the cost
    /// of a new block [default: whole blocks].
    #[arg(long, value_name = "SIZE", requires = "sessions", help_heading = "Commits")]
    pub(crate) record: Option<Bytes>,
    /// Type of log: overwritten (files are reused, as in PostgreSQL and InnoDB) or new-blocks
    /// (files grow, as in etcd and MySQL's binary log).
    #[arg(long, value_name = "KIND", default_value = "overwritten", requires = "sessions",
        value_parser = choice(LOGS), help_heading = "Commits")]
    pub(crate) log: LogKind,
}

/// The flags that describe a load.
#[derive(Debug, Args)]
pub(crate) struct LoadArgs {
    /// Requests per second.
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate_iops: Option<f64>,
    /// Share of reads [default: 100%].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub(crate) rwmixread: Option<u8>,
    /// Share of requests that a cache of the device serves.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    pub(crate) hit: u8,
    /// How requests arrive: poisson (independently of each other) or constant (at equal intervals).
    #[arg(long, value_name = "NAME", default_value = "poisson", requires = "rate_iops",
        value_parser = choice(ARRIVALS))]
    arrival: Arrival,
}

impl LoadArgs {
    /// The mix of requests with these sizes; `sequential` is the percentage that continue the previous
    /// request.
    fn mix(&self, bs: Option<&Sizes>, sequential: u8) -> anyhow::Result<Mix> {
        let places = u32::from(sequential) + u32::from(self.hit);
        if places > 100 {
            let text = format!("--sequential and --hit add up to {places} %; use at most 100 %");
            return Err(usage(text));
        }
        let mut load = LoadSpec::random(self.rwmixread.unwrap_or(READ_PERCENT), BS.0);
        (load.sequential_percent, load.hit_percent) = (sequential, self.hit);
        if let Some(sizes) = bs {
            load.bs.clone_from(&sizes.0);
        }
        Ok(load.mix())
    }

    /// The offered load: a rate, or else a queue depth.
    fn offered(&self, depth: Option<f64>) -> Option<Offered> {
        let offered = match self.arrival {
            Arrival::Constant => Offered::ConstantPerS,
            _ => Offered::PoissonPerS,
        };
        self.rate_iops.map(offered).or(depth.map(Offered::Depth))
    }
}

pub(crate) fn objective(text: &str) -> Result<Objective, String> {
    let usage = "use mean=TIME or p99=TIME, for example p99=5ms";
    let (name, time) = text.split_once('=').ok_or(usage)?;
    if time.parse::<f64>().is_ok() {
        // Other flags read a bare number as seconds, which is rarely meant for a latency target.
        return Err(format!("write {time}ms or {time}s"));
    }
    let Nanos(time) = unit(time)?;
    match name {
        "mean" => Ok(Objective::MeanNs(time as f64)),
        "p99" => Ok(Objective::P99Ns(time as f64)),
        _ => Err(usage.to_owned()),
    }
}

/// The flags that describe a change.
#[derive(Debug, Args)]
pub(crate) struct ChangeArgs {
    /// Reduce the device's time per request by this share.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    faster: Option<f64>,
    /// Replace the disk by this number of identical disks, combined by --raid.
    #[arg(long, value_name = "N", requires = "raid", help_heading = "Changes")]
    disks: Option<u32>,
    /// RAID level of --disks: 0, 1, 5, 6 or 10.
    #[arg(long, value_name = "LEVEL", value_parser = raid, requires = "disks",
        help_heading = "Changes")]
    raid: Option<RaidLevel>,
    /// Chunk size of an array: contiguous bytes on one disk.
    #[arg(long, value_name = "SIZE", default_value = "64k", help_heading = "Changes")]
    chunk: Bytes,
    /// Share of the random reads that a cache of the device serves.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    cache_hit: Option<f64>,
    /// Latency of a read that the cache of --cache-hit serves [default: the latency of re-reads in
    /// the profile].
    #[arg(long, value_name = "TIME", requires = "cache_hit", value_parser = short_time,
        help_heading = "Changes")]
    hit_time: Option<Nanos>,
    /// Share of the reads that the host's memory serves.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    host_cache: Option<f64>,
    /// Memory to add to the host's cache. The trace of --recorded shows how many reads this memory
    /// would serve.
    #[arg(long, value_name = "SIZE", requires = "recorded", help_heading = "Changes")]
    memory: Option<Bytes>,
    /// Put this limit in front of the device, in IOPS.
    #[arg(long, value_name = "N", value_parser = rate, help_heading = "Changes")]
    cap: Option<f64>,
    /// Remove the limit in front of the device.
    #[arg(long, help_heading = "Changes")]
    uncapped: bool,
    /// Make the device as fast as when it was profiled.
    #[arg(long, help_heading = "Changes")]
    as_profiled: bool,
    /// Share of the requests to move to another device.
    #[arg(long, value_name = "PERCENT", value_parser = part, help_heading = "Changes")]
    without: Option<f64>,
    /// Spread bursts: requests then arrive independently of each other.
    #[arg(long, help_heading = "Changes")]
    independent: bool,
    /// Balance the recorded load over the recorded devices.
    #[arg(long, help_heading = "Changes")]
    pub(crate) balance: bool,
    /// Count the extents of a file, as evidence for --sequential.
    #[arg(long, value_name = "FILE", help_heading = "Evidence")]
    pub(crate) extents_of: Option<PathBuf>,
    /// A trace of the device's requests: from `record --trace-io`, fio, blkparse or DiskSim.
    #[arg(long, value_name = "FILE", value_parser = crate::run_args::recording, requires = "memory",
        help_heading = "Evidence")]
    pub(crate) recorded: Option<Replay>,
}

/// A share of sequential requests, or an increase of it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sequential {
    Now(u8),
    More(u8),
}

pub(crate) fn sequential(text: &str) -> Result<Sequential, String> {
    match text.strip_prefix('+') {
        Some(more) => percent(more).map(Sequential::More),
        None => percent(text).map(Sequential::Now),
    }
}

impl PredictArgs {
    /// The load before any change.
    pub(crate) fn stated(&self) -> anyhow::Result<Setup> {
        let unsaid = || usage("name the load before the change: --rate-iops or --iodepth");
        Ok(Setup::new(self.mix()?, self.offered().ok_or_else(unsaid)?))
    }

    /// The requests before any change.
    pub(crate) fn mix(&self) -> anyhow::Result<Mix> {
        let sequential = match self.sequential.first() {
            Some(Sequential::Now(percent)) => *percent,
            _ => 0,
        };
        self.load.mix(self.bs.first(), sequential)
    }

    /// The rate or queue depth before any change.
    pub(crate) fn offered(&self) -> Option<Offered> {
        self.load.offered(self.iodepth.first().copied())
    }

    /// The requested changes. `observed`: the load comes from a recording, not from flags.
    pub(crate) fn changes(&self, observed: bool) -> anyhow::Result<Vec<Change>> {
        let (change, mut changes) = (&self.change, Vec::new());
        changes.extend(change.faster.map(Change::Faster));
        if let (Some(disks), Some(raid)) = (change.disks, change.raid) {
            if !(2..=64).contains(&disks) || change.chunk.0 < 512 {
                return Err(usage("--disks must be from 2 to 64, and --chunk at least 512"));
            }
            changes.push(Change::Array { disks, raid, chunk_bytes: change.chunk.0 });
        }
        let hit_ns = change.hit_time.map(|time| time.0 as f64);
        changes.extend(change.cache_hit.map(|share| Change::CacheHit { share, hit_ns }));
        changes.extend(change.host_cache.map(Change::HostCache));
        if let (Some(memory), Some(recorded)) = (change.memory, &change.recorded) {
            let curve = replay::reuse(recorded);
            if curve.is_empty() {
                return Err(usage(
                    "--recorded contains no reads, so more memory would serve no requests",
                ));
            }
            let share = record::read_hit_share(&curve, memory.0);
            changes.push(Change::Memory { bytes: memory.0, share });
        }
        for (at, one) in self.sequential.iter().enumerate() {
            match one {
                Sequential::More(percent) => {
                    changes.push(Change::Sequential(f64::from(*percent) / 100.0));
                }
                // This value sets the load.
                Sequential::Now(_) if at == 0 && !observed => {}
                Sequential::Now(_) => {
                    return Err(usage(
                        "as a change, --sequential must be an increase, for example +30%",
                    ));
                }
            }
        }
        let of_load = usize::from(!observed && self.load.rate_iops.is_none());
        let depths = self.iodepth.get(of_load..).unwrap_or_default();
        let sizes = self.bs.get(usize::from(!observed)..).unwrap_or_default();
        if depths.len() > 1 || sizes.len() > 1 {
            return Err(usage("--iodepth and --bs can each be changed only once"));
        }
        changes.extend(depths.iter().copied().map(Change::Depth));
        for size in sizes {
            let [one] = size.0.as_slice() else {
                return Err(usage("a change of --bs must be one size"));
            };
            changes.push(Change::RequestBytes(one.bytes.0));
        }
        changes.extend(change.cap.map(Change::Cap));
        changes.extend(change.uncapped.then_some(Change::Uncapped));
        changes.extend(change.as_profiled.then_some(Change::AsProfiled));
        changes.extend(change.without.map(|share| Change::Without { share, process: None }));
        changes.extend(change.independent.then_some(Change::Independent));
        let load = &self.load;
        if observed && (load.rate_iops.is_some() || load.rwmixread.is_some() || load.hit > 0) {
            return Err(usage(
                "the load comes from the observation; to set --rate-iops, --rwmixread or --hit, \
                 name a profile instead",
            ));
        }
        Ok(changes)
    }
}
