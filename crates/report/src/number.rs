//! Short names for the number formats of `record`, the only module that defines them.

use record::{Figure, Unit};
pub(crate) use record::{
    NO_NUMBER as NONE, counted, format_binary_rate as binary_rate, format_both_rates as both_rates,
    format_change as change, format_count as count, format_digits as digits,
    format_duration as duration, format_interval as interval, format_iops as per_second,
    format_kib as kib, format_moment as when, format_nanos as time, format_rate as rate,
    format_share as percent, with_half_width, with_interval, with_range,
};

pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NONE.to_owned(), format)
}

/// A latency. A value below the resolution of its source, such as 0, is only known to be below it.
pub(crate) fn latency(figure: Figure) -> String {
    if figure.value < figure.resolution {
        return format!("<{}", time(figure.resolution));
    }
    time(figure.value)
}

/// A size that need not be a whole number of bytes.
pub(crate) fn size(bytes: f64) -> String {
    Unit::Bytes.format(bytes)
}

pub(crate) fn rate_with_interval(bytes_per_s: &record::Estimate) -> String {
    with_interval(bytes_per_s, rate)
}
