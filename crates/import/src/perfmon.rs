//! Windows counters of PhysicalDisk as CSV: typeperf, relog, perfmon.
//!
//! A row holds what happened since the row before, at a time of the machine's clock in the order of
//! American dates whatever its language; relog and perfmon name the zone and its distance to UTC
//! in the header, typeperf does not. The first row has no row before it: its rates are blank or of
//! unknown length, and it gives no interval. `_Total` is the sum of the others and is skipped.

use crate::moment::{self, Stamp};
use crate::number::Reading;
use crate::observation_builder::ObservationBuilder;
use crate::perfmon_names::{self, Counter};
use crate::{ImportError, Options, table};
use record::{Interval, Observation, OpInterval};
use std::collections::{BTreeMap, BTreeSet};

/// Seconds to nanoseconds.
const SECOND: f64 = 1e9;
/// Objects that a message lists.
const OBJECTS_SHOWN: usize = 3;
/// What to do where nothing came out.
const REMEDY: &str = "record with: typeperf \"\\PhysicalDisk(*)\\*\" -si 1 -f CSV -o FILE";
/// The sum of all disks, in every language that was met.
const TOTALS: [&str; 2] = ["_total", "_gesamt"];

/// A column of the file.
struct Column {
    field: usize,
    device: String,
    counter: Counter,
}

/// A header and the rows below it.
struct Block {
    /// Seconds ahead of UTC.
    offset_s: Option<i64>,
    columns: Vec<Column>,
    rows: Vec<(Stamp, Vec<String>)>,
}

/// What the header of a file held beside counters that are read.
#[derive(Default)]
struct Seen {
    objects: BTreeSet<String>,
    foreign: Option<&'static str>,
    unknown: BTreeSet<String>,
}

/// Reads a file.
pub(crate) fn read(text: &str, options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut sheet = ObservationBuilder::new("Windows PhysicalDisk CSV");
    let mut seen = Seen::default();
    let blocks = blocks(text, &mut sheet, &mut seen);
    if blocks.iter().all(|block| block.columns.is_empty()) {
        return Err(no_columns(&seen));
    }
    for block in &blocks {
        add(block, &mut sheet, options);
    }
    Ok(vec![sheet.finish("there are not two rows with times", REMEDY)?])
}

/// Why no counter was found.
fn no_columns(seen: &Seen) -> ImportError {
    let english = "record on a system in English, or rename the counters in the first line";
    if let Some(language) = seen.foreign {
        let why = format!("its counters have names in {language}, which are not known here");
        return ImportError::nothing(why, english);
    }
    let list = |names: &BTreeSet<String>| {
        names.iter().take(OBJECTS_SHOWN).cloned().collect::<Vec<_>>().join(", ")
    };
    if !seen.unknown.is_empty() {
        let why = format!("no counter of PhysicalDisk is known ({})", list(&seen.unknown));
        return ImportError::nothing(why, english);
    }
    let why = match seen.objects.is_empty() {
        true => "its header names no counters".to_owned(),
        false => format!("it holds other objects than PhysicalDisk: {}", list(&seen.objects)),
    };
    ImportError::nothing(why, REMEDY)
}

/// The headers of a file with their rows.
fn blocks(text: &str, sheet: &mut ObservationBuilder, seen: &mut Seen) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut mark = ',';
    for line in text.lines() {
        let line = line.trim_matches(['\r', '\u{feff}', '\0']);
        if line.contains("(PDH-") && line.contains("SV 4.0)") {
            mark = table::mark_after_quotes(line);
            match table::fields(line, mark) {
                Some(fields) => blocks.push(header(&fields, sheet, seen)),
                None => sheet.counts.faults += 1,
            }
            continue;
        }
        // Above and below its table typeperf talks to the user.
        let Some(block) = blocks.last_mut().filter(|_| line.trim_start().starts_with('"')) else {
            continue;
        };
        let needed = block.columns.iter().map(|column| column.field + 1).max().unwrap_or(0);
        let row = table::fields(line, mark).filter(|fields| fields.len() >= needed);
        let row = row.and_then(|fields| Some((Stamp::parse(fields.first()?)?, fields)));
        match row {
            Some(row) => block.rows.push(row),
            None => sheet.counts.faults += 1,
        }
    }
    blocks
}

fn header(fields: &[String], sheet: &mut ObservationBuilder, seen: &mut Seen) -> Block {
    // `(PDH-CSV 4.0) (Pacific Daylight Time)(420)`: minutes that UTC is ahead.
    let bias = fields.first().and_then(|first| first.rsplit_once('(')?.1.strip_suffix(')'));
    let bias = bias.and_then(|minutes| minutes.parse::<i64>().ok());
    let bias = bias.filter(|minutes| minutes.abs() <= 24 * 60);
    let mut columns: Vec<Column> = Vec::new();
    for (field, path) in fields.iter().enumerate().skip(1) {
        let Some((host, object, instance, name)) = parts(path) else { continue };
        seen.objects.insert(object.to_owned());
        seen.foreign = seen.foreign.or(perfmon_names::foreign(object));
        if !perfmon_names::is_physical_disk(object) {
            continue;
        }
        let Some(counter) = perfmon_names::counter(name) else {
            seen.unknown.insert(name.to_owned());
            continue;
        };
        if TOTALS.contains(&instance.to_lowercase().as_str()) {
            continue;
        }
        let same = |it: &Column| it.device == instance && it.counter == counter;
        if columns.iter().any(same) {
            sheet.counts.twice += 1;
            continue;
        }
        if !host.is_empty() {
            sheet.host.get_or_insert(host.to_owned());
        }
        columns.push(Column { field, device: instance.to_owned(), counter });
    }
    Block { offset_s: bias.map(|minutes| -60 * minutes), columns, rows: Vec::new() }
}

/// Machine, object, instance and counter of `\\HOST\Object(instance)\Counter`.
fn parts(path: &str) -> Option<(&str, &str, &str, &str)> {
    let (host, rest) = match path.strip_prefix("\\\\") {
        Some(rest) => rest.split_once('\\')?,
        None => ("", path.strip_prefix('\\')?),
    };
    let (object, rest) = rest.split_once('(')?;
    let (instance, counter) = rest.split_once(")\\")?;
    Some((host, object, instance, counter))
}

fn add(block: &Block, sheet: &mut ObservationBuilder, options: &Options) {
    let stamps: Vec<Option<Stamp>> =
        block.rows.iter().map(|(stamp, _)| Some(stamp.clone())).collect();
    let offset_s = options.utc_offset_s.or(block.offset_s);
    // The library that writes these files puts the month first everywhere.
    let (times, assumed) = moment::moments_month_first(&stamps, offset_s);
    sheet.assumed.zone |= assumed.zone;
    let mut last = None;
    for ((_, fields), time) in block.rows.iter().zip(times) {
        let Some(time) = time else {
            sheet.counts.no_length += 1;
            continue;
        };
        let Some(begin) = last.replace(time) else { continue };
        if time <= begin {
            sheet.counts.backwards += 1;
            sheet.counts.no_length += 1;
            continue;
        }
        let mut devices: BTreeMap<&str, Readings> = BTreeMap::new();
        for column in &block.columns {
            let text = fields[column.field].trim();
            match Reading::parse(text) {
                Some(reading) => {
                    devices.entry(&column.device).or_default().insert(column.counter, reading);
                }
                None => sheet.counts.faults += u64::from(!text.is_empty()),
            }
        }
        // In the order of the header.
        let mut done: Vec<&str> = Vec::new();
        for column in &block.columns {
            if !done.contains(&column.device.as_str())
                && let Some(readings) = devices.get(column.device.as_str())
            {
                done.push(&column.device);
                let interval = interval(&column.device, readings, sheet);
                sheet.add(interval, begin, time - begin);
            }
        }
    }
}

/// What a row says of a device.
type Readings = BTreeMap<Counter, Reading>;

fn interval(device: &str, readings: &Readings, sheet: &mut ObservationBuilder) -> Interval {
    let of = |counter: Counter| readings.get(&counter).copied();
    let mut operation = |rate, bytes, size, seconds| OpInterval {
        per_s: sheet.measured(of(rate)),
        bytes_per_s: sheet.measured(of(bytes)),
        request_bytes: sheet.measured(of(size)),
        merged_per_s: None,
        latency_ns: sheet.measured(of(seconds).map(|reading| reading.times(SECOND))),
    };
    let read = operation(
        Counter::Reads,
        Counter::ReadBytes,
        Counter::BytesPerRead,
        Counter::SecondsPerRead,
    );
    let write = operation(
        Counter::Writes,
        Counter::WrittenBytes,
        Counter::BytesPerWrite,
        Counter::SecondsPerWrite,
    );
    let all = operation(
        Counter::Transfers,
        Counter::Bytes,
        Counter::BytesPerTransfer,
        Counter::SecondsPerTransfer,
    );
    let busy = of(Counter::Idle).map(|idle| idle.times(0.01));
    let busy = busy.map(|idle| Reading { value: 1.0 - idle.value, ..idle });
    Interval {
        device: device.to_owned(),
        read,
        write,
        all,
        busy_share: sheet.share(busy),
        concurrency: sheet.measured(of(Counter::Concurrency)),
        in_flight: sheet.measured(of(Counter::InFlight)),
        splits_per_s: sheet.measured(of(Counter::Splits)),
        ..Interval::default()
    }
}
