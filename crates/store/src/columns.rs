//! Stores intervals in compressed columns: a few per cent of their JSON size, without loss of a bit.
//!
//! The value is a zlib stream (RFC 1950) of sections. A section is a line of JSON, a line end, and as many
//! bytes as the line states (`bytes`). The first section has the number of intervals and the names of the
//! devices. Columns of numbers follow, named by their path in the JSON of an interval. A column consists of
//! the byte planes of fixed-width little-endian numbers (all lowest bytes first), which compress better
//! than the numbers themselves. A figure printed by a tool is a whole number of steps of its last digit. It
//! is stored as steps (`value = steps / divisor * factor`) if that restores the same bits. Everything that
//! is not a number (trace data, processes, the system) is JSON in the last section, for the intervals that
//! have it. The reader skips unknown columns.
//!
//! Rejected: compressed JSON of the intervals (a tenth of the speed, and twice the size); zstd and lz4
//! (Python reads zlib with its standard library, and the package there reads this file); Parquet (a writer
//! and a reader would be needed).

use engine::input;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use record::{Context, Figure, Interval, OverLimit, ProcessIo, Quality, Traced};
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};

type Result<T> = serde_json::Result<T>;

/// The first line of a section.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Section {
    /// Content: `intervals`, `others`, the path of a figure, `device`, `begin_ns` or `duration_ns`.
    name: String,
    /// Number of bytes after the line.
    bytes: u64,
    /// Number of intervals.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
    /// Names of devices; the column `device` contains indexes into this list.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    devices: Vec<String>,
    /// Bytes per whole number; absent if values are 8-byte doubles.
    #[serde(skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    /// For figures in steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    divisor: Option<f64>,
    /// For figures in steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    factor: Option<f64>,
    /// Resolution of all figures; absent if each has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    resolution: Option<f64>,
}

/// Quality byte of a figure.
const NONE: u8 = 0;
const MEASURED: u8 = 1;
const DERIVED: u8 = 2;
/// Powers of ten by which a step may be divided.
const DIVISORS: [f64; 7] = [1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6];
/// Limit for whole numbers that a double represents exactly.
const MOST_STEPS: f64 = 9e15;

/// Data of an interval that are not numbers.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Other {
    interval: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    traced: Option<Box<Traced>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    over_limit: Option<OverLimit>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<ProcessIo>>,
}

/// The last section.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Others {
    intervals: Vec<Other>,
    contexts: Vec<Context>,
}

/// The columns of these intervals, and their contexts.
///
/// # Errors
/// If a figure is not finite: it could not be written as JSON later.
pub(crate) fn write(intervals: &[Interval], contexts: &[Context]) -> Result<Vec<u8>> {
    let mut out = Writer(ZlibEncoder::new(Vec::new(), Compression::fast()));
    let (mut devices, mut places): (Vec<String>, HashMap<&str, u64>) = Default::default();
    let mut device = Vec::with_capacity(intervals.len());
    for interval in intervals {
        let place = *places.entry(&interval.device).or_insert_with(|| {
            devices.push(interval.device.clone());
            devices.len() as u64 - 1
        });
        device.push(place);
    }
    let count = Some(intervals.len());
    out.section(Section { name: "intervals".into(), count, devices, ..Section::default() }, &[])?;
    out.whole("device", &device)?;
    drop(device);
    out.whole("begin_ns", &intervals.iter().map(|it| it.begin_ns).collect::<Vec<_>>())?;
    out.whole("duration_ns", &intervals.iter().map(|it| it.duration_ns).collect::<Vec<_>>())?;
    for (place, name) in Interval::FIGURES.iter().enumerate() {
        out.figures(name, intervals.iter().map(|it| it.figures().nth(place).flatten()))?;
    }
    let mut others = Others { contexts: contexts.to_vec(), ..Others::default() };
    for (place, interval) in intervals.iter().enumerate() {
        // A destructuring without `..`, so that a new field cannot be forgotten.
        let Interval {
            device: _,
            begin_ns: _,
            duration_ns: _,
            read: _,
            write: _,
            all: _,
            discards_per_s: _,
            flushes_per_s: _,
            flush_latency_ns: _,
            busy_share: _,
            concurrency: _,
            in_flight: _,
            splits_per_s: _,
            traced,
            over_limit,
            processes,
        } = interval;
        if traced.is_some() || over_limit.is_some() || processes.is_some() {
            let (traced, processes) = (traced.clone(), processes.clone());
            others.intervals.push(Other {
                interval: place,
                traced,
                over_limit: *over_limit,
                processes,
            });
        }
    }
    let json = serde_json::to_vec(&others)?;
    out.section(Section { name: "others".into(), ..Section::default() }, &json)?;
    out.0.finish().map_err(serde_json::Error::io)
}

struct Writer(ZlibEncoder<Vec<u8>>);

impl Writer {
    fn section(&mut self, section: Section, bytes: &[u8]) -> Result<()> {
        let line = serde_json::to_string(&Section { bytes: bytes.len() as u64, ..section })?;
        let parts = [line.as_bytes(), b"\n", bytes];
        parts.iter().try_for_each(|part| self.0.write_all(part)).map_err(serde_json::Error::io)
    }

    /// A column of whole numbers, stored as differences because these are small, in the smallest width that
    /// fits.
    fn whole(&mut self, name: &str, values: &[u64]) -> Result<()> {
        let mut last = 0u64;
        let steps: Vec<i64> = values
            .iter()
            .map(|value| value.wrapping_sub(std::mem::replace(&mut last, *value)).cast_signed())
            .collect();
        let (width, bytes) = planes(&steps);
        let section = Section { name: name.into(), width: Some(width), ..Section::default() };
        self.section(section, &bytes)
    }

    /// A column of figures: quality bytes, values, and the resolutions if they differ.
    fn figures(&mut self, name: &str, figures: impl Iterator<Item = Option<Figure>>) -> Result<()> {
        let mut bytes = Vec::new();
        let mut some: Vec<Figure> = Vec::new();
        for figure in figures {
            bytes.push(match figure.map(|it| it.quality) {
                None => NONE,
                Some(Quality::Measured) => MEASURED,
                Some(Quality::Derived) => DERIVED,
            });
            some.extend(figure);
        }
        if some.iter().any(|it| !it.value.is_finite() || !it.resolution.is_finite()) {
            return Err(serde_json::Error::custom(format!("{name} is not finite")));
        }
        if some.is_empty() {
            return Ok(());
        }
        let first = some[0].resolution;
        let same = some.iter().all(|it| it.resolution.to_bits() == first.to_bits());
        let mut section = Section { name: name.into(), ..Section::default() };
        section.resolution = same.then_some(first);
        match section.resolution.and_then(|resolution| steps(&some, resolution)) {
            Some((steps, divisor, factor)) => {
                let (width, values) = planes(&steps);
                (section.width, section.divisor) = (Some(width), Some(divisor));
                section.factor = Some(factor);
                bytes.extend(values);
            }
            None => bytes.extend(double_planes(&some.iter().map(|it| it.value))),
        }
        if !same {
            bytes.extend(double_planes(&some.iter().map(|it| it.resolution)));
        }
        self.section(section, &bytes)
    }
}

/// The figures as whole numbers of steps, with the divisor and factor that restore their bits.
fn steps(figures: &[Figure], resolution: f64) -> Option<(Vec<i64>, f64, f64)> {
    DIVISORS.iter().find_map(|divisor| {
        let factor = resolution * divisor;
        let step = |figure: &Figure| {
            let steps = (figure.value / resolution).round();
            let back = steps / divisor * factor;
            let exact = steps.abs() < MOST_STEPS && back.to_bits() == figure.value.to_bits();
            exact.then_some(steps as i64)
        };
        (resolution > 0.0).then_some(())?;
        Some((figures.iter().map(step).collect::<Option<Vec<i64>>>()?, *divisor, factor))
    })
}

/// Signed numbers as byte planes of the smallest width that fits all.
fn planes(values: &[i64]) -> (usize, Vec<u8>) {
    let fits = |width: &usize| {
        let bits = 8 * width - 1;
        values.iter().all(|value| *width == 8 || (-(1i64 << bits)..1i64 << bits).contains(value))
    };
    let width = [1, 2, 4, 8].into_iter().find(fits).unwrap_or(8);
    let mut bytes = Vec::with_capacity(width * values.len());
    for plane in 0..width {
        bytes.extend(values.iter().map(|value| value.to_le_bytes()[plane]));
    }
    (width, bytes)
}

fn double_planes(values: &(impl Iterator<Item = f64> + Clone)) -> Vec<u8> {
    (0..8).flat_map(|plane| values.clone().map(move |value| value.to_le_bytes()[plane])).collect()
}

/// Reads the intervals and contexts from columns.
///
/// # Errors
/// If the data are damaged.
pub(crate) fn read(bytes: &[u8]) -> Result<(Vec<Interval>, Vec<Context>)> {
    let mut input = BufReader::new(ZlibDecoder::new(bytes));
    let mut intervals = Vec::new();
    let mut devices: Vec<String> = Vec::new();
    let mut contexts = Vec::new();
    while let Some((section, bytes)) = next(&mut input)? {
        if let Some(count) = section.count {
            // Limit the allocation: a column of this length must follow, so a false count fails there.
            devices = section.devices;
            intervals.resize_with(count.min(bounded(&devices, count)), Interval::default);
            continue;
        }
        let count = intervals.len();
        let damaged = || serde_json::Error::custom(format!("column {:?} is damaged", section.name));
        let figure = Interval::FIGURES.iter().position(|name| *name == section.name);
        match (section.name.as_str(), figure) {
            ("others", _) => {
                let others: Others = serde_json::from_slice(&bytes)?;
                contexts = others.contexts;
                for other in others.intervals {
                    let interval = intervals.get_mut(other.interval).ok_or_else(damaged)?;
                    (interval.traced, interval.over_limit) = (other.traced, other.over_limit);
                    interval.processes = other.processes;
                }
            }
            (name @ ("device" | "begin_ns" | "duration_ns"), _) => {
                let values = whole(&section, &bytes, count).ok_or_else(damaged)?;
                for (interval, value) in intervals.iter_mut().zip(values) {
                    match name {
                        "device" => {
                            let device = devices.get(value as usize).ok_or_else(damaged)?;
                            interval.device.clone_from(device);
                        }
                        "begin_ns" => interval.begin_ns = value,
                        _ => interval.duration_ns = value,
                    }
                }
            }
            (_, Some(place)) => {
                set_figures(&mut intervals, place, &section, &bytes).ok_or_else(damaged)?;
            }
            _ => {}
        }
    }
    Ok((intervals, contexts))
}

/// Without a device no interval can exist.
fn bounded(devices: &[String], count: usize) -> usize {
    if devices.is_empty() { 0 } else { count }
}

/// Maximum length of the line before a section.
const SECTION_LINE_BYTES: u64 = 4_096;

fn next(input: &mut impl BufRead) -> Result<Option<(Section, Vec<u8>)>> {
    let mut line = Vec::new();
    input::line_at_most(&mut *input, SECTION_LINE_BYTES, &mut line)
        .map_err(serde_json::Error::io)?;
    if line.is_empty() {
        return Ok(None);
    }
    let section: Section = serde_json::from_slice(&line)?;
    let mut bytes = Vec::new();
    input::at_most(&mut *input, section.bytes, &mut bytes).map_err(serde_json::Error::io)?;
    match bytes.len() as u64 == section.bytes {
        true => Ok(Some((section, bytes))),
        false => Err(serde_json::Error::custom(format!("column {:?} is truncated", section.name))),
    }
}

/// Signed numbers from their byte planes.
fn from_planes(bytes: &[u8], width: usize, count: usize) -> Option<Vec<i64>> {
    if ![1, 2, 4, 8].contains(&width) || bytes.len() != width * count {
        return None;
    }
    let number = |place: usize| {
        let mut le = [0; 8];
        for (plane, byte) in le.iter_mut().enumerate().take(width) {
            *byte = bytes[plane * count + place];
        }
        // Sign-extend the narrow number.
        let unused = 64 - 8 * width as u32;
        (i64::from_le_bytes(le) << unused) >> unused
    };
    Some((0..count).map(number).collect())
}

fn whole(section: &Section, bytes: &[u8], count: usize) -> Option<Vec<u64>> {
    let mut last = 0u64;
    let steps = from_planes(bytes, section.width?, count)?;
    Some(
        steps
            .into_iter()
            .map(|step| {
                last = last.wrapping_add(step.cast_unsigned());
                last
            })
            .collect(),
    )
}

fn set_figures(
    intervals: &mut [Interval],
    place: usize,
    section: &Section,
    bytes: &[u8],
) -> Option<()> {
    let (qualities, bytes) = bytes.split_at_checked(intervals.len())?;
    let count = qualities.iter().filter(|quality| **quality != NONE).count();
    let width = section.width.unwrap_or(8);
    let (values, rest) = bytes.split_at_checked(width.checked_mul(count)?)?;
    let values = from_planes(values, width, count)?;
    let own = match section.resolution {
        Some(_) => Vec::new(),
        None => from_planes(rest, 8, count)?,
    };
    let double = |bits: i64| f64::from_bits(bits.cast_unsigned());
    let value = |number: i64| match section.divisor.zip(section.factor) {
        Some((divisor, factor)) => number as f64 / divisor * factor,
        None => double(number),
    };
    let mut at = 0;
    for (interval, quality) in intervals.iter_mut().zip(qualities) {
        let quality = match *quality {
            NONE => continue,
            MEASURED => Quality::Measured,
            DERIVED => Quality::Derived,
            _ => return None,
        };
        let resolution = section.resolution.unwrap_or_else(|| double(own[at]));
        let figure = interval.figures_mut().nth(place)?;
        *figure = Some(Figure { value: value(values[at]), quality, resolution });
        at += 1;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    fn intervals() -> Vec<Interval> {
        let interval = |place: u64| {
            let mut interval = Interval {
                device: ["sda", "sdb"][place as usize % 2].into(),
                begin_ns: 1_795_798_589_000_000_000 + place / 2 * 3_000_000_000,
                duration_ns: 3_000_000_000,
                ..Interval::default()
            };
            let printed = |hundredths: u64, factor: f64| {
                let value: f64 =
                    format!("{}.{:02}", hundredths / 100, hundredths % 100).parse().unwrap();
                Some(Figure::measured(value * factor, 0.01 * factor))
            };
            interval.read.per_s = printed(place * 37, 1.0);
            interval.read.bytes_per_s = printed(place * 4_111, 1_024.0);
            interval.read.latency_ns =
                printed(place * 13, 1e6).filter(|_| !place.is_multiple_of(3));
            interval.busy_share = printed(place * 7 % 10_000, 0.01);
            interval.all.request_bytes =
                Some(Figure::derived(1e5 / (place as f64 + 0.3), 0.1 * place as f64));
            interval.in_flight = (place == 5).then(|| Figure::measured(-0.0, 0.0));
            if place == 7 {
                interval.traced = Some(Box::new(Traced { lost: 3, ..Traced::default() }));
            }
            interval
        };
        (0..500).map(interval).collect()
    }

    #[test]
    fn every_bit_of_every_figure_comes_back() {
        let intervals = intervals();
        let contexts = vec![Context { begin_ns: 5, steal_share: Some(0.1), ..Context::default() }];
        let bytes = write(&intervals, &contexts).unwrap();
        let (back, back_contexts) = read(&bytes).unwrap();
        assert_eq!((&back, back_contexts), (&intervals, contexts));
        assert!(back[5].in_flight.unwrap().value.is_sign_negative());
        let json = serde_json::to_string(&intervals).unwrap().len();
        assert!(bytes.len() * 20 < json, "{} of {json}", bytes.len());
    }

    #[test]
    fn nothing_and_what_is_not_finite() {
        let bytes = write(&[], &[]).unwrap();
        assert_eq!(read(&bytes).unwrap(), (Vec::new(), Vec::new()));
        let mut intervals = intervals();
        intervals[3].concurrency = Some(Figure::measured(f64::INFINITY, 0.0));
        assert!(write(&intervals, &[]).unwrap_err().to_string().contains("concurrency"));
    }

    #[test]
    fn damaged_columns_are_an_error_and_never_a_panic() {
        let bytes = write(&intervals(), &[]).unwrap();
        for end in (0..bytes.len()).step_by(bytes.len() / 200) {
            let _ = read(&bytes[..end]);
            let mut changed = bytes.clone();
            changed[end] ^= 0x55;
            let _ = read(&changed);
        }
        let mut plain = Vec::new();
        ZlibDecoder::new(bytes.as_slice()).read_to_end(&mut plain).unwrap();
        for at in (0..plain.len()).step_by(plain.len() / 300) {
            let mut changed = plain.clone();
            changed[at] ^= 0x11;
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(&changed).unwrap();
            let _ = read(&encoder.finish().unwrap());
        }
    }
}
