//! Plots a profile in the papers' own forms.
//!
//! The plots are: throughput and CPU cost against request size (Riedel, van Ingen, Gray 1997;
//! Chung, Gray, Worthington, Horst 2000), IOPS against depth, latency against rate with what an
//! open load would see, the straight lines of Friedman, the distributions, and how visits drifted
//! during the check. Every value has its interval. The conclusion of a plot is computed from the
//! values that are drawn; if there is none, it says so.

use super::{cell_of, cells_of, largest, of_the_device};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series, ends, points, xs, ys};
use crate::number;
use crate::plots::{distribution, visit, visits};
use crate::story::{capital, joined, sentence};
use record::{
    DepthCurve, Estimate, HistogramSnapshot, OpKind, Pattern, Profile, ServiceTimeFit, SizeCurve,
    Trial, Unit, format_bytes,
};
use stats::Ordered;
use std::collections::{BTreeMap, BTreeSet};

/// In tables, the ± of a check is an interval for another run.
const OVER_VISITS: &str = "Error bars: 95 % confidence interval of this check, over the visits of \
                           each cell; another run may differ more.";
const DISTRIBUTIONS: usize = 6;

pub(super) fn charts(profile: &Profile, trials: &[Trial]) -> Vec<Chart> {
    let mut charts: Vec<Option<Chart>> =
        vec![rate_against_depth(profile), latency_against_rate(profile)];
    charts.extend(OpKind::ALL.map(|op| throughput_against_size(profile, op)));
    charts.extend([
        cost_against_size(profile, false),
        cost_against_size(profile, true),
        latency_against_size(profile),
        distributions(profile),
        visits_over_time(profile, trials),
    ]);
    charts.into_iter().flatten().filter_map(Chart::unless_empty).collect()
}

/// `reads of 4 KiB`.
fn curve_name(curve: &DepthCurve) -> String {
    format!("{} of {}", curve.op.plural(), format_bytes(curve.bs_bytes))
}

fn half_name(curve: &DepthCurve) -> String {
    format!("half of the maximum, {}", curve.op.plural())
}

fn rate_against_depth(profile: &Profile) -> Option<Chart> {
    let curves = &profile.depth_curves;
    let series = curves.iter().map(|curve| {
        let points = curve.points.iter().map(|point| {
            let knee = if curve.knee == Some(point.depth) { "knee" } else { "" };
            Point::estimate(f64::from(point.depth), &point.iops).remark(knee)
        });
        Series::new(curve_name(curve), Form::Curve, points.collect())
    });
    let series: Vec<Series> = series.collect();
    let half = |curve: &DepthCurve| curve.max_iops.value / 2.0;
    let rules = curves.iter().map(|curve| Rule::level(half(curve), half_name(curve)));
    let said = curves.iter().map(|curve| {
        let half = curve.points.iter().find(|point| point.iops.value >= half(curve));
        let half = half.map(|point| format!(", half the maximum from QD {}", point.depth));
        let half = half.unwrap_or_default();
        let knee = match curve.knee {
            Some(depth) if depth != curve.max_depth => format!(", with the knee at QD {depth}"),
            Some(_) => String::new(),
            None => ", with no knee up to there".to_owned(),
        };
        let (name, depth) = (curve_name(curve), curve.max_depth);
        let most = largest(profile, curve.op).0.unwrap_or(curve.max_iops);
        let most = number::with_interval(&most, number::per_second);
        format!("{name} reach {most} at QD {depth}{half}{knee}")
    });
    let x = Axis::at_values("queue depth", None, true, xs(&series));
    let y = Axis::from_zero("random I/O rate", Some(Unit::PerSecond), ends(&series));
    let chart = Chart::new("I/O rate against queue depth", sentence(said, ""), (x, y), series);
    Some(chart.errors(OVER_VISITS).rules(rules))
}

fn latency_against_rate(profile: &Profile) -> Option<Chart> {
    let mut series = Vec::new();
    let mut said = Vec::new();
    let mut rules = Vec::new();
    for curve in &profile.depth_curves {
        let name = curve.op.plural();
        let measured = curve.points.iter().map(|point| {
            Point::estimate(point.iops.value, &point.latency_ns)
                .remark(format!("QD {}", point.depth))
        });
        let all = profile.expectations.iter();
        let expected: Vec<_> = all.filter(|expected| expected.op == curve.op).collect();
        let open = expected.iter().map(|expected| {
            Point::estimate(expected.iops, &expected.latency_ns)
                .remark(format!("{} of the maximum", number::percent(expected.saturation)))
        });
        let mm1 = expected.iter().map(|e| Point::bare(e.iops, e.mm1_response_ns));
        for (what, form, points) in [
            ("measured at constant QD", Form::Curve, measured.collect::<Vec<Point>>()),
            ("expected, arriving independently", Form::Curve, open.collect()),
            ("by M/M/1, for comparison", Form::Marks, mm1.collect()),
        ] {
            series.push(Series::new(format!("{name} {what}"), form, points));
        }
        rules.push(Rule::upright(curve.max_iops.value / 2.0, half_name(curve)));
        let alone = curve.points.iter().find(|point| point.depth == 1);
        let half = expected.iter().find(|e| (e.saturation - 0.5).abs() < 1e-9);
        if let (Some(alone), Some(half)) = (alone, half) {
            let (alone, half) = (alone.latency_ns.value, half.latency_ns);
            let times = number::digits(half.value / alone);
            let (half, alone) = (number::with_interval(&half, number::time), number::time(alone));
            said.push(format!(
                "at half of the maximum, {name} that arrive independently take {half}, {times} times \
                 the latency at QD 1 ({alone})"
            ));
        }
    }
    let finding = sentence(said, "The latency under an open load is unknown.");
    let errors = format!("{OVER_VISITS} Expectations have the error of the model. M/M/1 has none.");
    let x = Axis::from_zero("I/O rate", Some(Unit::PerSecond), xs(&series));
    let y = Axis::decades("mean latency", Some(Unit::Nanos), ys(&series));
    let chart = Chart::new("Latency against rate", finding, (x, y), series);
    Some(chart.errors(errors).rules(rules))
}

fn size_name(curve: &SizeCurve) -> String {
    format!("{}, QD {}", curve.pattern.name(), curve.depth)
}

fn throughput_against_size(profile: &Profile, op: OpKind) -> Option<Chart> {
    let curves = profile.size_curves.iter();
    let curves: Vec<&SizeCurve> =
        curves.filter(|curve| curve.op == op && !curve.points.is_empty()).collect();
    let most = |curve: &SizeCurve| curve.half_of_max_bytes_per_s * 2.0;
    let first = curves.first()?;
    let series = curves.iter().map(|curve| {
        let points = curve.points.iter().map(|point| {
            let half = curve.half_power_bytes == Some(point.bytes);
            let remark = if half { "half-power point" } else { "" };
            Point::estimate(point.bytes as f64, &point.bytes_per_s).remark(remark)
        });
        Series::new(size_name(curve), Form::Curve, points.collect())
    });
    let series: Vec<Series> = series.collect();
    let mut rules: Vec<Rule> = Vec::new();
    let same = curves.iter().all(|curve| most(curve) == most(first));
    for curve in &curves {
        let half = curve.half_of_max_bytes_per_s;
        if rules.iter().all(|rule| rule.at != half) {
            let of = if same { String::new() } else { format!(", {}", curve.pattern.name()) };
            let name = format!("half-power line: half of the measured maximum{of}");
            rules.push(Rule::level(half, name));
        }
    }
    let said = joined(&curves, "; ", |curve| match curve.half_power_bytes {
        Some(bytes) => format!("{} from {}", size_name(curve), format_bytes(bytes)),
        None => format!("{} never", size_name(curve)),
    });
    let (half, whole) = (number::rate(first.half_of_max_bytes_per_s), number::rate(most(first)));
    let values = ends(&series).chain(curves.iter().map(|curve| most(curve)));
    let title = format!("{} throughput against request size", capital(op.name()));
    let finding = format!("Half of the measured maximum ({half} of {whole}) is reached: {said}.");
    let x = Axis::at_values("request size", Some(Unit::Bytes), true, xs(&series));
    let y = Axis::from_zero("throughput", Some(Unit::BytesPerSecond), values);
    Some(Chart::new(title, finding, (x, y), series).errors(OVER_VISITS).rules(rules))
}

/// CPU time per request or per MiB, for the cells of the size curves.
fn cost_against_size(profile: &Profile, per_mib: bool) -> Option<Chart> {
    let series = profile.size_curves.iter().map(|curve| {
        let points = curve.points.iter().filter_map(|point| {
            let cell = cell_of(profile, (curve.op, curve.pattern, curve.depth), point.bytes)?;
            let cost = cell.cpu_us_per_io.value()?;
            // Nanoseconds per request, or nanoseconds per MiB.
            let factor = if per_mib { 1e3 * (1 << 20) as f64 / point.bytes as f64 } else { 1e3 };
            Some(Point::estimate(point.bytes as f64, &cost.scaled(factor)))
        });
        let name = format!("{}, {}", curve.op.name(), size_name(curve));
        Series::new(name, Form::Curve, points.collect())
    });
    let series: Vec<Series> = series.filter(|series| !series.points.is_empty()).collect();
    let longest = series.iter().max_by_key(|series| series.points.len())?;
    let (first, last) = (longest.points.first()?, longest.points.last()?);
    let (least, most) = (format_bytes(first.x as u64), format_bytes(last.x as u64));
    let (dear, cheap, name) = (number::time(first.y), number::time(last.y), &longest.name);
    let finding = if per_mib {
        let times = number::digits(first.y / last.y);
        format!(
            "{name}: a MiB costs {dear} in {least} requests, but only {cheap} in {most} requests, \
             {times} times less."
        )
    } else {
        format!("{name}: a request costs {dear} at {least} and {cheap} at {most}.")
    };
    let y = match per_mib {
        true => Axis::decades("CPU time per MiB", Some(Unit::Nanos), ys(&series)),
        false => Axis::from_zero("CPU time per request", Some(Unit::Nanos), ends(&series)),
    };
    let x = Axis::at_values("request size", Some(Unit::Bytes), true, xs(&series));
    let errors = format!("{OVER_VISITS} CPU time charged to halfpower: a lower bound.");
    let title = format!("{} against request size", y.title);
    let chart = Chart::new(title, capital(&finding), (x, y), series);
    Some(chart.errors(errors).rules(half_power_sizes(profile)))
}

/// Vertical lines at the half-power points, in the plots of cost.
fn half_power_sizes(profile: &Profile) -> Vec<Rule> {
    let mut by_size: BTreeMap<u64, BTreeSet<OpKind>> = BTreeMap::new();
    for curve in profile.size_curves.iter().filter(|c| c.pattern == Pattern::Sequential) {
        if let Some(bytes) = curve.half_power_bytes {
            by_size.entry(bytes).or_default().insert(curve.op);
        }
    }
    let rule = |(bytes, ops): (u64, BTreeSet<OpKind>)| {
        let names = joined(ops, " and ", |op| op.name().to_owned());
        Rule::upright(bytes as f64, format!("half-power, {names}"))
    };
    by_size.into_iter().take(2).map(rule).collect()
}

/// Latency at depth 1 against size, with the fitted lines.
fn latency_against_size(profile: &Profile) -> Option<Chart> {
    let mut series = Vec::new();
    for fit in &profile.service_time_fits {
        let name = format!("{} {}", fit.pattern.name(), fit.op.plural());
        let cells = cells_of(profile, (fit.op, fit.pattern, 1)).map(|cell| {
            let bytes = cell.workload.max_bs().0;
            let out = fit.left_out.iter().any(|point| point.bytes == bytes);
            let remark = if out { "excluded from the line" } else { "" };
            Point::estimate(bytes as f64, &cell.latency_ns).remark(remark)
        });
        let mut cells: Vec<Point> = cells.collect();
        cells.sort_by_cached_key(|one| Ordered(one.x));
        series.push(Series::new(&name, Form::Marks, cells));
        series.push(Series::new(format!("line of {name}"), Form::Trace, line(fit)));
    }
    let fit = profile.service_time_fits.first()?;
    let per_kib = fit.slope_ns_per_byte.scaled(1024.0);
    let per_kib = match per_kib.low > 0.0 {
        true => format!(" plus {} per KiB", number::with_interval(&per_kib, number::time)),
        false => "; its size has no measurable effect".to_owned(),
    };
    let marked =
        if fit.left_out.is_empty() { "" } else { "; points excluded from the line are marked" };
    let (pattern, op) = (fit.pattern.name(), fit.op.name());
    let fixed = number::with_interval(&fit.intercept_ns, number::time);
    let finding = format!("At QD 1, a {pattern} {op} takes {fixed}{per_kib}{marked}.");
    let highs = points(&series).flat_map(|point| [Some(point.y), point.high]).flatten();
    let x = Axis::over("request size", Some(Unit::Bytes), xs(&series).chain([0.0]));
    let y = Axis::from_zero("mean latency at QD 1", Some(Unit::Nanos), highs);
    let errors = format!(
        "{OVER_VISITS} Bands: the fitted line; the errors of its fixed part and of its slope are \
         combined as independent."
    );
    let chart = Chart::new("Latency of one request against its size", finding, (x, y), series);
    Some(chart.errors(errors))
}

/// A fitted line over the sizes that it was fitted to. The fit stores the intervals of its
/// parameters but not their correlation, so the band is slightly too wide.
fn line(fit: &ServiceTimeFit) -> Vec<Point> {
    let (low, high) = (fit.sizes_bytes.iter().min(), fit.sizes_bytes.iter().max());
    let (Some(low), Some(high)) = (low, high) else { return Vec::new() };
    let (fixed, slope): (&Estimate, &Estimate) = (&fit.intercept_ns, &fit.slope_ns_per_byte);
    let steps = 12;
    let points = (0..=steps).map(|step| {
        let bytes = *low as f64 + (*high - *low) as f64 * f64::from(step) / f64::from(steps);
        let value = fixed.value + slope.value * bytes;
        let half = fixed.half_width().hypot(slope.half_width() * bytes);
        Point::within(bytes, value, value - half, value + half)
    });
    points.collect()
}

/// Random requests of the smallest size at depth 1 and at the knee, and hits.
fn distributions(profile: &Profile) -> Option<Chart> {
    let mut chosen: Vec<(String, &HistogramSnapshot)> = Vec::new();
    for curve in &profile.depth_curves {
        let deep = curve.knee.or(Some(curve.max_depth)).filter(|depth| *depth != 1);
        for depth in std::iter::once(1).chain(deep) {
            let cell = cell_of(profile, (curve.op, Pattern::Random, depth), curve.bs_bytes);
            let name = format!("random {}, QD {depth}", curve_name(curve));
            chosen.extend(cell.map(|cell| (name, &cell.histogram)));
        }
    }
    let hits = profile.cells.iter().filter(|cell| {
        of_the_device(cell) && cell.workload.pattern == Pattern::Hit && cell.workload.depth == 1
    });
    if let Some(hit) = hits.min_by_key(|cell| cell.workload.max_bs().0) {
        let name = format!("hits of {}, QD 1", format_bytes(hit.workload.max_bs().0));
        chosen.push((name, &hit.histogram));
    }
    chosen.truncate(DISTRIBUTIONS);
    distribution(&chosen)
}

/// The rate of every trial over the mean of its cell, in the order in which they ran.
fn visits_over_time(profile: &Profile, trials: &[Trial]) -> Option<Chart> {
    let by_id: BTreeMap<&str, (usize, &Trial)> = trials
        .iter()
        .enumerate()
        .map(|(place, trial)| (trial.id.as_str(), (place + 1, trial)))
        .collect();
    let mut found = Vec::new();
    for cell in profile.cells.iter().filter(|cell| cell.trial_ids.len() > 1) {
        let workload = &cell.workload;
        let what = format!("{} {}", workload.pattern.name(), format_bytes(workload.max_bs().0));
        let at_hand = cell.trial_ids.iter().filter_map(|id| by_id.get(id.as_str()));
        found.extend(at_hand.map(|(place, trial)| visit(*place, trial, cell.iops.value, &what)));
    }
    visits(found)
}
