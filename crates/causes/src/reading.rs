//! Which checks read when: files at the beginning, counters at both ends, and what a drive answers by itself only
//! after it has served requests, so that none is woken up.

use crate::check::{Basis, When};
use crate::host::{Host, Reader};
use crate::rows::TABLE;
use record::FactsRead;

/// Which of the checks are asked to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// At the beginning of an observation.
    Begin,
    /// When disks have served their first requests.
    FirstUse,
    /// At its end.
    End,
    /// All of them: of a machine that is looked at once, whose disks are in use.
    Once,
}

/// Reads what the checks of a round read.
#[must_use]
pub fn read(host: &Host<'_>, round: Round) -> FactsRead {
    let mut found = FactsRead::default();
    for row in &TABLE {
        let Basis::Facts { when, read, .. } = row.basis else { continue };
        let asked = match round {
            Round::Begin => matches!(when, When::Begin | When::BothEnds),
            Round::FirstUse => when == When::InUseTwice,
            Round::End => when != When::Begin,
            Round::Once => true,
        };
        if asked {
            read(host, &mut Reader::new(row.name, &mut found));
        }
    }
    found
}
