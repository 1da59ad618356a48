//! ScyllaDB and Seastar: the four speeds of a mount point, and the request length that reaches them.
//!
//! Facts (Seastar's io-properties-file.md): `read_iops`, `read_bandwidth`, `write_iops` and
//! `write_bandwidth` are needed, all of them; `read_saturation_length` and
//! `write_saturation_length` are optional: the length of a buffer that saturates the throughput.

use super::seen::Seen;
use super::{Derived, setting};
use record::{Locality, OpKind, Setting, format_bytes};

const REQUEST: u64 = 4 << 10;

pub(super) fn settings(seen: &Seen<'_>) -> Vec<Setting> {
    let needed = [
        ("read_iops", rate(seen, OpKind::Read)),
        ("read_bandwidth", flow(seen, OpKind::Read)),
        ("write_iops", rate(seen, OpKind::Write)),
        ("write_bandwidth", flow(seen, OpKind::Write)),
    ];
    let optional = [
        ("read_saturation_length", length(seen, OpKind::Read)),
        ("write_saturation_length", length(seen, OpKind::Write)),
    ];
    let written = |name: &'static str| move |value: &str| format!("    {name}: {value}");
    let all = needed.into_iter().chain(optional);
    all.map(|(name, derived)| setting(name, derived, written(name))).collect()
}

fn rate(seen: &Seen<'_>, op: OpKind) -> Derived {
    let (rate, how) = seen.rate(op, Locality::Random, REQUEST)?;
    Ok((format!("{rate:.0}"), format!("the largest rate of random {}s of 4 KiB{how}", op.name())))
}

fn flow(seen: &Seen<'_>, op: OpKind) -> Derived {
    let flow = seen.flow(op)?;
    let derivation = format!(
        "bytes per second, the largest throughput of sequential {}s, with {} at depth {}",
        op.name(),
        format_bytes(flow.bytes),
        flow.depth
    );
    Ok((format!("{:.0}", flow.bytes_per_s), derivation))
}

fn length(seen: &Seen<'_>, op: OpKind) -> Derived {
    let (bytes, words) = seen.enough_bytes(op)?;
    Ok((bytes.to_string(), words))
}
