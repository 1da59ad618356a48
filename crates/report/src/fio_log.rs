//! Writes the intervals of a trial in the form of fio's time logs (`write_bw_log` and others), for tools that
//! read them.
//!
//! A line is `milliseconds, value, direction, block size, offset, priority`, as fio 3.33 writes averages: the
//! last three are 0. The time is the end of the interval. A direction without requests has no line.

use record::{IntervalDirection, Trial};
use std::fmt::Write;

/// The quantity in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FioLogColumn {
    /// KiB per second.
    KibPerSecond,
    /// Requests per second.
    Iops,
    /// Mean latency in nanoseconds.
    LatencyNs,
}

/// The log of a job that was measured with intervals; empty without intervals.
#[must_use]
pub fn fio_log(job: &Trial, column: FioLogColumn) -> String {
    let mut text = String::new();
    for interval in job.result.intervals.iter().flatten() {
        let end_ms = (interval.begin_ns.0 + interval.length_ns.0).div_ceil(1_000_000);
        let directions = [&interval.read, &interval.write, &interval.trim];
        for (direction, number) in directions.into_iter().zip(0..) {
            let Some(value) = direction.as_ref().and_then(|direction| value(direction, column))
            else {
                continue;
            };
            let _ = writeln!(text, "{end_ms}, {value:.0}, {number}, 0, 0, 0");
        }
    }
    text
}

fn value(direction: &IntervalDirection, column: FioLogColumn) -> Option<f64> {
    if direction.ios == 0 {
        return None;
    }
    match column {
        FioLogColumn::KibPerSecond => Some(direction.bytes_per_s / 1024.0),
        FioLogColumn::Iops => Some(direction.iops),
        FioLogColumn::LatencyNs => direction.latency_ns.as_ref().map(|times| times.mean),
    }
}

/// Whether a line belongs to such a log, written by fio or by this program.
#[must_use]
pub fn is_fio_log_line(line: &str) -> bool {
    let fields: Vec<&str> = line.trim_end().split(", ").collect();
    let number =
        |field: &&str| field.bytes().all(|byte| byte.is_ascii_digit()) && !field.is_empty();
    (4..=7).contains(&fields.len())
        && fields[..3].iter().all(number)
        && ["0", "1", "2"].contains(&fields[2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_log_is_known_from_other_lists_of_numbers() {
        assert!(is_fio_log_line("500, 408, 0, 0, 0\n") && is_fio_log_line("1, 2, 1, 4096, 0, 0"));
        for other in ["", "1, 2, 3, 4", "a, 2, 0, 0", "1,2,0,0", "1, 2"] {
            assert!(!is_fio_log_line(other), "{other}");
        }
    }
}
