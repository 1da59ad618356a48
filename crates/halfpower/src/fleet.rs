//! `halfpower diagnose --prometheus URL --all`: compares every device known to a Prometheus server with its
//! peers.
//!
//! It queries the devices first, then their counters window by window as the server stores them. Memory
//! therefore holds one window of samples, regardless of the range.

use crate::failure::usage;
use crate::fleet_devices::{Devices, Span};
use crate::fleet_profiles;
use crate::fleet_reader::Reader;
use crate::output::{self, Verdict};
use crate::progress::Progress;
use crate::server_args::ServerArgs;
use crate::store_args::SaveArgs;
use ::model::fleet::{Fleet, Rules, family};
use anyhow::anyhow;
use clap::Args;
use import::RangeQuery;
use live::prometheus::parse_range;
use plan::session::{Display, Shown, StopFlag, VERSION};
use record::{FleetLabels, FleetLeftOut, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// Labels that identify a device or the storage of its samples. They cannot be a common cause.
const NO_CAUSE: &str =
    "__name__ device family major minor model path serial wwn replica prometheus_replica";
/// More windows would take hours to judge; longer windows would need too much memory.
const WINDOWS_MOST: u64 = 1_500;
const WINDOW_MOST: Nanos = Nanos(6 * 3_600_000_000_000);

/// A label groups devices if there are at least this many devices per value.
const DEVICES_PER_VALUE: usize = 3;

#[derive(Debug, Args)]
pub(crate) struct FleetArgs {
    /// Compare every device known to this Prometheus server with its peers; needs --all.
    #[arg(long, value_name = "URL", requires = "all", help_heading = "Fleet",
        conflicts_with_all = ["sources", "profile", "load", "recorded", "csv", "for_ticket"])]
    pub(crate) prometheus: Option<String>,
    /// Diagnose all devices of the server.
    #[arg(long, requires = "prometheus", help_heading = "Fleet")]
    all: bool,
    /// Time range: START..END, such as now-7d..now.
    #[arg(long, value_name = "RANGE", default_value = "now-1d..now", value_parser = parse_range,
        requires = "prometheus", help_heading = "Fleet")]
    query_range: RangeQuery,
    /// Length of a time window; halfpower compares the devices window by window.
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = window,
        requires = "prometheus", help_heading = "Fleet")]
    window: Nanos,
    /// Labels that peers share, separated by commas; family means the letters of the device name
    /// (sd, nvme).
    #[arg(
        long,
        value_name = "LABELS",
        default_value = "model,family",
        value_delimiter = ',',
        requires = "prometheus",
        help_heading = "Fleet"
    )]
    peers: Vec<String>,
    /// Labels to search for a value that the slow devices have in common [default: all with at
    /// least three devices per value on average].
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
        Nanos(short) if short < 60_000_000_000 => Err("use at least one minute".to_owned()),
        long if long > WINDOW_MOST => Err("use at most six hours".to_owned()),
        length => Ok(length),
    }
}

/// Judges the fleet; prints JSON if requested.
pub(crate) fn diagnose(
    asked: &FleetArgs,
    save: &SaveArgs,
    stop: &StopFlag,
) -> anyhow::Result<Verdict> {
    let address = asked.prometheus.as_deref().unwrap_or_default();
    let client = asked.server.client(address, stop)?;
    let span = asked.span()?;
    let profiles = save.keeping.profiles_for_devices(None)?;
    let mut devices = Devices::ask(&client, span)?;
    if devices.disks.is_empty() {
        return Err(anyhow!(
            "{address} has no disk counters in that time range: check that it scrapes node_exporter"
        ));
    }
    for disk in &mut devices.disks {
        disk.labels.insert("family".to_owned(), family(&disk.key.device));
    }
    let labels: Vec<FleetLabels> = devices.disks.iter().map(|disk| disk.labels.clone()).collect();
    asked.check_labels(&labels)?;
    let common = if asked.common.is_empty() {
        grouping(&labels, &asked.peers)
    } else {
        asked.common.clone()
    };
    let mut fleet = Fleet::new(labels, &asked.peers, &common, span.begin_s, span.window_s);
    let mut reader = Reader::new(&devices.disks);
    let (mut progress, begin) = (Progress::new(), Instant::now());
    for window in 0..span.windows {
        let left = begin.elapsed().as_secs_f64() / window as f64 * (span.windows - window) as f64;
        progress.show(&Shown {
            phase: "read window",
            share: window as f64 / span.windows as f64,
            trial: Some((window as usize + 1, span.windows as usize)),
            left: (window > 0).then_some(Nanos((left * 1e9) as u64)),
            what: &format!("window {} of {}", window + 1, span.windows),
            waits_for: "",
        });
        let read = reader.read(&client, span, window);
        if read.is_err() {
            progress.clear();
        }
        read?;
        fleet.close(&mut reader.tallies)?;
    }
    progress.clear();
    let mut found = fleet.conclude(&Rules::default(), usize::MAX);
    VERSION.clone_into(&mut found.halfpower_version);
    address.clone_into(&mut found.source);
    let others = fleet_profiles::Asked { client: &client, span, step_s: asked.query_range.step_s };
    let own = others.diagnoses(&devices.disks, &profiles, &found.slow)?;
    found.by_profile = own.found;
    let reasons = [
        (
            devices.made_of_others,
            "in memory, or stacked on other devices (whose counters are used instead)",
        ),
        (
            devices.ambiguous,
            "several series have this instance and device, but differ in other labels: query a \
             server that scrapes only one cluster",
        ),
    ];
    found.left_out.extend(reasons.into_iter().filter_map(|(keys, reason)| {
        let names: Vec<String> = keys.iter().map(ToString::to_string).collect();
        FleetLeftOut::of(reason, &names)
    }));
    found.left_out.extend(own.left_out);
    output::document(save.json, &found, || output::page(&report::fleet(&found)))
}

impl FleetArgs {
    /// The requested windows.
    fn span(&self) -> anyhow::Result<Span> {
        let window_s = self.window.0 / 1_000_000_000;
        let range = &self.query_range;
        let windows = (range.end_s - range.begin_s) / window_s;
        if windows < 3 {
            return Err(usage(
                "at least three windows are needed: use a longer --query-range or a shorter \
                 --window",
            ));
        }
        if windows > WINDOWS_MOST {
            return Err(usage(format!(
                "{windows} windows are too many (at most {WINDOWS_MOST}): use a shorter \
                 --query-range or a longer --window"
            )));
        }
        // The last windows matter most, so the remainder is dropped at the beginning.
        Ok(Span { begin_s: range.end_s - windows * window_s, window_s, windows })
    }

    /// Fails if no disk has one of the requested labels.
    fn check_labels(&self, labels: &[FleetLabels]) -> anyhow::Result<()> {
        for name in self.peers.iter().chain(&self.common) {
            // `model` is accepted even if no disk has this label.
            let known = labels.iter().any(|labels| labels.contains_key(name));
            if !known && name != "model" {
                let names: BTreeSet<&str> =
                    labels.iter().flat_map(|it| it.keys()).map(String::as_str).collect();
                let names: Vec<&str> = names.into_iter().collect();
                return Err(usage(format!(
                    "no disk has the label {name}; known labels: {}",
                    names.join(", ")
                )));
            }
        }
        Ok(())
    }
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
            && NO_CAUSE
                .split(' ')
                .chain(peers.iter().map(String::as_str))
                .all(|other| other != name)
    };
    values
        .iter()
        .filter(|(name, values)| groups(name, values))
        .map(|(name, _)| (*name).to_owned())
        .collect()
}
