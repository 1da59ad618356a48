//! Tests the papers' recommendations on this disk. A rule names the effect that would support it, and what to
//! do if that effect is present, absent or reversed. Its advice follows the measurement and states where the
//! papers disagree. Without evidence, or if an interval cannot decide, it gives no advice.
//!
//! An effect between two levels of an axis is a row of a table ([`table`]). Rules with more than two levels
//! are functions. Depth, size and cache mode of a profile are in [`crate::advise`]. Rejected: rules in a
//! file, because each needs a test with a device on which it is wrong; and scores. No rule for DMA (all
//! controllers use it), nor for IDE or SCSI by price (halfpower
//! knows no prices).

mod crossing;
mod effects;
mod parts;
mod table;

use record::{Advice, Experiment};

/// All advice that an experiment supports. Empty with fewer than three blocks.
#[must_use]
pub fn advise_experiment(experiment: &Experiment) -> Vec<Advice> {
    let rules = table::RULES.iter().filter_map(|rule| effects::judge(rule, &experiment.effects));
    let of_each = |advice: fn(&Experiment, &str) -> Option<Advice>| {
        ["read", "write"].into_iter().filter_map(move |op| advice(experiment, op))
    };
    rules.chain(of_each(parts::outstanding_per_disk)).chain(of_each(crossing::of_stripes)).collect()
}
