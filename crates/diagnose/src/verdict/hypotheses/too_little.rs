//! Tests for too few requests or too coarse figures for any conclusion.

use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::{REQUESTS_MIN, STEP_MAX_REL};
use crate::words::percent;
use record::{Doubt, Finding, HypothesisName, Verdict};

/// Utilization below which programs hardly wait for the device, whatever its latency.
const HARDLY_USED: f64 = 0.02;
/// Weight of the verdict that the disk is hardly used, relative to that of too little evidence.
const ANSWERS: f64 = 6.0;

pub(super) fn too_little(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    // What does not complete, or is not a read or write, is evidence of its own.
    if facts.segment.hang.is_some() {
        return;
    }
    let tally = &facts.segment.tally;
    let (count, step) = (tally.all.count(), tally.step_rel());
    let claim = if facts.segment.since_boot {
        format!("{} {}", Finding::SINCE_BOOT, Finding::RECORD_WHILE_SLOW)
    } else if tally.all.requests.is_none() {
        let how = facts
            .segment
            .by_system("; record the counters Disk Reads/sec and Disk Writes/sec too", "");
        format!("The source does not report the number of requests{how}.")
    } else if count < 1.0 {
        "The device got no requests.".to_owned()
    } else if count < REQUESTS_MIN && facts.segment.slow_flushes.is_none() {
        format!("{count:.0} requests are too few for a verdict (at least 50).")
    } else if tally.latency_ns().is_none() {
        let how = facts.segment.by_system(
            "record the counters Avg. Disk sec/Read and Avg. Disk sec/Write",
            "iostat prints them with -x, as in `iostat -x -t 1 60`",
        );
        format!("The source has no latencies; {how}.")
    } else if tally.all.request_bytes().is_none() && facts.segment.best_look().is_none() {
        let how = facts.segment.by_system(
            ": record the counters Disk Read Bytes/sec and Disk Write Bytes/sec too",
            "",
        );
        format!("The source has no bytes, so the size of the requests is unknown{how}.")
    } else if facts.segment.likely_slow_flushes().is_some() {
        // They are evidence, however coarse the latencies of reads and writes are.
        return;
    } else if step > STEP_MAX_REL {
        "The source reports latencies too coarsely for this device.".to_owned()
    } else {
        return;
    };
    let waits = tally.concurrency().filter(|waits| *waits <= HARDLY_USED && step > STEP_MAX_REL);
    if let Some(waits) = waits.filter(|_| count >= REQUESTS_MIN) {
        let claim = format!(
            "The source reports latencies too coarsely for this device, but that matters little: a \
             request is in flight only {} of the time.",
            percent(waits)
        );
        let (doubt, weight) = (Doubt::TooLittle, ANSWERS * PROOF);
        let decided_by = "Use a source with finer resolution.";
        found.push(Explanation::weighed(Verdict::NotTheDisk, doubt, weight, claim, decided_by));
    }
    let decided_by = match facts.segment.since_boot {
        true => Finding::RECORD_WHILE_SLOW,
        false => HypothesisName::RECORD_AGAIN,
    };
    let doubt = Doubt::TooLittle;
    let found_by = [("requests", count, ""), ("step of the latency", step, "share")];
    found.push(
        Explanation::weighed(Verdict::NotEnoughEvidence, doubt, PROOF, claim, decided_by)
            .with(&found_by[..if step > STEP_MAX_REL { 2 } else { 1 }]),
    );
}
