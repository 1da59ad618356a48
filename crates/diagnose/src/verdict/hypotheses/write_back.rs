//! Writes of the page cache wait for each other, and nobody for them.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::notes;
use record::{Doubt, format_nanos};

pub(super) fn for_nobody(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    if !notes::is_write_back(segment) {
        return;
    }
    let claim = format!(
        "The page cache writes back: its requests wait for each other ({}), as expected.",
        format_nanos(segment.tally.latency_ns().unwrap_or(0.0))
    );
    let rival = (
        "A program may wait for these writes (fsync, or readers in the same queue).",
        "Latencies of the program, or the tracer's list of processes.",
    );
    let (fine, over) = (facts.states.name_of_fine(), facts.states.overloaded());
    found.push(Explanation::instead(fine, Doubt::WriteBack, over, claim, rival));
}
