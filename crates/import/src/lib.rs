//! Imports disk counters from the files of other tools into observations.
//!
//! Users who ask why a disk is slow rarely have our own recording of the bad hour. They have data of sar,
//! iostat, a monitoring system or Windows. Each reader here converts one format into [`Observation`]s, so
//! that all conclusions are drawn by the same code. A reader never guesses a figure: a missing figure stays
//! `null`. An assumption (a time zone, the length of an interval) and the effect of a missing figure become
//! findings.
//!
//! Files may be damaged: a tool was killed, a disk was full, an editor changed the encoding. So every
//! reader keeps every intact part and counts the rest, and no reader may panic; the tests truncate and
//! alter samples by the thousand. An interval with impossible figures is left out, so that one damaged
//! interval costs one interval. Rejected: strict parsers (one byte lost at the end of a night would lose
//! the night), and the generic JSON crate (it stops at the first fault and keeps numbers without their last
//! digit's place, which is the resolution of a figure).
//!
//! The crate depends only on `record`. The caller reads files, queries servers, and names and saves
//! documents: import time and program version are left empty here. An id is a hash of the files and of the
//! user's options, so that the same recording always has the same id.
#![forbid(unsafe_code)]

mod collectd;
mod counters;
mod decode;
mod diskstats;
mod error;
mod exposition;
mod format;
mod iostat;
mod iostat_text;
mod json;
mod kernel;
mod lacks;
mod losses;
mod moment;
mod number;
mod observation_builder;
mod own;
mod perfmon;
mod perfmon_names;
mod printed;
mod prometheus;
mod runs;
mod sadf_json;
mod sadf_lines;
mod sadf_pairs;
mod sadf_xml;
mod sar;
mod since_boot;
mod sysstat;
mod sysstat_json;
mod table;
mod telegraf;
mod totals;

pub use error::ImportError;
pub use format::{Format, detect, is_text};
pub use moment::{parse_moment, parse_utc_offset};
pub use prometheus::{RangeQuery, matcher, range_target};

use moment::Clock;
use record::Observation;
use std::borrow::Cow;

/// Facts that the user knows and the file does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Seconds that local time is ahead of UTC, for times without a zone.
    pub utc_offset_s: Option<i64>,
    /// Length of the intervals in nanoseconds, for files without times.
    pub interval_ns: Option<u64>,
    /// Times of the scrapes in their order, nanoseconds since 1970-01-01 UTC, for scrapes without times.
    pub scrape_times_ns: Vec<u64>,
    /// The machine to import, if a source contains several.
    pub instance: Option<String>,
    /// The present time, nanoseconds since 1970-01-01 UTC: an ambiguous date is hardly in the future.
    pub now_ns: Option<u64>,
}

impl Options {
    pub(crate) fn clock(&self) -> Clock {
        Clock { utc_offset_s: self.utc_offset_s, now_ns: self.now_ns }
    }

    /// The part of an id that comes from the user's options. The time of the import is not one of them.
    fn identity(&self) -> String {
        let Self { utc_offset_s, interval_ns, scrape_times_ns, instance, now_ns: _ } = self;
        format!(
            "Options {{ utc_offset_s: {utc_offset_s:?}, interval_ns: {interval_ns:?}, \
             scrape_times_ns: {scrape_times_ns:?}, instance: {instance:?} }}"
        )
    }
}

/// A decoded file.
pub(crate) type Text<'a> = Cow<'a, str>;

/// Reads files: one observation for each machine in the files of a format.
///
/// # Errors
/// If a file has an unknown format or no usable data.
pub fn read(
    files: &[&[u8]],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let unnamed: Vec<(&str, &[u8])> = files.iter().map(|bytes| ("", *bytes)).collect();
    read_named(&unnamed, format, options).map_err(|error| match error {
        ImportError::Files { cause, .. } => *cause,
        other => other,
    })
}

/// Reads files with their names, otherwise like [`read`].
///
/// # Errors
/// Like [`read`], with the names of the files.
pub fn read_files(
    files: &[(String, Vec<u8>)],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let named: Vec<(&str, &[u8])> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.as_slice())).collect();
    read_named(&named, format, options)
}

fn read_named(
    files: &[(&str, &[u8])],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let failed = |names: &[&str], cause: ImportError| ImportError::Files {
        names: names.join(", "),
        cause: Box::new(cause),
    };
    let mut forms: Vec<(Format, Vec<&str>, Vec<Text>)> = Vec::new();
    for (name, bytes) in files {
        let found = format.map_or_else(|| detect(bytes), Ok);
        let found = found.map_err(|cause| failed(&[name], cause))?;
        let text = decode::text(bytes);
        match forms.iter_mut().find(|(known, ..)| *known == found) {
            Some((_, names, texts)) => {
                names.push(name);
                texts.push(text);
            }
            None => forms.push((found, vec![name], vec![text])),
        }
    }
    let mut observations = Vec::new();
    for (format, names, texts) in &forms {
        let read = read_texts(*format, names, texts, options);
        let read = read.and_then(|read| match &options.instance {
            // Its reader selects the series of the machine.
            Some(name) if *format != Format::Prometheus => of_machine(read, name),
            _ => Ok(read),
        });
        observations.extend(read.map_err(|cause| failed(names, cause))?);
    }
    let content = record::hex_digest_of(files.iter().map(|(_, bytes)| bytes));
    let without_id = observations.iter_mut().enumerate().filter(|(_, it)| it.id.is_empty());
    for (place, observation) in without_id {
        let options = options.identity();
        observation.id = record::hex_digest(&format!("{place} {options} {format:?} {content}"));
    }
    Ok(observations)
}

/// The observations of the machine with this name.
///
/// # Errors
/// If there are none.
fn of_machine(mut read: Vec<Observation>, name: &str) -> Result<Vec<Observation>, ImportError> {
    let host = |one: &Observation| one.host.clone().unwrap_or_else(|| "an unnamed machine".into());
    let names: Vec<String> = read.iter().map(host).collect();
    read.retain(|one| one.host.as_ref().is_some_and(|host| host.eq_ignore_ascii_case(name)));
    if read.is_empty() {
        return Err(ImportError::NoSuchMachine { name: name.to_owned(), names: names.join(", ") });
    }
    Ok(read)
}

fn read_texts(
    format: Format,
    names: &[&str],
    texts: &[Text<'_>],
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let named = || -> Vec<(&str, &str)> {
        names.iter().copied().zip(texts.iter().map(|text| &**text)).collect()
    };
    match format {
        Format::Iostat => iostat::read(texts, options),
        Format::IostatText => iostat_text::read(texts, options),
        Format::SadfJson => sadf_json::read(texts, options),
        Format::SadfLines => sadf_lines::read(texts, options),
        Format::SadfPairs => sadf_pairs::read(texts, options),
        Format::SadfXml => sadf_xml::read(texts, options),
        Format::Sar => sar::read(texts, options),
        Format::Diskstats => Ok(vec![diskstats::read(&named(), options)?]),
        Format::Collectd => collectd::read(&named()),
        Format::Telegraf => telegraf::read(texts, options),
        Format::Perfmon => perfmon::read(texts, options),
        Format::NodeExporter => Ok(vec![exposition::read(texts, options)?]),
        Format::Prometheus => Ok(vec![prometheus::read(texts, options)?]),
        Format::Observation => texts.iter().map(|text| own::read(text)).collect(),
    }
}

/// Reads files that one tool wrote on one machine, or one file with any number of machines.
///
/// # Errors
/// As [`read_files`]; also if several files contain several recordings.
pub fn read_recordings(
    files: &[(String, Vec<u8>)],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let read = read_files(files, format, options)?;
    if files.len() > 1 && read.len() > 1 {
        let of = |one: &Observation| {
            format!("{} of {}", one.source, one.host.as_deref().unwrap_or("an unnamed machine"))
        };
        let names = files.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(", ");
        let found = read.iter().map(of).collect::<Vec<_>>().join(", ");
        return Err(ImportError::SeveralRecordings { names, count: read.len(), found });
    }
    Ok(read)
}
