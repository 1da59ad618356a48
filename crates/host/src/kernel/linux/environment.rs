//! Reads the conditions under which a number was measured.
//!
//! Two results can be compared only if these are alike, so every trial stores them. All of them are read
//! from /proc and /sys, none from the program's own process state, so that a test can substitute another
//! machine. The hypervisor is identified from the firmware tables or the clock sources. If the processor
//! only reports that there is one, it is called unknown. Rejected: the CPUID leaf of the hypervisor, which
//! no fake tree can replace.

use crate::kernel::linux::cgroup::limits;
use crate::kernel::linux::processors;
use crate::kernel::read::{Roots, field, memory_field, text};
use record::{
    Bytes, CgroupLimit, DeviceFacts, Environment, Finding, FindingCode, format_iops, format_rate,
};

/// Where sysfs lists the current and the available clock sources.
const CLOCK_SOURCES: &str = "devices/system/clocksource/clocksource0";

/// The line of /proc/cpuinfo that only processors of Arm's architecture have.
const IMPLEMENTER: &str = "CPU implementer";

/// Cores of servers and of small computers by implementer and part (the Main ID Register, as each core's
/// Technical Reference Manual gives it).
const CORES: [((&str, &str), &str); 8] = [
    (("0x41", "0xd08"), "Arm Cortex-A72"),
    (("0x41", "0xd0b"), "Arm Cortex-A76"),
    (("0x41", "0xd0c"), "Arm Neoverse-N1"),
    (("0x41", "0xd40"), "Arm Neoverse-V1"),
    (("0x41", "0xd49"), "Arm Neoverse-N2"),
    (("0x41", "0xd4f"), "Arm Neoverse-V2"),
    (("0x41", "0xd03"), "Arm Cortex-A53"),
    (("0xc0", "0xac3"), "Ampere-1"),
];

/// Vendors of hypervisors that also make machines, and the product name of a virtual one.
const MAKERS: [(&str, &str); 2] =
    [("Google", "Google Compute Engine"), ("Microsoft Corporation", "Virtual Machine")];
/// The suffix of Amazon's machine types without a hypervisor, which have the same vendor.
const METAL: &str = ".metal";

const HYPERVISORS: [(&str, &str); 11] = [
    ("QEMU", "KVM or QEMU"),
    ("KVM", "KVM"),
    ("Amazon EC2", "Amazon EC2"),
    ("Google", "Google Compute Engine"),
    ("VMware", "VMware"),
    ("innotek", "VirtualBox"),
    ("VirtualBox", "VirtualBox"),
    ("Microsoft Corporation", "Hyper-V"),
    ("Xen", "Xen"),
    ("Parallels", "Parallels"),
    ("OpenStack", "OpenStack"),
];

/// Reads the conditions; `disk` adds the limits on it.
#[must_use]
pub fn environment(roots: &Roots, disk: Option<&DeviceFacts>) -> Environment {
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let meminfo = text(&roots.proc.join("meminfo")).unwrap_or_default();
    // All values that occur, if processors differ.
    let governors: Vec<String> = processors::governors(roots).into_iter().collect();
    Environment {
        kernel: text(&roots.proc.join("sys/kernel/osrelease")).unwrap_or_default(),
        cpu: processor(&cpuinfo),
        cpus: processors::allowed(roots).len() as u32,
        memory_bytes: Bytes(memory_field(&meminfo, "MemTotal").unwrap_or(0)),
        governor: (!governors.is_empty()).then(|| governors.join(", ")),
        virtualization: virtualization(roots, &cpuinfo),
        clocksource: text(&roots.sys.join(CLOCK_SOURCES).join("current_clocksource")),
        cgroup_limits: disk.map(|disk| limits(roots, disk)).unwrap_or_default(),
    }
}

/// The processor's name. On aarch64 the kernel only gives numbers, for the manufacturer and the part.
fn processor(cpuinfo: &str) -> String {
    if let Some(name) = field(cpuinfo, "model name") {
        return name.to_owned();
    }
    match (field(cpuinfo, IMPLEMENTER), field(cpuinfo, "CPU part")) {
        (Some(maker), Some(part)) => {
            let known = CORES.iter().find(|(numbers, _)| *numbers == (maker, part));
            known.map_or_else(
                || format!("aarch64, implementer {maker}, part {part}"),
                |(_, name)| (*name).to_owned(),
            )
        }
        _ => String::new(),
    }
}

/// Findings from the conditions: a limit above the disk.
#[must_use]
pub fn environment_findings(environment: &Environment) -> Vec<Finding> {
    environment.cgroup_limits.iter().map(cgroup_finding).collect()
}

fn cgroup_finding(limit: &CgroupLimit) -> Finding {
    let per_s = limit.limit_per_s as f64;
    let op = limit.limited.op().name();
    let (unit, rate) = if limit.limited.is_bytes() {
        ("bytes/s", format_rate(per_s))
    } else {
        ("IOPS", format_iops(per_s))
    };
    let claim = format!(
        "The control group {:?} limits {op}s on device {} to {rate}: results near this limit show \
         the limit, not the disk.",
        limit.group, limit.major_minor
    );
    Finding::warning(FindingCode::CgroupLimit, claim, CgroupLimit::LIFT).with("limit", per_s, unit)
}

/// The hypervisor, as far as it is visible; `None` on bare metal.
fn virtualization(roots: &Roots, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = text(&roots.sys.join("hypervisor/type")) {
        return Some(kind);
    }
    // Arm processors do not report a hypervisor; there only the firmware shows it.
    let arm = field(cpuinfo, IMPLEMENTER).is_some();
    let flags = field(cpuinfo, "flags").unwrap_or_default();
    if !arm && !flags.split_ascii_whitespace().any(|flag| flag == "hypervisor") {
        return None;
    }
    if arm && !is_arm_guest(roots) {
        return None;
    }
    let firmware = ["sys_vendor", "product_name", "bios_vendor"]
        .iter()
        .filter_map(|name| text(&roots.sys.join("class/dmi/id").join(name)))
        .find_map(|claim| HYPERVISORS.iter().find(|(begin, _)| claim.starts_with(begin)));
    if let Some((_, name)) = firmware {
        return Some((*name).to_owned());
    }
    if arm {
        return None;
    }
    let clocks =
        text(&roots.sys.join(CLOCK_SOURCES).join("available_clocksource")).unwrap_or_default();
    let known = [("kvm-clock", "KVM"), ("hyperv", "Hyper-V")];
    let known = known.iter().find(|(clock, _)| clocks.contains(clock));
    Some(known.map_or("unknown hypervisor", |(_, name)| name).to_owned())
}

/// Whether the firmware of an Arm machine describes a guest; see `MAKERS` for the product names.
fn is_arm_guest(roots: &Roots) -> bool {
    let says = |name: &str| text(&roots.sys.join("class/dmi/id").join(name)).unwrap_or_default();
    let (vendor, product) = (says("sys_vendor"), says("product_name"));
    let maker = MAKERS.iter().find(|(name, _)| vendor.starts_with(name));
    !product.ends_with(METAL) && maker.is_none_or(|(_, guest)| product.starts_with(guest))
}

/// Checks that a program may request huge pages (transparent ones).
///
/// # Errors
/// Why it may not, and what to do, as a clause.
pub fn check_huge_pages(roots: &Roots) -> Result<(), String> {
    let modes = text(&roots.sys.join("kernel/mm/transparent_hugepage/enabled"));
    match modes.is_some_and(|modes| !modes.contains("[never]")) {
        true => Ok(()),
        false => Err("the kernel provides no huge pages; write madvise to \
                      /sys/kernel/mm/transparent_hugepage/enabled"
            .to_owned()),
    }
}
