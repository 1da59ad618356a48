//! The interface of a simulated device: it accepts requests, has events of its own, and ends requests.
//!
//! A device knows neither jobs nor slots: [`SimHost`](crate::SimHost) gives each request a token. Its state
//! (cache content, arm position, wear) persists between two trials, as on a real device.

use engine::{ComponentSample, PhaseSample, RebuildState};
use record::{CacheMode, Nanos, OpKind};
use std::fmt::Debug;

/// The error number of a failed request: EIO.
pub(crate) const EIO: i32 = 5;
/// The component that represents the processors of the simulated host. Its busy time is the modelled CPU
/// time of a trial; if it has a phase [`PROCESS`], only the time of that phase counts.
pub(crate) const HOST_CPU: &str = "host CPU";
/// The phase that is charged to the measuring process. A system that accounts by process, as NT does,
/// leaves out the work that it starts by itself (Riedel 1997, section 2: "Not all processing overhead is
/// charged to the process that caused it").
pub(crate) const PROCESS: &str = "process";

/// A request that arrives at the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Identifies the request to the host; may be reused once the request has ended.
    pub token: u32,
    /// Read or write.
    pub op: OpKind,
    /// First byte.
    pub offset: u64,
    /// Length in bytes, at least 1.
    pub bytes: u32,
}

/// A request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The token of its arrival.
    pub token: u32,
    /// When it ended.
    pub at: Nanos,
    /// Bytes transferred, or a negated error number.
    pub outcome: i32,
}

/// The conditions of a trial that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// How requests use the caches.
    pub cache: CacheMode,
    /// First byte of the area that the workload uses.
    pub offset_bytes: u64,
    /// Length of the area.
    pub working_bytes: u64,
}

/// The progress of rebuilding a failed disk of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilding {
    /// Number of the disk.
    pub disk: u32,
    /// Bytes to rebuild on it.
    pub disk_bytes: u64,
    /// The progress, and the bytes moved.
    pub state: RebuildState,
    /// When it began.
    pub begin: Nanos,
    /// When it ended; `None` while in progress.
    pub end: Option<Nanos>,
}

/// The busy time of `units` components of one name, divided into phases.
pub(crate) fn component(
    name: impl Into<String>,
    units: u32,
    busy_ns: u64,
    phases: &[(&'static str, u64)],
) -> ComponentSample {
    let phases = phases.iter().map(|&(name, busy_ns)| PhaseSample { name, busy_ns }).collect();
    ComponentSample { name: name.into(), units, busy_ns, phases }
}

/// A simulated device.
///
/// Contract: times passed in never decrease. Each request ends exactly once, in an `advance`, at least a
/// nanosecond after its arrival. The behaviour depends only on the specification, the seed and the calls.
pub trait Device: Debug {
    /// Begins a trial, while nothing is in flight. The state stays as the last trial left it.
    fn begin(&mut self, _conditions: &Conditions) {}

    /// Accepts a request.
    fn arrive(&mut self, now: Nanos, arrival: &Arrival);

    /// The time of its next own event. This includes background work, but only while requests are in flight
    /// or data is dirty, so that the run can end with an idle device.
    fn next_event(&self) -> Option<Nanos>;

    /// Executes the next event at or before `until`, if any, and returns its time. Appends the requests
    /// that ended, in order of time, then of arrival.
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos>;

    /// Executes every event at or before `until`.
    #[inline]
    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        while self.step(until, ended).is_some() {}
    }

    /// As `advance`, but stops after the first event that ended a request, including all others at the same
    /// time. Returns the time of the last executed event, or `from` without one.
    #[inline]
    fn advance_to_end(&mut self, from: Nanos, until: Nanos, ended: &mut Vec<Ended>) -> Nanos {
        let (mut now, mut until) = (from, until);
        while let Some(at) = self.step(until, ended) {
            now = now.max(at);
            if !ended.is_empty() {
                until = now;
            }
        }
        now
    }

    /// Capacity in bytes.
    fn size(&self) -> u64;

    /// The progress of rebuilding a failed disk; `None` if no rebuild was requested.
    fn rebuild(&self) -> Option<Rebuilding> {
        None
    }

    /// Busy time of each component since the device was created; empty for a device without components.
    /// Every call returns the same components in the same order, from the host outwards. If two were always
    /// busy, the one nearer to the host was the bottleneck.
    fn uses(&self) -> Vec<ComponentSample> {
        Vec::new()
    }
}
