//! Decides which facts are causes, by matching facts with effects. No other place decides that.

use crate::causes::{Basis, Check, Claim, Effects, Machine, Seen, TABLE, View};
use record::SystemFact;

/// A fact that was as unusual when the profile was made cannot explain a device slower than the
/// profile. This is the least ratio of its former degree to its present one.
const AS_THEN: f64 = 0.95;
/// Factor on the weight of a cause that has changed since the profile was made.
const SINCE_PROFILE: f64 = 1.5;

/// A claim of a check, with the effect that it explains.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The row of the check.
    pub check: &'static Check,
    /// What it claims.
    pub claim: Claim,
    /// The effect that it explains; `None` if the fact is harmless.
    pub seen: Option<Seen>,
    /// How well it explains the effect, compared with other claims.
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

/// All claims of the checks on a disk, causes first, the best one in front. `then` is the machine
/// when the disk's profile was made.
#[must_use]
pub fn judged(now: Machine<'_>, then: Option<Machine<'_>>, effects: &Effects) -> Vec<Judged> {
    let (now, then) = (with_facts(now), then.map(with_facts));
    let mut found: Vec<Judged> =
        TABLE.iter().filter_map(|row| judged_by(row, &now, then.as_ref(), effects)).collect();
    // The sort is stable: among equals the row that comes first in the table wins.
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
    // The load at the time of the profile was different.
    let unloaded = Effects::default();
    let before = then.map(|then| View::of(check.name, then.0, &then.1, &unloaded));
    // If a check was not made then, nothing is known about it.
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
