//! MPI as far as this program uses it: the place of a process, a barrier, and the end.
//!
//! Each library of MPI has another binary interface, so that a program which links one runs under that one
//! alone. Therefore the feature `linked` is off by default; without it nobody is in a world of MPI, and callers
//! need not ask how the program was built. Messages do not go by MPI: a rank that dies takes the calls of all
//! others with it, and what they measured is to be kept.
#![deny(unsafe_code)]

#[cfg(not(feature = "linked"))]
mod absent;
#[cfg(feature = "linked")]
// The calls of C, and nothing else.
#[allow(unsafe_code)]
mod linked;

#[cfg(not(feature = "linked"))]
use absent as calls;
#[cfg(feature = "linked")]
use linked as calls;

use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How long a rank looks without pause whether the others have come. On a machine with fewer processors than
/// ranks it then lets others run between two looks.
const SPIN: Duration = Duration::from_micros(50);

/// The processes that a launcher started with this one.
#[derive(Debug)]
pub struct World {
    /// The number of this process, from 0.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// What the library calls itself: the first line of that, without what follows a comma.
    pub library: String,
    /// Whether every barrier so far was passed: one that was left in the middle can neither be begun again nor
    /// be finished.
    whole: Mutex<bool>,
}

/// The one of this process.
static WORLD: OnceLock<World> = OnceLock::new();

/// Joins the world of this process, by the thread that will call [`leave`]; `None` where MPI is not built in. A
/// second call gives the same.
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
    /// Meets all others in a barrier: comes back when the last of them has come.
    ///
    /// # Errors
    /// If it did not within a time, `give_up` said so, or the library failed. From then on there is no barrier
    /// any more.
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

/// Leaves the world, if this process is in one: at its end, by the thread that joined. The library's own end waits for all
/// ranks, without an end of its own; so they meet before, within a time, and where one does not come, the process ends without it.
///
/// # Errors
/// If the ranks did not meet, and the library was not told of the end.
pub fn leave(within: Duration) -> Result<(), String> {
    let Some(world) = WORLD.get() else { return Ok(()) };
    world.meet(within, &|| false)?;
    calls::leave()
}
