//! Combines several files into one: RAID 0 in software.
//!
//! A request becomes one transfer per chunk that it touches, all in flight at once. It completes with the
//! last of them. Its outcome is what a single device would return: the first error in the order of offsets,
//! otherwise the bytes up to the first gap. A transfer's tag is its slot times the maximum number of pieces
//! of a request, plus the piece. All memory is allocated at the opening.
//!
//! Rejected: an engine per file in one job (a job can wait in only one system call), and vectored transfers
//! of chunks that are adjacent in a file (one completion would represent several pieces).

use crate::{
    Completion, Direct, Engine, EngineError, OpenEngine, Setup, Submission, Transfer, Transport,
    Wait, platform,
};
use record::FlushKind;

/// The position of a byte of the striped area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StripePlace {
    /// Index of the file.
    pub file: u32,
    /// Offset in it, in bytes.
    pub offset: u64,
    /// Bytes from there to the end of the chunk.
    pub left: u32,
}

/// Layout of chunks that rotate over the files.
#[derive(Clone, Copy, Debug)]
pub struct StripeLayout {
    chunk_bytes: u64,
    /// The exponent if the chunk size is a power of two, as almost always.
    shift: Option<u32>,
    files: u64,
    /// 2^64 / files, rounded up. A multiplication by it divides chunk numbers below 2^32 exactly (Granlund
    /// and Montgomery 1994).
    reciprocal: u64,
}

impl StripeLayout {
    /// A layout over `files` files, at least 1, in chunks of `chunk_bytes`, at least 1.
    #[must_use]
    pub fn new(chunk_bytes: u32, files: usize) -> Self {
        let power = chunk_bytes.is_power_of_two();
        Self {
            chunk_bytes: u64::from(chunk_bytes),
            shift: power.then(|| chunk_bytes.trailing_zeros()),
            files: files as u64,
            reciprocal: if files < 2 { 0 } else { u64::MAX / files as u64 + 1 },
        }
    }

    /// The position of the byte at `offset` in the area.
    #[inline]
    #[must_use]
    pub fn place(&self, offset: u64) -> StripePlace {
        let chunk = match self.shift {
            Some(shift) => offset >> shift,
            None => offset / self.chunk_bytes,
        };
        let within = offset - chunk * self.chunk_bytes;
        let row = if self.files == 1 {
            chunk
        } else if chunk <= u64::from(u32::MAX) {
            ((u128::from(chunk) * u128::from(self.reciprocal)) >> 64) as u64
        } else {
            chunk / self.files
        };
        StripePlace {
            file: (chunk - row * self.files) as u32,
            offset: row * self.chunk_bytes + within,
            left: (self.chunk_bytes - within) as u32,
        }
    }
}

/// Progress of a request that was split into pieces.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    pieces: u32,
    outstanding: u32,
}

#[derive(Clone, Copy, Debug, Default)]
struct Piece {
    bytes: i32,
    outcome: i32,
}

/// An engine that combines all files of its setup into one.
#[derive(Debug)]
pub struct Striped<T: Transport> {
    direct: Direct<T>,
    layout: StripeLayout,
    /// Maximum pieces of a request.
    pieces_max: u32,
    /// Indexed by slot.
    wholes: Vec<Whole>,
    /// Indexed by tag.
    pieces: Vec<Piece>,
    transfers_in_flight: u32,
    done: Vec<Completion>,
    /// Completed requests that have not been fetched yet.
    ready: Vec<Completion>,
}

impl<T: Transport> OpenEngine for Striped<T> {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        let chunk_bytes = setup.stripe_bytes.unwrap_or(0);
        if chunk_bytes == 0 || setup.files.is_empty() {
            return Err(EngineError::Unavailable {
                engine: "a stripe",
                cause: format!("{} targets in chunks of {chunk_bytes} bytes", setup.files.len()),
                errno: platform::INVALID,
                remedy: "name several targets, and add --chunk 64k",
            });
        }
        // A request that starts at a chunk's last byte touches one chunk more than its length suggests.
        let most_chunks = setup.max_bytes.saturating_sub(1) / chunk_bytes + 2;
        // A flush has one piece per file.
        let files = if setup.flushes.is_some() { setup.files.len() as u32 } else { 0 };
        let pieces_max = most_chunks.max(files);
        let depth = setup.depth.max(1);
        let most = depth.saturating_mul(pieces_max);
        Ok(Self {
            direct: Direct::open_for(setup, most)?,
            layout: StripeLayout::new(chunk_bytes, setup.files.len()),
            pieces_max,
            wholes: vec![Whole::default(); depth as usize],
            pieces: vec![Piece::default(); most as usize],
            transfers_in_flight: 0,
            done: Vec::with_capacity(most as usize),
            ready: Vec::with_capacity(depth as usize),
        })
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.direct.data(slot, bytes)
    }
}

impl<T: Transport> Striped<T> {
    fn split(&mut self, submission: &Submission) {
        let Submission { request, slot, .. } = *submission;
        let start = self.direct.address_of(submission);
        let first = slot * self.pieces_max;
        let (mut sent, mut count) = (0, 0);
        while sent < request.bytes {
            let place = self.layout.place(request.offset + u64::from(sent));
            let bytes = place.left.min(request.bytes - sent);
            let tag = first + count;
            self.pieces[tag as usize] = Piece { bytes: bytes as i32, outcome: 0 };
            self.direct.transport.push(Transfer {
                // SAFETY: the request's memory is `request.bytes` long, more than `sent`.
                address: unsafe { start.add(sent as usize) },
                offset: place.offset,
                bytes,
                tag,
                file: place.file,
                act: self.direct.act_of(request.op),
            });
            sent += bytes;
            count += 1;
        }
        debug_assert!(count <= self.pieces_max, "a request beyond the largest");
        self.wholes[slot as usize] = Whole { pieces: count, outstanding: count };
        self.transfers_in_flight += count;
    }

    /// Processes completed pieces, and marks requests as ready whose pieces are all complete.
    fn assemble(&mut self) {
        self.transfers_in_flight -= self.done.len() as u32;
        for position in 0..self.done.len() {
            let Completion { slot: tag, outcome } = self.done[position];
            self.pieces[tag as usize].outcome = outcome;
            let slot = tag / self.pieces_max;
            let whole = &mut self.wholes[slot as usize];
            whole.outstanding -= 1;
            if whole.outstanding == 0 {
                let first = (slot * self.pieces_max) as usize;
                let pieces = &self.pieces[first..first + whole.pieces as usize];
                self.ready.push(Completion { slot, outcome: whole_outcome(pieces) });
            }
        }
        self.done.clear();
    }
}

/// The first error, otherwise the bytes up to the first gap.
fn whole_outcome(pieces: &[Piece]) -> i32 {
    if let Some(failed) = pieces.iter().find(|piece| piece.outcome < 0) {
        return failed.outcome;
    }
    let mut bytes = 0;
    for piece in pieces {
        bytes += piece.outcome;
        if piece.outcome < piece.bytes {
            break;
        }
    }
    bytes
}

impl<T: Transport> Engine for Striped<T> {
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            self.split(submission);
        }
    }

    fn flush(&mut self, slot: u32, kind: FlushKind) {
        let (first, files) = (slot * self.pieces_max, self.layout.files as u32);
        for file in 0..files {
            self.pieces[(first + file) as usize] = Piece { bytes: 0, outcome: 0 };
            self.direct.transport.push(Transfer::flush(file, first + file, kind));
        }
        self.wholes[slot as usize] = Whole { pieces: files, outstanding: files };
        self.transfers_in_flight += files;
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.direct.hand_over()
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        loop {
            let missing = ask.min.saturating_sub(self.ready.len() as u32);
            // `missing` requests need at least as many pieces, if that many are in flight.
            let pieces = missing.min(self.transfers_in_flight);
            let transfers = Wait { min: pieces, max: self.transfers_in_flight, ..ask };
            self.direct.wait(transfers, &mut self.done)?;
            let silent = (self.done.len() as u32) < pieces;
            self.assemble();
            if self.ready.len() as u32 >= ask.min || silent {
                break;
            }
        }
        let count = self.ready.len().min(ask.max as usize);
        done.extend(self.ready.drain(..count));
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.direct.features();
        let StripeLayout { files, chunk_bytes, .. } = self.layout;
        features.push(format!("striped over {files} targets in chunks of {chunk_bytes} bytes"));
        features
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_counts_and_else_the_bytes_up_to_the_first_gap() {
        let piece = |bytes, outcome| Piece { bytes, outcome };
        assert_eq!(whole_outcome(&[piece(10, 10), piece(20, 20)]), 30);
        assert_eq!(whole_outcome(&[piece(10, 10), piece(20, 5), piece(10, 10)]), 15);
        assert_eq!(whole_outcome(&[piece(10, 3), piece(20, -5), piece(10, -28)]), -5);
    }
}
