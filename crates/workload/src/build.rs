//! From flags to a workload that holds together, or an error that says what to change.
//!
//! [`Spec`] is what a user may ask for; [`Spec::build`] is the only way to a [`Workload`], so
//! that everything behind it may rely on the rules checked here.

use record::{
    Arrival, Bytes, CacheMode, EngineName, Nanos, Pattern, Scrub, SizeShare, Workload, format_bytes,
};

/// Largest buffer memory of a job: its depth times its largest request.
const MAX_BUFFER_BYTES: u64 = 1 << 30;
/// Largest depth of a job: what an io_uring ring can hold.
const MAX_IODEPTH: u32 = 32_768;
/// Largest number of jobs: each is a thread.
const MAX_NUMJOBS: u32 = 1_024;

/// What is wrong with a workload. All of these are errors of usage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A number that must be positive is zero, or one is beyond its range.
    #[error("--{flag} {value} is out of range; use {range}")]
    Range {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: String,
        /// What it takes.
        range: String,
    },
    /// The area does not hold a request for every job.
    #[error(
        "the area of {area} is smaller than one request of {request} for each of {jobs} job(s); \
         use a smaller --bs, fewer --numjobs or a larger --size or target"
    )]
    AreaTooSmall {
        /// Length of the area.
        area: String,
        /// Largest request.
        request: String,
        /// Jobs.
        jobs: u32,
    },
    /// The area reaches beyond the target.
    #[error(
        "--offset {offset} and --size {size} reach beyond the target, which has {target} \
         ({target_bytes} bytes); use less"
    )]
    BeyondTarget {
        /// Start.
        offset: String,
        /// Length.
        size: String,
        /// Size of the target.
        target: String,
        /// The same, exactly.
        target_bytes: u64,
    },
    /// A size or an offset that O_DIRECT cannot carry.
    #[error(
        "--{flag} {value} is not a multiple of {alignment} bytes, which requests past the page \
         cache need on this target; use a multiple, or --cache all"
    )]
    Alignment {
        /// The flag.
        flag: &'static str,
        /// What it was given.
        value: u64,
        /// The unit.
        alignment: u64,
    },
}

/// What a user asks for; the defaults are those of `halfpower run`.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Share of reads, 0 to 100.
    pub read_percent: u8,
    /// Where requests go.
    pub pattern: Pattern,
    /// Area of [`Pattern::Hit`]; 1 MiB (or the whole area, if smaller) where `None`.
    pub hit_bytes: Option<Bytes>,
    /// Request sizes with shares.
    pub bs: Vec<SizeShare>,
    /// Requests outstanding per job.
    pub iodepth: u32,
    /// Jobs.
    pub numjobs: u32,
    /// Caches in use.
    pub cache: CacheMode,
    /// Engine.
    pub engine: EngineName,
    /// Start of the area.
    pub offset: Bytes,
    /// Length of the area; to the end of the target where `None`.
    pub size: Option<Bytes>,
    /// What is done to the page cache first.
    pub scrub: Scrub,
    /// Measured time.
    pub runtime: Nanos,
    /// Time before it.
    pub ramp: Nanos,
}

impl Default for Spec {
    fn default() -> Self {
        Self {
            read_percent: 100,
            pattern: Pattern::Random,
            hit_bytes: None,
            bs: vec![SizeShare { bytes: Bytes(4096), percent: 100 }],
            iodepth: 1,
            numjobs: 1,
            cache: CacheMode::Device,
            engine: EngineName::IoUring,
            offset: Bytes(0),
            size: None,
            scrub: Scrub::None,
            runtime: Nanos(10_000_000_000),
            ramp: Nanos(0),
        }
    }
}

/// An error unless `low <= value <= high`.
fn in_range(flag: &'static str, value: u64, low: u64, high: u64) -> Result<(), BuildError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(BuildError::Range { flag, value: value.to_string(), range: format!("{low} to {high}") })
}

impl Spec {
    /// The same with one request size.
    #[must_use]
    pub fn with_bs(mut self, bytes: u64) -> Self {
        self.bs = vec![SizeShare { bytes: Bytes(bytes), percent: 100 }];
        self
    }

    /// The workload on a target of this size.
    ///
    /// # Errors
    /// If the parts do not hold together; the text names the flag to change.
    pub fn build(&self, target: Bytes) -> Result<Workload, BuildError> {
        self.check_numbers()?;
        let largest = self.bs.iter().map(|share| share.bytes.0).max().unwrap_or(0);
        let size = self.area(target)?;
        let hit_bytes = (self.pattern == Pattern::Hit)
            .then(|| self.hit_bytes.unwrap_or(Bytes((1 << 20).min(size.0))));
        let share = match self.pattern {
            Pattern::Sequential => size.0 / u64::from(self.numjobs),
            Pattern::Random => size.0,
            Pattern::Hit => hit_bytes.map_or(0, |bytes| bytes.0),
        };
        if share < largest {
            return Err(BuildError::AreaTooSmall {
                area: format_bytes(if self.pattern == Pattern::Hit { share } else { size.0 }),
                request: format_bytes(largest),
                jobs: self.numjobs,
            });
        }
        if let Some(hit) = hit_bytes {
            in_range("hit-size", hit.0, largest, size.0)?;
        }
        Ok(Workload {
            read_percent: self.read_percent,
            pattern: self.pattern,
            hit_bytes,
            bs: self.bs.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            depth: self.iodepth * self.numjobs,
            cache: self.cache,
            engine: self.engine,
            arrival: Arrival::Closed,
            offset_bytes: self.offset,
            size_bytes: size,
            scrub: self.scrub,
            runtime_ns: self.runtime,
            ramp_ns: self.ramp,
        })
    }

    /// Checks what can be checked without a target.
    ///
    /// # Errors
    /// If a number is out of its range; the text names the flag.
    pub fn check_numbers(&self) -> Result<(), BuildError> {
        in_range("rwmixread", u64::from(self.read_percent), 0, 100)?;
        in_range("iodepth", u64::from(self.iodepth), 1, u64::from(MAX_IODEPTH))?;
        in_range("numjobs", u64::from(self.numjobs), 1, u64::from(MAX_NUMJOBS))?;
        let largest = MAX_BUFFER_BYTES / u64::from(self.iodepth);
        for share in &self.bs {
            if !(1..=largest).contains(&share.bytes.0) {
                return Err(BuildError::Range {
                    flag: "bs",
                    value: format_bytes(share.bytes.0),
                    range: format!(
                        "1 byte to {} with --iodepth {}, because the buffers of a job (--bs times \
                         --iodepth) are limited to {}",
                        format_bytes(largest),
                        self.iodepth,
                        format_bytes(MAX_BUFFER_BYTES)
                    ),
                });
            }
        }
        let duration = |flag, value: Nanos, low: u64| {
            // A year: longer is a slip of the keyboard.
            let high = 365 * 86_400 * 1_000_000_000;
            if (low..=high).contains(&value.0) {
                return Ok(());
            }
            let value = record::format_nanos(value.0 as f64);
            Err(BuildError::Range {
                flag,
                value,
                range: "1ms to a year, for example 10s".to_owned(),
            })
        };
        duration("runtime", self.runtime, 1_000_000)?;
        duration("ramp-time", self.ramp, 0)
    }

    /// Length of the area, cut to whole requests of the smallest size.
    fn area(&self, target: Bytes) -> Result<Bytes, BuildError> {
        let beyond = |size: u64| BuildError::BeyondTarget {
            offset: format_bytes(self.offset.0),
            size: format_bytes(size),
            target: format_bytes(target.0),
            target_bytes: target.0,
        };
        let rest = target.0.checked_sub(self.offset.0).ok_or_else(|| beyond(0))?;
        let size = self.size.map_or(rest, |size| size.0);
        if size > rest {
            return Err(beyond(size));
        }
        let unit = self.bs.iter().map(|share| share.bytes.0).min().unwrap_or(1);
        Ok(Bytes(size / unit * unit))
    }
}

/// Checks that every request of a workload that bypasses the page cache is aligned.
///
/// # Errors
/// Names the flag whose value is not a multiple of `alignment` bytes.
pub fn check_alignment(workload: &Workload, alignment: u64) -> Result<(), BuildError> {
    if !workload.cache.direct() {
        return Ok(());
    }
    let sizes = workload.bs.iter().map(|share| ("bs", share.bytes.0));
    for (flag, value) in sizes.chain([("offset", workload.offset_bytes.0)]) {
        if !value.is_multiple_of(alignment) {
            return Err(BuildError::Alignment { flag, value, alignment });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(change: impl FnOnce(&mut Spec)) -> String {
        let mut spec = Spec::default();
        change(&mut spec);
        spec.build(Bytes(1 << 20)).unwrap_err().to_string()
    }

    #[test]
    fn every_bad_number_is_named_with_what_to_use() {
        assert!(error(|spec| spec.iodepth = 0).contains("--iodepth 0"));
        assert!(error(|spec| spec.numjobs = 0).contains("--numjobs 0"));
        assert!(error(|spec| spec.runtime = Nanos(0)).contains("--runtime"));
        assert!(error(|spec| spec.read_percent = 101).contains("--rwmixread 101"));
        assert!(error(|spec| *spec = spec.clone().with_bs(0)).contains("--bs 0"));
        assert!(error(|spec| spec.size = Some(Bytes(2 << 20))).contains("beyond the target"));
        assert!(error(|spec| spec.offset = Bytes(2 << 20)).contains("beyond the target"));
        assert!(error(|spec| spec.size = Some(Bytes(2048))).contains("smaller than one request"));
        let hit = error(|spec| {
            spec.pattern = Pattern::Hit;
            spec.hit_bytes = Some(Bytes(4 << 20));
        });
        assert!(hit.contains("--hit-size"), "{hit}");
    }

    #[test]
    fn an_unaligned_size_is_refused_past_the_page_cache_only() {
        let spec = Spec::default().with_bs(1000);
        let direct = spec.build(Bytes(1 << 20)).unwrap();
        let text = check_alignment(&direct, 512).unwrap_err().to_string();
        assert!(text.contains("--bs 1000") && text.contains("512"), "{text}");
        let buffered = Spec { cache: CacheMode::All, ..spec }.build(Bytes(1 << 20)).unwrap();
        assert_eq!(check_alignment(&buffered, 512), Ok(()));
    }

    #[test]
    fn run_time_and_ramp_do_not_change_the_cell_and_everything_else_does() {
        let base = Spec::default().build(Bytes(1 << 20)).unwrap();
        let longer = Workload { runtime_ns: Nanos(1), ramp_ns: Nanos(1), ..base.clone() };
        assert_eq!(base.cell(), longer.cell());
        let deeper = Workload { iodepth: 2, depth: 2, ..base.clone() };
        assert_ne!(base.cell(), deeper.cell());
        let buffered = Workload { cache: CacheMode::All, ..base.clone() };
        assert_ne!(base.cell(), buffered.cell());
    }
}
