//! Which checks read when: files at the beginning, counters at both ends, and what a drive answers by itself only
//! after it has served requests, so that none is woken up.

use crate::causes::check::{Basis, When};
use crate::causes::host::{Host, Reader};
use crate::causes::rows::TABLE;
use record::{FactsRead, SystemFact};

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
            Round::Begin => matches!(when, When::Begin | When::BothEnds | When::Between(_)),
            Round::FirstUse => matches!(when, When::InUseTwice),
            Round::End => !matches!(when, When::Begin),
            // One look shows no difference.
            Round::Once => !matches!(when, When::Between(_)),
        };
        if asked {
            read(host, &mut Reader::new(row.name, &mut found));
        }
    }
    found
}

/// Facts of the end of an observation with their rise since its begin; a check may reduce its own.
#[must_use]
pub fn between(begin: FactsRead, mut end: FactsRead) -> FactsRead {
    end.since_begin(begin);
    let keep = |fact: SystemFact| {
        let row = TABLE.iter().find(|row| row.name == fact.check);
        match row.map(|row| row.basis) {
            Some(Basis::Facts { when: When::Between(keep), .. }) => keep(&fact),
            _ => Some(fact),
        }
    };
    end.facts = end.facts.into_iter().filter_map(keep).collect();
    end
}
