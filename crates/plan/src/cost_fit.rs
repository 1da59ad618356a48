//! Implements `--cost-fit`: the CPU cost of a request, as a fixed part and a part per KiB.
//!
//! cost = fixed + marginal * size (Riedel, van Ingen, Gray 1997, section 3; Chung, Gray, Worthington, Horst
//! 2000, sections 5 to 8). A buffered request has the smaller fixed part but pays for a copy, so at some
//! size it costs as much as a direct one: the break-even. The area is read into the page cache before each
//! buffered visit, so that a cached read is compared with a direct one. Costs are lower bounds. The
//! interval of the break-even is that of Fieller (1954): all sizes at which the difference of the lines is
//! compatible with zero. Rejected: the delta method (symmetric, wrong for nearly parallel lines),
//! logarithms (costs add).

use crate::{Plan, PlannedTrial, Preparation, Progress, Saved};
use record::{
    Bytes, CacheMode, CostLine, CostModel, CostPoint, Estimate, Finding, FindingCode, Measured,
    Nanos, SizeShare, StopRules, Trial, Workload, format_bytes,
};
use stats::{Line, MIN_VISITS, Point, visits_mean, weighted_line};
use std::collections::{BTreeMap, VecDeque};
use workload::{Rng, derive_seed};

/// Cache modes that are compared.
const MODES: [CacheMode; 2] = [CacheMode::All, CacheMode::Device];
/// Smallest and largest request.
const SIZES: (u64, u64) = (512, 1 << 20);
/// Size of the area: it stays in the page cache of any machine, and exceeds most processor caches.
const AREA_BYTES: u64 = 64 << 20;
/// Minimum and maximum length of a visit: the run time is divided among all visits.
const VISIT: (Nanos, Nanos) = (Nanos(50_000_000), Nanos(1_000_000_000));
/// The ramp of a visit is its length divided by this.
const RAMP_PARTS: u64 = 5;
/// Steps of the search for the break-even.
const STEPS: u32 = 4_096;
/// Maximum reduced chi-square: above this the line does not fit the points within their errors.
const CHI_SQUARE_MAX: f64 = 10.0;

/// Reason if the errors are too large to locate a break-even.
const UNTOLD: &str = "no break-even size: the costs of buffered and direct requests differ by less than their \
     error bars";
/// At most this part of all visits is repeated: on a busy machine, counters may be read too late, which
/// leaves a visit without a cost.
const MADE_UP_PARTS: usize = 2;

/// Plans the trials of a cost fit.
#[derive(Clone, Debug)]
pub struct CostFitPlan {
    visits: VecDeque<Workload>,
    total: usize,
    made_up: usize,
    /// The area of all visits, from the start of the requested one.
    pub area: Bytes,
    issued: u64,
    seed: u64,
}

impl CostFitPlan {
    /// The plan for `base` (operation, pattern, depth, engine, total run time), with requests that are
    /// multiples of `alignment` bytes. `None` if fewer than three sizes fit the area, which is too few for
    /// a line.
    #[must_use]
    pub fn new(base: &Workload, alignment: u64, seed: u64) -> Option<Self> {
        let area = Bytes(AREA_BYTES.min(base.size_bytes.0) / SIZES.1 * SIZES.1);
        let sizes: Vec<u64> = std::iter::successors(Some(SIZES.0), |size| Some(size * 2))
            .take_while(|&size| size <= SIZES.1)
            .filter(|size| size.is_multiple_of(alignment.max(1)) && area.0 >= SIZES.1)
            .collect();
        if sizes.len() < MIN_VISITS {
            return None;
        }
        let total = MODES.len() * sizes.len() * MIN_VISITS;
        let length = Nanos(base.runtime_ns.0 / total as u64).clamp(VISIT.0, VISIT.1);
        let cells: Vec<Workload> = MODES
            .iter()
            .flat_map(|&cache| sizes.iter().map(move |&bytes| (cache, bytes)))
            .map(|(cache, bytes)| Workload {
                bs: vec![SizeShare { bytes: Bytes(bytes), percent: 100 }],
                cache,
                size_bytes: area,
                runtime_ns: length,
                ramp_ns: Nanos(length.0 / RAMP_PARTS),
                stop: StopRules { io_timeout_ns: base.stop.io_timeout_ns, ..StopRules::default() },
                ..base.clone()
            })
            .collect();
        let mut rng = Rng::new(derive_seed(seed, u64::MAX - 2));
        let mut visits = VecDeque::with_capacity(total);
        for _ in 0..MIN_VISITS {
            let mut round = cells.clone();
            rng.shuffle(&mut round);
            visits.extend(round);
        }
        Some(Self { visits, total, made_up: 0, area, issued: 0, seed })
    }
}

impl Plan for CostFitPlan {
    fn next(&mut self) -> Option<PlannedTrial> {
        let workload = self.visits.pop_front()?;
        self.issued += 1;
        // A direct write evicts the area from the page cache.
        let preparation = match workload.cache.direct() {
            true => Preparation::None,
            false => Preparation::FillPageCache { start: workload.offset_bytes, length: self.area },
        };
        // 53 bits: exact in any JSON reader.
        let planned = PlannedTrial::new(workload, derive_seed(self.seed, self.issued) >> 11);
        Some(PlannedTrial { preparation, saved: Saved::No, ..planned })
    }

    /// A visit without a cost is repeated later.
    fn observe(&mut self, trial: &Trial, _spent: Nanos) {
        if cost(trial).is_none() && self.made_up < self.total / MADE_UP_PARTS {
            self.made_up += 1;
            self.visits.push_back(trial.workload.clone());
        }
    }

    fn progress(&self) -> Progress {
        let step = 1.0 / (self.total + self.made_up) as f64;
        let share = self.issued.saturating_sub(1) as f64 * step;
        Progress { phase: "cost fit", share, step, ..Progress::default() }
    }
}

/// The lines through the costs of finished trials, one per cache mode, and the break-even.
#[must_use]
pub fn cost_lines(trials: &[Trial]) -> (Vec<CostLine>, Measured<Estimate>) {
    let mut fitted = Vec::new();
    let mut lines = Vec::new();
    for cache in MODES {
        let costs = costs(trials, cache);
        let sizes: Vec<(Bytes, Estimate)> = costs
            .iter()
            .filter_map(|(&bytes, visits)| Some((bytes, visits_mean(visits)?)))
            .collect();
        let (line, shape) = fit(&sizes);
        let residual = |index: usize| shape.as_ref().map(|line| line.residuals[index]);
        let point = |(index, &(bytes, us_per_io)): (usize, &(Bytes, Estimate))| CostPoint {
            bytes,
            us_per_io,
            residual_us: residual(index),
        };
        let points = sizes.iter().enumerate().map(point).collect();
        lines.push(CostLine { cache, points, line });
        fitted.push((shape, sizes));
    }
    let break_even = match fitted.as_slice() {
        // A fitted line has points.
        [(Some(buffered), sizes), (Some(direct), _)] => {
            break_even(buffered, direct, kib(sizes[0].0), kib(sizes[sizes.len() - 1].0))
        }
        _ => Measured::not("the fit needs a line in both cache modes"),
    };
    (lines, break_even)
}

/// Cost per request of a visit without failures; `None` if unknown.
fn cost(trial: &Trial) -> Option<f64> {
    trial.cpu.value().and_then(|cpu| cpu.lower_us_per_io).filter(|_| trial.failed() == 0)
}

/// Costs per request by size, one for each visit that completed requests without failures.
fn costs(trials: &[Trial], cache: CacheMode) -> BTreeMap<Bytes, Vec<f64>> {
    let mut costs: BTreeMap<Bytes, Vec<f64>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.workload.cache == cache) {
        if let Some(cost) = cost(trial) {
            costs.entry(trial.workload.max_bs()).or_default().push(cost);
        }
    }
    costs
}

fn kib(bytes: Bytes) -> f64 {
    bytes.0 as f64 / 1024.0
}

/// The line through costs per request against size, each with its interval. The line itself is returned
/// too, because the document does not contain all of it.
#[must_use]
pub fn fit(points: &[(Bytes, Estimate)]) -> (Measured<CostModel>, Option<Line>) {
    let points: Vec<Point> = points
        .iter()
        .map(|&(bytes, cost)| Point { x: kib(bytes), y: cost.value, se: cost.se })
        .collect();
    let Some(line) = weighted_line(&points) else {
        return (Measured::not("a line needs at least three sizes, each measured twice"), None);
    };
    let model = CostModel {
        fixed_us: line.intercept,
        us_per_kib: line.slope,
        reduced_chi_square: line.reduced_chi_square,
    };
    (Measured::Value(model), Some(line))
}

/// The size in bytes at which two lines over KiB cross between `low` and `high`. Its interval is cut at
/// these two.
fn break_even(buffered: &Line, direct: &Line, low: f64, high: f64) -> Measured<Estimate> {
    let difference = |x: f64| direct.at(x) - buffered.at(x);
    let half_width = |x: f64| {
        let width = |line: &Line| {
            let (below, above) = line.band(x);
            (above - below) / 2.0
        };
        libm::hypot(width(direct), width(buffered))
    };
    let told = |x: f64| libm::fabs(difference(x)) > half_width(x);
    if (difference(low) > 0.0) == (difference(high) > 0.0) {
        if !told(low) && !told(high) {
            return Measured::not(UNTOLD);
        }
        let dearer = if difference(low) > 0.0 { "with direct I/O" } else { "buffered" };
        return Measured::not(format!(
            "no break-even in this range: requests {dearer} cost more at every size"
        ));
    }
    // Two straight lines cross once.
    let slope = (difference(high) - difference(low)) / (high - low);
    let crossing = low - difference(low) / slope;
    // Sizes are powers of two, so the steps are equal in the logarithm.
    let ratio = libm::pow(high / low, 1.0 / f64::from(STEPS));
    let sizes = (0..=STEPS).map(|step| low * libm::pow(ratio, f64::from(step)));
    let (mut first, mut last) = (crossing, crossing);
    for size in sizes.filter(|&size| !told(size)) {
        first = first.min(size);
        last = last.max(size);
    }
    if first <= low && last >= high {
        return Measured::not(UNTOLD);
    }
    Measured::Value(Estimate::spanning(crossing, first, last, STEPS).scaled(1024.0))
}

/// Costs that the buffered lines omit: they include only the calling thread, and a cached area.
fn left_out(trials: &[Trial]) -> Option<Finding> {
    let in_memory = |target: &record::Target| {
        target.filesystem.as_ref().is_some_and(|filesystem| filesystem.in_memory)
    };
    let first = trials.iter().find(|trial| trial.workload.cache == CacheMode::All)?;
    if first.targets.iter().all(in_memory) {
        return None;
    }
    let (claim, remedy) = match first.workload.writes() {
        true => (
            "The buffered costs cover copying into the page cache. They exclude the kernel threads \
             that later write the data to the disk (write-back).",
            "To include them, compare --cpu-upper of buffered and direct writes in a long run.",
        ),
        false => (
            "The buffered costs cover reads served by the page cache. They exclude reads from the \
             disk into the cache.",
            "To include them, run buffered reads with --drop-cache dontneed.",
        ),
    };
    Some(Finding::note(FindingCode::CpuChargedElsewhere, claim, remedy))
}

/// Findings about the lines and the trials. Findings of trials are repeated, once each, only if they affect
/// the cost: that a cached read comes from the cache is intended here.
#[must_use]
pub fn cost_findings(trials: &[Trial], lines: &[CostLine]) -> Vec<Finding> {
    const TOUCHING: [FindingCode; 9] = [
        FindingCode::IoErrors,
        FindingCode::ShortTransfers,
        FindingCode::EngineFallback,
        FindingCode::DirectIgnored,
        FindingCode::NoDevice,
        FindingCode::CpuTaken,
        FindingCode::CgroupLimit,
        FindingCode::ClockUnsound,
        FindingCode::CompressedFilesystem,
    ];
    let mut found: Vec<Finding> = Vec::new();
    for finding in trials.iter().flat_map(|trial| &trial.findings) {
        let known = found.iter().any(|other| other.code == finding.code);
        if TOUCHING.contains(&finding.code) && !known {
            found.push(finding.clone());
        }
    }
    found.extend(left_out(trials));
    for line in lines {
        let Some(model) = line.line.value() else { continue };
        if model.reduced_chi_square <= CHI_SQUARE_MAX {
            continue;
        }
        let worst = line.points.iter().max_by(|a, b| {
            let relative = |point: &CostPoint| {
                libm::fabs(point.residual_us.unwrap_or(0.0)) / point.us_per_io.value
            };
            relative(a).total_cmp(&relative(b))
        });
        let at = worst
            .map_or(String::new(), |point| format!(", most at {}", format_bytes(point.bytes.0)));
        found.push(
            Finding::note(
                FindingCode::FitPoor,
                format!(
                    "With --cache {}, the cost deviates from a straight line by more than its \
                     error bars{at}.",
                    line.cache.name()
                ),
                "For single sizes, use the measured points; the line shows only orders of \
                 magnitude.",
            )
            .with("reduced chi-square", model.reduced_chi_square, ""),
        );
    }
    found
}
