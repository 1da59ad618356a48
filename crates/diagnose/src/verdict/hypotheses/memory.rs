//! Tests for a page cache that is too small: programs reread data that it has just dropped.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::Segment;
use crate::verdict::page_cache;
use record::{Doubt, MemoryLimit, Verdict};

/// Share of the bytes read that were in memory shortly before.
const READ_AGAIN: f64 = 0.3;
/// Least memory pressure (share of time) if no group has reached its limit: otherwise the machine has enough.
const PRESSED: f64 = 0.005;
/// Least share of reads: a program that mostly writes does not wait for its few reads.
const READS: f64 = 0.1;

pub(super) fn read_again(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let share = segment.read_again()?;
    let rival = (
        "The rereads may be from another disk.",
        "Observe again with more memory (memory.max of the group), or check \
         workingset_refault_file in its memory.stat.",
    );
    let (claim, fine) = (page_cache::read_again(segment, share), facts.states.fine());
    Some(Explanation::instead(Verdict::NotTheDisk, Doubt::ReadAgain, fine, claim, rival).with(&[(
        "reread share of the bytes read",
        share,
        "share",
    )]))
}

impl Segment<'_> {
    /// Share of the bytes read that were in memory shortly before, if it is large. Without a group
    /// that has too little memory, rereads are attributed to other devices first.
    pub(crate) fn read_again(&self) -> Option<f64> {
        self.tally.read_share().filter(|share| *share >= READS)?;
        let seconds = self.tally.seconds.max(1e-9);
        let read = self.tally.read.bytes.filter(|bytes| *bytes > 0.0)? / seconds;
        let of_group = self.short_group().map(|group| group.refaulted_bytes_per_s);
        let of_all = || {
            if self.around.memory_some.is_some_and(|waited| waited < PRESSED) {
                return None;
            }
            let others = (self.around.read_per_s? - read).max(0.0);
            Some(self.around.refaulted_per_s? - others)
        };
        let share = (of_group.or_else(of_all)? / read).min(1.0);
        (share >= READ_AGAIN).then_some(share)
    }

    /// The control group at its memory limit that rereads most, if that is much of this device's reads.
    pub(crate) fn short_group(&self) -> Option<&MemoryLimit> {
        let read = self.tally.read.bytes? / self.tally.seconds.max(1e-9);
        let limit = self.around.memory_limit.as_ref()?;
        (limit.refaulted_bytes_per_s >= READ_AGAIN * read).then_some(limit)
    }
}
