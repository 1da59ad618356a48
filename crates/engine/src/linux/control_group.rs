//! How the requests of a thread come under the limits of a control group.

use crate::EngineError;
use std::path::Path;

/// Files that take threads: of version 1, and of a threaded group of version 2.
const FILES: [&str; 2] = ["tasks", "cgroup.threads"];

/// Puts the calling thread, and those that it will start, into a control group.
///
/// # Errors
/// If there is no such group, or it does not take single threads.
pub fn join_control_group(group: &str) -> Result<(), EngineError> {
    let folder = Path::new(group);
    let file = FILES.into_iter().map(|name| folder.join(name)).find(|file| file.exists());
    let wrong = |why: String| EngineError::ControlGroup { group: group.to_owned(), why };
    let file = file.ok_or_else(|| {
        wrong("it is no directory of a control group, as /sys/fs/cgroup/blkio/slow".to_owned())
    })?;
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    std::fs::write(file, thread).map_err(|error| {
        let whole = error.raw_os_error() == Some(libc::EOPNOTSUPP);
        let then = if whole {
            "; of version 2 it takes whole processes: start halfpower itself in it"
        } else {
            ""
        };
        wrong(format!("{error}{then}"))
    })
}
