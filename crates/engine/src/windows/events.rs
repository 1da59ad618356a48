//! Overlapped calls with an event for each buffer, and one wait for any of them
//! (WaitForMultipleObjects): the open comparison of the 1997 paper with completion ports.
//!
//! A wait takes 64 events, so a job has at most so many transfers in flight. The call returns the first of
//! those that are there; the ones behind it are asked for from there on, so that each is seen in one
//! pass and none starves.

use super::files::{Calls, event, reopen_all};
use super::last_error;
use super::overlapped::{Records, Started, outcome_of, patience, start};
use crate::{
    Clock, Completion, EngineError, Memory, MonotonicClock, Setup, Transfer, Transport, Wait,
    transport,
};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::IO::CancelIoEx;
use windows_sys::Win32::System::Threading::WaitForMultipleObjects;

/// Transfers with an event each.
#[derive(Debug)]
pub struct Events {
    files: Vec<OwnedHandle>,
    /// By tag.
    events: Vec<OwnedHandle>,
    records: Records,
    /// Pushed, and not with the system yet.
    pending: Vec<Transfer>,
    /// Over without a wait: to be handed out.
    over: Vec<Completion>,
    /// Tags with the system, in the order in which they were handed over, and their events.
    tags: Vec<u32>,
    waited: Vec<HANDLE>,
    /// Whether the records are left to the end of the process, because something is in flight.
    abandoned: bool,
}

impl Transport for Events {
    /// Events that one wait takes (winnt.h, MAXIMUM_WAIT_OBJECTS).
    const MOST: u32 = 64;

    fn open(setup: &Setup, most: u32, _memory: Memory) -> Result<Self, EngineError> {
        if most > Self::MOST {
            let (engine, available) = ("events", Self::MOST);
            return Err(EngineError::TooDeep { engine, asked: most, available });
        }
        let events = (0..most).map(|_| event()).collect::<Result<_, _>>();
        Ok(Self {
            files: reopen_all(setup, "events", Calls::Overlapped)?,
            events: events.map_err(|errno| EngineError::Broken { call: "CreateEventW", errno })?,
            records: Records::new(most),
            pending: Vec::with_capacity(most as usize),
            over: Vec::with_capacity(most as usize),
            tags: Vec::with_capacity(most as usize),
            waited: Vec::with_capacity(most as usize),
            abandoned: false,
        })
    }

    #[inline]
    fn push(&mut self, transfer: Transfer) {
        self.pending.push(transfer);
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        for transfer in &self.pending {
            let file = self.files[transfer.file as usize].as_raw_handle();
            let event = self.events[transfer.tag as usize].as_raw_handle();
            let record = self.records.begin(transfer, event);
            match start(file, transfer, record) {
                Started::InFlight => {
                    self.tags.push(transfer.tag);
                    self.waited.push(event);
                }
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
            let got = (done.len() - before) as u32;
            let need = ask.min.saturating_sub(got).min(self.tags.len() as u32);
            let patience = patience(need, ask.deadline);
            self.pass(ask.max - got, patience.milliseconds, done)?;
            if (done.len() - before) as u32 >= ask.min || patience.over || self.tags.is_empty() {
                return Ok(());
            }
        }
    }

    fn quiesce(&mut self) -> bool {
        self.pending.clear();
        self.over.clear();
        for file in &self.files {
            // SAFETY: the handle is ours; without a record all of its requests are called off.
            let _ = unsafe { CancelIoEx(file.as_raw_handle(), std::ptr::null()) };
        }
        let in_flight = self.tags.len() as u32;
        self.abandoned = !transport::drained(self, in_flight, MonotonicClock.now());
        !self.abandoned
    }

    fn features(&self) -> Vec<String> {
        vec!["an event for each request".to_owned()]
    }
}

impl Events {
    /// Appends at most `max` completions in one pass over what is in flight; waits for the first.
    fn pass(
        &mut self,
        max: u32,
        milliseconds: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let (mut from, mut taken, mut patience) = (0, 0, milliseconds);
        while taken < max && from < self.waited.len() {
            let rest = &self.waited[from..];
            // SAFETY: so many handles, all ours and open.
            let answer =
                unsafe { WaitForMultipleObjects(rest.len() as u32, rest.as_ptr(), 0, patience) };
            match answer {
                WAIT_TIMEOUT => break,
                WAIT_FAILED => {
                    let errno = last_error();
                    return Err(EngineError::Broken { call: "WaitForMultipleObjects", errno });
                }
                first => from += (first - WAIT_OBJECT_0) as usize,
            }
            let tag = self.tags.remove(from);
            self.waited.remove(from);
            let (status, bytes) = self.records.result(tag);
            done.push(Completion { slot: tag, outcome: outcome_of(status, bytes) });
            (taken, patience) = (taken + 1, 0);
        }
        Ok(())
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        if !self.abandoned {
            self.records.free();
        }
    }
}
