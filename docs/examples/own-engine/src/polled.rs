//! The engine: preadv2 with `RWF_HIPRI`, which asks the kernel to poll for the completion where the
//! device can. Everything but reads is done as by `sync`.

use halfpower::engine::{Act, Carrier, EngineError, PlainCalls, Setup, Transfer};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;
use std::os::fd::{BorrowedFd, RawFd};

/// Descriptors, and who does all but reads.
pub struct Polled {
    files: Vec<RawFd>,
    others: PlainCalls,
}

impl Carrier for Polled {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        Ok(Self { files: setup.files.clone(), others: PlainCalls::open(setup)? })
    }

    fn carry_out(&mut self, transfer: &Transfer) -> i32 {
        if transfer.act != Act::Read {
            return self.others.carry_out(transfer);
        }
        // SAFETY: descriptors of a setup outlive the engine.
        let file = unsafe { BorrowedFd::borrow_raw(self.files[transfer.file as usize]) };
        // SAFETY: the memory of a transfer is its own until it completes.
        let memory =
            unsafe { std::slice::from_raw_parts_mut(transfer.address, transfer.bytes as usize) };
        let mut parts = [IoSliceMut::new(memory)];
        loop {
            match preadv2(file, &mut parts, transfer.offset, ReadWriteFlags::HIPRI) {
                Err(Errno::INTR) => {}
                Ok(bytes) => return bytes as i32,
                Err(errno) => return -errno.raw_os_error(),
            }
        }
    }

    fn features(&self) -> Vec<String> {
        vec!["preadv2, RWF_HIPRI".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use halfpower::engine::{Direct, OneByOne, conformance};

    #[test]
    fn the_engine_keeps_the_contract() {
        let file = tempfile::tempfile().unwrap();
        conformance::check::<Direct<OneByOne<Polled>>>(&file).unwrap();
    }
}
