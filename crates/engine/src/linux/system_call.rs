//! Calls system calls that have no safe wrapper, and converts their results.

use rustix::io::Errno;

/// Makes a system call that rustix lacks, and returns its result or error.
///
/// # Safety
/// The arguments must satisfy the requirements of the call.
pub(crate) unsafe fn call(number: libc::c_long, arguments: [usize; 5]) -> Result<usize, Errno> {
    let [a, b, c, d, e] = arguments;
    // SAFETY: the caller guarantees the requirements of the call.
    let result = unsafe { libc::syscall(number, a, b, c, d, e) };
    if result >= 0 {
        return Ok(result as usize);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}
