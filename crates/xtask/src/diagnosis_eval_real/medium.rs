//! The devices on which cases are staged.

use testkit::Capability;

/// A kind of device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Medium {
    /// A loop device over memory.
    Loop,
    /// Compressed memory: no queue, no scheduler.
    Zram,
    /// The disk of the build folder, which others use, too.
    Disk,
    /// A disk whose latencies are chosen, with a file system that has a journal.
    Served,
    /// A loop device over memory whose file system has its journal on such a disk.
    Journal,
}

impl Medium {
    pub(crate) const ALL: [Self; 5] =
        [Self::Loop, Self::Zram, Self::Disk, Self::Served, Self::Journal];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Zram => "zram",
            Self::Disk => "disk",
            Self::Served => "served",
            Self::Journal => "journal",
        }
    }

    /// What the machine lacks for it.
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
