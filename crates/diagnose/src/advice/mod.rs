//! Recommends queue depth, request size and cache mode. Each recommendation has the numbers that support it
//! and the cost of the next best choice. The papers' rules of thumb come from the disks of 1997 and 2000.
//! They are tested here, and `against_rule` states what following one would cost on this device. There is one
//! entry per subject, and each field fills a line or two of a terminal.

mod cache;
mod depth;
mod size;
mod sizes;

use record::{Advice, Profile};

/// The word for a choice that the measurement does not support.
const UNDECIDED: &str = "undecided";

/// The recommendation if the errors of the measured rates leave too many choices open.
fn undecided(subject: String) -> Advice {
    Advice {
        subject,
        recommendation: UNDECIDED.to_owned(),
        because: "the measured rates vary too much".to_owned(),
        ..Advice::default()
    }
}

/// All recommendations that the profile supports, in the order in which a reader decides: depth for reads and
/// writes, sequential request size for reads and writes, cache mode. Empty if nothing was measured.
#[must_use]
pub fn advise(profile: &Profile) -> Vec<Advice> {
    let mut all: Vec<Advice> = profile.depth_curves.iter().filter_map(depth::advice).collect();
    all.extend(size::advice(profile));
    all.extend(cache::read_advice(&profile.cells));
    all.extend(cache::write_advice(&profile.cells));
    all
}
