//! Finds where a file is placed on its device (FIEMAP), and how much of it reads as zeros from memory.
//!
//! A hole or an allocated but unwritten extent is read at memory speed, and two files of the same size can
//! be on different parts of a disk. Both must be known before numbers are trusted or compared. The map is
//! hashed, so that later comparisons can detect equal placement without storing thousands of extents.
//! Rejected: SEEK_HOLE, which does not show unwritten extents. Source: Documentation/filesystems/fiemap.rst
//! of the kernel.

use crate::target::error::TargetError;
use crate::target::linux::unsafe_calls::{FiemapExtent, fiemap_page};
use record::{Bytes, Extents, hex_digest};
use rustix::fd::{AsFd, AsRawFd};
use rustix::io::Errno;
use std::fmt::Write;
use std::path::Path;

/// The last extent of the file.
const FLAG_LAST: u32 = 0x1;
/// Stored in another form: compressed, or in some file systems encrypted.
const FLAG_ENCODED: u32 = 0x8;
/// Encrypted: as long as the data itself.
const FLAG_ENCRYPTED: u32 = 0x80;
/// Allocated, never written.
const FLAG_UNWRITTEN: u32 = 0x800;

/// The placement of `length` bytes of an open file from `offset` on.
///
/// `None` if the file system has no such map (tmpfs, NFS, a block device).
///
/// # Errors
/// If the map exists and cannot be read.
pub fn extents(
    file: impl AsFd,
    offset: Bytes,
    length: Bytes,
) -> Result<Option<Extents>, TargetError> {
    mapped(file, (offset, length), true)
}

/// As [`extents`]. Without `sync`, only data already on the device is covered, and nothing is written.
pub(crate) fn mapped(
    file: impl AsFd,
    (offset, length): (Bytes, Bytes),
    sync: bool,
) -> Result<Option<Extents>, TargetError> {
    let map = map_of(file, (offset, length), sync)?;
    Ok(map.map(|map| summarise(&map, offset.0, offset.0.saturating_add(length.0))))
}

fn map_of(
    file: impl AsFd,
    (offset, length): (Bytes, Bytes),
    sync: bool,
) -> Result<Option<Vec<FiemapExtent>>, TargetError> {
    let area_end = offset.0.saturating_add(length.0);
    let mut map = Vec::new();
    let mut position = offset.0;
    while position < area_end {
        let page = match fiemap_page(&file, position, area_end - position, sync) {
            Ok(page) => page,
            // Each file system has its own error for a missing map.
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::INVAL | Errno::NOSYS | Errno::BADF) => {
                return Ok(None);
            }
            Err(cause) => {
                let path = format!("/proc/self/fd/{}", file.as_fd().as_raw_fd());
                return Err(TargetError::system("read the extents of", Path::new(&path), cause));
            }
        };
        let Some(last) = page.last().copied() else { break };
        map.extend(page);
        let end = last.logical.saturating_add(last.length);
        // A response that does not advance would be requested again forever.
        if last.flags & FLAG_LAST != 0 || end <= position {
            break;
        }
        position = end;
    }
    Ok(Some(map))
}

/// Computes counts, ends, gaps and hash of a map, in the order of the file.
fn summarise(map: &[FiemapExtent], area_start: u64, area_end: u64) -> Extents {
    let mut covered = 0;
    let mut unwritten = 0;
    let mut compressed = 0;
    let mut reached = area_start;
    let mut text = String::new();
    for extent in map {
        // The first and the last extent can extend beyond the area; a later one can repeat a part.
        let start = extent.logical.clamp(reached, area_end.max(reached));
        let end = extent.logical.saturating_add(extent.length).min(area_end).max(start);
        covered += end - start;
        if extent.flags & FLAG_UNWRITTEN != 0 {
            unwritten += end - start;
        }
        if extent.flags & (FLAG_ENCODED | FLAG_ENCRYPTED) == FLAG_ENCODED {
            compressed += end - start;
        }
        reached = end;
        let kind = extent.flags & FLAG_UNWRITTEN;
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {} {} {kind};", extent.logical, extent.physical, extent.length);
    }
    let physical_end = map.last().map_or(0, |last| last.physical.saturating_add(last.length));
    Extents {
        count: map.len() as u64,
        first_physical_bytes: Bytes(map.first().map_or(0, |first| first.physical)),
        last_physical_bytes: Bytes(physical_end),
        hole_bytes: Bytes((area_end - area_start).saturating_sub(covered)),
        unwritten_bytes: Bytes(unwritten),
        compressed_bytes: Bytes(compressed),
        map_hash: hex_digest(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::findings::placement_findings;
    use record::{FindingCode, Severity};

    fn extent(logical: u64, physical: u64, length: u64, flags: u32) -> FiemapExtent {
        FiemapExtent { logical, physical, length, flags, ..FiemapExtent::default() }
    }

    #[test]
    fn holes_and_unwritten_bytes_are_counted_within_the_area() {
        let map = [
            extent(4096, 1 << 20, 4096, 0),
            extent(16_384, 2 << 20, 8192, FLAG_UNWRITTEN),
            extent(24_576, 3 << 20, 1 << 20, FLAG_LAST),
        ];
        let summary = summarise(&map, 0, 32_768);
        assert_eq!(summary.count, 3);
        assert_eq!(summary.hole_bytes, Bytes(4096 + 8192));
        assert_eq!(summary.unwritten_bytes, Bytes(8192));
        assert_eq!(summary.first_physical_bytes, Bytes(1 << 20));
        assert_eq!(summary.last_physical_bytes, Bytes(4 << 20));
    }

    #[test]
    fn an_area_in_the_middle_is_judged_by_what_lies_in_it() {
        let map = [extent(0, 1 << 20, 8192, 0), extent(16_384, 2 << 20, 8192, FLAG_UNWRITTEN)];
        let of = |start, end| {
            let summary = summarise(&map, start, end);
            (summary.hole_bytes.0, summary.unwritten_bytes.0)
        };
        assert_eq!(of(0, 8192), (0, 0));
        assert_eq!(of(4096, 12_288), (4096, 0));
        assert_eq!(of(20_480, 28_672), (4096, 4096));
    }

    #[test]
    fn the_hash_follows_the_placement_and_nothing_else() {
        let here = summarise(&[extent(0, 8192, 4096, FLAG_LAST)], 0, 4096);
        let again = summarise(&[extent(0, 8192, 4096, 0)], 0, 4096);
        let there = summarise(&[extent(0, 4096, 4096, FLAG_LAST)], 0, 4096);
        assert_eq!(here.map_hash, again.map_hash);
        assert_ne!(here.map_hash, there.map_hash);
    }

    #[test]
    fn an_empty_map_is_one_hole() {
        let summary = summarise(&[], 0, 4096);
        assert_eq!((summary.count, summary.hole_bytes), (0, Bytes(4096)));
        let found = placement_findings(&summary, Bytes(4096), Severity::Invalid);
        assert_eq!(found[0].code, FindingCode::UnwrittenExtents);
        assert_eq!(found[0].severity, Severity::Invalid);
    }

    #[test]
    fn a_full_map_in_large_pieces_is_no_finding_and_one_in_small_pieces_is() {
        let map = |piece: u64| -> Vec<FiemapExtent> {
            (0..32).map(|index| extent(index * piece, (64 - index) * piece, piece, 0)).collect()
        };
        let found = |piece: u64| {
            placement_findings(
                &summarise(&map(piece), 0, 32 * piece),
                Bytes(32 * piece),
                Severity::Invalid,
            )
        };
        assert_eq!(found(2 << 20), []);
        let codes: Vec<FindingCode> = found(4096).iter().map(|finding| finding.code).collect();
        assert_eq!(codes, [FindingCode::Fragmented]);
    }
}
