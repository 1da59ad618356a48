//! Determines the part of a target that a job works on: the whole area, or its own equal part. Jobs have
//! separate parts in three cases: sequential jobs would otherwise read the same blocks one after the other;
//! verified writes require that one job knows the last content of a block; or the user requests it.

use record::{Data, Pattern, Regions, SizeShare, Workload};

/// The part of a target that a job works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Its first byte in the target (or in the stripe over all targets).
    pub start: u64,
    /// Its length: a multiple of the smallest request.
    pub length: u64,
    /// Number of such parts in the area; 1 if the jobs share the whole area.
    pub parts: u64,
}

impl Region {
    /// The region of a job (0 to `numjobs - 1`).
    #[must_use]
    pub fn of(workload: &Workload, job: u32) -> Self {
        let unit = unit(workload);
        let misalign = workload.misalign_bytes.0;
        let area = workload.size_bytes.0.saturating_sub(misalign) / unit * unit;
        let (rank, parts) = if has_own_part(workload) {
            (u64::from(area_and_rank(workload, job).1), u64::from(jobs_per_area(workload)))
        } else {
            (0, 1)
        };
        let length = area / parts / unit * unit;
        let start = workload.offset_bytes.0 + misalign + length * rank;
        let Some(distance) = workload.job_distance_bytes else {
            return Self { start, length, parts };
        };
        let rank = u64::from(area_and_rank(workload, job).1);
        let start = workload.offset_bytes.0 + misalign + distance.0 * rank;
        Self { start, length: area, parts: 1 }
    }

    /// Distance from the start of the first job's area to that of the last, in bytes.
    pub(crate) fn last_distance(workload: &Workload) -> u64 {
        let last = u64::from(jobs_per_area(workload).saturating_sub(1));
        workload.job_distance_bytes.map_or(0, |distance| distance.0.saturating_mul(last))
    }
}

/// The distance between positions in bytes: the alignment, or the smallest request size.
pub(crate) fn unit(workload: &Workload) -> u64 {
    workload.align_bytes.map_or_else(|| smallest(&workload.bs), |bytes| bytes.0.max(1))
}

/// The smallest request size of a mix, in bytes.
fn smallest(mix: &[SizeShare]) -> u64 {
    mix.iter().map(|share| share.bytes.0).min().unwrap_or(1).max(1)
}

fn has_own_part(workload: &Workload) -> bool {
    let cursor = matches!(workload.pattern, Pattern::Sequential | Pattern::Strided);
    match workload.regions {
        Regions::Own => true,
        Regions::PerJob => cursor || workload.data == Data::Tagged,
        Regions::Shared => workload.data == Data::Tagged,
    }
}

/// Number of jobs on the same area: all jobs on one target or a stripe, otherwise those of one target.
pub(crate) fn jobs_per_area(workload: &Workload) -> u32 {
    match workload.stripe_bytes {
        Some(_) => workload.numjobs,
        None => (workload.numjobs / workload.targets.max(1)).max(1),
    }
}

/// The area of a job, numbered like the area's first job, and the job's rank among the area's jobs. Job `i`
/// works on target `i` modulo the number of targets, or all jobs work on the one stripe.
#[must_use]
pub fn area_and_rank(workload: &Workload, job: u32) -> (u32, u32) {
    let areas = if workload.stripe_bytes.is_some() { 1 } else { workload.targets.max(1) };
    (job % areas, job / areas)
}
