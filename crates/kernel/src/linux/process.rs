//! What a process is: its program, its control group, whether it is a thread of the kernel.
//!
//! In version 1 each controller has a tree of its own, and a process may be in a telling group of
//! one and in the root of all others (systemd's own tree names units, Docker's groups are in all).
//! So the group that says most is taken, from the tree of I/O first.
//! Sources: proc(5), Documentation/admin-guide/cgroup-v2.rst of the kernel.

use super::cgroup::IO_CONTROLLER;
use super::roots::{Roots, text};
use record::{Owner, OwnerKind};

/// `PF_KTHREAD` of include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;
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
