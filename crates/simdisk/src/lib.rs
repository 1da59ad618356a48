//! Simulated devices in virtual time, behind the same engine, clock and probe as real ones.
//!
//! A [`SimHost`] holds one device, the virtual time and the events to come. Jobs share it on one
//! thread: each has a [`SimEngine`] whose `wait` never blocks, and the driver of the jobs advances
//! the host to its next event when none of them can go on. A [`Device`] is a queue with a known
//! truth, a machine of drives, buses and a host, or a flash drive; a [`SimSpec`] reads its name and
//! keys by the tables of [`FAMILIES`].
//!
//! Time is u64 nanoseconds and the logarithm is a pure-Rust one, so a seed gives the same bytes of
//! output on every machine. Rejected: simulated devices behind real time (slow, and as noisy as the
//! machine), and a thread per simulated job (the order of events would be the scheduler's).
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
