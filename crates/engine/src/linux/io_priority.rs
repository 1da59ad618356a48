//! How the I/O scheduler is asked to rank the requests of a thread.

use super::system_call::call;
use crate::EngineError;
use record::{IoClass, IoPriority};

/// "This process" of `ioprio_set`: with the id 0, the calling thread.
const WHO_PROCESS: usize = 1;
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
    let number = class << CLASS_SHIFT | usize::from(priority.level);
    // SAFETY: the call takes three numbers; 0 is the calling thread.
    let outcome = unsafe { call(libc::SYS_ioprio_set, [WHO_PROCESS, 0, number, 0, 0]) };
    let priority = priority.to_string();
    outcome.map(drop).map_err(|errno| EngineError::Priority { priority, errno: errno.into() })
}
