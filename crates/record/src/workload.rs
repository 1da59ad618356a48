//! The canonical, integer-only form of a workload.
//!
//! Two runs of equal workloads belong to the same cell: [`Workload::cell`] hashes everything that changes the
//! requests to the device. The hash excludes the duration (run time, ramp) and the random sequence (the
//! seed), because repeats differ in them.

use crate::{
    AreaZone, Blend, Bytes, CacheMode, Discipline, DropCache, EngineName, Flush, FlushKind,
    HotArea, Instead, IoPriority, Nanos, OpKind, Pattern, RebuildPace, Redundancy, Regions, Replay,
    hex_digest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Arrival {
    /// A completion triggers the next request: the queue depth is constant.
    Closed,
    /// Open: at equal intervals.
    Constant,
    /// Open: a Poisson process, as from many independent users.
    Poisson,
    /// Open: at recorded times ([`Replay`]).
    Recorded,
}

/// The content of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Data {
    /// New random bytes each time: no layer below can compress or deduplicate them.
    #[default]
    Random,
    /// Random bytes followed by zeros, in each 4 KiB block ([`Workload::compressible_percent`]).
    Compressible,
    /// Zeros.
    Zeros,
    /// Random bytes with a tag in each block (offset, generation, checksum), so that verification can
    /// distinguish lost, misplaced, torn and stale blocks.
    Tagged,
}

/// A job with its own workload that runs at the same time as the first one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Beside {
    /// Delay of the start of its window after that of the first job.
    pub delay_ns: Nanos,
    /// Index of its set of targets; 0 is that of the first job.
    pub targets: u32,
    /// Its workload, which has no further jobs.
    pub workload: Workload,
}

/// A request size and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SizeShare {
    /// Request size.
    pub bytes: Bytes,
    /// Share of the requests, 1 to 100; the shares of a workload add up to 100.
    pub percent: u8,
}

/// One workload. The `workload` crate checks that the fields are consistent when it reads one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Workload {
    /// Share of reads among the requests, 0 to 100.
    pub read_percent: u8,
    /// The access pattern.
    pub pattern: Pattern,
    /// Size of the area that [`Pattern::Hit`] rereads; `null` for other patterns.
    pub hit_bytes: Option<Bytes>,
    /// Exponent of [`Pattern::Zipf`] in thousandths; `null` for other patterns.
    pub zipf_theta_milli: Option<u32>,
    /// Hot part of [`Pattern::Hot`]; `null` for other patterns.
    pub hot: Option<HotArea>,
    /// Distance between the starts of consecutive [`Pattern::Strided`] requests; `null` for other patterns.
    pub stride_bytes: Option<Bytes>,
    /// Shares of a random pattern that are sequential or reread a small area; absent without such shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blend: Option<Blend>,
    /// Zones of the area, each with its share of the random requests; empty and absent without zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub zones: Vec<AreaZone>,
    /// Alignment of random requests; absent if it equals the smallest request size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align_bytes: Option<Bytes>,
    /// Whether strided requests descend from the end; absent if they ascend.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub backwards: bool,
    /// Whether sequential requests begin at the start of the area, as when appending to an empty file,
    /// instead of at a random position; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub from_start: bool,
    /// Whether random requests visit each position once before any position repeats; absent if not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_replacement: bool,
    /// Distance from the start of one job's area to that of the next; each area is `size_bytes` long. With 0,
    /// every job uses the same whole area. Absent if jobs share or divide one area.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub job_distance_bytes: Option<Bytes>,
    /// Offset added to every request: its distance from the natural alignment.
    pub misalign_bytes: Bytes,
    /// How sequential and strided jobs share the area.
    pub regions: Regions,
    /// Request sizes with their shares; empty if unknown.
    pub bs: Vec<SizeShare>,
    /// Queue depth per job.
    pub iodepth: u32,
    /// Number of jobs, each with its own thread and engine.
    pub numjobs: u32,
    /// `iodepth` times `numjobs`; 0 if the source omits the options.
    pub depth: u32,
    /// The cache mode.
    pub cache: CacheMode,
    /// Recorded requests, which replace sizes, directions and pattern; those fields then only summarize them.
    /// Absent without a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<Replay>,
    /// The interface that issues the requests.
    pub engine: EngineName,
    /// io_uring with polled completion (IOPOLL).
    pub polled: bool,
    /// io_uring with a kernel thread that polls for submissions (SQPOLL).
    pub sqpoll: bool,
    /// Whether buffers request huge pages, so that a large request consists of few memory segments; absent if
    /// the system setting decides.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub huge_pages: bool,
    /// Which completion a job waits for before it issues the next request.
    pub discipline: Discipline,
    /// When requests arrive.
    pub arrival: Arrival,
    /// Arrivals per second of all jobs; `null` in a closed loop.
    pub rate_iops: Option<u64>,
    /// Write arrivals per second, if reads and writes arrive by separate processes; `null` if one process
    /// serves both by the mix.
    pub write_rate_iops: Option<u64>,
    /// Mean number of requests that arrive at the same time, in thousandths, with a geometric distribution
    /// and [`Arrival::Poisson`]; absent if requests arrive one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub burst_milli: Option<u32>,
    /// Think time between a completion and the next request of its slot, in a closed loop.
    pub think_ns: Nanos,
    /// Flushes of written data; absent without flushes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flush: Option<Flush>,
    /// The operation instead of writes; absent if they are writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead: Option<Instead>,
    /// Chunk size if several targets are combined into one (RAID 0, or [`Workload::array`]); `null` if each
    /// target has its own streams, or there is only one.
    pub stripe_bytes: Option<Bytes>,
    /// Redundancy of the targets, so that one of them may fail; absent without redundancy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<Redundancy>,
    /// Number of targets. Without striping, job `i` uses target `i` modulo this.
    pub targets: u32,
    /// Start of the area in the target.
    pub offset_bytes: Bytes,
    /// Length of the area of all jobs.
    pub size_bytes: Bytes,
    /// The content of writes.
    pub data: Data,
    /// Share of zeros in each block with [`Data::Compressible`], 0 to 100.
    pub compressible_percent: u8,
    /// Name of the job; absent without one. Not part of the cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// I/O priority of its requests; absent if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub io_priority: Option<IoPriority>,
    /// Processors that its threads are bound to; empty and absent if they are not bound.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<u32>,
    /// Directory of the control group for its threads; absent if they stay in that of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Jobs that run at the same time; absent for a single job.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<Beside>,
    /// How the page cache is dropped before the run.
    pub drop_cache: DropCache,
    /// Requested measuring time, or the maximum with another stop rule; not part of the cell.
    pub runtime_ns: Nanos,
    /// Ramp time before measuring, which is not counted; not part of the cell.
    pub ramp_ns: Nanos,
    /// Stop rules and reporting; not part of the cell.
    pub stop: StopRules,
}

/// The run time of a run that only another stop rule ends: a year, the maximum of any time.
pub const NO_TIME_LIMIT: Nanos = Nanos(365 * 86_400 * 1_000_000_000);

/// When a run ends before its run time is over, and how it is reported. None of this changes the requests to
/// the device, so it is not part of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StopRules {
    /// Maximum bytes transferred by all jobs.
    pub max_bytes: Option<Bytes>,
    /// Number of passes: how often the length of the area is transferred.
    pub passes: Option<u32>,
    /// Target half-width of the 95 % interval of the rate, in millionths of the rate.
    pub precision_ppm: Option<u32>,
    /// Whether a warm-up that differs from the rest is cut from the report.
    pub cut_warm_up: bool,
    /// Length of the reported intervals; `null` for none.
    pub interval_ns: Option<Nanos>,
    /// How long a device may stay silent before the program gives up the run.
    pub io_timeout_ns: Nanos,
}

/// Only the run time ends a run, and a device may stay silent for half a minute.
impl Default for StopRules {
    fn default() -> Self {
        Self {
            max_bytes: None,
            passes: None,
            precision_ppm: None,
            cut_warm_up: false,
            interval_ns: None,
            io_timeout_ns: Nanos(30_000_000_000),
        }
    }
}

/// The defaults of `halfpower run`, for an area without a length. Workloads are built from these.
impl Default for Workload {
    fn default() -> Self {
        Self {
            read_percent: 100,
            pattern: Pattern::Random,
            hit_bytes: None,
            zipf_theta_milli: None,
            hot: None,
            stride_bytes: None,
            blend: None,
            zones: Vec::new(),
            align_bytes: None,
            backwards: false,
            from_start: false,
            without_replacement: false,
            job_distance_bytes: None,
            misalign_bytes: Bytes(0),
            regions: Regions::PerJob,
            bs: vec![SizeShare { bytes: Bytes(4096), percent: 100 }],
            iodepth: 1,
            numjobs: 1,
            depth: 1,
            cache: CacheMode::Device,
            replay: None,
            engine: EngineName::IoUring,
            polled: false,
            sqpoll: false,
            huge_pages: false,
            discipline: Discipline::Any,
            arrival: Arrival::Closed,
            rate_iops: None,
            write_rate_iops: None,
            burst_milli: None,
            think_ns: Nanos(0),
            flush: None,
            instead: None,
            stripe_bytes: None,
            array: None,
            targets: 1,
            offset_bytes: Bytes(0),
            size_bytes: Bytes(0),
            data: Data::Random,
            compressible_percent: 0,
            name: None,
            io_priority: None,
            processors: Vec::new(),
            cgroup: None,
            beside: Vec::new(),
            drop_cache: DropCache::None,
            runtime_ns: Nanos(10_000_000_000),
            ramp_ns: Nanos(0),
            stop: StopRules::default(),
        }
    }
}

impl Workload {
    /// The largest request size.
    #[must_use]
    pub fn max_bs(&self) -> Bytes {
        self.bs.iter().map(|share| share.bytes).max().unwrap_or_default()
    }

    /// Whether its options are known. If not, only the directions and perhaps the request size are.
    #[must_use]
    pub fn options_known(&self) -> bool {
        self.depth > 0
    }

    /// The operation of all requests, or `None` for a mix.
    #[must_use]
    pub fn only_op(&self) -> Option<OpKind> {
        match self.read_percent {
            100 => Some(OpKind::Read),
            0 => Some(OpKind::Write),
            _ => None,
        }
    }

    /// Whether any request changes the target. Operations that replace writes count too.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.read_percent < 100
    }

    /// Whether any request transfers data to the target.
    #[must_use]
    pub fn carries(&self) -> bool {
        self.writes() && self.instead.is_none()
    }

    /// All workloads that run at the same time: this one, and the jobs next to it.
    pub fn all(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(self.beside.iter().map(|job| &job.workload))
    }

    /// This workload and the jobs next to it, each with the index of its set of targets.
    pub fn by_targets(&self) -> impl Iterator<Item = (u32, &Self)> {
        std::iter::once((0, self)).chain(self.beside.iter().map(|job| (job.targets, &job.workload)))
    }

    /// A single workload that looks the same to the counters as all jobs together: the directions, sizes,
    /// depth, caches and flushes of all.
    #[must_use]
    pub fn together(&self) -> Self {
        let all = || self.all();
        let reads = all().any(|workload| workload.read_percent > 0);
        let writes = all().any(Self::carries);
        Self {
            read_percent: match (reads, writes) {
                (true, true) if self.only_op().is_some() => 50,
                _ => self.read_percent,
            },
            bs: all().flat_map(|workload| workload.bs.clone()).collect(),
            depth: all().map(|workload| workload.depth).sum(),
            numjobs: all().map(|workload| workload.numjobs).sum(),
            cache: all()
                .map(|workload| workload.cache)
                .find(|it| !it.direct())
                .unwrap_or(self.cache),
            flush: all().find_map(|workload| {
                let flushes = workload.instead == Some(Instead::Flush);
                workload.flush.or(flushes.then_some(Flush { kind: FlushKind::Fsync, every: 1 }))
            }),
            instead: None,
            beside: Vec::new(),
            ..self.clone()
        }
    }

    /// The name of a job for printing: its own, or its number from 1.
    #[must_use]
    pub fn label(&self, index: usize) -> String {
        self.name.clone().unwrap_or_else(|| format!("job {}", index + 1))
    }

    /// Identity of the requests to the device: 32 hexadecimal digits (the first half of a SHA-256) over the
    /// canonical text of every field except run time, ramp and [`StopRules`].
    #[must_use]
    pub fn cell(&self) -> String {
        let hit = self.hit_bytes.map_or(0, |bytes| bytes.0);
        let sizes: Vec<String> =
            self.bs.iter().map(|share| format!("{}/{}", share.bytes.0, share.percent)).collect();
        let mut text = format!(
            "cell/1 read={} pattern={} hit={hit} bs={} iodepth={} numjobs={} cache={} engine={} \
             arrival={:?} offset={} size={} drop-cache={:?} zipf={} hot={}/{} stride={} misalign={} \
             regions={:?} polled={} sqpoll={} completion={} rate={}/{} think={} raid0={} \
             targets={} data={:?}/{}",
            self.read_percent,
            self.pattern.name(),
            sizes.join(":"),
            self.iodepth,
            self.numjobs,
            self.cache.name(),
            self.engine.name(),
            self.arrival,
            self.offset_bytes.0,
            self.size_bytes.0,
            self.drop_cache,
            self.zipf_theta_milli.unwrap_or(0),
            self.hot.map_or(0, |hot| hot.bytes.0),
            self.hot.map_or(0, |hot| hot.percent),
            self.stride_bytes.map_or(0, |bytes| bytes.0),
            self.misalign_bytes.0,
            self.regions,
            self.polled,
            self.sqpoll,
            self.discipline.name(),
            self.rate_iops.unwrap_or(0),
            self.write_rate_iops.unwrap_or(0),
            self.think_ns.0,
            self.stripe_bytes.map_or(0, |bytes| bytes.0),
            self.targets,
            self.data,
            self.compressible_percent,
        );
        // Added only if present, so that the hashes of other cells do not change.
        text.extend(
            self.blend
                .map(|blend| format!(" blend={}/{}", blend.sequential_percent, blend.hit_percent)),
        );
        text.extend(self.from_start.then_some(" from-start"));
        text.extend(self.without_replacement.then_some(" without-replacement"));
        text.extend(
            self.zones
                .iter()
                .map(|zone| format!(" zone={}/{}", zone.request_percent, zone.area_percent)),
        );
        text.extend(self.align_bytes.map(|bytes| format!(" align={}", bytes.0)));
        text.extend(self.backwards.then_some(" backwards"));
        text.extend(self.job_distance_bytes.map(|bytes| format!(" offset-increment={}", bytes.0)));
        let bound = Some(&self.processors).filter(|bound| !bound.is_empty());
        text.extend(bound.map(|bound| format!(" processors={bound:?}")));
        text.extend(self.flush.map(|flush| format!(" {}={}", flush.kind.name(), flush.every)));
        text.extend(self.instead.map(|it| format!(" instead={it:?}")));
        text.extend(self.huge_pages.then_some(" huge-pages"));
        text.extend(self.io_priority.map(|priority| format!(" io-priority={priority}")));
        if let Some(Redundancy { level, failed, rebuild, .. }) = self.array {
            text += &format!(" raid={}", level.number());
            text.extend(failed.map(|leg| format!("/failed {leg}")));
            let rate = |pace: RebuildPace| pace.bytes_per_s.map_or(0, |bytes| bytes.0);
            text.extend(rebuild.map(|pace| format!("/rebuild {}", rate(pace))));
        }
        text.extend(self.cgroup.iter().map(|group| format!(" cgroup={group}")));
        text.extend(self.burst_milli.map(|burst| format!(" burst={burst}")));
        text.extend(
            self.replay.iter().map(|replay| format!(" replay={}/{:?}", replay.digest, replay.pace)),
        );
        text.extend(self.beside.iter().map(|job| {
            format!(" beside={}/{}/{}", job.delay_ns.0, job.targets, job.workload.cell())
        }));
        hex_digest(&text)
    }
}
