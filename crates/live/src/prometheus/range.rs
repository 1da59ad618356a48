//! Parses a time range: `START..END[@STEP]`.
//!
//! Both ends are points in time (ISO with a zone, or seconds since 1970), `now`, or a time before now such as
//! `now-2h`, because most queries are about the last hours. The default step is that of a usual scrape, or
//! longer if the response would otherwise exceed the server's limit.

use import::RangeQuery;
use record::Nanos;
use std::time::{SystemTime, UNIX_EPOCH};

/// Usual scrape interval: 15 s in Prometheus' own example.
const STEP_S: u64 = 15;
/// Maximum number of steps, unless the user sets a step: a server's own limit for one response.
const MOST_STEPS: u64 = 11_000;

/// Parses `START..END[@STEP]`.
///
/// # Errors
/// What is wrong with it, and what to write.
pub fn parse_range(text: &str) -> Result<RangeQuery, String> {
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
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
    let wrong = || format!("{text:?} is not a time; use 2026-05-01T10:00:00Z, now or now-2h");
    if let Some(before) = text.strip_prefix("now") {
        let Some(ago) = before.strip_prefix('-') else {
            return if before.is_empty() { Ok(now_s) } else { Err(wrong()) };
        };
        let ago: Nanos = ago.parse().map_err(|_| wrong())?;
        return Ok(now_s.saturating_sub(ago.0 / 1_000_000_000));
    }
    import::parse_moment(text).map(|ns| ns / 1_000_000_000).ok_or_else(wrong)
}
