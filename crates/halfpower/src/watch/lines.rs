//! One line per device and interval: for scripts, for logs, for a terminal without a screen.

use super::judge::Judge;
use super::{WatchArgs, profiles};
use crate::failure::Interruption;
use crate::output::{self, Verdict};
use anyhow::Context;
use observe::Pace;
use record::{Calibrated, Interval, UtilizationLaw};
use report::{WatchRow, watch_header, watch_line};
use serde::Serialize;
use std::sync::atomic::AtomicBool;

/// The `schema` value of a line of `--json`.
const WATCH_SCHEMA: &str = "halfpower/watch/1";
/// Lines after which the header is repeated.
const HEADER_EVERY: usize = 40;

/// A line of `--json`.
#[derive(Debug, Serialize)]
struct WatchDocument<'a> {
    schema: &'static str,
    /// End of the interval, RFC 3339 in UTC.
    time: &'a str,
    device: &'a str,
    interval: &'a Interval,
    utilization_law: Option<UtilizationLaw>,
    calibrated: Option<Calibrated>,
    profile_id: Option<&'a str>,
    verdict: Option<VerdictPart<'a>>,
}

/// The verdict in a line of `--json`.
#[derive(Debug, Serialize)]
struct VerdictPart<'a> {
    verdict: record::Verdict,
    confidence: record::Confidence,
    claim: &'a str,
    alternatives: &'a [String],
    advice: &'a [String],
}

/// Prints lines until the count is reached or a signal comes.
pub(super) fn run(arguments: &WatchArgs, stop: &AtomicBool) -> anyhow::Result<Verdict> {
    let mut source = arguments.observing.source()?;
    let (profiles, chosen) = profiles(arguments)?;
    let mut judge = Judge::new(&arguments.observing, profiles, chosen, source.host());
    let count = if arguments.once { Some(1) } else { arguments.count };
    let mut pace = Pace::new(arguments.observing.sampling.interval);
    let mut lines = 0;
    let mut taken = 0;
    while count.is_none_or(|count| taken < count) {
        if !pace.wait(stop) {
            let text = format!("{taken} intervals were printed");
            return Err(Interruption(text).into());
        }
        judge.add(source.sample()?);
        taken += 1;
        let mut text = String::new();
        for row in judge.rows(0) {
            let Some(interval) = &row.interval else { continue };
            let time = end_of(interval);
            if arguments.json {
                text.push_str(&json_line(&judge, &row, interval, &time)?);
            } else {
                if lines == 0 {
                    text.push_str(&(watch_header() + "\n"));
                }
                lines = (lines + 1) % HEADER_EVERY;
                text.push_str(&(watch_line(&row, &time) + "\n"));
            }
        }
        if !output::print_on(&text)? {
            // Whoever read it has gone away: there is nobody to go on for.
            break;
        }
    }
    for finding in source.findings() {
        output::say(&format!("halfpower: {}", report::escape(&finding.claim)));
    }
    Ok(Verdict::Clean)
}

/// The end of an interval as text, to the second.
fn end_of(interval: &Interval) -> String {
    let end_ns = i128::from(interval.begin_ns) + i128::from(interval.duration_ns);
    let time = jiff::Timestamp::from_nanosecond(end_ns).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn json_line(
    judge: &Judge,
    row: &WatchRow,
    interval: &Interval,
    time: &str,
) -> anyhow::Result<String> {
    let document = WatchDocument {
        schema: WATCH_SCHEMA,
        time,
        device: &row.device.name,
        interval,
        utilization_law: row.utilization_law,
        calibrated: row.calibrated,
        profile_id: judge.profile_id(&row.device.name),
        verdict: row.verdict.as_ref().map(|verdict| VerdictPart {
            verdict: verdict.verdict,
            confidence: verdict.confidence,
            claim: &verdict.claim,
            alternatives: &verdict.alternatives,
            advice: &verdict.advice,
        }),
    };
    Ok(serde_json::to_string(&document).context("cannot write JSON")? + "\n")
}
