//! Compares lone reads (single reads after idle time) with the same reads back to back.

use crate::number;
use crate::story::{Story, joined};
use record::{LoneRead, Profile};

/// On the short page if idle time adds latency, otherwise only with `--verbose`.
pub(super) fn lone_reads(story: &mut Story, profile: &Profile) {
    let lone = &profile.lone_reads;
    let Some(first) = lone.first() else { return };
    let rate = |one: &LoneRead| {
        let time = number::with_interval(&one.latency_ns, number::time);
        format!("{}/s {time}", one.rate_per_s)
    };
    let rates = joined(lone.iter().rev(), ", ", rate);
    let awake = number::with_interval(&first.back_to_back_ns, number::time);
    let text = format!("{rates}; back to back {awake} (medians)");
    let rests = lone.iter().any(|one| one.added_ns.value > 0.0);
    story.section("A read after an idle period", &text).supporting_if(!rests);
}
