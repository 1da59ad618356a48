//! Reads `sadf -d`: sar data as lines with semicolons. A header names the columns and is repeated for other
//! activities and after restarts. With `-h` all devices are on one line.

use crate::moment::{SECOND_NS, Stamp};
use crate::number::Reading;
use crate::observation_builder::{ObservationBuilder, distinct};
use crate::sysstat::{Columns, Field};
use crate::{ImportError, Options, Text, table};
use record::Observation;

/// End of a header whose device columns repeat.
const REPEATED: &str = "[...]";
/// Number of columns before those of devices.
const LEADING: usize = 3;

/// A header with device columns.
struct Header {
    /// Columns of one device, from `DEV` on.
    columns: Columns,
    repeated: bool,
}

/// Values of a device in a line.
struct Row {
    host: String,
    stamp: Option<Stamp>,
    length: i128,
    /// In the order of the header's columns, name first.
    fields: Vec<String>,
    header: usize,
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut first = ObservationBuilder::new("sadf -d");
    let (mut headers, mut rows) = (Vec::new(), Vec::new());
    for text in texts {
        take_rows(text, &mut headers, &mut rows, &mut first);
    }
    let hosts = distinct(rows.iter().map(|row| row.host.as_str()));
    let stamps: Vec<Option<Stamp>> = rows.iter().map(|row| row.stamp.clone()).collect();
    let times = first.times(&stamps, options.clock(), false);
    let observation = |host: Option<&str>| {
        let mut builder = first.clone();
        builder.host = host.map(str::to_owned);
        let mut last = None;
        for (row, time) in rows.iter().zip(&times).filter(|(row, _)| Some(&*row.host) == host) {
            let Some(time) = *time else {
                builder.counts.no_length += 1;
                continue;
            };
            builder.counts.backwards += u64::from(last.is_some_and(|last| time < last));
            last = Some(time);
            let field = |index: usize| Field::parse(&row.fields[index]);
            let (interval, discarded) = headers[row.header].columns.interval(&row.fields[0], field);
            builder.counts.discards_mixed += u64::from(discarded.is_some_and(|rate| rate > 0.0));
            builder.add(interval, time - row.length, row.length);
        }
        builder.finish("no line contains a disk", "create the file with: sadf -d FILE -- -d")
    };
    match hosts.as_slice() {
        [] => Ok(vec![observation(None)?]),
        hosts => hosts.iter().map(|host| observation(Some(host))).collect(),
    }
}

fn take_rows(
    text: &str,
    headers: &mut Vec<Header>,
    rows: &mut Vec<Row>,
    builder: &mut ObservationBuilder,
) {
    // Whether the current header has devices.
    let mut of_devices = false;
    for line in text.split_inclusive('\n') {
        let whole = line.ends_with('\n');
        let line = line.trim();
        if let Some(names) = line.strip_prefix('#') {
            let header = header(names);
            of_devices = header.is_some();
            headers.extend(header);
        } else if line.contains("LINUX-RESTART") || line.contains("LINUX RESTART") {
            builder.counts.restarts += 1;
        } else if !line.is_empty() && of_devices && !line.contains(";COM;") {
            let index = headers.len() - 1;
            match whole.then(|| row(line, &headers[index], index)).flatten() {
                Some(found) => rows.extend(found),
                None => builder.counts.faults += 1,
            }
        }
    }
}

/// The device columns of a header; `None` if it has none.
fn header(names: &str) -> Option<Header> {
    let names = table::fields(names.trim(), ';')?;
    let begin = names.iter().position(|name| name == "DEV").filter(|at| *at == LEADING)?;
    let mut columns: Vec<String> =
        names[begin..].iter().map(|name| name.trim().to_owned()).collect();
    let last = columns.last_mut()?;
    let repeated = last.ends_with(REPEATED);
    *last = last.trim_end_matches(REPEATED).to_owned();
    Some(Header { columns: Columns::new(columns), repeated })
}

/// The rows of a line; `None` if it does not fit its header.
fn row(line: &str, header: &Header, index: usize) -> Option<Vec<Row>> {
    let fields = table::fields(line, ';')?;
    let [host, interval, stamp, devices @ ..] = fields.as_slice() else { return None };
    let width = header.columns.names().len();
    let fits = if header.repeated { devices.len() % width == 0 } else { devices.len() == width };
    let length = Reading::parse(interval).filter(|seconds| seconds.value > 0.0)?;
    if !fits || devices.is_empty() {
        return None;
    }
    let of_device = |fields: &[String]| Row {
        host: host.clone(),
        stamp: Stamp::parse(stamp),
        length: (length.value * SECOND_NS as f64) as i128,
        fields: fields.to_vec(),
        header: index,
    };
    Some(devices.chunks(width).map(of_device).collect())
}
