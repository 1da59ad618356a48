//! Too few requests, or figures too coarse, to say anything by.

use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::{REQUESTS_MIN, STEP_MAX_REL};
use record::{Doubt, Verdict};

pub(super) fn too_little(facts: &Facts<'_, '_>, found: &mut Vec<Explanation>) {
    let tally = &facts.segment.tally;
    let (count, step) = (tally.all.count(), tally.step_rel());
    let claim = if count < 1.0 {
        "Nothing was asked of the device.".to_owned()
    } else if count < REQUESTS_MIN {
        format!("{count:.0} requests are too few to judge by (50 at least).")
    } else if tally.latency_ns().is_none() {
        "The source tells no latencies.".to_owned()
    } else if step > STEP_MAX_REL {
        "The source tells latencies too coarsely for this device.".to_owned()
    } else {
        return;
    };
    let decided_by = "A longer observation, or a source with finer figures.";
    let doubt = Doubt::TooLittle;
    let found_by = [("requests", count, ""), ("step of the latency", step, "share")];
    found.push(
        Explanation::weighed(Verdict::NotEnoughEvidence, doubt, PROOF, claim, decided_by)
            .with(&found_by[..if step > STEP_MAX_REL { 2 } else { 1 }]),
    );
}
