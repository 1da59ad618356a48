//! Derives settings of ScyllaDB and Seastar: the four speeds of a mount point, and the request
//! length that reaches them.
//!
//! Facts (Seastar's io-properties-file.md): `read_iops`, `read_bandwidth`, `write_iops` and
//! `write_bandwidth` are all required. `read_saturation_length` and `write_saturation_length` are
//! optional: the length of a buffer that saturates the throughput.

use super::profile_facts::ProfileFacts;
use super::setting;
use record::{Locality, OpKind, Setting};

pub(super) fn settings(facts: &ProfileFacts<'_>) -> Vec<Setting> {
    let flow = |op| {
        let (value, derivation) = facts.largest_flow(op)?;
        Ok((value, format!("bytes per second, {derivation}")))
    };
    let length = |op| {
        let (bytes, words) = facts.enough_bytes(op)?;
        facts.settled(&bytes, &words, |bytes| format!("{bytes:.0}"))
    };
    let needed = [
        ("read_iops", facts.largest_rate(OpKind::Read, Locality::Random)),
        ("read_bandwidth", flow(OpKind::Read)),
        ("write_iops", facts.largest_rate(OpKind::Write, Locality::Random)),
        ("write_bandwidth", flow(OpKind::Write)),
    ];
    let optional = [
        ("read_saturation_length", length(OpKind::Read)),
        ("write_saturation_length", length(OpKind::Write)),
    ];
    let written = |name: &'static str| move |value: &str| format!("    {name}: {value}");
    let all = needed.into_iter().chain(optional);
    all.map(|(name, derived)| setting(name, derived, written(name))).collect()
}
