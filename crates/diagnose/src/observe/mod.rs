//! The one recorder of live observations, for every command that reads live counters.
//!
//! A [`Source`] takes samples of block devices, [`Pace`] says when the next sample is due, and a
//! [`Recorder`] puts samples together into an observation. [`Source::record`] runs the three for a
//! length of time; the live screen runs them itself, because it also answers keys.
//!
//! A machine with hundreds of idle disks fills a file with zeros, so the recorder joins intervals in
//! which a device did nothing. A recording that is killed must not lose the night, so the recorder
//! hands the observation to its owner once a minute. Rejected: a line per interval in a file beside
//! the database, which would be a second format to read.
#![forbid(unsafe_code)]

mod pace;
mod probe;
mod recorder;
mod source;

pub use pace::Pace;
pub use recorder::{Recorded, Recorder, Schedule};
pub use source::{Depth, Sample, Source};
