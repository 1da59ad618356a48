//! Builds the range queries to a Prometheus server, and reads its responses.
//!
//! A range query repeats at each step the last sample before it, without that sample's time. Rates over
//! steps are then off by up to the scrape interval. So `timestamp()` of a counter is queried too. It gives
//! every sample the time of its scrape, repeated samples coincide, and intervals are those between scrapes.
//! Rejected: `rate()` (it extrapolates over the ends of its window and hides resets), `remote_read`
//! (Protocol Buffers and Snappy), and raw samples by a range vector (the server returns all of them or an
//! error, and cannot thin out).

use crate::counters::{self, Labels, Scrape};
use crate::json::{self, Json};
use crate::moment::SECOND_NS;
use crate::number::Reading;
use crate::observation_builder::ObservationBuilder;
use crate::{ImportError, Options, Text};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use record::Observation;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Steps per query: far below the server's limit of 11,000, so that a response stays small.
const STEPS_AT_ONCE: u64 = 1_000;
const NAMES_SHOWN: usize = 5;
const REMEDY: &str = "query a range with at least two scrapes of node_exporter";

/// Counters and gauges of a machine, as a regular expression over names.
const WANTED: &str = "node_disk_(reads_completed|read_bytes|reads_merged|read_time_seconds|\
    writes_completed|written_bytes|writes_merged|write_time_seconds|io_time_seconds|\
    io_time_weighted_seconds|discards_completed|flush_requests|flush_requests_time_seconds)_total|\
    node_disk_io_now|\
    node_pressure_io_(waiting|stalled)_seconds_total|\
    node_memory_(MemAvailable|Cached|Dirty|Writeback)_bytes";

/// All characters that must be encoded in a query.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// A time range to query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RangeQuery {
    /// First moment, seconds since 1970-01-01 UTC.
    pub begin_s: u64,
    /// Last moment, seconds since 1970-01-01 UTC.
    pub end_s: u64,
    /// Step in seconds, more than 0.
    pub step_s: u64,
    /// The machine, if the server has several: the label `instance`.
    pub instance: Option<String>,
}

impl RangeQuery {
    /// The paths and queries of the requests, relative to the server's address. Their responses belong
    /// together.
    #[must_use]
    pub fn targets(&self) -> Vec<String> {
        let step = self.step_s.max(1);
        let chosen = self.instance.as_ref().map(|name| matcher("instance", name));
        let chosen = chosen.unwrap_or_default();
        let comma = if chosen.is_empty() { "" } else { "," };
        let queries = [
            format!("timestamp(node_disk_reads_completed_total{{{chosen}}})"),
            format!("{{__name__=~\"{WANTED}\"{comma}{chosen}}}"),
            format!("sum by (instance, mode) (node_cpu_seconds_total{{{chosen}}})"),
        ];
        let about = format!("{{__name__=~\"node_disk_info|node_uname_info\"{comma}{chosen}}}");
        let mut targets = vec![range_target(&about, self.end_s, self.end_s, step)];
        let mut begin = self.begin_s;
        while begin <= self.end_s {
            let end = (begin + step * (STEPS_AT_ONCE - 1)).min(self.end_s);
            targets.extend(queries.iter().map(|query| range_target(query, begin, end, step)));
            begin = begin.saturating_add(step * STEPS_AT_ONCE);
        }
        targets
    }
}

/// A label and its value as in a selector: `instance="db1:9100"`.
#[must_use]
pub fn matcher(label: &str, value: &str) -> String {
    let quoted = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("{label}=\"{quoted}\"")
}

/// The path and query that return an expression at each step of a range, relative to the server's address.
#[must_use]
pub fn range_target(query: &str, begin_s: u64, end_s: u64, step_s: u64) -> String {
    let query = utf8_percent_encode(query, ENCODED);
    format!("/api/v1/query_range?query={query}&start={begin_s}&end={end_s}&step={step_s}")
}

struct Series {
    labels: Labels,
    /// Time of the step in nanoseconds, and value.
    values: Vec<(i128, f64)>,
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Observation, ImportError> {
    let mut builder = ObservationBuilder::new("prometheus");
    let mut all = Vec::new();
    for text in texts {
        all.extend(series(text, &mut builder)?);
    }
    if let Some(wanted) = &options.instance {
        all.retain(|series| series.labels.get("instance").is_none_or(|name| name == wanted));
    }
    let of_disks = |series: &&Series| {
        series.labels.get("__name__").is_some_and(|name| name.starts_with("node_disk_"))
    };
    let instance = |series: &Series| series.labels.get("instance").cloned();
    let names: BTreeSet<String> = all.iter().filter(of_disks).filter_map(instance).collect();
    if names.len() > 1 {
        let mut shown: Vec<String> = names.iter().take(NAMES_SHOWN).cloned().collect();
        if names.len() > NAMES_SHOWN {
            shown.push("...".to_owned());
        }
        return Err(ImportError::SeveralMachines { count: names.len(), names: shown.join(", ") });
    }
    builder.host = names.into_iter().next();
    let scrapes = scrapes(&all, &mut builder);
    counters::add_intervals(&mut builder, &scrapes);
    let why = match scrapes.len() {
        0 => "the responses contain no disk counters",
        1 => "the responses contain only one scrape",
        _ => "no device appears in two scrapes without a restart between them",
    };
    builder.finish(why, REMEDY)
}

fn series(text: &str, builder: &mut ObservationBuilder) -> Result<Vec<Series>, ImportError> {
    let (values, faults) = json::values(text, "metric");
    builder.counts.faults += faults;
    let mut found = Vec::new();
    for value in &values {
        if value.get("status").and_then(Json::text) == Some("error") {
            let said =
                value.get("error").and_then(Json::text).unwrap_or("the server gave no reason");
            return Err(ImportError::Server(said.to_owned()));
        }
        let results = value.get("data").and_then(|data| data.get("result"));
        let results = results.map_or(&[][..], Json::elements).iter();
        // A series after a fault is outside the result list.
        let alone = value.get("metric").map(|_| value);
        found.extend(results.chain(alone).filter_map(one_series));
    }
    Ok(found)
}

fn one_series(series: &Json<'_>) -> Option<Series> {
    let Json::Object(members, _) = series.get("metric")? else { return None };
    let label = |(key, value): &(Cow<'_, str>, Json<'_>)| {
        Some((key.clone().into_owned(), value.text()?.to_owned()))
    };
    let labels = members.iter().filter_map(label).collect();
    let pair = |pair: &Json<'_>| {
        let [time, value] = pair.elements() else { return None };
        let time = Reading::parse(time.text()?)?.value;
        let ns = (time * 1e3).round() * 1e6;
        let believed = (0.0..u64::MAX as f64).contains(&ns);
        Some((believed.then_some(ns as i128)?, Reading::parse(value.text()?)?.value))
    };
    let values = series.get("values").map_or(&[][..], Json::elements);
    Some(Series { labels, values: values.iter().filter_map(pair).collect() })
}

/// The scrapes behind the steps.
fn scrapes(all: &[Series], builder: &mut ObservationBuilder) -> BTreeMap<i128, Scrape> {
    let is_time = |series: &&Series| {
        !series.labels.contains_key("__name__") && series.labels.contains_key("device")
    };
    // From the time of a step to the time of the scrape that it repeats.
    let mut times: BTreeMap<i128, i128> = BTreeMap::new();
    for (step, seconds) in all.iter().filter(is_time).flat_map(|series| &series.values) {
        let ns = ((seconds * 1e3).round() * 1e6) as i128;
        // A sample is not newer than the step that repeats it.
        if ns > 0 && ns <= step + SECOND_NS {
            times.insert(*step, ns);
        }
    }
    builder.steps_as_times = times.is_empty();
    let mut scrapes: BTreeMap<i128, Scrape> = BTreeMap::new();
    for series in all.iter().filter(|series| !is_time(series)) {
        let computed = series.labels.get("mode").map_or("", |_| "node_cpu_seconds_total");
        let name = series.labels.get("__name__").map_or(computed, String::as_str);
        if counters::take_facts(builder, name, &series.labels) {
            continue;
        }
        let mut last = None;
        for (step, value) in &series.values {
            let time = if times.is_empty() { Some(*step) } else { times.get(step).copied() };
            // Steps that repeat a scrape repeat its values.
            let Some(time) = time.filter(|time| last != Some(*time)) else { continue };
            last = Some(time);
            scrapes.entry(time).or_default().take(name, &series.labels, *value);
        }
    }
    scrapes.retain(|_, scrape| !scrape.devices.is_empty());
    scrapes
}
