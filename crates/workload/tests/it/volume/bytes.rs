//! Moves real bytes according to the plans and combinations, and checks every byte of the disks.

use record::OpKind;
use workload::Rng;
use workload::volume::{Combinations, DiskLoad, Memory, Plan, Raid, StepsOver, Volume, VolumeSpec};

const KIB: u64 = 1 << 10;

/// An array of disks with real bytes, and the data that a user has written to it.
pub(crate) struct Disks {
    pub(crate) volume: Volume,
    spec: VolumeSpec,
    pub(crate) disks: Vec<Vec<u8>>,
    pub(crate) written: Vec<u8>,
    /// Bytes read and written, by disk.
    pub(crate) moved: Vec<[u64; 2]>,
}

impl Disks {
    pub(crate) fn new(raid: Raid, disks: u32, failed: Option<u32>) -> Self {
        let spec =
            VolumeSpec { raid, chunk_bytes: KIB, failed, ordered: true, ..VolumeSpec::default() };
        let bytes = 12 * KIB;
        let volume = Volume::new(&spec, disks, bytes);
        let mut found = Self {
            written: vec![0; volume.size() as usize],
            volume,
            spec,
            disks: vec![vec![0; bytes as usize]; disks as usize],
            moved: vec![[0; 2]; disks as usize],
        };
        if let Some(failed) = failed {
            found.disks[failed as usize].fill(0xee);
        }
        found
    }

    /// Carries out a request. Returns what it read.
    pub(crate) fn request(&mut self, op: OpKind, offset: u64, mut data: Vec<u8>) -> Vec<u8> {
        let (mut plan, mut combinations) = (Plan::default(), Combinations::default());
        let (load, bytes) = ([DiskLoad::default(); 8], data.len() as u32);
        self.volume.plan(op, offset, bytes, &load, &mut plan);
        self.volume.combine(op, offset, bytes, &plan, &mut combinations);
        self.carry_out(&plan, &combinations, op == OpKind::Write, &mut data);
        if op == OpKind::Write {
            let offset = offset as usize;
            self.written[offset..offset + data.len()].copy_from_slice(&data);
        }
        data
    }

    /// Carries out a step of a rebuild.
    pub(crate) fn rebuild(&mut self, request: u32, offset: u64, bytes: u32) -> StepsOver {
        let (mut plan, mut combinations) = (Plan::default(), Combinations::default());
        self.volume.plan_rebuild(offset, bytes, &[DiskLoad::default(); 8], &mut plan);
        self.volume.combine_rebuild(&plan, &mut combinations);
        self.carry_out(&plan, &combinations, true, &mut []);
        self.volume.rebuilt(request, offset, bytes, true)
    }

    fn carry_out(&mut self, plan: &Plan, sums: &Combinations, write: bool, data: &mut [u8]) {
        let mut pieces: Vec<Vec<u8>> =
            plan.pieces.iter().map(|piece| vec![0x55; piece.bytes as usize]).collect();
        let last = plan.stages.len() - 1;
        let parity: u64 = plan.stages.iter().map(|stage| stage.xor_bytes).sum();
        let combined: u64 = sums
            .all
            .iter()
            .filter(|it| it.from.len() > 1)
            .map(|it| u64::from(it.bytes) * it.from.len() as u64)
            .sum();
        // Parity of a single other disk is a copy, which the count of arithmetic does not include.
        assert!(combined == parity || self.disks.len() < 3, "{combined} of {parity}: {plan:?}");
        for stage in 0..=last {
            if write && stage == last {
                combine(plan, sums, &mut pieces, data);
            }
            let begin = stage.checked_sub(1).map_or(0, |before| plan.stages[before].end);
            let stage = plan.pieces.iter().enumerate().take(plan.stages[stage].end).skip(begin);
            for (index, piece) in stage {
                let (disk, length) = (piece.disk as usize, piece.bytes as usize);
                let on_disk = piece.offset as usize..piece.offset as usize + length;
                self.moved[disk][piece.op as usize] += length as u64;
                let memory = match sums.direct[index] {
                    Some(at) => &mut data[at as usize..at as usize + length],
                    None => &mut pieces[index][..],
                };
                match piece.op {
                    OpKind::Read => memory.copy_from_slice(&self.disks[disk][on_disk]),
                    OpKind::Write => self.disks[disk][on_disk].copy_from_slice(memory),
                }
            }
        }
        if !write {
            combine(plan, sums, &mut pieces, data);
        }
    }

    pub(crate) fn check_reads(&mut self) {
        let size = self.written.len();
        let all = self.request(OpKind::Read, 0, vec![0; size]);
        assert!(all == self.written, "{:?}", self.spec);
        let mut rng = Rng::new(3);
        for _ in 0..60 {
            let (first, length) = part(&mut rng, size as u64);
            let found = self.request(OpKind::Read, first, vec![0; length as usize]);
            let expected = &self.written[first as usize..(first + length) as usize];
            assert!(found == expected, "{:?} {first}+{length}", self.spec);
        }
    }

    /// Whether copies are equal, or the exclusive-or of every row is zero.
    pub(crate) fn consistent(&self) -> bool {
        let (first, others) = self.disks.split_first().expect("an array has disks");
        match self.spec.raid {
            Raid::Raid1 => others.iter().all(|disk| disk == first),
            _ => (0..first.len())
                .all(|row| self.disks.iter().fold(0, |sum, disk| sum ^ disk[row]) == 0),
        }
    }
}

fn combine(plan: &Plan, sums: &Combinations, pieces: &mut [Vec<u8>], data: &mut [u8]) {
    for combination in &sums.all {
        let length = combination.bytes as usize;
        let mut result = vec![0; length];
        for &source in sums.sources_of(combination) {
            let from = match source {
                Memory::Request(at) => &data[at as usize..at as usize + length],
                Memory::Piece(piece, at) => match sums.direct[piece as usize] {
                    Some(start) => &data[(start + at) as usize..(start + at) as usize + length],
                    None => &pieces[piece as usize][at as usize..at as usize + length],
                },
            };
            result.iter_mut().zip(from).for_each(|(sum, byte)| *sum ^= byte);
        }
        match combination.to {
            Memory::Request(at) => {
                data[at as usize..at as usize + length].copy_from_slice(&result);
            }
            Memory::Piece(piece, at) => {
                assert_eq!(plan.pieces[piece as usize].op, OpKind::Write);
                pieces[piece as usize][at as usize..at as usize + length].copy_from_slice(&result);
            }
        }
    }
}

/// A part of an area, with random length and alignment.
pub(crate) fn part(rng: &mut Rng, size: u64) -> (u64, u64) {
    let first = rng.below(size);
    (first, 1 + rng.below((size - first).min(9 * KIB)))
}

pub(crate) fn random(rng: &mut Rng, length: u64) -> Vec<u8> {
    (0..length).map(|_| rng.below(256) as u8).collect()
}

/// Arrays with redundancy, with and without a failed disk.
pub(crate) fn arrays() -> Vec<(Raid, u32, Option<u32>)> {
    let mut arrays = Vec::new();
    for (raid, disks) in
        [(Raid::Raid1, 2), (Raid::Raid1, 3), (Raid::Raid5, 3), (Raid::Raid5, 4), (Raid::Raid5, 6)]
    {
        arrays.extend((0..=disks).map(|failed| (raid, disks, (failed < disks).then_some(failed))));
    }
    arrays
}

#[test]
fn what_is_written_is_read_and_the_disks_agree_whatever_has_failed() {
    for (raid, disks, failed) in arrays() {
        let mut array = Disks::new(raid, disks, failed);
        let mut rng = Rng::new(u64::from(disks));
        for _ in 0..200 {
            let (first, length) = part(&mut rng, array.written.len() as u64);
            let data = random(&mut rng, length);
            array.request(OpKind::Write, first, data);
        }
        array.check_reads();
        match failed {
            None => assert!(array.consistent(), "{raid:?} of {disks}"),
            Some(failed) => {
                let touched = array.disks[failed as usize].iter().any(|&byte| byte != 0xee);
                assert!(!touched && array.moved[failed as usize] == [0; 2], "{raid:?}: {failed}");
            }
        }
    }
}

#[test]
fn bytes_that_lie_in_one_piece_are_not_copied() {
    let mut array = Disks::new(Raid::Raid5, 4, None);
    let mut direct = |op, offset, bytes| {
        let (mut plan, mut sums) = (Plan::default(), Combinations::default());
        array.volume.plan(op, offset, bytes, &[], &mut plan);
        array.volume.combine(op, offset, bytes, &plan, &mut sums);
        (sums.direct.iter().flatten().count(), sums.all.len())
    };
    assert_eq!(direct(OpKind::Read, 0, 512), (1, 0));
    // Of old data, old parity, new data and new parity, only the new data are in the request's memory.
    assert_eq!(direct(OpKind::Write, 256, 512), (1, 1));
    assert_eq!(direct(OpKind::Write, 0, 3 << 10), (3, 1));
}
