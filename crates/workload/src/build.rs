//! Converts a user's request into a consistent workload for a target.
//!
//! [`Spec::build`] is the only way to create a [`Workload`], so that later code can rely on the rules checked
//! here and in [`Spec::check`].

use crate::array::check_together;
use crate::error::{in_range, refuse};
use crate::region::{Region, jobs_per_area};
use crate::{BuildError, Spec};
use record::{
    Arrival, Beside, Bytes, HotArea, Pattern, Recorded, RecordedRequest, Regions, ReplayPace,
    Workload, format_bytes,
};
use std::sync::Arc;

/// Default area of [`Pattern::Hit`]: small enough for any cache.
const HIT_BYTES: u64 = 1 << 20;
/// Default exponent of [`Pattern::Zipf`]; fio's examples use the same.
const ZIPF_THETA_MILLI: u32 = 1_200;
/// Wrapping moves recorded offsets by multiples of this, so that the position within a page stays.
const PAGE_BYTES: u64 = 4_096;
/// Default hot part of the area (one part in five), and its default share of the requests in percent: the
/// proverbial 80 to 20.
const HOT_PART: u64 = 5;
const HOT_PERCENT: u8 = 80;

impl Spec {
    /// Builds the workload for targets whose smallest has this size. Jobs next to it use the same targets.
    ///
    /// # Errors
    /// If the parts are inconsistent. The text names the flag to change.
    pub fn build(&self, target: Bytes) -> Result<Workload, BuildError> {
        self.build_on(&[target])
    }

    /// The same if jobs next to it have their own sets of targets. `targets` has the size of the smallest
    /// target of each set.
    ///
    /// # Errors
    /// As for [`Spec::build`].
    pub fn build_on(&self, targets: &[Bytes]) -> Result<Workload, BuildError> {
        let size = |set: u32| targets.get(set as usize).copied().unwrap_or_default();
        let mut first = self.build_alone(size(0))?;
        for (job, index) in self.beside.iter().zip(1..) {
            let name = job.spec.asked.label(index);
            let mut workload = job
                .spec
                .build_alone(size(job.targets))
                .map_err(|error| BuildError::Beside { job: name, error: Box::new(error) })?;
            // The jobs differ, so no common warm-up can be cut off.
            workload.stop.cut_warm_up = false;
            first.stop.cut_warm_up = false;
            let (delay_ns, targets) = (job.delay_ns, job.targets);
            first.beside.push(Beside { delay_ns, targets, workload });
        }
        check_together(&first)?;
        let why = "applies to a single job, but several run at the same time; omit it";
        let several =
            !first.beside.is_empty() && first.all().any(|job| job.stop.precision_ppm.is_some());
        refuse(several, "until-precision", why)?;
        Ok(first)
    }

    fn build_alone(&self, target: Bytes) -> Result<Workload, BuildError> {
        self.check()?;
        let area = self.area(target)?;
        // Whole requests of the smallest size.
        let mut workload = self.workload(Bytes(area.0 / self.unit() * self.unit()));
        let leg = self.size.unwrap_or(target);
        workload.array = self.array_on(leg).map(|(array, _)| array);
        let workload = with_replay(workload, area)?;
        let workload = self.with_pattern(workload)?;
        self.check_regions(&workload, area)?;
        Ok(workload)
    }

    /// The fields that do not depend on the pattern.
    fn workload(&self, size: Bytes) -> Workload {
        let asked = &self.asked;
        let paced = asked.rate_iops.map(|_| self.arrival.unwrap_or(Arrival::Constant));
        let recorded = asked.replay.as_ref().and_then(|replay| match replay.pace {
            ReplayPace::AtTimes { .. } => Some(Arrival::Recorded),
            ReplayPace::AsFast => None,
        });
        let arrival = recorded.or(paced);
        Workload {
            blend: asked.blend.filter(|blend| blend.sequential_percent + blend.hit_percent > 0),
            regions: self.regions_asked(),
            depth: asked.iodepth * asked.numjobs,
            arrival: arrival.unwrap_or(Arrival::Closed),
            size_bytes: size,
            ..asked.clone()
        }
    }

    /// Adds the parameters of the pattern: the requested ones, or defaults.
    fn with_pattern(&self, mut workload: Workload) -> Result<Workload, BuildError> {
        let region = Region::of(&workload, 0);
        let (largest, unit) = (self.asked.max_bs().0, self.unit());
        let area = region.length * region.parts;
        // The smallest zone must also have room for a request.
        let narrow = self.asked.zones.iter().map(|zone| u64::from(zone.area_percent)).min();
        if narrow.is_some_and(|percent| region.length * percent / 100 < largest + unit) {
            return Err(BuildError::Area(format!(
                "a zone of {} % of the area is smaller than a request; use a larger --size",
                narrow.unwrap_or_default()
            )));
        }
        // A job's part of the small area must also have room for a request.
        let least = largest * region.parts;
        match self.asked.pattern {
            Pattern::Hit => {
                let hit = self.asked.hit_bytes.unwrap_or(Bytes(HIT_BYTES.min(area)));
                if area >= least && (self.asked.hit_bytes.is_some() || hit.0 < least) {
                    in_range("hit-size", hit.0, least, area)?;
                }
                workload.hit_bytes = Some(hit);
            }
            Pattern::Zipf => {
                workload.zipf_theta_milli.get_or_insert(ZIPF_THETA_MILLI);
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
                let stride = self.asked.stride_bytes.map_or(0, |stride| stride.0);
                if region.length >= largest {
                    let room =
                        if self.asked.backwards { region.length - largest } else { region.length };
                    in_range("stride", stride, largest, room)?;
                }
            }
            Pattern::Sequential | Pattern::Random => {}
        }
        Ok(workload)
    }

    /// How jobs share the area. Random jobs share the whole area unless the user separates them. `Own` is a
    /// separate value for that, so that the hashes of other workloads do not change.
    fn regions_asked(&self) -> Regions {
        let cursor = matches!(self.asked.pattern, Pattern::Sequential | Pattern::Strided);
        match self.regions {
            Some(Regions::PerJob | Regions::Own) if !cursor => Regions::Own,
            Some(Regions::Shared) => Regions::Shared,
            _ => Regions::PerJob,
        }
    }

    /// Every job must have room for its largest request. A hot area must leave room outside it.
    fn check_regions(&self, workload: &Workload, area: Bytes) -> Result<(), BuildError> {
        let region = Region::of(workload, 0);
        let needed = self.asked.max_bs().0 * if self.asked.pattern == Pattern::Hot { 2 } else { 1 };
        if region.length >= needed {
            return Ok(());
        }
        let jobs = if region.parts > 1 { jobs_per_area(workload) } else { 1 };
        Err(BuildError::Area(format!(
            "the area of {} is too small for one request of {} for each of {jobs} job(s); use a \
             smaller --bs, a smaller --numjobs, a larger --size or a larger target",
            format_bytes(area.0),
            format_bytes(self.asked.max_bs().0)
        )))
    }

    /// Length of the area for targets whose smallest has this size.
    fn area(&self, smallest: Bytes) -> Result<Bytes, BuildError> {
        let beyond = |size: u64, target: Bytes| {
            BuildError::Area(format!(
                "--offset {} and --size {} reach beyond the end of the target, which has {} ({} \
                 bytes); use a smaller --offset or --size",
                format_bytes(self.asked.offset_bytes.0),
                format_bytes(size),
                format_bytes(target.0),
                target.0
            ))
        };
        // Distance from the start of the first job's area to that of the last.
        let distance = Region::last_distance(&self.workload(Bytes(0)));
        let size = match (self.asked.stripe_bytes, self.size) {
            // The size applies to each target, but offsets apply to the whole stripe.
            (Some(_), Some(size)) if size > smallest => return Err(beyond(size.0, smallest)),
            (Some(stripe), size) => {
                let leg = size.unwrap_or(smallest);
                let whole = self.striped(stripe, leg)?;
                let whole = self.array_on(leg).map_or(whole, |(_, size)| size);
                let rest = whole.0.checked_sub(self.asked.offset_bytes.0.saturating_add(distance));
                rest.ok_or_else(|| beyond(0, whole))?
            }
            (None, size) => {
                let from = self.asked.offset_bytes.0.saturating_add(distance);
                let rest = smallest.0.checked_sub(from);
                let rest = rest.ok_or_else(|| beyond(0, smallest))?;
                size.map_or(rest, |size| size.0)
            }
        };
        let end =
            [self.asked.offset_bytes.0, distance, size].into_iter().fold(0, u64::saturating_add);
        if self.asked.stripe_bytes.is_none() && end > smallest.0 {
            return Err(beyond(size.saturating_add(distance), smallest));
        }
        if size <= self.asked.misalign_bytes.0 && self.asked.misalign_bytes.0 > 0 {
            let most = format!("less than the area of {}", format_bytes(size));
            return Err(BuildError::range("misalign", &self.asked.misalign_bytes.0, &most));
        }
        Ok(Bytes(size))
    }

    /// The total size of the whole chunks of all targets of a stripe.
    fn striped(&self, stripe: Bytes, target: Bytes) -> Result<Bytes, BuildError> {
        let chunks = target.0 / stripe.0;
        let why = format!(
            "{} is larger than the smallest target ({}); use a smaller chunk",
            format_bytes(stripe.0),
            format_bytes(target.0)
        );
        refuse(chunks == 0, "chunk", &why)?;
        Ok(Bytes(chunks * stripe.0 * u64::from(self.asked.targets)))
    }
}

/// Fits the requests of a replay into the area, by wrapping if the user allows it.
fn with_replay(mut workload: Workload, area: Bytes) -> Result<Workload, BuildError> {
    let Some(replay) = &mut workload.replay else { return Ok(workload) };
    let targets = if workload.stripe_bytes.is_some() { 1 } else { workload.targets };
    if replay.devices != targets {
        return Err(BuildError::Area(format!(
            "the recording contains requests to {} devices or files, but the number of targets is \
             {targets}; name one target for each",
            replay.devices
        )));
    }
    let end = replay.end();
    if end <= area.0 {
        return Ok(workload);
    }
    if !replay.wrap {
        return Err(BuildError::Area(format!(
            "the recording extends to byte {end}, but the area has only {} bytes; use a larger \
             target, or --replay-wrap to wrap offsets around to the start of the area",
            area.0
        )));
    }
    let whole = (area.0 / PAGE_BYTES * PAGE_BYTES).max(1);
    let inside = |request: &RecordedRequest| {
        let bytes = u64::from(request.bytes);
        if request.offset + bytes <= area.0 {
            return *request;
        }
        // Keep the offset modulo the whole pages of the area. Move a request that would cross the end back.
        let offset = request.offset % whole;
        let over = (offset + bytes).saturating_sub(area.0).next_multiple_of(PAGE_BYTES);
        let back = if offset + bytes > area.0 { over } else { 0 };
        RecordedRequest { offset: offset.saturating_sub(back), ..*request }
    };
    let too_large = replay.recorded.0.iter().find(|it| u64::from(it.bytes) > area.0);
    if let Some(request) = too_large {
        let text = format!("a recorded request of {} bytes is larger than the area", request.bytes);
        return Err(BuildError::Area(text));
    }
    replay.recorded = Recorded(Arc::new(replay.recorded.0.iter().map(inside).collect()));
    Ok(workload)
}

/// Checks that every direct I/O request of a workload is aligned.
///
/// # Errors
/// Names the flag whose value is not a multiple of `alignment` bytes.
pub fn check_alignment(workload: &Workload, alignment: u64) -> Result<(), BuildError> {
    if !workload.cache.direct() {
        return Ok(());
    }
    if let Some(replay) = &workload.replay {
        let all = replay.recorded.0.iter();
        let odd =
            all.filter(|it| !(it.offset | u64::from(it.bytes)).is_multiple_of(alignment)).count();
        let why = format!(
            "has {odd} requests whose offset or size is not a multiple of {alignment} bytes, but \
             direct I/O to this target requires that; use --cache all"
        );
        refuse(odd > 0, "replay", &why)?;
    }
    let sizes = workload.bs.iter().map(|share| ("bs", share.bytes.0));
    let others = [
        ("offset", workload.offset_bytes.0),
        ("misalign", workload.misalign_bytes.0),
        ("stride", workload.stride_bytes.unwrap_or_default().0),
        ("chunk", workload.stripe_bytes.unwrap_or_default().0),
    ];
    for (flag, value) in sizes.chain(others) {
        let why = format!(
            "{value} is not a multiple of {alignment} bytes, which direct I/O to this target \
             requires; use a multiple, or --cache all"
        );
        refuse(!value.is_multiple_of(alignment), flag, &why)?;
    }
    Ok(())
}
