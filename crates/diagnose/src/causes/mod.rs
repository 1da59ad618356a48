//! The table of what makes disks slow in the field: where each cause shows, and what it means.
//!
//! A cause is a row of [`TABLE`]. A row that the rules of the diagnosis name already refers to their codes. Every
//! other row has two functions. `read` looks at the machine: files below roots that a test can replace, or one
//! documented call, at most twice in an observation. `judge` is pure: it looks at what was read now and at the
//! load, and says what is unusual and which *effects* that would explain. Whether such an effect is there is
//! decided once for all rows ([`judged`]): a fact without its effect is harmless, and so is one that was the same
//! when the profile was made and is said to make the device slower than that. So no row can accuse a disk by
//! itself, and a new row is one file and one line of the table.
//!
//! Rejected: special cases in the rules of the diagnosis, where each would weigh its own evidence; one document
//! type for each fact; asking again every second what changes once a day.
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

/// The row of a check.
#[must_use]
pub fn check(name: &str) -> Option<&'static Check> {
    TABLE.iter().find(|row| row.name == name)
}
