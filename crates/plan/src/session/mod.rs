//! Opens targets, and runs plans on them with one driver.
//!
//! [`RealTargets`] are known, but not yet written. A [`Session`] is a set of targets ready for trials, real
//! or simulated. A [`Driver`] asks a [`crate::Plan`] for trials, runs and saves them. Rejected: a loop in
//! each command, each with its own answer to a full disk and to Ctrl-C.
#![forbid(unsafe_code)]

mod cost_fit;
mod cpu_pass;
mod driver;
mod elsewhere;
mod error;
pub mod experiment;
mod machine;
mod opened;
mod opener;
mod profile;
mod progress;
mod real;
mod single;
pub mod stuck_threads;
mod targets;
mod treatment;

pub use cost_fit::cost_fit;
pub use cpu_pass::{CacheState, add_upper_bound};
pub use driver::{Driver, End, Finished, precondition, simulate};
pub use elsewhere::{PreparedElsewhere, TargetsElsewhere};
pub use error::{INTERRUPTED, NO_RESULT, SessionError, USAGE, something_completed};
pub use machine::check_machine;
pub use opened::{PartOfTrial, Session, identity};
pub use opener::{Opener, ThisMachine};
pub use profile::{area_of, drift_now, open_again, profile};
pub use progress::{Display, ProgressLines, Shown, duration};
pub use real::RealTargets;
pub use single::{Beside, TargetSet, open_for_run, simulated_for_run, workload_here};
pub use targets::{Members, Targets, one_simulated, simulated_array, simulated_disks, striped};

use record::{Bytes, Finding, Target};
use simdisk::{SimSpec, SpecError};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Version of this program, for documents.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Prefix of the name of a simulated device.
const SIM_PREFIX: &str = "sim:";
/// Area of a simulated device if the user names none.
const SIM_AREA: Bytes = Bytes(2 << 30);

/// Set when the user or the system wants to stop the program.
pub type StopFlag = Arc<AtomicBool>;

type Result<T, E = SessionError> = std::result::Result<T, E>;

/// The simulated device that a target names; `None` if it names none.
///
/// # Errors
/// If the device does not exist or has an invalid key.
pub fn simulated(target: &str) -> Result<Option<SimSpec>, SpecError> {
    target.strip_prefix(SIM_PREFIX).map(SimSpec::parse).transpose()
}

/// The description file of a simulated device; `name` may have the prefix `sim:`.
///
/// # Errors
/// If the device does not exist or has an invalid key.
pub fn shown_simulated(name: &str) -> Result<String, SpecError> {
    SimSpec::shown(name.strip_prefix(SIM_PREFIX).unwrap_or(name))
}

/// The simulated device of a document; `None` if its target is not simulated.
///
/// # Errors
/// If the device no longer exists, or its description file has changed.
pub fn simulated_again(target: &Target) -> Result<Option<SimSpec>> {
    let spec = simulated(&target.path)?;
    match spec {
        // Documents of old versions do not have the hash.
        Some(now) if target.file_hash.is_some() && now.file_hash != target.file_hash => {
            Err(SessionError::Usage(format!(
                "the file that describes {} has changed since the measurement; restore the file, \
                 or measure again",
                target.path
            )))
        }
        spec => Ok(spec),
    }
}

/// Adds the findings that are not in the list yet.
pub fn add_new(findings: &mut Vec<Finding>, more: impl IntoIterator<Item = Finding>) {
    for finding in more {
        if !findings.contains(&finding) {
            findings.push(finding);
        }
    }
}

/// The requested seed, otherwise one from the time. Simulated targets have a fixed default, so that the
/// same command gives the same bytes.
#[must_use]
pub fn seed(asked: Option<u64>, simulated: bool) -> u64 {
    asked.unwrap_or_else(|| {
        if simulated {
            return 1;
        }
        // 32 bits of it: short enough to type again, exact in any JSON reader.
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |time| time.subsec_nanos().into())
    })
}
