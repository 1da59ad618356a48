//! Detects a full SLC cache of a flash drive: writes slow down after some gigabytes.
//!
//! Drives do not report the fill level of this cache. The step itself is the evidence: the rate of
//! a write-only load fell while the load stayed the same. A profile of `check --sustained` knows
//! how many bytes the cache takes, which makes the cause likely.

use crate::causes::{Basis, Check, Claim, Effect, View, When};
use record::{LayerKind, StepCause, format_bytes, format_rate};

pub(super) const ROW: Check = Check {
    name: "flash_cache_full",
    causes: &[23],
    layer: LayerKind::Device,
    reads: "the rate of writes over the observation; the step in a profile made by `check --sustained`",
    source: "https://www.usenix.org/conference/hotstorage18/presentation/kim",
    // The data are in the counters.
    basis: Basis::Facts { when: When::Begin, read: |_, _| {}, judge },
};

/// Share of writes from which a step counts as one of writes.
const WRITES: f64 = 0.9;

fn judge(view: &View<'_>) -> Option<Claim> {
    let step = view.load.step.filter(|step| step.writes >= WRITES)?;
    if !view.is_flash() {
        return None;
    }
    let known =
        view.machine.sustained.iter().find(|load| {
            load.step.as_ref().is_some_and(|step| step.cause == StepCause::WriteCache)
        });
    let after = known.map_or(String::new(), |load| {
        format!(" When the profile was made, the rate fell after {}.", format_bytes(load.bytes.0))
    });
    let says = format!(
        "Write throughput fell from {} to {} after {} of continuous writing, as it does when the \
         fast write cache of a flash drive is full.{after}",
        format_rate(step.before),
        format_rate(step.after),
        format_bytes(step.written as u64)
    );
    let action = "Let the drive idle between bursts, write less at a time, keep more of the drive \
                  free and trimmed, or use a drive made for sustained writes.";
    let claim = Claim::unusual(says, &[Effect::SteppedDown], action)
        .with("rate before", step.before, "bytes/s")
        .with("rate after", step.after, "bytes/s");
    Some(if known.is_some() { Claim { weight: 2.5, ..claim } } else { claim })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, nothing};
    use crate::causes::{Load, Machine, RateStep};

    #[test]
    fn writes_that_step_down_on_flash_are_a_full_cache_and_reads_or_a_virtual_disk_are_not() {
        let drive = disk("nvme0n1", |_| {});
        let now = Machine { disk: Some(&drive), ..Machine::default() };
        let step = RateStep { before: 2e9, after: 4e8, written: 60e9, writes: 1.0 };
        let load = |step: RateStep| Load { step: Some(step), ..Load::default() };
        let says = cause_only_with_effect("flash_cache_full", now, Effect::SteppedDown, load(step));
        assert!(says.contains("after 60.0 GB") || says.contains("after 55.9 GiB"), "{says}");
        nothing("flash_cache_full", now, load(RateStep { writes: 0.0, ..step }));
        nothing("flash_cache_full", now, Load::default());
        let hosted = disk("vda", |facts| facts.virtual_disk = true);
        nothing("flash_cache_full", Machine { disk: Some(&hosted), ..now }, load(step));
    }
}
