//! The rows of the table: what is tested, and what comes of it.

use super::Pair;
use super::observed::{Numbers, SideCell};
use super::sides::Side;
use record::{
    Arrival, ComparedMetric, ComparedRow, ComparedUnit, ComparedVerdict, MAX_RELATIVE_ERROR,
};
use stats::{Level, LogRatio, holm};
use std::iter;

/// Probability that any row of a table is called better or worse by chance.
pub(super) const FALSE_ALARM_RATE: f64 = 0.05;
/// Observations on each side without which nothing is told.
const LEAST: u32 = 3;
/// Cells without which all of them together are no more than each.
const OVERALL_CELLS: usize = 3;
/// An interval within this distance of one, as a share, is "the same".
const SAME_REL: f64 = 0.1;
/// Clocks that differ by more than this share are different clocks.
const CLOCK_REL: f64 = 0.02;

/// Both sides, and how they were measured against each other.
pub(super) struct Context<'a> {
    pub a: &'a Side,
    pub b: &'a Side,
    /// Whether both are the same documents.
    pub identical: bool,
    /// Whether both are arms of one experiment, whose blocks belong together.
    pub paired: bool,
}

/// A row before the table is complete.
pub(super) struct Draft {
    question: Question,
    row: ComparedRow,
    /// What it is tested by; `None` where it has its verdict already.
    tested: Option<LogRatio>,
}

impl Draft {
    /// What the cells say, with the verdict that it cannot be told.
    fn of(metric: ComparedMetric, a: Option<&SideCell>, b: Option<&SideCell>) -> Self {
        let count = |cell: Option<&SideCell>| cell.map_or(0, |cell| cell.count(metric));
        let (n_a, n_b) = (count(a), count(b));
        let [a, b] = [a, b].map(|cell| cell?.value(metric));
        let row = ComparedRow {
            metric,
            a,
            b,
            n_a,
            n_b,
            paired: false,
            ratio: a.zip(b).map(|(a, b)| b / a).filter(|ratio| ratio.is_finite()),
            ratio_low: None,
            ratio_high: None,
            p_adjusted: None,
            verdict: ComparedVerdict::CannotTell,
            reason: None,
            fails: false,
        };
        Self { question: Question::of(metric), row, tested: None }
    }

    fn untested(mut self, verdict: ComparedVerdict, reason: String) -> Self {
        (self.row.verdict, self.row.reason) = (verdict, Some(reason));
        self
    }

    fn tested(self, ratio: LogRatio) -> Self {
        Self { tested: Some(ratio), ..self }
    }
}

pub(super) fn drafts(context: &Context, a: &SideCell, b: &SideCell) -> Vec<Draft> {
    let first = if closed(a) && closed(b) {
        ComparedMetric::RatePerS
    } else {
        ComparedMetric::LatencyMeanNs
    };
    let measured = |metric: &ComparedMetric| a.count(*metric) + b.count(*metric) > 0;
    let others = [ComparedMetric::LatencyP99Ns, cpu_metric(context)].into_iter().filter(measured);
    iter::once(first).chain(others).map(|metric| draft(context, metric, a, b)).collect()
}

/// The row of a cell that only one side has.
pub(super) fn without_partner((a, b): Pair<'_>, reason: String) -> Draft {
    Draft::of(ComparedMetric::RatePerS, a, b).untested(ComparedVerdict::NotComparable, reason)
}

/// Whether a completion lets the next request go, so that the latency is the depth over the
/// rate and tells nothing of its own.
fn closed(cell: &SideCell) -> bool {
    cell.workload
        .as_ref()
        .is_none_or(|workload| workload.arrival == Arrival::Closed && workload.think_ns.0 == 0)
}

/// Time on one processor is held against time on the same kind, clocks against clocks.
fn cpu_metric(context: &Context) -> ComparedMetric {
    let clocks = context.a.clock_hz.zip(context.b.clock_hz);
    let other_clock = clocks.is_some_and(|(a, b)| (a / b - 1.0).abs() > CLOCK_REL);
    if context.a.processor != context.b.processor || other_clock {
        ComparedMetric::CpuClocksPerIo
    } else {
        ComparedMetric::CpuUsPerIo
    }
}

fn draft(context: &Context, metric: ComparedMetric, a: &SideCell, b: &SideCell) -> Draft {
    let mut draft = Draft::of(metric, Some(a), Some(b));
    let (n_a, n_b) = (draft.row.n_a, draft.row.n_b);
    let slack = slack(metric, a, b);
    let both = a.observed(metric).zip(b.observed(metric)).filter(|_| context.paired);
    let pairs: Option<(Vec<f64>, Vec<f64>)> = both.map(|(a, b)| shared(a, b).into_iter().unzip());
    draft.row.paired = pairs.is_some();
    let cannot_tell = |draft: Draft, reason| draft.untested(ComparedVerdict::CannotTell, reason);
    if context.identical && n_a > 0 {
        let one = Some(1.0);
        (draft.row.ratio, draft.row.ratio_low, draft.row.ratio_high) = (one, one, one);
        draft.row.verdict = ComparedVerdict::Same;
        draft
    } else if n_a == 0 || n_b == 0 {
        let (name, cell) = if n_a == 0 { ("A", a) } else { ("B", b) };
        let reason = format!("not measured in {name}: {}", cell.reason(metric));
        draft.untested(ComparedVerdict::NotComparable, reason)
    } else if let Some((first, second)) = &pairs {
        match LogRatio::of_pairs(first, second, slack) {
            Some(ratio) if first.len() >= LEAST as usize => draft.tested(ratio),
            _ => cannot_tell(draft, too_few(context, first.len() as u32, second.len() as u32)),
        }
    } else if n_a < LEAST || n_b < LEAST {
        cannot_tell(draft, too_few(context, n_a, n_b))
    } else {
        let known =
            |side: &Side, cell: &SideCell| Some(with_level(side, metric, level(cell, metric)?));
        match (known(context.a, a), known(context.b, b)) {
            (Some(a), Some(b)) => draft.tested(LogRatio::between(a, b, slack)),
            _ => cannot_tell(draft, "a value is zero or below".to_owned()),
        }
    }
}

/// The rates of cells that have a partner, together; `None` with fewer than three, or without blocks
/// that all have.
///
/// Over blocks it is the mean of each block that is an observation, so that what moved a whole block
/// is in the error once and not averaged away as if the cells were independent. Visits of a profile
/// are made cell by cell; the errors of its cells are, and the level that they have in common is added.
/// There the errors are the wider ones of the cells' intervals, because too narrow ones add up.
pub(super) fn joined(
    context: &Context,
    pairs: &[(&SideCell, &SideCell)],
    question: Question,
) -> Option<Draft> {
    if pairs.len() < OVERALL_CELLS || context.identical {
        return None;
    }
    let metric = ComparedMetric::RatePerS;
    let (a, b): (Vec<&SideCell>, Vec<&SideCell>) = pairs.iter().copied().unzip();
    let (first, second) = (together(context.a, &a)?, together(context.b, &b)?);
    let slack = pairs.iter().map(|(a, b)| slack(metric, a, b)).sum::<f64>() / pairs.len() as f64;
    let ratio = if context.paired && !first.blocks.is_empty() && !second.blocks.is_empty() {
        let both = shared(&first.blocks, &second.blocks);
        let (a, b): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
        (a.len() >= LEAST as usize).then(|| LogRatio::of_pairs(&a, &b, slack))??
    } else {
        let a = with_level(context.a, metric, first.level?);
        let b = with_level(context.b, metric, second.level?);
        LogRatio::between(a, b, slack)
    };
    let mut draft = Draft { question, ..Draft::of(metric, None, None).tested(ratio) };
    (draft.row.n_a, draft.row.n_b) = (first.count, second.count);
    draft.row.paired = context.paired;
    Some(draft)
}

/// The rates of all cells of a side.
struct Together {
    /// Geometric means over the cells, by block; none where each cell has an error of its own.
    blocks: Vec<(u32, f64)>,
    /// `None` with too few blocks.
    level: Option<Level>,
    /// Of the blocks, or else of the cells.
    count: u32,
}

fn together(side: &Side, cells: &[&SideCell]) -> Option<Together> {
    let metric = ComparedMetric::RatePerS;
    let count = cells.len() as f64;
    let means: Option<Vec<Level>> = cells
        .iter()
        .map(|cell| match cell.numbers.get(&metric)? {
            Numbers::Mean { estimate: it, stopped: true } => Level::of_mean(it.value, it.se, it.n),
            _ => None,
        })
        .collect();
    if let Some(means) = means {
        let log = means.iter().map(|level| level.log).sum::<f64>() / count;
        let variance = means.iter().map(|level| level.variance).sum::<f64>() / count / count;
        let df = means.iter().map(|level| level.df).sum();
        let level = Some(Level { log, variance, df, stopped: false });
        return Some(Together { blocks: Vec::new(), level, count: cells.len() as u32 });
    }
    if side.about.unit == ComparedUnit::Trial {
        return None;
    }
    let observed: Vec<&[(u32, f64)]> =
        cells.iter().filter_map(|cell| cell.observed(metric)).collect();
    let first = observed.first().filter(|_| observed.len() == cells.len())?;
    let blocks = first.iter().filter_map(|(block, _)| {
        let logs = observed.iter().map(|values| {
            let (_, value) = values.iter().find(|(other, _)| other == block)?;
            Some(libm::log(*value))
        });
        let sum: f64 = logs.collect::<Option<Vec<f64>>>()?.iter().sum();
        Some((*block, libm::exp(sum / count)))
    });
    let blocks: Vec<(u32, f64)> = blocks.collect();
    let level = if blocks.len() >= LEAST as usize { level_of(&blocks) } else { None };
    Some(Together { level, count: blocks.len() as u32, blocks })
}

fn too_few(context: &Context, n_a: u32, n_b: u32) -> String {
    let word = match context.a.about.unit {
        ComparedUnit::Block => "blocks",
        ComparedUnit::Visit => "visits",
        ComparedUnit::Run => "runs",
        ComparedUnit::Trial => "trials",
    };
    format!("{n_a} and {n_b} {word}; at least {LEAST} of each are needed")
}

/// The values of the blocks that both have.
fn shared(a: &[(u32, f64)], b: &[(u32, f64)]) -> Vec<(f64, f64)> {
    let both = a.iter().filter_map(|(block, first)| {
        let (_, second) = b.iter().find(|(other, _)| other == block)?;
        Some((*first, *second))
    });
    both.collect()
}

fn level(cell: &SideCell, metric: ComparedMetric) -> Option<Level> {
    match cell.numbers.get(&metric)? {
        Numbers::Observed(values) => level_of(values),
        Numbers::Mean { estimate, stopped } => {
            let se = stats::visits_se(estimate);
            let level = Level::of_mean(estimate.value, se, estimate.n)?;
            Some(Level { stopped: *stopped, ..level })
        }
        Numbers::Missing(_) => None,
    }
}

fn level_of(values: &[(u32, f64)]) -> Option<Level> {
    Level::of(&values.iter().map(|(_, value)| *value).collect::<Vec<f64>>())
}

/// With the error of the run's level, which moves rates and latencies and not the cost.
fn with_level(side: &Side, metric: ComparedMetric, level: Level) -> Level {
    let cost = matches!(metric, ComparedMetric::CpuUsPerIo | ComparedMetric::CpuClocksPerIo);
    match side.about.level_se_rel {
        Some(se_rel) if se_rel > 0.0 && !cost => level.with_error(se_rel, side.level_df),
        _ => level,
    }
}

/// What no repetition shows: a window cuts off a part of a request, and a percentile is that of a
/// bucket.
fn slack(metric: ComparedMetric, a: &SideCell, b: &SideCell) -> f64 {
    let counting = 1.0 / a.requests.max(1.0) + 1.0 / b.requests.max(1.0);
    match metric {
        ComparedMetric::LatencyP99Ns => 2.0 * MAX_RELATIVE_ERROR,
        _ => counting,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Overall,
    Group,
    Rate,
    Response,
    Cost,
}

impl Question {
    const ALL: [Self; 5] = [Self::Overall, Self::Group, Self::Rate, Self::Response, Self::Cost];
    /// The part of the false-alarm rate that each gets, if all are asked.
    const PARTS: [f64; 5] = [1.0, 1.0, 2.0, 1.0, 1.0];

    fn of(metric: ComparedMetric) -> Self {
        match metric {
            ComparedMetric::RatePerS => Self::Rate,
            ComparedMetric::LatencyMeanNs | ComparedMetric::LatencyP99Ns => Self::Response,
            ComparedMetric::CpuUsPerIo | ComparedMetric::CpuClocksPerIo => Self::Cost,
        }
    }
}

/// The rows that are tested, by question, and what part of the false-alarm rate each question has.
pub(super) struct Families {
    tests: [usize; 5],
}

impl Families {
    pub(super) fn of(drafts: &[&Draft]) -> Self {
        let mut tests = [0; 5];
        for draft in drafts.iter().filter(|draft| draft.tested.is_some()) {
            tests[draft.question as usize] += 1;
        }
        Self { tests }
    }

    pub(super) fn tests(&self) -> u32 {
        self.tests.iter().sum::<usize>() as u32
    }

    /// The share of the false-alarm rate that a question has, 0 to 1.
    fn share(&self, question: Question) -> f64 {
        let asked = Question::PARTS.iter().zip(&self.tests).filter(|(_, tests)| **tests > 0);
        Question::PARTS[question as usize] / asked.map(|(part, _)| part).sum::<f64>()
    }

    /// Adjusted p-values, in the order of the drafts; `None` for what is not tested.
    pub(super) fn adjusted(&self, drafts: &[&Draft]) -> Vec<Option<f64>> {
        let mut all: Vec<Option<f64>> = vec![None; drafts.len()];
        for asked in Question::ALL {
            let drafts = drafts.iter().enumerate().filter(|(_, draft)| draft.question == asked);
            let rows: Vec<(usize, f64)> = drafts
                .filter_map(|(row, draft)| Some((row, draft.tested.as_ref()?.p_value())))
                .collect();
            let p_values: Vec<f64> = rows.iter().map(|(_, p)| *p).collect();
            for ((row, _), p) in rows.iter().zip(holm(&p_values)) {
                all[*row] = Some((p / self.share(asked)).min(1.0));
            }
        }
        all
    }

    pub(super) fn row(
        &self,
        draft: &Draft,
        p_adjusted: Option<f64>,
        fail_on_worse_rel: Option<f64>,
    ) -> ComparedRow {
        let mut row = draft.row.clone();
        let Some(ratio) = &draft.tested else { return row };
        row.p_adjusted = p_adjusted;
        let tests = self.tests[draft.question as usize] as f64;
        let miss = FALSE_ALARM_RATE * self.share(draft.question) / tests;
        let (mut low, mut high) = ratio.interval(miss);
        let more_is_better = row.metric.more_is_better();
        if row.p_adjusted.is_some_and(|p| p <= FALSE_ALARM_RATE) {
            let more = ratio.log > 0.0;
            row.verdict = if more == more_is_better {
                ComparedVerdict::Better
            } else {
                ComparedVerdict::Worse
            };
            // Holm may tell what Bonferroni's interval leaves open.
            (low, high) = if more { (low.max(1.0), high) } else { (low, high.min(1.0)) };
        } else if low >= 1.0 / (1.0 + SAME_REL) && high <= 1.0 + SAME_REL {
            row.verdict = ComparedVerdict::Same;
        } else {
            row.reason =
                Some(format!("a change of more than ±{:.0} % is possible", SAME_REL * 100.0));
        }
        (row.ratio, row.ratio_low, row.ratio_high) = (Some(ratio.ratio()), Some(low), Some(high));
        row.fails = fail_on_worse_rel.is_some_and(|worse| {
            if more_is_better { high < 1.0 - worse } else { low > 1.0 + worse }
        });
        row
    }
}
