//! Finds causes above or beside the disk: memory, processors, the hypervisor, flushes, compression.

use super::facts::{STEAL_MATTERS, Segment};
use super::judgement::{Number, cause};
use super::layout::compression;
use super::page_cache;
use crate::words::percent;
use record::{Cause, CauseCode};

/// Shares of time that tasks wait for a processor or for memory, and of periods in which a control
/// group was throttled, from which they are named as causes if the disk is not the cause.
const WAIT_FOR_PROCESSOR: f64 = 0.3;
const WAIT_FOR_MEMORY: f64 = 0.1;
const STOPPED: f64 = 0.05;
/// Share of the time in flushes from which flushes come first, and from which they count on a healthy device.
pub(crate) const MOSTLY_IN_FLUSH: f64 = 0.5;
pub(crate) const FLUSHES_MATTER: f64 = 0.25;

/// Causes above or beside the disk that programs wait for, with their figures.
pub(super) fn elsewhere(segment: &Segment<'_>) -> Vec<Cause> {
    let looks: [fn(&Segment<'_>) -> Option<Cause>; 7] =
        [memory_short, read_ahead_off, processors_busy, stopped, stolen, flushes, compressed];
    let mut found: Vec<Cause> = looks.into_iter().filter_map(|look| look(segment)).collect();
    let in_flush = segment.in_flush();
    // Fast flushes are no cause. If their time is unknown, programs must be waiting for something.
    // Pressure is a figure of the whole machine and adds little to a known flush time.
    let waits = in_flush.or_else(|| segment.pressure_beyond());
    if waits.is_some_and(|share| share < FLUSHES_MATTER) {
        found.retain(|cause| cause.code != CauseCode::ManyFlushes);
    }
    if in_flush.is_some_and(|share| share >= MOSTLY_IN_FLUSH) {
        found.sort_by_key(|cause| cause.code != CauseCode::ManyFlushes);
    }
    found
}

/// Saturated CPUs, or tasks that wait for one.
fn processors_busy(segment: &Segment<'_>) -> Option<Cause> {
    let around = &segment.around;
    let waited = around.cpu_some.filter(|share| *share >= WAIT_FOR_PROCESSOR).map(percent);
    let idle = around.idle.filter(|_| around.processors_full()).map(percent);
    let claim = match (waited, idle) {
        (Some(waited), Some(idle)) => format!(
            "The CPUs are saturated: {idle} idle, and at least one program waited for a CPU \
             {waited} of the time."
        ),
        (Some(waited), None) => {
            format!("At least one program waited for a CPU {waited} of the time (CPU pressure).")
        }
        (None, Some(idle)) => format!("The CPUs are saturated: {idle} idle."),
        (None, None) => return None,
    };
    let waited = around.cpu_some.map(|it| ("some task waited for a processor", it, "share"));
    let idle = around.idle.map(|idle| ("idle CPU time", idle, "share"));
    let numbers: Vec<Number> = waited.into_iter().chain(idle).collect();
    Some(cause(CauseCode::ProcessorsBusy, claim, &numbers))
}

/// A control group that used up its CPU quota.
fn stopped(segment: &Segment<'_>) -> Option<Cause> {
    let stopped = segment.around.stopped.as_ref().filter(|stopped| stopped.share >= STOPPED)?;
    let claim = format!(
        "The control group {:?} has a quota of {} CPUs and was throttled in {} of its periods.",
        stopped.group,
        (stopped.processors * 100.0).round() / 100.0,
        percent(stopped.share)
    );
    let numbers = [("periods in which it was stopped", stopped.share, "share")];
    Some(cause(CauseCode::CpuQuota, claim, &numbers))
}

/// CPU time that the hypervisor took.
fn stolen(segment: &Segment<'_>) -> Option<Cause> {
    let steal = segment.around.steal.filter(|steal| *steal > STEAL_MATTERS)?;
    let claim =
        format!("The hypervisor took {} of this machine's CPU time (steal).", percent(steal));
    Some(cause(CauseCode::StolenTime, claim, &[("steal", steal, "share")]))
}

/// Sequential buffered reads without read-ahead.
fn read_ahead_off(segment: &Segment<'_>) -> Option<Cause> {
    let share = segment.read_ahead_off()?;
    let numbers = [("sequential share of the reads", share, "share")];
    Some(cause(CauseCode::ReadAheadOff, page_cache::read_ahead_off(share), &numbers))
}

/// Tasks that wait for memory, or that reread data that did not fit.
pub(super) fn memory_short(segment: &Segment<'_>) -> Option<Cause> {
    if let Some(share) = segment.read_again() {
        let numbers = [("reread share of the bytes read", share, "share")];
        let claim = page_cache::read_again(segment, share);
        return Some(cause(CauseCode::MemoryShort, claim, &numbers));
    }
    let waited = segment.around.memory_some.filter(|share| *share >= WAIT_FOR_MEMORY)?;
    let claim = format!(
        "At least one program waited for memory {} of the time (memory pressure): pages are \
         reclaimed, swapped or read again.",
        percent(waited)
    );
    Some(cause(CauseCode::MemoryShort, claim, &[("some task waited for memory", waited, "share")]))
}

/// Frequent flushes.
pub(super) fn flushes(segment: &Segment<'_>) -> Option<Cause> {
    let flushes = segment.many_flushes()?;
    let claim =
        format!("The device gets many flushes: {}. {}", flushes.sentence(), segment.who_flushes());
    Some(cause(CauseCode::ManyFlushes, claim, &flushes.numbers()))
}

/// Compressed files.
pub(super) fn compressed(segment: &Segment<'_>) -> Option<Cause> {
    let layout = segment.compressed()?;
    let numbers = [
        ("compressed", layout.compressed_share(), "share"),
        ("mean extent", layout.extent_bytes().unwrap_or(0.0), "B"),
    ];
    Some(cause(CauseCode::CompressedFiles, compression(layout), &numbers))
}
