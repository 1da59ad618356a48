//! Lists what this machine can and cannot measure, and why, for `halfpower doctor`.
//!
//! Each feature is tried. Features that only Linux has are listed with the reason, so that users need not
//! search for them.

use crate::kernel::read::Roots;
use crate::kernel::windows::device::opened_as;
use crate::kernel::windows::disk_layers::DiskLayers;
use crate::kernel::windows::environment::{check_huge_pages, environment, release};
use crate::kernel::windows::filesystem::filesystem_of;
use crate::kernel::windows::probe::performance;
use crate::kernel::windows::processors;
use crate::kernel::windows::unsafe_calls::open_device;
use record::{Capability, DeviceFacts};
use std::path::Path;
use windows_sys::Win32::Foundation::GENERIC_READ;

pub(crate) fn capabilities(
    roots: &Roots,
    disk: Option<&DeviceFacts>,
    upper_bound: Capability,
) -> Vec<Capability> {
    let not_here = |name, lost| Capability::of(name, false, "not on Windows", lost);
    vec![
        Capability::of("system", true, release(), ""),
        administrator(disk),
        device_counters(disk),
        disk_layers(),
        link_facts(disk),
        clock(),
        processor_time(),
        clock_frequency(),
        upper_bound,
        large_pages(roots),
        hypervisor(roots),
        not_here(
            "io_uring",
            "this Linux engine is not available: use --ioengine iocp, events, readfileex or sync",
        ),
        not_here("instructions", "CPU time is measured without them"),
        not_here(
            "steal time",
            "if the hypervisor gives CPU time to other guests, the CPUs look slow",
        ),
        not_here("pressure stall information", "stalls above the disk are invisible"),
        not_here(
            "control group limits",
            "limits of job objects and of storage QoS are not visible",
        ),
    ]
}

/// The disk under a directory.
#[must_use]
pub fn disk_of(_roots: &Roots, dir: &Path) -> Option<DeviceFacts> {
    filesystem_of(dir).ok()?.1
}

/// Whether disks can be opened, which shows whether this is an administrator.
fn administrator(disk: Option<&DeviceFacts>) -> Capability {
    let remedy = "whole disks and volumes cannot be read or written: run as administrator";
    let Some(disk) = disk else {
        return Capability::of("raw disks", false, "the directory's disk is unknown", remedy);
    };
    let outcome = open_device(&opened_as(&disk.disk), GENERIC_READ, 0)
        .map(|_| format!("{} can be opened", disk.disk))
        .map_err(|error| format!("{}: {error}", disk.disk));
    Capability::tried("raw disks", outcome, remedy)
}

fn device_counters(disk: Option<&DeviceFacts>) -> Capability {
    let name = "device counters";
    let Some(disk) = disk else {
        let detail = "the directory's disk is unknown (IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS)";
        let remedy = "device activity cannot be checked: name a directory on a local disk";
        return Capability::of(name, false, detail, remedy);
    };
    let opened = open_device(&opened_as(&disk.disk), 0, 0);
    let outcome = opened
        .and_then(|handle| performance(&handle))
        .map(|_| format!("of {}", disk.leaves.join(", ")))
        .map_err(|error| format!("{} (IOCTL_DISK_PERFORMANCE): {error}", disk.disk));
    let remedy = "device activity cannot be checked: enable the counters (diskperf -y)";
    Capability::tried(name, outcome, remedy)
}

/// Whether perfmon's disk counters are available, for disks whose driver does not respond.
fn disk_layers() -> Capability {
    let outcome = DiskLayers::open()
        .map(|_| "PhysicalDisk and LogicalDisk, for disks whose driver provides no counters")
        .map_err(|error| error.to_string());
    let remedy = "disks whose driver provides no counters cannot be observed; rebuild the \
                  counters (lodctr /R)";
    Capability::tried("counters by PDH", outcome, remedy)
}

fn large_pages(roots: &Roots) -> Capability {
    let outcome = check_huge_pages(roots).map(|()| "available");
    Capability::tried("large pages", outcome, "--huge-pages is refused")
}

fn link_facts(disk: Option<&DeviceFacts>) -> Capability {
    let link = disk.and_then(|disk| Some(format!("{}: {}", disk.disk, disk.link.as_ref()?)));
    let remedy = "the speed of the path to the disk is unknown";
    Capability::tried("link facts", link.ok_or("the driver reports no bus"), remedy)
}

fn clock() -> Capability {
    Capability::of("clock", true, "QueryPerformanceCounter", "")
}

fn processor_time() -> Capability {
    let detail = "user and system time are counted in timer ticks of about 15 ms";
    let remedy = "measure for seconds, not for tenths of a second";
    Capability::of("exact CPU split", false, detail, remedy)
}

fn clock_frequency() -> Capability {
    let clock = processors::clock()
        .map(|clock| format!("{:.2} GHz, from the {}; nominal", clock.hz / 1e9, clock.source));
    let remedy = "clock cycles per byte are unknown; CPU time is measured without them";
    Capability::tried("processor clock", clock.ok_or("the registry has no frequency"), remedy)
}

fn hypervisor(roots: &Roots) -> Capability {
    let found = environment(roots, None).virtualization;
    let detail =
        found.map_or("no hypervisor was found".to_owned(), |name| format!("runs on {name}"));
    Capability::of("hypervisor", true, detail, "")
}
