//! Computes rate, throughput and latency of one visit without the warm-up common to the visits of a cell
//! ([`stats::warm_up_of_visits`] on completions per interval). All other numbers refer to the whole window.
//! So does a mixed workload, because its series does not separate the directions.

use record::Trial;

/// Results of one visit after the warm-up, both directions together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean latency in nanoseconds.
    pub latency_ns: f64,
    /// Requests behind the latency.
    pub requests: f64,
}

/// The visits of one cell, each without their common warm-up.
pub(crate) fn settled(trials: &[&Trial]) -> Vec<Visit> {
    let series: Option<Vec<Vec<f64>>> = trials.iter().map(|trial| relative_series(trial)).collect();
    let cut = series.map_or(0, |series| stats::warm_up_of_visits(&series));
    trials.iter().map(|trial| after(trial, cut).unwrap_or_else(|| whole(trial))).collect()
}

/// Completions per interval as shares of their mean; `None` for a mixed workload, where reads and
/// writes warm up differently, and without a series.
fn relative_series(trial: &Trial) -> Option<Vec<f64>> {
    trial.workload.only_op()?;
    let ios: Vec<f64> = trial.result.series.ios.iter().map(|&ios| ios as f64).collect();
    let level = stats::mean(&ios);
    (level > 0.0).then(|| ios.iter().map(|ios| ios / level).collect())
}

/// The visit from interval `cut` on; `None` if nothing is cut or nothing would remain. The mean request
/// size is that of the whole window.
fn after(trial: &Trial, cut: usize) -> Option<Visit> {
    let series = &trial.result.series;
    let kept = series.ios.get(cut..).filter(|_| cut > 0)?;
    let ios: u64 = kept.iter().sum();
    let all: u64 = series.ios.iter().sum();
    let times = series.latency_mean_ns.get(cut..)?;
    let latency_ns: f64 = kept
        .iter()
        .zip(times)
        .filter_map(|(&ios, time)| Some(ios as f64 * time.as_ref()?))
        .sum::<f64>()
        / ios as f64;
    let whole = whole(trial);
    let share_of_ios = ios as f64 / all as f64;
    let share_of_time = kept.len() as f64 / series.ios.len() as f64;
    let gain = share_of_ios / share_of_time;
    (ios > 0).then_some(Visit {
        iops: whole.iops * gain,
        bytes_per_s: whole.bytes_per_s * gain,
        latency_ns,
        requests: ios as f64,
    })
}

fn whole(trial: &Trial) -> Visit {
    Visit {
        iops: trial.iops(),
        bytes_per_s: trial.directions().map(|direction| direction.bytes_per_s).sum(),
        latency_ns: trial.latency_ns().unwrap_or(f64::NAN),
        requests: trial.completed() as f64,
    }
}
