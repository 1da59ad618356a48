//! Tests of the types that are stored and printed.

#![allow(
    clippy::unwrap_used,
    reason = "the exemption for tests does not reach the helpers that they share"
)]

mod estimate;
mod histogram;
mod issuers;
mod tables;
mod units;
