//! What to expect under load, and what to use.
//!
//! The load-dependent model is the answer; M/M/1 stands beside it with its error, because readers
//! know it, compute it themselves, and on a parallel device are misled by it. Advice says what to use,
//! why, what else there is and what that costs, and where a rule of thumb says otherwise.

use super::OPERATIONS;
use crate::number;
use crate::story::{Action, Cell, Column, Story, Table, Tone};
use record::{Advice, Estimate, Expectation, OpKind, Profile, SATURATIONS, format_bytes};

/// Why a latency is not stated.
const TOO_UNEVEN: &str = "the measured rates vary too much to say within ±60 %";

/// Latency at shares of the maximum rate.
pub(super) fn expectations(story: &mut Story, profile: &Profile) {
    let all = &profile.expectations;
    let Some(first) = all.first() else {
        let reason = if profile.depth_curves.is_empty() {
            "no model without a depth curve"
        } else {
            &format!("unknown: {TOO_UNEVEN}")
        };
        story.section("What to expect", reason);
        return;
    };
    let size = if all.iter().all(|expectation| expectation.bs_bytes == first.bs_bytes) {
        format!(" {}", format_bytes(first.bs_bytes))
    } else {
        String::new()
    };
    let remark = format!("random{size} arriving independently; err: M/M/1 against the latency");
    let section = story.section("What to expect", &remark);
    let present = |op: &OpKind| all.iter().any(|expectation| expectation.op == *op);
    let operations: Vec<OpKind> = OPERATIONS.into_iter().filter(present).collect();
    let mut columns = vec![Column::right("of max")];
    for op in &operations {
        let group = format!("{}s", op.name());
        columns.extend(
            [
                Column::of("iops"),
                Column::of("latency_mean_ns"),
                Column::interval(),
                Column::right("M/M/1").gap(1).expendable(2),
                Column::right("err").gap(1).expendable(1),
            ]
            .map(|column| column.group(&group)),
        );
    }
    let mut table = Table::new(columns);
    let mut missing = profile.depth_curves.iter().any(|curve| !operations.contains(&curve.op));
    for saturation in SATURATIONS {
        let mut cells = vec![Cell::from(number::percent(saturation))];
        for op in &operations {
            let same =
                |e: &&Expectation| e.op == *op && e.saturation.total_cmp(&saturation).is_eq();
            let found = all.iter().find(same);
            missing |= found.is_none();
            cells.extend(expectation(found));
        }
        table.row(cells);
    }
    section.table(table);
    if missing {
        section.note(format!("unknown, or left out: {TOO_UNEVEN}."));
    }
}

fn expectation(expectation: Option<&Expectation>) -> [Cell; 5] {
    // Left out where its interval would say nothing.
    let Some(expectation) = expectation else {
        let unknown = Cell::toned("unknown", Tone::Faint);
        return [Cell::default(), unknown, Cell::default(), Cell::default(), Cell::default()];
    };
    [
        number::count(expectation.iops).into(),
        Cell::toned(number::time(expectation.latency_ns.value), Tone::Strong),
        Cell::interval(&expectation.latency_ns),
        Cell::toned(number::time(expectation.mm1_response_ns), Tone::Faint),
        Cell::toned(number::change(1.0 + expectation.mm1_error_rel), Tone::Faint),
    ]
}

/// Advice as what to do: why, what else there is, and what speaks against the usual rule.
pub(crate) fn actions(all: &[Advice]) -> impl Iterator<Item = Action> + '_ {
    all.iter().map(|advice| {
        Action::new(&advice.subject, &advice.recommendation)
            .with("why", &advice.because)
            .with("gain", advice.gain.as_ref().map(gain).unwrap_or_default())
            .with("else", &advice.next_best)
            .with("cost", advice.price.as_deref().unwrap_or_default())
            .with("but", advice.against_rule.as_deref().unwrap_or_default())
    })
}

/// `1.9 times (1.8 to 2.1)`; a small one as a percentage.
fn gain(gain: &Estimate) -> String {
    if gain.value >= 1.5 {
        let (low, high) = (number::digits(gain.low), number::digits(gain.high));
        return format!("{} times ({low} to {high})", number::digits(gain.value));
    }
    number::with_range(gain, number::change)
}
