//! A range of time as text: `START..END[@STEP]`.
//!
//! Both ends are points in time (ISO with a zone, seconds since 1970) or `now` and `now-2h`, because
//! the question is mostly about the last hours. Without a step it is that of a usual scrape, or as
//! long as keeps an answer to a size that a server gives.

use import::RangeQuery;
use record::Nanos;
use std::time::{SystemTime, UNIX_EPOCH};

/// Usual distance of scrapes: Prometheus' own example has 15 s.
const STEP_S: u64 = 15;
/// Most steps unless a step is asked for: a server's own limit for one answer.
const MOST_STEPS: u64 = 11_000;

/// Reads `START..END[@STEP]`.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn parse_range(text: &str) -> Result<RangeQuery, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    at(text, now)
}

fn at(text: &str, now_s: u64) -> Result<RangeQuery, String> {
    let form = "use START..END[@STEP], such as now-2h..now@30s or \
                2026-05-01T10:00:00Z..2026-05-01T12:00:00Z";
    let (span, step) = text.split_once('@').map_or((text, None), |(a, b)| (a, Some(b)));
    let (begin, end) = span.split_once("..").ok_or(form)?;
    let (begin_s, end_s) = (moment_s(begin, now_s)?, moment_s(end, now_s)?);
    if begin_s >= end_s {
        return Err(format!("the range ends before it begins; {form}"));
    }
    let step_s = match step {
        Some(step) => {
            let step: Nanos = step.parse().map_err(|_| form.to_owned())?;
            match step.0 / 1_000_000_000 {
                0 => return Err("the step must be a second or more".to_owned()),
                seconds => seconds,
            }
        }
        None => STEP_S.max((end_s - begin_s).div_ceil(MOST_STEPS)),
    };
    Ok(RangeQuery { begin_s, end_s, step_s, instance: None })
}

fn moment_s(text: &str, now_s: u64) -> Result<u64, String> {
    let text = text.trim();
    let wrong = || format!("{text:?} is no point in time; use 2026-05-01T10:00:00Z, now or now-2h");
    if let Some(before) = text.strip_prefix("now") {
        let Some(ago) = before.strip_prefix('-') else {
            return if before.is_empty() { Ok(now_s) } else { Err(wrong()) };
        };
        let ago: Nanos = ago.parse().map_err(|_| wrong())?;
        return Ok(now_s.saturating_sub(ago.0 / 1_000_000_000));
    }
    import::parse_moment(text).map(|ns| ns / 1_000_000_000).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_points_in_time_or_distances_from_now() {
        let of = |text: &str| at(text, 1_600_000_000);
        let range =
            |begin_s, end_s, step_s| Ok(RangeQuery { begin_s, end_s, step_s, instance: None });
        assert_eq!(of("now-1h..now"), range(1_599_996_400, 1_600_000_000, 15));
        assert_eq!(of("now-1h..now-1m@30s"), range(1_599_996_400, 1_599_999_940, 30));
        assert_eq!(
            of("2020-06-01T12:00:01Z..1591012861@1s"),
            range(1_591_012_801, 1_591_012_861, 1)
        );
        let week = of("now-168h..now").unwrap();
        assert!((week.end_s - week.begin_s) / week.step_s <= MOST_STEPS);
        for bad in ["", "now", "now..now", "now..now-1h", "a..b", "now-1h..now@0s", "now-1h..now@x"]
        {
            assert!(of(bad).is_err(), "{bad}");
        }
    }
}
