//! The size of the cache in a drive, where the drive tells.
//!
//! ATA drives do, in a word of IDENTIFY DEVICE that newer standards retired and drives still fill
//! in (hdparm prints it as BuffSize). It ends at 32 MiB, so what it says is a lower bound. NVMe and
//! SCSI have no such word. Rejected: tables of models, which are never complete.

use crate::linux::roots::{Roots, base_name};
use crate::linux::unsafe_calls::{ATA_WORDS, ata_identity};
use record::Bytes;
use rustix::fs::{Mode, OFlags};
use std::path::Path;

/// The word with the size, in units of a sector of 512 bytes (ATA-3, table 9).
const BUFFER_WORD: usize = 21;
const SECTOR_BYTES: u64 = 512;

/// The cache of a whole disk, given its directory in sysfs.
pub(crate) fn cache_bytes(roots: &Roots, disk: &Path) -> Option<Bytes> {
    let name = base_name(disk);
    // The kernel answers for disks of its SCSI layer only.
    if !name.starts_with("sd") {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let device = rustix::fs::open(roots.dev.join(name), flags, Mode::empty()).ok()?;
    told(&ata_identity(&device).ok()?)
}

fn told(identity: &[u16; ATA_WORDS]) -> Option<Bytes> {
    let sectors = identity[BUFFER_WORD];
    (!matches!(sectors, 0 | u16::MAX)).then(|| Bytes(u64::from(sectors) * SECTOR_BYTES))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_that_fills_in_the_word_tells_its_cache_and_others_do_not() {
        let mut identity = [0; ATA_WORDS];
        assert_eq!(told(&identity), None);
        identity[BUFFER_WORD] = u16::MAX;
        assert_eq!(told(&identity), None);
        identity[BUFFER_WORD] = 16_384;
        assert_eq!(told(&identity), Some(Bytes(8 << 20)));
    }
}
