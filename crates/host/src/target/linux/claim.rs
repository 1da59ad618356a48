//! Claims a block device for writing: it must be named by its stable name, not in use, and blank.
//!
//! A device in use is rejected before it is opened. Then it is opened with O_EXCL, and everything else is
//! decided on that descriptor, which stays open for the whole run, so that the kernel prevents mounts. A
//! device is rejected, whatever the flags, if it is in use, shares bytes with something in use (`holders`),
//! is read-only, or has a signature; clearing a signature is up to its owner. A blank partition may be
//! written, unless its whole disk is in use or has any signature other than a partition table. Rejected: a
//! flag that overrides all this, and asking on the terminal (scripts answer yes).

use crate::kernel::device::{numbers, partitions};
use crate::kernel::read::base_name;
use crate::target::error::TargetError;
use crate::target::linux::holders::{Moment, Node, Question, Use};
use crate::target::linux::stable_name::{is_kernel_name, is_one_of, stable_names};
use crate::target::linux::unsafe_calls::is_read_only;
use crate::target::signature::{Looked, Signature, find};
use record::shell_word;
use rustix::fd::OwnedFd;
use rustix::fs::{Advice, Mode, OFlags, SeekFrom, Stat};
use rustix::io::Errno;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Opens a block device for writing, if one of `typed` names it and no data on it can be needed. `stat` is
/// that of the path.
pub(crate) fn claim(
    question: &Question<'_>,
    path: &Path,
    stat: &Stat,
    typed: &[String],
) -> Result<OwnedFd, TargetError> {
    let roots = question.roots;
    let refused = |why: String, remedy: String| {
        TargetError::refused(format!("writing to the block device {path:?}"), &why, &remedy)
    };
    let used = |found: Use| refused(found.why, found.remedy);
    let (major, minor) = numbers(stat.st_rdev);
    let Some(node) = Node::find(roots, (major, minor)) else {
        return Err(refused(
            format!("{} has no block device {major}:{minor}", roots.sys.display()),
            "mount sysfs, which shows what uses the device".to_owned(),
        ));
    };
    // Check before opening: a device in use counts as such even for a user who may not open it.
    if let Some(found) = question.device(&node, Moment::Before) {
        return Err(used(found));
    }
    let stable = stable_names(roots, &node.directory);
    let consent = typed.iter().any(|name| is_one_of(name, &stable, &node.name));
    let read_only = || {
        refused(
            format!("{} is read-only", node.name),
            format!(
                "if the run may write to it, make it writable first (blockdev --setrw {path:?})"
            ),
        )
    };
    let mode = if consent { OFlags::RDWR } else { OFlags::RDONLY };
    let flags = mode | OFlags::EXCL | OFlags::CLOEXEC;
    let device = match rustix::fs::open(path, flags, Mode::empty()) {
        Ok(device) => File::from(device),
        Err(Errno::BUSY) => {
            return Err(used(Use::unnamed(|predicate| format!("{} {predicate}", node.name))));
        }
        Err(Errno::ROFS | Errno::ACCESS | Errno::PERM) if node.read_only() => {
            return Err(read_only());
        }
        Err(cause) => return Err(TargetError::system("open", path, cause)),
    };
    let opened = rustix::fs::fstat(&device).map_err(TargetError::failing("examine", path))?;
    if (opened.st_rdev, opened.st_mode) != (stat.st_rdev, stat.st_mode) {
        return Err(refused(
            "the path resolved to another device while it was being opened".to_owned(),
            "find out which program changes the path, then run again".to_owned(),
        ));
    }
    if is_read_only(&device).map_err(TargetError::failing("examine", path))? {
        return Err(read_only());
    }
    // Check again: from here on the kernel excludes other users.
    if let Some(found) = question.device(&node, Moment::InHand) {
        return Err(used(found));
    }
    let borne = |signature: Signature, by: &str| {
        refused(
            format!("{by} contains {} (at byte {})", signature.name, signature.at),
            format!(
                "if this data is no longer needed, erase it yourself (wipefs --all /dev/{by}), \
                 then run again"
            ),
        )
    };
    if let Some(signature) = signature(path, &device, Looked::All)? {
        return Err(borne(signature, &node.name));
    }
    if let Some(part) = partitions(&node.directory).next() {
        return Err(refused(
            format!("{} has partitions, for example {}", node.name, base_name(&part)),
            format!(
                "if they are no longer needed, delete them yourself (wipefs --all {path:?}, then \
                 partx --delete {path:?})"
            ),
        ));
    }
    if let Some(disk) = node.disk() {
        let node_path = roots.dev.join(&disk.name);
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let whole = rustix::fs::open(&node_path, flags, Mode::empty())
            .map_err(TargetError::failing("examine", &node_path))?;
        // The partition table that defines the partition does no harm.
        if let Some(signature) = signature(&node_path, &whole.into(), Looked::NoTables)? {
            return Err(borne(signature, &disk.name));
        }
    }
    if consent { Ok(device.into()) } else { Err(not_named(path, &node, &stable, typed)) }
}

fn not_named(path: &Path, node: &Node, stable: &[String], typed: &[String]) -> TargetError {
    let why = match typed {
        [] => "all data on it would be lost".to_owned(),
        typed if typed.iter().any(|name| is_kernel_name(name, &node.name)) => format!(
            "--destroy-data-on needs a name that stays with the device; {} may be another device \
             after a restart",
            node.name
        ),
        typed => format!("--destroy-data-on names {}, which is another device", quoted(typed)),
    };
    let remedy = match stable.first() {
        Some(name) => format!(
            "if the data on it is no longer needed, add --destroy-data-on {}, or name a directory \
             on a file system of this device",
            shell_word(name)
        ),
        None => format!(
            "{} has no unique name (no link in /dev/disk/by-id, no serial number, no world-wide \
             id, or another device shares them): set a serial number in the host or hypervisor \
             that provides the device, or name a directory on a file system of this device",
            node.name
        ),
    };
    TargetError::Refused { what: format!("writing to the block device {path:?}"), why, remedy }
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(" and ")
}

fn signature(path: &Path, device: &File, looked: Looked) -> Result<Option<Signature>, TargetError> {
    let size = rustix::fs::seek(device, SeekFrom::End(0))
        .map_err(TargetError::failing("look for signatures on", path))?;
    let found = find(size, looked, &mut |at, buffer| device.read_exact_at(buffer, at));
    let found = found.map_err(TargetError::failing("look for signatures on", path))?;
    // Data read here must not stay in the page cache, where a run would find it.
    rustix::fs::fadvise(device, 0, None, Advice::DontNeed)
        .map_err(TargetError::failing("look for signatures on", path))?;
    Ok(found)
}

#[cfg(test)]
#[path = "claim_tests.rs"]
mod tests;
