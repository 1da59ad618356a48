//! Records live observations, for every command that reads live counters.
//!
//! A [`Source`] takes samples of block devices, [`Pace`] schedules them, and a [`Recorder`]
//! combines them into an observation. [`Source::record`] runs all three for a given time. The live
//! screen runs them itself, because it also handles keys.
//!
//! On a machine with hundreds of idle disks most intervals are zeros, so the recorder joins
//! intervals in which a device was idle. A killed recording must not lose a whole night, so the
//! recorder passes the observation to its owner once a minute. Rejected: a line per interval in a
//! file beside the database, which would be a second format to read.
#![forbid(unsafe_code)]

mod pace;
mod probe;
mod recorder;
mod source;

pub use pace::Pace;
pub use recorder::{Recorded, Recorder, Schedule};
pub use source::{Depth, Sample, Source};
