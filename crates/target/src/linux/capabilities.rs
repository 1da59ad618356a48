//! What a directory can do for a measurement.

use crate::linux::extents::extents;
use record::{Bytes, Capability};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// What a nameless file in the directory can do.
#[must_use]
pub fn capabilities(dir: &Path) -> Vec<Capability> {
    let make = |flags: OFlags| {
        let flags = flags | OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR)
    };
    let said = |outcome: &Result<OwnedFd, Errno>| match outcome {
        Ok(_) => format!("works in {dir:?}"),
        Err(cause) => format!("{dir:?}: {cause}"),
    };
    let plain = make(OFlags::empty());
    let nameless = Capability::of(
        "O_TMPFILE",
        plain.is_ok(),
        said(&plain),
        "the test file is created and unlinked at once instead; it needs write permission",
    );
    let direct = make(OFlags::DIRECT);
    let direct = Capability::of(
        "O_DIRECT",
        direct.is_ok(),
        said(&direct),
        "reads come from the page cache: name a directory on a disk, or use --cache all",
    );
    let map = plain.ok().and_then(|file| extents(&file, Bytes(0), Bytes(1)).ok()).flatten();
    let found = if map.is_some() { "works" } else { "this file system has no map" };
    let map = Capability::of(
        "FIEMAP",
        map.is_some(),
        format!("{found} in {dir:?}"),
        "holes and the placement of files stay unknown: name a directory on ext4, XFS or btrfs",
    );
    vec![nameless, direct, map]
}
