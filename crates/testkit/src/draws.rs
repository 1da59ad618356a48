//! Sets the number of draws of a statistical test.
//!
//! Proving a coverage or a rate of false alarms takes thousands of draws, and minutes. `cargo test` makes a
//! small sample of the same seeds; `HALFPOWER_PROVE=1 cargo test` makes all of them. Rejected: a Cargo
//! feature, which would build every test twice.

/// If set, tests make all of their draws.
const PROVE: &str = "HALFPOWER_PROVE";

/// `full` draws with `HALFPOWER_PROVE=1`, else `small`.
#[must_use]
pub fn draws<T>(small: T, full: T) -> T {
    if std::env::var_os(PROVE).is_some() { full } else { small }
}
