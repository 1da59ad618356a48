//! Reports loads that ran for minutes (`check --sustained`).

use crate::number;
use crate::story::{Story, or_why};
use record::{Pattern, Profile, Sustained, format_bytes, format_duration, format_iops};

pub(super) fn sustained(story: &mut Story, profile: &Profile) {
    if profile.sustained.is_empty() {
        return;
    }
    let section = story.section("Sustained loads", "until the rate fell, for at most 10 minutes");
    for load in &profile.sustained {
        section.text(line(load));
    }
}

fn line(load: &Sustained) -> String {
    let workload = &load.workload;
    let op = workload.only_op().map_or("requests", |op| op.plural());
    let place = if workload.pattern == Pattern::Random { "random" } else { "sequential" };
    let rate = number::with_interval(&load.iops, format_iops);
    let [size, moved] = [workload.max_bs().0, load.bytes.0].map(format_bytes);
    let (depth, ran) = (workload.depth, format_duration(load.ran_ns.0));
    let held = format!("{place} {size} {op} at QD {depth}: {rate} for {ran} ({moved})");
    let Some(step) = &load.step else { return format!("{held}, no drop.") };
    let back = or_why(&step.back_after_ns, "recovery time unknown", |after| {
        format!("full rate again after {} of idle time", format_duration(after.value as u64))
    });
    format!("{held}, then {}; {back}.", number::with_interval(&step.iops, format_iops))
}
