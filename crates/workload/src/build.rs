//! From what a user asks for to a workload that holds together on a target.
//!
//! [`Spec::build`] is the only way to a [`Workload`], so that everything behind it may rely on the
//! rules checked here and in [`Spec::check`].

use crate::error::{in_range, refuse};
use crate::region::{Region, jobs_per_area};
use crate::{BuildError, Spec};
use record::{Arrival, Bytes, HotArea, Pattern, Regions, Workload, format_bytes};

/// The area of [`Pattern::Hit`] where the user names none: small for any cache.
const HIT_BYTES: u64 = 1 << 20;
/// Exponent of [`Pattern::Zipf`] where the user names none; fio's examples use the same.
const ZIPF_THETA_MILLI: u32 = 1_200;
/// Part of the area that is hot, and the share of the requests that go there in percent, where the
/// user names none: the proverbial 80 to 20.
const HOT_PART: u64 = 5;
const HOT_PERCENT: u8 = 80;

impl Spec {
    /// The workload on targets of which the smallest has this size.
    ///
    /// # Errors
    /// If the parts do not hold together; the text names the flag to change.
    pub fn build(&self, target: Bytes) -> Result<Workload, BuildError> {
        self.check()?;
        let area = self.area(target)?;
        // Whole requests of the smallest size.
        let workload = self.workload(Bytes(area.0 / self.unit() * self.unit()));
        let workload = self.with_pattern(workload)?;
        self.check_regions(&workload, area)?;
        Ok(workload)
    }

    /// What can be copied or derived without looking at the pattern.
    fn workload(&self, size: Bytes) -> Workload {
        let arrival = self.rate_iops.map(|_| self.arrival.unwrap_or(Arrival::Constant));
        Workload {
            read_percent: self.read_percent,
            pattern: self.pattern,
            hit_bytes: None,
            zipf_theta_milli: None,
            hot: None,
            stride_bytes: self.stride,
            blend: self.blend.filter(|blend| blend.sequential_percent + blend.hit_percent > 0),
            misalign_bytes: self.misalign,
            regions: self.regions_asked(),
            bs: self.bs.clone(),
            iodepth: self.iodepth,
            numjobs: self.numjobs,
            depth: self.iodepth * self.numjobs,
            cache: self.cache,
            engine: self.engine,
            polled: self.polled,
            sqpoll: self.sqpoll,
            discipline: self.discipline,
            arrival: arrival.unwrap_or(Arrival::Closed),
            rate_iops: self.rate_iops,
            write_rate_iops: self.write_rate_iops,
            think_ns: self.think,
            stripe_bytes: self.stripe,
            targets: self.targets,
            offset_bytes: self.offset,
            size_bytes: size,
            data: self.data,
            compressible_percent: self.compressible_percent,
            drop_cache: self.drop_cache,
            runtime_ns: self.runtime,
            ramp_ns: self.ramp,
            stop: self.stop,
        }
    }

    /// The same with the pattern's own parts: those asked for, or their defaults.
    fn with_pattern(&self, mut workload: Workload) -> Result<Workload, BuildError> {
        let region = Region::of(&workload, 0);
        let (largest, unit) = (self.max_bs().0, self.unit());
        let area = region.length * region.parts;
        // A job's part of the small area must hold a request too.
        let least = largest * region.parts;
        match self.pattern {
            Pattern::Hit => {
                let hit = self.hit_bytes.unwrap_or(Bytes(HIT_BYTES.min(area)));
                if area >= least && (self.hit_bytes.is_some() || hit.0 < least) {
                    in_range("hit-size", hit.0, least, area)?;
                }
                workload.hit_bytes = Some(hit);
            }
            Pattern::Zipf => {
                workload.zipf_theta_milli = Some(self.zipf_theta_milli.unwrap_or(ZIPF_THETA_MILLI));
            }
            Pattern::Hot => {
                let bytes = self.hot_bytes.map_or(area / HOT_PART, |bytes| bytes.0);
                let whole = bytes / (unit * region.parts) * unit * region.parts;
                if area >= 2 * least {
                    in_range("hot-size", whole, least, area - least)?;
                }
                let percent = self.hot_percent.unwrap_or(HOT_PERCENT);
                workload.hot = Some(HotArea { bytes: Bytes(whole), percent });
            }
            Pattern::Strided => {
                let stride = self.stride.map_or(0, |stride| stride.0);
                if region.length >= largest {
                    in_range("stride", stride, largest, region.length)?;
                }
            }
            Pattern::Sequential | Pattern::Random => {}
        }
        Ok(workload)
    }

    /// How jobs share the area. Random jobs share it whole unless they are told to keep apart, for
    /// which there is a word of its own: cells of workloads without it stay what they were.
    fn regions_asked(&self) -> Regions {
        let cursor = matches!(self.pattern, Pattern::Sequential | Pattern::Strided);
        match self.regions {
            Some(Regions::PerJob | Regions::Own) if !cursor => Regions::Own,
            Some(Regions::Shared) => Regions::Shared,
            _ => Regions::PerJob,
        }
    }

    /// Every job must find room for its largest request; a hot area leaves room beside it.
    fn check_regions(&self, workload: &Workload, area: Bytes) -> Result<(), BuildError> {
        let region = Region::of(workload, 0);
        let needed = self.max_bs().0 * if self.pattern == Pattern::Hot { 2 } else { 1 };
        if region.length >= needed {
            return Ok(());
        }
        Err(BuildError::AreaTooSmall {
            area: format_bytes(area.0),
            request: format_bytes(self.max_bs().0),
            jobs: if region.parts > 1 { jobs_per_area(workload) } else { 1 },
        })
    }

    /// Length of the area.
    fn area(&self, smallest: Bytes) -> Result<Bytes, BuildError> {
        let beyond = |size: u64, target: Bytes| BuildError::BeyondTarget {
            offset: format_bytes(self.offset.0),
            size: format_bytes(size),
            target: format_bytes(target.0),
            target_bytes: target.0,
        };
        let size = match (self.stripe, self.size) {
            // The size is that of each target; offsets are those of the whole.
            (Some(_), Some(size)) if size > smallest => return Err(beyond(size.0, smallest)),
            (Some(stripe), size) => {
                let whole = self.striped(stripe, size.unwrap_or(smallest))?;
                whole.0.checked_sub(self.offset.0).ok_or_else(|| beyond(0, whole))?
            }
            (None, size) => {
                let rest = smallest.0.checked_sub(self.offset.0);
                let rest = rest.ok_or_else(|| beyond(0, smallest))?;
                size.map_or(rest, |size| size.0)
            }
        };
        if self.stripe.is_none() && self.offset.0 + size > smallest.0 {
            return Err(beyond(size, smallest));
        }
        if size <= self.misalign.0 && self.misalign.0 > 0 {
            let most = format!("less than the area of {}", format_bytes(size));
            let value = self.misalign.0.to_string();
            return Err(BuildError::Range { flag: "misalign", value, range: most });
        }
        Ok(Bytes(size))
    }

    /// The whole chunks of all targets of a stripe.
    fn striped(&self, stripe: Bytes, target: Bytes) -> Result<Bytes, BuildError> {
        let chunks = target.0 / stripe.0;
        let why = format!(
            "{} is more than the smallest target has ({}); use a smaller chunk",
            format_bytes(stripe.0),
            format_bytes(target.0)
        );
        refuse(chunks == 0, "stripe", &why)?;
        Ok(Bytes(chunks * stripe.0 * u64::from(self.targets)))
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
    let others = [
        ("offset", workload.offset_bytes.0),
        ("misalign", workload.misalign_bytes.0),
        ("stride", workload.stride_bytes.unwrap_or_default().0),
        ("stripe", workload.stripe_bytes.unwrap_or_default().0),
    ];
    for (flag, value) in sizes.chain(others) {
        if !value.is_multiple_of(alignment) {
            return Err(BuildError::Alignment { flag, value, alignment });
        }
    }
    Ok(())
}
#[cfg(test)]
mod tests {
    use super::*;
    use record::{CacheMode, Nanos};

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

    #[test]
    fn every_pattern_gets_its_default_parts() {
        let of = |pattern, stride| {
            let spec = Spec { pattern, stride, ..Spec::default() };
            spec.build(Bytes(10 << 20)).unwrap()
        };
        assert_eq!(of(Pattern::Hit, None).hit_bytes, Some(Bytes(1 << 20)));
        assert_eq!(of(Pattern::Zipf, None).zipf_theta_milli, Some(1_200));
        let hot = HotArea { bytes: Bytes(2 << 20), percent: 80 };
        assert_eq!(of(Pattern::Hot, None).hot, Some(hot));
        assert_eq!(of(Pattern::Strided, Some(Bytes(8192))).stride_bytes, Some(Bytes(8192)));
        let random = of(Pattern::Random, None);
        assert_eq!((random.hit_bytes, random.hot, random.zipf_theta_milli), (None, None, None));
    }

    #[test]
    fn parts_that_leave_no_room_for_a_request_are_refused() {
        let refused = |words: &str, change: &dyn Fn(&mut Spec)| {
            let text = error(|spec| change(spec));
            assert!(text.contains(words), "{text}");
        };
        let hot = |bytes| {
            move |spec: &mut Spec| {
                (spec.pattern, spec.hot_bytes) = (Pattern::Hot, Some(Bytes(bytes)));
            }
        };
        refused("--hot-size 0 is out of range; use 4096 to 1044480", &hot(4095));
        refused("--hot-size 1048576 is out of range", &hot(1 << 20));
        let strided = |bytes| {
            move |spec: &mut Spec| {
                (spec.pattern, spec.stride) = (Pattern::Strided, Some(Bytes(bytes)));
            }
        };
        refused("--stride 4095 is out of range; use 4096 to 1048576", &strided(4095));
        refused("--stride 1048577", &strided((1 << 20) + 1));
        refused("--misalign 1048576", &|spec| spec.misalign = Bytes(1 << 20));
        refused("smaller than one request", &|spec| {
            spec.misalign = Bytes(512);
            spec.size = Some(Bytes(4096));
        });
        refused("for each of 512 job(s)", &|spec| {
            (spec.pattern, spec.numjobs) = (Pattern::Sequential, 512);
        });
    }

    #[test]
    fn a_stripe_is_the_whole_chunks_of_the_smallest_target_times_their_number() {
        let spec = Spec { stripe: Some(Bytes(65_536)), targets: 3, ..Spec::default() };
        let workload = spec.build(Bytes(200_000)).unwrap();
        assert_eq!(workload.size_bytes, Bytes(3 * 3 * 65_536));
        let sized = Spec { size: Some(Bytes(70_000)), ..spec.clone() };
        assert_eq!(sized.build(Bytes(200_000)).unwrap().size_bytes, Bytes(3 * 65_536));
        let text = spec.build(Bytes(60_000)).unwrap_err().to_string();
        assert!(text.contains("--stripe 64 KiB is more than the smallest target has"), "{text}");
    }

    #[test]
    fn every_length_that_shifts_a_request_must_be_aligned_past_the_page_cache() {
        let base = Spec { targets: 2, stripe: Some(Bytes(65_536)), ..Spec::default() };
        let strided = (Pattern::Strided, Some(Bytes(8_200)));
        let specs = [
            ("misalign", Spec { misalign: Bytes(100), ..base.clone() }),
            ("stride", Spec { pattern: strided.0, stride: strided.1, ..base.clone() }),
            ("stripe", Spec { stripe: Some(Bytes(65_537)), ..base }),
        ];
        for (flag, spec) in specs {
            let workload = spec.build(Bytes(1 << 20)).unwrap();
            let text = check_alignment(&workload, 512).unwrap_err().to_string();
            assert!(text.starts_with(&format!("--{flag} ")), "{text}");
            let buffered = Workload { cache: CacheMode::All, ..workload };
            assert_eq!(check_alignment(&buffered, 512), Ok(()));
        }
    }
}
