//! `sadf -d`: what sar kept, as lines with semicolons. A header names the columns and comes again
//! for other activities and after restarts; with `-h` all devices stand in one line.

use crate::moment::{self, SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::{KIB, MS, ObservationBuilder, SECTOR_BYTES};
use crate::{ImportError, Options, table};
use record::{Interval, Observation, OpInterval};
use std::collections::BTreeSet;

/// Per cent.
const PERCENT: f64 = 0.01;
/// End of a header whose device columns come again.
const REPEATED: &str = "[...]";
/// Columns before those of devices.
const LEADING: usize = 3;

/// A header that has devices.
struct Header {
    /// Columns of one device, from `DEV` on.
    columns: Vec<String>,
    /// Whether a line has several devices.
    repeated: bool,
}

/// What a line says of a device.
struct Row {
    stamp: Option<Stamp>,
    length: i128,
    device: String,
    values: Vec<(usize, Reading)>,
    header: usize,
}

/// Reads a file.
pub(crate) fn read(text: &str, options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut sheet = ObservationBuilder::new("sadf -d");
    let (headers, rows) = rows(text, &mut sheet);
    let stamps: Vec<Option<Stamp>> = rows.iter().map(|row| row.stamp.clone()).collect();
    let (times, assumed) = moment::moments(&stamps, options.utc_offset_s);
    sheet.assumed = assumed;
    let mut last = None;
    let mut seen = BTreeSet::new();
    for (row, time) in rows.iter().zip(times) {
        let Some(time) = time else {
            sheet.counts.no_length += 1;
            continue;
        };
        sheet.counts.backwards += u64::from(last.is_some_and(|last| time < last));
        last = Some(time);
        if !seen.insert((time, row.device.clone())) {
            sheet.counts.twice += 1;
            continue;
        }
        let interval = interval(row, &headers[row.header], &mut sheet);
        sheet.add(interval, time - row.length, row.length);
    }
    let observation = sheet.finish("no line has a disk", "make it with: sadf -d FILE -- -d")?;
    Ok(vec![observation])
}

/// Headers with devices and the lines below them.
fn rows(text: &str, sheet: &mut ObservationBuilder) -> (Vec<Header>, Vec<Row>) {
    let (mut headers, mut rows) = (Vec::<Header>::new(), Vec::new());
    // Whether the header in force has devices.
    let mut of_devices = false;
    for line in text.split_inclusive('\n') {
        let whole = line.ends_with('\n');
        let line = line.trim();
        if let Some(names) = line.strip_prefix('#') {
            let header = header(names);
            of_devices = header.is_some();
            headers.extend(header);
        } else if line.contains("LINUX-RESTART") || line.contains("LINUX RESTART") {
            sheet.counts.restarts += 1;
        } else if !line.is_empty() && of_devices && !line.contains(";COM;") {
            let index = headers.len() - 1;
            match whole.then(|| row(line, &headers[index], index)).flatten() {
                Some((host, found)) => {
                    sheet.host.get_or_insert(host);
                    rows.extend(found);
                }
                None => sheet.counts.faults += 1,
            }
        }
    }
    (headers, rows)
}

/// The columns of devices of a header; `None` of one without.
fn header(names: &str) -> Option<Header> {
    let names = table::fields(names.trim(), ';')?;
    let begin = names.iter().position(|name| name == "DEV").filter(|at| *at == LEADING)?;
    let mut columns: Vec<String> =
        names[begin..].iter().map(|name| name.trim().to_owned()).collect();
    let last = columns.last_mut()?;
    let repeated = last.ends_with(REPEATED);
    *last = last.trim_end_matches(REPEATED).to_owned();
    Some(Header { columns, repeated })
}

/// The machine and the rows of a line; `None` where it does not fit its header.
fn row(line: &str, header: &Header, index: usize) -> Option<(String, Vec<Row>)> {
    let fields = table::fields(line, ';')?;
    let [host, interval, stamp, devices @ ..] = fields.as_slice() else { return None };
    let width = header.columns.len();
    let fits = if header.repeated { devices.len() % width == 0 } else { devices.len() == width };
    let length = Reading::parse(interval).filter(|seconds| seconds.value > 0.0)?;
    if !fits || devices.is_empty() {
        return None;
    }
    let stamp = Stamp::parse(stamp);
    let of_device = |values: &[String]| Row {
        stamp: stamp.clone(),
        length: (length.value * SECOND_NS as f64) as i128,
        device: values[0].clone(),
        values: values
            .iter()
            .enumerate()
            .skip(1)
            .filter_map(|(column, text)| Reading::parse(text).map(|reading| (column, reading)))
            .collect(),
        header: index,
    };
    Some((host.clone(), devices.chunks(width).map(of_device).collect()))
}

fn interval(row: &Row, header: &Header, sheet: &mut ObservationBuilder) -> Interval {
    let find = |names: &[(&str, f64)]| {
        names.iter().find_map(|(name, factor)| {
            let column = header.columns.iter().position(|column| column == name)?;
            let (_, reading) = row.values.iter().find(|(at, _)| *at == column)?;
            Some(reading.times(*factor))
        })
    };
    let bytes_only = |bytes_per_s| OpInterval { bytes_per_s, ..OpInterval::default() };
    let reads = sheet.measured(find(&[("rkB/s", KIB), ("rd_sec/s", SECTOR_BYTES)]));
    let writes = sheet.measured(find(&[("wkB/s", KIB), ("wr_sec/s", SECTOR_BYTES)]));
    let all = OpInterval {
        per_s: sheet.measured(find(&[("tps", 1.0)])),
        request_bytes: sheet.measured(find(&[("areq-sz", KIB), ("avgrq-sz", SECTOR_BYTES)])),
        latency_ns: sheet.measured(find(&[("await", MS)])),
        ..OpInterval::default()
    };
    let discards = find(&[("dkB/s", 1.0), ("dc_sec/s", 1.0)]);
    sheet.counts.discards_mixed += u64::from(discards.is_some_and(|it| it.value > 0.0));
    Interval {
        device: row.device.clone(),
        read: bytes_only(reads),
        write: bytes_only(writes),
        all,
        busy_share: sheet.share(find(&[("%util", PERCENT)])),
        concurrency: sheet.measured(find(&[("aqu-sz", 1.0), ("avgqu-sz", 1.0)])),
        ..Interval::default()
    }
}
