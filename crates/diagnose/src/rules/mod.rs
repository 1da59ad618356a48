//! The papers' recommendations as questions to this disk. A rule names the effect that would
//! support it, and what to do where the effect is there, is not, or is the other way round; its
//! advice follows the measurement and says where the papers said otherwise. Without evidence, or
//! with an interval that cannot tell, it is silent.
//!
//! An effect between two levels of an axis is a row of a table ([`table`]); what takes more than
//! two levels is a function. Depth, size and cache mode of a profile are in [`crate::advise`].
//! Rejected: rules in a file, because each needs a test with a device on which it is wrong, and
//! scores. No rule: DMA (all controllers do), IDE or SCSI by price (`halfpower cost --price`).

mod crossing;
mod effects;
mod parts;
mod table;

use record::{Advice, Experiment};

/// All advice that an experiment supports. Empty where it has fewer than three blocks.
#[must_use]
pub fn advise_experiment(experiment: &Experiment) -> Vec<Advice> {
    let rules = table::RULES.iter().filter_map(|rule| effects::judge(rule, &experiment.effects));
    let of_each = |advice: fn(&Experiment, &str) -> Option<Advice>| {
        ["read", "write"].into_iter().filter_map(move |op| advice(experiment, op))
    };
    rules.chain(of_each(parts::outstanding_per_disk)).chain(of_each(crossing::of_stripes)).collect()
}
