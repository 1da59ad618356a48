//! What one visit gave: its rate, throughput and response time, without the warm-up.
//!
//! A queue that fills, a governor that wakes up or a cache that learns makes the start of every
//! visit unlike the rest of it. MSER-5 (White 1997, see [`stats::warm_up_cut`]) says where the rest
//! begins. It is asked once per cell, of the series averaged over the visits, as Hoad, Robinson and
//! Davies (2010) do with replications: what all visits share stays, what one met by chance fades.
//!
//! MSER-5 minimises a standard error, so on steady noise it also cuts: two of five windows of 64
//! values, which costs a third more variance, and where a device stalls now and then the cut
//! prefers to hit the stalls, which makes the rest 0.2 to 0.4 % too fast at three to six visits.
//! A cut is therefore made only if the visits agree on it: the relative difference between start
//! and rest, one value per visit, must differ from zero at 1 % by Student's t. Simulated on
//! independent, correlated (lag-1 0.9) and stalling series, this cuts 1 to 3 % of the cells that
//! need none and moves their mean by less than 0.05 %; of a start that is 40 % slower for a fifth of
//! the window it removes all at six visits and nearly all at three. A lone visit cannot tell a
//! warm-up from chance and is kept whole. Rejected: a cut in each visit by itself (up to 1.3 % of
//! bias on the same series), and the bare rule on the average, for the reasons above.
//!
//! Only rate, throughput and response time are cut. Percentiles, device counters and processor
//! time were counted over the whole window and stay so. A mixed workload is kept whole, because its
//! series does not part the directions.

use record::Trial;

/// A warm-up that is none passes the visits' agreement this rarely.
const FALSE_ALARM_SHARE: f64 = 0.01;

/// One visit's numbers after the warm-up, both directions together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bytes_per_s: f64,
    /// Mean response time in nanoseconds.
    pub latency_ns: f64,
    /// Requests behind the response time.
    pub requests: f64,
}

/// The visits of one cell, each without their common warm-up.
pub(crate) fn settled(trials: &[&Trial]) -> Vec<Visit> {
    let cut = warm_up(trials);
    trials.iter().map(|trial| after(trial, cut).unwrap_or_else(|| whole(trial))).collect()
}

/// Leading intervals of the series that are warm-up in all visits; 0 where none is.
fn warm_up(trials: &[&Trial]) -> usize {
    let Some(series) =
        trials.iter().map(|trial| relative_series(trial)).collect::<Option<Vec<_>>>()
    else {
        return 0;
    };
    let length = series.first().map_or(0, Vec::len);
    if series.len() < 2 || series.iter().any(|one| one.len() != length) {
        return 0;
    }
    let average: Vec<f64> = (0..length)
        .map(|at| series.iter().map(|one| one[at]).sum::<f64>() / series.len() as f64)
        .collect();
    let cut = stats::warm_up_cut(&average);
    let differences: Vec<f64> =
        series.iter().map(|one| mean(&one[..cut]) / mean(&one[cut..]) - 1.0).collect();
    if cut > 0 && differ_from_zero(&differences) { cut } else { 0 }
}

/// Completions per interval as shares of their mean; `None` for a mixed workload, where reads and
/// writes warm up differently, and without a series.
fn relative_series(trial: &Trial) -> Option<Vec<f64>> {
    trial.workload.only_op()?;
    let ios: Vec<f64> = trial.result.series.ios.iter().map(|&ios| ios as f64).collect();
    let level = mean(&ios);
    (level > 0.0).then(|| ios.iter().map(|ios| ios / level).collect())
}

/// Student's t test of a mean of zero at [`FALSE_ALARM_SHARE`], two-sided.
fn differ_from_zero(values: &[f64]) -> bool {
    let count = values.len() as f64;
    let centre = mean(values);
    let squares: f64 = values.iter().map(|value| (value - centre) * (value - centre)).sum();
    let se = (squares / (count - 1.0) / count).sqrt();
    centre.abs() > se * stats::student_t_quantile(1.0 - FALSE_ALARM_SHARE / 2.0, count - 1.0)
}

/// The visit from interval `cut` on; `None` where nothing is to be cut or nothing would remain.
/// The mean request size is that of the whole window.
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

/// Arithmetic mean; NaN of nothing.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
