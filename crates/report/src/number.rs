//! Numbers for a reader: three digits, a unit, and no surprise from a value that is none.
//!
//! The formats of the `record` crate do the work; what is added here is the guard around them
//! (NaN, infinities and magnitudes without meaning appear as short text, never as a wall of
//! digits that breaks a table), the interval beside a value, and values without a unit for tables
//! whose header states it. Rejected: absolute intervals in tables, which cannot be compared
//! between rows; `±2 %` can.

pub(crate) use record::counted;
use record::{
    Estimate, Unit, format_bytes, format_change, format_count, format_nanos, format_rate,
    format_share,
};

/// What stands where there is no number.
pub(crate) const NONE: &str = "–";

/// Beyond this (eleven days in nanoseconds, a petabyte per second) a value is a defect, and its
/// magnitude is all that is worth printing.
const SANE: f64 = 1e15;

/// `format` of what there is.
pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), format)
}

/// `format` of a sane value; otherwise text of few columns.
fn guarded(value: f64, format: impl Fn(f64) -> String) -> String {
    if !value.is_finite() {
        NONE.to_owned()
    } else if value.abs() >= SANE {
        format!("{value:.0e}")
    } else {
        format(value)
    }
}

/// A time in nanoseconds: `33.2 µs`.
pub(crate) fn time(nanos: f64) -> String {
    guarded(nanos, format_nanos)
}

/// A length of time in the largest unit that fits: `88.2 min`.
pub(crate) fn duration(ns: u64) -> String {
    let seconds = ns as f64 / 1e9;
    match seconds {
        ..120.0 => time(ns as f64),
        ..7_200.0 => format!("{} min", digits(seconds / 60.0)),
        ..172_800.0 => format!("{} h", digits(seconds / 3_600.0)),
        _ => format!("{} days", digits(seconds / 86_400.0)),
    }
}

/// Bytes per second: `1.23 GB/s`.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    guarded(bytes_per_s, format_rate)
}

/// The same with the binary unit behind it: `812 MB/s (775 MiB/s)`.
pub(crate) fn both_rates(bytes_per_s: f64) -> String {
    let decimal = rate(bytes_per_s);
    if !(1e6..SANE).contains(&bytes_per_s) {
        return decimal;
    }
    format!("{decimal} ({}/s)", format_bytes(bytes_per_s as u64))
}

/// A count: `31.1 k`.
pub(crate) fn count(value: f64) -> String {
    guarded(value, format_count)
}

/// An I/O rate: `31.1k IOPS`.
pub(crate) fn per_second(value: f64) -> String {
    guarded(value, |value| Unit::PerSecond.format(value))
}

/// A value of a quantity, in its unit.
pub(crate) fn in_unit(unit: Unit, value: f64) -> String {
    guarded(value, |value| unit.format(value))
}

/// Three significant digits without a unit.
pub(crate) fn digits(value: f64) -> String {
    guarded(value, |value| match value.abs() {
        // The rounding error of a zero.
        magnitude if magnitude < 1e-9 => "0".to_owned(),
        magnitude if magnitude >= 1e7 => format!("{value:.1e}"),
        magnitude if magnitude >= 99.95 || magnitude == 0.0 => format!("{value:.0}"),
        magnitude if magnitude >= 9.995 => format!("{value:.1}"),
        magnitude if magnitude >= 0.9995 => format!("{value:.2}"),
        magnitude if magnitude >= 0.000_5 => format!("{value:.3}"),
        _ => format!("{value:.0e}"),
    })
}

/// A share of 0 to 1: `98 %`.
pub(crate) fn percent(share: f64) -> String {
    guarded(share, |share| match share.abs() {
        absurd if absurd >= 1e3 => format!("{:.0e} %", share * 100.0),
        _ => format_share(share),
    })
}

/// A ratio as a change: `-12 %`, `+0.4 %`, `x 4.20`.
pub(crate) fn change(ratio: f64) -> String {
    guarded(ratio, format_change)
}

/// A size in KiB without the unit: `4`, `0.5`.
pub(crate) fn kib(bytes: u64) -> String {
    let kib = bytes as f64 / 1024.0;
    if kib.fract() == 0.0 && kib < 1e7 { format!("{kib:.0}") } else { digits(kib) }
}

/// Relative half-width of an interval: `±2 %`, one decimal below 1 %; `±?` where none is known.
pub(crate) fn interval(relative: f64) -> String {
    match relative {
        relative if !relative.is_finite() => "±?".to_owned(),
        relative if relative > 9.995 => "±>999 %".to_owned(),
        relative if relative >= 0.00995 || relative <= 0.0 => format!("±{:.0} %", relative * 100.0),
        // Rounded up: an interval is not made to look smaller than it is.
        relative => format!("±{:.1} %", (relative * 1000.0).ceil() / 10.0),
    }
}

/// The same behind a value, with a leading space; nothing where no interval is known.
pub(crate) fn interval_text(relative: Option<f64>) -> String {
    let known = relative.filter(|relative| relative.is_finite());
    known.map_or(String::new(), |relative| format!(" {}", interval(relative)))
}

/// The half-width of an estimate as a share of it, in absolute terms.
pub(crate) fn relative(estimate: &Estimate) -> f64 {
    estimate.relative_half_width().abs()
}

/// An estimate in running text: `118k IOPS ±2 %`.
pub(crate) fn with_interval(estimate: &Estimate, format: fn(f64) -> String) -> String {
    let interval = Some(relative(estimate)).filter(|share| share.is_finite());
    format!("{}{}", format(estimate.value), interval_text(interval))
}

/// An estimate with the ends of its interval: `118k IOPS (116k IOPS to 120k IOPS)`.
pub(crate) fn with_range(estimate: &Estimate, format: fn(f64) -> String) -> String {
    let Estimate { value, low, high, .. } = *estimate;
    format!("{} ({} to {})", format(value), format(low), format(high))
}

/// Value and absolute half-width in the unit of `scale` nanoseconds; the half-width has at most as
/// many decimals as the value, and no more than it is good for.
pub(crate) fn value_and_half_width(estimate: &Estimate, scale: f64) -> (String, String) {
    let half_width = (estimate.half_width() / scale).abs();
    let half_width = guarded(half_width, |half_width| match half_width {
        many if many >= 9.95 => digits(many.round()),
        some if some >= 0.995 => format!("{some:.1}"),
        few if few >= 0.0995 => format!("{few:.2}"),
        least => format!("{least:.3}"),
    });
    (digits(estimate.value / scale), format!("±{half_width}"))
}

/// A text in at most so many columns.
pub(crate) fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    text.chars().take(columns - 1).chain(['…']).collect()
}

/// A point in time of a document (RFC 3339, UTC) to the minute; other text as it is.
pub(crate) fn when(time: &str) -> String {
    match (time.get(..10), time.get(10..11), time.get(11..16)) {
        (Some(date), Some("T"), Some(minute)) if time.ends_with('Z') => {
            format!("{date} {minute} UTC")
        }
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_without_meaning_takes_few_columns() {
        for value in [f64::NAN, f64::INFINITY, -f64::INFINITY, f64::MAX, f64::MIN, 9e14, 1e-300] {
            for text in [time(value), rate(value), per_second(value), digits(value)] {
                assert!(text.chars().count() <= 12, "{value}: {text}");
            }
            assert!(percent(value).chars().count() <= 8, "{value}: {}", percent(value));
            assert!(interval(value).chars().count() <= 7);
        }
        assert_eq!(time(f64::NAN), NONE);
    }

    #[test]
    fn a_small_interval_is_not_shown_as_none_and_an_unknown_one_not_as_small() {
        assert_eq!(interval(0.0011), "±0.2 %");
        assert_eq!(interval(0.021), "±2 %");
        assert_eq!(interval(f64::INFINITY), "±?");
        assert_eq!(interval_text(Some(0.12)), " ±12 %");
        assert_eq!(interval_text(Some(f64::NAN)), "");
        assert_eq!(interval_text(None), "");
    }

    #[test]
    fn a_document_time_is_shown_to_the_minute_and_foreign_text_as_it_is() {
        assert_eq!(when("2026-03-01T14:05:59.1Z"), "2026-03-01 14:05 UTC");
        assert_eq!(when("yesterday"), "yesterday");
        assert_eq!(when("ééééééééééé"), "ééééééééééé");
    }
}
