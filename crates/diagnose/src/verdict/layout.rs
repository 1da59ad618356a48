//! How files lie on a device: compression and fragments are below the program and above the device, and no
//! counter of either shows them.

use super::facts::Segment;
use crate::words::percent;
use record::{FileLayout, format_bytes};

/// From this share of the bytes on, compression is what the files are.
const MOSTLY: f64 = 0.5;
/// Extents below this size are pieces.
const PIECES_BELOW: f64 = (1 << 20) as f64;
/// So many of a file at least: a few short ones at its ends are normal.
const PIECES_MIN: u64 = 16;
/// Requests of this share of a piece end with it; smaller ones do not care.
const AS_LARGE: f64 = 0.25;
/// From this share of sequential requests on, pieces are what a reader meets: to a random request it is all one
/// where the next piece lies.
const IN_ORDER: f64 = 0.3;

impl Segment<'_> {
    /// The layout of files that are mostly stored compressed.
    pub(super) fn compressed(&self) -> Option<&FileLayout> {
        self.layout.filter(|layout| layout.compressed_share() >= MOSTLY)
    }

    /// The layout of files in pieces, with their mean size and that of the requests, which they make as
    /// small.
    pub(super) fn in_pieces(&self) -> Option<(&FileLayout, f64, f64)> {
        let layout = self.layout.filter(|_| self.compressed().is_none())?;
        let (piece, bytes) = (layout.extent_bytes()?, self.tally.all.request_bytes()?);
        let many = layout.extents >= PIECES_MIN * u64::from(layout.files);
        (many && piece < PIECES_BELOW && bytes >= AS_LARGE * piece)
            .then_some((layout, piece, bytes))
    }

    /// The same, where requests are known to be sequential.
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

/// What compression does, in a sentence.
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
