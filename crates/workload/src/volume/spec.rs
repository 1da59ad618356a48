//! How disks are bound together: level, chunk, alignment, and what has failed.
//!
//! Plain data with a check: which combinations mean something is decided here, once, where a
//! specification is read, so that the mapping can rely on it.

/// Disks have sectors of 512 bytes; chunks and alignment are whole sectors.
const SECTOR_BYTES: u64 = 512;

/// How the disks hold the data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Raid {
    /// One disk after the other: an area of addresses per disk.
    #[default]
    None,
    /// Chunks in turn.
    Raid0,
    /// The same data on all.
    Raid1,
    /// Chunks in turn with one of parity per stripe, which goes round (left-symmetric).
    Raid5,
}

/// Which copy of a mirror a read takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorReads {
    /// As 3ware's TwinStor (Chung 2000, section 8.4): below 256 KiB of sequential requests
    /// outstanding, reads are random, and go to the disk with the shortest queue, then to the one
    /// with the nearest head; beyond, areas alternate.
    #[default]
    TwinStor,
    /// In turn.
    Plain,
}

/// How disks are bound together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeSpec {
    /// The level.
    pub raid: Raid,
    /// Bytes that lie together on a disk, above 0.
    pub chunk_bytes: u64,
    /// Bytes from the start of a chunk to the first byte of the volume.
    pub align_bytes: u64,
    /// The disk that has failed.
    pub failed: Option<u32>,
    /// Which copy a read takes.
    pub mirror_reads: MirrorReads,
    /// Whether requests that could see or leave copies and parity half changed wait for each other
    /// also where only bytes tell: writes to one area of a mirror, and reads that are made from
    /// parity. An array that holds bytes needs it; writes to a stripe with parity wait always.
    pub ordered: bool,
}

impl Raid {
    /// The words of the key and flag `raid`.
    pub const WORDS: &[(&str, Self)] =
        &[("none", Self::None), ("0", Self::Raid0), ("1", Self::Raid1), ("5", Self::Raid5)];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, raid)| *raid == self).map_or("", |(word, _)| word)
    }
}

impl VolumeSpec {
    /// Whether it means something with so many disks.
    ///
    /// # Errors
    /// What does not go together, and what to set.
    pub fn check(&self, disks: u32) -> Result<(), String> {
        let raid = self.raid.word();
        let (least, copies) = match self.raid {
            Raid::None | Raid::Raid0 => (1, false),
            Raid::Raid1 => (2, true),
            Raid::Raid5 => (3, true),
        };
        if disks < least {
            return Err(format!(
                "raid={raid} needs at least {least} disks, but disks={disks}; use disks={least}"
            ));
        }
        for (name, bytes, positive) in
            [("chunk", self.chunk_bytes, true), ("align", self.align_bytes, false)]
        {
            if positive && bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
                return Err(format!(
                    "{name}={bytes} is not a positive multiple of {SECTOR_BYTES} bytes"
                ));
            }
        }
        match self.failed {
            Some(_) if !copies => Err(format!(
                "raid={raid} has no redundancy: the data of a failed disk is lost; use raid=1 or \
                 5"
            )),
            Some(failed) if failed >= disks => {
                Err(format!("failed={failed}: use the number of a disk, from 0 to {}", disks - 1))
            }
            _ => Ok(()),
        }
    }
}
