//! What a process is: its program, its control group, whether it is a thread of the kernel.
//!
//! In version 1 each controller has a tree of its own, and a process may be in a telling group of
//! one and in the root of all others (systemd's own tree names units, Docker's groups are in all).
//! So the group that says most is taken, from the tree of I/O first.
//!
//! How many requests it waits for shows what no counter of a device does: those that have not reached the
//! device, and whether their number is kept up. Rejected: to count them by events of io_uring and libaio,
//! which come for each request; the rings of libaio lie in the process's own memory.
//! Sources: proc(5), `io_uring_show_fdinfo` of io_uring/fdinfo.c, Documentation/admin-guide/cgroup-v2.rst of the kernel.

use super::cgroup::IO_CONTROLLER;
use crate::kernel::read::{Roots, text};
use record::{Owner, OwnerKind};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
/// Files or threads of a process that are looked at, of some microseconds each.
const LOOKED_AT: usize = 1_024;
/// What a descriptor of a ring is a link to, the beginning of the names of its threads, and its largest
/// number of entries (`IORING_MAX_CQ_ENTRIES`).
const RING: &str = "anon_inode:[io_uring]";
const RING_WORKER: &str = "(iou-";
const RING_MAX: u32 = 65_536;
/// How often a ring is asked that tells nothing, and how long apart.
const RING_TRIES: u32 = 8;
const RING_PAUSE: Duration = Duration::from_micros(200);
/// Of the column of flags in /proc/PID/stat, counted behind the name.
const FLAGS: usize = 6;

/// A process, as the kernel tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessFacts {
    /// Name of the program.
    pub name: String,
    /// Path of its control group.
    pub group: Option<String>,
    /// Whether it is a thread of the kernel.
    pub kernel_thread: bool,
}

/// What is told of a process; `None` where it has ended.
#[must_use]
pub fn process_facts(roots: &Roots, process: u32) -> Option<ProcessFacts> {
    let directory = roots.proc.join(process.to_string());
    // `PID (name) S ...`; the name may hold anything, a closing parenthesis too.
    let stat = text(&directory.join("stat"))?;
    let (head, rest) = stat.rsplit_once(')')?;
    let flags = rest.split_ascii_whitespace().nth(FLAGS)?.parse::<u64>().ok()?;
    Some(ProcessFacts {
        name: head.split_once('(')?.1.to_owned(),
        group: text(&directory.join("cgroup")).and_then(|groups| telling_group(&groups)),
        kernel_thread: flags & KERNEL_THREAD != 0,
    })
}

/// Requests that a process waits for now: entries of its io_uring rings that it has not reaped, and threads
/// that sleep in the kernel, which is for I/O as a rule. `None` where it has ended, may not be looked at,
/// or has so many files or threads that looking would cost a millisecond and more; and where it shows
/// none, because one that uses libaio never does.
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

/// What the kernel tells of a ring: nothing while the program submits to it, and is held there because the
/// device has no tag left.
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

/// Entries that the program put into a ring and has not taken out of it again; `None` for a ring whose
/// entries are answered more than once.
fn unreaped(info: &str) -> Option<u32> {
    let field = |name| info.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    let (put, taken): (u32, u32) = (field("SqTail:")?, field("CqHead:")?);
    Some(put.wrapping_sub(taken)).filter(|&entries| entries <= RING_MAX)
}

/// Threads in uninterruptible sleep, without those that carry out the entries of a ring.
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

/// What a directory lists, unless that is too much.
fn listed(directory: &Path) -> Option<Vec<fs::DirEntry>> {
    let entries: Vec<fs::DirEntry> =
        fs::read_dir(directory).ok()?.flatten().take(LOOKED_AT + 1).collect();
    (entries.len() <= LOOKED_AT).then_some(entries)
}

/// The path that says most, of the lines `hierarchy:controllers:path`.
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
    // A group that only limits memory is no name for who does I/O; that of a container is.
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
