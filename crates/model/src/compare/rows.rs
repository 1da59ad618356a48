//! Builds the rows of the table: what each row tests, and its verdict.

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
/// Minimum number of observations on each side for a verdict.
const LEAST: u32 = 3;
/// Minimum number of cells for a row that combines all cells.
const OVERALL_CELLS: usize = 3;
/// An interval within this distance of one, as a share, is "the same".
const SAME_REL: f64 = 0.1;
/// Clock rates that differ by more than this share count as different.
const CLOCK_REL: f64 = 0.02;

/// Both sides, and how their measurements are related.
pub(super) struct Context<'a> {
    pub a: &'a Side,
    pub b: &'a Side,
    /// Whether both sides are the same documents.
    pub identical: bool,
    /// Whether both sides are treatments of one experiment, so that blocks are paired.
    pub paired: bool,
}

/// A row before the table is complete.
pub(super) struct Draft {
    question: Question,
    row: ComparedRow,
    /// The statistic to test; `None` if the verdict is already known.
    tested: Option<LogRatio>,
}

impl Draft {
    /// The values of both cells, with the verdict "inconclusive".
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
    // fio has no latency from the intended arrival. Latencies are compared from an instant that both have.
    let both = |metric: ComparedMetric| a.count(metric) > 0 && b.count(metric) > 0;
    let from_submission = !both(ComparedMetric::LatencyMeanNs)
        && both(ComparedMetric::CompletionMeanNs)
        && !(closed(a) && closed(b));
    let first = if a.numbers.contains_key(&ComparedMetric::CommitsPerS) {
        ComparedMetric::CommitsPerS
    } else if closed(a) && closed(b) {
        ComparedMetric::RatePerS
    } else if from_submission {
        ComparedMetric::CompletionMeanNs
    } else {
        ComparedMetric::LatencyMeanNs
    };
    let measured = |metric: &ComparedMetric| a.count(*metric) + b.count(*metric) > 0;
    let others = [
        if from_submission {
            ComparedMetric::CompletionP99Ns
        } else {
            ComparedMetric::LatencyP99Ns
        },
        ComparedMetric::FlushMeanNs,
        ComparedMetric::FlushP99Ns,
        cpu_metric(context),
    ];
    let others = others.into_iter().filter(measured);
    iter::once(first).chain(others).map(|metric| draft(context, metric, a, b)).collect()
}

/// The row of a cell that only one side has.
pub(super) fn without_partner((a, b): Pair<'_>, reason: String) -> Draft {
    Draft::of(ComparedMetric::RatePerS, a, b).untested(ComparedVerdict::NotComparable, reason)
}

/// Whether each completion starts the next request. The latency is then the queue depth divided by the rate
/// and adds no information.
fn closed(cell: &SideCell) -> bool {
    cell.workload
        .as_ref()
        .is_none_or(|workload| workload.arrival == Arrival::Closed && workload.think_ns.0 == 0)
}

/// CPU time is compared only between processors of the same model and clock rate, otherwise clock cycles.
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

/// The combined rates of all cells that have a partner; `None` with fewer than three cells, or if no blocks
/// contain all cells.
///
/// With blocks, one observation is the mean of a block over its cells. An effect that moves a whole block
/// then enters the error once and is not averaged away as if the cells were independent. Visits of a
/// profile are not in blocks: its cells have independent errors, to which the error of the common level is
/// added. These errors are the wider ones from the cells' intervals, because errors that are too small
/// accumulate.
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

/// The combined rates of all cells of a side.
struct Together {
    /// Geometric means over the cells, by block; empty if each cell has an error of its own.
    blocks: Vec<(u32, f64)>,
    /// `None` if there are too few blocks.
    level: Option<Level>,
    /// Number of blocks, or of cells if there are no blocks.
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

/// The values of the blocks that both sides have.
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

/// Adds the error of the run's level. It affects rates and latencies, not CPU cost.
fn with_level(side: &Side, metric: ComparedMetric, level: Level) -> Level {
    let cost = matches!(metric, ComparedMetric::CpuUsPerIo | ComparedMetric::CpuClocksPerIo);
    match side.about.level_se_rel {
        Some(se_rel) if se_rel > 0.0 && !cost => level.with_error(se_rel, side.level_df),
        _ => level,
    }
}

/// Errors that repetition does not reveal: a window cuts off part of a request, and a percentile is known
/// only to its bucket.
fn slack(metric: ComparedMetric, a: &SideCell, b: &SideCell) -> f64 {
    let counting = 1.0 / a.requests.max(1.0) + 1.0 / b.requests.max(1.0);
    match metric {
        ComparedMetric::LatencyP99Ns
        | ComparedMetric::CompletionP99Ns
        | ComparedMetric::FlushP99Ns => 2.0 * MAX_RELATIVE_ERROR,
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
    /// Relative weight of each question in the false-alarm rate.
    const PARTS: [f64; 5] = [1.0, 1.0, 2.0, 1.0, 1.0];

    fn of(metric: ComparedMetric) -> Self {
        match metric {
            ComparedMetric::RatePerS | ComparedMetric::CommitsPerS => Self::Rate,
            ComparedMetric::LatencyMeanNs
            | ComparedMetric::LatencyP99Ns
            | ComparedMetric::CompletionMeanNs
            | ComparedMetric::CompletionP99Ns
            | ComparedMetric::FlushMeanNs
            | ComparedMetric::FlushP99Ns => Self::Response,
            ComparedMetric::CpuUsPerIo | ComparedMetric::CpuClocksPerIo => Self::Cost,
        }
    }
}

/// Number of tested rows per question. From these follows each question's share of the false-alarm rate.
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

    /// The share of the false-alarm rate of a question, 0 to 1.
    fn share(&self, question: Question) -> f64 {
        let asked = Question::PARTS.iter().zip(&self.tests).filter(|(_, tests)| **tests > 0);
        Question::PARTS[question as usize] / asked.map(|(part, _)| part).sum::<f64>()
    }

    /// Adjusted p-values, in the order of the drafts; `None` for rows that are not tested.
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
            // Holm may establish a verdict that Bonferroni's interval leaves open.
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
