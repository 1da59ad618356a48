//! Finds earlier recordings of devices without a profile: in the database, and in the history that sysstat
//! records on most servers.

use crate::output;
use crate::store_args::StoreArgs;
use diagnose::ProfileSet;
use engine::input;
use record::{Observation, ObservedDevice};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use store::StoreError;

/// Maximum number of latest recordings, and of sysstat's latest days, that are read.
const RECORDINGS: usize = 20;
const DAYS: usize = 7;
/// Maximum total size of these recordings in the database: a few hundred thousand intervals.
const RECORDINGS_BYTES_MAX: i64 = 8 << 20;
/// sysstat's data folders on Debian and on Red Hat.
const HISTORIES: [&str; 2] = ["/var/log/sysstat", "/var/log/sa"];
/// A day of a thousand disks, as JSON.
const DAY_BYTES_MAX: u64 = 64 << 20;

/// Recordings at least 12 hours older than the observations, of devices without a profile, latest first.
/// `on_this_machine` includes sysstat's history; the diagnosis ignores its newer intervals. An observation of
/// unknown time has no past.
pub(crate) fn of(
    observations: &[Observation],
    profiles: &ProfileSet,
    keeping: &StoreArgs,
    on_this_machine: bool,
) -> Vec<Observation> {
    let devices = observations.iter().flat_map(|one| &one.devices);
    let without: Vec<&ObservedDevice> =
        devices.filter(|device| profiles.of(device).is_none()).collect();
    if without.is_empty() {
        return Vec::new();
    }
    let Some(until) = diagnose::past_until(observations) else { return Vec::new() };
    let mut past = saved(&without, &until, keeping).unwrap_or_else(|error| {
        output::remark(&format!("earlier recordings are not used: {error}"));
        Vec::new()
    });
    if on_this_machine {
        let host = observations.first().and_then(|one| one.host.as_deref());
        past.extend(sysstat_days().iter().filter_map(|day| read_day(day, host)));
    }
    past
}

fn saved(
    devices: &[&ObservedDevice],
    until: &str,
    keeping: &StoreArgs,
) -> Result<Vec<Observation>, StoreError> {
    let store = match keeping.existing() {
        Err(StoreError::Missing(_) | StoreError::NoDefaultPath) => return Ok(Vec::new()),
        opened => opened?,
    };
    let serial = |device: &ObservedDevice| device.facts.as_ref()?.serial.clone();
    let is_one = |other: &ObservedDevice| {
        devices.iter().any(|one| {
            let by_serial = serial(one).is_some_and(|it| serial(other) == Some(it));
            by_serial || one.name == other.name
        })
    };
    store.recordings_of(is_one, until, (RECORDINGS, RECORDINGS_BYTES_MAX))
}

/// The files of the latest days.
fn sysstat_days() -> Vec<PathBuf> {
    let listed = HISTORIES.iter().filter_map(|folder| std::fs::read_dir(folder).ok());
    let files = listed.flatten().filter_map(|entry| {
        let entry = entry.ok()?;
        let name = entry.file_name().into_string().ok()?;
        let day = name.strip_prefix("sa")?;
        let is_day = !day.is_empty() && day.bytes().all(|letter| letter.is_ascii_digit());
        let written = entry.metadata().ok()?.modified().ok()?;
        is_day.then(|| (written, entry.path()))
    });
    let mut files: Vec<_> = files.collect();
    files.sort();
    files.into_iter().rev().take(DAYS).map(|(_, path)| path).collect()
}

/// A day of history, read with sysstat's `sadf`; `None` if it is not installed or cannot read the file.
fn read_day(path: &Path, host: Option<&str>) -> Option<Observation> {
    let mut sadf = Command::new("sadf");
    sadf.arg("-j").arg(path).args(["--", "-d"]).env("TZ", "UTC");
    let mut child =
        sadf.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    let mut text = Vec::new();
    let read = child.stdout.take().map(|out| input::at_most(out, DAY_BYTES_MAX, &mut text));
    let ended = child.wait().ok()?;
    if !ended.success() || !matches!(read, Some(Ok(_))) {
        return None;
    }
    let file = (path.display().to_string(), text);
    let read = import::read_recordings(&[file], None, &import::Options::default()).ok()?;
    let mut observation = read.into_iter().next()?;
    // The file has the host name from the time when its collector started.
    observation.host = host.map(str::to_owned);
    Some(observation)
}
