//! Examines the layout of files on a device. Compression and fragmentation are below the program
//! and above the device, and the counters of neither show them.

use super::facts::Segment;
use crate::words::percent;
use record::{FileLayout, format_bytes};

/// Share of compressed bytes from which files count as compressed.
const MOSTLY: f64 = 0.5;
/// Extents below this size count as fragments.
const PIECES_BELOW: f64 = (1 << 20) as f64;
/// Fewest extents per file that count: a few short ones at the ends of a file are normal.
const PIECES_MIN: u64 = 16;
/// Request size as a share of the extent from which fragmentation matters; smaller requests are unaffected.
const AS_LARGE: f64 = 0.25;
/// Largest request size as a share of the extent. A request does not cross the end of an extent, so larger
/// requests are for other files than these.
const LARGER: f64 = 2.0;
/// Sequential share from which fragmentation matters to a reader. Random requests do not depend on
/// where the next extent is.
const IN_ORDER: f64 = 0.3;

impl Segment<'_> {
    /// The layout of files that are mostly compressed.
    pub(super) fn compressed(&self) -> Option<&FileLayout> {
        self.layout.filter(|layout| layout.compressed_share() >= MOSTLY)
    }

    /// The layout of fragmented files, with their mean extent and the mean request size, which
    /// fragmentation limits.
    pub(super) fn in_pieces(&self) -> Option<(&FileLayout, f64, f64)> {
        let layout = self.layout.filter(|_| self.compressed().is_none())?;
        let (piece, bytes) = (layout.extent_bytes()?, self.tally.all.request_bytes()?);
        let many = layout.extents >= PIECES_MIN * u64::from(layout.files);
        let alike = (AS_LARGE * piece..=LARGER * piece).contains(&bytes);
        (many && piece < PIECES_BELOW && alike).then_some((layout, piece, bytes))
    }

    /// The same if requests are known to be sequential.
    pub(super) fn scattered(&self) -> Option<(&FileLayout, f64, f64)> {
        self.known.sequential.filter(|share| *share >= IN_ORDER)?;
        self.in_pieces()
    }
}

/// `the 8 largest files`.
pub(super) fn files(layout: &FileLayout) -> String {
    match layout.files {
        1 => "the file".to_owned(),
        count => format!("the {count} largest files"),
    }
}

/// The effect of compression, in a sentence.
pub(super) fn compression(layout: &FileLayout) -> String {
    let extent = layout.extent_bytes().unwrap_or(0.0);
    format!(
        "{} of {} is compressed, in extents of {} on average: each extent is read or written as a \
         whole, which costs CPU time.",
        percent(layout.compressed_share()),
        files(layout),
        format_bytes(extent as u64)
    )
}
