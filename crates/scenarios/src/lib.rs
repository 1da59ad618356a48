//! The staged ward: cases with a known truth, for whoever diagnoses.
//!
//! A diagnosis can be judged only where the truth is known, and by more than the cases that its
//! author thought of. A case here is a kind with parameters drawn from a seed: which device, how
//! many times slower, how much load. The device is simulated; what the diagnosis gets of it is what
//! it would get of a real one: the counters of each second, the context of the system, the tracer
//! where one runs, and a profile that was made earlier, of the device as it was. Each kind has its
//! opposite, which differs in one condition and needs a verdict of its own: a diagnosis that always
//! cries wolf is as wrong as one that never does.
//!
//! The truth comes from how a case was built and never from the models on which the diagnosis
//! rests: loads are shares of what queueing theory or a plain run says that a device can do, and
//! stay away from the limits between two verdicts. Where a limit itself was drawn, both are
//! accepted.
//!
//! Advice is carried out: the same scenario is staged again, changed as the advice says, and what was
//! predicted is held against what came.
//!
//! Rejected: hand-made series of counters (they hold what their author believes), truths by
//! comparing with another diagnosis, and one score over everything (to be right half of the time
//! and unsure in the rest is another thing than to be sure and wrong).
#![forbid(unsafe_code)]

mod carry_out;
mod case;
mod counterpart;
mod devices;
mod dice;
mod draw;
mod judge;
mod profiles;
mod scenario;
mod scores;
mod stage;
mod whatif;

pub use carry_out::Outcome;
pub use case::{Case, Disk, Expect, FirstAdvice, Kind, Load, ProfileOf};
pub use counterpart::SimulatedDevice;
pub use devices::{Device, Known, Queue};
pub use draw::{draw, draw_of};
pub use judge::{Score, judge};
pub use profiles::Profiles;
pub use scenario::{Array, GroupLimit, Scenario, ScenarioLoad, observe};
pub use scores::{Drawn, Scores, run};
pub use stage::{Staged, stage};
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
    /// A device so small that no cell fits.
    #[error("no profile can be made of {0}")]
    Profile(String),
}
