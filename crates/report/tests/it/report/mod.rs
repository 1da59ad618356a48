//! Tests what the pages look like, byte for byte, and what they must never do.

#![allow(
    clippy::unwrap_used,
    reason = "the exemption for tests does not reach the helpers that they share"
)]

mod charts;
mod common;
mod diagnosis;
mod documents;
mod html;
mod numbers;
mod page;
mod properties;
mod snapshots;
mod tables;
mod trace;
mod validation;
mod views;
mod watch;
mod watch_detail;
mod watch_rows;

/// Plain text, 80 columns: a log file.
const LOG: report::Style = report::Style {
    database: "",
    color: false,
    width: 80,
    whole_rows: false,
    extent: report::Extent::Whole,
};
