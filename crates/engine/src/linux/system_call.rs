//! System calls for which there is no safe wrapper: one place for what they return.

use rustix::io::Errno;

/// A system call that rustix does not have; its result or error.
///
/// # Safety
/// As the call demands.
pub(crate) unsafe fn call(number: libc::c_long, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: passed on to the caller.
    let result = unsafe { libc::syscall(number, a, b, c, d, e) };
    if result >= 0 {
        return Ok(result as usize);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
