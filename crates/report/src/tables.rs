//! Exports trials as tables for other programs: a row per job, per interval, per histogram bucket,
//! and per client of a load made by several machines.
//!
//! Names are those of the JSON, with the operation as a prefix and the unit at the end. Values that
//! were not measured are null. All columns are always present, so that files from many machines can
//! be read together. Rejected: a row per operation, since a reader would have to join what belongs
//! to one moment; and tables of documents without trials, each of which has a shape of its own.

use crate::parquet::{Column, Kind, ParquetError, Value, Writer};
use crate::story::joined;
use record::{
    BUCKETS, Client, Clients, DirectionResult, HistogramSnapshot, IntervalDirection,
    IntervalResult, Measured, SizeShare, TimeSummary, Trial, TrialResult, bucket_high, bucket_low,
};
use serde::Serialize;
use thiserror::Error;

/// Version of the names and meanings, stored in each file as `halfpower.schema`.
const TABLES_VERSION: u32 = 1;
/// The program's name as the writer of a file; the version follows.
pub const CREATED_BY: &str = "halfpower version ";
/// Names of the tables and of their files, without `.parquet`.
pub const TABLES: [&str; 4] = ["trials", "intervals", "histograms", "clients"];

/// The operations with columns of their own.
pub(crate) const OPERATIONS: [&str; 4] = ["read", "write", "trim", "flush"];

/// A column: name, type, and how to get the value from a record.
pub(crate) type Quantity<T> = (&'static str, Kind, fn(&T) -> Value);

use Kind::{Flag, Integer, Number, Text, Timestamp, Unsigned};

const TRIAL: [Quantity<Trial>; 48] = [
    ("simulated", Flag, |it| it.simulated.into()),
    ("valid", Flag, |it| it.first_clean().into()),
    ("findings", Text, |it| joined(&it.findings, " ", |finding| finding.code.name()).into()),
    ("halfpower_version", Text, |it| it.halfpower_version.as_str().into()),
    ("seed", Unsigned, |it| it.seed.into()),
    ("cell", Text, |it| it.cell.as_str().into()),
    ("target", Text, |it| target_names(it).into()),
    ("target_kind", Text, |it| it.targets.first().map(|target| word(target.kind)).into()),
    ("target_size_bytes", Integer, |it| {
        it.targets.first().map(|target| target.size_bytes.0).into()
    }),
    ("device", Text, |it| device(it).map(|device| device.disk.as_str()).into()),
    ("model", Text, |it| device(it).and_then(|device| device.model.as_deref()).into()),
    ("job_name", Text, |it| it.workload.name.as_deref().into()),
    ("engine", Text, |it| word(it.workload.engine).into()),
    ("cache", Text, |it| word(it.workload.cache).into()),
    ("pattern", Text, |it| word(it.workload.pattern).into()),
    ("read_percent", Integer, |it| u32::from(it.workload.read_percent).into()),
    ("instead", Text, |it| it.workload.instead.map(word).into()),
    ("bs_bytes", Integer, |it| only_size(&it.workload.bs).into()),
    ("bs_mix", Text, |it| size_mix(&it.workload.bs).into()),
    ("iodepth", Integer, |it| it.workload.iodepth.into()),
    ("numjobs", Integer, |it| it.workload.numjobs.into()),
    ("depth", Integer, |it| it.workload.depth.into()),
    ("arrival", Text, |it| word(it.workload.arrival).into()),
    ("rate_iops", Integer, |it| it.workload.rate_iops.into()),
    ("offset_bytes", Integer, |it| it.workload.offset_bytes.0.into()),
    ("size_bytes", Integer, |it| it.workload.size_bytes.0.into()),
    ("runtime_ns", Integer, |it| it.workload.runtime_ns.0.into()),
    ("duration_ns", Integer, |it| it.result.duration_ns.0.into()),
    ("steady", Flag, |it| it.result.steady.into()),
    ("ended_by", Text, |it| it.result.ended_by.map(word).into()),
    ("unanswered", Integer, |it| it.result.unanswered.into()),
    ("concurrency", Number, |it| it.result.concurrency.into()),
    ("open_loop_offered_iops", Number, |it| open_loop(it, |open| open.offered_iops.into())),
    ("open_loop_late_mean_ns", Number, |it| open_loop(it, |open| open.late_mean_ns.into())),
    ("open_loop_late_p99_ns", Number, |it| open_loop(it, |open| open.late_p99_ns.into())),
    ("open_loop_late_max_ns", Integer, |it| open_loop(it, |open| open.late_max_ns.into())),
    ("open_loop_backlog_max", Integer, |it| open_loop(it, |open| open.backlog_max.into())),
    ("cpu_user_ms", Number, |it| measured(&it.cpu, |cpu| cpu.user_ms.into())),
    ("cpu_system_ms", Number, |it| measured(&it.cpu, |cpu| cpu.system_ms.into())),
    ("cpu_lower_us_per_io", Number, |it| measured(&it.cpu, |cpu| cpu.lower_us_per_io.into())),
    ("cpu_upper_us_per_io", Number, |it| measured(&it.cpu, |cpu| cpu.upper_us_per_io.into())),
    ("device_counters_of", Text, |it| counters(it, |device| device.device.as_str().into())),
    ("device_ios", Integer, |it| counters(it, |device| device.ios.into())),
    ("device_bytes", Integer, |it| counters(it, |device| device.bytes.into())),
    ("device_merges", Integer, |it| counters(it, |device| device.merges.into())),
    ("device_busy_ms", Number, |it| counters(it, |device| device.busy_ms.into())),
    ("device_concurrency", Number, |it| counters(it, |device| device.concurrency.into())),
    ("harness_ceiling_iops", Number, |it| {
        measured(&it.harness, |harness| harness.ceiling_iops.into())
    }),
];

const DIRECTION: [Quantity<DirectionResult>; 8] = [
    ("ios", Integer, |it| it.ios.into()),
    ("bytes", Integer, |it| it.bytes.into()),
    ("iops", Number, |it| it.iops.into()),
    ("bytes_per_s", Number, |it| it.bytes_per_s.into()),
    ("iops_ci95_rel", Number, |it| it.iops_ci95_rel.into()),
    ("errors", Integer, |it| it.errors.into()),
    ("short", Integer, |it| it.short.into()),
    ("offered_iops", Number, |it| it.offered_iops.into()),
];

/// The latency summaries of a trial, with their names.
type Times = fn(&DirectionResult) -> Option<&TimeSummary>;
const DIRECTION_TIMES: [(&str, Times); 2] =
    [("latency", |it| it.latency_ns.as_ref()), ("completion", |it| it.completion_ns.as_ref())];

pub(crate) const INTERVAL: [Quantity<IntervalResult>; 3] = [
    ("begin_ns", Integer, |it| it.begin_ns.0.into()),
    ("length_ns", Integer, |it| it.length_ns.0.into()),
    ("concurrency", Number, |it| it.concurrency.into()),
];

const INTERVAL_DIRECTION: [Quantity<IntervalDirection>; 4] = [
    ("ios", Integer, |it| it.ios.into()),
    ("bytes", Integer, |it| it.bytes.into()),
    ("iops", Number, |it| it.iops.into()),
    ("bytes_per_s", Number, |it| it.bytes_per_s.into()),
];

const SUMMARY: [Quantity<TimeSummary>; 11] = [
    ("mean_ns", Number, |it| it.mean.into()),
    ("stddev_ns", Number, |it| it.stddev.into()),
    ("min_ns", Integer, |it| it.min.into()),
    ("p50_ns", Number, |it| it.p50.into()),
    ("p90_ns", Number, |it| it.p90.into()),
    ("p95_ns", Number, |it| it.p95.into()),
    ("p99_ns", Number, |it| it.p99.into()),
    ("p99_9_ns", Number, |it| it.p99_9.into()),
    ("p99_99_ns", Number, |it| it.p99_99.into()),
    ("max_ns", Integer, |it| it.max.into()),
    ("mean_ci95_rel", Number, |it| it.mean_ci95_rel.into()),
];

const BUCKET: [(&str, Kind); 5] = [
    ("operation", Text),
    ("bucket", Integer),
    ("low_ns", Integer),
    ("high_ns", Integer),
    ("ios", Integer),
];

/// The result of each client, and its clock offset.
const CLIENT: [Quantity<Client>; 18] = [
    ("host", Text, |it| it.host.as_str().into()),
    ("hostname", Text, |it| it.hostname.as_str().into()),
    ("part_id", Text, |it| it.trial_id.as_deref().into()),
    ("first_job", Integer, |it| it.first_job.into()),
    ("jobs", Integer, |it| it.jobs.into()),
    ("depth", Integer, |it| it.depth.into()),
    ("share", Number, |it| it.share.into()),
    ("iops_per_job", Number, |it| it.iops_per_job.into()),
    ("begin_skew_ns", Integer, |it| it.begin_skew_ns.into()),
    ("clock_offset_ns", Integer, |it| it.clock.offset_ns.into()),
    ("clock_error_ns", Integer, |it| it.clock.error_ns.0.into()),
    ("clock_round_trip_ns", Integer, |it| it.clock.round_trip_ns.0.into()),
    ("clock_drift_ns", Integer, |it| it.clock.drift_ns.into()),
    ("lost", Text, |it| it.lost.as_ref().map(|lost| word(lost.kind)).into()),
    ("lost_reason", Text, |it| it.lost.as_ref().map(|lost| lost.reason.as_str()).into()),
    ("lost_until_ns", Integer, |it| {
        it.lost.as_ref().and_then(|lost| Some(lost.until_ns?.0)).into()
    }),
    ("lost_ios", Integer, |it| it.lost.as_ref().map(|lost| lost.ios).into()),
    ("lost_bytes", Integer, |it| it.lost.as_ref().map(|lost| lost.bytes).into()),
];

/// Values common to all clients of a trial, repeated in each row.
const TOGETHER: [Quantity<Clients>; 6] = [
    ("clients", Integer, |it| (it.each.len() as u64).into()),
    ("sharing", Text, |it| word(it.sharing).into()),
    ("start_spread_ns", Integer, |it| it.start_spread_ns.map(|spread| spread.0).into()),
    ("start_spread_error_ns", Integer, |it| it.start_spread_error_ns.map(|error| error.0).into()),
    ("common_window_ns", Integer, |it| it.common_window_ns.map(|window| window.0).into()),
    ("jain_index", Number, |it| it.jain_index.into()),
];

/// The columns of [`TRIAL`] that describe a client's own trial. The requested load is common to all
/// clients and is in the trial's row.
const OF_PART: [&str; 20] = [
    "valid",
    "findings",
    "target",
    "target_size_bytes",
    "device",
    "model",
    "duration_ns",
    "ended_by",
    "unanswered",
    "concurrency",
    "cpu_user_ms",
    "cpu_system_ms",
    "cpu_lower_us_per_io",
    "device_counters_of",
    "device_ios",
    "device_bytes",
    "device_merges",
    "device_busy_ms",
    "device_concurrency",
    "harness_ceiling_iops",
];

/// A trial that cannot be stored in the tables.
#[derive(Debug, Error)]
pub enum TableError {
    /// Its time is invalid.
    #[error("trial {id}: its time {time:?} is not an RFC 3339 time after 1677 and before 2262")]
    Time {
        /// Id of the trial.
        id: String,
        /// The time as recorded.
        time: String,
    },
    /// A histogram bucket that does not exist.
    #[error("trial {id}: its histogram has a bucket {bucket}, but only {BUCKETS} exist")]
    Bucket {
        /// Id of the trial.
        id: String,
        /// Index of the bucket.
        bucket: u32,
    },
    /// A number is too large.
    #[error("trial {id}: {cause}")]
    Value {
        /// Id of the trial.
        id: String,
        /// The value and its column.
        cause: ParquetError,
    },
}

/// Tables under construction; trials are added one by one.
#[derive(Debug)]
pub struct TrialTables {
    writers: [Writer; 4],
    trials: usize,
}

/// A finished table.
#[derive(Debug)]
pub struct TableFile {
    /// Name, one of [`TABLES`].
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// The Parquet file.
    pub bytes: Vec<u8>,
}

impl Default for TrialTables {
    /// Tables without rows.
    fn default() -> Self {
        let of_job = [("trial_id", Text), ("job", Integer)];
        let named = |(name, kind): (&str, Kind)| Column { name: name.to_owned(), kind };
        let table =
            |rest: Vec<Column>| Writer::new(of_job.map(named).into_iter().chain(rest).collect());
        let mut trials = vec![named(("time", Timestamp))];
        trials.extend(columns("", &TRIAL));
        trials.extend(operation_columns());
        let mut intervals = vec![named(("target", Text))];
        intervals.extend(columns("", &INTERVAL));
        intervals.extend(interval_operation_columns());
        let histograms = BUCKET.map(named).to_vec();
        let mut clients = [("trial_id", Text), ("client", Integer)].map(named).to_vec();
        clients.extend(columns("", &CLIENT));
        clients.extend(columns("", &TOGETHER));
        clients.extend(of_part().map(|(name, kind, _)| named((name, *kind))));
        clients.extend(operation_columns());
        let writers = [table(trials), table(intervals), table(histograms), Writer::new(clients)];
        Self { writers, trials: 0 }
    }
}

impl TrialTables {
    /// Adds a trial with all of its jobs.
    ///
    /// # Errors
    /// If it contains values that no trial of this program has. The tables are unusable afterwards.
    pub fn add(&mut self, trial: &Trial) -> Result<(), TableError> {
        for (index, job) in (0..).map_while(|index| Some((index, trial.job(index)?))) {
            self.add_job(index as u64, &job)?;
        }
        self.add_clients(trial)?;
        self.trials += 1;
        Ok(())
    }

    /// Number of trials added so far.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.trials
    }

    fn add_job(&mut self, index: u64, job: &Trial) -> Result<(), TableError> {
        let of_job: [Value; 2] = [job.id.as_str().into(), index.into()];
        let row = |rest: Vec<Value>| of_job.iter().cloned().chain(rest).collect::<Vec<Value>>();
        let too_large = |cause| TableError::Value { id: job.id.clone(), cause };
        let [trials, intervals, histograms, _] = &mut self.writers;

        let time = job.time.as_deref().map(|time| nanoseconds(&job.id, time)).transpose()?;
        let mut values = vec![time.map_or(Value::Null, Value::Timestamp)];
        values.extend(values_of(&TRIAL, Some(job)));
        values.extend(operation_values(Some(&job.result)));
        trials.row(&row(values)).map_err(too_large)?;

        let target = target_names(job);
        for interval in job.result.intervals.iter().flatten() {
            let mut values = vec![target.as_str().into()];
            values.extend(values_of(&INTERVAL, Some(interval)));
            values.extend(interval_operation_values(interval));
            intervals.row(&row(values)).map_err(too_large)?;
        }

        for (operation, direction) in OPERATIONS.into_iter().zip(operations(&job.result)) {
            let none = HistogramSnapshot::default();
            let histogram = direction.map_or(&none, |direction| &direction.histogram);
            for &(bucket, count) in &histogram.buckets {
                let index = bucket as usize;
                if index >= BUCKETS {
                    return Err(TableError::Bucket { id: job.id.clone(), bucket });
                }
                let (low, high) = (bucket_low(index), bucket_high(index));
                let values =
                    [operation.into(), bucket.into(), low.into(), high.into(), count.into()];
                histograms.row(&row(values.to_vec())).map_err(too_large)?;
            }
        }
        Ok(())
    }

    /// Adds a row for each client, including those without a result.
    fn add_clients(&mut self, trial: &Trial) -> Result<(), TableError> {
        let [.., table] = &mut self.writers;
        let Some(clients) = &trial.clients else { return Ok(()) };
        for (rank, client) in clients.each.iter().enumerate() {
            let part = trial.part(rank);
            let mut values: Vec<Value> = vec![trial.id.as_str().into(), client.rank.into()];
            values.extend(values_of(&CLIENT, Some(client)));
            values.extend(values_of(&TOGETHER, Some(&**clients)));
            values.extend(of_part().map(|(_, _, value)| part.map_or(Value::Null, value)));
            values.extend(operation_values(part.map(|part| &part.result)));
            let too_large = |cause| TableError::Value { id: trial.id.clone(), cause };
            table.row(&values).map_err(too_large)?;
        }
        Ok(())
    }

    /// The files, in the order of [`TABLES`].
    #[must_use]
    pub fn finish(self, halfpower_version: &str) -> Vec<TableFile> {
        let written = TABLES.into_iter().zip(self.writers).map(|(name, writer)| {
            let schema = format!("halfpower/{name}/{TABLES_VERSION}");
            let metadata = ("halfpower.schema".to_owned(), schema);
            let (rows, created_by) = (writer.rows(), format!("{CREATED_BY}{halfpower_version}"));
            TableFile { name, rows, bytes: writer.finish(&[metadata], &created_by) }
        });
        written.collect()
    }
}

fn columns<T>(prefix: &str, quantities: &[Quantity<T>]) -> Vec<Column> {
    let column = |&(name, kind, _): &Quantity<T>| Column { name: format!("{prefix}{name}"), kind };
    quantities.iter().map(column).collect()
}

fn values_of<T>(quantities: &[Quantity<T>], of: Option<&T>) -> Vec<Value> {
    quantities.iter().map(|(_, _, value)| of.map_or(Value::Null, value)).collect()
}

/// The columns listed in [`OF_PART`].
fn of_part() -> impl Iterator<Item = &'static Quantity<Trial>> {
    TRIAL.iter().filter(|(name, ..)| OF_PART.contains(name))
}

/// Columns of a trial's operations.
fn operation_columns() -> Vec<Column> {
    let of = |operation: &str| {
        let mut all = columns(&format!("{operation}_"), &DIRECTION);
        for (name, _) in DIRECTION_TIMES {
            all.extend(columns(&format!("{operation}_{name}_"), &SUMMARY));
        }
        all
    };
    OPERATIONS.into_iter().flat_map(of).collect()
}

/// Values of these columns; null without a result.
fn operation_values(result: Option<&TrialResult>) -> Vec<Value> {
    let of = |direction: Option<&DirectionResult>| {
        let mut all = values_of(&DIRECTION, direction);
        for (_, times) in DIRECTION_TIMES {
            all.extend(values_of(&SUMMARY, direction.and_then(times)));
        }
        all
    };
    result.map_or([None; 4], operations).into_iter().flat_map(of).collect()
}

/// Columns of an interval's operations.
pub(crate) fn interval_operation_columns() -> Vec<Column> {
    let of = |operation: &str| {
        let mut all = columns(&format!("{operation}_"), &INTERVAL_DIRECTION);
        all.extend(columns(&format!("{operation}_latency_"), &SUMMARY));
        all
    };
    OPERATIONS.into_iter().flat_map(of).collect()
}

/// Values of these columns.
pub(crate) fn interval_operation_values(interval: &IntervalResult) -> Vec<Value> {
    let of = |direction: Option<&IntervalDirection>| {
        let mut all = values_of(&INTERVAL_DIRECTION, direction);
        all.extend(values_of(&SUMMARY, direction.and_then(|it| it.latency_ns.as_ref())));
        all
    };
    let IntervalResult { read, write, trim, flush, .. } = interval;
    [read, write, trim, flush].into_iter().flat_map(|it| of(it.as_ref())).collect()
}

/// The names of all targets, separated by spaces.
pub(crate) fn target_names(trial: &Trial) -> String {
    joined(&trial.targets, " ", |target| target.path.clone())
}

/// Results in the order of [`OPERATIONS`].
fn operations(result: &TrialResult) -> [Option<&DirectionResult>; 4] {
    [&result.read, &result.write, &result.trim, &result.flush].map(Option::as_ref)
}

fn device(trial: &Trial) -> Option<&record::DeviceFacts> {
    trial.targets.first()?.device.as_ref()
}

fn measured<T>(of: &Measured<T>, value: fn(&T) -> Value) -> Value {
    of.value().map_or(Value::Null, value)
}

fn counters(trial: &Trial, value: fn(&record::DeviceCounters) -> Value) -> Value {
    measured(&trial.device_counters, value)
}

fn open_loop(trial: &Trial, value: fn(&record::OpenLoop) -> Value) -> Value {
    trial.result.open_loop.as_ref().map_or(Value::Null, value)
}

fn only_size(sizes: &[SizeShare]) -> Option<u64> {
    if let [only] = sizes { Some(only.bytes.0) } else { None }
}

/// Sizes and their percentages in the syntax of `--bs`; `None` for a single size.
fn size_mix(sizes: &[SizeShare]) -> Option<String> {
    let share = |share: &SizeShare| format!("{}/{}", share.bytes.0, share.percent);
    (sizes.len() != 1).then(|| joined(sizes, ":", share))
}

/// An enum value as in JSON.
fn word(value: impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

fn nanoseconds(id: &str, time: &str) -> Result<i64, TableError> {
    let parsed = time.parse::<jiff::Timestamp>().ok();
    let since_1970 = parsed.and_then(|it| i64::try_from(it.as_nanosecond()).ok());
    since_1970.ok_or_else(|| TableError::Time { id: id.to_owned(), time: time.to_owned() })
}
