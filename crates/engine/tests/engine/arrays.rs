//! Arrays of files with copies or parity, on every engine: what requests read, and what each file contains.

use crate::common::{content, engines, submission};
use crate::platform::{NOT_WRITABLE, read_only, scratch_file};
use engine::tag::{Reading, Tags, read};
use engine::{
    AsRawFile, Completion, EngineVisitor, OpenEngine, Setup, SharedArray, StripeLayout, Submission,
    Wait, visit_engine, write_all,
};
use record::{Data, OpKind};
use std::fs::File;
use std::sync::Arc;
use workload::volume::{DiskLoad, Piece, Plan, Raid, Volume, VolumeSpec};
use workload::{Request, Rng};

const CHUNK: u64 = 8_192;
const LEG: u64 = 16 * CHUNK;
const BLOCK: u64 = 4_096;
const DEPTH: u32 = 5;

fn spec(raid: Raid, failed: Option<u32>) -> VolumeSpec {
    VolumeSpec { raid, chunk_bytes: CHUNK, failed, ordered: true, ..VolumeSpec::default() }
}

fn legs(count: u32) -> Vec<File> {
    let leg = || {
        let file = scratch_file();
        file.set_len(LEG).expect("a length");
        file
    };
    (0..count).map(|_| leg()).collect()
}

/// Whether copies are equal, or the exclusive-or of all legs is zero.
fn agree(raid: Raid, files: &[File]) -> bool {
    let all: Vec<Vec<u8>> = files.iter().map(content).collect();
    match raid {
        Raid::Raid1 => all.iter().all(|leg| *leg == all[0]),
        _ => (0..LEG as usize).all(|row| all.iter().fold(0, |sum, leg| sum ^ leg[row]) == 0),
    }
}

/// The action of a test on an open engine.
struct On<'a> {
    files: &'a [File],
    shared: Arc<SharedArray>,
    rebuilds: bool,
    max_bytes: u32,
    work: &'a mut dyn FnMut(&mut dyn Drive),
}

/// An engine, as a loop over requests uses it.
trait Drive {
    /// Carries out requests, a few at a time. Passes each with its outcome and data to `each`.
    fn drive(&mut self, requests: &[Submission], each: &mut dyn FnMut(Request, i32, &[u8]));
}

impl<E: OpenEngine> Drive for E {
    fn drive(&mut self, requests: &[Submission], each: &mut dyn FnMut(Request, i32, &[u8])) {
        let mut free: Vec<u32> = (0..DEPTH).collect();
        let mut carried: Vec<Option<Request>> = vec![None; DEPTH as usize];
        let (mut next, mut done) = (requests.iter(), Vec::new());
        loop {
            let batch: Vec<Submission> = std::iter::from_fn(|| {
                let slot = *free.last()?;
                let submission = Submission { slot, ..*next.next()? };
                free.pop();
                carried[slot as usize] = Some(submission.request);
                Some(submission)
            })
            .collect();
            self.prepare(&batch);
            if free.len() == DEPTH as usize {
                return;
            }
            done.clear();
            self.wait(Wait::new(1, DEPTH), &mut done).expect("the engine works");
            assert!(!done.is_empty(), "wait returned without a completion");
            for &Completion { slot, outcome } in &done {
                let request = carried[slot as usize].take().expect("each completes once");
                each(request, outcome, self.data(slot, usize::try_from(outcome).unwrap_or(0)));
                free.push(slot);
            }
        }
    }
}

impl EngineVisitor for On<'_> {
    type Output = Vec<String>;
    fn array(&self) -> bool {
        true
    }
    fn visit<E: OpenEngine>(self) -> Vec<String> {
        let files = self.files.iter().map(AsRawFile::as_raw_file).collect();
        let setup = Setup {
            array: Some(self.shared),
            rebuilds: self.rebuilds,
            writes: true,
            data: Data::Tagged,
            tags: Tags { block_bytes: BLOCK as u32, seed: 9 },
            ..Setup::reading(files, DEPTH, self.max_bytes)
        };
        let mut engine = E::open(&setup).expect("the array opens");
        (self.work)(&mut engine);
        engine.features()
    }
}

/// Writes of one to many blocks over the whole area: every block once in each of two passes, in random order.
fn writes(area: u64, seed: u64) -> Vec<Submission> {
    let mut rng = Rng::new(seed);
    let mut all = Vec::new();
    for pass in 1..=2 {
        let (mut at, mut parts) = (0, Vec::new());
        while at < area {
            let bytes = ((1 + rng.below(9)) * BLOCK).min(area - at);
            parts.push(Request { offset: at, bytes: bytes as u32, op: OpKind::Write });
            at += bytes;
        }
        while !parts.is_empty() {
            let request = parts.swap_remove(rng.below(parts.len() as u64) as usize);
            all.push(Submission { generation: pass, ..submission(0, request) });
        }
    }
    all
}

fn reads(area: u64) -> Vec<Submission> {
    let mut rng = Rng::new(5);
    (0..200)
        .map(|_| {
            let offset = rng.below(area / BLOCK) * BLOCK;
            let bytes = ((1 + rng.below(9)) * BLOCK).min(area - offset) as u32;
            submission(0, Request { offset, bytes, op: OpKind::Read })
        })
        .collect()
}

/// Asserts that all blocks that were read are from the second pass.
fn second_pass(request: Request, outcome: i32, data: &[u8]) {
    assert_eq!(outcome, request.bytes as i32, "{request:?}");
    if request.op == OpKind::Write {
        return;
    }
    for (block, at) in data.chunks_exact(BLOCK as usize).zip((request.offset..).step_by(4_096)) {
        let Reading::Whole(tag) = read(block, at, 9) else { panic!("{:?}", read(block, at, 9)) };
        assert_eq!((tag.offset, tag.generation), (at, 2));
    }
}

fn arrays() -> Vec<(Raid, u32)> {
    vec![(Raid::Raid1, 2), (Raid::Raid1, 3), (Raid::Raid5, 3), (Raid::Raid5, 5)]
}

#[test]
fn every_engine_reads_what_it_wrote_and_the_legs_agree_and_one_may_fail() {
    for (raid, count) in arrays() {
        for info in engines() {
            let files = legs(count);
            let area = Volume::new(&spec(raid, None), count, LEG).size();
            let on = |failed: Option<u32>, files: &[File], requests: &[Submission]| {
                let shared = SharedArray::new(&spec(raid, failed), count, LEG, false);
                let on = On {
                    files,
                    shared: Arc::new(shared),
                    rebuilds: false,
                    max_bytes: 9 * BLOCK as u32,
                    work: &mut |engine| engine.drive(requests, &mut second_pass),
                };
                visit_engine(info.name, on).expect("a real engine")
            };
            let features = on(None, &files, &writes(area, 1));
            assert!(features.iter().any(|it| it.starts_with("RAID ")), "{features:?}");
            on(None, &files, &reads(area));
            assert!(agree(raid, &files), "{raid:?} of {count} by {:?}", info.name);
            for failed in 0..count {
                on(Some(failed), &files, &reads(area));
            }
            // Writes with a failed leg, whose bytes do not change.
            let before = content(&files[1]);
            on(Some(1), &files, &writes(area, 2));
            on(Some(1), &files, &reads(area));
            assert!(content(&files[1]) == before, "the failed leg is not touched");
        }
    }
}

#[test]
fn jobs_on_one_array_write_its_stripes_in_turn_beside_a_rebuild_and_the_legs_agree() {
    for (raid, count) in arrays() {
        for info in engines() {
            let files = legs(count);
            let area = Volume::new(&spec(raid, None), count, LEG).size();
            write_all(&files[1], &vec![0xee; LEG as usize], 0).expect("a leg");
            let shared = Arc::new(SharedArray::new(&spec(raid, Some(1)), count, LEG, true));
            let on = |rebuilds: bool, requests: &[Submission]| {
                let on = On {
                    files: &files,
                    shared: Arc::clone(&shared),
                    rebuilds,
                    max_bytes: 9 * BLOCK as u32,
                    work: &mut |engine| {
                        engine.drive(requests, &mut |request, outcome, _| {
                            assert_eq!(outcome, request.bytes as i32);
                        });
                    },
                };
                visit_engine(info.name, on).expect("a real engine");
            };
            let steps: Vec<Submission> = (0..LEG / CHUNK)
                .map(|step| {
                    let (offset, bytes) = (step * CHUNK, CHUNK as u32);
                    submission(0, Request { offset, bytes, op: OpKind::Write })
                })
                .collect();
            std::thread::scope(|scope| {
                for seed in 0..3 {
                    let requests = writes(area, seed);
                    let on = &on;
                    scope.spawn(move || on(false, &requests));
                }
                scope.spawn(|| on(true, &steps));
            });
            assert!(agree(raid, &files), "{raid:?} of {count} by {:?}", info.name);
            let state = shared.rebuild();
            assert_eq!((state.rebuilt, state.written), (LEG, LEG));
            let sources = if raid == Raid::Raid1 { 1 } else { u64::from(count) - 1 };
            assert_eq!(state.read.iter().sum::<u64>(), sources * LEG);
            assert_eq!(state.read[1], 0);
        }
    }
}

#[test]
fn a_leg_that_refuses_writes_fails_the_request_and_one_that_ends_early_makes_it_short() {
    for info in engines() {
        let mut files = legs(3);
        files[2] = read_only(&files[2]);
        let shared = || Arc::new(SharedArray::new(&spec(Raid::Raid5, None), 3, LEG, false));
        let mut outcomes = Vec::new();
        let mut on = |files: &[File], op| {
            let request = [submission(0, Request { offset: 0, bytes: 2 * CHUNK as u32, op })];
            let on = On {
                files,
                shared: shared(),
                rebuilds: false,
                max_bytes: 2 * CHUNK as u32,
                work: &mut |engine| {
                    engine.drive(&request, &mut |_, outcome, _| outcomes.push(outcome));
                },
            };
            visit_engine(info.name, on).expect("a real engine");
        };
        on(&files, OpKind::Write);
        files[1].set_len(100).expect("a length");
        on(&files, OpKind::Read);
        assert_eq!(outcomes, [NOT_WRITABLE, CHUNK as i32 + 100], "{:?}", info.name);
    }
}

/// RAID 0 on real files has its own mapping, because its loop must not allocate. It matches the volume's.
#[test]
fn chunks_of_a_stripe_lie_where_the_volume_puts_them() {
    for (chunk, disks) in [(512, 2), (4_096, 3), (96 << 10, 7)] {
        let layout = StripeLayout::new(chunk, disks);
        let chunk_bytes = u64::from(chunk);
        let spec = VolumeSpec { raid: Raid::Raid0, chunk_bytes, ..VolumeSpec::default() };
        let mut volume = Volume::new(&spec, disks as u32, 1 << 30);
        let (mut rng, mut plan) = (Rng::new(4), Plan::default());
        for _ in 0..2_000 {
            let offset = rng.below(volume.size() - 1);
            volume.plan(OpKind::Read, offset, 1, &[DiskLoad::default(); 8], &mut plan);
            let Piece { disk, offset: on_disk, .. } = plan.pieces[0];
            let place = layout.place(offset);
            assert_eq!((place.file, place.offset), (disk, on_disk), "{layout:?} {offset}");
        }
    }
}
