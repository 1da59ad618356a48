//! Tests devices that lie below an engine: whatever happens to a write that was reported as complete,
//! reading back finds it and names it.

use crate::common::{file_workload, full_file, has, real_on};
use engine::{
    Completion, Engine, EngineError, OpenEngine, Setup, Submission, SyncEngine, Wait, read_all,
    write_all,
};
use record::{BlockFault, Data, EngineName, FindingCode, Nanos, Pattern, Trial};
use std::fs::File;
use workload::Request;

const BLOCK: usize = 4_096;
const BLOCKS: usize = 64;

/// What happens to a write.
#[derive(Clone, Copy, Debug)]
enum Lie {
    None,
    /// It never arrives.
    Dropped,
    /// It goes to the block of the previous write.
    Elsewhere,
    /// Its first half arrives.
    Half,
}

/// Executes requests and then changes the file without their knowledge.
struct Lying {
    inner: SyncEngine,
    file: File,
    script: fn(usize) -> Lie,
    writes: usize,
    /// The request in flight, and the previous contents of its block.
    now: Option<(Request, Vec<u8>)>,
    before: Option<Request>,
}

impl Lying {
    fn block(&self, request: &Request) -> Vec<u8> {
        let mut content = vec![0; BLOCK];
        read_all(&self.file, &mut content, request.offset).unwrap();
        content
    }

    fn lie(&mut self) {
        let Some((request, old)) = self.now.take() else { return };
        self.writes += 1;
        let (lie, new) = ((self.script)(self.writes), self.block(&request));
        let put = |content: &[u8], offset: u64| write_all(&self.file, content, offset).unwrap();
        match (lie, self.before) {
            (Lie::None, _) | (Lie::Elsewhere, None) => {}
            (Lie::Dropped, _) => put(&old, request.offset),
            (Lie::Half, _) => put(&old[BLOCK / 2..], request.offset + (BLOCK / 2) as u64),
            (Lie::Elsewhere, Some(other)) => {
                put(&old, request.offset);
                put(&new, other.offset);
            }
        }
        self.before = Some(request);
    }
}

impl Engine for Lying {
    fn prepare(&mut self, requests: &[Submission]) {
        assert!(requests.len() <= 1, "these runs have a depth of one");
        if let Some(submission) = requests.first() {
            self.now = Some((submission.request, self.block(&submission.request)));
        }
        self.inner.prepare(requests);
    }

    fn flush(&mut self, slot: u32, kind: record::FlushKind) {
        self.inner.flush(slot, kind);
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let before = done.len();
        self.inner.wait(ask, done)?;
        if done.len() > before {
            self.lie();
        }
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        self.inner.features()
    }
}

/// Writes each block twice, in order, with the lies from `script`.
fn run(script: fn(usize) -> Lie) -> Trial {
    let file = full_file(BLOCKS * BLOCK);
    let behind = file.try_clone().unwrap();
    let workload = file_workload((BLOCKS * BLOCK) as u64, |spec| {
        spec.asked.engine = EngineName::Sync;
        spec.asked.read_percent = 0;
        spec.asked.pattern = Pattern::Sequential;
        spec.asked.data = Data::Tagged;
        spec.asked.stop.passes = Some(2);
        spec.asked.runtime_ns = Nanos(20_000_000_000);
    });
    let open = move |_: u32, setup: &Setup| {
        let inner = SyncEngine::open(setup)?;
        let file = behind.try_clone().unwrap();
        Ok(Lying { inner, file, script, writes: 0, now: None, before: None })
    };
    real_on(file, &workload, open).unwrap()
}

fn faults(trial: &Trial) -> [u64; 5] {
    let result = trial.result.verify.as_ref().unwrap();
    [result.good, result.lost, result.misplaced, result.torn, result.stale]
}

#[test]
fn an_honest_device_has_no_bad_block() {
    let trial = run(|_| Lie::None);
    assert_eq!(faults(&trial), [BLOCKS as u64, 0, 0, 0, 0]);
    assert!(!has(&trial, FindingCode::DataCorrupt));
}

#[test]
fn a_block_whose_writes_never_arrive_is_lost() {
    // The tenth write of both passes goes to one block.
    let trial = run(|write| if write % BLOCKS == 10 { Lie::Dropped } else { Lie::None });
    assert_eq!(faults(&trial), [63, 1, 0, 0, 0]);
    assert!(has(&trial, FindingCode::DataCorrupt) && !trial.clean());
}

#[test]
fn a_block_whose_last_write_never_arrives_is_stale() {
    let trial = run(|write| if write == BLOCKS + 10 { Lie::Dropped } else { Lie::None });
    assert_eq!(faults(&trial), [63, 0, 0, 0, 1]);
    let bad = &trial.result.verify.as_ref().unwrap().bad[0];
    assert_eq!(bad.fault, BlockFault::Stale);
    assert!(bad.detail.contains("expected write 74"), "{}", bad.detail);
    assert!(bad.detail.contains("the older write 10"), "{}", bad.detail);
}

#[test]
fn a_write_that_goes_elsewhere_is_misplaced_there_and_missed_where_it_should_be() {
    let trial = run(|write| if write == BLOCKS + 10 { Lie::Elsewhere } else { Lie::None });
    assert_eq!(faults(&trial), [62, 0, 1, 0, 1]);
    assert!(has(&trial, FindingCode::DataCorrupt));
}

#[test]
fn a_write_of_which_half_arrives_is_torn() {
    let trial = run(|write| if write == BLOCKS + 10 { Lie::Half } else { Lie::None });
    assert_eq!(faults(&trial), [63, 0, 0, 1, 0]);
    let detail = &trial.result.verify.as_ref().unwrap().bad[0].detail;
    assert!(detail.contains("sectors 0 to 3 of write 74, sectors 4 to 7 of write 10"), "{detail}");
}
