//! Serves what the disks do now, and whether it is what they should do, as metrics over HTTP.
//!
//! [`Snapshot`] keeps the rows that `crate::Judge` made of the last sample; [`METRICS`] says what of
//! them a scrape shows; [`Server`] answers. Nothing is computed here: a figure is on the screen of
//! `watch` and in its lines, too. A scrape renders the last sample and never takes one, so that it
//! costs the same whoever asks, and however often.
//!
//! Rejected: metrics that are kept and updated by name (a device that is gone would keep its last
//! figures), and reading the counters within a scrape (two servers that scrape would halve each
//! other's intervals, and a failing disk would hang them).
#![forbid(unsafe_code)]

mod access;
mod connections;
mod host_names;
mod metrics;
mod patience;
mod samples;
mod server;
mod snapshot;
mod text;
mod web_config;
mod yaml;

pub use host_names::HostNames;
pub use metrics::{METRICS, Metric};
pub use samples::Kind;
pub use server::{Published, Server, ServerError, Serving};
pub use snapshot::Snapshot;
pub use text::{Format, text};
pub use web_config::{WebConfig, WebConfigError};
