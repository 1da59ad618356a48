//! Counters of disks from the files of other tools: bytes in, an observation out.
//!
//! People who ask why a disk is slow rarely have our own recording of the bad hour; they have
//! what sar, iostat, a monitoring system or Windows kept. Each reader here turns one such form
//! into [`Observation`]s, so that everything that concludes exists once. A reader never guesses a
//! figure: what its source does not have stays `null`, what had to be assumed (a time zone, the
//! length of an interval) and what is lost with a missing figure is a finding.
//!
//! Files arrive damaged: a tool was killed, a disk was full, an editor changed the encoding. So
//! every reader keeps whatever is whole and counts the rest, and none may panic; the tests cut and
//! twist samples by the thousand. Rejected: strict parsers (one byte lost at the end of a night
//! would lose the night), the generic CSV and JSON crates (they stop at the first fault and keep
//! numbers without their last digit's place, which is the resolution of a figure), and readers
//! that return a form of their own for someone else to unify.
//!
//! The crate knows only the record. Reading files, asking servers, naming and keeping documents
//! is the caller's: ids, times of import and the program's version are left empty here.
#![forbid(unsafe_code)]

mod counters;
mod decode;
mod error;
mod exposition;
mod format;
mod iostat;
mod json;
mod kernel;
mod lacks;
mod moment;
mod number;
mod observation_builder;
mod own;
mod perfmon;
mod perfmon_names;
mod prometheus;
mod sadf_json;
mod sadf_lines;
mod since_boot;
mod table;

pub use error::ImportError;
pub use format::{Format, detect};
pub use moment::{parse_moment, parse_utc_offset};
pub use prometheus::RangeQuery;

use record::Observation;

/// What a user knows and a file does not say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seconds that local time is ahead of UTC, for times without a zone.
    pub utc_offset_s: Option<i64>,
    /// Length of the intervals, for files without times.
    pub interval_ns: Option<u64>,
    /// Times of the scrapes in their order, nanoseconds since 1970-01-01 UTC, for scrapes without.
    pub scrape_times_ns: Vec<u64>,
    /// The one machine to take, where a source holds several.
    pub instance: Option<String>,
}

/// Reads files. Scrapes and answers of a monitoring server belong together, so that all such files
/// give one observation; every other file gives one for each machine in it.
///
/// # Errors
/// If a file is of no known form, or has nothing that can be used.
pub fn read(
    files: &[&[u8]],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let mut observations = Vec::new();
    let mut scrapes = Vec::new();
    let mut answers = Vec::new();
    for bytes in files {
        let text = decode::text(bytes);
        let format = match format {
            Some(format) => format,
            None => format::detect_text(&text)?,
        };
        match format {
            Format::Iostat => observations.extend(iostat::read(&text, options)?),
            Format::SadfJson => observations.extend(sadf_json::read(&text, options)?),
            Format::SadfLines => observations.extend(sadf_lines::read(&text, options)?),
            Format::Perfmon => observations.extend(perfmon::read(&text, options)?),
            Format::Observation => observations.push(own::read(&text)?),
            Format::NodeExporter => scrapes.push(text),
            Format::Prometheus => answers.push(text),
        }
    }
    if !scrapes.is_empty() {
        observations.push(exposition::read(&scrapes, options)?);
    }
    if !answers.is_empty() {
        observations.push(prometheus::read(&answers, options)?);
    }
    Ok(observations)
}
