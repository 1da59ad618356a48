//! Compares members of a built device: the one that the others wait for, and those that wait.

use crate::verdict::elsewhere::Sibling;
use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::words::times;
use record::{Doubt, Verdict, format_nanos};

/// Ratio from which a different request pattern cannot explain how much slower a member is.
const CLEAR: f64 = 4.0;
/// Weight of siblings: more than that of the device's class, less than that of a profile of this device.
const SIBLINGS: f64 = 200.0;

/// A member that takes far longer than its siblings.
pub(super) fn slowest(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let Some(Sibling::Slowest(slowest)) = &facts.elsewhere.sibling else { return };
    if !facts.segment.is_unprofiled() {
        return;
    }
    let ratio = slowest.own_ns / slowest.sibling_ns;
    let weight = SIBLINGS * if ratio < CLEAR { 1.0 } else { PROOF };
    let decided_by = facts.segment.by_system(
        "Run a trial on each member.",
        "Run as root: the tracer shows the share of sequential requests. Or run a trial on \
             each member.",
    );
    found.push(
        Explanation::weighed(
            Verdict::Slow,
            Doubt::PlaceOnMember,
            weight,
            slowest.claim.clone(),
            decided_by,
        )
        .with(&slowest.numbers()),
    );
    if ratio < CLEAR {
        let because = format!(
            "The positions of this member's requests alone can explain a latency {} that of its \
             sibling.",
            times(ratio)
        );
        let doubt = Doubt::PlaceOnMember;
        found.push(Explanation::beside(Verdict::NotTheDisk, doubt, weight, because, decided_by));
    }
    found.extend(super::hidden::below_of(facts, weight));
    if let Some(pin) = facts.segment.pin() {
        let because = format!("{}, as behind a cap.", pin.same());
        let decided_by = facts.segment.by_system(
            "Look for a limit at that rate (provider, hypervisor), or run a trial on this \
                 member alone at another rate.",
            "Look for a limit at that rate (provider, control group), or run a trial on this \
                 member alone at another rate.",
        );
        let doubt = Doubt::ConstantRateSlow;
        found.push(Explanation::beside(Verdict::Capped, doubt, weight, because, decided_by));
    }
}

/// A loop device whose file is on a capped disk.
pub(super) fn capped_below(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let (claim, rests_on) = facts.elsewhere.capped_below.clone()?;
    let decided_by =
        "Raise the limit of the device that stores this device's file, then repeat the test.";
    let doubt = Doubt::CapBelow;
    let found = Explanation::weighed(Verdict::Capped, doubt, SIBLINGS, claim, decided_by);
    Some(found.resting_on(rests_on))
}

/// A healthy member, while the array waits for another one.
pub(super) fn waits(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let (Some(Sibling::Waits { own, built, wanted }), Some(latency)) =
        (&facts.elsewhere.sibling, facts.segment.tally.latency_ns())
    else {
        return;
    };
    if !facts.segment.is_unprofiled() {
        return;
    }
    let takes = format_nanos(latency);
    let claim = format!("Requests take {takes} at {own}; {built} waits for {wanted}.");
    let decided_by = "Make a profile of this member.";
    let doubt = Doubt::MemberUnknown;
    found.push(Explanation::weighed(Verdict::NotTheDisk, doubt, SIBLINGS, claim, decided_by));
    let because = format!("Without a profile it is unknown whether {takes} is normal for {own}.");
    found.push(Explanation::beside(Verdict::Slow, doubt, SIBLINGS, because, decided_by));
}
