//! `sadf -j`: what sar kept, as JSON. One time for reads and writes together, discards included.

use crate::json::Json;
use crate::moment::{SECOND_NS, Stamp};
use crate::observation_builder::{KIB, ObservationBuilder};
use crate::sysstat::{self, Host, find, share};
use crate::{ImportError, Options};
use record::{Context, Observation};

pub(crate) fn read(texts: &[String], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let finish = |builder: ObservationBuilder| {
        builder.finish("no report has a disk", "make it with: sadf -j FILE -- -d")
    };
    let fill = |host: &Host<'_>, builder: &mut ObservationBuilder| fill(host, builder, options);
    sysstat::observations("sadf -j", texts, "timestamp", fill, finish)
}

fn fill(host: &Host<'_>, builder: &mut ObservationBuilder, options: &Options) {
    let reports: Vec<&Json> = host.runs.iter().flat_map(|run| &run.reports).copied().collect();
    let stamps: Vec<Option<Stamp>> = reports.iter().map(|report| stamp(report)).collect();
    let times = builder.times(&stamps, options.utc_offset_s, false);
    for (report, time) in reports.iter().zip(times) {
        let timestamp = report.get("timestamp");
        let length = timestamp.and_then(|stamp| find(stamp, &[("interval", SECOND_NS as f64)]));
        let length = length.map(|ns| ns.value as i128).filter(|length| *length > 0);
        let (Some(time), Some(length)) = (time, length) else {
            builder.counts.no_length += u64::from(report.get("disk").is_some());
            continue;
        };
        // Old versions count no discards at all.
        let mixed = |discarded: Option<f64>| discarded.is_some_and(|rate| rate > 0.0);
        sysstat::add_disks(builder, report, (time - length, length), "disk-device", mixed);
        builder.add_context(context(report), time - length, length);
    }
}

/// When a report was made: its end.
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

/// Processors, memory and pressure, where sadf was asked for them (`-- -A`).
fn context(report: &Json<'_>) -> Context {
    let processors = report.get("cpu-load").map_or(&[][..], Json::elements);
    let all = processors.iter().find(|cpu| cpu.get("cpu").and_then(Json::text) == Some("all"));
    let pressure = report.get("psi").and_then(|psi| psi.get("psi-io"));
    let memory = |key: &str| {
        let bytes = find(report.get("memory")?, &[(key, KIB)])?.value;
        (0.0..1e18).contains(&bytes).then_some(bytes as u64)
    };
    Context {
        io_some_share: share(pressure, "some_avg"),
        io_full_share: share(pressure, "full_avg"),
        steal_share: share(all, "steal"),
        idle_share: sysstat::idle_share(all),
        memory_available_bytes: memory("avail"),
        memory_cached_bytes: memory("cached"),
        dirty_bytes: memory("dirty"),
        ..Context::default()
    }
}
