//! What to expect under load, and what to use.
//!
//! The load-dependent model is the answer; M/M/1 stands beside it with its error, because readers
//! know it, compute it themselves, and on a parallel device are misled by it. Advice is a line for
//! each of: what to use, why, what else there is and what that costs, and where a rule of thumb says
//! otherwise.

use super::{OPERATIONS, not_measured};
use crate::number;
use crate::page::{Page, Span, Tone};
use crate::table::{Column, Entry, Table};
use record::{Advice, Estimate, Expectation, OpKind, Profile, SATURATIONS, format_bytes};

/// Why a response time is not stated.
const TOO_UNEVEN: &str = "the measured rates vary too much to say within ±60 %";

/// Response times at shares of the maximum rate.
pub(crate) fn print_expectations(page: &mut Page, profile: &Profile) {
    let all = &profile.expectations;
    let Some(first) = all.first() else {
        let reason = if profile.depth_curves.is_empty() {
            "no model without a depth curve"
        } else {
            &format!("unknown: {TOO_UNEVEN}")
        };
        return page.heading("What to expect", reason);
    };
    let size = if all.iter().all(|expectation| expectation.bs_bytes == first.bs_bytes) {
        format!(" {}", format_bytes(first.bs_bytes))
    } else {
        String::new()
    };
    page.heading(
        "What to expect",
        &format!("random{size} arriving independently; err: M/M/1 against R"),
    );
    let present = |op: &OpKind| all.iter().any(|expectation| expectation.op == *op);
    let operations: Vec<OpKind> = OPERATIONS.into_iter().filter(present).collect();
    let mut columns = vec![Column::right(2)];
    let mut titles = vec!["of max"];
    let mut groups = Vec::new();
    for op in &operations {
        groups.push((format!("{}s", op.name()), columns.len(), columns.len() + 4));
        columns.extend([
            Column::right(2),
            Column::right(2),
            Column::left(1),
            Column::right(2).expendable(2),
            Column::right(1).expendable(1),
        ]);
        titles.extend(["rate/s", "R mean", "", "M/M/1", "err"]);
    }
    let mut table = Table::new(columns);
    table.groups(groups);
    table.titles(&titles);
    let mut missing = profile.depth_curves.iter().any(|curve| !operations.contains(&curve.op));
    for saturation in SATURATIONS {
        let mut entries = vec![Entry::text(number::percent(saturation))];
        for op in &operations {
            let same =
                |e: &&Expectation| e.op == *op && e.saturation.total_cmp(&saturation).is_eq();
            let found = all.iter().find(same);
            missing |= found.is_none();
            entries.extend(expectation_entries(found));
        }
        table.row(entries);
    }
    table.print(page);
    if missing {
        let reason = format!("unknown, or left out: {TOO_UNEVEN}.");
        page.paragraph(2, &reason, Tone::Faint);
    }
}

fn expectation_entries(expectation: Option<&Expectation>) -> Vec<Entry> {
    // Left out where its interval would say nothing.
    let Some(expectation) = expectation else {
        let unknown = Entry::toned("unknown", Tone::Faint);
        return vec![Entry::Empty, unknown, Entry::Empty, Entry::Empty, Entry::Empty];
    };
    let error = number::percent(expectation.mm1_error_rel);
    let signed = error.starts_with('-') || error == "0%" || error == number::NONE;
    let error = if signed { error } else { format!("+{error}") };
    vec![
        Entry::text(number::count(expectation.iops)),
        Entry::toned(number::time(expectation.latency_ns.value), Tone::Strong),
        Entry::text(number::interval(number::relative(&expectation.latency_ns))),
        Entry::toned(number::time(expectation.mm1_response_ns), Tone::Faint),
        Entry::toned(error, Tone::Faint),
    ]
}

/// What to use, each with its reason.
pub(crate) fn print_advice(page: &mut Page, profile: &Profile) {
    if profile.advice.is_empty() {
        return page.heading("What to use", &not_measured(profile, None));
    }
    page.heading("What to use", "");
    print_all(page, &profile.advice);
}

/// Advice, one after the other.
pub(crate) fn print_all(page: &mut Page, all: &[Advice]) {
    for advice in all {
        let subject = Span::plain(format!("  {}: ", advice.subject));
        page.hanging(vec![subject], &advice.recommendation, Tone::Strong);
        let mut more = |label: &str, text: &str| {
            if !text.trim().is_empty() {
                let lead = vec![Span::new(format!("    {label:<4}  "), Tone::Faint)];
                page.hanging(lead, text, Tone::Plain);
            }
        };
        more("why", &advice.because);
        more("gain", &advice.gain.as_ref().map(gain).unwrap_or_default());
        more("else", &advice.next_best);
        more("cost", advice.price.as_deref().unwrap_or_default());
        more("but", advice.against_rule.as_deref().unwrap_or_default());
    }
}

/// `1.9 times (1.8 to 2.1)`; a small one as a percentage.
fn gain(gain: &Estimate) -> String {
    if gain.value >= 1.5 {
        let digits = number::digits;
        return format!(
            "{} times ({} to {})",
            digits(gain.value),
            digits(gain.low),
            digits(gain.high)
        );
    }
    let percent = |ratio: f64| format!("{:+.0}", (ratio - 1.0) * 100.0);
    let (low, high) = (percent(gain.low), percent(gain.high));
    format!("{} % ({low} to {high} %)", percent(gain.value))
}
