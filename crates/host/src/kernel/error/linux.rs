//! Remedies for the error numbers of Linux.

use rustix::io::Errno;

/// The remedy for an error number.
pub(super) fn remedy(cause: &std::io::Error) -> &'static str {
    match Errno::from_io_error(cause).unwrap_or(Errno::IO) {
        Errno::NOENT | Errno::NOTDIR => "check the path",
        Errno::ACCESS => "run as a user with the permission, or name a target that you own",
        // Errors that even root gets: a container's device rules, an immutable file, a lockdown.
        Errno::PERM => {
            "a policy of this system or container forbids it, possibly even for root; name \
             another target"
        }
        Errno::ROFS => "name a directory on a file system that is mounted read-write",
        Errno::NOSPC | Errno::DQUOT => "free some space, or use a smaller --size",
        Errno::TXTBSY => "the file is in use as a running program or as swap; name another target",
        Errno::BUSY => "the target is in use; name another target, or release this one",
        Errno::MFILE | Errno::NFILE => "raise the limit of open files (ulimit -n)",
        Errno::LOOP => "the symbolic links form a loop; name the target itself",
        Errno::IO | Errno::NXIO | Errno::NODEV | Errno::NOMEDIUM => {
            "the device failed or was removed; check the kernel log (dmesg)"
        }
        _ => "check the kernel log (dmesg), or name another target",
    }
}
