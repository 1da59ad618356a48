//! The papers' recommendations as rules on what was measured.
//!
//! A rule of thumb is a measurement of somebody else's disk. Here each is a question to this one: a
//! rule names the effect that would support it, and what to do where the effect is there, where it is
//! not, and where it is the other way round. Its advice then follows the measurement, quotes the
//! cells, states the gain with its interval and what it risks, and says where the papers said
//! otherwise. Where the effect was not measured, or its interval cannot tell, a rule is silent.
//!
//! What comes as an effect between two levels of an axis is a line of a table ([`table`]) that one
//! function judges ([`effects`]); what takes more than two levels has a function of its own. Depth,
//! request size and cache mode of a profile are in [`crate::advise`]. Rejected: a language of rules in
//! a file (there are two dozen, and each needs a test with a device on which it is wrong), and
//! scores or probabilities of rules (an interval is one already).
//!
//! Some recommendations have no rule, because nothing on today's machines can show them: to use DMA
//! (all controllers do), and IDE or SCSI by price (`halfpower cost` compares prices of any disks).

mod crossing;
mod effects;
mod parts;
mod table;

use record::{Advice, Experiment, LimitsRun, ZoneMap};

/// All advice that an experiment supports. Empty where it has fewer than three blocks.
#[must_use]
pub fn advise_experiment(experiment: &Experiment) -> Vec<Advice> {
    let rules = table::RULES.iter().filter_map(|rule| effects::judge(rule, &experiment.effects));
    rules
        .chain(parts::outstanding_per_disk(experiment))
        .chain(crossing::of_stripes(experiment))
        .collect()
}

/// All advice that a run of `limits` supports.
#[must_use]
pub fn advise_limits(limits: &LimitsRun) -> Vec<Advice> {
    parts::disks_of_a_path(limits).into_iter().collect()
}

/// All advice that a map of zones supports.
#[must_use]
pub fn advise_zones(zones: &ZoneMap) -> Vec<Advice> {
    parts::place_of_a_stream(zones).into_iter().collect()
}
