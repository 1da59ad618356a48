//! Sets the I/O priority of a thread's requests.

use super::system_call::call;
use crate::EngineError;
use record::{IoClass, IoPriority};

/// `IOPRIO_WHO_PROCESS` of `ioprio_set`: with the id 0, the calling thread.
const WHO_PROCESS: usize = 1;
/// Bit position of the class in the kernel's number.
const CLASS_SHIFT: u32 = 13;

/// Sets the priority for the calling thread and the threads that it will start.
///
/// # Errors
/// If the kernel refuses: the real-time class requires a privilege.
pub fn set_io_priority(priority: IoPriority) -> Result<(), EngineError> {
    let class = match priority.class {
        IoClass::Realtime => 1,
        IoClass::BestEffort => 2,
        IoClass::Idle => 3,
    };
    let number = class << CLASS_SHIFT | usize::from(priority.level);
    // SAFETY: the call takes three numbers; 0 is the calling thread.
    let outcome = unsafe { call(libc::SYS_ioprio_set, [WHO_PROCESS, 0, number, 0, 0]) };
    let priority = priority.to_string();
    outcome.map(drop).map_err(|errno| EngineError::Priority { priority, errno: errno.into() })
}
