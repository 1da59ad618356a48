//! The table of known causes of slow disks: where each cause shows, and what it means.
//!
//! A cause is a row of [`TABLE`]. A row for a cause that the diagnosis rules already detect refers
//! to their codes. Every other row has two functions. `read` reads the machine: files below root
//! directories that a test can replace, or one documented call, at most twice per observation.
//! `judge` is pure: from the facts and the load it determines the unusual facts, and which *effects*
//! that would explain. One function decides for all rows whether such an effect is present
//! ([`judged`]). A fact without its effect is harmless. So is a fact that was the same when the
//! profile was made, if it is claimed to make the device slower than that profile. No row can
//! therefore blame a disk on its own, and a new row is one file and one line of the table.
//!
//! Rejected: special cases in the diagnosis rules, where each would weigh its own evidence; one
//! document type per fact; and reading every second what changes once a day.
#![forbid(unsafe_code)]

mod check;
mod effect;
mod host;
mod judging;
mod reading;
mod rows;
mod view;

pub use check::{Basis, Check, When};
pub use effect::{Claim, Effect, Effects, Load, RateStep, Seen};
pub use host::{Fact, Host, HostDevice, Reader};
pub use judging::{Judged, judged};
pub use reading::{Round, between, read};
pub use rows::TABLE;
pub use view::{Machine, View};

pub(crate) use host::is_numbered;

/// The row of a check, by name.
#[must_use]
pub fn check(name: &str) -> Option<&'static Check> {
    TABLE.iter().find(|row| row.name == name)
}
