//! A row of the table of causes.

use crate::causes::effect::Claim;
use crate::causes::host::{Host, Reader};
use crate::causes::view::View;
use record::{CauseCode, LayerKind, SystemFact};

/// When a check reads.
#[derive(Clone, Copy, Debug)]
pub enum When {
    /// Once, when an observation or a profile begins.
    Begin,
    /// At the beginning and at the end: what counts is the difference.
    BothEnds,
    /// At the end, of drives that served requests meanwhile: a call that the drive itself answers, which must
    /// not wake one that sleeps.
    InUse,
    /// The same, and also once the drive has served its first requests: what counts is the difference.
    InUseTwice,
    /// As [`When::BothEnds`], of many values, of which this function keeps what the judge needs. It is given what
    /// was read at the end, with the values of the beginning.
    Between(fn(&SystemFact) -> Option<SystemFact>),
}

/// Who names the cause.
#[derive(Clone, Copy)]
pub enum Basis {
    /// The rules of the diagnosis, by these codes.
    Rule(&'static [CauseCode]),
    /// What this check reads, as it judges it.
    Facts {
        /// When it reads.
        when: When,
        /// Reads; does nothing where it does not apply.
        read: fn(&Host<'_>, &mut Reader<'_>),
        /// What is unusual, and what that would explain. Pure.
        judge: fn(&View<'_>) -> Option<Claim>,
    },
}

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Check {
    /// Its name in documents and on pages.
    pub name: &'static str,
    /// Numbers of the causes in docs/causes.md that it names.
    pub causes: &'static [u8],
    /// The layer of the path that it is about.
    pub layer: LayerKind,
    /// What it reads: files, or the call.
    pub reads: &'static str,
    /// The public document that says what the figures are.
    pub source: &'static str,
    /// Who names the cause.
    pub basis: Basis,
}

impl std::fmt::Debug for Check {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Check({})", self.name)
    }
}
