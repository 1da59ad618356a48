//! The largest rates of a device, as another run would find them.
//!
//! The largest IOPS are those of [`Predictor::max_rate`], so that a check and a prediction agree. The largest
//! throughput is that of the fastest cell.

use crate::size::{direct, fastest, only_size};
use crate::{Predictor, mix_of};
use record::{Cell, Estimate, Limits, Locality, Mix, OpKind, Pattern, Profile, Workload};

/// The largest rates of direct I/O to the whole area (the hit pattern measures a cache, not the device), as
/// another run would find them.
pub(crate) fn limits(profile: &Profile) -> Limits {
    let predictor = Predictor::of_single_loads(profile);
    let rate = |op| {
        let mix = Mix::one(op, Locality::Random, smallest_random(&profile.cells, op)?);
        predictor.max_rate(&mix).ok()
    };
    let throughput = |op| {
        let whole_area = profile.cells.iter().filter(|cell| cell.workload.pattern != Pattern::Hit);
        let cell = fastest(whole_area.filter(|cell| direct(cell, op)))?;
        Some(rerun(profile, &cell.workload, &cell.bytes_per_s))
    };
    Limits {
        read_iops: rate(OpKind::Read),
        write_iops: rate(OpKind::Write),
        read_bytes_per_s: throughput(OpKind::Read),
        write_bytes_per_s: throughput(OpKind::Write),
    }
}

/// The smallest size of the random cells.
fn smallest_random(cells: &[Cell], op: OpKind) -> Option<u64> {
    let is_random = |cell: &&Cell| direct(cell, op) && cell.workload.pattern == Pattern::Random;
    cells.iter().filter(is_random).filter_map(only_size).min()
}

/// The estimate of a workload's rate with the error expected for another run.
pub(crate) fn rerun(profile: &Profile, workload: &Workload, estimate: &Estimate) -> Estimate {
    let mix = mix_of(workload);
    match mix.as_ref().and_then(|mix| mix.classes.first()) {
        Some(class) => profile.rerun(estimate, (class.op, class.locality, workload.depth == 1)),
        None => estimate.with_ratio_error(profile.common_se()),
    }
}
