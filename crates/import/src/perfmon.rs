//! Reads Windows counters of PhysicalDisk and LogicalDisk as CSV: typeperf, relog, perfmon.
//!
//! The two objects are two layers: requests to disks, and requests to the volumes above them. A volume
//! (`C:`) is a part of the disk whose instance names it (`0 C:`), or composed of the disks that do. Without
//! PhysicalDisk it has no parent. A row covers the time since the previous row. Its time is that of the
//! machine's clock. Its date has the American order in every language, until a spreadsheet saves the file again. relog and perfmon state the zone and its offset from UTC in the header; typeperf does not. The
//! first row has no previous row: its rates are blank or of unknown length, and it gives no interval.
//! `_Total` is the sum of the others and is skipped, unless the file has nothing else.

use crate::moment::{Clock, Stamp};
use crate::number::Reading;
use crate::observation_builder::{ObservationBuilder, distinct};
use crate::perfmon_names::{self, Counter, Language, Layer};
use crate::{ImportError, Options, Text, table};
use record::{Figure, Interval, Observation, OpInterval};
use std::collections::{BTreeMap, BTreeSet};

const SECOND: f64 = 1e9;
const OBJECTS_SHOWN: usize = 3;
/// Name of the sum of all disks, in every language found so far.
const TOTALS: [&str; 2] = ["_total", "_gesamt"];

/// Source names of a recording, by its objects.
const PHYSICAL: &str = "Windows PhysicalDisk CSV";
const LOGICAL: &str = "Windows LogicalDisk CSV";
const BOTH: &str = "Windows PhysicalDisk and LogicalDisk CSV";

struct Column {
    field: usize,
    layer: Layer,
    host: String,
    device: String,
    counter: Counter,
}

struct Block {
    /// Seconds ahead of UTC.
    offset_s: Option<i64>,
    /// Number of fields in the header.
    fields: usize,
    columns: Vec<Column>,
    rows: Vec<(Stamp, Vec<String>)>,
}

/// Parts of the files that are not read, and the language.
#[derive(Default)]
struct Others {
    /// The language of the objects that are read.
    language: Option<&'static Language>,
    /// Rows with fields without quotes that have another number of fields than their header.
    misfits: u64,
    /// Rows that begin with no time.
    timeless: u64,
    objects: BTreeSet<String>,
    foreign: Option<&'static str>,
    unknown: BTreeSet<String>,
    /// Whether the file has sums over all disks.
    totals: bool,
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let (mut builder, mut others, mut blocks) = take_all(texts, false);
    if blocks.iter().all(|block| block.columns.is_empty()) && others.totals {
        (builder, others, blocks) = take_all(texts, true);
    }
    let columns = || blocks.iter().flat_map(|block| &block.columns);
    let layers: BTreeSet<Layer> = columns().map(|column| column.layer).collect();
    builder.source = match (layers.contains(&Layer::Physical), layers.contains(&Layer::Logical)) {
        (true, true) => BOTH,
        (false, true) => LOGICAL,
        _ => PHYSICAL,
    };
    let hosts = distinct(columns().map(|column| column.host.as_str()));
    if hosts.is_empty() {
        return Err(no_columns(&others));
    }
    builder.names = others.language.map_or(&[], |language| language.figures);
    let observation = |host: &&str| {
        let mut builder = builder.clone();
        builder.host = Some((*host).to_owned()).filter(|host| !host.is_empty());
        for block in &blocks {
            add(block, host, &mut builder, options);
        }
        let mut observation = builder.finish_or(|| without_rows(&others))?;
        relate(&mut observation, |device| {
            columns()
                .any(|it| it.layer == Layer::Logical && it.host == *host && it.device == device)
        });
        Ok(observation)
    };
    hosts.iter().map(observation).collect()
}

/// The headers and rows of all files, with or without sums over all disks.
fn take_all(texts: &[Text<'_>], totals: bool) -> (ObservationBuilder, Others, Vec<Block>) {
    let mut builder = ObservationBuilder::new(PHYSICAL);
    builder.totals_only = totals;
    let mut others = Others::default();
    let mut blocks = Vec::new();
    for text in texts {
        blocks.extend(take_blocks(text, &mut builder, &mut others));
    }
    (builder, others, blocks)
}

/// Sets which disks are below a volume. The instance of a disk is its number and the letters of its volumes
/// (`0 C: D:`). A volume that no disk names has no parent.
fn relate(observation: &mut Observation, is_volume: impl Fn(&str) -> bool) {
    let disks: Vec<String> = observation.devices.iter().map(|it| it.name.clone()).collect();
    for volume in observation.devices.iter_mut().filter(|it| is_volume(&it.name)) {
        let names_it = |disk: &&String| disk.split(' ').skip(1).any(|word| word == volume.name);
        let below: Vec<String> = disks.iter().filter(names_it).cloned().collect();
        match below.as_slice() {
            [disk] => volume.partition_of = Some(disk.clone()),
            _ => volume.built_of = below,
        }
    }
}

fn no_columns(others: &Others) -> ImportError {
    let rename = "rename the objects and counters in the first line to the English names";
    let by_language = || format!("{}; in another language, {rename}", perfmon_names::remedies());
    let list = |names: &BTreeSet<String>| {
        names.iter().take(OBJECTS_SHOWN).cloned().collect::<Vec<_>>().join(", ")
    };
    let (why, remedy) = if let Some(language) = others.foreign {
        let why = format!("the counters have {language} names, which are not supported");
        (why, format!("record on a system in English, or {rename}"))
    } else if !others.unknown.is_empty() {
        let why = format!(
            "no counter is a known counter of PhysicalDisk or LogicalDisk ({})",
            list(&others.unknown)
        );
        (why, by_language())
    } else if others.objects.is_empty() {
        ("the header contains no counters".to_owned(), perfmon_names::remedies())
    } else {
        let why = format!(
            "it contains no objects with the English, German or French names of PhysicalDisk and \
             LogicalDisk: {}",
            list(&others.objects)
        );
        (why, by_language())
    };
    ImportError::nothing(why, remedy)
}

/// The error for a file whose rows give no interval.
fn without_rows(others: &Others) -> ImportError {
    let original = "use the file that Windows wrote, not a file that a spreadsheet saved";
    let remedy = others.language.map_or_else(perfmon_names::remedies, Language::remedy);
    match (others.misfits, others.timeless) {
        (0, 0) => ImportError::nothing("fewer than two rows have times", remedy),
        (0, _) => ImportError::nothing(
            "fewer than two rows begin with a date and a time with seconds; spreadsheets drop \
             the seconds when they save a file",
            original,
        ),
        _ => ImportError::nothing(
            "the rows have more or fewer fields than the header, probably because numbers with \
             decimal commas are separated by commas",
            original,
        ),
    }
}

/// The separator of a header: the character before its first counter path.
fn separator(header: &str) -> char {
    let before = header.split_once('\\').map_or("", |(before, _)| before);
    let last = before.trim_end_matches('"').chars().last();
    last.filter(|mark| [',', ';', '\t'].contains(mark)).unwrap_or(',')
}

/// The fields of a line. A spreadsheet that expects another separator takes a line for a single field, and
/// quotes it again when it saves the file.
fn fields(line: &str, mark: char) -> Option<Vec<String>> {
    let fields = table::fields(line, mark)?;
    match fields.as_slice() {
        [one] if one.contains('"') => table::fields(one, mark),
        _ => Some(fields),
    }
}

/// The headers of a file with their rows.
fn take_blocks(text: &str, builder: &mut ObservationBuilder, others: &mut Others) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut mark = ',';
    for line in text.lines() {
        let line = line.trim_matches(['\r', '\u{feff}', '\0']);
        if line.contains("(PDH-") && line.contains("SV 4") {
            mark = separator(line);
            match fields(line, mark) {
                Some(fields) => blocks.push(header(&fields, builder, others)),
                None => builder.counts.faults += 1,
            }
            continue;
        }
        // typeperf prints messages above and below its table. A spreadsheet saves rows without quotes.
        let is_row = line.trim_start().starts_with(|it: char| it == '"' || it.is_ascii_digit());
        let Some(block) = blocks.last_mut().filter(|_| is_row) else { continue };
        let needed = block.columns.iter().map(|column| column.field + 1).max().unwrap_or(0);
        let Some(fields) = fields(line, mark) else {
            builder.counts.faults += 1;
            continue;
        };
        // In a field without quotes, a decimal comma would shift the values to other columns.
        let all_quoted = line.matches('"').count() >= 2 * fields.len();
        let fits = fields.len() >= needed && (all_quoted || fields.len() == block.fields);
        let stamp = fields.first().and_then(|first| Stamp::parse(first));
        others.misfits += u64::from(!all_quoted && !fits);
        others.timeless += u64::from(stamp.is_none());
        match stamp.filter(|_| fits) {
            Some(stamp) => block.rows.push((stamp, fields)),
            None => builder.counts.faults += 1,
        }
    }
    blocks
}

fn header(fields: &[String], builder: &mut ObservationBuilder, others: &mut Others) -> Block {
    // `(PDH-CSV 4.0) (Pacific Daylight Time)(420)`: minutes that UTC is ahead.
    let bias = fields.first().and_then(|first| first.rsplit_once('(')?.1.strip_suffix(')'));
    let bias = bias.and_then(|minutes| minutes.parse::<i64>().ok());
    let bias = bias.filter(|minutes| minutes.abs() <= 24 * 60);
    let mut columns: Vec<Column> = Vec::new();
    for (field, path) in fields.iter().enumerate().skip(1) {
        let Some((host, object, instance, name)) = parts(path) else { continue };
        others.objects.insert(object.to_owned());
        others.foreign = others.foreign.or(perfmon_names::foreign(object));
        let Some((layer, language)) = perfmon_names::layer(object) else { continue };
        others.language = others.language.or(Some(language));
        let Some(counter) = perfmon_names::counter(name) else {
            others.unknown.insert(name.to_owned());
            continue;
        };
        if TOTALS.contains(&instance.to_lowercase().as_str()) {
            others.totals = true;
            if !builder.totals_only {
                continue;
            }
        }
        // A volume never has the name of a disk; if it had, the two would count as one.
        let same = |it: &Column| (&*it.host, &*it.device, it.counter) == (host, instance, counter);
        if columns.iter().any(same) {
            builder.counts.twice += 1;
            continue;
        }
        let (host, device) = (host.to_owned(), instance.to_owned());
        columns.push(Column { field, layer, host, device, counter });
    }
    let offset_s = bias.map(|minutes| -60 * minutes);
    Block { offset_s, fields: fields.len(), columns, rows: Vec::new() }
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

fn add(block: &Block, host: &str, builder: &mut ObservationBuilder, options: &Options) {
    let stamps: Vec<Option<Stamp>> =
        block.rows.iter().map(|(stamp, _)| Some(stamp.clone())).collect();
    let utc_offset_s = options.utc_offset_s.or(block.offset_s);
    let times = builder.times(&stamps, Clock { utc_offset_s, ..options.clock() }, true);
    let mut last = None;
    for ((_, fields), time) in block.rows.iter().zip(times) {
        let Some(time) = time else {
            builder.counts.no_length += 1;
            continue;
        };
        let Some(begin) = last.replace(time) else { continue };
        if time <= begin {
            builder.counts.backwards += 1;
            builder.counts.no_length += 1;
            continue;
        }
        // In the order of the header.
        let mut devices: Vec<(&str, Readings)> = Vec::new();
        for column in block.columns.iter().filter(|column| column.host == host) {
            let text = fields[column.field].trim();
            let Some(reading) = Reading::parse(text) else {
                builder.counts.faults += u64::from(!text.is_empty());
                continue;
            };
            let of = |(device, _): &&mut (&str, Readings)| *device == column.device;
            match devices.iter_mut().find(of) {
                Some((_, readings)) => drop(readings.insert(column.counter, reading)),
                None => devices.push((&column.device, Readings::from([(column.counter, reading)]))),
            }
        }
        for (device, readings) in &devices {
            builder.add(interval(device, readings), begin, time - begin);
        }
    }
}

/// Values of a device in a row.
type Readings = BTreeMap<Counter, Reading>;

fn interval(device: &str, readings: &Readings) -> Interval {
    let scaled = |counter: Counter, factor: f64| {
        readings.get(&counter).map(|reading| Figure::from(reading.times(factor)))
    };
    let of = |counter: Counter| scaled(counter, 1.0);
    let operation = |per_s, bytes_per_s, request_bytes, latency| OpInterval {
        per_s: of(per_s),
        bytes_per_s: of(bytes_per_s),
        request_bytes: of(request_bytes),
        merged_per_s: None,
        latency_ns: scaled(latency, SECOND),
    };
    use Counter as C;
    let idle = scaled(C::Idle, 0.01);
    Interval {
        device: device.to_owned(),
        read: operation(C::Reads, C::ReadBytes, C::BytesPerRead, C::SecondsPerRead),
        write: operation(C::Writes, C::WrittenBytes, C::BytesPerWrite, C::SecondsPerWrite),
        all: operation(C::Transfers, C::Bytes, C::BytesPerTransfer, C::SecondsPerTransfer),
        busy_share: idle.map(|idle| Figure { value: 1.0 - idle.value, ..idle }),
        concurrency: of(C::Concurrency),
        in_flight: of(C::InFlight),
        splits_per_s: of(C::Splits),
        ..Interval::default()
    }
}
