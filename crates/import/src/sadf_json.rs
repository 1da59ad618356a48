//! Reads `sadf -j`: sar data as JSON. It has one latency for reads and writes together, discards included.

use crate::json::Json;
use crate::moment::{SECOND_NS, Stamp};
use crate::observation_builder::{KIB, ObservationBuilder};
use crate::runs::{Hosts, Report, Run, Span};
use crate::sysstat::{self, find};
use crate::sysstat_json::{self, Frame};
use crate::{ImportError, Options, Text};
use record::{Context, Observation};

/// Old versions do not count discards.
const FRAME: Frame =
    Frame { is_report: "timestamp", name: "disk-device", report, mixed: includes_discards };

/// Whether the means over all requests included discards.
pub(crate) fn includes_discards(discarded: Option<f64>) -> bool {
    discarded.is_some_and(|rate| rate > 0.0)
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    observations("sadf -j", sysstat_json::hosts(texts, &FRAME), options)
}

/// The observations from reports with end time and length.
pub(crate) fn observations(
    source: &'static str,
    hosts: Hosts,
    options: &Options,
) -> Result<Vec<Observation>, ImportError> {
    let of_run = |run: &mut Run, builder: &mut ObservationBuilder| {
        let stamps: Vec<Option<Stamp>> = run.reports.iter().map(|it| it.stamp.clone()).collect();
        let times = builder.times(&stamps, options.clock(), false);
        let lengths = run.reports.iter().map(|it| it.length);
        let spans: Vec<Span> = times
            .iter()
            .zip(lengths)
            .map(|(time, length)| Some((((*time)? - length?), length?)))
            .collect();
        // A report without disks belongs to another activity.
        let disks: Vec<bool> = (0..spans.len()).map(|it| run.disks(it).next().is_some()).collect();
        run.hand_over(&spans, |report| !disks[report] && spans[report].is_none(), builder);
    };
    let fill = |runs: &mut [Run], builder: &mut ObservationBuilder| {
        runs.iter_mut().for_each(|run| of_run(run, builder));
    };
    hosts.observations(source, fill, "create the file with: sadf -j FILE -- -d")
}

fn report(report: &Json<'_>) -> Report {
    let length = report.get("timestamp").and_then(|it| find(it, &[("interval", SECOND_NS as f64)]));
    Report {
        stamp: stamp(report),
        length: length.map(|ns| ns.value as i128).filter(|length| *length > 0),
        context: context(report),
        ..Report::default()
    }
}

/// Time of a report, which is its end.
fn stamp(report: &Json<'_>) -> Option<Stamp> {
    let timestamp = report.get("timestamp")?;
    let word = |key: &str| timestamp.get(key).and_then(Json::text);
    let (Some(date), Some(time)) = (word("date"), word("time")) else {
        // Seconds since 1970, as `-U` prints them.
        return ["sec", "time", "epoch"].into_iter().find_map(|key| Stamp::parse(word(key)?));
    };
    let utc = word("tz") == Some("UTC") || word("utc") == Some("1");
    Stamp::parse(&format!("{date} {time}{}", if utc { " UTC" } else { "" }))
}

/// Processors, memory and pressure, if sadf printed them (`-- -A`).
fn context(report: &Json<'_>) -> Context {
    let processors = report.get("cpu-load").map_or(&[][..], Json::elements);
    let all = processors.iter().find(|cpu| cpu.get("cpu").and_then(Json::text) == Some("all"));
    let of_all = |key: &str| find(all?, &[(key, 1.0)]);
    let pressure = report.get("psi").and_then(|psi| psi.get("psi-io"));
    let pressure = |key: &str| sysstat::share(find(pressure?, &[(key, 1.0)]));
    let memory = |key: &str| {
        let bytes = find(report.get("memory")?, &[(key, KIB)])?.value;
        (0.0..1e18).contains(&bytes).then_some(bytes as u64)
    };
    Context {
        io_some_share: pressure("some_avg"),
        io_full_share: pressure("full_avg"),
        steal_share: sysstat::share(of_all("steal")),
        idle_share: sysstat::idle_share(of_all),
        memory_available_bytes: memory("avail"),
        memory_cached_bytes: memory("cached"),
        dirty_bytes: memory("dirty"),
        ..Context::default()
    }
}
