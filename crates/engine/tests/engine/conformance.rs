//! One suite for every engine: the same file returns the same bytes and checksum, each request completes
//! exactly once, errors and short transfers are reported as they are, waits end when they should, and an
//! engine can be dropped at any moment.

use crate::common::{
    BLOCK, BLOCKS, LENGTH, checksum, content, drive, engines, patterned_file, read_at, setup,
};
use crate::faulty::{Fault, FaultScript, Faulty};
use crate::platform::{NOT_WRITABLE, read_only, scratch_file};
use engine::conformance::{
    Violation, check, reads_what_is_there, reports_short_reads, writes_what_it_says,
};
use engine::{
    EngineInfo, EngineVisitor, NullEngine, OpenEngine, SyncEngine, add_engines, engine_elsewhere,
    engine_info, engines as engines_of_build, engines_elsewhere, read_all, visit_engine,
};
use record::{Bytes, EngineName, OpKind, OwnEngineName};
use std::collections::BTreeSet;
use std::fs::File;
use workload::{Request, RequestStream, Spec};

pub(crate) struct ReadAll<'a>(pub(crate) &'a File, pub(crate) u32, pub(crate) &'a [Request]);

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

/// 500 random reads, and their expected checksum.
pub(crate) fn random_reads(file: &File) -> (Vec<Request>, u64) {
    let workload = Spec::default().build(Bytes(LENGTH)).unwrap();
    let mut requests = vec![read_at(0); 500];
    RequestStream::new(&workload, 42, 0).fill(&mut requests);
    let expected = requests.iter().fold(0, |sum, request| {
        let mut data = vec![0; BLOCK as usize];
        read_all(file, &mut data, request.offset).unwrap();
        checksum(sum, request, &data)
    });
    (requests, expected)
}

#[test]
fn every_engine_reads_the_same_bytes_for_the_same_seed() {
    let file = patterned_file();
    let (requests, expected) = random_reads(&file);
    for info in engines() {
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
    for info in engines() {
        for depth in [1, 8] {
            let file = scratch_file();
            file.set_len(LENGTH).unwrap();
            visit_engine(info.name, WriteAll(&file, depth, &requests)).unwrap();
            assert_incompressible(&content(&file));
        }
    }
}

/// Asserts that no two blocks are equal, that bytes are uniform, and that no eight bytes repeat within a
/// compressor's window (64 KiB).
fn assert_incompressible(data: &[u8]) {
    let blocks: BTreeSet<&[u8]> = data.chunks(BLOCK as usize).collect();
    assert_eq!(blocks.len() as u64, BLOCKS, "all blocks differ");
    let mut counts = [0u32; 256];
    data.iter().for_each(|&byte| counts[usize::from(byte)] += 1);
    let mean = data.len() as f64 / 256.0;
    let chi_square: f64 =
        counts.iter().map(|&count| (f64::from(count) - mean).powi(2) / mean).sum();
    assert!(chi_square < 400.0, "bytes are uniform, chi-square {chi_square}");
    for window in data.chunks(64 << 10) {
        let words: BTreeSet<&[u8]> = window.chunks(8).collect();
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
    file.set_len(LENGTH - 100).unwrap();
    let reads = [read_at(LENGTH - u64::from(BLOCK)), read_at(LENGTH)];
    let write = [Request { op: OpKind::Write, ..read_at(0) }];
    for info in engines() {
        let short = visit_engine(info.name, Outcomes(&file, &reads, false)).unwrap();
        assert_eq!(short, [BLOCK as i32 - 100, 0], "{:?}", info.name);
        let refused = visit_engine(info.name, Outcomes(&read_only(&file), &write, true)).unwrap();
        assert_eq!(refused, [NOT_WRITABLE], "{:?}: a write through a read-only file", info.name);
    }
}

/// The suite that the author of a custom engine can run.
struct Suite<'a>(&'a File);

impl EngineVisitor for Suite<'_> {
    type Output = Result<(), Violation>;
    fn visit<E: OpenEngine>(self) -> Self::Output {
        check::<E>(self.0)
    }
}

#[test]
fn every_engine_passes_the_suite_of_the_contract() {
    let file = scratch_file();
    for info in engines() {
        let passed = visit_engine(info.name, Suite(&file)).unwrap();
        passed.unwrap_or_else(|violation| panic!("{:?}: {violation}", info.name));
    }
}

/// The suite detects an engine that loses, repeats or invents completions.
#[test]
fn an_engine_that_breaks_the_contract_does_not_pass_the_suite() {
    let file = patterned_file();
    let violation = reads_what_is_there::<Faulty<SyncEngine, SomeFaults>>(&file, 4).unwrap_err();
    assert!(matches!(violation, Violation::Wrong(_)), "{violation}");
    // The null engine completes immediately without I/O: no data, no short reads, nothing written.
    assert!(check::<NullEngine>(&file).is_err());
    assert!(writes_what_it_says::<NullEngine>(&file, 1).is_err());
    assert!(reports_short_reads::<NullEngine>(&file).is_err());
}

/// The third request fails, the fifth is short, the seventh is late.
#[derive(Default)]
struct SomeFaults;

impl FaultScript for SomeFaults {
    fn fault(&mut self, index: u64, _request: &Request) -> Fault {
        match index {
            2 => Fault::Outcome(-5),
            4 => Fault::Outcome(512),
            6 => Fault::AfterOthers(8),
            _ => Fault::None,
        }
    }
}

struct WithFaults<'a>(&'a File);

impl EngineVisitor for WithFaults<'_> {
    type Output = Vec<(u64, i32)>;
    fn visit<E: OpenEngine>(self) -> Self::Output {
        let mut engine = Faulty::<E, SomeFaults>::open(&setup(self.0, 4, false)).unwrap();
        let requests: Vec<Request> = (0..12).map(|block| read_at(block * 4_096)).collect();
        let mut outcomes = Vec::new();
        drive(&mut engine, 4, &requests, |request, completion, _| {
            outcomes.push((request.offset / 4_096, completion.outcome));
        });
        outcomes
    }
}

#[test]
fn every_engine_can_be_made_to_fail_by_a_script() {
    let file = patterned_file();
    for info in engines() {
        let outcomes = visit_engine(info.name, WithFaults(&file)).unwrap();
        assert_eq!(outcomes.len(), 12, "{:?}", info.name);
        for (index, outcome) in &outcomes {
            let expected = [(2, -5), (4, 512)].into_iter().find(|(at, _)| at == index);
            assert_eq!(*outcome, expected.map_or(BLOCK as i32, |it| it.1), "{:?}", info.name);
        }
        let late = outcomes.iter().position(|(index, _)| *index == 6);
        assert_eq!(late, Some(11), "{:?}: {outcomes:?}", info.name);
    }
}

#[test]
fn the_table_tells_what_the_engines_are() {
    let file = patterned_file();
    for info in engine::ENGINES {
        let outcome = visit_engine(info.name, Outcomes(&file, &[read_at(0)], false));
        assert_eq!(outcome, Some(vec![BLOCK as i32]), "{:?}", info.name);
        assert!(info.max_depth >= 1 && !info.help.is_empty() && !info.caches.is_empty());
    }
    assert!(visit_engine(EngineName::Sim, Outcomes(&file, &[], false)).is_none());
}

#[test]
fn an_engine_of_another_system_is_known_and_something_here_comes_close_to_it() {
    let file = patterned_file();
    let mut elsewhere = 0;
    for name in engines_elsewhere() {
        assert!(visit_engine(name, Outcomes(&file, &[read_at(0)], false)).is_none());
        let (system, instead) = engine_elsewhere(name).unwrap();
        assert!(engine_info(instead).is_some() && !system.is_empty(), "{name:?}");
        elsewhere += 1;
    }
    assert_eq!(elsewhere, 3);
    assert!(engine::ENGINES.iter().all(|info| engine_elsewhere(info.name).is_none()));
}

#[test]
fn an_engine_of_a_build_takes_no_name_that_is_there_already() {
    let info = |name: EngineName| EngineInfo { name, ..engine::ENGINES[0] };
    let own = info(EngineName::Own(OwnEngineName::new("own")));
    for taken in [vec![info(EngineName::Sync)], vec![own, own], vec![info(EngineName::Sim)]] {
        let problem = add_engines(taken).unwrap_err();
        assert!(problem.contains("another name"), "{problem}");
    }
    add_engines(vec![own]).unwrap();
    assert!(
        engine_info(own.name).is_some() && engines_of_build().count() == engine::ENGINES.len() + 1
    );
    assert!(add_engines(Vec::new()).is_err(), "once");
    assert!(visit_engine(own.name, Suite(&patterned_file())).is_none());
}
