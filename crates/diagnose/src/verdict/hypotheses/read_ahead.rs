//! Tests for sequential buffered reads of one page each, because the kernel does not read ahead.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::Segment;
use crate::verdict::page_cache;
use record::{Doubt, Verdict};

/// Page size on machines with small pages, in bytes.
const PAGE_BYTES: f64 = 4096.0;
/// Least sequential share, least read share, and largest concurrency.
const IN_ORDER: f64 = 0.6;
const READS: f64 = 0.8;
const ONE: f64 = 1.3;

pub(super) fn off(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let share = segment.read_ahead_off()?;
    let rival = (
        "The program may itself read in pieces of that size with direct I/O.",
        "Set read_ahead_kb=128 and compare the reader's throughput.",
    );
    let (claim, fine) = (page_cache::read_ahead_off(share), facts.states.fine());
    Some(
        Explanation::instead(Verdict::NotTheDisk, Doubt::ReadAheadOff, fine, claim, rival)
            .with(&[("sequential share of the reads", share, "share")]),
    )
}

impl Segment<'_> {
    /// Sequential share of the reads, if each is one page because read-ahead is off.
    pub(crate) fn read_ahead_off(&self) -> Option<f64> {
        self.facts?.read_ahead_bytes.filter(|bytes| *bytes == 0)?;
        let share = self.known.sequential.filter(|share| *share >= IN_ORDER)?;
        let reads = self.tally.read_share()? >= READS;
        let pages = self.tally.read.request_bytes()? <= PAGE_BYTES * 1.1;
        (reads && pages && self.present()? <= ONE).then_some(share)
    }
}
