//! The contract of a simulated device: it takes requests, has events of its own and ends requests.
//!
//! It knows neither jobs nor slots: [`SimHost`](crate::SimHost) gives each request a token. Between
//! two trials its state stays (cache content, arm position, wear), as that of a real one does.

use engine::{ComponentSample, PhaseSample, RebuildState};
use record::{CacheMode, Nanos, OpKind};
use std::fmt::Debug;

/// The error number of a request that failed: EIO.
pub(crate) const EIO: i32 = 5;
/// The name of the component that is the processors of the simulated host: its busy time is the
/// modelled CPU time of a trial, or that of its phase [`PROCESS`] if it has one.
pub(crate) const HOST_CPU: &str = "host CPU";
/// The phase that is on the account of the measuring process: a system that counts by process, as
/// NT does, leaves out what it starts by itself (Riedel 1997, section 2: "Not all processing overhead
/// is charged to the process that caused it").
pub(crate) const PROCESS: &str = "process";

/// A request that reaches the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// What the host knows it by; free again once it has ended.
    pub token: u32,
    /// Direction.
    pub op: OpKind,
    /// First byte.
    pub offset: u64,
    /// Length, at least 1.
    pub bytes: u32,
}

/// A request that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Of its arrival.
    pub token: u32,
    /// When.
    pub at: Nanos,
    /// Bytes transferred, or a negated error number.
    pub outcome: i32,
}

/// The conditions of a trial that is about to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conditions {
    /// How requests use the caches.
    pub cache: CacheMode,
    /// Where the area that is worked on begins.
    pub offset_bytes: u64,
    /// Its length.
    pub working_bytes: u64,
}

/// How the rebuild of a failed disk of an array stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rebuilding {
    /// The disk.
    pub disk: u32,
    /// Bytes of it that are to be rebuilt.
    pub disk_bytes: u64,
    /// How far it is, and what it moved.
    pub state: RebuildState,
    /// When it began.
    pub begin: Nanos,
    /// When it ended; `None` while it goes on.
    pub end: Option<Nanos>,
}

/// The busy time of `units` parts of a name, and what it was spent on.
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
/// Contract: times given never go back; a request ends later than it arrives (by at least a nanosecond), exactly
/// once, in an `advance`. All of it is a function of the specification, the seed and the calls.
pub trait Device: Debug {
    /// A trial begins; nothing is in flight. State stays as the last trial left it.
    fn begin(&mut self, _conditions: &Conditions) {}

    /// Takes a request.
    fn arrive(&mut self, now: Nanos, arrival: &Arrival);

    /// When it next has something to do of its own; background work included, but only while
    /// something is in flight or dirty, so that a device that rests lets the run end.
    fn next_event(&self) -> Option<Nanos>;

    /// Carries out the next event at or before `until`, if there is one; when that was. Appends what
    /// ended, in order of time, then of arrival.
    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos>;

    /// Carries out every event at or before `until`.
    #[inline]
    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        while self.step(until, ended).is_some() {}
    }

    /// As `advance`, but stops behind the first event at which a request ended, with all others of
    /// its time. When the last event was that it carried out, `from` if there was none.
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

    /// How the rebuild of a failed disk stands; `None` where none was asked for.
    fn rebuild(&self) -> Option<Rebuilding> {
        None
    }

    /// Busy time of each component since the device was made; nothing for a device without
    /// components. The same components in the same order at every call, from the host outwards: of
    /// two that were always busy, the one nearer to the host held up the other.
    fn uses(&self) -> Vec<ComponentSample> {
        Vec::new()
    }
}
