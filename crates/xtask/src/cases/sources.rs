//! Writes a case in the text format of another tool, and reads it back like a user's file.
//!
//! So the reader of each format sees what the format omits, rounds or averages. Rejected: an observation
//! from which fields are taken away, which knows the forms as their author remembers them and tries no
//! reader.

mod iostat;
mod node_exporter;
mod perfmon;
mod sadf;

use anyhow::Result;
use import::Options;
use record::{Context, Interval, Observation, OpInterval};

const SECOND: u64 = 1_000_000_000;
/// Start of recordings, seconds since 1970: 2026-01-05 00:00:00 UTC.
const BEGIN_S: u64 = 1_767_571_200;
const FIRST_DAY: u64 = 5;
const DAY_S: u64 = 86_400;

/// Source of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// A live kernel, with all data of the case.
    #[default]
    Live,
    /// `iostat -x -t -o JSON`, every interval of the case.
    Iostat,
    /// node_exporter: counters and pressure every 5 s.
    NodeExporter,
    /// sar data as `sadf -j` prints them: means over 5 s, one latency for reads and writes.
    Sar,
    /// PhysicalDisk counters, as Windows' typeperf writes them, every interval of the case.
    Perfmon,
}

impl Source {
    /// All sources.
    pub const ALL: [Self; 5] =
        [Self::Live, Self::Iostat, Self::NodeExporter, Self::Sar, Self::Perfmon];

    /// The observation as a reader of such a recording gets it.
    pub(crate) fn read(self, observation: Observation) -> Result<Observation> {
        let (every_s, write): (u64, fn(&Recording<'_>) -> String) = match self {
            Self::Live => return Ok(observation),
            Self::Iostat => (1, iostat::text),
            Self::NodeExporter => (5, node_exporter::text),
            Self::Sar => (5, sadf::text),
            Self::Perfmon => (1, perfmon::text),
        };
        let text = write(&Recording::of(&observation, every_s));
        let options = Options { utc_offset_s: Some(0), ..Options::default() };
        let mut read = import::read(&[text.as_bytes()], None, &options)?.swap_remove(0);
        // The times of a case start at 0, as those of a recording without times do.
        let begins = read.intervals.iter_mut().map(|interval| &mut interval.begin_ns);
        for begin_ns in begins.chain(read.contexts.iter_mut().map(|it| &mut it.begin_ns)) {
            *begin_ns = begin_ns.checked_sub(BEGIN_S * SECOND).unwrap_or(*begin_ns);
        }
        Ok(read)
    }
}

/// Sums over the requests of one operation in a step.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    requests: f64,
    bytes: f64,
    time_ns: f64,
}

impl Sums {
    fn add(&mut self, op: &OpInterval, seconds: f64) {
        let value = |figure: Option<record::Figure>| figure.map_or(0.0, |one| one.value);
        let requests = (value(op.per_s) * seconds).round();
        self.requests += requests;
        self.bytes += (value(op.bytes_per_s) * seconds).round();
        self.time_ns += requests * value(op.latency_ns);
    }

    fn and(self, other: Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            bytes: self.bytes + other.bytes,
            time_ns: self.time_ns + other.time_ns,
        }
    }

    /// Mean per request; 0 without requests.
    fn each(self, sum: f64) -> f64 {
        if self.requests > 0.0 { sum / self.requests } else { 0.0 }
    }
}

/// Activity of a device in a step.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    read: Sums,
    write: Sums,
    busy_s: f64,
    /// Requests in flight at its end.
    in_flight: f64,
}

impl Step {
    fn add(&mut self, interval: &Interval) {
        let seconds = interval.duration_ns as f64 / SECOND as f64;
        self.read.add(&interval.read, seconds);
        self.write.add(&interval.write, seconds);
        self.busy_s += interval.busy_share.map_or(0.0, |share| share.value) * seconds;
        self.in_flight = interval.in_flight.map_or(0.0, |count| count.value);
    }

    fn all(&self) -> Sums {
        self.read.and(self.write)
    }
}

/// The data that a tool sees: sums over steps of equal length. An unfinished last step is dropped.
struct Recording<'a> {
    step_s: u64,
    /// Each device with its steps in order.
    devices: Vec<(&'a str, Vec<Step>)>,
    contexts: &'a [Context],
}

impl<'a> Recording<'a> {
    /// In steps of `every_s`, or of the observation's own intervals if those are longer.
    fn of(observation: &'a Observation, every_s: u64) -> Self {
        let own_s = observation.intervals.first().map_or(1, |one| one.duration_ns / SECOND).max(1);
        let step_s = every_s.next_multiple_of(own_s);
        let steps = |device: &str| {
            let mut steps: Vec<Step> = Vec::new();
            let mut whole = 0;
            for one in observation.intervals.iter().filter(|one| one.device == device) {
                let at = (one.begin_ns / SECOND / step_s) as usize;
                steps.resize(steps.len().max(at + 1), Step::default());
                steps[at].add(one);
                whole = ((one.begin_ns + one.duration_ns) / SECOND / step_s) as usize;
            }
            steps.truncate(whole);
            steps
        };
        let devices = observation.devices.iter().map(|one| one.name.as_str());
        Self {
            step_s,
            devices: devices.map(|name| (name, steps(name))).collect(),
            contexts: &observation.contexts,
        }
    }

    fn steps(&self) -> usize {
        self.devices.iter().map(|(_, steps)| steps.len()).max().unwrap_or(0)
    }

    /// End of the step with this number, in seconds after the start.
    fn end_s(&self, steps: usize) -> u64 {
        steps as u64 * self.step_s
    }
}

/// The JSON of sysstat's tools: a head with the date, and numbered reports. Each report has its time and
/// the values of each device.
fn sysstat(
    recording: &Recording<'_>,
    day: &str,
    first: usize,
    time: impl Fn(usize) -> String,
    disk: impl Fn(&str, &[Step], usize) -> String,
) -> String {
    let report = |number: usize| {
        let disks = recording.devices.iter().map(|(device, steps)| disk(device, steps, number));
        let disks = disks.collect::<Vec<_>>().join(", ");
        format!("{{\"timestamp\": {}, \"disk\": [{disks}]}}", time(number))
    };
    let reports: Vec<String> = (first..=recording.steps()).map(report).collect();
    let host = "\"nodename\": \"sim\", \"sysname\": \"Linux\", \"release\": \"6.18.0\", \
                \"machine\": \"x86_64\", \"number-of-cpus\": 4";
    format!(
        "{{\"sysstat\": {{\"hosts\": [{{{host}, {day}, \"statistics\": [\n{}]}}]}}}}\n",
        reports.join(",\n")
    )
}

/// Day of January 2026 and time of day, `after_s` seconds after the start.
fn date(after_s: u64) -> (u64, String) {
    let (day, second) = (FIRST_DAY + after_s / DAY_S, after_s % DAY_S);
    (day, format!("{:02}:{:02}:{:02}", second / 3_600, second / 60 % 60, second % 60))
}
