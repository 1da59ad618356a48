//! The plots of a profile, in the papers' own forms.
//!
//! Throughput and processor cost against request size (Riedel, van Ingen, Gray 1997; Chung, Gray,
//! Worthington, Horst 2000), I/O rate against depth, latency against rate with what an open
//! load would see, the straight lines of Friedman, the distributions, and how visits moved during
//! the check. Every value carries its interval. A sentence is computed from the same values that
//! are drawn; where there is nothing to say it says so.

use super::{OPERATIONS, of_the_device};
use crate::chart::{Axis, Chart, Form, Point, Rule, Series};
use crate::number;
use crate::plots::{Visit, distribution, op_word, rate_interval, visits};
use crate::story::{capital, sentence};
use record::{
    Cell, DepthCurve, Estimate, HistogramSnapshot, OpKind, Pattern, Profile, ServiceTimeFit,
    SizeCurve, Trial, Unit, format_bytes,
};
use std::collections::BTreeMap;

/// What the error bars of a profile are.
const OVER_VISITS: &str = "Error bars: 95 % confidence interval over the visits of each cell.";
/// Distributions in one plot.
const DISTRIBUTIONS: usize = 6;

/// All plots that the profile has data for.
pub(super) fn charts(profile: &Profile, trials: &[Trial]) -> Vec<Chart> {
    let mut charts: Vec<Chart> = Vec::new();
    charts.extend(rate_against_depth(profile));
    charts.extend(latency_against_rate(profile));
    charts.extend(OPERATIONS.iter().filter_map(|op| throughput_against_size(profile, *op)));
    charts.extend(cost_against_size(profile, false));
    charts.extend(cost_against_size(profile, true));
    charts.extend(latency_against_size(profile));
    charts.extend(distributions(profile));
    charts.extend(visits_over_time(profile, trials));
    charts.retain(|chart| !chart.is_empty());
    charts
}

fn depths(curves: &[DepthCurve]) -> Vec<f64> {
    curves.iter().flat_map(|curve| &curve.points).map(|point| f64::from(point.depth)).collect()
}

/// `random reads of 4 KiB`.
fn curve_name(curve: &DepthCurve) -> String {
    format!("{}s of {}", curve.op.name(), format_bytes(curve.bs_bytes))
}

fn rate_against_depth(profile: &Profile) -> Option<Chart> {
    let curves = &profile.depth_curves;
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let points = curve.points.iter().map(|point| {
                let knee = if curve.knee == Some(point.depth) { "knee" } else { "" };
                Point::estimate(f64::from(point.depth), &point.iops).remark(knee)
            });
            Series::new(curve_name(curve), Form::Curve, points.collect())
        })
        .collect();
    let highs = series.iter().flat_map(|s| &s.points).filter_map(|point| point.high);
    let rules = curves.iter().map(|curve| {
        Rule::level(curve.max_iops.value / 2.0, format!("half of the most, {}s", curve.op.name()))
    });
    let said = curves.iter().map(|curve| {
        let half = curve.points.iter().find(|p| p.iops.value >= curve.max_iops.value / 2.0);
        let half =
            half.map_or(String::new(), |p| format!(", half of that from depth {} on", p.depth));
        let knee = match curve.knee {
            Some(depth) if depth != curve.max_depth => format!(", the knee is at {depth}"),
            Some(_) => String::new(),
            None => ", and there was no knee up to there".to_owned(),
        };
        format!(
            "{} reach {} at depth {}{half}{knee}",
            curve_name(curve),
            number::with_interval(&curve.max_iops, number::per_second),
            curve.max_depth
        )
    });
    let finding = sentence(&said.collect::<Vec<String>>());
    let chart = Chart {
        title: "I/O rate against depth".to_owned(),
        finding,
        errors: OVER_VISITS.to_owned(),
        x: Axis::at_values("queue depth", None, true, &depths(curves)),
        y: Axis::from_zero("random I/O rate", Some(Unit::PerSecond), highs),
        rules: rules.collect(),
        series,
    };
    (!chart.is_empty()).then_some(chart)
}

fn latency_against_rate(profile: &Profile) -> Option<Chart> {
    let mut series = Vec::new();
    let mut said = Vec::new();
    let mut rules = Vec::new();
    for curve in &profile.depth_curves {
        let points = curve.points.iter().map(|point| {
            Point::estimate(point.iops.value, &point.latency_ns)
                .remark(format!("depth {}", point.depth))
        });
        let name = curve.op.name();
        series.push(Series::new(
            format!("{name}s measured at constant depth"),
            Form::Curve,
            points.collect(),
        ));
        let expected: Vec<_> =
            profile.expectations.iter().filter(|expected| expected.op == curve.op).collect();
        let points = expected.iter().map(|expected| {
            Point::estimate(expected.iops, &expected.latency_ns)
                .remark(format!("{} of the most", number::percent(expected.saturation)))
        });
        series.push(Series::new(
            format!("{name}s expected, arriving independently"),
            Form::Curve,
            points.collect(),
        ));
        let points = expected.iter().map(|e| Point::bare(e.iops, e.mm1_response_ns)).collect();
        series.push(Series::new(format!("{name}s by M/M/1, to compare"), Form::Marks, points));
        rules.push(Rule::upright(curve.max_iops.value / 2.0, format!("half of the most, {name}s")));
        let alone = curve.points.iter().find(|point| point.depth == 1);
        let half = expected.iter().find(|e| (e.saturation - 0.5).abs() < 1e-9);
        if let (Some(alone), Some(half)) = (alone, half) {
            said.push(format!(
                "at half of the most, independent {name}s take {}, {} times one alone ({})",
                number::with_interval(&half.latency_ns, number::time),
                number::digits(half.latency_ns.value / alone.latency_ns.value),
                number::time(alone.latency_ns.value)
            ));
        }
    }
    series.retain(|series| !series.points.is_empty());
    if said.is_empty() {
        said.push("what an open load would see is not known".to_owned());
    }
    let points = || series.iter().flat_map(|series| &series.points);
    let chart = Chart {
        title: "Latency against rate".to_owned(),
        finding: sentence(&said),
        errors: format!("{OVER_VISITS} Of expectations: that of the model. M/M/1 has none."),
        x: Axis::from_zero("I/O rate", Some(Unit::PerSecond), points().map(|point| point.x)),
        y: Axis::decades("mean latency", Some(Unit::Nanos), points().map(|point| point.y)),
        rules,
        series,
    };
    (!chart.is_empty()).then_some(chart)
}

fn size_name(curve: &SizeCurve) -> String {
    format!("{}, depth {}", curve.pattern.name(), curve.depth)
}

fn throughput_against_size(profile: &Profile, op: OpKind) -> Option<Chart> {
    let curves: Vec<&SizeCurve> = profile
        .size_curves
        .iter()
        .filter(|curve| curve.op == op && !curve.points.is_empty())
        .collect();
    let first = curves.first()?;
    let series: Vec<Series> = curves
        .iter()
        .map(|curve| {
            let points = curve.points.iter().map(|point| {
                let half = curve.half_power_bytes == Some(point.bytes);
                Point::estimate(point.bytes as f64, &point.bytes_per_s).remark(if half {
                    "half-power point"
                } else {
                    ""
                })
            });
            Series::new(size_name(curve), Form::Curve, points.collect())
        })
        .collect();
    let mut rules: Vec<Rule> = Vec::new();
    let same = curves.iter().all(|c| c.half_of_max_bytes_per_s == first.half_of_max_bytes_per_s);
    for curve in &curves {
        let half = curve.half_of_max_bytes_per_s;
        if rules.iter().all(|rule| rule.at != half) {
            let of = if same { String::new() } else { format!(", {}", curve.pattern.name()) };
            rules
                .push(Rule::level(half, format!("half-power line: half of the most measured{of}")));
        }
    }
    let said = curves.iter().map(|curve| match curve.half_power_bytes {
        Some(bytes) => format!("{} from {}", size_name(curve), format_bytes(bytes)),
        None => format!("{} at no size", size_name(curve)),
    });
    let finding = format!(
        "Half of the most measured ({} of {}) is reached: {}.",
        number::rate(first.half_of_max_bytes_per_s),
        number::rate(first.half_of_max_bytes_per_s * 2.0),
        said.collect::<Vec<_>>().join("; ")
    );
    let sizes: Vec<f64> = sizes(&series);
    let highs = series.iter().flat_map(|s| &s.points).filter_map(|point| point.high);
    let most = rules.iter().map(|rule| rule.at * 2.0);
    Some(Chart {
        title: format!("{} throughput against request size", capital(op.name())),
        finding,
        errors: OVER_VISITS.to_owned(),
        x: Axis::at_values("request size", Some(Unit::Bytes), true, &sizes),
        y: Axis::from_zero("throughput", Some(Unit::BytesPerSecond), highs.chain(most)),
        series,
        rules,
    })
}

fn sizes(series: &[Series]) -> Vec<f64> {
    series.iter().flat_map(|series| &series.points).map(|point| point.x).collect()
}

/// Processor time per request or per MiB, of the cells that the size curves are made of.
fn cost_against_size(profile: &Profile, per_mib: bool) -> Option<Chart> {
    let mut series: Vec<Series> = Vec::new();
    for curve in &profile.size_curves {
        let points = curve.points.iter().filter_map(|point| {
            let cell = profile.cells.iter().find(|cell| is_of(cell, curve, point.bytes))?;
            let cost = cell.cpu_us_per_io.value()?;
            // Nanoseconds per request, or milliseconds per MiB in nanoseconds.
            let factor = if per_mib { 1e3 * (1 << 20) as f64 / point.bytes as f64 } else { 1e3 };
            Some(Point::estimate(point.bytes as f64, &cost.scaled(factor)))
        });
        let name = format!("{}, {}", curve.op.name(), size_name(curve));
        series.push(Series::new(name, Form::Curve, points.collect()));
    }
    series.retain(|series| !series.points.is_empty());
    let longest = series.iter().max_by_key(|series| series.points.len())?;
    let (first, last) = (longest.points.first()?, longest.points.last()?);
    let times = first.y / last.y;
    let (least, most) = (format_bytes(first.x as u64), format_bytes(last.x as u64));
    let finding = if per_mib {
        format!(
            "{}: a MiB costs {} in requests of {least} and {} in requests of {most}, {} times less.",
            longest.name,
            number::time(first.y),
            number::time(last.y),
            number::digits(times)
        )
    } else {
        format!(
            "{}: a request costs {} at {least} and {} at {most}.",
            longest.name,
            number::time(first.y),
            number::time(last.y)
        )
    };
    let finding = capital(&finding);
    let what = if per_mib { "MiB" } else { "request" };
    let sizes = sizes(&series);
    let values: Vec<f64> = series.iter().flat_map(|s| &s.points).map(|point| point.y).collect();
    let halves = half_power_sizes(profile);
    Some(Chart {
        title: format!("Processor time per {what} against request size"),
        finding,
        errors: format!("{OVER_VISITS} Charged to this program: a lower bound."),
        x: Axis::at_values("request size", Some(Unit::Bytes), true, &sizes),
        y: if per_mib {
            Axis::decades("processor time per MiB", Some(Unit::Nanos), values.into_iter())
        } else {
            let highs = series.iter().flat_map(|s| &s.points).filter_map(|point| point.high);
            Axis::from_zero("processor time per request", Some(Unit::Nanos), highs)
        },
        rules: halves,
        series,
    })
}

/// Upright lines at the half-power points, in the plots of cost.
fn half_power_sizes(profile: &Profile) -> Vec<Rule> {
    let mut by_size: BTreeMap<u64, Vec<&str>> = BTreeMap::new();
    for curve in profile.size_curves.iter().filter(|c| c.pattern == Pattern::Sequential) {
        if let Some(bytes) = curve.half_power_bytes {
            let names = by_size.entry(bytes).or_default();
            if !names.contains(&curve.op.name()) {
                names.push(curve.op.name());
            }
        }
    }
    let rule = |(bytes, names): (u64, Vec<&str>)| {
        Rule::upright(bytes as f64, format!("half-power, {}", names.join(" and ")))
    };
    by_size.into_iter().take(2).map(rule).collect()
}

fn is_of(cell: &Cell, curve: &SizeCurve, bytes: u64) -> bool {
    let workload = &cell.workload;
    of_the_device(cell)
        && workload.only_op() == Some(curve.op)
        && workload.pattern == curve.pattern
        && workload.depth == curve.depth
        && workload.max_bs().0 == bytes
}

/// Latency at depth 1 against size, with the fitted lines.
fn latency_against_size(profile: &Profile) -> Option<Chart> {
    let mut series = Vec::new();
    for fit in &profile.service_time_fits {
        let name = format!("{} {}", fit.pattern.name(), fit.op.name());
        let cells = profile.cells.iter().filter(|cell| {
            let workload = &cell.workload;
            of_the_device(cell)
                && workload.only_op() == Some(fit.op)
                && workload.pattern == fit.pattern
                && workload.depth == 1
        });
        let mut points: Vec<Point> = cells
            .map(|cell| {
                let bytes = cell.workload.max_bs().0;
                let out = fit.left_out.iter().any(|point| point.bytes == bytes);
                Point::estimate(bytes as f64, &cell.latency_ns).remark(if out {
                    "left out of the line"
                } else {
                    ""
                })
            })
            .collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        series.push(Series::new(format!("{name}s"), Form::Marks, points));
        series.push(Series::new(format!("line of {name}s"), Form::Trace, line(fit)));
    }
    let fit = profile.service_time_fits.first()?;
    let (fixed, per_kib) = (fit.intercept_ns, fit.slope_ns_per_byte.scaled(1024.0));
    let per_kib = if per_kib.low > 0.0 {
        format!("{} for each KiB", number::with_interval(&per_kib, number::time))
    } else {
        "no more for its size that the intervals could tell".to_owned()
    };
    let finding = format!(
        "A lone {} {} takes {} and {per_kib}{}.",
        fit.pattern.name(),
        fit.op.name(),
        number::with_interval(&fixed, number::time),
        if fit.left_out.is_empty() { "" } else { "; points that the line leaves out are marked" }
    );
    let points = || series.iter().flat_map(|series: &Series| &series.points);
    let highs = points().flat_map(|point| [Some(point.y), point.high]).flatten();
    let sizes: Vec<f64> = points().map(|point| point.x).collect();
    Some(Chart {
        title: "Latency of one request against its size".to_owned(),
        finding,
        errors: format!("{OVER_VISITS} Bands: of the fitted line, its two parts taken apart."),
        x: Axis::over("request size", Some(Unit::Bytes), sizes.into_iter().chain([0.0])),
        y: Axis::from_zero("mean latency at depth 1", Some(Unit::Nanos), highs),
        rules: Vec::new(),
        series,
    })
}

/// A fitted line over the sizes that it was fitted to. The fit keeps the intervals of its parts and
/// not how they go together, so that the band is a little too wide.
fn line(fit: &ServiceTimeFit) -> Vec<Point> {
    let (low, high) = (fit.sizes_bytes.iter().min(), fit.sizes_bytes.iter().max());
    let (Some(low), Some(high)) = (low, high) else { return Vec::new() };
    let at = |bytes: f64, part: fn(&Estimate) -> f64| {
        part(&fit.intercept_ns) + part(&fit.slope_ns_per_byte) * bytes
    };
    let spread = |bytes: f64| {
        fit.intercept_ns.half_width().hypot(fit.slope_ns_per_byte.half_width() * bytes)
    };
    let steps = 12;
    (0..=steps)
        .map(|step| {
            let bytes = *low as f64 + (*high - *low) as f64 * f64::from(step) / f64::from(steps);
            let (value, half) = (at(bytes, |part| part.value), spread(bytes));
            Point::within(bytes, value, value - half, value + half)
        })
        .collect()
}

/// Random requests of the smallest size at depth 1 and at the knee, and hits.
fn distributions(profile: &Profile) -> Option<Chart> {
    let mut chosen: Vec<(String, &HistogramSnapshot)> = Vec::new();
    for curve in &profile.depth_curves {
        let mut depths = vec![1];
        depths.extend(curve.knee.or(Some(curve.max_depth)).filter(|depth| *depth != 1));
        for depth in depths {
            let cell = profile.cells.iter().find(|cell| {
                let workload = &cell.workload;
                of_the_device(cell)
                    && workload.only_op() == Some(curve.op)
                    && workload.pattern == Pattern::Random
                    && workload.depth == depth
                    && workload.max_bs().0 == curve.bs_bytes
            });
            let name = format!(
                "random {}s of {}, depth {depth}",
                curve.op.name(),
                format_bytes(curve.bs_bytes)
            );
            chosen.extend(cell.map(|cell| (name, &cell.histogram)));
        }
    }
    let hits = profile.cells.iter().filter(|cell| {
        of_the_device(cell) && cell.workload.pattern == Pattern::Hit && cell.workload.depth == 1
    });
    if let Some(hit) = hits.min_by_key(|cell| cell.workload.max_bs().0) {
        let name = format!("hits of {}, depth 1", format_bytes(hit.workload.max_bs().0));
        chosen.push((name, &hit.histogram));
    }
    chosen.truncate(DISTRIBUTIONS);
    distribution(&chosen)
}

/// The rate of every trial over the mean of its cell, in the order in which they were run.
fn visits_over_time(profile: &Profile, trials: &[Trial]) -> Option<Chart> {
    let by_id: BTreeMap<&str, (usize, &Trial)> = trials
        .iter()
        .enumerate()
        .map(|(place, trial)| (trial.id.as_str(), (place + 1, trial)))
        .collect();
    let cells = profile.cells.iter().filter(|cell| cell.trial_ids.len() > 1);
    let of_cell = |cell: &Cell| {
        let workload = &cell.workload;
        let what = format!("{} {}", workload.pattern.name(), format_bytes(workload.max_bs().0));
        let visit = |id: &String| {
            let (place, trial) = *by_id.get(id.as_str())?;
            Some(Visit {
                place,
                ratio: trial.iops() / cell.iops.value,
                within: rate_interval(trial),
                what: what.clone(),
                series: op_word(workload),
            })
        };
        cell.trial_ids.iter().filter_map(visit).collect::<Vec<Visit>>()
    };
    visits(cells.flat_map(of_cell).collect())
}
