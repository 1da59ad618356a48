//! What to use: depth, request size, cache mode, each with the numbers that say so and what the
//! next best choice costs. The papers' rules of thumb were found on the disks of 1997 and 2000;
//! they are tested here, and `against_rule` says what following one would cost on this device. One
//! entry per subject, each field a line or two of a terminal.

mod cache;
mod depth;
mod size;
mod sizes;

use record::{Advice, Profile};

/// All advice that the profile supports, in the order in which a reader decides: depth of reads
/// and writes, sequential request size of reads and writes, cache mode. Empty where nothing was
/// measured.
#[must_use]
pub fn advise(profile: &Profile) -> Vec<Advice> {
    let mut all: Vec<Advice> = profile.depth_curves.iter().filter_map(depth::advice).collect();
    all.extend(size::advice(profile));
    all.extend(cache::read_advice(&profile.cells));
    all.extend(cache::write_advice(&profile.cells));
    all
}
