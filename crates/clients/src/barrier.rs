//! A barrier that the ranks of a launcher share, in addition to their connections to rank 0.
//!
//! With a barrier, ranks begin as MPI programs do: each continues when the last has arrived. Rank 0 starts
//! the barrier once all engines are open. Until then no rank waits in it, because a rank inside cannot
//! leave if another one died. The compared clocks still show when each rank began.

use plan::session::StopFlag;
use std::fmt::Debug;

/// A barrier of all ranks.
pub trait Barrier: Debug + Send + Sync {
    /// The name of the library that implements it, for display.
    fn library(&self) -> String;

    /// Returns when all ranks have arrived.
    ///
    /// # Errors
    /// If they do not arrive within the time limit of the barrier, or `stop` is set meanwhile: the reason.
    fn meet(&self, stop: &StopFlag) -> Result<(), String>;
}
