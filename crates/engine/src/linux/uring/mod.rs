//! Linux io_uring, set up like the fastest known programs that use it.
//!
//! Each job has one ring on its own thread (SINGLE_ISSUER, DEFER_TASKRUN, NO_SQARRAY if the kernel supports
//! them), one registered buffer, and registered files and ring descriptor. One system call both submits and
//! waits. Options that the kernel refuses are not used, and the features list what it granted.
//!
//! Two options are off by default. Polled completion (IOPOLL) needs O_DIRECT and a driver with polled queues.
//! SQPOLL passes the submissions to a kernel thread (`iou-sqp-PID`, part of this process and of its CPU
//! time), which spins for [`ring::SQ_IDLE_MS`] after the last one. Rejected: linked and multishot requests
//! (they change what is measured).

mod grant;
mod locked;
mod ring;

use crate::linux::files;
use crate::transport::{self, DRAIN};
use crate::{
    ACTS, Act, Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport,
    Wait,
};
use grant::Options;
use record::Instead;
use ring::{Entry, Ring};
use rustix::io::Errno;
use rustix::io_uring::{IoringOp, IoringSqeFlags};
use std::os::fd::RawFd;

/// Start of the feature line if the kernel refused to register the buffers.
pub const BUFFERS_NOT_REGISTERED: &str = "buffers not registered";

/// Makes the result of a NOP the length of its entry (linux/io_uring.h, IORING_NOP_INJECT_RESULT).
const NOP_INJECT_RESULT: u64 = 1;

/// Flushes only the data (linux/io_uring.h, IORING_FSYNC_DATASYNC).
const FSYNC_DATASYNC: u64 = 1;

/// The command of a discard (linux/blkdev.h, BLOCK_URING_CMD_DISCARD), since Linux 6.12.
const BLOCK_DISCARD: u64 = 0x1200;

/// Performs transfers through an io_uring; with `NOP`, through entries that do nothing.
#[derive(Debug)]
pub struct Uring<const NOP: bool> {
    ring: Ring,
    /// First word of an entry (opcode, flags, priority; descriptor zero), indexed by act.
    heads: [u64; ACTS],
    /// The descriptors of the files, shifted to their position in the first word.
    descriptors: Vec<u64>,
    in_flight: u32,
    notes: Vec<String>,
}

/// Whether this process may use io_uring.
///
/// # Errors
/// If the kernel refuses, with the cause and a remedy.
pub fn probe_uring() -> Result<(), EngineError> {
    Ring::new(1, Options::default()).map(|_| ())
}

impl<const NOP: bool> Transport for Uring<NOP> {
    fn open(setup: &Setup, most: u32, memory: Memory) -> Result<Self, EngineError> {
        let options = Options { polled: setup.polled, sqpoll: setup.sqpoll };
        let mut ring = Ring::new(most, options)?;
        let mut notes = Vec::new();
        let fixed_buffers = match ring.register_buffers(memory) {
            Ok(()) => {
                notes.push("registered buffers".to_owned());
                true
            }
            Err(errno) => {
                notes.push(locked::refusal(errno, memory.bytes));
                false
            }
        };
        let fixed_files = !setup.files.is_empty() && ring.register_files(&setup.files);
        if fixed_files {
            let plural = if setup.files.len() == 1 { "" } else { "s" };
            notes.push(format!("registered file{plural}"));
        }
        let heads = Act::ALL.map(|act| head::<NOP>(act, fixed_buffers, fixed_files));
        let descriptor = |(index, &fd): (usize, &RawFd)| {
            u64::from(if fixed_files { index as u32 } else { fd as u32 }) << 32
        };
        let mut descriptors: Vec<u64> = setup.files.iter().enumerate().map(descriptor).collect();
        if NOP {
            descriptors.resize(setup.files.len().max(1), 0);
        }
        let mut engine = Self { ring, heads, descriptors, in_flight: 0, notes };
        if NOP {
            engine.probe_nop()?;
        } else if setup.polled {
            engine.probe_polled(memory)?;
        } else if setup.instead == Some(Instead::Trim) && files::trim_act(setup)? == Act::Discard {
            engine.probe_discard()?;
        }
        Ok(engine)
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        let mut entry = Entry {
            head: self.heads[transfer.act as usize] | self.descriptors[transfer.file as usize],
            offset: transfer.offset,
            address: transfer.address as u64,
            length: u64::from(transfer.bytes),
            user_data: u64::from(transfer.tag),
            command_length: 0,
        };
        match transfer.act {
            _ if NOP => entry.length |= NOP_INJECT_RESULT << 32,
            Act::Read | Act::Write | Act::Fsync => {}
            Act::Fdatasync => entry.length |= FSYNC_DATASYNC << 32,
            Act::WriteOut => entry.length |= u64::from(files::WRITE_OUT) << 32,
            Act::PunchHole => {
                entry.address = transfer.bytes.into();
                entry.length = files::PUNCH_HOLE.bits().into();
            }
            Act::Discard => {
                entry.offset = BLOCK_DISCARD;
                entry.address = transfer.offset;
                entry.length = 0;
                entry.command_length = transfer.bytes.into();
            }
        }
        self.ring.push(entry);
        self.in_flight += 1;
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.ring.submit()
    }

    #[inline]
    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        let Wait { min, max, deadline } = ask;
        debug_assert!(min <= self.in_flight && min <= max, "cannot wait: no request is in flight");
        let mut got = 0;
        loop {
            self.ring.enter(min.saturating_sub(got), deadline)?;
            got += self.ring.reap(max - got, done);
            if got >= min || deadline.is_some_and(|end| MonotonicClock.now() >= end) {
                self.in_flight -= got;
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.in_flight -= self.ring.take_back();
        if self.in_flight == 0 {
            return true;
        }
        self.ring.cancel_all(DRAIN);
        let in_flight = self.in_flight;
        transport::drained(self, in_flight, MonotonicClock.now())
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.ring.features();
        features.extend(self.notes.iter().cloned());
        features
    }
}

impl<const NOP: bool> Uring<NOP> {
    /// Runs one transfer during the opening and returns its outcome.
    fn try_out(&mut self, transfer: Transfer) -> Result<i32, EngineError> {
        self.push(transfer);
        let mut done = Vec::with_capacity(1);
        self.wait(Wait::new(1, 1), &mut done)?;
        Ok(done[0].outcome)
    }

    /// Checks for NOP results, which an older kernel does not support.
    fn probe_nop(&mut self) -> Result<(), EngineError> {
        const BYTES: u32 = 512;
        let address = std::ptr::null_mut();
        let transfer =
            Transfer { address, offset: 0, bytes: BYTES, tag: 0, file: 0, act: Act::Read };
        if self.try_out(transfer)? == BYTES as i32 {
            return Ok(());
        }
        Err(EngineError::Unavailable {
            engine: "io_uring with NOP entries",
            cause: "a NOP cannot return a value before Linux 6.10".to_owned(),
            errno: Errno::OPNOTSUPP.into(),
            remedy: "update the kernel",
        })
    }

    /// Checks whether device and kernel support discards, with a discard of zero bytes. A device that
    /// supports them reports it as invalid.
    fn probe_discard(&mut self) -> Result<(), EngineError> {
        let (address, act) = (std::ptr::null_mut(), Act::Discard);
        let transfer = Transfer { address, offset: 0, bytes: 0, tag: 0, file: 0, act };
        if self.try_out(transfer)? != -Errno::OPNOTSUPP.raw_os_error() {
            return Ok(());
        }
        Err(EngineError::Unavailable {
            engine: "io_uring with discards",
            cause: "either the device does not support discards, or the kernel does not support \
                    them through io_uring (before 6.12)"
                .to_owned(),
            errno: Errno::OPNOTSUPP.into(),
            remedy: "use --ioengine sync or threads, which fail only if the device does not \
                     support discards",
        })
    }

    /// Checks for polled requests with a read of one block, because only the first request shows whether the
    /// target supports them. Other failures of this read are left to the run.
    fn probe_polled(&mut self, memory: Memory) -> Result<(), EngineError> {
        const BYTES: u32 = 4_096;
        let saved = self.heads;
        let fixed_files = saved[0] & file_flag() != 0;
        self.heads = [head::<NOP>(Act::Read, false, fixed_files); ACTS];
        let probe = memory.base.cast::<u8>();
        // SAFETY: the memory belongs to this job, is longer than a page, and nothing is in flight. The read
        // would replace data that is to be written, so the data is saved and restored.
        let kept = unsafe { std::slice::from_raw_parts(probe, BYTES as usize) }.to_vec();
        let transfer =
            Transfer { address: probe, offset: 0, bytes: BYTES, tag: 0, file: 0, act: Act::Read };
        let outcome = self.try_out(transfer);
        // SAFETY: as above; the read has completed.
        unsafe { std::ptr::copy_nonoverlapping(kept.as_ptr(), probe, kept.len()) };
        self.heads = saved;
        if outcome? != -Errno::OPNOTSUPP.raw_os_error() {
            return Ok(());
        }
        Err(EngineError::Unavailable {
            engine: "io_uring with polled completion",
            cause: "the target does not support polled requests: they need O_DIRECT, a file \
                    system that passes them on, and a driver with polled queues (for NVMe, the \
                    module parameter nvme.poll_queues)"
                .to_owned(),
            errno: Errno::OPNOTSUPP.into(),
            remedy: "omit --hipri",
        })
    }
}

/// The flag of a registered file, at its position in the first word.
fn file_flag() -> u64 {
    u64::from(IoringSqeFlags::FIXED_FILE.bits()) << 8
}

/// Opcode and flags of an entry.
fn head<const NOP: bool>(act: Act, fixed_buffers: bool, fixed_files: bool) -> u64 {
    if NOP {
        return IoringOp::Nop as u64;
    }
    let opcode = match (act, fixed_buffers) {
        (Act::Read, true) => IoringOp::ReadFixed,
        (Act::Write, true) => IoringOp::WriteFixed,
        (Act::Read, false) => IoringOp::Read,
        (Act::Write, false) => IoringOp::Write,
        (Act::Fsync | Act::Fdatasync, _) => IoringOp::Fsync,
        (Act::WriteOut, _) => IoringOp::SyncFileRange,
        (Act::PunchHole, _) => IoringOp::Fallocate,
        (Act::Discard, _) => IoringOp::UringCmd,
    };
    opcode as u64 | if fixed_files { file_flag() } else { 0 }
}
