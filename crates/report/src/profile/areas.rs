//! Tabulates the files that a check measured, and their differences.

use crate::number;
use crate::story::{Cell, Story};
use record::{AreaSpread, Profile};

/// A row for each kind of load, a column for each file.
pub(super) fn areas(story: &mut Story, profile: &Profile) {
    if profile.areas.is_empty() {
        return;
    }
    let remark =
        "rate relative to files written through the page cache; ±: error for another such file";
    let section = story.section("Files measured", remark).supporting();
    section.table(&profile.area_spreads, |t| {
        t.left("", |spread| name(spread));
        for at in 0..profile.areas.len() {
            t.right((at + 1).to_string(), |spread| {
                let rate = spread.rates.get(at).copied().flatten();
                Cell::or_none(rate, |rate| format!("{rate:.2}"))
            });
        }
        t.right("±", |spread| number::interval((record::NORMAL_95 * spread.rate_se).exp() - 1.0));
    });
    let files = profile.areas.iter().zip(1..);
    let files: Vec<String> =
        files.map(|(area, number)| format!("{number} {}", area.words())).collect();
    section.note(files.join("; ") + ".");
}

/// `random writes, QD 1`
fn name(spread: &AreaSpread) -> String {
    let depth = if spread.alone { "QD 1" } else { "deeper" };
    format!("{} {}, {depth}", spread.locality.name(), spread.op.plural())
}
