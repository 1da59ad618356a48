//! Tests for causes below a virtual disk, or around a device of which only the name is known. Their
//! delays are part of the device's latency.

use crate::verdict::constant_rate;
use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::is_hosted;
use record::{Doubt, Verdict};

/// A rate that varies by more than this is seldom a limit.
const MOVES: f64 = 0.05;
const UNLIKELY: f64 = 0.2;
/// How often a limit explains a queue on a device that may have one.
const CAPPED_BELOW: f64 = 0.15;

pub(super) fn unknown_device(facts: &Facts<'_, '_>) -> Option<Explanation> {
    if !facts.segment.unknown {
        return None;
    }
    let because = "The source gives only the name of the device. A host below the device, or a \
                   limit or scheduler above it, could cause the same numbers.";
    let decided_by = "Observe live on that machine with `halfpower diagnose`.";
    let (doubt, slow) = (Doubt::DeviceUnknown, facts.states.slow());
    Some(Explanation::beside(Verdict::Capped, doubt, slow, because, decided_by))
}

/// Without a profile, a limit below a device with a queue looks like the device's own, unless the
/// rate varies.
pub(super) fn capped_below(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let own = segment.best_look()?.0.own?;
    let may_be = own.class.may_be_capped && segment.never_empties();
    if !may_be || segment.around.over_limit.is_some() {
        return None;
    }
    let moves = constant_rate::variation(segment.series).is_some_and(|moves| moves > MOVES);
    let because = format!(
        "The provider may cap {}: without a profile, a cap looks like the device's own limit.",
        own.class.name
    );
    let weight = CAPPED_BELOW * facts.states.harmed() * if moves { UNLIKELY } else { 1.0 };
    let decided_by =
        "Look up the volume's size and type in the provider's console, and its published limits.";
    let doubt = Doubt::OutOfSight;
    Some(Explanation::weighed(Verdict::Capped, doubt, weight, because, decided_by))
}

/// An alternative to explanations of weight `slow` that call the device slow.
pub(super) fn below_of(facts: &Facts<'_, '_>, slow: f64) -> Option<Explanation> {
    let segment = facts.segment;
    let device = segment.facts.filter(|device| is_hosted(device))?;
    let (because, decided_by) = if device.is_export() {
        (
            format!(
                "{} is the export of a file server: the network, a limit or other clients of the \
                 server could cause the same numbers and are not visible here.",
                device.disk
            ),
            "Observe on the server. For NFS, also run `nfsiostat` and compare the round trip with \
             the whole call.",
        )
    } else {
        // If the volume's own log rules out a cap, it is not named.
        let cap = if segment.around.over_limit.is_some() { "" } else { "a provider's cap, " };
        (
            format!(
                "{} is a virtual disk: {cap}a neighbour on the host or a network below it could \
                 cause the same numbers and is not visible here.",
                device.disk
            ),
            "Check the provider's or the host's own metrics of this volume.",
        )
    };
    let doubt = Doubt::OutOfSight;
    Some(Explanation::beside(Verdict::Capped, doubt, slow, because, decided_by))
}
