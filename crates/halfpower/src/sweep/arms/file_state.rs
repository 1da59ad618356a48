//! The state of the test file before it is written: there, reserved, empty, begun at its end, or
//! there and not in memory.
//!
//! The descriptors of the run stay those of the same file, so what is done here to its length and
//! blocks is what the run finds. Blocks that were never written are read once before the trial: they
//! must be zero, whatever lay there on the disk before (the C2 requirement that makes extending a
//! file dear on some systems).

use super::{Arm, Extras, Finish, nothing, own_files};
use crate::session::Session;
use anyhow::{Context, bail};
use record::{Target, Workload};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileExt;
use workload::Rng;

/// What a file is written with at a time.
const CHUNK_BYTES: usize = 1 << 20;
/// What is read of a hole.
const PROBE_BYTES: usize = 4096;

/// The state that a file is brought into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileState {
    /// All of it is written.
    Written,
    /// The same, and none of it is in memory.
    Cold,
    /// Its blocks are reserved and not written.
    Preallocated,
    /// Empty: each write makes it longer.
    Append,
    /// Its last block is written, the rest is a hole.
    LastFirst,
}

impl Arm for FileState {
    fn name(&self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Cold => "cold",
            Self::Preallocated => "preallocated",
            Self::Append => "append",
            Self::LastFirst => "last-first",
        }
    }

    fn fits(&self, targets: &[&Target]) -> Result<(), String> {
        own_files(targets)
    }

    fn prepare(&self, session: &Session, workload: &Workload) -> anyhow::Result<Finish> {
        let length = workload.offset_bytes.0 + workload.size_bytes.0;
        let mut holes = Vec::new();
        for file in session.files() {
            let zero = self
                .bring(file, length, workload.max_bs().0)
                .with_context(|| format!("cannot prepare the test file ({})", self.name()))?;
            holes.extend(zero);
        }
        if holes.contains(&false) {
            bail!(
                "blocks of the test file that were never written do not read as zeros: the file \
                 system shows what others left on the disk; do not trust it with secrets"
            );
        }
        if holes.is_empty() {
            return Ok(nothing());
        }
        Ok(Box::new(|_, _| Ok(Extras::from([("holes_read_as_zero".to_owned(), 1.0)]))))
    }
}

impl FileState {
    /// Brings one file into the state; whether its hole is zero, where it has one.
    fn bring(self, file: &OwnedFd, length: u64, last_bytes: u64) -> std::io::Result<Option<bool>> {
        let file = File::from(file.try_clone()?);
        match self {
            Self::Written | Self::Cold => {
                write_all(&file, length)?;
                file.sync_data()?;
                rustix::fs::fadvise(file.as_fd(), 0, None, rustix::fs::Advice::DontNeed)?;
                return Ok(None);
            }
            Self::Append => {
                file.set_len(0)?;
                file.sync_all()?;
                return Ok(None);
            }
            Self::Preallocated => {
                file.set_len(0)?;
                let flags = rustix::fs::FallocateFlags::empty();
                rustix::fs::fallocate(file.as_fd(), flags, 0, length)?;
            }
            Self::LastFirst => {
                file.set_len(0)?;
                let last = vec![0x5a; usize::try_from(last_bytes.min(length)).unwrap_or(0)];
                file.write_all_at(&last, length.saturating_sub(last.len() as u64))?;
            }
        }
        file.sync_all()?;
        let mut probe = vec![1; PROBE_BYTES];
        file.read_exact_at(&mut probe, (length / 2).saturating_sub(PROBE_BYTES as u64))?;
        rustix::fs::fadvise(file.as_fd(), 0, None, rustix::fs::Advice::DontNeed)?;
        Ok(Some(probe.iter().all(|byte| *byte == 0)))
    }
}

/// Writes the whole file with data that does not compress.
fn write_all(file: &File, length: u64) -> std::io::Result<()> {
    let mut rng = Rng::new(length);
    let mut chunk = vec![0; CHUNK_BYTES];
    for word in chunk.chunks_exact_mut(8) {
        word.copy_from_slice(&rng.next_u64().to_ne_bytes());
    }
    let mut at = 0;
    while at < length {
        // A word of its own in each page, so that no two chunks are equal.
        for page in chunk.chunks_exact_mut(4096) {
            page[..8].copy_from_slice(&rng.next_u64().to_ne_bytes());
        }
        let part = CHUNK_BYTES.min((length - at) as usize);
        file.write_all_at(&chunk[..part], at)?;
        at += part as u64;
    }
    file.set_len(length)
}
