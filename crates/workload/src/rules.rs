//! Rules for workloads that do not depend on the target: ranges, and flags that contradict each other.
//!
//! Each rule is independent and says what to change. A flag without an effect is also an error, because the
//! user expects an effect.

use crate::error::{in_range, refuse};
use crate::{BuildError, Spec};
use record::{
    Arrival, Data, Discipline, EngineName, Flush, FlushKind, Instead, NO_TIME_LIMIT, Nanos,
    Pattern, Regions, ReplayPace, format_bytes, format_nanos,
};

/// Maximum buffer memory of a job: its depth times its largest request.
const MAX_BUFFER_BYTES: u64 = 1 << 30;
/// Maximum depth of a job: the capacity of an io_uring ring.
const MAX_IODEPTH: u32 = 32_768;
/// Maximum number of jobs; each is a thread.
const MAX_NUMJOBS: u32 = 8_192;
/// Maximum arrivals per second. Above this, times in nanoseconds cannot distinguish them.
const MAX_RATE_IOPS: u64 = 1_000_000_000;
/// Maximum exponent of Zipf's law, in thousandths. Above this, all requests go to one block.
const MAX_THETA_MILLI: u64 = 10_000;
/// Maximum chunk of a stripe.
const MAX_STRIPE_BYTES: u64 = 1 << 30;
/// Smallest unit of tagged blocks (`engine::tag`).
const TAG_SECTOR_BYTES: u64 = 512;
/// Maximum number of intervals that a run reports.
const MAX_INTERVALS: u64 = 100_000;
/// Maximum time of any kind: a year. A longer one is a typing error.
const MAX_TIME: Nanos = NO_TIME_LIMIT;
/// Minimum run time.
const MIN_RUNTIME: Nanos = Nanos(1_000_000);

/// Returns an error unless a time is between `low` and a year.
fn duration(flag: &'static str, value: Nanos, low: Nanos, example: &str) -> Result<(), BuildError> {
    if (low..=MAX_TIME).contains(&value) {
        return Ok(());
    }
    let low = format_nanos(low.0 as f64);
    let range = format!("{low} to a year, for example {example}");
    Err(BuildError::range(flag, &format_nanos(value.0 as f64), &range))
}

impl Spec {
    /// Checks everything that does not depend on a target.
    ///
    /// # Errors
    /// If a number is out of range or two flags contradict each other. The text names the flag.
    pub fn check(&self) -> Result<(), BuildError> {
        self.check_load()?;
        self.check_replay()?;
        self.check_burst()?;
        self.check_pattern()?;
        self.check_loop()?;
        self.check_engine()?;
        self.check_targets()?;
        self.check_array()?;
        self.check_data()?;
        self.check_times()
    }

    fn check_burst(&self) -> Result<(), BuildError> {
        let Some(burst) = self.asked.burst_milli else { return Ok(()) };
        if !(1_000..=1_000_000).contains(&burst) {
            return Err(BuildError::range("burst", &(f64::from(burst) / 1e3), "1 to 1000"));
        }
        let poisson = self.asked.rate_iops.is_some() && self.arrival == Some(Arrival::Poisson);
        refuse(!poisson, "burst", "needs random arrivals; use --rate-iops and --arrival poisson")
    }

    fn check_replay(&self) -> Result<(), BuildError> {
        let Some(replay) = &self.asked.replay else { return Ok(()) };
        refuse(replay.requests == 0, "replay", "contains no requests that can be replayed")?;
        let asked = &self.asked;
        let why = "cannot be combined with flushes, because the recording contains its own \
             flushes; omit one of the two";
        refuse(asked.flush.is_some(), "replay", why)?;
        refuse(asked.think_ns.0 > 0, "think-time", "does not apply to a recording; omit it")?;
        refuse(asked.rate_iops.is_some(), "rate-iops", "is determined by the recording; omit it")?;
        refuse(asked.data == Data::Tagged, "verify", "cannot be used with a recording; omit it")?;
        refuse(asked.ramp_ns.0 > 0, "ramp-time", "would skip a part of the recording; omit it")?;
        let any = asked.discipline == Discipline::Any;
        refuse(!any, "completion", "does not apply to a recording; omit it")?;
        if let ReplayPace::AtTimes { speed_milli } = replay.pace
            && !(1..=1_000_000).contains(&speed_milli)
        {
            let speed = f64::from(speed_milli) / 1e3;
            return Err(BuildError::range("replay-speed", &speed, "0.001 to 1000, or max"));
        }
        Ok(())
    }

    fn check_load(&self) -> Result<(), BuildError> {
        in_range("rwmixread", u64::from(self.asked.read_percent), 0, 100)?;
        in_range("iodepth", u64::from(self.asked.iodepth), 1, u64::from(MAX_IODEPTH))?;
        in_range("numjobs", u64::from(self.asked.numjobs), 1, u64::from(MAX_NUMJOBS))?;
        let largest = MAX_BUFFER_BYTES / u64::from(self.asked.iodepth);
        for share in &self.asked.bs {
            if !(1..=largest).contains(&share.bytes.0) {
                let range = format!(
                    "1 byte to {} with --iodepth {}, because the buffers of a job (--bs times \
                     --iodepth) are limited to {}",
                    format_bytes(largest),
                    self.asked.iodepth,
                    format_bytes(MAX_BUFFER_BYTES)
                );
                return Err(BuildError::range("bs", &format_bytes(share.bytes.0), &range));
            }
        }
        let sum: u32 = self.asked.bs.iter().map(|share| u32::from(share.percent)).sum();
        let why = format!("has percentages that add up to {sum}; they must add up to 100");
        refuse(sum != 100, "bs", &why)
    }

    fn check_pattern(&self) -> Result<(), BuildError> {
        let is = |pattern| self.asked.pattern == pattern;
        let alone = |given: bool, flag, pattern: Pattern| {
            let why = format!(
                "works only with --pattern {}; add that pattern, or omit this flag",
                pattern.name()
            );
            refuse(given && self.asked.pattern != pattern, flag, &why)
        };
        alone(self.asked.hit_bytes.is_some(), "hit-size", Pattern::Hit)?;
        alone(self.asked.zipf_theta_milli.is_some(), "zipf-theta", Pattern::Zipf)?;
        alone(self.hot_bytes.is_some(), "hot-size", Pattern::Hot)?;
        alone(self.hot_percent.is_some(), "hot-share", Pattern::Hot)?;
        alone(self.asked.stride_bytes.is_some(), "stride", Pattern::Strided)?;
        if let Some(theta) = self.asked.zipf_theta_milli.map(u64::from)
            && !(1..=MAX_THETA_MILLI).contains(&theta)
        {
            let value = format!("{}.{:03}", theta / 1000, theta % 1000);
            let range = format!("0.001 to {}", MAX_THETA_MILLI / 1000);
            return Err(BuildError::range("zipf-theta", &value, &range));
        }
        if let Some(percent) = self.hot_percent {
            in_range("hot-share", u64::from(percent), 1, 99)?;
        }
        if let Some(blend) = self.asked.blend {
            let why = "works only with --pattern random; omit it with other patterns";
            refuse(!is(Pattern::Random), "sequential-share", why)?;
            let sum = u64::from(blend.sequential_percent) + u64::from(blend.hit_percent);
            in_range("sequential-share and --hit-share", sum, 0, 100)?;
        }
        let cursor = is(Pattern::Sequential) || is(Pattern::Strided);
        let why = "works only with sequential and strided requests; omit it with other patterns";
        refuse(self.asked.from_start && !cursor, "from-start", why)?;
        let plain = is(Pattern::Random) && self.asked.blend.is_none();
        let why = "works only with random requests of one size, without --seq-share; omit it";
        let once = self.asked.without_replacement;
        refuse(once && !(plain && self.asked.bs.len() == 1), "without-replacement", why)?;
        let why = "works only with strided requests from the start; use it with --pattern strided --from-start";
        let down = is(Pattern::Strided) && self.asked.from_start;
        refuse(self.asked.backwards && !down, "backwards", why)?;
        let zones = &self.asked.zones;
        let why = "work only with random requests, without --seq-share and --without-replacement; omit them";
        refuse(!zones.is_empty() && (!plain || once), "zones", why)?;
        let sum = |share: fn(&record::AreaZone) -> u8| -> u32 {
            zones.iter().map(|zone| u32::from(share(zone))).sum()
        };
        let whole = sum(|zone| zone.request_percent) == 100 && sum(|zone| zone.area_percent) == 100;
        let why = "must add up to 100 % of the requests and 100 % of the area";
        refuse(!zones.is_empty() && !whole, "zones", why)?;
        let why = "works only with random requests; omit it with other patterns";
        refuse(self.asked.align_bytes.is_some() && !is(Pattern::Random), "align", why)?;
        let why = "already sets the area of each job; omit --regions";
        refuse(
            self.asked.job_distance_bytes.is_some() && self.regions.is_some(),
            "offset-increment",
            why,
        )?;
        let needs = "strided needs the distance between requests; add, for example, --stride 64k";
        refuse(is(Pattern::Strided) && self.asked.stride_bytes.is_none(), "pattern", needs)?;
        if self.regions == Some(Regions::Shared) {
            let why = "shared applies only to sequential and strided jobs; with other patterns, \
                       jobs always share the area: omit it";
            refuse(!cursor, "regions", why)?;
        }
        Ok(())
    }

    fn check_flush(&self) -> Result<(), BuildError> {
        let Some(Flush { kind, every }) = self.asked.flush else { return Ok(()) };
        let without = matches!(self.asked.engine, EngineName::Libaio | EngineName::Mmap);
        let why = "is not supported by this engine; use --ioengine io_uring, sync or threads";
        refuse(without && kind == FlushKind::SyncFileRange, kind.name(), why)?;
        let why = "exists only on Linux; use --fsync";
        refuse(of_windows(self.asked.engine) && kind != FlushKind::Fsync, kind.name(), why)?;
        let why = "writes back the page cache, which direct I/O does not use; use --cache all, or \
                   --fdatasync";
        let direct = self.asked.cache.direct() && kind == FlushKind::SyncFileRange;
        refuse(direct, kind.name(), why)?;
        let flag = kind.name();
        in_range(flag, u64::from(every), 1, u64::from(u32::MAX))?;
        let why = "flushes writes; use it with --rw write, randwrite, rw or randrw";
        refuse(self.asked.read_percent == 100, flag, why)?;
        let why = "works only in a closed loop, because a job waits for its flush before it \
                   continues; omit --rate-iops";
        refuse(self.asked.rate_iops.is_some(), flag, why)?;
        let why = "waits for all requests in flight; omit --completion";
        refuse(self.asked.discipline != Discipline::Any, flag, why)?;
        let why =
            "pauses a job's writes, so it cannot be combined with --think-time; omit one of them";
        refuse(self.asked.think_ns > Nanos(0), flag, why)?;
        let why = "has no effect after writes that are already durable; use --cache device or \
                   --cache all";
        refuse(self.asked.cache.synchronous(), flag, why)
    }

    fn check_instead(&self) -> Result<(), BuildError> {
        let asked = &self.asked;
        let Some(instead) = asked.instead else { return Ok(()) };
        if instead == Instead::Trim {
            let why = "does not support trims; use --ioengine io_uring, sync or threads";
            refuse(asked.engine == EngineName::Libaio, "ioengine libaio", why)?;
            refuse(asked.engine == EngineName::Mmap, "ioengine mmap", why)?;
            let why = "cannot trim on Windows; use reads and writes";
            refuse(of_windows(asked.engine), "rw", why)?;
        }
        refuse(asked.engine == EngineName::Sim, "rw", "cannot trim a simulated device")?;
        refuse(
            asked.read_percent > 0,
            "rw",
            "cannot combine trims or flushes with reads in the same job",
        )?;
        let why = "polls only for reads and writes, not for trims or flushes; omit it";
        refuse(asked.polled, "hipri", why)?;
        let why = "supports only reads and writes; to trim, use one target at a time";
        refuse(asked.stripe_bytes.is_some(), "chunk", why)?;
        let why = "sets the data of writes, but a trim has no data; omit it";
        refuse(asked.data != Data::Random, "verify, --zeros or --compressible", why)
    }

    fn check_loop(&self) -> Result<(), BuildError> {
        self.check_flush()?;
        self.check_instead()?;
        let Some(rate) = self.asked.rate_iops else {
            let why = "sets the spacing of arrivals; add --rate-iops, which sets their rate";
            return refuse(self.arrival.is_some(), "arrival", why);
        };
        in_range("rate-iops", rate, 1, MAX_RATE_IOPS)?;
        let why = "has no effect with --rate-iops, because arrivals do not wait for completions; \
                   omit one of them";
        refuse(self.asked.think_ns > Nanos(0), "think-time", why)?;
        refuse(self.asked.discipline != Discipline::Any, "completion", why)?;
        refuse(
            self.arrival == Some(Arrival::Closed),
            "arrival",
            "must be constant or poisson with --rate-iops",
        )?;
        let Some(writes) = self.asked.write_rate_iops else { return Ok(()) };
        if writes == 0 || writes >= rate {
            let value = format!("{},{writes}", rate.saturating_sub(writes));
            let range = "a rate of at least 1 for reads and for writes";
            return Err(BuildError::range("rate-iops", &value, range));
        }
        let mix = (1..=99).contains(&self.asked.read_percent);
        let why = "with separate rates needs reads and writes; use --rw rw or --rw randrw, or \
                   give one rate";
        refuse(!mix, "rate-iops", why)
    }

    fn check_engine(&self) -> Result<(), BuildError> {
        let uring = self.asked.engine == EngineName::IoUring;
        let why = "works only with --ioengine io_uring; use that engine, or omit this flag";
        refuse(self.asked.polled && !uring, "hipri", why)?;
        refuse(self.asked.sqpoll && !uring, "sqthread-poll", why)?;
        let why = "polls the device, but requests through the page cache do not wait for the \
                   device; use --cache device or --cache none";
        refuse(self.asked.polled && !self.asked.cache.direct(), "hipri", why)?;
        let mmap = self.asked.engine == EngineName::Mmap && self.asked.cache.direct();
        let why = "copies through the page cache; use --cache all or --cache fs with it";
        refuse(mmap, "ioengine mmap", why)
    }

    fn check_targets(&self) -> Result<(), BuildError> {
        let Some(stripe) = self.asked.stripe_bytes else {
            let uneven = !self.asked.numjobs.is_multiple_of(self.asked.targets.max(1));
            let why = format!(
                "{} cannot be divided evenly among {} targets; use a multiple of the number of \
                 targets",
                self.asked.numjobs, self.asked.targets
            );
            return refuse(uneven, "numjobs", &why);
        };
        let why = "spreads an area over several targets; name more than one target, or omit it";
        let flag = if self.asked.array.is_some() { "raid" } else { "chunk" };
        refuse(self.asked.targets < 2, flag, why)?;
        in_range("chunk", stripe.0, 1, MAX_STRIPE_BYTES)
    }

    fn check_data(&self) -> Result<(), BuildError> {
        let flag = match self.asked.data {
            Data::Random => return Ok(()),
            Data::Compressible => "compressible",
            Data::Zeros => "zeros",
            Data::Tagged => "verify",
        };
        let why = "applies only to writes; use it with --rw write, randwrite, rw or randrw";
        // A job that only reads compares blocks with the tags of an earlier run.
        let tagged = self.asked.data == Data::Tagged;
        refuse(self.asked.read_percent == 100 && !tagged, flag, why)?;
        let sector = TAG_SECTOR_BYTES;
        let shifts = self.asked.stride_bytes.into_iter().chain([self.asked.misalign_bytes]);
        let mut lengths = self.asked.bs.iter().map(|share| share.bytes).chain(shifts);
        let odd = tagged && lengths.any(|bytes| !bytes.0.is_multiple_of(sector));
        let why = "tags every sector of 512 bytes; use multiples of 512 for --bs, --stride and \
                   --misalign";
        refuse(odd, flag, why)?;
        let null = self.asked.engine == EngineName::Null;
        refuse(null, flag, "has no effect with --ioengine null, which writes nothing")?;
        in_range("compressible", u64::from(self.asked.compressible_percent), 0, 100)?;
        let shared = tagged && self.regions == Some(Regions::Shared);
        let why = "gives each job its own part of the area, so that the job knows its last \
                   writes; omit --regions shared";
        refuse(shared, flag, why)?;
        let distance = self.asked.job_distance_bytes;
        let apart = distance.is_none_or(|distance| self.size.is_some_and(|size| distance >= size))
            || self.asked.numjobs == 1;
        let why = "gives each job its own part of the area, so that the job knows its last \
                   writes; omit --offset-increment";
        refuse(tagged && !apart, flag, why)
    }

    fn check_times(&self) -> Result<(), BuildError> {
        duration("runtime", self.asked.runtime_ns, MIN_RUNTIME, "10s")?;
        duration("ramp-time", self.asked.ramp_ns, Nanos(0), "2s")?;
        duration("think-time", self.asked.think_ns, Nanos(0), "1ms")?;
        duration("io-timeout", self.asked.stop.io_timeout_ns, Nanos(100_000_000), "30s")?;
        let why = "and --passes both limit the bytes of the run; use only one of them";
        refuse(
            self.asked.stop.max_bytes.is_some() && self.asked.stop.passes.is_some(),
            "io-size",
            why,
        )?;
        if let Some(passes) = self.asked.stop.passes {
            in_range("passes", u64::from(passes), 1, u64::from(u32::MAX))?;
        }
        if let Some(ppm) = self.asked.stop.precision_ppm
            && !(100..=500_000).contains(&ppm)
        {
            let value = format!("{}%", f64::from(ppm) / 1e4);
            return Err(BuildError::range("until-precision", &value, "0.01% to 50%"));
        }
        let Some(interval) = self.asked.stop.interval_ns else { return Ok(()) };
        let least = Nanos((self.asked.runtime_ns.0 / MAX_INTERVALS).max(MIN_RUNTIME.0));
        if interval < least || interval > self.asked.runtime_ns {
            let range = format!(
                "{} to {} with this --runtime",
                format_nanos(least.0 as f64),
                format_nanos(self.asked.runtime_ns.0 as f64)
            );
            return Err(BuildError::range("interval", &format_nanos(interval.0 as f64), &range));
        }
        Ok(())
    }
}

fn of_windows(engine: EngineName) -> bool {
    matches!(engine, EngineName::Iocp | EngineName::Events | EngineName::Readfileex)
}
