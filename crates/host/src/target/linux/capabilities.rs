//! Lists what a directory supports for a measurement.

use crate::target::linux::extents::extents;
use record::{Bytes, Capability};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::path::Path;

/// Capabilities of an unnamed file in the directory.
#[must_use]
pub fn capabilities(dir: &Path) -> Vec<Capability> {
    let make = |flags: OFlags| {
        let flags = flags | OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        rustix::fs::open(dir, flags, Mode::RUSR | Mode::WUSR)
    };
    let made = |name, outcome: &Result<OwnedFd, Errno>, remedy| {
        let detail = match outcome {
            Ok(_) => format!("works in {dir:?}"),
            Err(cause) => format!("{dir:?}: {cause}"),
        };
        Capability::of(name, outcome.is_ok(), detail, remedy)
    };
    let plain = make(OFlags::empty());
    if let Err(cause @ (Errno::ACCESS | Errno::ROFS)) = plain {
        let detail = format!("{dir:?}: {cause}");
        let remedy = "name a directory in which you can create files";
        return vec![Capability::of("test files", false, detail, remedy)];
    }
    let remedy = "the test file is created and unlinked at once instead, which needs write \
                  permission";
    let nameless = made("O_TMPFILE", &plain, remedy);
    let remedy = "without it halfpower cannot bypass the page cache: name a directory whose file \
                  system supports it, or use --cache all, which measures memory and disk together";
    let direct = made("O_DIRECT", &make(OFlags::DIRECT), remedy);
    let map = plain.ok().and_then(|file| extents(&file, Bytes(0), Bytes(1)).ok()).flatten();
    let found = if map.is_some() { "works" } else { "this file system reports no extent map" };
    let remedy =
        "holes and the placement of files are unknown: name a directory on ext4, XFS or btrfs";
    let map = Capability::of("FIEMAP", map.is_some(), format!("{found} in {dir:?}"), remedy);
    vec![nameless, direct, map]
}
