//! The disks of a fleet as a Prometheus server reports them, including replaced disks.
//!
//! A disk is identified by its serial number, but node_exporter counts per device name. If `node_disk_info`
//! has several serial numbers for one name in the range, there were several disks. Each gets only the windows
//! in which it was the only disk of that name. A new disk is thus not judged by the past of the disk that it
//! replaced.

use ::model::fleet::COUNTERS;
use anyhow::{Context, anyhow};
use import::{matcher, range_target};
use live::prometheus::Client;
use record::FleetLabels;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Labels of the scraper or the storage. They can change while the disk stays the same.
const OF_THE_SCRAPE: [&str; 7] =
    ["__name__", "replica", "prometheus_replica", "__replica__", "pod", "container", "uid"];
/// Name prefixes of devices that are made of other devices or of memory. Their requests are counted again in
/// the devices below, or reach no disk.
const VIRTUAL: [&str; 9] = ["dm-", "md", "loop", "zram", "ram", "sr", "fd", "nbd", "drbd"];
/// Metric whose labels are a disk's model, firmware and serial number.
const INFO: &str = "node_disk_info";

/// The range to read: consecutive windows of equal length.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    /// Seconds since 1970-01-01 UTC.
    pub(crate) begin_s: u64,
    pub(crate) window_s: u64,
    pub(crate) windows: u64,
}

impl Span {
    pub(crate) fn end_s(self) -> u64 {
        self.window_begin_s(self.windows)
    }

    pub(crate) fn window_begin_s(self, window: u64) -> u64 {
        self.begin_s + window * self.window_s
    }
}

/// Identifies the counters of a device.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub(crate) instance: String,
    pub(crate) device: String,
    /// Empty if the counters have no such label, as in node_exporter.
    serial: String,
}

impl Key {
    pub(crate) fn of(labels: &FleetLabels) -> Option<Self> {
        Some(Self {
            instance: labels.get("instance")?.clone(),
            device: labels.get("device")?.clone(),
            serial: labels.get("serial").cloned().unwrap_or_default(),
        })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.instance, self.device)
    }
}

#[derive(Debug)]
pub(crate) struct Disk {
    pub(crate) key: Key,
    /// Labels of its counters and of `node_disk_info`.
    pub(crate) labels: FleetLabels,
    /// The windows in which the counters belong to this disk; `None` for all windows.
    pub(crate) windows: Option<BTreeSet<u64>>,
}

impl Disk {
    pub(crate) fn stood_there(&self, window: u64) -> bool {
        self.windows.as_ref().is_none_or(|windows| windows.contains(&window))
    }
}

/// The disks, the devices that are not disks, and the devices that cannot be identified.
#[derive(Debug, Default)]
pub(crate) struct Devices {
    /// Disks with the same key are adjacent.
    pub(crate) disks: Vec<Disk>,
    pub(crate) made_of_others: BTreeSet<Key>,
    pub(crate) ambiguous: BTreeSet<Key>,
}

impl Devices {
    /// Queries the server for them.
    pub(crate) fn ask(client: &Client, span: Span) -> anyhow::Result<Self> {
        let mut found = Self::default();
        let mut counted: BTreeMap<Key, FleetLabels> = BTreeMap::new();
        for mut labels in series(client, COUNTERS[6], span.begin_s, span.end_s())? {
            let Some(key) = Key::of(&labels) else { continue };
            if VIRTUAL.iter().any(|name| key.device.starts_with(name)) {
                found.made_of_others.insert(key);
                continue;
            }
            labels.retain(|name, _| !OF_THE_SCRAPE.contains(&name.as_str()));
            let known = counted.entry(key.clone()).or_insert_with(|| labels.clone());
            if *known != labels {
                found.ambiguous.insert(key);
            }
        }
        counted.retain(|key, _| !found.ambiguous.contains(key));
        let infos = infos(client, span)?;
        for (key, labels) in counted {
            let place = (key.instance.clone(), key.device.clone());
            let mut told: Vec<&FleetLabels> = infos.get(&place).into_iter().flatten().collect();
            let of_another =
                |info: &FleetLabels| !serial(info).is_empty() && serial(info) != key.serial;
            told.retain(|info| key.serial.is_empty() || !of_another(info));
            let numbers: BTreeSet<&str> =
                told.iter().map(|info| serial(info)).filter(|number| !number.is_empty()).collect();
            if numbers.len() < 2 {
                found.disks.push(Disk { labels: filled(labels, &told), key, windows: None });
                continue;
            }
            let stood = windows_of(client, span, &key)?;
            for number in numbers {
                told.sort_by_key(|info| serial(info) != number);
                let own = told.partition_point(|info| serial(info) == number);
                found.disks.push(Disk {
                    labels: filled(labels.clone(), &told[..own]),
                    key: key.clone(),
                    windows: Some(stood.get(number).cloned().unwrap_or_default()),
                });
            }
        }
        Ok(found)
    }
}

fn serial(labels: &FleetLabels) -> &str {
    labels.get("serial").map_or("", |serial| serial.trim())
}

/// Adds missing labels from `told`; earlier entries take precedence.
fn filled(mut labels: FleetLabels, told: &[&FleetLabels]) -> FleetLabels {
    for (name, value) in told.iter().copied().flatten() {
        if !OF_THE_SCRAPE.contains(&name.as_str()) {
            labels.entry(name.clone()).or_insert_with(|| value.clone());
        }
    }
    labels
}

/// The `node_disk_info` labels for each instance and name, current ones before earlier ones.
fn infos(
    client: &Client,
    span: Span,
) -> anyhow::Result<BTreeMap<(String, String), Vec<FleetLabels>>> {
    let mut found: BTreeMap<(String, String), Vec<FleetLabels>> = BTreeMap::new();
    for begin_s in [span.window_begin_s(span.windows - 1), span.begin_s] {
        for labels in series(client, INFO, begin_s, span.end_s())? {
            let Some(key) = Key::of(&labels) else { continue };
            found.entry((key.instance, key.device)).or_default().push(labels);
        }
    }
    Ok(found)
}

/// The labels of all series of a metric.
fn series(
    client: &Client,
    name: &str,
    begin_s: u64,
    end_s: u64,
) -> anyhow::Result<Vec<FleetLabels>> {
    let target = format!("/api/v1/series?match%5B%5D={name}&start={begin_s}&end={end_s}");
    let data = answer(client, &target)?;
    serde_json::from_value(data).context("the server's response contains no series")
}

/// The server's JSON response.
fn answer(client: &Client, target: &str) -> anyhow::Result<serde_json::Value> {
    let mut answer: serde_json::Value =
        serde_json::from_slice(&client.get(target)?).with_context(|| {
            format!(
                "the response to {target} is not JSON; check that the address belongs to a \
                     Prometheus server"
            )
        })?;
    if let Some(error) = answer.get("error") {
        return Err(anyhow!("the server refused: {error}"));
    }
    Ok(answer.get_mut("data").map(serde_json::Value::take).unwrap_or_default())
}

/// For each serial number, the windows in which it was the only one at its name.
fn windows_of(
    client: &Client,
    span: Span,
    key: &Key,
) -> anyhow::Result<BTreeMap<String, BTreeSet<u64>>> {
    let Span { window_s, .. } = span;
    let (instance, device) = (matcher("instance", &key.instance), matcher("device", &key.device));
    // Query at the last second of each window, because the next window begins right after it.
    let query = format!("count_over_time({INFO}{{{instance},{device}}}[{window_s}s])");
    let last_s = |window: u64| span.window_begin_s(window + 1) - 1;
    let target = range_target(&query, last_s(0), last_s(span.windows - 1), window_s);
    let data = answer(client, &target)?;
    let result = data.get("result").and_then(serde_json::Value::as_array);
    let mut found: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
    for series in result.into_iter().flatten() {
        let labels: FleetLabels = serde_json::from_value(series["metric"].clone())
            .context("a series in the server's response has no labels")?;
        let values: Vec<(f64, String)> = serde_json::from_value(series["values"].clone())
            .context("a series in the server's response has no values")?;
        let of_number = found.entry(serial(&labels).to_owned()).or_default();
        for (time_s, _) in values {
            of_number.extend((time_s as u64).checked_sub(span.begin_s).map(|s| s / window_s));
        }
    }
    let mut disks: BTreeMap<u64, usize> = BTreeMap::new();
    for window in found.values().flatten() {
        *disks.entry(*window).or_default() += 1;
    }
    for windows in found.values_mut() {
        windows.retain(|window| disks[window] == 1);
    }
    Ok(found)
}
