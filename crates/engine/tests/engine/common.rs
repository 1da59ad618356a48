//! A file with a pattern, a loop that drives an engine, and tests in a process of their own.

use engine::{Completion, ENGINES, EngineInfo, OpenEngine, Setup, Submission, Wait};
use record::{EngineName, OpKind};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::process::{Command, Output};
use workload::Request;

pub(crate) const BLOCK: u32 = 4_096;
pub(crate) const BLOCKS: u64 = 64;
pub(crate) const LENGTH: u64 = BLOCKS * BLOCK as u64;

/// The engines that reach a target.
pub(crate) fn engines() -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().filter(|info| info.name != EngineName::Null)
}

pub(crate) fn setup(file: &File, depth: u32, writes: bool) -> Setup {
    let files = vec![file.as_raw_fd()];
    Setup { writes, data_seed: 1, ..Setup::reading(files, depth, BLOCK) }
}

pub(crate) fn fill(file: &File) {
    for block in 0..BLOCKS {
        let bytes: Vec<u8> = (0..BLOCK).map(|i| (u64::from(i) * 7 + block * 13) as u8).collect();
        file.write_all_at(&bytes, block * u64::from(BLOCK)).unwrap();
    }
}

pub(crate) fn patterned_file() -> File {
    let file = tempfile::tempfile().unwrap();
    fill(&file);
    file
}

/// The same file, open for reading only.
pub(crate) fn read_only(file: &File) -> File {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

pub(crate) fn read_at(offset: u64) -> Request {
    Request { offset, bytes: BLOCK, op: OpKind::Read }
}

pub(crate) fn submission(slot: u32, request: Request) -> Submission {
    Submission { request, slot, generation: 0 }
}

/// Carries the requests out `depth` at a time; hands each completion over with its data.
pub(crate) fn drive<E: OpenEngine>(
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
            batch.push(submission(slot, request));
        }
        engine.prepare(&batch);
        if slots.is_empty() {
            return;
        }
        done.clear();
        engine.wait(Wait::new(1, depth), &mut done).unwrap();
        assert!(!done.is_empty(), "wait returned without what was waited for");
        for completion in &done {
            let request = slots.remove(&completion.slot).expect("each completes exactly once");
            let bytes = usize::try_from(completion.outcome).unwrap_or(0);
            each(request, *completion, engine.data(completion.slot, bytes));
            free.push(completion.slot);
        }
    }
}

/// The bytes of many requests, whatever their order: engines complete in different ones.
pub(crate) fn checksum(sum: u64, request: &Request, data: &[u8]) -> u64 {
    let own = data.iter().fold(request.offset, |sum, &byte| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte))
    });
    sum.wrapping_add(own)
}

const CHILD: &str = "HALFPOWER_TEST_CHILD";

/// Whether this process was started by [`in_child`].
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs a test of this binary in a process of its own, through a command that changes what the
/// process may do (empty: directly).
pub(crate) fn in_child(test: &str, through: &[&str]) -> Output {
    let program = std::env::current_exe().unwrap();
    let mut words: Vec<std::ffi::OsString> = through.iter().map(Into::into).collect();
    words.push(program.into());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["--exact", test, "--nocapture"]).env(CHILD, "1");
    command.output().unwrap()
}

/// As [`in_child`], for a test that must pass there.
pub(crate) fn passes_in_child(test: &str, through: &[&str]) {
    let output = in_child(test, through);
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    // A skip counts as passed for cargo: what the child left out, nobody would have tested.
    let done = text.contains("1 passed") && !text.contains("SKIP ");
    assert!(output.status.success() && done, "{text}");
}
