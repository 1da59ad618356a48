//! Defines the column names and disk figures that sysstat's tools share.
//!
//! iostat, sar and sadf print the same figures under names that depend on tool, version and flags. A name
//! implies its unit, so one table serves all of them. If reads and writes have separate rates, the means
//! over all requests are left out, because those of sysstat include discards. Names are looked up once per
//! header, because a day of records repeats the same names a million times.

use crate::json::Json;
use crate::number::Reading;
use crate::observation_builder::{KIB, MS, SECTOR_BYTES};
use record::{Figure, Interval, OpInterval};

/// Binary megabyte, sysstat's `MB`.
const MIB: f64 = 1_048_576.0;
pub(crate) const PERCENT: f64 = 0.01;

/// Keys of one figure with their factors to our unit; the first key present counts.
pub(crate) type Keys = &'static [(&'static str, f64)];

/// The keys of the figures by their names in [`Interval::FIGURES`].
const KEYS: [(&str, Keys); 20] = [
    ("read.per_s", &[("r/s", 1.0), ("r", 1.0)]),
    (
        "read.bytes_per_s",
        &[
            ("rkB/s", KIB),
            ("rMB/s", MIB),
            ("rsec/s", SECTOR_BYTES),
            ("rd_sec/s", SECTOR_BYTES),
            ("rkB", KIB),
            ("rMB", MIB),
            ("rsec", SECTOR_BYTES),
            ("rd_sec", SECTOR_BYTES),
            ("kB_read/s", KIB),
            ("MB_read/s", MIB),
            ("Blk_read/s", SECTOR_BYTES),
            ("kB_read_per_sec", KIB),
            ("MB_read_per_sec", MIB),
            ("Blk_read_per_sec", SECTOR_BYTES),
        ],
    ),
    ("read.request_bytes", &[("rareq-sz", KIB)]),
    ("read.merged_per_s", &[("rrqm/s", 1.0)]),
    ("read.latency_ns", &[("r_await", MS)]),
    ("write.per_s", &[("w/s", 1.0), ("w", 1.0)]),
    (
        "write.bytes_per_s",
        &[
            ("wkB/s", KIB),
            ("wMB/s", MIB),
            ("wsec/s", SECTOR_BYTES),
            ("wr_sec/s", SECTOR_BYTES),
            ("wkB", KIB),
            ("wMB", MIB),
            ("wsec", SECTOR_BYTES),
            ("wr_sec", SECTOR_BYTES),
            ("kB_wrtn/s", KIB),
            ("MB_wrtn/s", MIB),
            ("Blk_wrtn/s", SECTOR_BYTES),
            ("kB_wrtn_per_sec", KIB),
            ("MB_wrtn_per_sec", MIB),
            ("Blk_wrtn_per_sec", SECTOR_BYTES),
        ],
    ),
    ("write.request_bytes", &[("wareq-sz", KIB)]),
    ("write.merged_per_s", &[("wrqm/s", 1.0)]),
    ("write.latency_ns", &[("w_await", MS)]),
    // Over all operations, discards included.
    ("all.per_s", &[("tps", 1.0)]),
    ("all.bytes_per_s", &[("kB/s", KIB), ("MB/s", MIB), ("sec/s", SECTOR_BYTES)]),
    ("all.request_bytes", &[("areq-sz", KIB), ("avgrq-sz", SECTOR_BYTES)]),
    ("all.merged_per_s", &[("rqm/s", 1.0)]),
    ("all.latency_ns", &[("await", MS)]),
    ("discards_per_s", &[("d/s", 1.0)]),
    ("flushes_per_s", &[("f/s", 1.0)]),
    ("flush_latency_ns", &[("f_await", MS)]),
    ("concurrency", &[("aqu-sz", 1.0), ("avgqu-sz", 1.0)]),
    ("busy_share", &[("util", PERCENT), ("%util", PERCENT), ("util-percent", PERCENT)]),
];

/// Discarded data, in any unit.
const DISCARDED: Keys = &[
    ("kB_dscd/s", 1.0),
    ("MB_dscd/s", 1.0),
    ("Blk_dscd/s", 1.0),
    ("dkB/s", 1.0),
    ("dc_sec/s", 1.0),
    ("dkB", 1.0),
    ("dc_sec", 1.0),
];

/// A rate, the amount since the previous report, and the unit of both.
const AMOUNTS: [(&str, &str, f64); 6] = [
    ("kB_read/s", "kB_read", KIB),
    ("kB_wrtn/s", "kB_wrtn", KIB),
    ("MB_read/s", "MB_read", MIB),
    ("MB_wrtn/s", "MB_wrtn", MIB),
    ("Blk_read/s", "Blk_read", SECTOR_BYTES),
    ("Blk_wrtn/s", "Blk_wrtn", SECTOR_BYTES),
];
/// Maximum relative error of a length that is computed from an amount and its rate.
const LENGTH_ERROR: f64 = 0.01;

/// Index of a figure's column, and the factor to our unit.
type Place = Option<(usize, f64)>;

/// The columns of a table, or the keys of an object, with the place of each figure.
#[derive(Default)]
pub(crate) struct Columns {
    names: Vec<String>,
    figures: [Place; Interval::FIGURES.len()],
    /// Whether reads or writes have their own latency.
    directions: bool,
    discarded: Place,
    /// Columns of a rate and of the amount of the same data, and the factor to our unit.
    amounts: Vec<(usize, usize, f64)>,
}

impl Columns {
    pub(crate) fn new(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        let place = |keys: Keys| -> Place {
            keys.iter().find_map(|(key, factor)| {
                Some((names.iter().position(|name| name == key)?, *factor))
            })
        };
        let of = |figure: &str| {
            let keys = KEYS.iter().find(|(name, _)| *name == figure);
            keys.and_then(|(_, keys)| place(keys))
        };
        let directions = of("read.latency_ns").or(of("write.latency_ns")).is_some();
        let (figures, discarded) = (Interval::FIGURES.map(of), place(DISCARDED));
        let index = |key: &str| names.iter().position(|name| name == key);
        let amounts = AMOUNTS.into_iter();
        let amounts =
            amounts.filter_map(|(rate, amount, unit)| Some((index(rate)?, index(amount)?, unit)));
        let amounts = amounts.collect();
        Self { names, figures, directions, discarded, amounts }
    }

    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Length of the report in seconds from the fields of a row: an amount divided by its rate. `None`
    /// without a pair of sufficient precision.
    pub(crate) fn length_s(&self, field: impl Fn(usize) -> Option<Field>) -> Option<Reading> {
        let lengths = self.amounts.iter().filter_map(|(rate, amount, unit)| {
            let of = |index| reading((index, *unit), &field).filter(|it| it.value > 0.0);
            let (rate, amount) = (of(*rate)?, of(*amount)?);
            let error = (rate.step / rate.value + amount.step / amount.value) / 2.0;
            let value = amount.value / rate.value;
            (error <= LENGTH_ERROR).then_some(Reading { value, step: 2.0 * error * value })
        });
        lengths.min_by(|one, other| one.step.total_cmp(&other.step))
    }

    /// The interval of a disk from the fields of its row. Also the rate of discarded data, if the means
    /// over all requests would include it.
    pub(crate) fn interval(
        &self,
        device: &str,
        field: impl Fn(usize) -> Option<Field>,
    ) -> (Interval, Option<f64>) {
        let reading = |place: Place| reading(place?, &field);
        let mut interval = Interval { device: device.to_owned(), ..Interval::default() };
        for (figure, place) in interval.figures_mut().zip(self.figures) {
            *figure = reading(place).map(Figure::from);
        }
        let apart = interval.read.per_s.is_some() && interval.write.per_s.is_some();
        if apart {
            // Until version 10 the latency was not separated by direction, and did not include discards.
            let latency_ns = interval.all.latency_ns.filter(|_| !self.directions);
            interval.all = OpInterval { latency_ns, ..OpInterval::default() };
        }
        let discarded = if apart { Some(0.0) } else { reading(self.discarded).map(|it| it.value) };
        (interval, discarded)
    }
}

/// The number at a place, in our unit.
fn reading(
    (index, factor): (usize, f64),
    field: impl Fn(usize) -> Option<Field>,
) -> Option<Reading> {
    let Field { reading, unit } = field(index)?;
    Some(reading.times(unit.unwrap_or(factor)))
}

/// A field of a row: the number, and the unit printed after it, in bytes or as a share.
#[derive(Clone, Copy)]
pub(crate) struct Field {
    pub(crate) reading: Reading,
    pub(crate) unit: Option<f64>,
}

impl Field {
    /// Parses `12.50`, `12,50`, `4.8M`, `11.6%`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unit = UNITS.iter().find(|(mark, _)| text.ends_with(*mark));
        let Some((mark, unit)) = unit else {
            return Some(Self { reading: Reading::parse(text)?, unit: None });
        };
        Some(Self { reading: Reading::parse(text.strip_suffix(*mark)?)?, unit: Some(*unit) })
    }
}

/// Units that `-h` prints after a number.
const UNITS: [(char, f64); 8] = [
    ('%', PERCENT),
    ('s', SECTOR_BYTES),
    ('B', 1.0),
    ('k', KIB),
    ('M', MIB),
    ('G', MIB * KIB),
    ('T', MIB * MIB),
    ('P', MIB * MIB * KIB),
];

/// The rates of an interval that are whole counts divided by its length.
pub(crate) fn counts(interval: &Interval) -> impl Iterator<Item = Reading> {
    let Interval { read, write, all, discards_per_s, flushes_per_s, .. } = interval;
    let of_ops = [read, write, all].into_iter().flat_map(|op| [op.per_s, op.merged_per_s]);
    let figures = of_ops.chain([*discards_per_s, *flushes_per_s]).flatten();
    figures.map(|figure| Reading { value: figure.value, step: figure.resolution })
}

/// The first of these keys that the object has as a number, in our unit.
pub(crate) fn find(object: &Json<'_>, keys: &[(&str, f64)]) -> Option<Reading> {
    keys.iter().find_map(|(key, factor)| {
        let Json::Number(text) = object.get(key)? else { return None };
        Reading::parse(text).map(|reading| reading.times(*factor))
    })
}

/// A share of the processors' time; the source has per cent.
pub(crate) fn share(percent: Option<Reading>) -> Option<f64> {
    let share = percent?.value * PERCENT;
    (-0.5..=1.5).contains(&share).then(|| share.clamp(0.0, 1.0))
}

/// Share of the processors' time that was idle or waiting for I/O.
pub(crate) fn idle_share(of: impl Fn(&str) -> Option<Reading>) -> Option<f64> {
    Some((share(of("idle"))? + share(of("iowait"))?).min(1.0))
}
