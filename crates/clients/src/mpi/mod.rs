//! Wraps the part of MPI that this program uses: the rank of a process, a barrier, and finalization.
//!
//! Each MPI library has a different binary interface, so a program that links one runs only under that one.
//! Therefore the feature `linked` is off by default. Without it no process is in an MPI world, and callers
//! need not check how the program was built. Messages do not use MPI: a rank that dies makes the calls of
//! all others fail, and their results must be kept.
#![deny(unsafe_code)]

#[cfg(not(feature = "linked"))]
mod absent;
#[cfg(feature = "linked")]
// Only the calls of C are in these modules.
#[allow(unsafe_code)]
mod linked;

#[cfg(not(feature = "linked"))]
use absent as calls;
#[cfg(feature = "linked")]
use linked as calls;

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a rank polls without pause for the other ranks. After that it lets other processes run between
/// two polls, because a machine may have fewer processors than ranks.
const SPIN: Duration = Duration::from_micros(50);

/// The processes that a launcher started together with this one.
#[derive(Debug)]
pub struct World {
    /// The number of this process, from 0.
    pub number: u32,
    /// Number of processes.
    pub of: u32,
    /// Name of the library: the first line that it reports, up to a comma.
    pub library: String,
    /// Whether every barrier so far was passed: an abandoned one can neither be restarted nor finished.
    whole: Mutex<bool>,
}

/// The world of this process.
static WORLD: OnceLock<World> = OnceLock::new();

/// Joins the world of this process, on the thread that will call [`leave`]; `None` if MPI is not built in.
/// A second call returns the same world.
///
/// # Errors
/// If the library cannot be initialised, or cannot be called from more than one thread.
pub fn join() -> Result<Option<&'static World>, String> {
    if let Some(world) = WORLD.get() {
        return Ok(Some(world));
    }
    let Some((number, of)) = calls::join()? else { return Ok(None) };
    let library = calls::library();
    let library = library.lines().next().unwrap_or_default();
    let library = library.split(',').next().unwrap_or_default().trim().to_owned();
    let world = World { number, of, library, whole: Mutex::new(true) };
    Ok(Some(WORLD.get_or_init(|| world)))
}

impl World {
    /// Meets all other ranks in a barrier: returns when the last of them has arrived.
    ///
    /// # Errors
    /// If they did not arrive within the time, `give_up` returned true, or the library failed. After that
    /// no barrier is possible.
    pub fn meet(&self, within: Duration, give_up: &dyn Fn() -> bool) -> Result<(), String> {
        let mut whole = self.whole.lock().unwrap_or_else(PoisonError::into_inner);
        if !*whole {
            return Err("not all ranks passed an earlier barrier".to_owned());
        }
        *whole = false;
        calls::come()?;
        let begin = Instant::now();
        while !calls::all_came()? {
            let waited = begin.elapsed();
            if give_up() {
                return Err("the user or the system interrupted it".to_owned());
            }
            if waited > within {
                return Err(format!("not all ranks passed it within {} s", within.as_secs()));
            }
            if waited > SPIN {
                std::thread::yield_now();
            }
        }
        *whole = true;
        Ok(())
    }
}

/// Leaves the world, if this process is in one: at its end, on the thread that joined. The library's
/// finalization waits for all ranks without a limit. So the ranks meet before it, within a time; if one
/// does not arrive, the process ends without finalization.
///
/// # Errors
/// If the ranks did not meet, so that the library was not finalized.
pub fn leave(within: Duration) -> Result<(), String> {
    let Some(world) = WORLD.get() else { return Ok(()) };
    world.meet(within, &|| false)?;
    calls::leave()
}
