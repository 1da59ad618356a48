//! Reads the CSV of telegraf's diskio plugin, with its header (`csv_header = true`): running counters of
//! each disk.
//!
//! Columns are named, in any order, with or without prefixes (`csv_column_prefix`). Rows of other plugins
//! have other headers, which may come between rows. Without a header the columns cannot be identified, so
//! the format of such a file is unknown. Facts:
//! <https://docs.influxdata.com/telegraf/v1/data_formats/output/csv/> and the README of inputs.diskio.

use crate::counters::{self, Scrape};
use crate::moment::Stamp;
use crate::observation_builder::ObservationBuilder;
use crate::{ImportError, Options, Text};
use record::Observation;
use std::collections::BTreeMap;

const REMEDY: &str = "record two or more rows per disk, with csv_header = true";

/// Counter of node_exporter, the field, and the factor to its unit.
const FIELDS: [(&str, &str, f64); 11] = [
    ("reads_completed_total", "reads", 1.0),
    ("reads_merged_total", "merged_reads", 1.0),
    ("read_bytes_total", "read_bytes", 1.0),
    ("read_time_seconds_total", "read_time", 1e-3),
    ("writes_completed_total", "writes", 1.0),
    ("writes_merged_total", "merged_writes", 1.0),
    ("written_bytes_total", "write_bytes", 1.0),
    ("write_time_seconds_total", "write_time", 1e-3),
    ("io_now", "iops_in_progress", 1.0),
    ("io_time_seconds_total", "io_time", 1e-3),
    ("io_time_weighted_seconds_total", "weighted_io_time", 1e-3),
];

/// The names of the columns of a header, without prefixes.
fn columns(line: &str) -> Option<Vec<&str>> {
    let bare = |name: &'_ str| -> usize {
        ["tag_", "field_"].iter().find(|it| name.starts_with(**it)).map_or(0, |it| it.len())
    };
    let names: Vec<&str> =
        line.trim().split(',').map(|name| &name.trim()[bare(name.trim())..]).collect();
    let has = |name: &str| names.contains(&name);
    (has("timestamp") && has("measurement")).then_some(names)
}

/// Whether a line is the header of disk rows.
pub(crate) fn is_header(line: &str) -> bool {
    columns(line).is_some_and(|names| {
        ["name", "reads", "writes", "io_time"].iter().all(|name| names.contains(name))
    })
}

/// A row: its time, and the disk's name with its counters.
struct Row {
    stamp: Option<Stamp>,
    host: Option<String>,
    device: String,
    values: counters::Values,
}

fn row(names: &[&str], line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let of = |wanted: &str| {
        let at = names.iter().position(|name| *name == wanted)?;
        fields.get(at).copied().filter(|field| !field.is_empty())
    };
    let values = counters::values(|counter| {
        let (_, field, factor) = FIELDS.iter().find(|(known, ..)| *known == counter)?;
        Some(of(field)?.trim_end_matches('i').parse::<f64>().ok()? * factor)
    });
    (fields.len() == names.len()).then_some(())?;
    Some(Row {
        stamp: Stamp::parse(of("timestamp")?),
        host: of("host").map(str::to_owned),
        device: of("name")?.to_owned(),
        values,
    })
}

/// One observation per host.
pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut hosts: BTreeMap<Option<String>, (Vec<Row>, u64)> = BTreeMap::new();
    for text in texts {
        let mut names: Option<Vec<&str>> = None;
        for raw in text.split_inclusive('\n') {
            if let Some(found) = columns(raw) {
                names = is_header(raw).then_some(found);
                continue;
            }
            let Some(names) = &names else { continue };
            match row(names, raw).filter(|_| raw.ends_with('\n')) {
                Some(row) => hosts.entry(row.host.clone()).or_default().0.push(row),
                None => hosts.entry(None).or_default().1 += u64::from(!raw.trim().is_empty()),
            }
        }
    }
    let faults = hosts.values().map(|(_, faults)| faults).sum();
    let with_rows = hosts.into_iter().filter(|(_, (rows, _))| !rows.is_empty());
    let read = with_rows.map(|(host, (rows, _))| of_host(host, rows, faults, options));
    let read: Vec<Observation> = read.collect::<Result<_, _>>()?;
    if read.is_empty() {
        return Err(ImportError::nothing("no row contains a disk", REMEDY));
    }
    Ok(read)
}

fn of_host(
    host: Option<String>,
    rows: Vec<Row>,
    faults: u64,
    options: &Options,
) -> Result<Observation, ImportError> {
    let mut builder = ObservationBuilder::new("telegraf");
    builder.host = host;
    builder.counts.faults = faults;
    let stamps: Vec<Option<Stamp>> = rows.iter().map(|row| row.stamp.clone()).collect();
    let times = builder.times(&stamps, options.clock(), false);
    let mut by_time: BTreeMap<i128, Scrape> = BTreeMap::new();
    for (row, time) in rows.into_iter().zip(times) {
        let Some(time) = time.filter(|time| *time >= 0) else {
            builder.counts.no_length += 1;
            continue;
        };
        let before = by_time.entry(time).or_default().devices.insert(row.device, row.values);
        builder.counts.twice += u64::from(before.is_some());
    }
    counters::add_intervals(&mut builder, &by_time);
    let why = match by_time.len() {
        0 => "no row has a time",
        1 => "all rows have the same time, and the counters run since boot",
        _ if builder.counts.resets > 0 => "all counters restarted between the rows",
        _ => "no disk has two rows",
    };
    builder.finish(why, REMEDY)
}
