//! One conformance suite over every engine of the table that does I/O: the same file gives the
//! same bytes and checksum, each request completes exactly once, errors and short transfers come
//! out as they are.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use engine::{
    Completion, ENGINES, Engine, EngineVisitor, OpenEngine, Setup, Submission, UringEngine,
    visit_engine,
};
use record::{Bytes, OpKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use workload::{Request, RequestStream, Spec};

const BLOCK: u32 = 4_096;
const BLOCKS: u64 = 64;

fn setup(file: &File, depth: u32, writes: bool) -> Setup {
    Setup { file: file.as_raw_fd(), depth, max_bytes: BLOCK, reads: true, writes, data_seed: 1 }
}

fn patterned_file() -> File {
    let file = tempfile::tempfile().unwrap();
    for block in 0..BLOCKS {
        let bytes: Vec<u8> = (0..BLOCK).map(|i| (i as u64 * 7 + block * 13) as u8).collect();
        file.write_all_at(&bytes, block * u64::from(BLOCK)).unwrap();
    }
    file
}

/// Carries the requests out `depth` at a time; hands each completion over with its data.
fn drive<E: OpenEngine>(
    engine: &mut E,
    depth: u32,
    requests: &[Request],
    mut each: impl FnMut(Request, Completion, &[u8]),
) {
    let mut slots: BTreeMap<u32, Request> = BTreeMap::new();
    let mut free: Vec<u32> = (0..depth).collect();
    let mut queue = requests.iter();
    let mut done = Vec::new();
    loop {
        let mut batch = Vec::new();
        while let Some(&slot) = free.last() {
            let Some(&request) = queue.next() else { break };
            free.pop();
            assert!(slots.insert(slot, request).is_none());
            batch.push(Submission { request, slot });
        }
        engine.prepare(&batch);
        if slots.is_empty() {
            return;
        }
        done.clear();
        engine.wait(1, depth, None, &mut done).unwrap();
        assert!(!done.is_empty(), "wait returned without what was waited for");
        for completion in &done {
            let request = slots.remove(&completion.slot).expect("each completes exactly once");
            let bytes = usize::try_from(completion.outcome).unwrap_or(0);
            each(request, *completion, engine.data(completion.slot, bytes));
            free.push(completion.slot);
        }
    }
}

fn checksum(sum: u64, request: &Request, data: &[u8]) -> u64 {
    let own = data.iter().fold(request.offset, |sum, &byte| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte))
    });
    // Commutative, since engines complete in different orders.
    sum.wrapping_add(own)
}

struct ReadAll<'a>(&'a File, u32, &'a [Request]);

impl EngineVisitor for ReadAll<'_> {
    type Output = (u64, u64);
    fn visit<E: OpenEngine>(self) -> (u64, u64) {
        let mut engine = E::open(&setup(self.0, self.1, false)).unwrap();
        let (mut bytes, mut sum) = (0, 0);
        drive(&mut engine, self.1, self.2, |request, completion, data| {
            assert_eq!(completion.outcome, BLOCK as i32);
            bytes += data.len() as u64;
            sum = checksum(sum, &request, data);
        });
        (bytes, sum)
    }
}

#[test]
fn every_engine_reads_the_same_bytes_for_the_same_seed() {
    let file = patterned_file();
    let workload = Spec::default().build(Bytes(BLOCKS * u64::from(BLOCK))).unwrap();
    let mut requests = vec![Request { offset: 0, bytes: 0, op: OpKind::Read }; 500];
    RequestStream::new(&workload, 42, 0).fill(&mut requests);
    let expected = requests.iter().fold(0, |sum, request| {
        let mut data = vec![0; BLOCK as usize];
        file.read_exact_at(&mut data, request.offset).unwrap();
        checksum(sum, request, &data)
    });
    for info in ENGINES.iter().filter(|info| info.does_io) {
        for depth in [1, 7, 32] {
            let read = visit_engine(info.name, ReadAll(&file, depth, &requests)).unwrap();
            assert_eq!(read, (500 * u64::from(BLOCK), expected), "{:?} depth {depth}", info.name);
        }
    }
}

struct WriteAll<'a>(&'a File, u32, &'a [Request]);

impl EngineVisitor for WriteAll<'_> {
    type Output = ();
    fn visit<E: OpenEngine>(self) {
        let mut engine = E::open(&setup(self.0, self.1, true)).unwrap();
        drive(&mut engine, self.1, self.2, |_, completion, _| {
            assert_eq!(completion.outcome, BLOCK as i32);
        });
    }
}

#[test]
fn every_engine_writes_data_that_neither_repeats_nor_compresses() {
    let requests: Vec<Request> = (0..BLOCKS)
        .map(|block| Request { offset: block * u64::from(BLOCK), bytes: BLOCK, op: OpKind::Write })
        .collect();
    for info in ENGINES.iter().filter(|info| info.does_io) {
        for depth in [1, 8] {
            let file = tempfile::tempfile().unwrap();
            visit_engine(info.name, WriteAll(&file, depth, &requests)).unwrap();
            let mut data = vec![0; (BLOCKS * u64::from(BLOCK)) as usize];
            file.read_exact_at(&mut data, 0).unwrap();
            assert_incompressible(&data);
        }
    }
}

/// No two blocks are equal, bytes are uniform, and within the window of a compressor (64 KiB) no
/// eight bytes come twice.
fn assert_incompressible(data: &[u8]) {
    let blocks: std::collections::BTreeSet<&[u8]> = data.chunks(BLOCK as usize).collect();
    assert_eq!(blocks.len() as u64, BLOCKS, "all blocks differ");
    let mut counts = [0u32; 256];
    data.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let mean = data.len() as f64 / 256.0;
    let chi_square: f64 =
        counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum();
    assert!(chi_square < 400.0, "bytes are uniform, chi-square {chi_square}");
    for window in data.chunks(64 << 10) {
        let words: std::collections::BTreeSet<&[u8]> = window.chunks(8).collect();
        assert_eq!(words.len() * 8, window.len(), "a window repeats itself");
    }
}

struct Outcomes<'a>(&'a File, &'a [Request], bool);

impl EngineVisitor for Outcomes<'_> {
    type Output = Vec<i32>;
    fn visit<E: OpenEngine>(self) -> Vec<i32> {
        let mut engine = E::open(&setup(self.0, 1, self.2)).unwrap();
        let mut outcomes = Vec::new();
        drive(&mut engine, 1, self.1, |_, completion, _| outcomes.push(completion.outcome));
        outcomes
    }
}

#[test]
fn every_engine_reports_short_reads_and_errors_as_they_are() {
    let file = patterned_file();
    file.set_len(BLOCKS * u64::from(BLOCK) - 100).unwrap();
    let at = |offset, op| Request { offset, bytes: BLOCK, op };
    let reads = [at((BLOCKS - 1) * 4096, OpKind::Read), at(BLOCKS * 4096, OpKind::Read)];
    let read_only = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap();
    for info in ENGINES.iter().filter(|info| info.does_io) {
        let short = visit_engine(info.name, Outcomes(&file, &reads, false)).unwrap();
        assert_eq!(short, [BLOCK as i32 - 100, 0], "{:?}", info.name);
        let write = [at(0, OpKind::Write)];
        let refused = visit_engine(info.name, Outcomes(&read_only, &write, true)).unwrap();
        assert_eq!(refused, [-9], "{:?}: EBADF for a write through a read-only file", info.name);
    }
}

#[test]
fn twenty_rings_after_one_another_on_one_thread_are_all_registered() {
    let file = patterned_file();
    for _ in 0..20 {
        let engine = UringEngine::open(&setup(&file, 4, false)).unwrap();
        let features = engine.features();
        assert!(features.iter().any(|name| name == "registered ring"), "{features:?}");
    }
}

#[test]
fn a_wait_with_a_deadline_ends_at_it_when_nothing_completes() {
    use engine::{Clock, MonotonicClock};
    let (reader, _writer) = std::io::pipe().unwrap();
    let setup = Setup {
        file: reader.as_raw_fd(),
        depth: 1,
        max_bytes: BLOCK,
        reads: true,
        writes: false,
        data_seed: 1,
    };
    let mut engine = UringEngine::open(&setup).unwrap();
    let request = Request { offset: 0, bytes: BLOCK, op: OpKind::Read };
    engine.prepare(&[Submission { request, slot: 0 }]);
    let start = MonotonicClock.now();
    let deadline = start.plus(record::Nanos(20_000_000));
    let mut done = Vec::new();
    engine.wait(1, 1, Some(deadline), &mut done).unwrap();
    assert!(done.is_empty() && MonotonicClock.now() >= deadline);
}
