//! Detects data on a device that may still be needed: a partition table, a file system, a part of an array
//! or a volume group, swap, encryption.
//!
//! The table lists magic numbers and their positions. The data after them is not checked, because the owner
//! of a damaged superblock may be about to repair it. Numbers of two bytes occur in random data on one
//! device in 65,536; its user then needs one `wipefs`. Sources: libblkid in util-linux (src/superblocks,
//! src/partitions) and the formats' own headers. Rejected: libblkid itself (a C library), and treating any
//! device that is not all zeros as used.

use std::io::Result;

/// A format: any of the numbers at any of the positions.
struct Format {
    /// Its name, as it follows "it bears".
    name: &'static str,
    /// Whether it is a partition table.
    table: bool,
    /// Positions in bytes from the start.
    starts: &'static [u64],
    /// Positions from the end: the size is rounded down to a multiple of the first number; the second is
    /// subtracted from that.
    ends: &'static [(u64, u64)],
    magics: &'static [&'static [u8]],
}

const fn format(
    name: &'static str,
    starts: &'static [u64],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, table: false, starts, ends: &[], magics }
}

impl Format {
    /// Adds positions from the end.
    const fn or_ends(self, ends: &'static [(u64, u64)]) -> Self {
        Self { ends, ..self }
    }

    /// Marks it as a partition table.
    const fn table(self) -> Self {
        Self { table: true, ..self }
    }

    fn positions(&self, size: u64) -> impl Iterator<Item = u64> {
        let ends = self.ends.iter();
        let ends = ends.filter_map(move |(unit, back)| (size - size % unit).checked_sub(*back));
        self.starts.iter().copied().chain(ends)
    }
}

/// The ends of the first page for every page size in use: swap's number is at the end of its page.
const PAGE_ENDS: &[u64] = &[0xff6, 0x1ff6, 0x3ff6, 0x7ff6, 0xfff6];
/// Positions of the second LUKS2 header, by the size of the first.
const LUKS2_SECOND: &[u64] =
    &[0x4000, 0x8000, 0x1_0000, 0x2_0000, 0x4_0000, 0x8_0000, 0x10_0000, 0x20_0000, 0x40_0000];

/// The known formats; specific ones come before ambiguous ones.
const FORMATS: &[Format] = &[
    format("a GUID partition table", &[512, 4096], &[b"EFI PART"]).table(),
    format("the backup of a GUID partition table", &[], &[b"EFI PART"])
        .or_ends(&[(512, 512), (4096, 4096)])
        .table(),
    // Volumes that contain others.
    format("an LVM physical volume", &[0, 512, 1024, 1536], &[b"LABELONE"]),
    format("an LVM1 physical volume", &[0], &[b"HM\x01\0", b"HM\x02\0"]),
    // Versions 1.1 and 1.2; 0.90 in the last whole 64 KiB but one; 1.0 8 KiB before the end.
    format(
        "a member of a Linux RAID array",
        &[0, 4096],
        &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
    )
    .or_ends(&[(0x1_0000, 0x1_0000), (0x1000, 0x2000)]),
    format(
        "a member of a firmware RAID array (DDF)",
        &[],
        &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
    )
    .or_ends(&[(512, 512), (512, 257 * 512)]),
    format("a member of a firmware RAID array (Intel)", &[], &[b"Intel Raid ISM Cfg Sig. "])
        .or_ends(&[(512, 1024), (4096, 8192)]),
    format("a member of a firmware RAID array (NVIDIA)", &[], &[b"NVIDIA"]).or_ends(&[(512, 1024)]),
    format("a member of a firmware RAID array (LSI)", &[], &[b"$XIDE$"]).or_ends(&[(512, 512)]),
    format("a DRBD volume", &[], &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"])
        .or_ends(&[(1, 4096 - 60)]),
    format("a LUKS encrypted volume", &[0], &[b"LUKS\xba\xbe"]),
    format("a LUKS encrypted volume (second header)", LUKS2_SECOND, &[b"SKUL\xba\xbe"]),
    format("a BitLocker encrypted volume", &[3], &[b"-FVE-FS-"]),
    format("a dm-verity hash volume", &[0], &[b"verity\0\0"]),
    format("a dm-integrity volume", &[0], &[b"integrt\0"]),
    format("a VDO volume", &[0], &[b"dmvdo001"]),
    format("a device-mapper snapshot", &[0], &[b"SnAp"]),
    format("a Stratis pool", &[512 + 4, 9 * 512 + 4], &[b"!Stra0tis\x86\xff\x02^\x41rh"]),
    format("a VMFS volume", &[0x10_0000], &[b"\x0d\xd0\x01\xc0"]),
    format("a VMFS file system", &[0x20_0000], &[b"\x5e\xf1\xab\x2f"]),
    format("an Oracle ASM disk", &[32], &[b"ORCLDISK"]),
    format("a Ceph OSD disk (BlueStore)", &[0], &[b"bluestore block device"]),
    format(
        "a bcache device",
        &[4096 + 24],
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
    ),
    format("swap space", PAGE_ENDS, &[b"SWAPSPACE2", b"SWAP-SPACE"]),
    format(
        "a hibernation image",
        PAGE_ENDS,
        &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"],
    ),
    // File systems.
    format("an ext2, ext3 or ext4 file system", &[1024 + 56], &[b"\x53\xef"]),
    format("an XFS file system", &[0], &[b"XFSB"]),
    format("the log of an XFS file system", &[0], &[b"\xfe\xed\xba\xbe"]),
    format("a btrfs file system", &[0x1_0000 + 64], &[b"_BHRfS_M"]),
    format(
        "a bcachefs file system",
        &[4096 + 24],
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
    ),
    format("an F2FS file system", &[1024], &[b"\x10\x20\xf5\xf2"]),
    format("a NILFS2 file system", &[1024], &[b"\x02\0\0\0\0\0\x34\x34"]),
    format(
        "a ReiserFS file system",
        &[0x2000 + 52, 0x1_0000 + 52, 0x1_0000],
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs", b"ReIsEr4"],
    ),
    format("a JFS file system", &[0x8000], &[b"JFS1"]),
    format("an NTFS file system", &[3], &[b"NTFS    "]),
    format("an exFAT file system", &[3], &[b"EXFAT   "]),
    format("a ReFS file system", &[3], &[b"ReFS\0\0\0\0"]),
    format("a FAT file system", &[82], &[b"FAT32   ", b"MSWIN"]),
    format("a FAT file system", &[54], &[b"FAT12   ", b"FAT16   ", b"FAT     "]),
    format("an HFS file system", &[1024], &[b"H+\0\x04", b"HX\0\x05", b"BD"]),
    format("an APFS container", &[32], &[b"NXSB"]),
    format(
        "a UFS file system",
        // Superblocks at 0, 8, 64 and 256 KiB.
        &[1372, 0x2000 + 1372, 0x1_0000 + 1372, 0x4_0000 + 1372],
        &[b"\x54\x19\x01\0", b"\0\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
    ),
    format("an ISO 9660 file system", &[0x8000 + 1], &[b"CD001"]),
    format("a UDF file system", &[0x8000 + 1, 0x8800 + 1], &[b"BEA01", b"NSR02", b"NSR03"]),
    format("a SquashFS image", &[0], &[b"hsqs", b"sqsh"]),
    format("an EROFS image", &[1024], &[b"\xe2\xe1\xf5\xe0"]),
    format("a cramfs image", &[0], &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"]),
    format("a romfs image", &[0], &[b"-rom1fs-"]),
    format("an OCFS2 file system", &[1024, 2048, 4096, 8192], &[b"OCFSV2"]),
    format("an OCFS file system", &[8192], &[b"OracleCFS"]),
    format("a GFS or GFS2 file system", &[0x1_0000], &[b"\x01\x16\x19\x70"]),
    format("a VxFS file system", &[1024], &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"]),
    format("a BeFS file system", &[32, 544], &[b"BFS1", b"1SFB"]),
    format(
        "a Minix file system",
        &[1024 + 16],
        &[b"\x7f\x13\x01\0", b"\x8f\x13\x01\0", b"\x68\x24\x01\0", b"\x78\x24\x01\0"],
    ),
    // Tables whose numbers are short, or also occur in boot sectors of file systems.
    format("a Sun partition table", &[508], &[b"\xda\xbe"]).table(),
    format("an SGI partition table", &[0], &[b"\x0b\xe5\xa9\x41"]).table(),
    format("a BSD disk label", &[0, 512], &[b"\x57\x45\x56\x82"]).table(),
    format("an Apple partition map", &[512, 2048, 4096], &[b"PM\0\0"]).table(),
    format("a Windows dynamic disk (LDM)", &[6 * 512], &[b"PRIVHEAD"]).table(),
    format("an MBR partition table or another boot sector", &[510], &[b"\x55\xaa"]).table(),
];

/// The longest number in the table.
const LONGEST: usize = 24;

/// Length of a ZFS label; a device has two at its start and two at its end.
const ZFS_LABEL: u64 = 256 << 10;
/// The second half of a label is a ring of blocks that each begin with the number, 1 KiB or more apart (ZFS
/// On-Disk Specification, 1.3).
const ZFS_RING: u64 = 128 << 10;
const ZFS_STEP: usize = 1024;
/// In both byte orders.
const ZFS_MAGICS: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];
/// The smallest device that ZFS accepts.
const ZFS_LEAST: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// Its name, as it follows "it bears".
    pub(crate) name: &'static str,
    /// Position of its number, in bytes.
    pub(crate) at: u64,
}

/// Fills a whole buffer from a position.
type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> Result<()> + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    All,
    /// Everything except partition tables.
    NoTables,
}

/// The first signature found on a device of `size` bytes.
///
/// # Errors
/// The error of `read`: a device that cannot be read may not be empty.
pub(crate) fn find(size: u64, looked: Looked, read: &mut ReadAt<'_>) -> Result<Option<Signature>> {
    for format in FORMATS.iter().filter(|format| looked == Looked::All || !format.table) {
        for at in format.positions(size) {
            for magic in format.magics.iter().filter(|magic| at + magic.len() as u64 <= size) {
                let mut buffer = [0; LONGEST];
                let found = &mut buffer[..magic.len()];
                read(at, found)?;
                if found == *magic {
                    return Ok(Some(Signature { name: format.name, at }));
                }
            }
        }
    }
    find_zfs(size, read)
}

/// A ZFS pool writes its ring in turn, so the number can be at any position in it.
fn find_zfs(size: u64, read: &mut ReadAt<'_>) -> Result<Option<Signature>> {
    if size < ZFS_LEAST {
        return Ok(None);
    }
    let end = size - size % ZFS_LABEL;
    let mut ring = vec![0; ZFS_RING as usize];
    for label in [0, ZFS_LABEL, end - 2 * ZFS_LABEL, end - ZFS_LABEL] {
        let start = label + ZFS_LABEL - ZFS_RING;
        read(start, &mut ring)?;
        for (index, block) in ring.chunks_exact(ZFS_STEP).enumerate() {
            if ZFS_MAGICS.iter().any(|magic| block.starts_with(magic)) {
                let at = start + (index * ZFS_STEP) as u64;
                return Ok(Some(Signature { name: "a member of a ZFS pool", at }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::SplitMix64;

    const SIZE: u64 = 64 << 20;

    /// What is found on a device with these bytes at this position and zeros elsewhere.
    fn on(size: u64, at: u64, bytes: &[u8]) -> Option<Signature> {
        looking(Looked::All, size, at, bytes)
    }

    fn looking(looked: Looked, size: u64, at: u64, bytes: &[u8]) -> Option<Signature> {
        let mut read = |from: u64, buffer: &mut [u8]| {
            assert!(from + buffer.len() as u64 <= size, "a read past the end");
            for (index, byte) in buffer.iter_mut().enumerate() {
                let place = (from + index as u64).checked_sub(at);
                *byte = place.and_then(|place| bytes.get(place as usize)).copied().unwrap_or(0);
            }
            Ok(())
        };
        find(size, looked, &mut read).unwrap()
    }

    #[test]
    fn every_number_of_the_table_is_found_in_every_place_of_it() {
        for format in FORMATS {
            assert!(format.positions(SIZE).count() > 0, "{}", format.name);
            for at in format.positions(SIZE) {
                for magic in format.magics {
                    assert!(magic.len() <= LONGEST);
                    let found = on(SIZE, at, magic).unwrap();
                    assert_eq!(found.at, at, "{}", format.name);
                    assert_eq!(found.name, format.name);
                    let other = looking(Looked::NoTables, SIZE, at, magic);
                    assert_eq!(other.is_none(), format.table, "{}", format.name);
                }
            }
        }
    }

    #[test]
    fn a_blank_device_of_any_size_bears_nothing() {
        for size in [0, 1, 511, 512, 4096, 65_535, 1 << 20, SIZE, SIZE + 512] {
            assert_eq!(on(size, 0, &[]), None, "{size}");
        }
    }

    #[test]
    fn random_data_bears_nothing() {
        let mut random = SplitMix64::new(7);
        let bytes: Vec<u8> = (0..1 << 20).map(|_| random.next_u64() as u8).collect();
        assert_eq!(on(1 << 20, 0, &bytes), None);
    }

    #[test]
    fn the_end_of_a_device_is_where_its_whole_sectors_end() {
        let backup = |size: u64, at: u64| on(size, at, b"EFI PART").map(|found| found.name);
        let name = Some("the backup of a GUID partition table");
        assert_eq!(backup(SIZE, SIZE - 512), name);
        assert_eq!(backup(SIZE + 512, SIZE), name);
        assert_eq!(backup(SIZE, SIZE - 1024), None);
        // Version 0.90 of md: the last whole 64 KiB but one.
        let member = on(SIZE + 1000, SIZE - 0x1_0000, b"\xfc\x4e\x2b\xa9").unwrap();
        assert_eq!(member.name, "a member of a Linux RAID array");
    }

    #[test]
    fn a_pool_of_zfs_is_found_wherever_its_ring_stands() {
        for label in [0, ZFS_LABEL, SIZE - 2 * ZFS_LABEL, SIZE - ZFS_LABEL] {
            for slot in [0, 4, 127] {
                let at = label + ZFS_RING + slot * ZFS_STEP as u64;
                for magic in ZFS_MAGICS {
                    assert_eq!(on(SIZE, at, &magic).unwrap().name, "a member of a ZFS pool");
                }
            }
        }
    }

    #[test]
    fn a_device_that_cannot_be_read_is_not_called_blank() {
        let mut broken = |_: u64, _: &mut [u8]| Err(std::io::ErrorKind::Other.into());
        assert!(find(SIZE, Looked::All, &mut broken).is_err());
    }
}
