//! Tests for a cap known from the profile that a program reached again, while waiting for more.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::AT_CAP;
use crate::verdict::judgement::RestsOn;
use record::{Doubt, Verdict};

/// A rate above this share of a cap is not limited by it.
const ABOVE_CAP: f64 = 1.05;
/// Requests wait at the cap if concurrency is this many times what the latency at queue depth 1 explains.
const WAITS_FROM: f64 = 1.5;
/// How much better this explains a queue than the device's own limit does: the check measured the
/// cap, and the same rate is observed again.
const OVER_STATES: f64 = 50.0;

pub(super) fn reached(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let (look, latency) = segment.best_look().filter(|_| segment.never_empties())?;
    let (share, cap) = segment
        .cap_shares()
        .filter(|(share, _)| (AT_CAP..=ABOVE_CAP).contains(share))
        .min_by(|a, b| (a.0 - 1.0).abs().total_cmp(&(b.0 - 1.0).abs()))?;
    if latency < WAITS_FROM * look.unloaded_ns {
        return None;
    }
    let published =
        cap.published.as_ref().map_or(String::new(), |what| format!(", the limit of {what}"));
    let claim = format!(
        "The rate is at the cap that the check found ({}{published}), and requests wait because \
         of it.",
        cap.text()
    );
    let weight = OVER_STATES * facts.states.harmed();
    let doubt = Doubt::ConstantRateAtMaximum;
    let decided_by =
        "Look up the volume's limits in its configuration, or raise them and rerun the same load.";
    Some(
        Explanation::weighed(Verdict::Capped, doubt, weight, claim, decided_by)
            .resting_on(RestsOn::Published)
            .with(&[("rate over the cap", share, "share")]),
    )
}
