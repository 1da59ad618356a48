//! The table of remedies: the causes that each strategy addresses, the change it makes, and its text.
//!
//! An empty text means the text of the change ([`model::whatif::words`]). A row without a change states why
//! its effect is not predicted.

mod device;
mod load;
mod room;

use super::expected::Expectation;
use super::facts::{Judged, Segment};
use super::fitted_profile::FittedProfile;
use super::load::load;
use record::{CauseCode, Change, EpisodeLoad, RaidLevel, Strategy};

const CHUNK_BYTES: u64 = 64 << 10;

/// What a strategy fixes, in the order of the advice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fixes {
    /// A degraded array, as the kernel reports it.
    Array,
    /// A finding of a system check.
    System,
    /// The device, or a layer above it.
    Device,
    /// The load.
    Load,
    /// The order of requests under an excessive load. It costs nothing: the setting can be reverted.
    Order,
    /// Capacity, by a purchase.
    Room,
}

/// A segment that needs advice.
pub(super) struct Case<'a> {
    pub(super) judged: &'a Judged<'a>,
    pub(super) segment: &'a Segment<'a>,
    pub(super) reference: Option<&'a FittedProfile>,
    pub(super) look: Option<&'a Expectation>,
    pub(super) load: Option<EpisodeLoad>,
}

impl<'a> Case<'a> {
    pub(super) fn new(judged: &'a Judged<'a>, reference: Option<&'a FittedProfile>) -> Self {
        let segment = &judged.segment;
        let look = segment.best_look().map(|(look, _)| look);
        Self { judged, segment, reference, look, load: load(judged, reference) }
    }
}

/// An action in words, and as a change.
type Proposal = (String, Option<Change>);

pub(super) struct Row {
    pub(super) strategy: Strategy,
    pub(super) causes: &'static [CauseCode],
    pub(super) fixes: Fixes,
    /// Whether it promises a higher rate instead of a lower latency.
    pub(super) by_rate: bool,
    /// Returns `None` if it does not apply.
    pub(super) propose: fn(&Case<'_>) -> Option<Proposal>,
    /// Why its effect is not predicted, if it has no change.
    pub(super) unpredicted: &'static str,
    /// Assumption, cost and how to check. An empty text means that of the change.
    pub(super) words: [&'static str; 3],
}

const fn row(
    strategy: Strategy,
    causes: &'static [CauseCode],
    fixes: Fixes,
    propose: fn(&Case<'_>) -> Option<Proposal>,
) -> Row {
    Row { strategy, causes, fixes, by_rate: false, propose, unpredicted: "", words: ["", "", ""] }
}

/// All rows.
pub(super) fn rows() -> impl Iterator<Item = &'static Row> + Clone {
    device::ROWS.iter().chain(&load::ROWS).chain(&room::ROWS)
}

fn array(disks: u32, raid: RaidLevel) -> Change {
    Change::Array { disks, raid, chunk_bytes: CHUNK_BYTES }
}
