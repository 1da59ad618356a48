//! May this be written? What a target is made of, and who else uses any part of it.
//!
//! A target shares its bytes with other things: a partition with its disk, a loop device with the file below
//! it and with every other loop device over that file, a file of an overlay with the file of its layer, a disk
//! with the same disk on a second path. [`reach`] walks these ways down, up and sideways and carries the range
//! of bytes along, so that a neighbour on the same disk is not taken for a sharer. [`users`] then asks of each
//! thing that was reached who uses it, and [`processes`] which program has it open. The refusal prints the way:
//! "loop1 lies on loop0, which is mounted at /mnt".
//!
//! Tables of /proc and /sys say who uses something, but not everything is in them: another container's
//! programs, mounts of a namespace without processes, a file server in the kernel. So the kernel is asked as well
//! ([`kernel_word`]): O_EXCL of devices, leases and locks of files. It does not say who.
//!
//! Rejected: asking lsblk, fuser or lsof; judging a path by the device that it names alone, which knew nothing of
//! what lies below a loop device; believing sysfs alone, which misses other namespaces' mounts.

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

/// Why something may not be written, and what its user can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) why: String,
    pub(crate) remedy: String,
}

/// When the question is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Moment {
    /// Before the target is opened for writing. The kernel's word is asked for.
    Before,
    /// With the descriptor in hand. Our own claim would answer for others, so tables alone are asked.
    InHand,
}

/// May this be written?
#[derive(Clone, Copy, Debug)]
pub(crate) struct Question<'a> {
    pub(crate) roots: &'a Roots,
    /// Files of the command itself, which it must not overwrite.
    pub(crate) keep: &'a [InUse],
}

impl Question<'_> {
    /// Who uses a block device or anything that shares bytes with it; `None` where no user is found.
    pub(crate) fn device(&self, node: &Node, moment: Moment) -> Option<Use> {
        let roots = self.roots;
        let (reach, found) = self.by_tables(Start::Device(node.name.clone()));
        found.or_else(|| match moment {
            Moment::Before => claimed_below(roots, &reach).or_else(|| locked_below(&reach)),
            Moment::InHand => None,
        })
    }

    /// Who uses a regular file or anything that shares bytes with it. `file` is open for reading, `stat` is its
    /// state, `path` the name by which it was opened.
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
