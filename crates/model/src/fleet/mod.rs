//! Devices of a fleet, each held against its peers: which are slow, since when, and what the slow ones
//! have in common. Pure: counters in, [`record::FleetDiagnosis`] out.
//!
//! No device of a fleet has a profile, but nearly all have peers: devices of the same model that do the
//! same kind of work. So the latency of each is compared with the median of its peers, by direction, size, mix
//! and concurrency while busy. At one concurrency while busy the
//! latencies of two devices have the ratio of their service times, be it a single server or many, while
//! at one rate the ratio grows without bound where the slower one saturates. Work that one rack alone did
//! tells which of its devices is slower than the others, and not whether all are.
//!
//! Counters are folded window by window ([`Tally`], [`Fleet::close`]), so that a week of ten thousand
//! devices takes one number per device and hour. [`Fleet::conclude`] finds the stretch of time in which
//! a device, or all devices with one label, differ most, in units of what healthy ones differ by. How
//! often a healthy device differs as much is read from the fast side of the same fleet: devices fail
//! slow and not fast.
//!
//! Rejected: a regression of latency on throughput per host, as published (its bound is wide where few
//! drives are loaded, and a rack that is slow together has no outlier); a threshold on latency; one
//! average over the whole time (a drive that turned slow last night is diluted by the week before).
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

/// Devices that a cell needs before one of them is held against the rest.
pub(crate) const PEERS_MIN: usize = 6;
