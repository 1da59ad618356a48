//! What to use: depth, request size, cache mode, each with the numbers that say so.
//!
//! Every piece of advice names the measured numbers behind it and what the next best choice costs,
//! so that a reader with another goal can choose otherwise. The papers' rules of thumb (two to four
//! requests deep, 64 KiB requests, no file-system cache above 64 KiB, the drive's write cache for
//! speed) were found on the disks of 1997 and 2000; they are tested here, not applied. Where
//! following one would cost something on this device, `against_rule` says what. There is one entry
//! per subject, and each of its fields is kept to a line or two of a terminal.

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
