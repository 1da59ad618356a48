//! Selects the kind of ring to request, and explains a refusal. Kernels support different flags and answer an
//! unknown flag with EINVAL, so setups are tried from the best to the simplest.

use crate::EngineError;
use crate::input;
use rustix::io::Errno;
use rustix::io_uring::IoringSetupFlags;

/// Options beyond a plain ring.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Completions are found by polling the device.
    pub(super) polled: bool,
    /// A kernel thread polls for submissions.
    pub(super) sqpoll: bool,
}

/// Setups to try, best first.
pub(super) fn preferences(options: Options) -> Vec<IoringSetupFlags> {
    let mut base = IoringSetupFlags::CLAMP;
    if options.polled {
        base |= IoringSetupFlags::IOPOLL;
    }
    let single = IoringSetupFlags::SUBMIT_ALL | IoringSetupFlags::SINGLE_ISSUER;
    let ways = if options.sqpoll {
        // The kernel thread runs the completions, so none can be deferred to the job's thread.
        base |= IoringSetupFlags::SQPOLL;
        vec![single | IoringSetupFlags::NO_SQARRAY, single, IoringSetupFlags::empty()]
    } else {
        vec![
            single | IoringSetupFlags::DEFER_TASKRUN | IoringSetupFlags::NO_SQARRAY,
            single | IoringSetupFlags::DEFER_TASKRUN,
            IoringSetupFlags::COOP_TASKRUN,
            IoringSetupFlags::empty(),
        ]
    };
    ways.into_iter().map(|way| base | way).collect()
}

/// Error for a kernel that refuses a ring, with a remedy.
pub(super) fn refusal(errno: Errno, options: Options) -> EngineError {
    let disabled = input::kernel_text("/proc/sys/kernel/io_uring_disabled".as_ref());
    told(errno, options, disabled.as_deref().map_or("0", str::trim))
}

/// The same with a known value of the setting `kernel.io_uring_disabled`.
fn told(errno: Errno, options: Options, disabled: &str) -> EngineError {
    let (cause, remedy) = match errno {
        Errno::NOSYS => (
            "the kernel is older than 5.11 or was built without io_uring, or a seccomp filter \
             hides it"
                .to_owned(),
            "update the kernel or lift the filter, or use --ioengine sync",
        ),
        Errno::PERM | Errno::ACCESS if disabled == "1" => (
            "kernel.io_uring_disabled is 1, which turns io_uring off for ordinary users".to_owned(),
            "run as root, join the group of kernel.io_uring_group, run sysctl \
             kernel.io_uring_disabled=0, or use --ioengine sync",
        ),
        Errno::PERM | Errno::ACCESS if disabled != "0" => (
            format!(
                "kernel.io_uring_disabled is {disabled}, which turns io_uring off for all \
                     users"
            ),
            "run sysctl kernel.io_uring_disabled=0, or use --ioengine sync",
        ),
        Errno::PERM | Errno::ACCESS if options.sqpoll => (
            "either the kernel's submission thread needs privileges (before Linux 5.13), or a \
             seccomp filter forbids io_uring"
                .to_owned(),
            "omit --sqthread-poll, or use --ioengine sync",
        ),
        Errno::PERM | Errno::ACCESS => (
            "a seccomp filter forbids io_uring (the default in containers)".to_owned(),
            "allow io_uring_setup, io_uring_enter and io_uring_register in the filter, or use --ioengine sync",
        ),
        Errno::NOMEM => (
            "the limit on locked memory (RLIMIT_MEMLOCK) is too low for the ring".to_owned(),
            "raise the limit with ulimit -l, or use --ioengine sync",
        ),
        Errno::MFILE | Errno::NFILE => (
            "no file descriptor is left".to_owned(),
            "raise the limit with ulimit -n, or use --ioengine sync",
        ),
        Errno::OPNOTSUPP | Errno::INVAL if options.polled => (
            "the kernel does not support rings with polled completion".to_owned(),
            "omit --hipri, or use --ioengine sync",
        ),
        _ => ("io_uring_setup failed".to_owned(), "use --ioengine sync"),
    };
    EngineError::Unavailable { engine: "io_uring", cause, errno: errno.into(), remedy }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_ring_names_the_setting_that_forbids_it() {
        let says = |disabled: &str, errno: Errno, words: &str| {
            let error = told(errno, Options::default(), disabled).to_string();
            assert!(error.contains(words) && error.contains("--ioengine sync"), "{error}");
        };
        says("2", Errno::PERM, "for all users");
        says("1", Errno::PERM, "ordinary users");
        says("0", Errno::PERM, "seccomp");
        says("0", Errno::NOSYS, "the kernel is older than 5.11");
    }
}
