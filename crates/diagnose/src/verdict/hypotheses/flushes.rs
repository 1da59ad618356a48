//! Tests for other programs on the device, and for the costs of flushes and compression.

use crate::verdict::device_users::NeighbourBy;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::judgement::RestsOn;
use crate::verdict::layout::compression;
use crate::words::times;
use record::{Doubt, Verdict};

/// The latency is as expected at this queue depth. But a program that would be alone without its
/// neighbour still sees a slower disk.
pub(super) fn neighbour(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let known = segment.neighbour().zip(segment.best_look());
    let Some((neighbour, (look, latency))) = known else { return };
    let told = segment.neighbour_told(&neighbour);
    let decided_by = "Observe again while that program is stopped or limited (io.max).";
    if segment.waits_beside() && !segment.is_unprofiled() {
        let because = format!(
            "Requests take {} the latency at QD 1, and {told}.",
            times(latency / look.unloaded_ns.max(1.0))
        );
        let (doubt, fine) = (Doubt::Neighbour, facts.states.fine());
        found.push(Explanation::beside(Verdict::Overloaded, doubt, fine, because, decided_by));
    }
    if neighbour.by == NeighbourBy::Flushes {
        let because = format!(
            "Requests wait while the device flushes, a wait that no profile includes: {told}."
        );
        let (doubt, slow) = (Doubt::NeighbourFlushes, facts.states.slow());
        found.push(Explanation::beside(Verdict::Overloaded, doubt, slow, because, decided_by));
    }
}

/// The device flushes more slowly than it should: by its profile, another time, or its class.
pub(super) fn slower(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let flushes = facts.segment.slow_flushes?;
    let claim =
        format!("{}. No latency of reads or writes includes that time.", flushes.sentence());
    let verdict = match facts.states.likeliest() {
        Some(Verdict::Overloaded | Verdict::SlowAndOverloaded) => Verdict::SlowAndOverloaded,
        _ => Verdict::Slow,
    };
    let found =
        Explanation::instead(verdict, Doubt::Flushes, facts.states.all(), claim, flushes.rival());
    let weight = found.weight.min(flushes.odds * facts.states.all());
    Some(Explanation { weight, ..found }.resting_on(RestsOn::Flushes).with(&flushes.numbers()))
}

/// A program that waits for a flush, or for the journal behind it, waits above the device, unless the device
/// flushes more slowly than it did.
pub(super) fn many(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let flushes = segment.many_flushes().filter(|_| segment.likely_slow_flushes().is_none())?;
    let because = format!(
        "Programs may wait for the file system's journal or for a flush, which the latency of \
         reads and writes does not include: {}. {}",
        flushes.sentence(),
        segment.who_flushes()
    );
    let decided_by = "Measure the latency of fsync and of reads in the program, or observe again \
                      with the flushing program on another file system.";
    let (doubt, all) = (Doubt::Flushes, facts.states.all());
    Some(Explanation::beside(Verdict::NotTheDisk, doubt, all, because, decided_by))
}

/// Compressed files keep CPUs busy, and the device gets other requests than the program submitted.
pub(super) fn compressed(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let layout = facts.segment.compressed()?;
    let because = format!(
        "{} Programs may wait for compression rather than for the device.",
        compression(layout)
    );
    let decided_by =
        "Observe again with an uncompressed copy, or check the CPU time of the kernel workers.";
    let (doubt, all) = (Doubt::CompressedFiles, facts.states.all());
    Some(Explanation::beside(Verdict::NotTheDisk, doubt, all, because, decided_by))
}
