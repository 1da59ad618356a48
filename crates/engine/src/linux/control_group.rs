//! Places the requests of a thread under the limits of a control group.

use crate::EngineError;
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// Files that accept threads: in version 1, and in a threaded group of version 2.
const FILES: [&str; 2] = ["tasks", "cgroup.threads"];
/// File system types of both versions in statfs(2) (linux/magic.h). A user's directory may contain a file
/// with such a name.
const CONTROL_GROUPS: [u64; 2] = [0x27_e0eb, 0x6367_7270];

/// Moves the calling thread, and the threads that it will start, into a control group.
///
/// # Errors
/// If the group does not exist, or does not accept single threads.
pub fn join_control_group(group: &str) -> Result<(), EngineError> {
    let folder = Path::new(group);
    let is_group = rustix::fs::statfs(folder)
        .is_ok_and(|facts| CONTROL_GROUPS.contains(&(facts.f_type as u64 & u64::from(u32::MAX))));
    let file = FILES.into_iter().map(|name| folder.join(name)).find(|file| file.exists());
    let file = file.filter(|_| is_group);
    let wrong = |why: String| EngineError::ControlGroup { group: group.to_owned(), why };
    let file = file.ok_or_else(|| {
        wrong(
            "it is not the directory of a control group, such as /sys/fs/cgroup/blkio/slow"
                .to_owned(),
        )
    })?;
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let written = File::options().write(true).open(file);
    written.and_then(|mut file| file.write_all(thread.as_bytes())).map_err(|error| {
        let whole = error.raw_os_error() == Some(libc::EOPNOTSUPP);
        let then = if whole {
            "; this cgroup v2 group accepts only whole processes: start halfpower itself in it"
        } else {
            ""
        };
        wrong(format!("{error}{then}"))
    })
}
