//! Describes a process: its program, its control group, and its waiting requests.
//!
//! In version 1 each controller has its own tree. A process may be in a meaningful group of one tree and in
//! the root of all others (systemd's own tree names units, Docker's groups are in all). So the most
//! meaningful group is chosen, from the I/O tree first.
//!
//! The number of requests that a process waits for shows what no device counter does: requests that have
//! not reached the device, and whether their number stays constant. Rejected: counting them by events of
//! io_uring and libaio, which occur for each request; the rings of libaio are in the process's own memory.
//! Sources: proc(5), `io_uring_show_fdinfo` of io_uring/fdinfo.c, Documentation/admin-guide/cgroup-v2.rst
//! of the kernel.

use super::cgroup::IO_CONTROLLER;
use crate::kernel::read::{Roots, text};
use record::{Owner, OwnerKind};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Maximum number of files or threads of a process to check; each takes some microseconds.
const LOOKED_AT: usize = 1_024;
/// The link target of a ring's descriptor, the name prefix of its threads, and its largest number of
/// entries (`IORING_MAX_CQ_ENTRIES`).
const RING: &str = "anon_inode:[io_uring]";
const RING_WORKER: &str = "(iou-";
const RING_MAX: u32 = 65_536;
/// How often an unreadable ring is read again, and the pause between attempts.
const RING_TRIES: u32 = 8;
const RING_PAUSE: Duration = Duration::from_micros(200);
/// Position of the flags in /proc/PID/stat, counted after the name.
const FLAGS: usize = 6;

/// Facts about a process from the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Name of the program.
    pub name: String,
    /// Path of its control group.
    pub group: Option<String>,
    /// Whether it is a kernel thread.
    pub kernel_thread: bool,
}

/// Facts about a process; `None` if it has ended.
#[must_use]
pub fn process_facts(roots: &Roots, process: u32) -> Option<ProcessFacts> {
    let directory = roots.proc.join(process.to_string());
    // `PID (name) S ...`; the name may contain anything, even a closing parenthesis.
    let stat = text(&directory.join("stat"))?;
    let (head, rest) = stat.rsplit_once(')')?;
    let flags = rest.split_ascii_whitespace().nth(FLAGS)?.parse::<u64>().ok()?;
    Some(ProcessFacts {
        name: head.split_once('(')?.1.to_owned(),
        group: text(&directory.join("cgroup")).and_then(|groups| telling_group(&groups)),
        kernel_thread: flags & KERNEL_THREAD != 0,
    })
}

/// Number of requests that a process waits for now: the entries of its io_uring rings that it has not reaped,
/// plus its threads that sleep in the kernel. Such threads usually wait for I/O. `None` if the process has ended, access is denied,
/// or it has so many files or threads that checking would take over a millisecond. Also `None` if it shows
/// no requests, because one that uses libaio never does.
#[must_use]
pub fn outstanding(roots: &Roots, process: u32) -> Option<u32> {
    let directory = roots.proc.join(process.to_string());
    Some(in_rings(&directory)?.saturating_add(asleep(&directory)?)).filter(|&shown| shown > 0)
}

fn in_rings(directory: &Path) -> Option<u32> {
    let mut sum = 0_u32;
    for file in listed(&directory.join("fd"))? {
        let Ok(to) = fs::read_link(file.path()) else { continue };
        if to.as_os_str() == RING {
            let path = directory.join("fdinfo").join(file.file_name());
            sum = sum.saturating_add(unreaped(&ring_info(&path)?)?);
        }
    }
    Some(sum)
}

/// The kernel's information about a ring. It is empty while the program submits to the ring and is blocked
/// because the device has no free tag.
fn ring_info(path: &Path) -> Option<String> {
    for _ in 0..RING_TRIES {
        let info = text(path)?;
        if info.contains("SqTail:") {
            return Some(info);
        }
        std::thread::sleep(RING_PAUSE);
    }
    None
}

/// Entries put into a ring and not reaped; `None` if entries complete more than once.
fn unreaped(info: &str) -> Option<u32> {
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let (put, taken): (u32, u32) = (field("SqTail:")?, field("CqHead:")?);
    Some(put.wrapping_sub(taken)).filter(|&entries| entries <= RING_MAX)
}

/// Threads in uninterruptible sleep, without the workers of a ring.
fn asleep(directory: &Path) -> Option<u32> {
    let threads = listed(&directory.join("task"))?;
    let sleeps = |thread: &&fs::DirEntry| {
        let stat = text(&thread.path().join("stat")).unwrap_or_default();
        stat.rsplit_once(')').is_some_and(|(head, state)| {
            state.trim_start().starts_with('D') && !head.contains(RING_WORKER)
        })
    };
    Some(threads.iter().filter(sleeps).count() as u32)
}

/// The entries of a directory, unless there are too many.
fn listed(directory: &Path) -> Option<Vec<fs::DirEntry>> {
    let entries: Vec<fs::DirEntry> =
        fs::read_dir(directory).ok()?.flatten().take(LOOKED_AT + 1).collect();
    (entries.len() <= LOOKED_AT).then_some(entries)
}

/// The most meaningful path among the lines `hierarchy:controllers:path`.
fn telling_group(groups: &str) -> Option<String> {
    let lines = groups.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':');
        Some((parts.next()?, parts.next()?, parts.next()?))
    });
    let rank = |controllers: &str| match controllers {
        "" => 1,
        "name=systemd" => 2,
        _ if controllers.split(',').any(|one| one == IO_CONTROLLER) => 0,
        _ => 3,
    };
    // A group that only limits memory does not identify the source of I/O; that of a container does.
    let telling = |controllers: &str, path: &str| match Owner::of(path).kind {
        OwnerKind::Container => 0,
        OwnerKind::Unit => 1,
        OwnerKind::Group if rank(controllers) < 3 => 2,
        _ if path != "/" && rank(controllers) < 3 => 3,
        _ => 4,
    };
    lines
        .min_by_key(|(_, controllers, path)| (telling(controllers, path), rank(controllers)))
        .map(|(_, _, path)| path.to_owned())
}
