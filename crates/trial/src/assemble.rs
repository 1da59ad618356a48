//! Builds the trial document from the raw results of a run.

use crate::counters::{components, cpu, device_counters};
use crate::measurement::{flush_kind, of_bytes, write_kind};
use crate::steady_window::SteadyWindow;
use crate::together::Together;
use crate::{
    FLUSH, KINDS, Measurement, OpenTotals, SLICES, Slice, TRIM, TrialBackend, TrialError, validity,
};
use record::{
    Arrival, DirectionResult, Environment, ErrorCount, Finding, HistogramSnapshot, Instead,
    IntervalDirection, IntervalResult, JobResult, Nanos, OpenLoop, Series, TRIAL_SCHEMA, Target,
    TimeSummary, Trial, TrialResult, Workload,
};
use std::sync::atomic::AtomicBool;

/// Maximum points of the time series in a document.
const SERIES_POINTS: usize = 64;

/// What the document contains besides the measurement.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Id of the trial.
    pub id: String,
    /// Start of the run, RFC 3339 in UTC; `None` if simulated.
    pub time: Option<String>,
    /// Version of the program.
    pub halfpower_version: String,
    /// Targets that are read or written.
    pub targets: Vec<Target>,
    /// System conditions; `None` if simulated.
    pub environment: Option<Environment>,
    /// Findings from before the run (a fall-back, the state of the target).
    pub findings: Vec<Finding>,
    /// How the page cache was dropped before the run.
    pub cache_dropped: Option<record::CacheDropped>,
    /// How the target was brought into its steady state.
    pub preconditioning: Option<record::Preconditioning>,
    /// Targets of each job after the first; empty if the job uses the first job's targets.
    pub beside: Vec<Vec<Target>>,
}

/// Runs a workload and writes its document, findings included; also returns the measurement. The backend runs
/// `asked` with its seed. If that is part of a larger run, `workload` is the load of all parts together.
///
/// # Errors
/// If nothing could be measured.
pub fn run_trial(
    backend: &mut dyn TrialBackend,
    workload: &Workload,
    (asked, seed): (&Workload, u64),
    identity: Identity,
    stop: &AtomicBool,
    tick: &mut dyn FnMut(f64),
) -> Result<(Trial, Measurement), TrialError> {
    let measurement = backend.measure(asked, seed, stop, tick)?;
    let (clients, parts) = backend.clients().unzip();
    let steady = SteadyWindow::of(workload, &measurement);
    let together = Together::of(workload, &measurement);
    // Counters cover all jobs, so compare them with the requests of all jobs.
    let ours = together.as_ref().map(|all| (all.workload(), all.steady().total));
    let ours = || ours.as_ref().map_err(|why| (**why).to_owned());
    let mut trial = Trial {
        schema: TRIAL_SCHEMA.to_owned(),
        halfpower_version: identity.halfpower_version,
        measured_by: None,
        id: identity.id,
        time: identity.time,
        seed,
        simulated: backend.simulated(),
        cell: workload.cell(),
        targets: identity.targets,
        workload: workload.clone(),
        result: result(workload, kinds_asked([workload]), &steady),
        cpu: ours().and_then(|(_, total)| cpu(&steady, total)).into(),
        device_counters: ours()
            .and_then(|(workload, total)| device_counters(workload, &steady, total))
            .into(),
        harness: measurement.harness.clone().ok_or("virtual time has no harness limit").into(),
        findings: identity.findings,
        environment: identity.environment,
        cache_dropped: identity.cache_dropped,
        preconditioning: identity.preconditioning,
        beside: Vec::new(),
        total: None,
        clients: clients.map(Box::new),
        parts: parts.unwrap_or_default(),
    };
    let beside = workload.beside.iter().zip(&measurement.beside).zip(identity.beside);
    trial.beside = beside
        .map(|((job, measured), targets)| JobResult {
            targets,
            result: result(
                &job.workload,
                kinds_asked([&job.workload]),
                &SteadyWindow::of(&job.workload, measured),
            ),
            findings: Vec::new(),
        })
        .collect();
    if !trial.beside.is_empty() {
        let asked = kinds_asked(workload.all());
        let each = trial.jobs().map(|(_, result)| result);
        trial.total = Some(together.map(|all| Box::new(total(&all, asked, each))).into());
    }
    validity::judge(&mut trial);
    drop(steady);
    Ok((trial, measurement))
}

/// The result of all jobs together; `each` holds the results of the single jobs.
fn total<'r>(
    together: &Together<'_>,
    asked: [bool; KINDS],
    each: impl Iterator<Item = &'r TrialResult>,
) -> TrialResult {
    let mut total = result(together.workload(), asked, &together.steady());
    // Jobs of a closed loop have no completion times separate from their latencies.
    let (mut open, mut closed, mut concurrency) = (false, false, 0.0);
    for result in each {
        concurrency += result.concurrency;
        open |= result.open_loop.is_some();
        closed |= result.open_loop.is_none();
    }
    total.concurrency = concurrency;
    if open && closed {
        for side in [&mut total.read, &mut total.write, &mut total.trim].into_iter().flatten() {
            side.completion_ns = None;
        }
    }
    total
}

fn result(workload: &Workload, asked: [bool; KINDS], steady: &SteadyWindow<'_>) -> TrialResult {
    let measurement = steady.measurement;
    let totals = &measurement.totals;
    let direction = |index: usize, asked: bool| asked.then(|| direction_result(steady, index));
    let counts: Vec<f64> = steady.whole().iter().map(|slice| slice.total_ios() as f64).collect();
    TrialResult {
        duration_ns: steady.duration(),
        steady: stats::steadiness(&counts).map(|steadiness| {
            let moved = stats::halves_differ(&counts) || stats::wanders(&counts);
            steadiness.steady && !moved
        }),
        warm_up: steady.warm_up.clone(),
        ended_by: measurement.ended_by,
        unanswered: measurement.stuck.requests,
        read: direction(0, asked[0]),
        write: direction(1, asked[1]),
        trim: direction(TRIM, asked[TRIM]),
        flush: direction(flush_kind(workload), asked[FLUSH]),
        concurrency: concurrency(&steady.total, workload.arrival, steady.seconds()),
        series: series(steady),
        intervals: workload
            .stop
            .interval_ns
            .map(|length| intervals(workload, asked, measurement, length)),
        open_loop: totals.open.as_ref().map(|open| open_loop(open, steady)),
        callback_depth: totals.callback_depth,
        verify: totals.verify.clone(),
        array: totals.array.clone(),
        components: components(steady),
    }
}

/// The kinds of request that these jobs make.
fn kinds_asked<'w>(jobs: impl IntoIterator<Item = &'w Workload>) -> [bool; KINDS] {
    let mut asked = [false; KINDS];
    for job in jobs {
        asked[0] |= job.read_percent > 0;
        asked[FLUSH] |= job.flush.is_some() || job.instead == Some(Instead::Flush);
        asked[write_kind(job)] |= job.writes() && job.instead != Some(Instead::Flush);
    }
    asked
}

/// Mean requests in flight, by Little's law from the times between hand-over and completion.
fn concurrency(counts: &Slice, arrival: Arrival, seconds: f64) -> f64 {
    let times = match arrival {
        Arrival::Closed => &counts.latency_ns,
        Arrival::Constant | Arrival::Poisson | Arrival::Recorded => &counts.completion_ns,
    };
    of_bytes(times) as f64 / (seconds * 1e9)
}

fn direction_result(steady: &SteadyWindow<'_>, index: usize) -> DirectionResult {
    let measurement = steady.measurement;
    let (total, seconds) = (&steady.total, steady.seconds());
    let failures = &measurement.totals.failures[index];
    let whole = |field: fn(&Slice) -> &[u64; KINDS]| -> Vec<f64> {
        steady.whole().iter().map(|slice| field(slice)[index] as f64).collect()
    };
    let counts = whole(|slice| &slice.ios);
    let summary = |histogram: &HistogramSnapshot, times: fn(&Slice) -> &[u64; KINDS]| {
        let width = relative(stats::batch_ratio(&whole(times), &counts));
        time_summary(histogram, total.ios[index], times(total)[index], width)
    };
    let histogram = steady.histogram(|segment| &segment.latency[index]);
    let latency_ns = summary(&histogram, |slice| &slice.latency_ns);
    let open = measurement.totals.open.as_ref();
    let completion_ns = match open {
        None => latency_ns.clone(),
        Some(_) => {
            let histogram = steady.histogram(|segment| &segment.completion[index]);
            summary(&histogram, |slice| &slice.completion_ns)
        }
    };
    DirectionResult {
        ios: total.ios[index],
        bytes: total.bytes[index],
        iops: total.ios[index] as f64 / seconds,
        bytes_per_s: total.bytes[index] as f64 / seconds,
        iops_ci95_rel: relative(stats::batch_means(&counts)),
        errors: failures.errors.values().sum(),
        error_kinds: failures
            .errors
            .iter()
            .map(|(&errno, &count)| ErrorCount { errno, message: error_text(errno), count })
            .collect(),
        short: failures.short,
        latency_ns,
        completion_ns,
        offered_iops: open.map(|open| open.offered[index] as f64 / window_seconds(measurement)),
        histogram,
    }
}

fn relative(estimate: Option<record::Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.relative_half_width()).filter(|width| width.is_finite())
}

/// The system's text for an error number.
fn error_text(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn time_summary(
    histogram: &HistogramSnapshot,
    ios: u64,
    sum_ns: u64,
    mean_ci95_rel: Option<f64>,
) -> Option<TimeSummary> {
    if ios == 0 {
        return None;
    }
    stats::summarise(histogram, sum_ns as f64 / ios as f64, mean_ci95_rel)
}

/// Seconds from the begin of the window to the end of counting, warm-up included; never zero.
fn window_seconds(measurement: &Measurement) -> f64 {
    measurement.end.since(measurement.window.begin).as_secs_f64().max(1e-9)
}

/// The time series, several slices to a point. After an early end, an incomplete point is left out.
fn series(steady: &SteadyWindow<'_>) -> Series {
    let per_point = steady.slices.len().div_ceil(SERIES_POINTS).clamp(1, SLICES / SERIES_POINTS);
    let slice_length = steady.measurement.window.slice_length();
    let mut series =
        Series { interval_ns: Nanos(slice_length.0 * per_point as u64), ..Series::default() };
    for slices in steady.slices.chunks(per_point) {
        let short = slices.len() < per_point || steady.whole().len() < steady.slices.len();
        let last = series.ios.len() == steady.slices.len().div_ceil(per_point) - 1;
        if short && last && !series.ios.is_empty() {
            break;
        }
        let ios: u64 = slices.iter().map(Slice::total_ios).sum();
        let latency: u64 = slices.iter().map(|slice| of_bytes(&slice.latency_ns)).sum();
        series.ios.push(ios);
        series.latency_mean_ns.push((ios > 0).then(|| latency as f64 / ios as f64));
    }
    series
}

fn intervals(
    workload: &Workload,
    asked: [bool; KINDS],
    measurement: &Measurement,
    length: Nanos,
) -> Vec<IntervalResult> {
    let span = measurement.end.since(measurement.window.begin);
    let count = span.0.div_ceil(length.0.max(1)) as usize;
    let empty = crate::IntervalTotals::default();
    (0..count)
        .map(|index| {
            let begin_ns = Nanos(length.0 * index as u64);
            let length_ns = span.since(begin_ns).min(length);
            let seconds = length_ns.as_secs_f64().max(1e-9);
            let interval = measurement.totals.intervals.get(index).unwrap_or(&empty);
            let counts = &interval.counts;
            let direction = |kind: usize| {
                let side = if kind == FLUSH { flush_kind(workload) } else { kind };
                let (ios, bytes) = (counts.ios[side], counts.bytes[side]);
                let histogram = &interval.latency[side];
                asked[kind].then(|| IntervalDirection {
                    ios,
                    bytes,
                    iops: ios as f64 / seconds,
                    bytes_per_s: bytes as f64 / seconds,
                    latency_ns: time_summary(histogram, ios, counts.latency_ns[side], None),
                })
            };
            IntervalResult {
                begin_ns,
                length_ns,
                read: direction(0),
                write: direction(1),
                trim: direction(TRIM),
                flush: direction(FLUSH),
                concurrency: concurrency(counts, workload.arrival, seconds),
            }
        })
        .collect()
}

fn open_loop(open: &OpenTotals, steady: &SteadyWindow<'_>) -> OpenLoop {
    OpenLoop {
        offered_iops: of_bytes(&open.offered) as f64 / window_seconds(steady.measurement),
        late_mean_ns: open.late_times.mean_ns().unwrap_or_default(),
        late_p99_ns: open.late.snapshot().percentile(0.99),
        late_max_ns: open.late_times.max_ns,
        pacer_late_mean_ns: open.pacer_late.mean_ns(),
        backlog_max: open.backlog_max,
        backlog_end: open.backlog_end,
        spin_ms: steady.total.spin_ns as f64 / 1e6,
    }
}
