//! Checks whether requests can be traced on this machine.

use super::events::TRACEFS;
use super::tracer::{Tracer, request_disks};
use crate::kernel::Roots;
use record::{Capability, DeviceFacts};

/// Whether the events exist, and whether the tracer can attach to a disk.
#[must_use]
pub fn capabilities(roots: &Roots, disk: Option<&DeviceFacts>) -> Vec<Capability> {
    let tracer = tracer(roots, disk);
    // The tracer works even without a mounted tracefs; a missing tracefs counts only if the tracer fails.
    let missing = Some(tracepoints(roots)).filter(|found| !tracer.available && !found.available);
    missing.into_iter().chain([tracer]).collect()
}

fn tracepoints(roots: &Roots) -> Capability {
    let found = TRACEFS.iter().find(|mount| roots.sys.join(mount).join("events/block").exists());
    Capability::of(
        "block tracepoints",
        found.is_some(),
        found.map_or("no tracefs with block events is visible".to_owned(), |mount| {
            format!("in /sys/{mount}")
        }),
        "queue and device time per request are unknown; as root, run 'mount -t tracefs nodev \
         /sys/kernel/tracing'",
    )
}

/// Attaches the tracer to the disk briefly.
fn tracer(roots: &Roots, disk: Option<&DeviceFacts>) -> Capability {
    let disks = request_disks(roots, disk.map(|disk| disk.disk.as_str()));
    let numbers: Vec<(u32, u32)> = disks.iter().map(|&(_, number)| number).collect();
    let (available, detail) = match Tracer::open(roots, &numbers) {
        Ok(tracer) if tracer.lacks.is_empty() => (true, "works".to_owned()),
        Ok(tracer) => (true, format!("works; {}", tracer.lacks.join("; "))),
        Err(error) => (false, error.to_string()),
    };
    let remedy = "record, watch and diagnose use only the counters; run as root, on a disk that \
                  is in use";
    Capability::of("request tracer", available, detail, remedy)
}
