//! Overlapped calls with one event per buffer, and one wait for any of them (WaitForMultipleObjects): the
//! comparison with completion ports that the 1997 paper left open.
//!
//! A wait supports 64 events, so a job has at most that many transfers in flight. The call returns the first
//! signalled event. The next call starts after it, so that one pass sees each event and none starves.

use super::files::event;
use super::overlapped::{Records, outcome_of};
use super::overlapped_calls::{Ends, OverlappedCalls, broken};
use crate::{Completion, EngineError};
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use windows_sys::Win32::Foundation::{HANDLE, WAIT_FAILED, WAIT_OBJECT_0, WAIT_TIMEOUT};
use windows_sys::Win32::System::Threading::WaitForMultipleObjects;

/// Performs transfers with one event each.
pub type Events = OverlappedCalls<EventOfEach>;

/// The events, and which of them are awaited.
#[derive(Debug)]
pub struct EventOfEach {
    /// Indexed by tag.
    events: Vec<OwnedHandle>,
    /// Tags of submitted transfers, in the order of submission, and their events.
    tags: Vec<u32>,
    waited: Vec<HANDLE>,
}

impl Ends for EventOfEach {
    const ENGINE: &'static str = "events";
    const FEATURE: &'static str = "an event for each request";
    /// Maximum events in one wait (winnt.h, MAXIMUM_WAIT_OBJECTS).
    const MOST: u32 = 64;

    fn open(_files: &[OwnedHandle], most: u32) -> Result<Self, EngineError> {
        let events = (0..most).map(|_| event()).collect::<Result<_, _>>();
        Ok(Self {
            events: events.map_err(|errno| EngineError::Broken { call: "CreateEventW", errno })?,
            tags: Vec::with_capacity(most as usize),
            waited: Vec::with_capacity(most as usize),
        })
    }

    fn event(&self, tag: u32) -> HANDLE {
        self.events[tag as usize].as_raw_handle()
    }

    fn began(&mut self, tag: u32) {
        self.tags.push(tag);
        self.waited.push(self.event(tag));
    }

    fn in_flight(&self) -> u32 {
        self.tags.len() as u32
    }

    fn take(
        &mut self,
        records: &Records,
        max: u32,
        milliseconds: u32,
        done: &mut Vec<Completion>,
    ) -> Result<(), EngineError> {
        let (mut from, mut taken, mut patience) = (0, 0, milliseconds);
        while taken < max && from < self.waited.len() {
            let rest = &self.waited[from..];
            // SAFETY: the count matches the handles, which all belong to this engine and are open.
            let answer =
                unsafe { WaitForMultipleObjects(rest.len() as u32, rest.as_ptr(), 0, patience) };
            match answer {
                WAIT_TIMEOUT => break,
                WAIT_FAILED => return Err(broken("WaitForMultipleObjects")),
                first => from += (first - WAIT_OBJECT_0) as usize,
            }
            let tag = self.tags.remove(from);
            self.waited.remove(from);
            let (status, bytes) = records.result(tag);
            done.push(Completion { slot: tag, outcome: outcome_of(status, bytes) });
            (taken, patience) = (taken + 1, 0);
        }
        Ok(())
    }
}
