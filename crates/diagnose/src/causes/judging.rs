//! From facts and effects to causes: the one place that decides whether a fact is one.

use crate::causes::check::{Basis, Check};
use crate::causes::effect::{Claim, Effects, Seen};
use crate::causes::rows::TABLE;
use crate::causes::view::{Machine, View};
use record::SystemFact;

/// A fact that was as far from usual when the profile was made explains nothing that is worse than the profile;
/// it was, from this share of what it is now on.
const AS_THEN: f64 = 0.95;
/// What a fact gains as a cause that is not what it was when the profile was made.
const SINCE_PROFILE: f64 = 1.5;

/// A claim of a check, with what it explains.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The row.
    pub check: &'static Check,
    /// What it claims.
    pub claim: Claim,
    /// The effect that it explains; `None` where there is none, so that the fact is harmless.
    pub seen: Option<Seen>,
    /// How well it explains that beside other claims.
    pub weight: f64,
}

impl Judged {
    /// The cause in words: the fact, then its effect.
    #[must_use]
    pub fn text(&self) -> String {
        match &self.seen {
            Some(seen) => format!("{} {}", self.claim.says, seen.says),
            None => self.claim.says.clone(),
        }
    }
}

/// What the checks make of a disk, causes first, the best one at the front. `then` is the machine when the
/// profile of the disk was made.
#[must_use]
pub fn judged(now: Machine<'_>, then: Option<Machine<'_>>, effects: &Effects) -> Vec<Judged> {
    let (now, then) = (with_facts(now), then.map(with_facts));
    let mut found: Vec<Judged> =
        TABLE.iter().filter_map(|row| judged_by(row, &now, then.as_ref(), effects)).collect();
    // A stable sort: of equals the row that comes first in the table wins.
    found.sort_by(|a, b| {
        (b.seen.is_some(), b.weight)
            .partial_cmp(&(a.seen.is_some(), a.weight))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    found
}

/// A machine with its own facts.
type WithFacts<'a> = (Machine<'a>, Vec<&'a SystemFact>);

fn with_facts(machine: Machine<'_>) -> WithFacts<'_> {
    (machine, machine.own_facts())
}

fn judged_by(
    check: &'static Check,
    now: &WithFacts<'_>,
    then: Option<&WithFacts<'_>>,
    effects: &Effects,
) -> Option<Judged> {
    let Basis::Facts { judge, .. } = check.basis else { return None };
    let view = View::of(check.name, now.0, &now.1, effects);
    let claim = judge(&view)?;
    // The profile's time had another load.
    let unloaded = Effects::default();
    let before = then.map(|then| View::of(check.name, then.0, &then.1, &unloaded));
    // Of a check that was not made then nothing is known.
    let before = before.filter(|before| view.facts.is_empty() || !before.facts.is_empty());
    let compared = before.is_some();
    let as_then = before
        .and_then(|before| judge(&before))
        .is_some_and(|before| before.degree >= AS_THEN * claim.degree);
    let seen = effects.first(&claim.explains).filter(|seen| !(as_then && seen.by_profile));
    let news = if compared && !as_then { SINCE_PROFILE } else { 1.0 };
    let weight = claim.weight * news;
    Some(Judged { check, seen: seen.cloned(), weight, claim })
}
