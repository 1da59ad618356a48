//! Decides whether a target may be written: what it consists of, and who uses any part of it.
//!
//! A target shares its bytes with other objects. Examples: a partition with its disk, a loop device with
//! the file below it and with every other loop device over that file, a file of an overlay with the file of
//! its layer, a disk with the same disk on a second path. [`reach`] follows these relations down, up and
//! sideways, with the range of bytes, so that a neighbour on the same disk does not count as sharing. Then
//! [`users`] finds the users of each object, and [`processes`] the programs that have it open. The refusal
//! prints the path: "loop1 lies on loop0, which is mounted at /mnt".
//!
//! Tables in /proc and /sys name users, but are incomplete: programs in other containers, mounts of a
//! namespace without processes, and a file server in the kernel are missing. So the kernel is also asked
//! directly ([`kernel_word`]): by O_EXCL for devices, and by leases and locks for files. That does not name
//! the user.
//!
//! Rejected: running lsblk, fuser or lsof; judging a path only by the device that it names, which ignores
//! everything below a loop device; trusting sysfs alone, which lacks the mounts of other namespaces.

mod blocks;
mod kernel_word;
mod layers;
mod processes;
mod reach;
mod users;

use crate::kernel::Roots;
use crate::target::in_use::InUse;
pub(crate) use blocks::Node;
use kernel_word::{claimed_below, locked_below};
use layers::FileNames;
use reach::{Part, Reach, Start};
use rustix::fd::BorrowedFd;
use rustix::fs::Stat;
use std::path::Path;

/// Why a target may not be written, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) why: String,
    pub(crate) remedy: String,
}

impl Use {
    /// A user that no table names: the kernel refused O_EXCL. `says` adds the device to the predicate.
    pub(crate) fn unnamed(says: impl FnOnce(&str) -> String) -> Self {
        let predicate = "is in use according to the kernel: the device or a part of it is mounted \
                         in another mount namespace, or a driver uses it";
        let remedy = "find out what uses it (lsblk, fuser -v) and release it there";
        Self { why: says(predicate), remedy: remedy.to_owned() }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the target is opened for writing. The kernel is asked directly, too.
    Before,
    /// While the target is open. Only tables are read: our own claim would look like another user.
    InHand,
}

/// A check whether a target may be written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) roots: &'a Roots,
    /// Files of the command itself, which it must not overwrite.
    pub(crate) keep: &'a [InUse],
}

impl Question<'_> {
    /// The user of a block device, or of anything that shares bytes with it; `None` if none is found.
    pub(crate) fn device(&self, node: &Node, moment: Moment) -> Option<Use> {
        let roots = self.roots;
        let (reach, found) = self.by_tables(Start::Device(node.name.clone()));
        found.or_else(|| match moment {
            Moment::Before => claimed_below(roots, &reach).or_else(|| locked_below(&reach)),
            Moment::InHand => None,
        })
    }

    /// The user of a regular file, or of anything that shares bytes with it. `file` is open for reading,
    /// `stat` is its state, `path` the name by which it was opened.
    pub(crate) fn file(
        &self,
        file: BorrowedFd<'_>,
        stat: &Stat,
        path: &Path,
        moment: Moment,
    ) -> Option<Use> {
        let names = FileNames::of_open_file(self.roots, path, stat);
        let (reach, found) = self.by_tables(Start::File(names));
        found.or_else(|| match moment {
            Moment::Before => kernel_word::of_file(self.roots, file, &reach),
            Moment::InHand => None,
        })
    }

    fn by_tables(&self, start: Start) -> (Reach, Option<Use>) {
        let blocks = blocks::read(self.roots);
        let reach = Reach::from(self.roots, &blocks, start);
        let found = self
            .kept(&reach)
            .or_else(|| users::find(self.roots, &blocks, &reach))
            .or_else(|| processes::find(self.roots, &reach));
        (reach, found)
    }

    fn kept(&self, reach: &Reach) -> Option<Use> {
        self.keep.iter().find_map(|kept| {
            let wanted = FileNames::of_path(self.roots, &kept.path)?;
            let is = |part: &&Part| part.file().is_some_and(|file| file.is_same(&wanted));
            let part = reach.parts.iter().find(is)?;
            let why = part.says(&format!("is {}, which the run would destroy", kept.role));
            Some(Use { why, remedy: "name another target".to_owned() })
        })
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
