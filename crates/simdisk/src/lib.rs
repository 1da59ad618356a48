//! Simulates devices in virtual time, behind the same engine, clock and probe interfaces as real ones.
//!
//! A [`SimHost`] holds one device, the virtual time and the future events. Jobs share it on one thread.
//! Each has a [`SimEngine`] whose `wait` never blocks; when no job can continue, their driver advances the
//! host to its next event. A [`Device`] is a queue with known parameters, a machine of drives, buses and a
//! host, or a flash drive. A [`SimSpec`] reads its name and keys by the tables of [`FAMILIES`].
//!
//! Time is in u64 nanoseconds and the logarithm is pure Rust, so a seed gives the same bytes of output on
//! every machine. Rejected: simulated devices in real time (slow, and as noisy as the machine), and a
//! thread per simulated job (the scheduler would decide the order of events).
#![forbid(unsafe_code)]

mod any_device;
mod array;
mod backend;
mod bus;
mod catalogue;
mod device;
mod divisor;
mod drive;
mod event_queue;
mod family;
mod files;
mod flash;
mod form;
mod gate;
mod help;
mod keys;
mod machine;
mod network;
mod parameters;
mod port;
mod queue;
mod queue_spec;
mod rebuild;
mod server;
mod service;
mod show;
mod sim_host;
mod slab;
mod spec;
mod stalls;
mod toml_text;

pub use any_device::AnyDevice;
pub use array::Array;
pub use backend::{SimBackend, run_until_blocked, sim_worker};
pub use catalogue::Part;
pub use device::{Arrival, Conditions, Device, Ended, Rebuilding};
pub use event_queue::EventQueue;
pub use family::{FAMILIES, SimKind};
pub use files::{CallCost, CallCosts, FileAction, FileLayer, FileSpec, FileState, FileSystem};
pub use flash::{FlashDevice, FlashSpec, Written};
pub use help::{help_with_keys, help_with_names};
pub use keys::Kind;
pub use network::{Network, NetworkSpec, Reached};
pub use parameters::parts;
pub use port::{SimClock, SimEngine};
pub use queue_spec::QueueSpec;
pub use rebuild::RebuildSpec;
pub use sim_host::SimHost;
pub use spec::{SimSpec, SpecError};
