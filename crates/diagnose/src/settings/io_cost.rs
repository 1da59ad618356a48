//! The cost model of control groups: six coefficients, in one line.
//!
//! Facts: io.cost.model takes per device `ctrl=user model=linear` and the largest throughput
//! (`rbps`, `wbps`) and the largest rates of 4 KiB requests in sequence and at random (`rseqiops`,
//! `rrandiops`, `wseqiops`, `wrandiops`). The kernel makes a cost per request and one per page of
//! them. All six are needed: the kernel would fill the others from a table for no device in
//! particular. A device capped by rate *and* throughput is not linear; its sizes in between are
//! charged twice.

use super::seen::Seen;
use super::{Derived, setting};
use record::{Locality, Measured, OpKind, Setting, format_bytes};

const REQUEST: u64 = 4 << 10;

pub(super) fn settings(seen: &Seen<'_>) -> Vec<Setting> {
    let mut parts: Vec<Setting> = [
        ("rbps", flow(seen, OpKind::Read)),
        ("rseqiops", rate(seen, OpKind::Read, Locality::Sequential)),
        ("rrandiops", rate(seen, OpKind::Read, Locality::Random)),
        ("wbps", flow(seen, OpKind::Write)),
        ("wseqiops", rate(seen, OpKind::Write, Locality::Sequential)),
        ("wrandiops", rate(seen, OpKind::Write, Locality::Random)),
    ]
    .into_iter()
    .map(|(name, derived)| setting(name, derived, |_| String::new()))
    .collect();
    parts.iter_mut().for_each(|part| part.lines.clear());
    let line = model(seen, &parts);
    let write = |value: &str| format!("echo \"{value}\" > /sys/fs/cgroup/io.cost.model");
    parts.push(setting("io.cost.model", line, write));
    parts
}

fn flow(seen: &Seen<'_>, op: OpKind) -> Derived {
    let flow = seen.flow(op)?;
    let derivation = format!(
        "the largest throughput of sequential {}s, with {} at depth {}",
        op.name(),
        format_bytes(flow.bytes),
        flow.depth
    );
    Ok((format!("{:.0}", flow.bytes_per_s), derivation))
}

fn rate(seen: &Seen<'_>, op: OpKind, locality: Locality) -> Derived {
    let (rate, how) = seen.rate(op, locality, REQUEST)?;
    let place = if locality == Locality::Random { "random" } else { "sequential" };
    let derivation = format!("the largest rate of {place} {}s of 4 KiB{how}", op.name());
    Ok((format!("{rate:.0}"), derivation))
}

fn model(seen: &Seen<'_>, parts: &[Setting]) -> Derived {
    let missing: Vec<&str> = parts
        .iter()
        .filter(|part| part.value.value().is_none())
        .map(|part| part.name.as_str())
        .collect();
    if !missing.is_empty() {
        return Err(format!("all six are needed, and {} is missing", missing.join(", ")));
    }
    let device = seen.profile.target.device.as_ref();
    let number = device.map(|facts| facts.major_minor.as_str()).filter(|text| !text.is_empty());
    let values: Vec<String> = parts
        .iter()
        .filter_map(|part| match &part.value {
            Measured::Value(value) => Some(format!("{}={value}", part.name)),
            Measured::NotMeasured { .. } => None,
        })
        .collect();
    let line =
        format!("{} ctrl=user model=linear {}", number.unwrap_or("MAJ:MIN"), values.join(" "));
    let which = if number.is_some() { "" } else { "; MAJ:MIN are the numbers of the disk" };
    Ok((line, format!("the six above; enabled in io.cost.qos{which}")))
}
