//! Proves the mappings: by enumeration on small arrays, and with a model of the bytes that executes plans and
//! restores the content of a lost disk.

use record::OpKind;
use workload::Rng;
use workload::volume::{DiskLoad, MirrorReads, Piece, Plan, Raid, Volume, VolumeSpec};

const KIB: u64 = 1 << 10;
const SECTOR: u64 = 512;

fn spec(raid: Raid, chunk_bytes: u64) -> VolumeSpec {
    VolumeSpec { raid, chunk_bytes, ..VolumeSpec::default() }
}

fn planned(volume: &mut Volume, op: OpKind, offset: u64, bytes: u64) -> Plan {
    let mut plan = Plan::default();
    volume.plan(op, offset, bytes as u32, &[DiskLoad::default(); 8], &mut plan);
    plan
}

fn sizes(pieces: &[Piece]) -> Vec<u64> {
    let mut sizes: Vec<u64> = pieces.iter().map(|piece| u64::from(piece.bytes)).collect();
    sizes.sort_unstable();
    sizes
}

/// All layouts for the enumerations.
fn layouts() -> Vec<(VolumeSpec, u32)> {
    let mut layouts = Vec::new();
    for align_bytes in [0, 3 * SECTOR] {
        for disks in 1..=5 {
            let mut add = |raid, chunk| {
                let spec = VolumeSpec { align_bytes, ..spec(raid, chunk) };
                if spec.check(disks).is_ok() {
                    layouts.push((spec, disks));
                }
            };
            add(Raid::None, 2 * KIB);
            add(Raid::Raid0, 2 * KIB);
            add(Raid::Raid0, 3 * SECTOR);
            add(Raid::Raid5, 2 * KIB);
            add(Raid::Raid5, 5 * SECTOR);
        }
    }
    layouts
}

#[test]
fn every_sector_of_a_volume_lies_on_one_place_of_one_disk_and_no_two_share_one() {
    for (spec, disks) in layouts() {
        let disk_bytes = 16 * KIB;
        let mut volume = Volume::new(&spec, disks, disk_bytes);
        let mut places = std::collections::BTreeSet::new();
        for sector in 0..volume.size() / SECTOR {
            let plan = planned(&mut volume, OpKind::Read, sector * SECTOR, SECTOR);
            assert_eq!(plan.pieces.len(), 1, "{spec:?}");
            let piece = plan.pieces[0];
            assert!(piece.disk < disks && piece.offset + SECTOR <= disk_bytes);
            assert!(places.insert((piece.disk, piece.offset)), "{spec:?} sector {sector} twice");
        }
    }
}

#[test]
fn a_large_read_covers_exactly_the_places_of_its_sectors() {
    for (spec, disks) in layouts() {
        let mut volume = Volume::new(&spec, disks, 16 * KIB);
        let sectors = volume.size() / SECTOR;
        for first in 0..sectors.min(40) {
            for count in 1..=(sectors - first).min(40) {
                let whole = planned(&mut volume, OpKind::Read, first * SECTOR, count * SECTOR);
                let mut expected: Vec<(u32, u64)> = (first..first + count)
                    .map(|sector| {
                        let plan = planned(&mut volume, OpKind::Read, sector * SECTOR, SECTOR);
                        (plan.pieces[0].disk, plan.pieces[0].offset)
                    })
                    .collect();
                let mut covered: Vec<(u32, u64)> = whole
                    .pieces
                    .iter()
                    .flat_map(|piece| {
                        let sectors = u64::from(piece.bytes) / SECTOR;
                        (0..sectors).map(|at| (piece.disk, piece.offset + at * SECTOR))
                    })
                    .collect();
                expected.sort_unstable();
                covered.sort_unstable();
                assert_eq!(covered, expected, "{spec:?}, {disks} disks, {first}+{count}");
            }
        }
    }
}

#[test]
fn a_request_of_64_kib_that_begins_12_kib_into_a_chunk_becomes_12_and_52() {
    let unaligned = VolumeSpec { align_bytes: 12 * KIB, ..spec(Raid::Raid0, 64 * KIB) };
    let mut volume = Volume::new(&unaligned, 4, 1 << 30);
    let plan = planned(&mut volume, OpKind::Read, 0, 64 * KIB);
    assert_eq!(sizes(&plan.pieces), [12 * KIB, 52 * KIB]);
    assert_ne!(plan.pieces[0].disk, plan.pieces[1].disk);
    let mut aligned = Volume::new(&spec(Raid::Raid0, 64 * KIB), 4, 1 << 30);
    assert_eq!(sizes(&planned(&mut aligned, OpKind::Read, 0, 64 * KIB).pieces), [64 * KIB]);
}

/// Riedel 1997, section 4: n sequential requests of size r span two disks with probability
/// (n-1)r/c.
#[test]
fn n_sequential_requests_of_r_bytes_are_on_two_disks_for_n_minus_1_times_r_over_c_of_the_starts() {
    for (count, request) in [(8, 8), (3, 8), (2, 8), (8, 4), (3, 4), (8, 2), (3, 16)] {
        let mut volume = Volume::new(&spec(Raid::Raid0, 64 * KIB), 4, 1 << 30);
        let starts = 4 * 64 / request;
        let spanning = (0..starts)
            .filter(|start| {
                let mut disks: Vec<u32> = (0..count)
                    .map(|index| {
                        let offset = (start + index) * request * KIB;
                        planned(&mut volume, OpKind::Read, offset, request * KIB).pieces[0].disk
                    })
                    .collect();
                disks.dedup();
                disks.len() > 1
            })
            .count() as u64;
        assert_eq!(spanning * 64, (count - 1) * request * starts, "{count} of {request} KiB");
    }
}

#[test]
fn chunks_that_lie_side_by_side_on_a_disk_are_one_piece() {
    let mut volume = Volume::new(&spec(Raid::Raid0, 64 * KIB), 2, 1 << 30);
    let plan = planned(&mut volume, OpKind::Write, 0, 256 * KIB);
    assert_eq!(sizes(&plan.pieces), [128 * KIB, 128 * KIB]);
}

#[test]
fn a_small_write_with_parity_is_four_operations_in_two_stages_from_four_disks_on() {
    for disks in 4..=8 {
        let mut volume = Volume::new(&spec(Raid::Raid5, 64 * KIB), disks, 1 << 30);
        for at in 0..200 {
            let plan = planned(&mut volume, OpKind::Write, at * 8 * KIB, 8 * KIB);
            assert_eq!((plan.stage(0).len(), plan.stage(1).len()), (2, 2));
            assert!(plan.stage(0).iter().all(|piece| piece.op == OpKind::Read));
            assert!(plan.stage(1).iter().all(|piece| piece.op == OpKind::Write));
            assert_eq!(plan.stages[0].xor_bytes, 24 * KIB);
        }
    }
    // On three disks, the other data chunk is one read, but old data and old parity are two.
    let mut volume = Volume::new(&spec(Raid::Raid5, 64 * KIB), 3, 1 << 30);
    let plan = planned(&mut volume, OpKind::Write, 0, 8 * KIB);
    assert_eq!((plan.stage(0).len(), plan.stage(1).len()), (1, 2));
}

#[test]
fn a_full_stripe_is_written_without_reads_and_a_large_part_of_one_by_reading_the_rest() {
    let mut volume = Volume::new(&spec(Raid::Raid5, 64 * KIB), 5, 1 << 30);
    let full = planned(&mut volume, OpKind::Write, 256 * KIB, 256 * KIB);
    assert_eq!((full.stage(0).len(), full.stage(1).len()), (0, 5));
    assert_eq!(full.stages[0].xor_bytes, 256 * KIB);
    let most = planned(&mut volume, OpKind::Write, 0, 192 * KIB);
    assert_eq!((most.stage(0).len(), most.stage(1).len()), (1, 4));
    let half = planned(&mut volume, OpKind::Write, 0, 128 * KIB);
    assert_eq!((half.stage(0).len(), half.stage(1).len()), (2, 3));
}

#[test]
fn a_write_over_two_chunks_that_share_no_rows_leaves_the_rows_between_alone() {
    let mut volume = Volume::new(&spec(Raid::Raid5, 64 * KIB), 5, 1 << 30);
    let plan = planned(&mut volume, OpKind::Write, 56 * KIB, 16 * KIB);
    // Two pieces of data and two of parity, both read and written.
    assert_eq!(sizes(plan.stage(0)), [8 * KIB; 4]);
    assert_eq!(sizes(plan.stage(1)), [8 * KIB; 4]);
}

#[test]
fn parity_goes_round_from_the_last_disk_down_and_data_follows_it() {
    let mut volume = Volume::new(&spec(Raid::Raid5, KIB), 4, 1 << 20);
    let disks: Vec<u32> = (0..12)
        .map(|chunk| planned(&mut volume, OpKind::Read, chunk * KIB, KIB).pieces[0].disk)
        .collect();
    // Left-symmetric: sequential chunks are on consecutive disks, wherever the parity is.
    assert_eq!(disks, [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
}

/// The bytes of an array, one per sector, with an executor of plans.
struct Bytes {
    disks: Vec<Vec<u8>>,
    lost: Option<usize>,
}

impl Bytes {
    fn at(&self, disk: u32, offset: u64) -> u8 {
        assert_ne!(Some(disk as usize), self.lost, "the lost disk is not read");
        self.disks[disk as usize][(offset / SECTOR) as usize]
    }
}

/// The sectors of pieces, as (disk, offset).
fn sectors(pieces: &[Piece], op: OpKind) -> Vec<(u32, u64)> {
    let of_op = pieces.iter().filter(|piece| piece.op == op);
    of_op
        .flat_map(|piece| {
            (0..u64::from(piece.bytes) / SECTOR).map(|at| (piece.disk, piece.offset + at * SECTOR))
        })
        .collect()
}

/// A volume with parity, its bytes, and the data that a user has written to it.
struct Array {
    volume: Volume,
    /// The same without a failure, to find the position of a sector's data.
    whole: Volume,
    disks: u32,
    bytes: Bytes,
    written: Vec<u8>,
}

impl Array {
    fn new(disks: u32, chunk: u64, lost: Option<u32>) -> Self {
        let disk_bytes = 6 * chunk;
        let healthy = spec(Raid::Raid5, chunk);
        let volume = Volume::new(&VolumeSpec { failed: lost, ..healthy }, disks, disk_bytes);
        let whole = Volume::new(&healthy, disks, disk_bytes);
        let written = vec![0; (whole.size() / SECTOR) as usize];
        let each = vec![0; (disk_bytes / SECTOR) as usize];
        let bytes = Bytes { disks: vec![each; disks as usize], lost: lost.map(|at| at as usize) };
        Self { volume, whole, disks, bytes, written }
    }

    fn home(&mut self, sector: u64) -> (u32, u64) {
        let piece = planned(&mut self.whole, OpKind::Read, sector * SECTOR, SECTOR).pieces[0];
        (piece.disk, piece.offset)
    }

    /// The user sectors with data in the row at `offset` of the disks.
    fn row(&mut self, offset: u64) -> Vec<(u64, u32)> {
        (0..self.written.len() as u64)
            .filter_map(|sector| {
                let (disk, at) = self.home(sector);
                (at == offset).then_some((sector, disk))
            })
            .collect()
    }

    /// Carries out a write. Parity is computed only from bytes that the plan read or the user supplied.
    fn write(&mut self, first: u64, data: &[u8]) {
        let bytes = data.len() as u64 * SECTOR;
        let plan = planned(&mut self.volume, OpKind::Write, first * SECTOR, bytes);
        let reads = sectors(&plan.pieces, OpKind::Read);
        let old: std::collections::BTreeMap<(u32, u64), u8> = reads
            .iter()
            .map(|&(disk, offset)| ((disk, offset), self.bytes.at(disk, offset)))
            .collect();
        let new = |sector: u64| {
            (first..first + data.len() as u64)
                .contains(&sector)
                .then(|| data[(sector - first) as usize])
        };
        let last_stage = plan.stages.len() - 1;
        for (disk, offset) in sectors(plan.stage(last_stage), OpKind::Write) {
            assert_ne!(Some(disk as usize), self.bytes.lost, "the lost disk is not written");
            let row = self.row(offset);
            let value = match row.iter().find(|&&(_, home)| home == disk) {
                Some(&(sector, _)) => new(sector).expect("only given data is written"),
                None => parity(&row, disk, offset, &old, &new),
            };
            self.bytes.disks[disk as usize][(offset / SECTOR) as usize] = value;
        }
        self.written[first as usize..first as usize + data.len()].copy_from_slice(data);
    }

    /// The sectors that the plan of a read returns.
    fn read(&mut self, first: u64, count: u64) -> Vec<u8> {
        let plan = planned(&mut self.volume, OpKind::Read, first * SECTOR, count * SECTOR);
        assert_eq!(plan.stages.len(), 1);
        let read = sectors(&plan.pieces, OpKind::Read);
        assert!(
            {
                let mut once = read.clone();
                once.sort_unstable();
                once.dedup();
                once.len() == read.len()
            },
            "no sector is read twice"
        );
        let have = |place: &(u32, u64)| read.contains(place);
        (first..first + count)
            .map(|sector| {
                let (disk, offset) = self.home(sector);
                if Some(disk as usize) != self.bytes.lost {
                    assert!(have(&(disk, offset)));
                    return self.bytes.at(disk, offset);
                }
                (0..self.disks)
                    .filter(|&other| other != disk)
                    .map(|other| {
                        assert!(have(&(other, offset)), "all survivors are read");
                        self.bytes.at(other, offset)
                    })
                    .fold(0, |sum, byte| sum ^ byte)
            })
            .collect()
    }
}

/// The parity of a row from known bytes: from the row's data, or from the changes.
fn parity(
    row: &[(u64, u32)],
    disk: u32,
    offset: u64,
    old: &std::collections::BTreeMap<(u32, u64), u8>,
    new: &impl Fn(u64) -> Option<u8>,
) -> u8 {
    let from_data: Option<u8> = row
        .iter()
        .map(|&(sector, home)| new(sector).or_else(|| old.get(&(home, offset)).copied()))
        .try_fold(0, |sum, byte| byte.map(|byte| sum ^ byte));
    let from_change = || {
        let before = *old.get(&(disk, offset))?;
        row.iter()
            .filter(|&&(sector, _)| new(sector).is_some())
            .try_fold(before, |sum, &(sector, home)| {
                Some(sum ^ old.get(&(home, offset))? ^ new(sector)?)
            })
    };
    from_data.or_else(from_change).expect("the plan reads enough for the new parity")
}

#[test]
fn what_is_written_is_read_back_after_any_one_disk_is_lost() {
    for (disks, chunk) in [(3, 2 * KIB), (4, 2 * KIB), (5, 3 * SECTOR), (7, KIB)] {
        let mut rng = Rng::new(u64::from(disks));
        let mut array = Array::new(disks, chunk, None);
        let sectors = array.written.len() as u64;
        for _ in 0..300 {
            let first = rng.below(sectors);
            let count = 1 + rng.below((sectors - first).min(24));
            let data: Vec<u8> = (0..count).map(|_| rng.below(256) as u8).collect();
            array.write(first, &data);
        }
        let expected = array.written.clone();
        assert_eq!(array.read(0, sectors), expected, "{disks} disks, none lost");
        for lost in 0..disks {
            let mut survivor = Array::new(disks, chunk, Some(lost));
            survivor.bytes.disks.clone_from(&array.bytes.disks);
            assert_eq!(survivor.read(0, sectors), expected, "{disks} disks, {lost} lost");
            for first in 0..sectors {
                let count = 1 + first % (sectors - first).min(9);
                let part = &expected[first as usize..(first + count) as usize];
                assert_eq!(survivor.read(first, count), part, "{first}+{count}, {lost} lost");
            }
        }
    }
}

#[test]
fn what_is_written_while_a_disk_is_lost_is_read_back() {
    for (disks, chunk) in [(3, 2 * KIB), (4, 2 * KIB), (5, 3 * SECTOR)] {
        for lost in 0..disks {
            let mut rng = Rng::new(u64::from(lost));
            let mut array = Array::new(disks, chunk, Some(lost));
            let sectors = array.written.len() as u64;
            for _ in 0..150 {
                let first = rng.below(sectors);
                let count = 1 + rng.below((sectors - first).min(20));
                let data: Vec<u8> = (0..count).map(|_| rng.below(256) as u8).collect();
                array.write(first, &data);
            }
            let expected = array.written.clone();
            assert_eq!(array.read(0, sectors), expected, "{disks} disks, {lost} lost");
        }
    }
}

#[test]
fn a_mirror_writes_everywhere_and_reads_where_the_queue_is_short_then_where_the_head_is_near() {
    let mut volume = Volume::new(&spec(Raid::Raid1, 64 * KIB), 2, 1 << 30);
    let write = planned(&mut volume, OpKind::Write, 5 * KIB, 8 * KIB);
    assert_eq!(write.pieces.iter().map(|piece| piece.disk).collect::<Vec<_>>(), [0, 1]);
    let mut chosen = |waiting: [u32; 2], heads: [u64; 2]| {
        let load = [0, 1].map(|at| DiskLoad { waiting: waiting[at], head_bytes: heads[at] });
        let mut plan = Plan::default();
        volume.plan(OpKind::Read, 100 << 20, 8192, &load, &mut plan);
        assert_eq!(plan.pieces.len(), 1);
        plan.pieces[0].disk
    };
    assert_eq!(chosen([1, 0], [100 << 20, 0]), 1, "the shorter queue, although it is far");
    assert_eq!(chosen([1, 1], [90 << 20, 300 << 20]), 0, "the nearer head");
    assert_eq!(chosen([1, 1], [0, 110 << 20]), 1, "the nearer head");
}

#[test]
fn a_sequential_reader_of_a_mirror_stays_on_one_disk_until_256_kib_are_outstanding() {
    let disks_of = |waiting: u32| {
        let mut volume = Volume::new(&spec(Raid::Raid1, 64 * KIB), 2, 1 << 30);
        let mut heads = [0_u64, 500 << 20];
        let mut disks = Vec::new();
        for request in 0..32 {
            let load = heads.map(|head_bytes| DiskLoad { waiting, head_bytes });
            let mut plan = Plan::default();
            volume.plan(OpKind::Read, request * 64 * KIB, 64 << 10, &load, &mut plan);
            let disk = plan.pieces[0].disk;
            heads[disk as usize] = (request + 1) * 64 * KIB;
            disks.push(disk);
        }
        disks
    };
    assert!(disks_of(0).iter().all(|&disk| disk == 0), "64 KiB outstanding");
    let deep = disks_of(2);
    assert_eq!(deep.iter().filter(|&&disk| disk == 1).count(), 16, "320 KiB outstanding: {deep:?}");
    assert!(deep[4..8].iter().all(|&disk| disk == deep[4]), "areas of 256 KiB: {deep:?}");
}

#[test]
fn a_plain_mirror_takes_turns_and_a_lost_disk_is_left_out() {
    let plain = VolumeSpec { mirror_reads: MirrorReads::Plain, ..spec(Raid::Raid1, 64 * KIB) };
    let mut volume = Volume::new(&plain, 3, 1 << 30);
    let mut disk = |at: u64| planned(&mut volume, OpKind::Read, at * KIB, KIB).pieces[0].disk;
    assert_eq!([disk(9), disk(0), disk(7), disk(1)], [0, 1, 2, 0]);
    let mut volume = Volume::new(&VolumeSpec { failed: Some(1), ..plain }, 3, 1 << 30);
    let mut disk = |at: u64| planned(&mut volume, OpKind::Read, at * KIB, KIB).pieces[0].disk;
    assert_eq!([disk(9), disk(0), disk(7), disk(1)], [0, 2, 0, 2]);
    assert_eq!(planned(&mut volume, OpKind::Write, 0, KIB).pieces.len(), 2);
}

#[test]
fn writes_to_one_stripe_are_let_in_one_at_a_time_in_order_and_others_at_once() {
    let mut volume = Volume::new(&spec(Raid::Raid5, 64 * KIB), 4, 1 << 30);
    let width = 192 * KIB;
    let write = OpKind::Write;
    assert!(volume.claim(0, write, 0, 4096));
    assert!(!volume.claim(1, write, 100 * KIB, 4096), "the same stripe");
    assert!(volume.claim(2, write, width, 4096), "the next stripe");
    assert!(!volume.claim(3, write, width - KIB, 2048), "both stripes");
    assert!(!volume.claim(4, write, width, 2048), "behind request 3");
    assert!(volume.claim(5, OpKind::Read, 0, 4096), "reads do not wait");
    let mut released = |request| volume.release(request);
    assert_eq!(released(5), Vec::<u32>::new());
    assert_eq!(released(0), [1]);
    assert_eq!(released(2), Vec::<u32>::new(), "3 still waits for 1");
    assert_eq!(released(1), [3]);
    assert_eq!(released(3), [4]);
    assert_eq!(released(4), Vec::<u32>::new());
    assert!(volume.claim(6, write, 0, 4096), "all lines are empty again");
}

#[test]
fn no_request_waits_for_ever_whatever_the_order_in_which_stripes_are_asked_for() {
    let mut rng = Rng::new(7);
    let mut volume = Volume::new(&spec(Raid::Raid5, 4 * KIB), 3, 1 << 20);
    let (mut running, mut waiting, mut done) = (Vec::new(), 0, 0);
    let mut free: Vec<u32> = (0..16).collect();
    for _ in 0..20_000 {
        if let Some(request) = free.pop() {
            let offset = rng.below(32) * 2 * KIB;
            let bytes = (1 + rng.below(20)) * KIB;
            if volume.claim(request, OpKind::Write, offset, bytes as u32) {
                running.push(request);
            } else {
                waiting += 1;
            }
        }
        if free.is_empty() || rng.below(2) == 0 {
            assert!(!running.is_empty(), "{waiting} wait and nobody works");
            let request = running.swap_remove(rng.below(running.len() as u64) as usize);
            let ready = volume.release(request);
            waiting -= ready.len();
            running.extend(ready);
            free.push(request);
            done += 1;
        }
    }
    assert!(done > 5_000);
}

#[test]
fn what_cannot_be_bound_together_is_refused_with_what_to_set() {
    let raid5 = spec(Raid::Raid5, 64 * KIB);
    assert!(raid5.check(2).unwrap_err().contains("disks=3"));
    let lost = VolumeSpec { failed: Some(0), ..spec(Raid::Raid0, 64 * KIB) };
    assert!(lost.check(4).unwrap_err().contains("raid=0 has no redundancy"));
    let beyond = VolumeSpec { failed: Some(4), ..raid5 };
    assert!(beyond.check(4).unwrap_err().contains("0 to 3"));
    assert!(spec(Raid::Raid0, 1_000).check(2).unwrap_err().contains("512"));
}
