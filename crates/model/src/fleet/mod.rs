//! Compares each device of a fleet with its peers: which devices are slow, since when, and what the slow
//! ones have in common. No I/O: it turns counters into a [`record::FleetDiagnosis`].
//!
//! No device of a fleet has a profile, but nearly all have peers: devices of the same model that do the
//! same kind of work. So the latency of each is compared with the median of its peers, at the same
//! direction, size, mix and concurrency while busy. At equal concurrency while busy, the latencies of two
//! devices have the ratio of their service times, for single and multiple servers. At equal rate, the ratio
//! would grow without bound where the slower device saturates. Work that only one rack does shows which of
//! its devices is slower than the others, but not whether all are slow.
//!
//! Counters are folded window by window ([`Tally`], [`Fleet::close`]), so that a week of ten thousand
//! devices takes one number per device and hour. [`Fleet::conclude`] finds the time segment in which a
//! device, or all devices with one label, differ most, in units of the spread of healthy devices. The fast
//! side of the same fleet shows how often a healthy device differs as much: devices fail slow, not fast.
//!
//! Rejected: a regression of latency on throughput per host, as published (its bound is wide if few drives
//! are loaded, and a rack that is slow together has no outlier); a threshold on latency; one average over
//! the whole time (a drive that became slow last night is diluted by the week before).
#![forbid(unsafe_code)]

mod chance;
mod common;
mod conclude;
mod nearest;
mod ratios;
mod reference;
mod scan;
mod scrapes;
mod shared;
mod spread;
mod tally;
mod window;

pub use conclude::{Fleet, FleetError, Rules};
pub use scrapes::{Scrape, family, fold};
pub use shared::{SharedError, Together, together};
pub use tally::{COUNTERS, Direction, Tally, Traffic};

/// Minimum number of devices in a cell for comparing one of them with the rest.
pub(crate) const PEERS_MIN: usize = 6;
