//! Defines workloads, validates them, and generates their request streams.
//!
//! The crate is pure: it knows nothing about how a request is carried out. The requests of a job depend only
//! on (seed, job index, workload), so every engine, real or simulated, issues the same ones. Rejected:
//! drawing offsets in the engines' loops (each would need its own tests for coverage and shares).
//!
//! [`fio`] and [`replay`] convert text of other tools into loads. [`volume`] maps the requests of an array to
//! its disks.
#![forbid(unsafe_code)]

mod array;
mod arrivals;
mod build;
mod design;
mod error;
pub mod fio;
mod mix;
mod permutation;
mod place;
mod recorded;
mod region;
pub mod replay;
mod request;
mod rng;
mod rules;
mod spec;
mod stream;
mod toml_lines;
pub mod values;
pub mod volume;
mod zipf;

pub use array::volume_spec;
pub use build::check_alignment;
pub use design::{
    Axis, Combination, Contrast, Design, DesignError, FLAG_KEYS, Level, Order, PRESETS, Pick,
    Preset, SPECIAL_KEYS, Setting, Skip, preset,
};
pub use error::BuildError;
pub use mix::parse_mix;
pub use region::{Region, area_and_rank};
pub use request::Request;
pub use rng::{Rng, derive_seed};
pub use spec::{Spec, SpecBeside};
pub use stream::RequestStream;
pub use toml_lines::{line_of, toml_fault};
