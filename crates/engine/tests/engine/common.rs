//! A file with a pattern, a loop that drives an engine, and tests in a process of their own.

use engine::{Completion, ENGINES, EngineInfo, OpenEngine, conformance};
use record::EngineName;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::{Command, Output};
use workload::Request;

pub(crate) use conformance::{BLOCK, BLOCKS, LENGTH, fill, read_at, setup, submission};

/// The engines that reach a target, and whose system calls there are: qemu-user has neither io_uring nor
/// io_submit.
pub(crate) fn engines() -> impl Iterator<Item = &'static EngineInfo> {
    let emulated = testkit::emulator().is_some();
    let rings = [EngineName::IoUring, EngineName::Libaio];
    ENGINES.iter().filter(move |info| {
        info.name != EngineName::Null && !(emulated && rings.contains(&info.name))
    })
}

pub(crate) fn patterned_file() -> File {
    let file = tempfile::tempfile().unwrap();
    fill(&file).unwrap();
    file
}

/// The same file, open for reading only.
pub(crate) fn read_only(file: &File) -> File {
    File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).unwrap()
}

/// As [`conformance::drive`], of an engine that keeps the contract.
pub(crate) fn drive<E: OpenEngine>(
    engine: &mut E,
    depth: u32,
    requests: &[Request],
    each: impl FnMut(Request, Completion, &[u8]),
) {
    conformance::drive(engine, depth, requests, each).unwrap();
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
    if let Some(emulator) = testkit::emulator() {
        words.extend(emulator.split_whitespace().map(Into::into));
    }
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
