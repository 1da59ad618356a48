//! Specifies how disks are combined: level, chunk, alignment, and a failed disk.
//!
//! This is plain data with a check. The check decides once, when a specification is read, which combinations
//! are valid, so that the mapping can rely on it.

/// Disks have sectors of 512 bytes; chunks and alignment are whole sectors.
const SECTOR_BYTES: u64 = 512;

/// How data are spread over the disks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Raid {
    /// One disk after the other: a range of addresses per disk.
    #[default]
    None,
    /// Chunks in turn.
    Raid0,
    /// The same data on all disks.
    Raid1,
    /// Chunks in turn, with one parity chunk per stripe that rotates (left-symmetric).
    Raid5,
}

/// Which copy of a mirror serves a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MirrorReads {
    /// As in 3ware's TwinStor (Chung 2000, section 8.4). Below 256 KiB of sequential requests outstanding,
    /// reads are random, and go to the disk with the shortest queue, then to the one with the nearest head.
    /// Above that, areas alternate.
    #[default]
    TwinStor,
    /// The disks in turn.
    Plain,
}

/// How disks are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VolumeSpec {
    /// The level.
    pub raid: Raid,
    /// Contiguous bytes on a disk, above 0.
    pub chunk_bytes: u64,
    /// Bytes from the start of a chunk to the first byte of the volume.
    pub align_bytes: u64,
    /// The disk that has failed.
    pub failed: Option<u32>,
    /// Which copy serves a read.
    pub mirror_reads: MirrorReads,
    /// Whether requests wait for each other if they could see or leave half-changed copies or parity. This
    /// matters only for the content: writes to one area of a mirror, and reads that are reconstructed from
    /// parity. An array with real data needs it. Writes to a stripe with parity always wait.
    pub ordered: bool,
}

impl Raid {
    /// The words of the key and flag `raid`, each with its level.
    pub const WORDS: &[(&str, Self)] =
        &[("none", Self::None), ("0", Self::Raid0), ("1", Self::Raid1), ("5", Self::Raid5)];

    /// Its word.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, raid)| *raid == self).map_or("", |(word, _)| word)
    }
}

impl VolumeSpec {
    /// Whether the specification is valid for this number of disks.
    ///
    /// # Errors
    /// What is inconsistent, and what to set.
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
