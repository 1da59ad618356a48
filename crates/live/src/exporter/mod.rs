//! Serves the disks' current figures and verdicts as metrics over HTTP.
//!
//! [`Snapshot`] holds the rows that `crate::Judge` made from the last sample; [`METRICS`] defines what a
//! scrape shows; [`Server`] responds. Nothing is computed here: each figure is also on the screen of `watch`
//! and in its lines. A scrape shows the last sample and never takes one, so its cost does not depend on who
//! scrapes or how often.
//!
//! Rejected: metrics that are stored and updated by name (a removed device would keep its last figures),
//! reading the counters during a scrape (two scraping servers would halve each other's intervals, and a
//! failing disk would block them), and TLS and passwords of its own (a reverse proxy in front adds them).
#![forbid(unsafe_code)]

mod connections;
mod host_names;
mod labelled;
mod metrics;
mod patience;
mod samples;
mod server;
mod snapshot;
mod text;

pub use host_names::HostNames;
pub use metrics::{METRICS, Metric};
pub use samples::Kind;
pub use server::{Published, Server, ServerError, Serving};
pub use snapshot::Snapshot;
pub use text::{Format, text};
