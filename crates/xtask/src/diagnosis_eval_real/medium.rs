//! The devices on which cases are staged.

use clap::ValueEnum;
use serde::Deserialize;
use testkit::Capability;

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Medium {
    /// A loop device in memory.
    Loop,
    /// Compressed memory: no queue, no scheduler.
    Zram,
    /// The disk of the build folder, which other processes use, too.
    Disk,
    /// A disk with chosen latencies, and a file system with a journal.
    Served,
    /// A loop device in memory, whose file system has its journal on a disk with chosen latencies.
    Journal,
}

record::words! { Medium:
    Loop = "loop",
    Zram = "zram",
    Disk = "disk",
    Served = "served",
    Journal = "journal",
}

impl Medium {
    /// What the machine lacks for it, if anything.
    pub(super) fn lack(self) -> Option<String> {
        use Capability::{Ext4, Loop, Mount};
        let needs: &[Capability] = match self {
            Self::Loop => &[Loop, Mount, Ext4],
            Self::Zram => &[Capability::Zram, Mount, Ext4],
            Self::Disk => &[Capability::Disk],
            Self::Served | Self::Journal => {
                &[Capability::Served, Loop, Mount, Ext4, Capability::Swap]
            }
        };
        needs.iter().find_map(|need| need.lack())
    }
}
