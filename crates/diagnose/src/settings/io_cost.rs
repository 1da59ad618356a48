//! Derives the cost model of control groups: six coefficients in one line.
//!
//! Facts: io.cost.model takes per device `ctrl=user model=linear`, the maximum throughput (`rbps`,
//! `wbps`) and the maximum sequential and random 4 KiB IOPS (`rseqiops`, `rrandiops`, `wseqiops`,
//! `wrandiops`). The kernel derives a cost per request and one per page from them. All six are
//! needed: the kernel would take missing ones from a table that describes no particular device. A
//! device capped by rate *and* throughput is not linear; sizes in between are charged twice.

use super::profile_facts::ProfileFacts;
use super::{Derived, setting};
use record::{Locality, OpKind, Setting};

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let mut parts = [
        ("rbps", facts.largest_flow(OpKind::Read)),
        ("rseqiops", facts.largest_rate(OpKind::Read, Locality::Sequential)),
        ("rrandiops", facts.largest_rate(OpKind::Read, Locality::Random)),
        ("wbps", facts.largest_flow(OpKind::Write)),
        ("wseqiops", facts.largest_rate(OpKind::Write, Locality::Sequential)),
        ("wrandiops", facts.largest_rate(OpKind::Write, Locality::Random)),
    ]
    .map(|(name, derived)| setting(name, derived, |_| String::new()))
    .to_vec();
    let line = model(facts, &parts);
    let write = |value: &str| format!("echo \"{value}\" > /sys/fs/cgroup/io.cost.model");
    parts.push(setting("io.cost.model", line, write));
    parts
}

fn model(facts: &ProfileFacts<'_>, parts: &[Setting]) -> Derived {
    let missing = parts.iter().filter(|part| part.value.value().is_none());
    let missing: Vec<&str> = missing.map(|part| part.name.as_str()).collect();
    if !missing.is_empty() {
        return Err(format!("all six values are needed; missing: {}", missing.join(", ")));
    }
    let number =
        facts.device().map(|facts| facts.major_minor.as_str()).filter(|text| !text.is_empty());
    let values: Vec<String> = parts
        .iter()
        .filter_map(|part| Some(format!("{}={}", part.name, part.value.value()?)))
        .collect();
    let line =
        format!("{} ctrl=user model=linear {}", number.unwrap_or("MAJ:MIN"), values.join(" "));
    let which = if number.is_some() {
        ""
    } else {
        "; MAJ:MIN are the major and minor device numbers of the disk"
    };
    Ok((line, format!("the six values above; io.cost.qos enables the model{which}")))
}
