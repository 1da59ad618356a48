//! How the I/O scheduler is asked to rank the requests of a thread.

use crate::EngineError;
use record::{IoClass, IoPriority};
use rustix::io::Errno;

/// "This process" of `ioprio_set`: with the id 0, the calling thread.
const WHO_PROCESS: libc::c_long = 1;
/// Where the class stands in the kernel's number.
const CLASS_SHIFT: u32 = 13;

/// Sets it for the calling thread and those that it will start.
///
/// # Errors
/// If the kernel refuses: the real-time class takes a privilege.
pub fn set_io_priority(priority: IoPriority) -> Result<(), EngineError> {
    let class = match priority.class {
        IoClass::Realtime => 1,
        IoClass::BestEffort => 2,
        IoClass::Idle => 3,
    };
    let number = libc::c_long::from(class << CLASS_SHIFT | libc::c_int::from(priority.level));
    // SAFETY: the call takes three numbers.
    let outcome = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0_i64, number) };
    if outcome == 0 {
        return Ok(());
    }
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or_default();
    Err(EngineError::Priority {
        priority: format!("{}/{}", priority.class.name(), priority.level),
        errno: Errno::from_raw_os_error(errno),
    })
}
