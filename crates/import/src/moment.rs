//! Parses points in time as tools print them.
//!
//! A time in a locale's format shows neither its zone nor whether the day or the month comes first. So the
//! order is decided over all times of a file: an order in which every date exists; with dots, the day first;
//! of two such orders the one with the smaller distances between times, because recordings are shorter than
//! years; the one that is not in the future. Assumptions are reported. Rejected: a time-zone database (a
//! file that says `CEST` says it to one reader only; the offset can be given by a flag), and reading each
//! time by itself (a recording would jump by months at the twelfth of each).

use jiff::civil::Date;
use jiff::tz::Offset;
use std::cmp::Ordering;

pub(crate) const SECOND_NS: i128 = 1_000_000_000;
/// Plausible years.
const YEARS: std::ops::RangeInclusive<i16> = 1980..=2199;
/// Plausible range of a number of seconds since 1970.
const EPOCH_SECONDS: std::ops::RangeInclusive<f64> = 300_000_000.0..=7_000_000_000.0;

/// A time as printed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stamp {
    /// Since 1970, in nanoseconds.
    Counted(i128),
    Printed {
        /// The three numbers of the date in their order.
        date: [i64; 3],
        form: DateForm,
        of_day_ns: i128,
        /// Seconds ahead of UTC, if stated.
        offset_s: Option<i64>,
    },
}

/// How a date is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateForm {
    /// The year comes first, then month and day.
    YearFirst,
    /// With dots: where dates have dots, the day comes first.
    Dotted,
    /// As Windows writes counter logs in every language: `MM/DD/YYYY` and milliseconds.
    CounterLog,
    Other,
}

/// The order of day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DateOrder {
    MonthFirst,
    DayFirst,
}

/// Assumptions about the times of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assumed {
    /// Neither the file nor the user states a zone: UTC is assumed.
    pub(crate) zone: bool,
    /// Day and month are ambiguous: this order is assumed.
    pub(crate) order: Option<DateOrder>,
}

/// Facts about time that are not in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Clock {
    /// Seconds ahead of UTC, for times without a zone.
    pub(crate) utc_offset_s: Option<i64>,
    /// The present time, nanoseconds since 1970-01-01 UTC.
    pub(crate) now_ns: Option<u64>,
}

/// Parses one point in time; returns nanoseconds since 1970-01-01 UTC. Without a zone it is in UTC.
#[must_use]
pub fn parse_moment(text: &str) -> Option<u64> {
    let stamp = Stamp::parse(text)?;
    let (times, _) = moments(&[Some(stamp)], Clock::default(), false);
    times[0].and_then(|time| u64::try_from(time).ok())
}

/// Seconds that a zone is ahead of UTC, from `+02:00`, `-0330` or `Z`.
#[must_use]
pub fn parse_utc_offset(text: &str) -> Option<i64> {
    match Stamp::parse(&format!("2000-01-01T00:00:00{text}"))? {
        Stamp::Printed { offset_s, .. } => offset_s.filter(|_| text.starts_with(['+', '-', 'Z'])),
        Stamp::Counted(_) => None,
    }
}

impl Stamp {
    /// Parses a time; `None` if the text is not a time.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if let Some(counted) = counted(text) {
            return Some(Self::Counted(counted));
        }
        let groups = groups(text);
        let [year, month, day, hour, minute, second, rest @ ..] = groups.as_slice() else {
            return None;
        };
        let lower = text.to_ascii_lowercase();
        let hour_value = match (hour.value, half_of_day(&lower)) {
            (12, Some(false)) => 0,
            (hour @ 1..=11, Some(true)) => hour + 12,
            (hour, _) => hour,
        };
        if hour_value > 23 || minute.value > 59 || second.value > 60 {
            return None;
        }
        // Hours and minutes are separated by a mark, never by a blank or the sign of a zone.
        if [minute, second].iter().any(|group| [" ", "+", "-"].contains(&group.before)) {
            return None;
        }
        let fraction = rest.first().filter(|group| [".", ","].contains(&group.before));
        let nanos = fraction.map_or(0, Group::as_fraction_ns);
        let zone = &rest[usize::from(fraction.is_some())..];
        let seconds = hour_value * 3_600 + minute.value * 60 + second.value;
        let form = match (month.before, fraction) {
            _ if year.text.len() == 4 => DateForm::YearFirst,
            (".", _) => DateForm::Dotted,
            ("/", Some(fraction)) if fraction.text.len() == 3 => DateForm::CounterLog,
            _ => DateForm::Other,
        };
        Some(Self::Printed {
            date: [year.value, month.value, day.value],
            form,
            of_day_ns: i128::from(seconds) * SECOND_NS + nanos,
            offset_s: offset(zone, &lower),
        })
    }

    /// The time, given the order of day and month.
    fn at(&self, order: DateOrder, utc_offset_s: Option<i64>) -> Option<i128> {
        match self {
            Self::Counted(ns) => Some(*ns),
            Self::Printed { date, form, of_day_ns, offset_s } => {
                let (year, month, day) = match (date, form, order) {
                    ([year, month, day], DateForm::YearFirst, _)
                    | ([month, day, year], _, DateOrder::MonthFirst)
                    | ([day, month, year], _, DateOrder::DayFirst) => (*year, *month, *day),
                };
                // Two digits: POSIX assigns 69 to 99 to the last century.
                let year = match year {
                    0..=68 => year + 2000,
                    69..=99 => year + 1900,
                    _ => year,
                };
                let [year, month, day] = [year, month, day].map(i16::try_from);
                let year = year.ok().filter(|year| YEARS.contains(year))?;
                let [month, day] = [month.ok()?, day.ok()?].map(i8::try_from);
                let date = Date::new(year, month.ok()?, day.ok()?).ok()?;
                let midnight = Offset::UTC.to_timestamp(date.at(0, 0, 0, 0)).ok()?.as_nanosecond();
                let offset = offset_s.or(utc_offset_s).unwrap_or(0);
                Some(midnight - i128::from(offset) * SECOND_NS + of_day_ns)
            }
        }
    }
}

/// A recording may be this much later than the present time: zones differ by up to a day.
const FUTURE_NS: i128 = 86_400 * SECOND_NS;

/// The times of a file in nanoseconds since 1970-01-01 UTC, and the assumptions. `of_windows` is for a format
/// whose own times always have the month first.
pub(crate) fn moments(
    stamps: &[Option<Stamp>],
    clock: Clock,
    of_windows: bool,
) -> (Vec<Option<i128>>, Assumed) {
    let read = |order: DateOrder| -> Vec<Option<i128>> {
        let at = |stamp: &Option<Stamp>| stamp.as_ref()?.at(order, clock.utc_offset_s);
        stamps.iter().map(at).collect()
    };
    let (month, day) = (read(DateOrder::MonthFirst), read(DateOrder::DayFirst));
    let lost = |times: &[Option<i128>]| times.iter().filter(|time| time.is_none()).count();
    // Sum of the distances between neighbours; large if an order makes time jump.
    let way = |times: &[Option<i128>]| {
        let known: Vec<i128> = times.iter().flatten().copied().collect();
        known.windows(2).map(|pair| (pair[1] - pair[0]).abs()).sum::<i128>()
    };
    let future = |times: &[Option<i128>]| {
        let last = times.iter().flatten().max().copied();
        last.zip(clock.now_ns).is_some_and(|(last, now)| last > i128::from(now) + FUTURE_NS)
    };
    let all = |form: DateForm| {
        let is_it = |stamp: &Stamp| matches!(stamp, Stamp::Printed { form: it, .. } if *it == form);
        stamps.iter().flatten().all(is_it)
    };
    let less = |month: i128, day: i128| match month.cmp(&day) {
        Ordering::Less => Some(DateOrder::MonthFirst),
        Ordering::Equal => None,
        Ordering::Greater => Some(DateOrder::DayFirst),
    };
    let certain = less(lost(&month) as i128, lost(&day) as i128)
        .or((month == day || of_windows && all(DateForm::CounterLog))
            .then_some(DateOrder::MonthFirst))
        .or(all(DateForm::Dotted).then_some(DateOrder::DayFirst))
        .or_else(|| less(way(&month), way(&day)));
    let likely = || less(i128::from(future(&month)), i128::from(future(&day)));
    let order = certain.or_else(likely).unwrap_or(DateOrder::MonthFirst);
    let no_zone = |stamp: &Stamp| matches!(stamp, Stamp::Printed { offset_s: None, .. });
    let assumed = Assumed {
        zone: clock.utc_offset_s.is_none() && stamps.iter().flatten().any(no_zone),
        order: certain.is_none().then_some(order),
    };
    (if order == DateOrder::DayFirst { day } else { month }, assumed)
}

/// Seconds, or milliseconds, since 1970.
fn counted(text: &str) -> Option<i128> {
    let digits = |byte: u8| byte.is_ascii_digit() || byte == b'.';
    if text.is_empty() || !text.bytes().all(digits) {
        return None;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let whole: i128 = whole.parse().ok().filter(|whole| *whole < SECOND_NS * SECOND_NS)?;
    let believed = |seconds: i128| EPOCH_SECONDS.contains(&(seconds as f64));
    if believed(whole) {
        let fraction = Group { value: 0, text: fraction, before: "." }.as_fraction_ns();
        return Some(whole * SECOND_NS + fraction);
    }
    (fraction.is_empty() && believed(whole / 1_000)).then_some(whole * 1_000_000)
}

/// Digits of a text, and the text before them.
struct Group<'a> {
    value: i64,
    text: &'a str,
    before: &'a str,
}

impl Group<'_> {
    /// The digits after a decimal point, as nanoseconds.
    fn as_fraction_ns(&self) -> i128 {
        let digits = self.text.bytes().chain(std::iter::repeat(b'0')).take(9);
        digits.fold(0, |sum, digit| sum * 10 + i128::from(digit.saturating_sub(b'0')))
    }
}

/// The groups of digits of a text; empty if a group is too long for a time.
fn groups(text: &str) -> Vec<Group<'_>> {
    let mut groups = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let from = &rest[begin..];
        let end = from.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(from.len());
        let Ok(value) = from[..end.min(9)].parse() else { return Vec::new() };
        groups.push(Group { value, text: &from[..end], before: &rest[..begin] });
        rest = &from[end..];
    }
    groups
}

/// Whether a 12-hour time is in the second half of the day; `None` if it is not marked.
fn half_of_day(lower: &str) -> Option<bool> {
    let has = |words: [&str; 2]| words.iter().any(|word| lower.contains(word));
    match (has(["am", "a.m."]), has(["pm", "p.m."])) {
        (true, false) => Some(false),
        (false, true) => Some(true),
        _ => None,
    }
}

/// Seconds ahead of UTC, from the text after a time.
fn offset(zone: &[Group<'_>], lower: &str) -> Option<i64> {
    match zone {
        [] => {
            let utc = lower.ends_with('z') || lower.ends_with("utc") || lower.ends_with("gmt");
            utc.then_some(0)
        }
        [first, rest @ ..] => {
            let sign = match first.before.trim_start().chars().next() {
                Some('+') => 1,
                Some('-' | '−') => -1,
                _ => return None,
            };
            let (hours, minutes) = match (first.text.len(), rest) {
                (4, _) => (first.value / 100, first.value % 100),
                (1 | 2, []) => (first.value, 0),
                (1 | 2, [minutes, ..]) => (first.value, minutes.value),
                _ => return None,
            };
            (hours <= 15 && minutes <= 59).then_some(sign * (hours * 3_600 + minutes * 60))
        }
    }
}
