//! ReadFileEx and WriteFileEx: the system calls a completion function on the thread that started the request,
//! while that thread is in an alertable wait (SleepEx).
//!
//! The function finds its queue through the structure's event field, which these calls leave to the caller.

use super::files::{Calls, OwnFiles};
use super::last_error;
use super::overlapped::{Records, carry_out_other, outcome, patience};
use crate::{
    Act, Clock, Completion, EngineError, Memory, MonotonicClock, Setup, SystemError, Transfer,
    Transport, Wait, transport,
};
use std::cell::UnsafeCell;
use std::mem::ManuallyDrop;
use std::os::windows::io::AsRawHandle;
use windows_sys::Win32::Storage::FileSystem::{ReadFileEx, WriteFileEx};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::SleepEx;

/// State shared by the completion function and the engine, on one thread. It does not move.
#[derive(Debug)]
struct Called {
    records: Records,
    /// Completions that have not been fetched, with room for all.
    over: UnsafeCell<Vec<Completion>>,
}

/// Performs transfers whose completions are function calls.
#[derive(Debug)]
pub struct ReadFileExCalls {
    files: OwnFiles,
    called: ManuallyDrop<Box<Called>>,
    /// Pushed transfers that are not submitted yet.
    pending: Vec<Transfer>,
    /// Transfers submitted and not yet returned.
    in_flight: u32,
}

/// The system calls this on the engine's thread, within SleepEx.
unsafe extern "system" fn completed(error: u32, bytes: u32, record: *mut OVERLAPPED) {
    // SAFETY: the structure belongs to the engine, and its event is the address of `Called`, which lives as
    // long as anything is in flight. Nothing else uses the queue during SleepEx.
    unsafe {
        let called = &*(*record).hEvent.cast::<Called>();
        let slot = called.records.tag(record);
        let outcome = match error {
            0 => bytes as i32,
            // The end-of-file error occurs only for reads.
            error => outcome(Act::Read, SystemError::new(error as i32)),
        };
        (*called.over.get()).push(Completion { slot, outcome });
    }
}

impl Transport for ReadFileExCalls {
    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        let over = UnsafeCell::new(Vec::with_capacity(most as usize));
        let called = Box::new(Called { records: Records::new(most), over });
        Ok(Self {
            files: OwnFiles::open(setup, "readfileex", Calls::Overlapped)?,
            called: ManuallyDrop::new(called),
            pending: Vec::with_capacity(most as usize),
            in_flight: 0,
        })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.pending.push(transfer);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        let called = std::ptr::from_ref::<Called>(&self.called).cast_mut().cast();
        for position in 0..self.pending.len() {
            let transfer = self.pending[position];
            let Transfer { address, bytes, act, tag, .. } = transfer;
            let file = self.files.handles[transfer.file as usize].as_raw_handle();
            let record = self.called.records.begin(&transfer, called);
            let begun = match act {
                // SAFETY: only the transfer uses the memory until it completes (the contract of `Transfer`),
                // and the structure is its own. The function uses only values that outlive it.
                Act::Read => unsafe { ReadFileEx(file, address, bytes, record, Some(completed)) },
                // SAFETY: as above.
                Act::Write => unsafe { WriteFileEx(file, address, bytes, record, Some(completed)) },
                _ => 0,
            };
            self.in_flight += 1;
            if begun != 0 {
                continue;
            }
            let outcome = match act {
                Act::Read | Act::Write => outcome(act, last_error()),
                _ => carry_out_other(file, act),
            };
            self.over().push(Completion { slot: tag, outcome });
        }
        self.pending.clear();
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.hand_over()?;
        let before = done.len();
        loop {
            let got = (done.len() - before) as u32;
            let there = self.over().len() as u32;
            let need = ask.min.saturating_sub(got + there).min(self.in_flight - there);
            let patience = patience(need, ask.deadline);
            // SAFETY: the functions called during the sleep use nothing that is borrowed here.
            unsafe { SleepEx(patience.milliseconds, 1) };
            let over = self.over();
            let count = over.len().min((ask.max - got) as usize);
            done.extend(over.drain(..count));
            self.in_flight -= count as u32;
            if (done.len() - before) as u32 >= ask.min || patience.over || self.in_flight == 0 {
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.pending.clear();
        self.files.call_off();
        let in_flight = self.in_flight;
        transport::drained(self, in_flight, MonotonicClock.now())
    }

    fn features(&self) -> Vec<String> {
        vec!["calls of ReadFileEx/WriteFileEx".to_owned()]
    }
}

impl ReadFileExCalls {
    /// Completions that have not been fetched.
    fn over(&mut self) -> &mut Vec<Completion> {
        // SAFETY: the functions that use it run only within SleepEx, where nothing borrows it.
        unsafe { &mut *self.called.over.get() }
    }
}

impl Drop for ReadFileExCalls {
    fn drop(&mut self) {
        // If something is still in flight, the structure and the queue stay allocated until the process ends.
        if self.in_flight == 0 {
            self.called.records.free();
            // SAFETY: nothing refers to it any more.
            unsafe { ManuallyDrop::drop(&mut self.called) };
        }
    }
}
