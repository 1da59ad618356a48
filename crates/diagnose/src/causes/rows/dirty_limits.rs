//! Detects unusually low dirty-memory limits.
//!
//! The rules of the diagnosis detect programs that are throttled at the limit (`dirty_throttle`).
//! This check reads the setting.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::read::memory_field;
use record::LayerKind;

pub(super) const ROW: Check = Check {
    name: "dirty_limits",
    causes: &[11],
    layer: LayerKind::PageCache,
    reads: "vm.dirty_bytes, vm.dirty_ratio and their background values in /proc/sys/vm",
    source: "https://docs.kernel.org/admin-guide/sysctl/vm.html#dirty-bytes",
    basis: Basis::Facts { when: When::Begin, read, judge },
};

const BYTES: &str = "dirty_bytes";
const RATIO: &str = "dirty_ratio";
const NAMES: [(&str, &str); 4] =
    [(BYTES, "B"), (RATIO, "%"), ("dirty_background_bytes", "B"), ("dirty_background_ratio", "%")];
/// Less than a second of a fast disk's writes.
const LOW_BYTES: f64 = 64e6;
/// Dirty pages as a share of the limit, from which programs may be throttled.
const REACHED: f64 = 0.5;
const MEMORY: &str = "memory";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let value = |name: &str| host.proc(&format!("sys/vm/{name}"))?.parse::<f64>().ok();
    let fact = NAMES
        .iter()
        .fold(Fact::of_machine(), |fact, (name, unit)| fact.number(name, value(name), unit));
    let memory = host.proc("meminfo").and_then(|text| memory_field(&text, "MemTotal"));
    reader.add(fact.number(MEMORY, memory.map(|bytes| bytes as f64), "B"));
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    // One of the two settings is 0; the other applies.
    let bytes = fact.number(BYTES).filter(|bytes| *bytes > 0.0);
    let ratio = fact.number(RATIO).filter(|ratio| *ratio > 0.0);
    let memory = fact.number(MEMORY).unwrap_or(f64::INFINITY);
    let (says, degree) = match (bytes, ratio) {
        (Some(bytes), _) if bytes < LOW_BYTES => {
            let text = record::format_bytes(bytes as u64);
            let says = format!("vm.dirty_bytes is {text}: the kernel allows no more dirty data.");
            (says, LOW_BYTES / bytes)
        }
        (None, Some(ratio)) if ratio / 100.0 * memory < LOW_BYTES => {
            let degree = LOW_BYTES / (ratio / 100.0 * memory);
            (format!("vm.dirty_ratio is {ratio} % of memory."), degree)
        }
        _ => return None,
    };
    let reached = view.load.dirty.is_none_or(|share| share >= REACHED);
    let waits = view.load.writes_per_s > 0.0 && reached;
    let action = "Raise the limit (sysctl vm.dirty_bytes=536870912 \
                  vm.dirty_background_bytes=134217728), unless it is low on purpose to keep syncs \
                  short.";
    Some(Claim::unusual(says, &[Effect::WaitsAbove], action).only_if(waits).by(degree))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    #[test]
    fn a_low_limit_explains_waits_of_writers_and_the_kernels_own_does_not() {
        let staged = |bytes: u64, ratio: u64| {
            let fake = Fake::new();
            fake.proc("sys/vm/dirty_bytes", &format!("{bytes}\n"));
            fake.proc("sys/vm/dirty_ratio", &format!("{ratio}\n"));
            facts("dirty_limits", &fake, &disk("sda", |_| {}))
        };
        let sda = disk("sda", |_| {});
        let writes = Load { writes_per_s: 10.0, ..Load::default() };
        let (low, usual) = (staged(16_777_216, 0), staged(0, 20));
        let now = Machine { facts: &low, disk: Some(&sda), ..Machine::default() };
        cause_only_with_effect("dirty_limits", now, Effect::WaitsAbove, writes);
        nothing("dirty_limits", now, Load { reads_per_s: 10.0, ..Load::default() });
        // Hardly any page is dirty: programs wait for something else.
        nothing("dirty_limits", now, Load { dirty: Some(0.1), ..writes });
        nothing("dirty_limits", Machine { facts: &usual, ..now }, writes);
    }
}
