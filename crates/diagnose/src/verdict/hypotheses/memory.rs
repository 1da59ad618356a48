//! A page cache that is too small: programs read again what it has just dropped.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::Segment;
use crate::words::percent;
use record::{Doubt, Verdict, format_bytes};

/// Share of the bytes read that had been in memory a short time before.
const READ_AGAIN: f64 = 0.3;

pub(super) fn read_again(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some(share) = segment.read_again() else { return };
    let rival = (
        "The pages that came back may be those of another disk.",
        "The same with more memory (memory.max of the group), or workingset_refault_file of its memory.stat.",
    );
    let (claim, fine) = (sentence(segment, share), facts.states.fine());
    found.push(
        Explanation::instead(Verdict::NotTheDisk, Doubt::ReadAgain, fine, claim, rival)
            .with(&[("read again, of the bytes read", share, "share")]),
    );
}

/// What is said of it.
pub(in crate::verdict) fn sentence(segment: &Segment<'_>, share: f64) -> String {
    let of = match &segment.around.memory_limit {
        Some(limit) => format!(
            "the control group {:?} has reached the limit of its memory ({})",
            limit.group,
            format_bytes(limit.limit_bytes)
        ),
        None => "the memory is too small for what they use".to_owned(),
    };
    format!("Programs read again what the page cache has just dropped ({} of the bytes read): {of}.", percent(share))
}

impl Segment<'_> {
    /// Share of the bytes read that had been in memory a short time before, where that is much.
    pub(crate) fn read_again(&self) -> Option<f64> {
        let read = self.tally.read.bytes.filter(|bytes| *bytes > 0.0)? / self.tally.seconds.max(1e-9);
        let share = (self.around.refaulted_per_s? / read).min(1.0);
        (share >= READ_AGAIN).then_some(share)
    }
}
