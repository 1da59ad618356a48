//! Simulated devices in virtual time, behind the same engine, clock and probe as real ones.
//!
//! A [`Room`] holds one device, the virtual time and the events to come. Jobs share it on one
//! thread: each has a [`SimEngine`] whose `wait` never blocks, and whoever drives the jobs
//! advances the room to its next event when none of them can go on. The devices here are queues
//! with a known truth, against which estimators, models and the whole program are tested.
//!
//! Time is u64 nanoseconds and the logarithm is a pure-Rust one, so a seed gives the same bytes of
//! output on every machine. Rejected: simulated devices behind real time (slow, and as noisy as
//! the machine), and a thread per simulated job (the order of events would be the scheduler's).
#![forbid(unsafe_code)]

mod device;
mod port;
mod room;
mod spec;

pub use device::QueueDevice;
pub use port::{SimClock, SimEngine, SimProbe};
pub use room::Room;
pub use spec::{DeviceSpec, KEYS, KINDS, Key, Kind, SpecError};
