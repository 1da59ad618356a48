//! Cases with a known truth, for whoever diagnoses.
//!
//! A case is a kind with parameters drawn from a seed. The device is simulated; the diagnosis gets
//! what it would get of a real one: the counters of each second, the context of the system, the
//! tracer where one runs, and a profile of the device as it was. Each kind has an opposite that
//! differs in one condition: a diagnosis that always cries wolf is as wrong as one that never does.
//! The truth comes from how a case was built, never from the models on which the diagnosis rests:
//! loads are shares of what queueing theory or a plain run says that a device can do, and most stay away
//! from the limits between two verdicts. Those that do not ask how sure a verdict is. Advice is carried out, and what was predicted is held
//! against what came.
//!
//! Rejected: hand-made series of counters (they hold what their author believes), truths by
//! comparing with another diagnosis, and one score over everything (to be right half of the time
//! and unsure in the rest is another thing than to be sure and wrong).
#![forbid(unsafe_code)]

mod building;
mod carry_out;
mod case;
mod counterpart;
mod devices;
mod dice;
mod draw;
mod judge;
mod load_words;
mod profiles;
mod scenario;
mod scores;
mod sources;
mod stage;
mod unclear;
mod unprofiled;
mod whatif;

use crate::session;
pub use carry_out::Outcome;
pub use case::{Case, Disk, Expect, Kind, Load};
pub use counterpart::SimulatedDevice;
pub use devices::Device;
pub use draw::{draw, draw_of};
pub use judge::{Called, Score, judge};
pub use load_words::LoadWords;
pub use profiles::Profiles;
pub use scenario::{Array, GroupLimit, Scenario, ScenarioLoad, observe};
pub use scores::{Drawn, Scores, on_all_processors, run};
pub use sources::Source;
pub use stage::{Staged, stage};
pub use unprofiled::{without_profile, without_profile_by};
pub use whatif::Simulation;

/// A case that could not be staged, which is a defect of its drawing.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// The device's text.
    #[error(transparent)]
    Device(#[from] simdisk::SpecError),
    /// A load.
    #[error(transparent)]
    Load(#[from] workload::BuildError),
    /// The run.
    #[error(transparent)]
    Run(#[from] trial::TrialError),
    /// A profile's trial.
    #[error(transparent)]
    Session(#[from] session::SessionError),
    /// A recording that its reader refuses.
    #[error(transparent)]
    Recording(#[from] import::ImportError),
    /// A device so small that no cell fits.
    #[error("{0} cannot be profiled")]
    Profile(String),
}
