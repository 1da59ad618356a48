//! A barrier that ranks of a launcher have in common beside their connections to number 0.
//!
//! With one they begin as programs of MPI do: each goes on when the last has come. Number 0 says when to come,
//! once all engines are open: until then nobody waits in the barrier, which no rank leaves that has come before
//! one that died. The compared clocks still tell when each began.

use plan::session::StopFlag;
use std::fmt::Debug;

/// A barrier of all ranks.
pub trait Barrier: Debug + Send + Sync {
    /// What it is of, for people: the library.
    fn library(&self) -> String;

    /// Comes back when all ranks have come.
    ///
    /// # Errors
    /// If they do not come within a time that the barrier sets, or `stop` is set meanwhile: why.
    fn meet(&self, stop: &StopFlag) -> Result<(), String>;
}
