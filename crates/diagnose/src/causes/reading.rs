//! Schedules what the checks read: files at the beginning, counters at both ends, and data that the
//! drive itself returns only after it has served requests, so that no drive is woken up.

use crate::causes::{Basis, Host, Reader, TABLE, When};
use record::{FactNotRead, FactsRead, SystemFact};

/// A set of checks that read at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// Beginning of an observation.
    Begin,
    /// After disks have served their first requests.
    FirstUse,
    /// End of an observation.
    End,
    /// A single reading of all checks, on a machine whose disks are in use.
    Once,
}

/// Runs the checks of a round. All of them read files of Linux.
#[must_use]
pub fn read(host: &Host<'_>, round: Round) -> FactsRead {
    let mut found = FactsRead::default();
    if !cfg!(target_os = "linux") {
        found.not_read.push(FactNotRead {
            check: "all checks".to_owned(),
            device: None,
            reason: "these checks read their facts only on Linux".to_owned(),
        });
        return found;
    }
    for row in &TABLE {
        let Basis::Facts { when, read, .. } = row.basis else { continue };
        let asked = match round {
            Round::Begin => matches!(when, When::Begin | When::BothEnds | When::Between(_)),
            Round::FirstUse => matches!(when, When::InUseTwice),
            Round::End => !matches!(when, When::Begin),
            // A single reading shows no difference.
            Round::Once => !matches!(when, When::Between(_)),
        };
        if asked {
            read(host, &mut Reader::new(row.name, &mut found));
        }
    }
    found
}

/// Merges the facts of both ends of an observation: those of the end, with their rises. A check may
/// reduce its own facts.
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
