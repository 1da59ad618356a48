//! Compares two measurements cell by cell, with one false-alarm rate for the table.
//!
//! Observations must be separated in time: blocks of an experiment, visits of a profile's cell, or whole
//! runs if there are three or more. Batch means within a trial give the error at one moment only. On a
//! shared disk, the difference to the next moment is larger. With fewer than three observations on a side
//! the result is inconclusive.
//!
//! Cells are matched by the identity of the workload. If that fails, they are matched by the requested
//! load, ignoring engine, area and how the queue depth is split over jobs. An ambiguous match leaves a cell
//! without a partner.
//!
//! A table asks up to five questions. The share of the false-alarm rate of each is fixed before any data is
//! seen ([`rows`]). The statistics are those of [`stats::LogRatio`]: Welch or paired, verdicts by Holm,
//! intervals by Bonferroni. If only Holm establishes a verdict, its interval ends at one. "Same" is an
//! interval that ends within ±10 %.
//!
//! The level that all cells of a run share varies between runs. Its standard error, stated by profiles and
//! estimated from the blocks of an experiment ([`stats::common_level`]), is added to every row. Rejected:
//! dividing the level out, which hides a device that became slower as a whole.

mod conditions;
mod observed;
mod rows;
mod sides;

pub use conditions::{SCHEDULER, changed_since, settings_told};
pub use observed::TraceObservation;
pub use sides::{Side, SideError};

use conditions::differing;
use observed::{SideCell, cache_words};
use record::{
    COMPARISON_SCHEMA, ComparedCell, ComparedGroup, ComparedMetric, Comparison, OpKind, hex_digest,
};
use rows::{Draft, FALSE_ALARM_RATE, Families, Question};
use stats::grouped;

/// Options of a comparison, set by the user.
#[derive(Clone, Debug, Default)]
pub struct CompareOptions {
    /// Version of halfpower that compares.
    pub halfpower_version: String,
    /// The share by which a row must be worse to fail; `None` if no row can fail.
    pub fail_on_worse_rel: Option<f64>,
}

/// Compares `b` with `a`.
#[must_use]
pub fn compare(a: &Side, b: &Side, options: &CompareOptions) -> Comparison {
    let same_documents = !a.about.ids.is_empty() && a.about.ids == b.about.ids;
    let identical = same_documents && a.about.arm == b.about.arm;
    let context = rows::Context { a, b, identical, paired: same_documents && !identical };
    let pairs = matched(a, b);
    let drafts: Vec<Vec<Draft>> = pairs
        .iter()
        .map(|&pair| match pair {
            (Some(a), Some(b)) => rows::drafts(&context, a, b),
            (Some(cell), None) => vec![rows::without_partner(pair, why_alone(cell, "A", b))],
            (None, Some(cell)) => vec![rows::without_partner(pair, why_alone(cell, "B", a))],
            (None, None) => Vec::new(),
        })
        .collect();
    // Commits depend on the file system too, and do not count as a load on the device.
    let has_rate =
        |(a, _): &(&SideCell, &SideCell)| a.numbers.contains_key(&ComparedMetric::RatePerS);
    let partners: Vec<(&SideCell, &SideCell)> =
        pairs.iter().filter_map(|(a, b)| a.zip(*b)).filter(has_rate).collect();
    let overall = rows::joined(&context, &partners, Question::Overall);
    let kinds = kinds(&partners);
    let joined = kinds.iter().map(|(_, cells)| rows::joined(&context, cells, Question::Group));
    let joined: Vec<Option<Draft>> = joined.collect();
    let all = overall.iter().chain(joined.iter().flatten()).chain(drafts.iter().flatten());
    let all: Vec<&Draft> = all.collect();
    let families = Families::of(&all);
    let mut adjusted = families.adjusted(&all).into_iter();
    let mut row = |draft| families.row(draft, adjusted.next().flatten(), options.fail_on_worse_rel);
    let overall = overall.as_ref().map(&mut row);
    let groups: Vec<ComparedGroup> = kinds
        .iter()
        .zip(&joined)
        .filter_map(|((label, cells), draft)| {
            let row = row(draft.as_ref()?);
            Some(ComparedGroup { label: label.clone(), cells: cells.len() as u32, row })
        })
        .collect();
    let cells: Vec<ComparedCell> = pairs
        .iter()
        .zip(&drafts)
        .map(|((a, b), drafts)| ComparedCell {
            label: a.or(*b).map_or(String::new(), |cell| cell.label.clone()),
            cell_a: a.map(|cell| cell.cell.clone()),
            cell_b: b.map(|cell| cell.cell.clone()),
            rows: drafts.iter().map(&mut row).collect(),
        })
        .collect();
    let ids = |side: &Side| format!("{:?} {:?}", side.about.ids, side.about.arm);
    Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        halfpower_version: options.halfpower_version.clone(),
        id: hex_digest(&format!("{} {} {:?}", ids(a), ids(b), options.fail_on_worse_rel)),
        a: a.about.clone(),
        b: b.about.clone(),
        conditions: differing(&a.conditions, &b.conditions),
        overall,
        groups,
        cells,
        false_alarm_rate: FALSE_ALARM_RATE,
        tests: families.tests(),
        fail_on_worse_rel: options.fail_on_worse_rel,
        notes: notes(&context),
    }
}

/// Cells that have partners, each a cell of both sides.
type Partners<'a> = Vec<(&'a SideCell, &'a SideCell)>;

/// The partners by kind: direction, pattern and cache mode. Empty if all are of one kind, because the row
/// for all cells covers that.
fn kinds<'a>(partners: &Partners<'a>) -> Vec<(String, Partners<'a>)> {
    let label = |(a, _): &(&SideCell, &SideCell)| {
        let workload = a.workload.as_ref()?;
        let op = workload.only_op().map_or("mixed", OpKind::plural);
        Some(format!("{} {op}{}", workload.pattern.name(), cache_words(workload)))
    };
    let kinds = grouped(partners.iter().map(|partner| (label(partner), *partner))).into_iter();
    let kinds: Vec<_> = kinds.filter_map(|(label, cells)| Some((label?, cells))).collect();
    if kinds.len() < 2 { Vec::new() } else { kinds }
}

/// A cell of each side; `None` on a side without a matching cell.
type Pair<'a> = (Option<&'a SideCell>, Option<&'a SideCell>);

fn matched<'a>(a: &'a Side, b: &'a Side) -> Vec<Pair<'a>> {
    let arms = !a.about.arm.is_empty() || !b.about.arm.is_empty();
    let one_design = a.design.is_some() && a.design == b.design;
    let keys: [fn(&SideCell) -> String; 4] = [
        |cell| format!("{} {:?}", cell.cell, cell.levels),
        |cell| format!("{} {:?}", cell.asked, cell.levels),
        |cell| format!("{:?}", cell.levels),
        |cell| cell.asked.clone(),
    ];
    let mut partners: Vec<Option<usize>> = vec![None; a.cells.len()];
    let mut taken = vec![false; b.cells.len()];
    for (step, key) in keys.iter().enumerate() {
        // Treatments of one design agree in the levels that were not picked. Other properties need not
        // agree.
        if step == 2 && !(arms && one_design) {
            continue;
        }
        let free: Vec<usize> = (0..b.cells.len()).filter(|&index| !taken[index]).collect();
        let open: Vec<usize> = (0..a.cells.len()).filter(|&i| partners[i].is_none()).collect();
        for &index in &open {
            let wanted = key(&a.cells[index]);
            let alternatives = open.iter().filter(|&&i| key(&a.cells[i]) == wanted);
            let fits = |&&i: &&usize| key(&b.cells[i]) == wanted;
            let found: Vec<usize> = free.iter().filter(fits).copied().collect();
            if let ([only], 1) = (found.as_slice(), alternatives.count()) {
                partners[index] = Some(*only);
                taken[*only] = true;
            }
        }
    }
    let first = a.cells.iter().zip(&partners);
    let first = first.map(|(cell, partner)| (Some(cell), partner.map(|index| &b.cells[index])));
    let rest = b.cells.iter().zip(&taken).filter(|(_, taken)| !**taken);
    first.chain(rest.map(|(cell, _)| (None, Some(cell)))).collect()
}

/// Why a cell of the side called `name` has no partner in `other`.
fn why_alone(cell: &SideCell, name: &str, other: &Side) -> String {
    if other.cells.iter().any(|other| other.asked == cell.asked) {
        return "several cells run the same load in different ways; select one by an axis"
            .to_owned();
    }
    format!("only in {name}")
}

/// Notes for the reader of the table.
fn notes(context: &rows::Context) -> Vec<String> {
    let mut notes = Vec::new();
    let (a, b) = (&context.a.about, &context.b.about);
    if context.identical {
        notes.push("Both sides are the same documents: nothing to compare.".to_owned());
    }
    for (name, side) in [("A", a), ("B", b)] {
        if side.trials_left_out > 0 {
            let left_out = side.trials_left_out;
            let text = format!(
                "{left_out} trials of {name} are excluded from all numbers: they are invalid or \
                 missing."
            );
            notes.push(text);
        }
    }
    notes.extend(context.a.notes.iter().chain(&context.b.notes).cloned());
    let unknown = |side: &Side| {
        !side.about.simulated && side.about.level_se_rel.is_none() && !side.is_of_whole_runs()
    };
    if !context.identical && !context.paired && (unknown(context.a) || unknown(context.b)) {
        notes.push(
            "The intervals exclude drift between whole runs: on a shared device, all cells of two \
             runs may differ by the same unknown amount. To include this drift, name three runs \
             of each side: A1,A2,A3 and B1,B2,B3."
                .to_owned(),
        );
    }
    notes.dedup();
    notes
}
