//! Converts the logs over time that a job must write.

use crate::fio::settings::Settings;
use crate::fio::values::number;

/// The quantity in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Bandwidth in KiB/s: `NAME_bw.N.log`.
    Bandwidth,
    /// Latency in ns: `NAME_lat.N.log` and `NAME_clat.N.log`.
    Latency,
    /// Requests per second: `NAME_iops.N.log`.
    Iops,
}

/// A requested log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// The quantity.
    pub kind: LogKind,
    /// Prefix of its name; `None` for the job's name.
    pub prefix: Option<String>,
    /// Milliseconds per line.
    pub every_ms: u64,
    /// Whether its name includes the job number.
    pub numbered: bool,
}

/// Default time per line: the interval that fio uses for its own averages of the rate.
const EVERY_MS: u64 = 500;

/// The logs of a job, and notes on them.
pub(crate) fn logs(settings: &Settings<'_>) -> (Vec<Log>, Vec<String>) {
    let every = settings.value("log_avg_msec", number).filter(|every| *every > 0);
    let numbered = settings.switch("per_job_logs").unwrap_or(true);
    let kinds = [
        ("write_bw_log", LogKind::Bandwidth),
        ("write_lat_log", LogKind::Latency),
        ("write_iops_log", LogKind::Iops),
    ];
    let logs: Vec<Log> = kinds
        .into_iter()
        .filter_map(|(name, kind)| {
            let prefix = settings.get(name)?.value.clone().filter(|value| !value.is_empty());
            Some(Log { kind, prefix, every_ms: every.unwrap_or(EVERY_MS), numbered })
        })
        .collect();
    let mut notes = Vec::new();
    if let (Some(log), None) = (logs.first(), every) {
        notes.push(format!(
            "logs: one line per {} ms and direction; without log_avg_msec, fio writes one line \
             per request",
            log.every_ms
        ));
    }
    if logs.iter().any(|log| log.kind == LogKind::Latency) {
        notes.push("write_lat_log: _lat and _clat are written; the time of the call alone (_slat) is not measured".to_owned());
    }
    (logs, notes)
}
