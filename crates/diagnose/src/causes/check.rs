//! Defines a row of the table of causes.

use crate::causes::{Claim, Host, Reader, View};
use record::{CauseCode, LayerKind, SystemFact};

/// When a check reads its data.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Once, at the beginning of an observation or a profile.
    Begin,
    /// At the beginning and at the end, to compare the two.
    BothEnds,
    /// At the end, from drives that served requests during the observation. The drive itself
    /// answers the call, which must not wake a sleeping drive.
    InUse,
    /// The same, and also after the drive's first requests, to compare the two.
    InUseTwice,
    /// Like [`When::BothEnds`], with many values that this function reduces to what the judge
    /// needs. It gets the facts of the end, with the values of the beginning.
    Between(fn(&SystemFact) -> Option<SystemFact>),
}

/// What decides that the cause is present.
#[derive(Clone, Copy)]
pub enum Basis {
    /// The rules of the diagnosis, by these codes.
    Rule(&'static [CauseCode]),
    /// The check's own facts and judge.
    Facts {
        /// When it reads.
        when: When,
        /// Reads the facts. Does nothing if the check does not apply.
        read: fn(&Host<'_>, &mut Reader<'_>),
        /// Returns the unusual facts, and the effects that they would explain. Pure.
        judge: fn(&View<'_>) -> Option<Claim>,
    },
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Check {
    /// Name in documents and on pages.
    pub name: &'static str,
    /// Numbers in docs/causes.md of the causes that it detects.
    pub causes: &'static [u8],
    /// The layer of the path that it concerns.
    pub layer: LayerKind,
    /// The files or the call that it reads.
    pub reads: &'static str,
    /// Address of the public documentation of its figures.
    pub source: &'static str,
    /// What decides that the cause is present.
    pub basis: Basis,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Check({})", self.name)
    }
}
