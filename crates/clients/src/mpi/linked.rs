//! Wraps the calls of `shim.c` as safe functions. The library requires that no two threads call it at the
//! same time; a lock ensures that.

use std::ffi::{CStr, c_char, c_int};
use std::sync::{Mutex, MutexGuard, PoisonError};

unsafe extern "C" {
    fn halfpower_mpi_join(number: *mut c_int, of: *mut c_int) -> c_int;
    fn halfpower_mpi_library(text: *mut c_char, room: c_int);
    fn halfpower_mpi_come() -> c_int;
    fn halfpower_mpi_all_came(all: *mut c_int) -> c_int;
    fn halfpower_mpi_leave() -> c_int;
}

const NAME_BYTES: usize = 256;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

fn outcome(call: &str, code: c_int) -> Result<(), String> {
    match code {
        0 => Ok(()),
        -1 => Err(format!(
            "{call}: this MPI library allows calls from one thread only (MPI_THREAD_SERIALIZED)"
        )),
        code => Err(format!("{call} failed with the code {code}")),
    }
}

pub(crate) fn join() -> Result<Option<(u32, u32)>, String> {
    let _alone = alone();
    let (mut number, mut of) = (0, 0);
    // SAFETY: both pointers are to live integers of this frame; the lock keeps other threads out, and the
    // caller calls it only once.
    let code = unsafe { halfpower_mpi_join(&raw mut number, &raw mut of) };
    outcome("MPI_Init_thread", code)?;
    let number_of = u32::try_from(number).ok().zip(u32::try_from(of).ok());
    number_of.map(Some).ok_or_else(|| format!("MPI reports rank {number} of {of} for this process"))
}

pub(crate) fn library() -> String {
    let _alone = alone();
    let mut name: [c_char; NAME_BYTES] = [0; NAME_BYTES];
    // SAFETY: the text is written to a live array of the given length, and is terminated by a zero within
    // it.
    unsafe { halfpower_mpi_library(name.as_mut_ptr(), NAME_BYTES as c_int) };
    // SAFETY: the array contains a zero, and lives as long as the text is borrowed.
    unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned()
}

pub(crate) fn come() -> Result<(), String> {
    let _alone = alone();
    // SAFETY: it takes no arguments; MPI is initialised, because a `World` exists, and the lock keeps other
    // threads out.
    outcome("MPI_Ibarrier", unsafe { halfpower_mpi_come() })
}

pub(crate) fn all_came() -> Result<bool, String> {
    let _alone = alone();
    let mut all = 0;
    // SAFETY: the pointer is to a live integer of this frame; the rest as above.
    outcome("MPI_Test", unsafe { halfpower_mpi_all_came(&raw mut all) })?;
    Ok(all != 0)
}

pub(crate) fn leave() -> Result<(), String> {
    let _alone = alone();
    // SAFETY: as for `come`; no barrier is in progress, because the caller has passed one.
    outcome("MPI_Finalize", unsafe { halfpower_mpi_leave() })
}
