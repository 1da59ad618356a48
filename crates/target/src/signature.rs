//! Whether a device bears something that somebody may still need: a partition table, a file system,
//! a part of an array or a volume group, swap, encryption.
//!
//! The table lists magic numbers and where they stand; nothing is computed from what follows them,
//! because the owner of a damaged superblock may be about to repair it. Numbers of two bytes turn
//! up in random data once in 65,536 devices, and then cost their user one `wipefs`. Sources:
//! libblkid in util-linux (src/superblocks, src/partitions) and the formats' own headers. Rejected:
//! libblkid itself (a C library), and calling any device that is not all zeros used.

use rustix::io::Errno;

#[derive(Clone, Copy, Debug)]
enum Place {
    /// Bytes from the start.
    Start(u64),
    /// The size is rounded down to a multiple of `unit`; from there so many bytes back.
    End {
        /// What the size is rounded down to.
        unit: u64,
        /// Bytes back.
        back: u64,
    },
}

impl Place {
    /// The position on a device of this size; `None` where the device is too small for it.
    fn position(self, size: u64, length: u64) -> Option<u64> {
        let at = match self {
            Self::Start(at) => at,
            Self::End { unit, back } => (size - size % unit).checked_sub(back)?,
        };
        (at.checked_add(length)? <= size).then_some(at)
    }
}

/// What is looked for: any of the numbers at any of the places.
struct Format {
    /// After "it bears".
    name: &'static str,
    table: bool,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
}

/// Something other than a table of partitions.
const fn format(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, table: false, places, magics }
}

/// A table of partitions.
const fn table(
    name: &'static str,
    places: &'static [Place],
    magics: &'static [&'static [u8]],
) -> Format {
    Format { name, table: true, places, magics }
}

use Place::{End, Start};

/// The last sector, of 512 and of 4096 bytes.
const LAST_SECTOR: &[Place] = &[End { unit: 512, back: 512 }, End { unit: 4096, back: 4096 }];
/// The ends of the first page for every page size in use: swap's number is the last of its page.
const PAGE_ENDS: &[Place] =
    &[Start(0xff6), Start(0x1ff6), Start(0x3ff6), Start(0x7ff6), Start(0xfff6)];
/// Superblocks of UFS at 0, 8, 64 and 256 KiB, the number at 1372.
const UFS: &[Place] =
    &[Start(1372), Start(0x2000 + 1372), Start(0x10000 + 1372), Start(0x40000 + 1372)];
/// Where LUKS2 keeps its second header, by the size of the first.
const LUKS2_SECOND: &[Place] = &[
    Start(0x4000),
    Start(0x8000),
    Start(0x10000),
    Start(0x20000),
    Start(0x40000),
    Start(0x8_0000),
    Start(0x10_0000),
    Start(0x20_0000),
    Start(0x40_0000),
];

/// What is known, the particular before what could be many things.
const FORMATS: &[Format] = &[
    table("a GUID partition table", &[Start(512), Start(4096)], &[b"EFI PART"]),
    table("the backup of a GUID partition table", LAST_SECTOR, &[b"EFI PART"]),
    // Volumes that hold others.
    format(
        "an LVM physical volume",
        &[Start(0), Start(512), Start(1024), Start(1536)],
        &[b"LABELONE"],
    ),
    format("an LVM1 physical volume", &[Start(0)], &[b"HM\x01\0", b"HM\x02\0"]),
    format(
        "a member of a Linux RAID array",
        &[
            // Versions 1.1 and 1.2; 0.90 in the last whole 64 KiB but one; 1.0 8 KiB before the
            // end.
            Start(0),
            Start(4096),
            End { unit: 0x1_0000, back: 0x1_0000 },
            End { unit: 0x1000, back: 0x2000 },
        ],
        &[b"\xfc\x4e\x2b\xa9", b"\xa9\x2b\x4e\xfc"],
    ),
    format(
        "a member of a firmware RAID array (DDF)",
        &[End { unit: 512, back: 512 }, End { unit: 512, back: 257 * 512 }],
        &[b"\xde\x11\xde\x11", b"\x11\xde\x11\xde"],
    ),
    format(
        "a member of a firmware RAID array (Intel)",
        &[End { unit: 512, back: 1024 }, End { unit: 4096, back: 8192 }],
        &[b"Intel Raid ISM Cfg Sig. "],
    ),
    format(
        "a member of a firmware RAID array (NVIDIA)",
        &[End { unit: 512, back: 1024 }],
        &[b"NVIDIA"],
    ),
    format(
        "a member of a firmware RAID array (LSI)",
        &[End { unit: 512, back: 512 }],
        &[b"$XIDE$"],
    ),
    format(
        "a DRBD volume",
        &[End { unit: 1, back: 4096 - 60 }],
        &[b"\x83\x74\x02\x6b", b"\x83\x74\x02\x6c", b"\x83\x74\x02\x6d"],
    ),
    format("a LUKS encrypted volume", &[Start(0)], &[b"LUKS\xba\xbe"]),
    format("a LUKS encrypted volume (second header)", LUKS2_SECOND, &[b"SKUL\xba\xbe"]),
    format("a BitLocker encrypted volume", &[Start(3)], &[b"-FVE-FS-"]),
    format("a dm-verity hash volume", &[Start(0)], &[b"verity\0\0"]),
    format("a dm-integrity volume", &[Start(0)], &[b"integrt\0"]),
    format("a VDO volume", &[Start(0)], &[b"dmvdo001"]),
    format("a device-mapper snapshot", &[Start(0)], &[b"SnAp"]),
    format(
        "a Stratis pool",
        &[Start(512 + 4), Start(9 * 512 + 4)],
        &[b"!Stra0tis\x86\xff\x02^\x41rh"],
    ),
    format("a VMFS volume", &[Start(0x10_0000)], &[b"\x0d\xd0\x01\xc0"]),
    format("a VMFS file system", &[Start(0x20_0000)], &[b"\x5e\xf1\xab\x2f"]),
    format("a disk of Oracle ASM", &[Start(32)], &[b"ORCLDISK"]),
    format("a disk of Ceph (BlueStore)", &[Start(0)], &[b"bluestore block device"]),
    format(
        "a bcache device",
        &[Start(4096 + 24)],
        &[b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"],
    ),
    format("swap space", PAGE_ENDS, &[b"SWAPSPACE2", b"SWAP-SPACE"]),
    format(
        "the image of a sleeping system",
        PAGE_ENDS,
        &[b"S1SUSPEND", b"S2SUSPEND", b"ULSUSPEND", b"LINHIB0001"],
    ),
    // File systems.
    format("an ext2, ext3 or ext4 file system", &[Start(1024 + 56)], &[b"\x53\xef"]),
    format("an XFS file system", &[Start(0)], &[b"XFSB"]),
    format("the log of an XFS file system", &[Start(0)], &[b"\xfe\xed\xba\xbe"]),
    format("a btrfs file system", &[Start(0x1_0000 + 64)], &[b"_BHRfS_M"]),
    format(
        "a bcachefs file system",
        &[Start(4096 + 24)],
        &[b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"],
    ),
    format("an F2FS file system", &[Start(1024)], &[b"\x10\x20\xf5\xf2"]),
    format("a NILFS2 file system", &[Start(1024)], &[b"\x02\0\0\0\0\0\x34\x34"]),
    format(
        "a ReiserFS file system",
        &[Start(0x2000 + 52), Start(0x1_0000 + 52), Start(0x1_0000)],
        &[b"ReIsErFs", b"ReIsEr2Fs", b"ReIsEr3Fs", b"ReIsEr4"],
    ),
    format("a JFS file system", &[Start(0x8000)], &[b"JFS1"]),
    format("an NTFS file system", &[Start(3)], &[b"NTFS    "]),
    format("an exFAT file system", &[Start(3)], &[b"EXFAT   "]),
    format("a ReFS file system", &[Start(3)], &[b"ReFS\0\0\0\0"]),
    format("a FAT file system", &[Start(82)], &[b"FAT32   ", b"MSWIN"]),
    format("a FAT file system", &[Start(54)], &[b"FAT12   ", b"FAT16   ", b"FAT     "]),
    format("an HFS file system", &[Start(1024)], &[b"H+\0\x04", b"HX\0\x05", b"BD"]),
    format("an APFS container", &[Start(32)], &[b"NXSB"]),
    format(
        "a UFS file system",
        UFS,
        &[b"\x54\x19\x01\0", b"\0\x01\x19\x54", b"\x19\x01\x54\x19", b"\x19\x54\x01\x19"],
    ),
    format("an ISO 9660 file system", &[Start(0x8000 + 1)], &[b"CD001"]),
    format(
        "a UDF file system",
        &[Start(0x8000 + 1), Start(0x8800 + 1)],
        &[b"BEA01", b"NSR02", b"NSR03"],
    ),
    format("a SquashFS image", &[Start(0)], &[b"hsqs", b"sqsh"]),
    format("an EROFS image", &[Start(1024)], &[b"\xe2\xe1\xf5\xe0"]),
    format("a cramfs image", &[Start(0)], &[b"\x45\x3d\xcd\x28", b"\x28\xcd\x3d\x45"]),
    format("a romfs image", &[Start(0)], &[b"-rom1fs-"]),
    format(
        "an OCFS2 file system",
        &[Start(1024), Start(2048), Start(4096), Start(8192)],
        &[b"OCFSV2"],
    ),
    format("an OCFS file system", &[Start(8192)], &[b"OracleCFS"]),
    format("a GFS or GFS2 file system", &[Start(0x1_0000)], &[b"\x01\x16\x19\x70"]),
    format("a VxFS file system", &[Start(1024)], &[b"\xf5\xfc\x01\xa5", b"\xa5\x01\xfc\xf5"]),
    format("a BeFS file system", &[Start(32), Start(544)], &[b"BFS1", b"1SFB"]),
    format(
        "a Minix file system",
        &[Start(1024 + 16)],
        &[b"\x7f\x13\x01\0", b"\x8f\x13\x01\0", b"\x68\x24\x01\0", b"\x78\x24\x01\0"],
    ),
    // Tables whose numbers are short, or are also in boot sectors of file systems.
    table("a Sun partition table", &[Start(508)], &[b"\xda\xbe"]),
    table("an SGI partition table", &[Start(0)], &[b"\x0b\xe5\xa9\x41"]),
    table("a BSD disk label", &[Start(0), Start(512)], &[b"\x57\x45\x56\x82"]),
    table("an Apple partition map", &[Start(512), Start(2048), Start(4096)], &[b"PM\0\0"]),
    table("a Windows dynamic disk (LDM)", &[Start(6 * 512)], &[b"PRIVHEAD"]),
    table("an MBR partition table or another boot sector", &[Start(510)], &[b"\x55\xaa"]),
];

/// The longest number of the table.
const LONGEST: usize = 24;

/// Length of a label of ZFS, of which a device has two at its start and two at its end.
const ZFS_LABEL: u64 = 256 << 10;
/// The second half of a label is a ring of blocks that each begin with the number, 1 KiB or more
/// apart (ZFS On-Disk Specification, 1.3).
const ZFS_RING: u64 = 128 << 10;
const ZFS_STEP: usize = 1024;
/// In both orders of bytes.
const ZFS_MAGICS: [[u8; 8]; 2] = [0x00ba_b10c_u64.to_le_bytes(), 0x00ba_b10c_u64.to_be_bytes()];
/// The smallest device that ZFS takes.
const ZFS_LEAST: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    /// After "it bears".
    pub(crate) name: &'static str,
    /// Where its number stands, in bytes.
    pub(crate) at: u64,
}

/// Fills a buffer from a position on, wholly.
type ReadAt<'a> = dyn FnMut(u64, &mut [u8]) -> Result<(), Errno> + 'a;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// Everything.
    All,
    /// Everything but tables of partitions.
    NoTables,
}

/// The first signature that is found on a device of `size` bytes.
///
/// # Errors
/// What `read` says: a device that cannot be read is not known to be empty.
pub(crate) fn find(
    size: u64,
    looked: Looked,
    read: &mut ReadAt<'_>,
) -> Result<Option<Signature>, Errno> {
    for format in FORMATS.iter().filter(|format| looked == Looked::All || !format.table) {
        for place in format.places {
            for magic in format.magics {
                let Some(at) = place.position(size, magic.len() as u64) else { continue };
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

/// A pool of ZFS writes its ring in turn, so that the number can be in any place of it.
fn find_zfs(size: u64, read: &mut ReadAt<'_>) -> Result<Option<Signature>, Errno> {
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
                return Ok(Some(Signature { name: "a disk of a ZFS pool", at }));
            }
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: u64 = 64 << 20;

    /// What is found on a device that holds these bytes there and zeros elsewhere.
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
            for place in format.places {
                for magic in format.magics {
                    assert!(magic.len() <= LONGEST);
                    let at = place.position(SIZE, magic.len() as u64).unwrap();
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
        let mut state = 7u64;
        let bytes: Vec<u8> = (0..1 << 20)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        assert_eq!(on(1 << 20, 0, &bytes), None);
    }

    #[test]
    fn the_end_of_a_device_is_where_its_whole_sectors_end() {
        let backup = |size: u64, at: u64| on(size, at, b"EFI PART").map(|found| found.name);
        let name = Some("the backup of a GUID partition table");
        assert_eq!(backup(SIZE, SIZE - 512), name);
        assert_eq!(backup(SIZE + 512, SIZE), name);
        assert_eq!(backup(SIZE, SIZE - 1024), None);
        // Version 0.90 of md: the last 64 KiB that are whole, but one.
        let member = on(SIZE + 1000, SIZE - 0x1_0000, b"\xfc\x4e\x2b\xa9").unwrap();
        assert_eq!(member.name, "a member of a Linux RAID array");
    }

    #[test]
    fn a_pool_of_zfs_is_found_wherever_its_ring_stands() {
        for label in [0, ZFS_LABEL, SIZE - 2 * ZFS_LABEL, SIZE - ZFS_LABEL] {
            for slot in [0, 4, 127] {
                let at = label + ZFS_RING + slot * ZFS_STEP as u64;
                for magic in ZFS_MAGICS {
                    assert_eq!(on(SIZE, at, &magic).unwrap().name, "a disk of a ZFS pool");
                }
            }
        }
    }

    #[test]
    fn a_device_that_cannot_be_read_is_not_called_blank() {
        let mut broken = |_: u64, _: &mut [u8]| Err(Errno::IO);
        assert_eq!(find(SIZE, Looked::All, &mut broken), Err(Errno::IO));
    }
}
