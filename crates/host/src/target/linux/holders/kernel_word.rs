//! Asks the kernel directly for users that its tables do not show; it does not name them.
//!
//! A read lease is refused while anything has the file open for writing: a program in another container, a
//! file server in the kernel, a mapping whose descriptor is closed. Locks are detected by trying to take
//! them. A device that is mounted in a namespace without processes, or used by a driver, refuses O_EXCL.
//! Rejected: a write lease, which readers refuse too, and holding either during a run, which would block
//! every program that opens the file.

use super::Use;
use super::layers::FileId;
use super::processes::{is_for_writing, numbers_of_processes};
use super::reach::{Part, Reach};
use crate::kernel::Roots;
use crate::kernel::read::{names, text};
use crate::target::linux::unsafe_calls::{Writers, has_writers, is_locked};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use std::time::Duration;

/// How often, and at what interval, a file without a visible user is checked: two seconds in total.
const CLOSING_LOOKS: u32 = 40;
const CLOSING_PAUSE: Duration = Duration::from_millis(50);

/// A user of a file that was opened for reading, as the target.
pub(super) fn of_file(roots: &Roots, file: BorrowedFd<'_>, reach: &Reach) -> Option<Use> {
    let target = reach.parts.iter().find(|part| part.start)?;
    // The kernel closes the files of a ring some milliseconds after its program has ended.
    let mut writers = has_writers(file);
    for _ in 0..CLOSING_LOOKS {
        if writers != Writers::Some || is_open_in_our_program(roots, target) {
            break;
        }
        std::thread::sleep(CLOSING_PAUSE);
        writers = has_writers(file);
    }
    if writers == Writers::Hidden {
        return Some(Use {
            why: target.says(
                "belongs to another user, and only its owner can ask the kernel whether a program \
                 has it open for writing",
            ),
            remedy: "run as its owner or as root, or name a file that you own".to_owned(),
        });
    }
    if writers == Writers::Some && !is_open_in_our_program(roots, target) {
        return Some(Use {
            why: target.says(
                "is open for writing by a process that is not visible here, according to the \
                 kernel",
            ),
            remedy: "find the program that uses it (another container, an NFS, SMB or iSCSI \
                     server, a virtual machine) and end it"
                .to_owned(),
        });
    }
    locked(target, file)
}

/// Whether our own program has it open for writing: another client of the same load, or another job in this
/// process. It only writes test data.
fn is_open_in_our_program(roots: &Roots, target: &Part) -> bool {
    let program = FileId::of_path(&roots.proc.join("self/exe"));
    let ids = target.file().map(|file| file.ids.as_slice()).unwrap_or_default();
    numbers_of_processes(roots).iter().any(|process| {
        let folder = roots.proc.join(process);
        let is_target = |descriptor: &String| {
            let facts = text(&folder.join("fdinfo").join(descriptor)).unwrap_or_default();
            let id = || FileId::of_path(&folder.join("fd").join(descriptor));
            is_for_writing(&facts) && id().is_some_and(|id| ids.contains(&id))
        };
        program.is_some()
            && FileId::of_path(&folder.join("exe")) == program
            && names(&folder.join("fd")).iter().any(is_target)
    })
}

/// A file below a loop device that a program has locked. A lease cannot be used here, because the loop
/// device itself has the file open.
pub(super) fn locked_below(reach: &Reach) -> Option<Use> {
    reach.parts.iter().filter(|part| part.below_loop).find_map(|part| {
        let file = part.file()?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened: OwnedFd = rustix::fs::open(&file.path, flags, Mode::empty()).ok()?;
        let stat = rustix::fs::fstat(&opened).ok()?;
        let id = FileId { device: stat.st_dev, inode: stat.st_ino };
        file.ids.contains(&id).then(|| locked(part, opened.as_fd())).flatten()
    })
}

fn locked(part: &Part, file: BorrowedFd<'_>) -> Option<Use> {
    // A check by another process, like this one, holds it only for a moment.
    let stays = (0..CLOSING_LOOKS).all(|look| {
        if look > 0 {
            std::thread::sleep(CLOSING_PAUSE);
        }
        is_held(file)
    });
    stays.then(|| Use {
        why: part.says("is locked by another program"),
        remedy: "end that program first (/proc/locks and fuser -v may name it)".to_owned(),
    })
}

fn is_held(file: BorrowedFd<'_>) -> bool {
    let whole = flock(file, FlockOperation::NonBlockingLockExclusive);
    if whole.is_ok() {
        // Released at once: this only checks whether another process holds it.
        let _ = flock(file, FlockOperation::Unlock);
    }
    is_locked(file) || whole == Err(Errno::WOULDBLOCK)
}

/// A device below a loop device that the kernel does not open exclusively.
pub(super) fn claimed_below(roots: &Roots, reach: &Reach) -> Option<Use> {
    reach.parts.iter().filter(|part| part.below_loop).find_map(|part| {
        let node = part.device()?;
        let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let opened = rustix::fs::open(roots.dev.join(&node.name), flags, Mode::empty());
        (opened.err() == Some(Errno::BUSY)).then(|| Use::unnamed(|predicate| part.says(predicate)))
    })
}
