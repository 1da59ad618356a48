//! Simulates cases with a known truth, to test the diagnosis.
//!
//! A case is a kind with parameters drawn from a seed. The device is simulated. The diagnosis gets the same
//! data as from a real one: the counters of each second, the context of the system, the tracer if one runs,
//! and a profile of the device from before. Each kind has an opposite that differs in one condition: a
//! diagnosis that always raises an alarm is as wrong as one that never does. The truth comes from how a
//! case was built, never from the models of the diagnosis. Loads are shares of the maximum given by
//! queueing theory or a plain run. Most stay away from the boundaries between two verdicts; those near a
//! boundary test the confidence of a verdict. Advice is applied, and the prediction is compared with the
//! result.
//!
//! Rejected: hand-made series of counters (they contain what their author believes), truths by comparing
//! with another diagnosis, and one score over everything (right half of the time and unsure otherwise is
//! not the same as sure and wrong).

mod building;
mod capped;
mod carry_out;
mod case;
mod changing;
mod devices;
mod dice;
mod draw;
mod judge;
mod profiles;
mod scores;
mod single;
mod sources;
mod stage;
mod together;
mod unclear;
mod unprofiled;

pub use crate::judge::Answer;
pub use crate::tally::{Count, Tally};
pub use carry_out::Outcome;
pub use case::{Case, Disk, Expect, Kind, Load};
pub use devices::Device;
pub use draw::{draw, draw_of};
pub use judge::{Called, Score, judge};
pub use profiles::Profiles;
pub use scores::{Drawn, Scores, run};
pub use sources::Source;
pub use stage::{Staged, stage};
pub use unprofiled::without_profile;
