//! Explains why the kernel did not register the buffers, with the limit and the required size.
//!
//! Registered memory is pinned. For a user without CAP_IPC_LOCK it counts against RLIMIT_MEMLOCK, which is
//! small by default. A run continues without registration. Each request then pins its own pages, which costs
//! CPU time. This is reported as a feature of the result, not as an error.

use super::BUFFERS_NOT_REGISTERED;
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Maximum length of a buffer that the kernel registers (io_uring_register_buffers(3)).
const REGISTERED_BYTES_MAX: usize = 1 << 30;

/// The explanation as a line for the features.
pub(super) fn refusal(errno: Errno, bytes: usize) -> String {
    let limit = getrlimit(Resource::Memlock).current;
    let cause = match limit {
        _ if bytes > REGISTERED_BYTES_MAX => {
            format!(
                "{bytes} bytes are needed, but the kernel accepts at most \
                     {REGISTERED_BYTES_MAX}"
            )
        }
        Some(limit) if errno == Errno::NOMEM => {
            format!(
                "{bytes} bytes are needed, but the limit on locked memory (ulimit -l) is \
                     {limit}"
            )
        }
        _ => format!("{bytes} bytes are needed ({errno})"),
    };
    format!("{BUFFERS_NOT_REGISTERED}: {cause}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_and_the_need_are_named() {
        let line = refusal(Errno::NOMEM, 123_456);
        assert!(line.starts_with(BUFFERS_NOT_REGISTERED) && line.contains("123456"), "{line}");
        assert!(refusal(Errno::FAULT, 2 << 30).contains("the kernel accepts at most 1073741824"));
    }
}
