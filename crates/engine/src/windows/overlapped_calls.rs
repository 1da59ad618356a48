//! Overlapped calls as a transport: how transfers are submitted, awaited and cancelled. The engines differ
//! only in how the system reports completions ([`Ends`]).

use super::files::{Calls, OwnFiles};
use super::last_error;
use super::overlapped::{Records, Started, patience, start};
use crate::{
    Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    transport,
};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::HANDLE;

/// How the system reports completions.
pub(super) trait Ends: Sized + 'static {
    /// The engine's name on the command line.
    const ENGINE: &'static str;
    /// Its name in documents.
    const FEATURE: &'static str;
    /// Maximum transfers in flight that it supports.
    const MOST: u32 = u32::MAX;

    /// Prepares for at most `most` transfers on these files.
    fn open(files: &[OwnedHandle], most: u32) -> Result<Self, EngineError>;

    /// The event for the structure of a transfer with this tag.
    fn event(&self, tag: u32) -> HANDLE;

    /// Notes that the system has accepted the transfer with this tag.
    fn began(&mut self, tag: u32);

    /// Number of transfers in the system.
    fn in_flight(&self) -> u32;

    /// Appends between 1 and `max` completions. Waits for the first at most `milliseconds`.
    fn take(
        &mut self,
        records: &Records,
        max: u32,
        milliseconds: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError>;
}

/// Performs transfers by overlapped calls.
#[derive(Debug)]
pub struct OverlappedCalls<E> {
    files: OwnFiles,
    ends: E,
    records: Records,
    /// Pushed transfers that are not submitted yet.
    pending: Vec<Transfer>,
    /// Completions of transfers that finished at submission.
    over: Vec<Completion>,
    /// Whether the structures stay allocated until the process ends, because something is in flight.
    abandoned: bool,
}

/// Error for a failed system call of the engine.
pub(super) fn broken(call: &'static str) -> EngineError {
    EngineError::Broken { call, errno: last_error() }
}

impl<E: Ends> Transport for OverlappedCalls<E> {
    const MOST: u32 = E::MOST;

    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        if most > E::MOST {
            let (engine, available) = (E::ENGINE, E::MOST);
            return Err(EngineError::TooDeep { engine, asked: most, available });
        }
        let files = OwnFiles::open(setup, E::ENGINE, Calls::Overlapped)?;
        Ok(Self {
            ends: E::open(&files.handles, most)?,
            files,
            records: Records::new(most),
            pending: Vec::with_capacity(most as usize),
            over: Vec::with_capacity(most as usize),
            abandoned: false,
        })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.pending.push(transfer);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        for transfer in &self.pending {
            let file = self.files.handles[transfer.file as usize].as_raw_handle();
            let record = self.records.begin(transfer, self.ends.event(transfer.tag));
            match start(file, transfer, record) {
                Started::InFlight => self.ends.began(transfer.tag),
                Started::Over(outcome) => {
                    self.over.push(Completion { slot: transfer.tag, outcome });
                }
            }
        }
        self.pending.clear();
        Ok(())
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        self.hand_over()?;
        let before = done.len();
        let at_once = self.over.len().min(ask.max as usize);
        done.extend(self.over.drain(..at_once));
        loop {
            let (got, in_flight) = ((done.len() - before) as u32, self.ends.in_flight());
            let need = ask.min.saturating_sub(got).min(in_flight);
            let patience = patience(need, ask.deadline);
            if in_flight > 0 && got < ask.max {
                self.ends.take(&self.records, ask.max - got, patience.milliseconds, done)?;
            }
            let met = (done.len() - before) as u32 >= ask.min;
            if met || patience.over || self.ends.in_flight() == 0 {
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.pending.clear();
        self.over.clear();
        self.files.call_off();
        let in_flight = self.ends.in_flight();
        self.abandoned = !transport::drained(self, in_flight, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        vec![E::FEATURE.to_owned()]
    }
}

impl<E> Drop for OverlappedCalls<E> {
    fn drop(&mut self) {
        if !self.abandoned {
            self.records.free();
        }
    }
}
