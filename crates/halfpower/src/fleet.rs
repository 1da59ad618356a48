//! `halfpower diagnose --prometheus URL --all`: every device that a Prometheus server knows, held against
//! its peers.
//!
//! The devices are asked for first, then their counters window by window as the server stores them, so
//! that memory holds one window of samples whatever the range.

use crate::failure::{interrupted, usage};
use crate::output::{self, Verdict};
use crate::server_args::ServerArgs;
use ::fleet::{COUNTERS, Fleet, Rules, Scrape, Tally, family, fold};
use anyhow::{Context, anyhow};
use clap::Args;
use import::RangeQuery;
use prometheus::{Client, RawQuery, RawSeries, parse_range};
use record::{FleetLabels, FleetLeftOut, Nanos};
use session::{StopFlag, VERSION};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::Ordering;

// Labels that name a device or what stores the samples, and are shared by no cause.
const NO_CAUSE: [&str; 11] = [
    "__name__",
    "device",
    "family",
    "major",
    "minor",
    "model",
    "path",
    "serial",
    "wwn",
    "replica",
    "prometheus_replica",
];
/// Labels of who stored or scraped the samples: they change, and a disk stays the same.
const OF_THE_SCRAPE: [&str; 7] =
    ["__name__", "replica", "prometheus_replica", "__replica__", "pod", "container", "uid"];
/// Beginnings of names of devices that are made of others, or of memory: their requests are counted once
/// more below, or are no disk's.
const VIRTUAL: [&str; 9] = ["dm-", "md", "loop", "zram", "ram", "sr", "fd", "nbd", "drbd"];
/// More windows than this take hours to be judged, and longer ones more memory than a fleet should.
const WINDOWS_MOST: u64 = 1_500;
const WINDOW_MOST: Nanos = Nanos(6 * 3_600_000_000_000);

/// A label groups devices if it has fewer values than devices by this.
const DEVICES_PER_VALUE: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Judge every device that this Prometheus server knows by its peers; needs --all.
    #[arg(long, value_name = "URL", requires = "all", help_heading = "Fleet",
        conflicts_with_all = ["sources", "profile", "load", "recorded", "csv", "for_ticket"])]
    pub(crate) prometheus: Option<String>,
    /// All devices.
    #[arg(long, requires = "prometheus", help_heading = "Fleet")]
    all: bool,
    /// Span of time: START..END, such as now-7d..now.
    #[arg(long, value_name = "RANGE", default_value = "now-1d..now", value_parser = parse_range,
        requires = "prometheus", help_heading = "Fleet")]
    query_range: RangeQuery,
    /// Length of a window, in which a device gets one number.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = window,
        requires = "prometheus", help_heading = "Fleet")]
    window: Nanos,
    /// Labels that peers share, separated by commas; family is the letters of a device's name.
    #[arg(
        long,
        value_name = "LABELS",
        default_value = "model,family",
        value_delimiter = ',',
        requires = "prometheus",
        help_heading = "Fleet"
    )]
    peers: Vec<String>,
    /// Labels that slow devices may have in common [default: all that group three devices or more].
    #[arg(
        long,
        value_name = "LABELS",
        value_delimiter = ',',
        requires = "prometheus",
        help_heading = "Fleet"
    )]
    common: Vec<String>,
    #[command(flatten)]
    server: ServerArgs,
}

fn window(text: &str) -> Result<Nanos, String> {
    match crate::values::unit::<Nanos>(text)? {
        Nanos(short) if short < 60_000_000_000 => Err("use a minute or more".to_owned()),
        long if long > WINDOW_MOST => Err("use six hours or less".to_owned()),
        length => Ok(length),
    }
}

/// Judges the fleet; prints JSON where that is asked.
pub(crate) fn diagnose(asked: &FleetArgs, json: bool, stop: &StopFlag) -> anyhow::Result<Verdict> {
    let address = asked.prometheus.as_deref().unwrap_or_default();
    let client = asked.server.client(address)?;
    let window_s = asked.window.0 / 1_000_000_000;
    let range = &asked.query_range;
    let windows = (range.end_s - range.begin_s) / window_s;
    if windows < 3 {
        return Err(usage(
            "three windows or more are needed: ask for a longer --query-range or a shorter --window",
        ));
    }
    if windows > WINDOWS_MOST {
        return Err(usage(format!(
            "{windows} windows are more than {WINDOWS_MOST}: ask for a shorter --query-range or a longer \
             --window"
        )));
    }
    // The last windows are the ones that matter: what is left over is left out at the beginning.
    let begin_s = range.end_s - windows * window_s;
    let Devices { mut devices, made_of_others, ambiguous } =
        devices(&client, begin_s, range.end_s)?;
    if devices.is_empty() {
        return Err(anyhow!(
            "{address} knows no counters of disks in that time: is node_exporter scraped by it?"
        ));
    }
    for labels in devices.values_mut() {
        let family = family(labels.get("device").map_or("", String::as_str));
        labels.insert("family".to_owned(), family);
    }
    let places: HashMap<Key, usize> =
        devices.keys().enumerate().map(|(place, key)| (key.clone(), place)).collect();
    let labels: Vec<FleetLabels> = devices.into_values().collect();
    for name in asked.peers.iter().chain(&asked.common) {
        // A label that is there by itself, and one of every device by the way they are told apart.
        let known = labels.iter().any(|labels| labels.contains_key(name));
        if !known && name != "model" {
            let mut names: Vec<&str> =
                labels.iter().flat_map(|it| it.keys()).map(String::as_str).collect();
            names.sort_unstable();
            names.dedup();
            return Err(usage(format!(
                "no disk has the label {name}; there are {}",
                names.join(", ")
            )));
        }
    }
    let common = if asked.common.is_empty() {
        grouping(&labels, &asked.peers)
    } else {
        asked.common.clone()
    };
    let mut fleet = Fleet::new(labels, &asked.peers, &common, begin_s, window_s);
    let mut reader = Reader::new(places, fleet.devices());
    for window in 0..windows {
        let from = begin_s + window * window_s;
        if !reader.read(&client, from, from + window_s, stop)? {
            return Err(interrupted("a fleet is judged when all of its windows are read"));
        }
        fleet.close(&mut reader.tallies)?;
    }
    let mut found = fleet.conclude(&Rules::default(), usize::MAX);
    VERSION.clone_into(&mut found.halfpower_version);
    address.clone_into(&mut found.source);
    let left_out = [
        (made_of_others, "made of other devices or of memory: what they ask for is counted below"),
        (
            ambiguous,
            "several series have this instance and device, which differ in other labels: ask a server \
             that has one cluster",
        ),
    ];
    for (names, reason) in left_out.into_iter().filter(|(names, _)| !names.is_empty()) {
        found.left_out.push(FleetLeftOut {
            reason: reason.to_owned(),
            devices: names.len() as u32,
            examples: names
                .into_iter()
                .take(5)
                .map(|(host, device)| format!("{host} {device}"))
                .collect(),
        });
    }
    output::document(json, &found, || output::page(&report::fleet(&found)))
}

/// What tells a device from all others: instance and device.
type Key = (String, String);

fn key(labels: &BTreeMap<String, String>) -> Option<Key> {
    Some((labels.get("instance")?.clone(), labels.get("device")?.clone()))
}

/// Devices as the server tells them.
#[derive(Default)]
struct Devices {
    /// With what their series and node_disk_info say of them.
    devices: BTreeMap<Key, FleetLabels>,
    made_of_others: BTreeSet<Key>,
    ambiguous: BTreeSet<Key>,
}

/// All devices.
fn devices(client: &Client, begin_s: u64, end_s: u64) -> anyhow::Result<Devices> {
    let series = |name: &str, begin_s: u64| -> anyhow::Result<Vec<BTreeMap<String, String>>> {
        let target = format!("/api/v1/series?match%5B%5D={name}&start={begin_s}&end={end_s}");
        let answer = client.get(&target)?;
        let mut answer: serde_json::Value =
            serde_json::from_slice(&answer).context("the server's answer is no JSON")?;
        if let Some(error) = answer.get("error") {
            return Err(anyhow!("the server refused: {error}"));
        }
        let data = answer.get_mut("data").map(serde_json::Value::take);
        serde_json::from_value(data.unwrap_or_default())
            .context("the server's answer holds no series")
    };
    let mut found = Devices::default();
    for mut labels in series(COUNTERS[6], begin_s)? {
        let Some(key) = key(&labels) else { continue };
        if VIRTUAL.iter().any(|name| key.1.starts_with(name)) {
            found.made_of_others.insert(key);
            continue;
        }
        labels.retain(|name, _| !OF_THE_SCRAPE.contains(&name.as_str()));
        let known = found.devices.entry(key.clone()).or_insert_with(|| labels.clone());
        if *known != labels {
            found.ambiguous.insert(key);
        }
    }
    found.devices.retain(|key, _| !found.ambiguous.contains(key));
    // What a disk is now goes before what stood in its place.
    for begin_s in [end_s - 3600.min(end_s - begin_s), begin_s] {
        for labels in series("node_disk_info", begin_s)? {
            let Some(device) = key(&labels).and_then(|key| found.devices.get_mut(&key)) else {
                continue;
            };
            for (name, value) in labels {
                if !OF_THE_SCRAPE.contains(&name.as_str()) {
                    device.entry(name).or_insert(value);
                }
            }
        }
    }
    Ok(found)
}

/// Labels that group devices.
fn grouping(labels: &[FleetLabels], peers: &[String]) -> Vec<String> {
    let mut values: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, value) in labels.iter().flatten() {
        values.entry(name).or_default().insert(value);
    }
    let groups = |name: &str, values: &BTreeSet<&str>| {
        values.len() > 1
            && values.len() * DEVICES_PER_VALUE <= labels.len()
            && !NO_CAUSE.contains(&name)
            && !peers.iter().any(|peer| peer == name)
    };
    values
        .iter()
        .filter(|(name, values)| groups(name, values))
        .map(|(name, _)| (*name).to_owned())
        .collect()
}

/// Reads windows of samples, and folds them as they come.
struct Reader {
    places: HashMap<Key, usize>,
    /// Samples of the window, by device and counter.
    samples: Vec<[Vec<(i64, f64)>; 7]>,
    /// The last scrape of each device.
    last: Vec<Option<Scrape>>,
    tallies: Vec<Tally>,
}

impl Reader {
    fn new(places: HashMap<Key, usize>, devices: usize) -> Self {
        Self {
            places,
            samples: (0..devices).map(|_| Default::default()).collect(),
            last: vec![None; devices],
            tallies: vec![Tally::default(); devices],
        }
    }

    /// Reads one window; whether it was not stopped.
    fn read(
        &mut self,
        client: &Client,
        begin_s: u64,
        end_s: u64,
        stop: &StopFlag,
    ) -> anyhow::Result<bool> {
        self.samples.iter_mut().flatten().for_each(Vec::clear);
        let query = RawQuery {
            begin_ms: i64::try_from(begin_s * 1000)?,
            end_ms: i64::try_from(end_s * 1000)? - 1,
            names: COUNTERS.join("|"),
        };
        let (places, samples) = (&self.places, &mut self.samples);
        client.raw(&query, |series: RawSeries| {
            let counter = series.labels.get("__name__");
            let counter =
                counter.and_then(|name| COUNTERS.iter().position(|counter| counter == name));
            let place = key(&series.labels).and_then(|key| places.get(&key).copied());
            if let (Some(counter), Some(place)) = (counter, place) {
                samples[place][counter].extend(series.samples);
            }
            !stop.load(Ordering::Relaxed)
        })?;
        let longest_ms = i64::try_from((end_s - begin_s) * 1000)?;
        let devices = self.samples.iter_mut().zip(&mut self.last).zip(&mut self.tallies);
        for ((samples, last), tally) in devices {
            // Of replicas each sends its own part.
            for counter in samples.iter_mut().filter(|it| !it.is_sorted_by_key(|(time, _)| *time)) {
                counter.sort_by_key(|(time, _)| *time);
                counter.dedup_by_key(|(time, _)| *time);
            }
            fold(samples, last, longest_ms, tally);
        }
        Ok(!stop.load(Ordering::Relaxed))
    }
}
