//! What a user may ask for, before it is known whether it holds together.
//!
//! Parts that a user may leave out are options here, so that a part that is given without the
//! one that it belongs to (a hot size without the pattern) is an error and never ignored.

use record::{
    Arrival, Blend, Bytes, CacheMode, Data, Discipline, DropCache, EngineName, Nanos, Pattern,
    Regions, SizeShare, StopRules,
};

/// What a user asks for; the defaults are those of `halfpower run`.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Share of reads, 0 to 100.
    pub read_percent: u8,
    /// Where requests go.
    pub pattern: Pattern,
    /// Area of [`Pattern::Hit`]; 1 MiB (or the whole area, if smaller) where `None`.
    pub hit_bytes: Option<Bytes>,
    /// Exponent of [`Pattern::Zipf`] in thousandths; 1.2 where `None`.
    pub zipf_theta_milli: Option<u32>,
    /// Length of the hot part of [`Pattern::Hot`]; a fifth of the area where `None`.
    pub hot_bytes: Option<Bytes>,
    /// Share of the requests that go there; 80 % where `None`.
    pub hot_percent: Option<u8>,
    /// Distance of [`Pattern::Strided`], which needs one.
    pub stride: Option<Bytes>,
    /// Shares of [`Pattern::Random`] that are sequential or re-read a small area.
    pub blend: Option<Blend>,
    /// Added to every offset.
    pub misalign: Bytes,
    /// How sequential and strided jobs share the area; each a part of its own where `None`.
    pub regions: Option<Regions>,
    /// Request sizes with shares.
    pub bs: Vec<SizeShare>,
    /// Requests outstanding per job; in an open loop the most that may be in flight.
    pub iodepth: u32,
    /// Jobs.
    pub numjobs: u32,
    /// Caches in use.
    pub cache: CacheMode,
    /// Engine.
    pub engine: EngineName,
    /// io_uring with polled completion.
    pub polled: bool,
    /// io_uring with a kernel thread that takes submissions.
    pub sqpoll: bool,
    /// Which completed request lets the job go on.
    pub discipline: Discipline,
    /// How arrivals are spaced in an open loop; at equal distances where `None`.
    pub arrival: Option<Arrival>,
    /// Arrivals per second over all jobs, which makes the loop an open one.
    pub rate_iops: Option<u64>,
    /// The part of them that are writes, where directions have a process each.
    pub write_rate_iops: Option<u64>,
    /// Time between a completion and the next request of its slot.
    pub think: Nanos,
    /// Length of a chunk where the targets are striped into one.
    pub stripe: Option<Bytes>,
    /// Number of targets.
    pub targets: u32,
    /// Start of the area.
    pub offset: Bytes,
    /// Length of the area; to the end of the target where `None`.
    pub size: Option<Bytes>,
    /// What writes carry.
    pub data: Data,
    /// Share of zeros with [`Data::Compressible`].
    pub compressible_percent: u8,
    /// What is done to the page cache first.
    pub drop_cache: DropCache,
    /// Measured time.
    pub runtime: Nanos,
    /// Time before it.
    pub ramp: Nanos,
    /// Stop rules and reporting.
    pub stop: StopRules,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            read_percent: 100,
            pattern: Pattern::Random,
            hit_bytes: None,
            zipf_theta_milli: None,
            hot_bytes: None,
            hot_percent: None,
            stride: None,
            blend: None,
            misalign: Bytes(0),
            regions: None,
            bs: vec![SizeShare { bytes: Bytes(4096), percent: 100 }],
            iodepth: 1,
            numjobs: 1,
            cache: CacheMode::Device,
            engine: EngineName::IoUring,
            polled: false,
            sqpoll: false,
            discipline: Discipline::Any,
            arrival: None,
            rate_iops: None,
            write_rate_iops: None,
            think: Nanos(0),
            stripe: None,
            targets: 1,
            offset: Bytes(0),
            size: None,
            data: Data::Random,
            compressible_percent: 0,
            drop_cache: DropCache::None,
            runtime: Nanos(10_000_000_000),
            ramp: Nanos(0),
            stop: StopRules::default(),
        }
    }
}

impl Spec {
    /// The same with one request size.
    #[must_use]
    pub fn with_bs(mut self, bytes: u64) -> Self {
        self.bs = vec![SizeShare { bytes: Bytes(bytes), percent: 100 }];
        self
    }

    /// The largest request size of the mix.
    #[must_use]
    pub fn max_bs(&self) -> Bytes {
        self.bs.iter().map(|share| share.bytes).max().unwrap_or_default()
    }

    /// The smallest one: the distance between positions.
    pub(crate) fn unit(&self) -> u64 {
        crate::region::smallest(&self.bs)
    }
}
