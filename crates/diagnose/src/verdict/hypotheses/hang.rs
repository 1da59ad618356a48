//! Tests for a device that completes no request for seconds.

use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::judgement::RestsOn;
use crate::verdict::odds;
use record::{Doubt, Verdict};

pub(super) fn hangs(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let segment = facts.segment;
    let Some(hang) = segment.hang else { return };
    let told = hang.sentence();
    let decided_by = match hang.ended {
        true => "Look for resets and time-outs in the system log of that time.",
        false => "Read a block of the device (`dd iflag=direct`), and check the system log.",
    };
    let (slow, stuck) = match hang.is_proven(segment.around.io_some) {
        Some(true) => (PROOF, odds::of(Doubt::BusyTime) * PROOF),
        Some(false) => (odds::of(Doubt::BusyTime) * PROOF, PROOF),
        None => (PROOF, odds::of(Doubt::NoBusyTime) * PROOF),
    };
    let claim = hang.claim();
    let doubt = Doubt::NoBusyTime;
    found.push(
        Explanation::weighed(Verdict::Slow, doubt, slow, claim, decided_by)
            .resting_on(RestsOn::Tail)
            .with(&hang.numbers()),
    );
    if hang.is_counter_right() {
        return;
    }
    let because = format!("{told}: the counter of requests in flight may be stuck.");
    let nee = Verdict::NotEnoughEvidence;
    found.push(Explanation::weighed(nee, doubt, stuck, because, decided_by).with(&hang.numbers()));
}
