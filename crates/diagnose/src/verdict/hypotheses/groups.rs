//! Tests control groups that share the device: the kernel holds back requests of some groups in
//! favour of others, above all counters of the device.

use crate::verdict::engine::{Explanation, Facts};
use record::{CgroupShare, Doubt, ShareKind, Verdict};

pub(super) fn shares(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let shares = facts.segment.around.shares_of(facts.segment.facts?);
    let rules = shares.iter().map(|share| share.kind);
    let above = |kind: &ShareKind| matches!(kind, ShareKind::Cost | ShareKind::LatencyTarget);
    let rule = rules.filter(above).max()?;
    if !facts.segment.may_wait(|traced| traced.waited_ns) {
        return None;
    }
    let what = match rule {
        ShareKind::Cost => "divides the device among control groups by weight",
        _ => "enforces a latency target of a control group",
    };
    let because = format!(
        "{} {what} ({}): requests of other groups may wait before the device's counters start.",
        rule.file(),
        shares_text(&shares)
    );
    let decided_by = "Check `cost.wait` in the group's io.stat, or run as root: the tracer \
                      measures the wait before a request starts.";
    let all = facts.states.all();
    Some(Explanation::beside(Verdict::Capped, Doubt::GroupShares, all, because, decided_by))
}

/// `io.weight=10 of /light`, limited to the first few.
pub(crate) fn shares_text(shares: &[&CgroupShare]) -> String {
    const MOST: usize = 3;
    let text = |share: &&CgroupShare| match share.kind {
        ShareKind::Cost => format!("{} on", share.kind.file()),
        kind => format!("{}={} of {}", kind.file(), share.value, share.group),
    };
    let texts: Vec<String> = shares.iter().take(MOST).map(text).collect();
    let more = if shares.len() > MOST { ", ..." } else { "" };
    format!("{}{more}", texts.join(", "))
}
