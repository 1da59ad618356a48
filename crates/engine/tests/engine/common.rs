//! A file with a pattern, and a loop that runs requests on an engine.

use crate::platform::{has_calls_of, scratch_file};
use engine::{Completion, ENGINES, EngineInfo, OpenEngine, conformance, read_all};
use record::EngineName;
use std::fs::File;
use workload::Request;

pub(crate) use conformance::{BLOCK, BLOCKS, LENGTH, fill, read_at, setup, submission};

/// The engines for real targets whose system calls exist on this machine.
pub(crate) fn engines() -> impl Iterator<Item = &'static EngineInfo> {
    ENGINES.iter().filter(|info| info.name != EngineName::Null && has_calls_of(info.name))
}

pub(crate) fn patterned_file() -> File {
    let file = scratch_file();
    fill(&file).unwrap();
    file
}

/// All bytes of a file.
pub(crate) fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    read_all(file, &mut bytes, 0).unwrap();
    bytes
}

/// Like [`conformance::drive`], for an engine that satisfies the contract.
pub(crate) fn drive<E: OpenEngine>(
    engine: &mut E,
    depth: u32,
    requests: &[Request],
    each: impl FnMut(Request, Completion, &[u8]),
) {
    conformance::drive(engine, depth, requests, each).unwrap();
}

/// A checksum of many requests that does not depend on their order, because engines complete in different
/// orders.
pub(crate) fn checksum(sum: u64, request: &Request, data: &[u8]) -> u64 {
    let own = data.iter().fold(request.offset, |sum, &byte| {
        sum.wrapping_mul(0x0100_0000_01b3).wrapping_add(u64::from(byte))
    });
    sum.wrapping_add(own)
}
