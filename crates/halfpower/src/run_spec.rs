//! From the flags of `run` to what they ask for: the workload, what may be written, and the
//! mistakes that only all flags together show.

use crate::run_args::{RWS, RunArgs, Rw, first_given};
use record::{
    CacheMode, Data, DropCache, EngineName, Flush, FlushKind, Nanos, Pattern, StopRules, Workload,
};
use target::Access;
use workload::Spec;

/// The most that are in flight in an open loop where the user sets no limit: enough for any
/// device to be the one that limits.
const OPEN_LOOP_IODEPTH: u32 = 128;

/// The most with which a fit's largest requests have their buffers, and their room in its area.
const COST_FIT_IODEPTH: u32 = 256;
const COST_FIT_NUMJOBS: u32 = 32;

impl RunArgs {
    /// The workload that the flags ask for.
    pub(crate) fn spec(&self) -> Spec {
        let rate = self.arrivals.rate_iops;
        let engine = self.place.ioengine.unwrap_or(EngineName::IoUring);
        let targets = u32::try_from(self.targets.len()).unwrap_or(u32::MAX);
        let asked = Workload {
            read_percent: self.read_percent(),
            pattern: self.pattern(),
            hit_bytes: self.load.hit_size,
            zipf_theta_milli: self.load.zipf_theta,
            stride_bytes: self.load.stride,
            misalign_bytes: self.load.misalign,
            bs: self.load.bs.as_ref().map_or_else(|| Workload::default().bs, |mix| mix.0.clone()),
            iodepth: self.load.iodepth.unwrap_or_else(|| default_iodepth(rate.is_some(), engine)),
            numjobs: self.load.numjobs.unwrap_or(match self.place.stripe {
                Some(_) => 1,
                None => targets,
            }),
            cache: self.place.cache.or(self.place.direct).unwrap_or(match engine {
                EngineName::Mmap => CacheMode::All,
                _ => CacheMode::Device,
            }),
            engine,
            polled: self.place.hipri,
            sqpoll: self.place.sqthread_poll,
            huge_pages: self.place.huge_pages,
            discipline: self.arrivals.completion,
            rate_iops: rate.map(|rate| rate.all),
            write_rate_iops: rate.and_then(|rate| rate.writes),
            think_ns: self.arrivals.think_time,
            flush: self.flush(),
            stripe_bytes: self.place.stripe,
            targets,
            offset_bytes: self.place.offset,
            data: match (self.data.zeros, self.data.verify, self.data.compressible) {
                (true, _, _) => Data::Zeros,
                (_, true, _) => Data::Tagged,
                (_, _, Some(_)) => Data::Compressible,
                _ => Data::Random,
            },
            compressible_percent: self.data.compressible.unwrap_or(0),
            drop_cache: self.place.drop_cache,
            runtime_ns: self.stop.runtime,
            ramp_ns: self.stop.ramp_time,
            stop: StopRules {
                max_bytes: self.stop.io_size,
                passes: self.stop.passes,
                precision_ppm: self.stop.until_precision,
                cut_warm_up: !self.stop.keep_warm_up,
                interval_ns: self.results.interval,
                io_timeout_ns: self.stop.io_timeout.unwrap_or(StopRules::default().io_timeout_ns),
            },
            ..Workload::default()
        };
        Spec {
            asked,
            hot_bytes: self.load.hot_size,
            hot_percent: self.load.hot_share,
            regions: self.load.regions,
            arrival: self.arrivals.arrival,
            size: self.place.size,
        }
    }

    fn flush(&self) -> Option<Flush> {
        let of = |kind, every: Option<u32>| every.map(|every| Flush { kind, every });
        of(FlushKind::Fsync, self.arrivals.fsync)
            .or_else(|| of(FlushKind::Fdatasync, self.arrivals.fdatasync))
    }

    fn rw(&self) -> Rw {
        self.load.rw.unwrap_or(Rw { sequential: false, read_percent: Some(100) })
    }

    fn pattern(&self) -> Pattern {
        let ordered = if self.rw().sequential { Pattern::Sequential } else { Pattern::Random };
        self.load.pattern.unwrap_or(ordered)
    }

    /// The share of reads: that of the rates where directions have their own.
    fn read_percent(&self) -> u8 {
        let by_rate = self.arrivals.rate_iops.and_then(|rates| {
            let reads = rates.all.saturating_sub(rates.writes?);
            let percent = (reads * 100 + rates.all / 2) / rates.all.max(1);
            u8::try_from(percent.clamp(1, 99)).ok()
        });
        let mixed = || self.load.rwmixread.or(by_rate).unwrap_or(50);
        self.rw().read_percent.unwrap_or_else(mixed)
    }

    /// What may be done to targets that exist.
    pub(crate) fn access(&self) -> Access {
        if self.writes() { self.safety.access() } else { Access::ReadOnly }
    }

    /// Whether anything is written, also before the measured run.
    fn writes(&self) -> bool {
        self.read_percent() < 100 || self.place.precondition
    }

    /// A flag that is about a real machine, where one was given.
    pub(crate) fn real_only(&self) -> Option<&'static str> {
        let place = &self.place;
        first_given(&[
            ("--overwrite", self.safety.overwrite),
            ("--destroy-data-on", !self.safety.destroy_data_on.is_empty()),
            ("--ioengine", place.ioengine.is_some()),
            ("--hipri", place.hipri),
            ("--sqthread-poll", place.sqthread_poll),
            ("--huge-pages", place.huge_pages),
            ("--stripe", place.stripe.is_some()),
            ("--drop-cache", place.drop_cache != DropCache::None),
            ("--fsync", self.arrivals.fsync.is_some()),
            ("--fdatasync", self.arrivals.fdatasync.is_some()),
            ("--compressible", self.data.compressible.is_some()),
            ("--zeros", self.data.zeros),
            ("--verify", self.data.verify),
            ("--cpu-upper", self.cpu_upper),
            ("--cost-fit", self.cost_fit),
            ("--io-timeout", self.stop.io_timeout.is_some()),
        ])
    }

    /// A mistake that the parser cannot see, in flags that are no part of the workload.
    pub(crate) fn contradiction(&self) -> Option<String> {
        let rw = self.rw();
        let mix = rw.read_percent.is_none();
        let rates = self.arrivals.rate_iops.is_some_and(|rates| rates.writes.is_some());
        let (load, results) = (&self.load, &self.results);
        let ordered = matches!(self.pattern(), Pattern::Sequential | Pattern::Strided);
        let other = format!(
            "--pattern {} contradicts --rw {}; use --rw {} with it",
            self.pattern().name(),
            name(rw),
            name(Rw { sequential: !rw.sequential, ..rw })
        );
        let allows = [
            ("--overwrite", self.safety.overwrite),
            ("--destroy-data-on", !self.safety.destroy_data_on.is_empty()),
        ];
        if let Some(flag) = first_given(&allows).filter(|_| !self.writes()) {
            let unused = "allows writing, and nothing is written here; leave it out";
            return Some(format!("{flag} {unused}"));
        }
        let mistakes = [
            (
                "--rwmixread needs a mix: use --rw rw or --rw randrw with it",
                load.rwmixread.is_some() && !mix,
            ),
            (
                "--rwmixread contradicts --rate-iops with two rates, which make the mix; leave \
                 one of them out",
                load.rwmixread.is_some() && rates,
            ),
            (
                other.as_str(),
                load.rw.is_some() && load.pattern.is_some() && ordered != rw.sequential,
            ),
            (
                "--csv writes intervals; add their length, for example --interval 1s",
                results.csv.is_some() && results.interval.is_none(),
            ),
            (
                "--comment belongs to the line of --sqlio-csv; add --sqlio-csv FILE, or leave it out",
                results.comment.is_some() && results.sqlio_csv.is_none(),
            ),
            (
                "--verify with reads alone checks what an earlier run with --verify wrote to all \
                 of the area: give the --seed of that run, or write with --rw write",
                self.data.verify && self.read_percent() == 100 && load.seed.is_none(),
            ),
        ];
        let mistake = mistakes.iter().find(|(_, wrong)| *wrong).map(|(text, _)| (*text).to_owned());
        mistake.or_else(|| self.cost_fit_contradiction())
    }

    /// What does not go with a fit, which runs sizes and caches of its own and keeps one document
    /// of all its trials.
    fn cost_fit_contradiction(&self) -> Option<String> {
        if !self.cost_fit {
            return None;
        }
        let (place, stop, results) = (&self.place, &self.stop, &self.results);
        let beside = first_given(&[
            ("--bs", self.load.bs.is_some()),
            ("--cache", place.cache.is_some()),
            ("--direct", place.direct.is_some()),
            ("--drop-cache", place.drop_cache != DropCache::None),
            ("--ioengine mmap", place.ioengine == Some(EngineName::Mmap)),
            ("--ramp-time", stop.ramp_time > Nanos(0)),
            ("--io-size", stop.io_size.is_some()),
            ("--passes", stop.passes.is_some()),
            ("--until-precision", stop.until_precision.is_some()),
            ("--keep-warm-up", stop.keep_warm_up),
            ("--interval", results.interval.is_some()),
            ("--sqlio-csv", results.sqlio_csv.is_some()),
            ("--verify", self.data.verify),
            ("--cpu-upper", self.cpu_upper),
        ]);
        if let Some(flag) = beside {
            let why = "runs trials of its own sizes, through the page cache and past it";
            return Some(format!("--cost-fit {why}; leave {flag} out"));
        }
        if !matches!(self.pattern(), Pattern::Sequential | Pattern::Random) {
            let pattern = self.pattern().name();
            return Some(format!("--cost-fit is for plain orders; leave --pattern {pattern} out"));
        }
        let (iodepth, numjobs) = (self.load.iodepth.unwrap_or(1), self.load.numjobs.unwrap_or(1));
        (iodepth > COST_FIT_IODEPTH || numjobs > COST_FIT_NUMJOBS).then(|| {
            format!(
                "--cost-fit has requests of up to 1 MiB; use at most --iodepth {COST_FIT_IODEPTH} \
                 and --numjobs {COST_FIT_NUMJOBS}"
            )
        })
    }
}

/// fio's word for it.
fn name(rw: Rw) -> &'static str {
    RWS.iter().find(|(_, known)| *known == rw).map_or("", |(name, _)| name)
}

/// One at a time in a closed loop; in an open one as many as may come, of an engine that can.
fn default_iodepth(open: bool, engine: EngineName) -> u32 {
    let most = engine::ENGINES.iter().find(|info| info.name == engine).map(|info| info.max_depth);
    if open { OPEN_LOOP_IODEPTH.min(most.unwrap_or(OPEN_LOOP_IODEPTH)) } else { 1 }
}
