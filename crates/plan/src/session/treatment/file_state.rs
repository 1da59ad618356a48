//! Sets the state of the test file before a trial: written, reserved, empty, or written only at its end. None
//! of it is in the page cache.
//!
//! The run keeps its descriptors of the same file, so it finds the length and blocks set here. Blocks that
//! were never written are all read before the trial. They must be zero, whatever was on the disk before
//! (the C2 requirement that makes extending a file expensive on some systems). `valid-data` waives that
//! with a call of Windows, so no preset uses it: the file then contains data left on the disk by other
//! files. It is deleted with the run, and the row states whether such data showed.

use super::{Extras, Finish, Treatment, nothing};
use crate::session::{Result, Session, SessionError};
use engine::OwnedFile;
use host::target::{
    allow_valid_data, drop_clean_pages, duplicate, preallocate, reserve, set_valid_data,
};
use record::{Bytes, Target, TargetKind, Workload};
use std::fs::File;
use std::io::Error;
use workload::Rng;

/// Bytes per write call.
const CHUNK_BYTES: usize = 1 << 20;

/// The state of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// Completely written.
    Written,
    /// Blocks reserved, but not written.
    Preallocated,
    /// Reserved, and marked valid: they read as data left on the disk.
    ValidData,
    /// Empty: each write extends it.
    Append,
    /// Only the last block is written, the rest is a hole.
    LastFirst,
}

impl Treatment for FileState {
    fn fits(&self, targets: &[&Target]) -> Result<(), String> {
        if *self == Self::ValidData {
            allow_valid_data()?;
        }
        // A directory's test file belongs to halfpower and may be changed.
        if targets.iter().all(|target| target.kind == TargetKind::Directory) {
            return Ok(());
        }
        Err("it changes the file itself, so the target must be a directory".to_owned())
    }

    fn appends(&self) -> bool {
        *self == Self::Append
    }

    fn prepare(&self, session: &Session, workload: &Workload) -> Result<Finish> {
        let length = workload.offset_bytes.0 + workload.size_bytes.0;
        let mut holes = Vec::new();
        let shows_old = *self == Self::ValidData;
        let action = format!("preparing the test file ({self:?})");
        for handle in &session.handles {
            let zero = self.bring(&handle.file, length, workload.max_bs().0);
            holes.extend(zero.map_err(SessionError::io(&action))?);
        }
        if shows_old {
            let shown = f64::from(u8::from(holes.contains(&false)));
            return Ok(Box::new(move |_| Ok(Extras::from([("shows_old_data".to_owned(), shown)]))));
        }
        if holes.contains(&false) {
            let text = "blocks of the test file that were never written do not read as zeros, so \
                        the file system exposes old data of other users; do not trust it with \
                        secrets";
            return Err(SessionError::NoResult(text.to_owned()));
        }
        if holes.is_empty() {
            return Ok(nothing());
        }
        Ok(Box::new(|_| Ok(Extras::from([("holes_read_as_zero".to_owned(), 1.0)]))))
    }
}

/// New blocks after the end of the test file, reserved and not written, for the duration of the trial.
pub(super) struct NewBlocks;

impl Treatment for NewBlocks {
    fn fits(&self, targets: &[&Target]) -> Result<(), String> {
        FileState::Append.fits(targets)
    }

    fn prepare(&self, session: &Session, workload: &Workload) -> Result<Finish> {
        let error = || SessionError::io("reserving blocks after the end of the test file");
        let mut files = Vec::new();
        for handle in &session.handles {
            let file = duplicate(&handle.file).map_err(error())?;
            let before = file.metadata().map_err(error())?.len();
            reserve(&file, workload.offset_bytes.0, workload.size_bytes.0).map_err(error())?;
            files.push((file, before));
        }
        Ok(Box::new(move |_| {
            for (file, before) in files {
                file.set_len(before).map_err(error())?;
            }
            Ok(Extras::new())
        }))
    }
}

impl FileState {
    /// Brings one file into the state; returns whether its hole reads as zero, if it has one.
    fn bring(
        self,
        owned: &OwnedFile,
        length: u64,
        last_bytes: u64,
    ) -> std::io::Result<Option<bool>> {
        let file = duplicate(owned)?;
        if self != Self::Written {
            file.set_len(0)?;
        }
        let hole = match self {
            Self::Written => {
                write_all(&file, length)?;
                None
            }
            Self::Append => None,
            Self::Preallocated => {
                preallocate(&file, length)?;
                Some(length)
            }
            Self::ValidData => {
                set_valid_data(&file, length)?;
                Some(length)
            }
            Self::LastFirst => {
                let last = vec![0x5a; usize::try_from(last_bytes.min(length)).unwrap_or(0)];
                let hole = length.saturating_sub(last.len() as u64);
                engine::write_all(&file, &last, hole).map_err(Error::from)?;
                Some(hole)
            }
        };
        file.sync_all()?;
        let zero = hole.map(|hole| reads_as_zero(&file, hole)).transpose()?;
        drop_clean_pages(owned, Bytes(0), Bytes(0)).map_err(Error::other)?;
        Ok(zero)
    }
}

/// Whether the first `length` bytes of a file are zeros.
fn reads_as_zero(file: &File, length: u64) -> std::io::Result<bool> {
    let mut chunk = vec![1; CHUNK_BYTES];
    for at in (0..length).step_by(CHUNK_BYTES) {
        let part = CHUNK_BYTES.min((length - at) as usize);
        engine::read_all(file, &mut chunk[..part], at).map_err(Error::from)?;
        if chunk[..part].iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the whole file with data that does not compress.
fn write_all(file: &File, length: u64) -> std::io::Result<()> {
    let mut rng = Rng::new(length);
    let mut chunk = vec![0; CHUNK_BYTES];
    for word in chunk.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_ne_bytes());
    }
    for at in (0..length).step_by(CHUNK_BYTES) {
        // A different word in each page, so that no two chunks are equal.
        for page in chunk.chunks_exact_mut(4096) {
            page[..8].copy_from_slice(&rng.next_u64().to_ne_bytes());
        }
        let part = CHUNK_BYTES.min((length - at) as usize);
        engine::write_all(file, &chunk[..part], at).map_err(Error::from)?;
    }
    file.set_len(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: u64 = (2 << 20) + 4096;

    #[test]
    fn one_byte_of_old_data_in_a_hole_is_seen_wherever_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LENGTH).unwrap();
        assert!(reads_as_zero(&file, LENGTH).unwrap());
        for at in [0, LENGTH / 2 + 1, LENGTH - 1] {
            engine::write_all(&file, &[1], at).unwrap();
            assert!(!reads_as_zero(&file, LENGTH).unwrap(), "at {at}");
            engine::write_all(&file, &[0], at).unwrap();
        }
    }

    #[test]
    fn reserved_blocks_make_a_file_longer_and_hold_nothing() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        engine::write_all(&file, &[1; 4096], 0).unwrap();
        reserve(&file, 4096, LENGTH).unwrap();
        assert_eq!(file.metadata().unwrap().len(), 4096 + LENGTH);
        let mut old = [0; 4096];
        engine::read_all(&file, &mut old, 0).unwrap();
        assert_eq!(old, [1; 4096]);
        let mut new = [1; 4096];
        engine::read_all(&file, &mut new, 4096).unwrap();
        assert_eq!(new, [0; 4096]);
    }

    #[test]
    fn states_with_blocks_that_were_never_written_are_read_and_the_others_have_none() {
        let fresh = || OwnedFile::from(tempfile::tempfile().unwrap());
        let brought = |state: FileState| {
            let file = fresh();
            // The previous content must not show.
            write_all(&duplicate(&file).unwrap(), LENGTH).unwrap();
            let zero = state.bring(&file, LENGTH, 4096).unwrap();
            (zero, duplicate(&file).unwrap().metadata().unwrap().len())
        };
        assert_eq!(brought(FileState::Preallocated), (Some(true), LENGTH));
        assert_eq!(brought(FileState::LastFirst), (Some(true), LENGTH));
        assert_eq!(brought(FileState::Append), (None, 0));
        assert_eq!(brought(FileState::Written), (None, LENGTH));
    }
}
