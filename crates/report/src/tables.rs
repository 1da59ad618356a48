//! Exports trials as CSV tables for other programs: a row per job, per interval, per histogram bucket,
//! and per client of a load made by several machines.
//!
//! Names are those of the JSON, with the operation as a prefix and the unit at the end. Values that
//! were not measured are empty fields. All columns are always present, so that files from many machines
//! can be read together. Rejected: a row per operation, since a reader would have to join what belongs
//! to one moment; and tables of documents without trials, each of which has a shape of its own.

use crate::page::csv_field;
use crate::story::joined;
use record::{
    BUCKETS, Client, Clients, DirectionResult, HistogramSnapshot, IntervalDirection,
    IntervalResult, Measured, SizeShare, TimeSummary, Trial, TrialResult, bucket_high, bucket_low,
    word,
};
use thiserror::Error;

/// Names of the tables and of their files, without `.csv`.
pub const TABLES: [&str; 4] = ["trials", "intervals", "histograms", "clients"];

/// The operations with columns of their own.
const OPERATIONS: [&str; 4] = ["read", "write", "trim", "flush"];

/// A CSV field; empty if the value was not measured.
#[derive(Clone)]
pub(crate) struct Field(String);

impl Field {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: Into<Self>> From<Option<T>> for Field {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self(String::new()), Into::into)
    }
}

impl From<&str> for Field {
    fn from(value: &str) -> Self {
        Self(csv_field(value))
    }
}

impl From<String> for Field {
    fn from(value: String) -> Self {
        value.as_str().into()
    }
}

/// Makes fields of types whose text needs no quotes.
macro_rules! plain_fields {
    ($($plain:ty),*) => {
        $(impl From<$plain> for Field {
            fn from(value: $plain) -> Self {
                Self(value.to_string())
            }
        })*
    };
}

plain_fields!(bool, f64, i64, u32, u64);

/// A column: name, and how to get the value from a record.
type Quantity<T> = (&'static str, fn(&T) -> Field);

const TRIAL: [Quantity<Trial>; 48] = [
    ("simulated", |it| it.simulated.into()),
    ("valid", |it| it.first_clean().into()),
    ("findings", |it| joined(&it.findings, " ", |finding| finding.code.name()).into()),
    ("halfpower_version", |it| it.halfpower_version.as_str().into()),
    ("seed", |it| it.seed.into()),
    ("cell", |it| it.cell.as_str().into()),
    ("target", |it| target_names(it).into()),
    ("target_kind", |it| it.targets.first().map(|target| word(target.kind)).into()),
    ("target_size_bytes", |it| it.targets.first().map(|target| target.size_bytes.0).into()),
    ("device", |it| device(it).map(|device| device.disk.as_str()).into()),
    ("model", |it| device(it).and_then(|device| device.model.as_deref()).into()),
    ("job_name", |it| it.workload.name.as_deref().into()),
    ("engine", |it| known(it, word(it.workload.engine)).into()),
    ("cache", |it| known(it, word(it.workload.cache)).into()),
    ("pattern", |it| known(it, word(it.workload.pattern)).into()),
    ("read_percent", |it| u32::from(it.workload.read_percent).into()),
    ("instead", |it| it.workload.instead.map(word).into()),
    ("bs_bytes", |it| only_size(&it.workload.bs).into()),
    ("bs_mix", |it| size_mix(&it.workload.bs).into()),
    ("iodepth", |it| known(it, it.workload.iodepth).into()),
    ("numjobs", |it| known(it, it.workload.numjobs).into()),
    ("depth", |it| known(it, it.workload.depth).into()),
    ("arrival", |it| known(it, word(it.workload.arrival)).into()),
    ("rate_iops", |it| it.workload.rate_iops.into()),
    ("offset_bytes", |it| it.workload.offset_bytes.0.into()),
    ("size_bytes", |it| it.workload.size_bytes.0.into()),
    ("runtime_ns", |it| it.workload.runtime_ns.0.into()),
    ("duration_ns", |it| it.result.duration_ns.0.into()),
    ("steady", |it| it.result.steady.into()),
    ("ended_by", |it| it.result.ended_by.map(word).into()),
    ("unanswered", |it| it.result.unanswered.into()),
    ("concurrency", |it| it.mean_depth().into()),
    ("open_loop_offered_iops", |it| open_loop(it, |open| open.offered_iops.into())),
    ("open_loop_late_mean_ns", |it| open_loop(it, |open| open.late_mean_ns.into())),
    ("open_loop_late_p99_ns", |it| open_loop(it, |open| open.late_p99_ns.into())),
    ("open_loop_late_max_ns", |it| open_loop(it, |open| open.late_max_ns.into())),
    ("open_loop_backlog_max", |it| open_loop(it, |open| open.backlog_max.into())),
    ("cpu_user_ms", |it| measured(&it.cpu, |cpu| cpu.user_ms.into())),
    ("cpu_system_ms", |it| measured(&it.cpu, |cpu| cpu.system_ms.into())),
    ("cpu_lower_us_per_io", |it| measured(&it.cpu, |cpu| cpu.lower_us_per_io.into())),
    ("cpu_upper_us_per_io", |it| measured(&it.cpu, |cpu| cpu.upper_us_per_io.into())),
    ("device_counters_of", |it| counters(it, |device| device.device.as_str().into())),
    ("device_ios", |it| counters(it, |device| device.ios.into())),
    ("device_bytes", |it| counters(it, |device| device.bytes.into())),
    ("device_merges", |it| counters(it, |device| device.merges.into())),
    ("device_busy_ms", |it| counters(it, |device| device.busy_ms.into())),
    ("device_concurrency", |it| counters(it, |device| device.concurrency.into())),
    ("harness_ceiling_iops", |it| measured(&it.harness, |harness| harness.ceiling_iops.into())),
];

const DIRECTION: [Quantity<DirectionResult>; 8] = [
    ("ios", |it| it.ios.into()),
    ("bytes", |it| it.bytes.into()),
    ("iops", |it| it.iops.into()),
    ("bytes_per_s", |it| it.bytes_per_s.into()),
    ("iops_ci95_rel", |it| it.iops_ci95_rel.into()),
    ("errors", |it| it.errors.into()),
    ("short", |it| it.short.into()),
    ("offered_iops", |it| it.offered_iops.into()),
];

/// The latency summaries of a trial, with their names.
type Times = fn(&DirectionResult) -> Option<&TimeSummary>;
const DIRECTION_TIMES: [(&str, Times); 2] =
    [("latency", |it| it.latency_ns.as_ref()), ("completion", |it| it.completion_ns.as_ref())];

const INTERVAL: [Quantity<IntervalResult>; 3] = [
    ("begin_ns", |it| it.begin_ns.0.into()),
    ("length_ns", |it| it.length_ns.0.into()),
    ("concurrency", |it| it.concurrency.into()),
];

const INTERVAL_DIRECTION: [Quantity<IntervalDirection>; 4] = [
    ("ios", |it| it.ios.into()),
    ("bytes", |it| it.bytes.into()),
    ("iops", |it| it.iops.into()),
    ("bytes_per_s", |it| it.bytes_per_s.into()),
];

const SUMMARY: [Quantity<TimeSummary>; 11] = [
    ("mean_ns", |it| it.mean.into()),
    ("stddev_ns", |it| it.stddev.into()),
    ("min_ns", |it| it.min.into()),
    ("p50_ns", |it| it.p50.into()),
    ("p90_ns", |it| it.p90.into()),
    ("p95_ns", |it| it.p95.into()),
    ("p99_ns", |it| it.p99.into()),
    ("p99_9_ns", |it| it.p99_9.into()),
    ("p99_99_ns", |it| it.p99_99.into()),
    ("max_ns", |it| it.max.into()),
    ("mean_ci95_rel", |it| it.mean_ci95_rel.into()),
];

const BUCKET: &str = "operation,bucket,low_ns,high_ns,ios";

/// The result of each client, and its clock offset.
const CLIENT: [Quantity<Client>; 18] = [
    ("host", |it| it.host.as_str().into()),
    ("hostname", |it| it.hostname.as_str().into()),
    ("part_id", |it| it.trial_id.as_deref().into()),
    ("first_job", |it| it.first_job.into()),
    ("jobs", |it| it.jobs.into()),
    ("depth", |it| it.depth.into()),
    ("share", |it| it.share.into()),
    ("iops_per_job", |it| it.iops_per_job.into()),
    ("begin_skew_ns", |it| it.begin_skew_ns.into()),
    ("clock_offset_ns", |it| it.clock.offset_ns.into()),
    ("clock_error_ns", |it| it.clock.error_ns.0.into()),
    ("clock_round_trip_ns", |it| it.clock.round_trip_ns.0.into()),
    ("clock_drift_ns", |it| it.clock.drift_ns.into()),
    ("lost", |it| it.lost.as_ref().map(|lost| word(lost.kind)).into()),
    ("lost_reason", |it| it.lost.as_ref().map(|lost| lost.reason.as_str()).into()),
    ("lost_until_ns", |it| it.lost.as_ref().and_then(|lost| Some(lost.until_ns?.0)).into()),
    ("lost_ios", |it| it.lost.as_ref().map(|lost| lost.ios).into()),
    ("lost_bytes", |it| it.lost.as_ref().map(|lost| lost.bytes).into()),
];

/// Values common to all clients of a trial, repeated in each row.
const TOGETHER: [Quantity<Clients>; 6] = [
    ("clients", |it| (it.each.len() as u64).into()),
    ("sharing", |it| word(it.sharing).into()),
    ("start_spread_ns", |it| it.start_spread_ns.map(|spread| spread.0).into()),
    ("start_spread_error_ns", |it| it.start_spread_error_ns.map(|error| error.0).into()),
    ("common_window_ns", |it| it.common_window_ns.map(|window| window.0).into()),
    ("jain_index", |it| it.jain_index.into()),
];

/// The columns of [`TRIAL`] that describe a client's own trial. The requested load is common to all
/// clients and is in the trial's row.
const OF_PART: &str = "valid findings target target_size_bytes device model duration_ns ended_by \
                       unanswered concurrency cpu_user_ms cpu_system_ms cpu_lower_us_per_io \
                       device_counters_of device_ios device_bytes device_merges device_busy_ms \
                       device_concurrency harness_ceiling_iops";

/// A histogram bucket that does not exist.
#[derive(Debug, Error)]
#[error("trial {id}: its histogram has a bucket {bucket}, but only {BUCKETS} exist")]
pub struct BucketError {
    /// Id of the trial.
    id: String,
    /// Index of the bucket.
    bucket: u32,
}

/// Tables under construction; trials are added one by one.
#[derive(Debug)]
pub struct TrialTables {
    files: [TableFile; 4],
    trials: usize,
}

/// A table.
#[derive(Debug)]
pub struct TableFile {
    /// Name, one of [`TABLES`].
    pub name: &'static str,
    /// Number of rows.
    pub rows: usize,
    /// The lines, with the header.
    pub csv: String,
}

impl TableFile {
    fn row(&mut self, fields: impl IntoIterator<Item = Field>) {
        let fields: Vec<Field> = fields.into_iter().collect();
        self.csv.push_str(&joined(&fields, ",", |field| field.as_str().to_owned()));
        self.csv.push('\n');
        self.rows += 1;
    }
}

impl Default for TrialTables {
    /// Tables without rows.
    fn default() -> Self {
        let mut headers = table_headers().into_iter();
        let file = |name| {
            let csv = headers.next().unwrap_or_default() + "\n";
            TableFile { name, rows: 0, csv }
        };
        Self { files: TABLES.map(file), trials: 0 }
    }
}

/// The header lines of the tables without line ends, in the order of [`TABLES`].
#[must_use]
pub fn table_headers() -> [String; 4] {
    let line = |keys: &str, names: Vec<String>| format!("{keys},{}", names.join(","));
    let parts = of_part().map(|&(name, _)| name.to_owned()).collect();
    let of_client = [columns("", &CLIENT), columns("", &TOGETHER), parts, operation_columns()];
    [
        line("trial_id,job,time", [columns("", &TRIAL), operation_columns()].concat()),
        line("trial_id,job,target", interval_columns()),
        format!("trial_id,job,{BUCKET}"),
        line("trial_id,client", of_client.concat()),
    ]
}

impl TrialTables {
    /// Adds a trial with all of its jobs.
    ///
    /// # Errors
    /// If its histogram has a bucket that does not exist. The tables are unusable afterwards.
    pub fn add(&mut self, trial: &Trial) -> Result<(), BucketError> {
        for (index, job) in (0..).map_while(|index| Some((index, trial.job(index)?))) {
            self.add_job(index as u64, &job)?;
        }
        self.add_clients(trial);
        self.trials += 1;
        Ok(())
    }

    /// Number of trials added so far.
    #[must_use]
    pub fn trials(&self) -> usize {
        self.trials
    }

    fn add_job(&mut self, index: u64, job: &Trial) -> Result<(), BucketError> {
        let of_job: [Field; 2] = [job.id.as_str().into(), index.into()];
        let row = |rest: Vec<Field>| of_job.iter().cloned().chain(rest);
        let [trials, intervals, histograms, _] = &mut self.files;

        let mut fields = vec![job.time.as_deref().into()];
        fields.extend(fields_of(&TRIAL, Some(job)));
        fields.extend(operation_fields(Some(&job.result)));
        trials.row(row(fields));

        let target = target_names(job);
        for interval in job.result.intervals.iter().flatten() {
            intervals.row(row([vec![target.as_str().into()], interval_fields(interval)].concat()));
        }

        for (operation, direction) in OPERATIONS.into_iter().zip(operations(&job.result)) {
            let none = HistogramSnapshot::default();
            let histogram = direction.map_or(&none, |direction| &direction.histogram);
            for &(bucket, count) in &histogram.buckets {
                let index = bucket as usize;
                if index >= BUCKETS {
                    return Err(BucketError { id: job.id.clone(), bucket });
                }
                let (low, high) = (bucket_low(index), bucket_high(index));
                let fields =
                    vec![operation.into(), bucket.into(), low.into(), high.into(), count.into()];
                histograms.row(row(fields));
            }
        }
        Ok(())
    }

    /// Adds a row for each client, including those without a result.
    fn add_clients(&mut self, trial: &Trial) {
        let [.., table] = &mut self.files;
        let Some(clients) = &trial.clients else { return };
        for (rank, client) in clients.each.iter().enumerate() {
            let part = trial.part(rank);
            let mut fields: Vec<Field> = vec![trial.id.as_str().into(), client.rank.into()];
            fields.extend(fields_of(&CLIENT, Some(client)));
            fields.extend(fields_of(&TOGETHER, Some(&**clients)));
            fields.extend(of_part().map(|(_, value)| part.map(*value).into()));
            fields.extend(operation_fields(part.map(|part| &part.result)));
            table.row(fields);
        }
    }

    /// The finished tables, in the order of [`TABLES`].
    #[must_use]
    pub fn finish(self) -> [TableFile; 4] {
        self.files
    }
}

fn columns<T>(prefix: &str, quantities: &[Quantity<T>]) -> Vec<String> {
    quantities.iter().map(|(name, _)| format!("{prefix}{name}")).collect()
}

fn fields_of<T>(quantities: &[Quantity<T>], of: Option<&T>) -> Vec<Field> {
    quantities.iter().map(|(_, value)| of.map(value).into()).collect()
}

/// The columns listed in [`OF_PART`].
fn of_part() -> impl Iterator<Item = &'static Quantity<Trial>> {
    TRIAL.iter().filter(|(name, _)| OF_PART.split(' ').any(|one| one == *name))
}

/// Columns of a trial's operations.
fn operation_columns() -> Vec<String> {
    let mut all = Vec::new();
    for operation in OPERATIONS {
        all.extend(columns(&format!("{operation}_"), &DIRECTION));
        for (name, _) in DIRECTION_TIMES {
            all.extend(columns(&format!("{operation}_{name}_"), &SUMMARY));
        }
    }
    all
}

/// Fields of these columns; null without a result.
fn operation_fields(result: Option<&TrialResult>) -> Vec<Field> {
    let mut all = Vec::new();
    for direction in result.map_or([None; 4], operations) {
        all.extend(fields_of(&DIRECTION, direction));
        for (_, times) in DIRECTION_TIMES {
            all.extend(fields_of(&SUMMARY, direction.and_then(times)));
        }
    }
    all
}

/// Columns of an interval and of its operations.
pub(crate) fn interval_columns() -> Vec<String> {
    let mut all = columns("", &INTERVAL);
    for operation in OPERATIONS {
        all.extend(columns(&format!("{operation}_"), &INTERVAL_DIRECTION));
        all.extend(columns(&format!("{operation}_latency_"), &SUMMARY));
    }
    all
}

/// Fields of these columns.
pub(crate) fn interval_fields(interval: &IntervalResult) -> Vec<Field> {
    let mut all = fields_of(&INTERVAL, Some(interval));
    let IntervalResult { read, write, trim, flush, .. } = interval;
    for direction in [read, write, trim, flush].map(Option::as_ref) {
        all.extend(fields_of(&INTERVAL_DIRECTION, direction));
        all.extend(fields_of(&SUMMARY, direction.and_then(|it| it.latency_ns.as_ref())));
    }
    all
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

fn measured<T>(of: &Measured<T>, value: fn(&T) -> Field) -> Field {
    of.value().map(value).into()
}

fn counters(trial: &Trial, value: fn(&record::DeviceCounters) -> Field) -> Field {
    measured(&trial.device_counters, value)
}

fn open_loop(trial: &Trial, value: fn(&record::OpenLoop) -> Field) -> Field {
    trial.result.open_loop.as_ref().map(value).into()
}

fn only_size(sizes: &[SizeShare]) -> Option<u64> {
    if let [only] = sizes { Some(only.bytes.0) } else { None }
}

/// Sizes and their percentages in the syntax of `--bs`; `None` for a single size.
fn size_mix(sizes: &[SizeShare]) -> Option<String> {
    let share = |share: &SizeShare| format!("{}/{}", share.bytes.0, share.percent);
    (sizes.len() > 1).then(|| joined(sizes, ":", share))
}

/// An option of the workload; `None` if the options are unknown.
fn known<T>(trial: &Trial, option: T) -> Option<T> {
    trial.workload.options_known().then_some(option)
}
