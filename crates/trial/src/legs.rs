//! Reads and compares the legs of an array by plain calls, not by the engine under test.
//!
//! In each row of chunks either all copies are equal, or the exclusive or of all legs is zero. Before a
//! verified run the legs are brought into this state, as when an array is created. Otherwise a write that
//! computes the new parity from the old one would carry an existing error on. Repaired rows are counted: on
//! legs that an array wrote before, they show where a kill hit between data and parity.

use engine::{AlignedMemory, OwnedFile, RebuildState, SystemError, read_all, read_up_to_end, write_all};
use record::{Bytes, LegCheck};
use std::sync::atomic::{AtomicBool, Ordering};
use workload::volume::{Combinations, DiskLoad, Memory, Plan, Raid, Volume, VolumeSpec};

/// Maximum number of rows that are described.
const DESCRIBED: usize = 16;

pub(crate) struct Legs<'a> {
    files: &'a [OwnedFile],
    spec: VolumeSpec,
    leg_bytes: u64,
    volume: Volume,
    plan: Plan,
    sums: Combinations,
    pieces: Vec<AlignedMemory>,
}

impl<'a> Legs<'a> {
    /// The legs of an array whose rebuild has reached this state.
    pub(crate) fn new(
        files: &'a [OwnedFile],
        spec: &VolumeSpec,
        leg_bytes: u64,
        rebuild: &RebuildState,
    ) -> Self {
        // A partly rebuilt leg is read as if it were not rebuilt.
        let serves = rebuild.rebuilt >= leg_bytes;
        let read = VolumeSpec { failed: spec.failed.filter(|_| !serves), ..*spec };
        Self {
            files,
            spec: *spec,
            leg_bytes,
            volume: Volume::new(&read, files.len() as u32, leg_bytes),
            plan: Plan::default(),
            sums: Combinations::default(),
            pieces: Vec::new(),
        }
    }

    pub(crate) fn read(&mut self, offset: u64, memory: &mut [u8]) -> Result<usize, i32> {
        let (op, bytes) = (record::OpKind::Read, memory.len() as u32);
        let loads = vec![DiskLoad::default(); self.files.len()];
        self.volume.plan(op, offset, bytes, &loads, &mut self.plan);
        self.volume.combine(op, offset, bytes, &self.plan, &mut self.sums);
        self.pieces.resize_with(self.pieces.len().max(self.plan.pieces.len()), AlignedMemory::default);
        for ((piece, direct), held) in
            self.plan.pieces.iter().zip(&self.sums.direct).zip(&mut self.pieces)
        {
            let length = piece.bytes as usize;
            let held = held.get(length);
            let file = &self.files[piece.disk as usize];
            if read_up_to_end(file, held, piece.offset).map_err(SystemError::code)? < length {
                return Ok(0);
            }
            if let Some(at) = direct {
                memory[*at as usize..*at as usize + length].copy_from_slice(held);
            }
        }
        for combination in &self.sums.all {
            let (length, Memory::Request(to)) = (combination.bytes as usize, combination.to) else {
                continue;
            };
            let to = to as usize..to as usize + length;
            memory[to.clone()].fill(0);
            for source in self.sums.sources_of(combination) {
                let Memory::Piece(piece, at) = *source else { continue };
                let held = self.pieces[piece as usize].get(at as usize + length);
                add(&mut memory[to.clone()], &held[at as usize..]);
            }
        }
        Ok(memory.len())
    }

    /// The number of rows that can be compared, and why not all.
    fn comparable(&self, rebuild: &RebuildState) -> (u64, &'static str) {
        let mirror_left = self.spec.raid == Raid::Raid1 && self.files.len() > 2;
        match self.spec.failed {
            None => (self.leg_bytes, ""),
            Some(_) if rebuild.rebuilt >= self.leg_bytes => (self.leg_bytes, ""),
            Some(_) if mirror_left => (self.leg_bytes, "the failed leg was skipped"),
            Some(_) if rebuild.rebuilt > 0 => (
                rebuild.rebuilt,
                "beyond the rebuilt part, the data on the other targets is unknown",
            ),
            Some(_) => (
                0,
                "with a failed leg, there is no redundancy to compare the other legs \
                            with",
            ),
        }
    }

    /// The legs that hold data of a row.
    fn holders(&self, rebuild: &RebuildState) -> Vec<usize> {
        let failed = self.spec.failed.filter(|_| rebuild.rebuilt < self.leg_bytes);
        let whole = |leg: &usize| Some(*leg as u32) != failed;
        match self.spec.raid {
            Raid::Raid1 if self.files.len() > 2 => (0..self.files.len()).filter(whole).collect(),
            _ => (0..self.files.len()).collect(),
        }
    }

    /// Compares the legs row by row. With `make`, rows that disagree are repaired from their parity or
    /// their first copy; otherwise they are counted. Ends early when `stop` is set.
    pub(crate) fn compare(
        &mut self,
        rebuild: &RebuildState,
        make: bool,
        stop: &AtomicBool,
    ) -> LegCheck {
        let row_bytes = self.spec.chunk_bytes;
        let rows = self.leg_bytes / row_bytes;
        let (comparable, note) = self.comparable(rebuild);
        let holders = self.holders(rebuild);
        let mut check =
            LegCheck { row_bytes: Bytes(row_bytes), note: note.to_owned(), ..Default::default() };
        let (mut sum, mut leg) = (AlignedMemory::default(), AlignedMemory::default());
        for row in 0..comparable / row_bytes {
            if stop.load(Ordering::Relaxed) {
                check.note = "the comparison was interrupted".to_owned();
                break;
            }
            let at = row * row_bytes;
            match self.row(at, &holders, (&mut sum, &mut leg)) {
                Ok(None) => check.good += 1,
                Ok(Some(_)) if make => match self.make(at, &holders, (&mut sum, &mut leg)) {
                    Ok(()) => check.made += 1,
                    Err(errno) => check.note = refused(at, errno),
                },
                Ok(Some(first)) => {
                    check.bad += 1;
                    if check.first_bad.len() < DESCRIBED {
                        check.first_bad.push(self.describe(at, first));
                    }
                }
                Err(errno) => check.note = refused(at, errno),
            }
        }
        check.unchecked = rows - check.good - check.bad - check.made;
        check
    }

    /// Where in a row the legs first differ.
    fn row(
        &self,
        at: u64,
        holders: &[usize],
        (sum, leg): (&mut AlignedMemory, &mut AlignedMemory),
    ) -> Result<Option<u64>, SystemError> {
        let length = self.spec.chunk_bytes as usize;
        let (sum, leg) = (sum.get(length), leg.get(length));
        read_all(&self.files[holders[0]], sum, at)?;
        for &other in &holders[1..] {
            read_all(&self.files[other], leg, at)?;
            if self.spec.raid != Raid::Raid1 {
                add(sum, leg);
            } else if let Some(first) = sum.iter().zip(&*leg).position(|(one, two)| one != two) {
                return Ok(Some(first as u64));
            }
        }
        let parity = self.spec.raid != Raid::Raid1;
        Ok(sum.iter().position(|&byte| byte != 0).filter(|_| parity).map(|first| first as u64))
    }

    fn make(
        &self,
        at: u64,
        holders: &[usize],
        (sum, leg): (&mut AlignedMemory, &mut AlignedMemory),
    ) -> Result<(), SystemError> {
        let length = self.spec.chunk_bytes as usize;
        let (sum, leg) = (sum.get(length), leg.get(length));
        match self.volume.parity_disk(at) {
            None => {
                read_all(&self.files[holders[0]], sum, at)?;
                holders[1..].iter().try_for_each(|&copy| write_all(&self.files[copy], sum, at))
            }
            Some(parity) => {
                sum.fill(0);
                for &other in holders.iter().filter(|&&other| other as u32 != parity) {
                    read_all(&self.files[other], leg, at)?;
                    add(sum, leg);
                }
                write_all(&self.files[parity as usize], sum, at)
            }
        }
    }

    fn describe(&self, at: u64, first: u64) -> String {
        let byte = at + first;
        match self.volume.parity_disk(at) {
            None => format!("from byte {byte} of the legs onwards, the copies differ"),
            Some(leg) => format!(
                "from byte {byte} of the legs onwards, the parity on leg {leg} does not match the \
                 data"
            ),
        }
    }
}

fn refused(at: u64, errno: SystemError) -> String {
    format!("the row at byte {at} of the legs could not be read or written: {errno}")
}

fn add(sum: &mut [u8], other: &[u8]) {
    sum.iter_mut().zip(other).for_each(|(sum, byte)| *sum ^= byte);
}
