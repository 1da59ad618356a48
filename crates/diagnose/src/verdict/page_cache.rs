//! Sentences about the page cache, shared by a hypothesis and a cause.

use super::facts::Segment;
use crate::words::percent;
use record::format_bytes;

/// Programs reread data that the page cache dropped. `share` is relative to the bytes read.
pub(super) fn read_again(segment: &Segment<'_>, share: f64) -> String {
    let of = match segment.short_group() {
        Some(limit) => format!(
            "the control group {:?} has reached its memory limit ({})",
            limit.group,
            format_bytes(limit.limit_bytes)
        ),
        None => "memory is too small for their working set".to_owned(),
    };
    let share = percent(share);
    format!(
        "Programs reread data that the page cache has just dropped ({share} of the bytes read): \
         {of}."
    )
}

/// The kernel does not read ahead. `share` is that of sequential reads.
pub(super) fn read_ahead_off(share: f64) -> String {
    format!(
        "The kernel does not read ahead (read_ahead_kb=0): {} of the reads are sequential, one \
         page at a time at QD 1.",
        percent(share)
    )
}
