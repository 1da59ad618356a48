//! Reads the conditions under which a number was measured, from the registry and a few calls.

use crate::kernel::error::system_words;
use crate::kernel::read::Roots;
use crate::kernel::windows::processors::{FIRST_PROCESSOR, allowed};
use crate::kernel::windows::unsafe_calls::{local_machine_number, local_machine_text, memory};
use record::{Bytes, DeviceFacts, Environment, Finding};
use std::arch::x86_64::__cpuid;

const VERSION: &str = r"SOFTWARE\Microsoft\Windows NT\CurrentVersion";
const FIRMWARE: &str = r"HARDWARE\DESCRIPTION\System\BIOS";
/// The CPU flag for the presence of a hypervisor (leaf 1, ecx).
const HYPERVISOR_BIT: u32 = 1 << 31;
/// Names of hypervisors in leaf 0x4000_0000.
const HYPERVISORS: [(&str, &str); 5] = [
    ("Microsoft Hv", "Hyper-V"),
    ("KVMKVMKVM", "KVM"),
    ("VMwareVMware", "VMware"),
    ("XenVMMXenVMM", "Xen"),
    ("VBoxVBoxVBox", "VirtualBox"),
];

/// Reads the conditions. Windows has no control groups, so the disk adds nothing.
#[must_use]
pub fn environment(_roots: &Roots, _disk: Option<&DeviceFacts>) -> Environment {
    Environment {
        kernel: release(),
        cpu: local_machine_text(FIRST_PROCESSOR, "ProcessorNameString").unwrap_or_default(),
        cpus: allowed().len() as u32,
        memory_bytes: Bytes(memory().map_or(0, |memory| memory.total)),
        governor: None,
        virtualization: virtualization(),
        // Windows does not report the source of its performance counter.
        clocksource: None,
        cgroup_limits: Vec::new(),
    }
}

/// Findings from the conditions: none on Windows.
#[must_use]
pub fn environment_findings(_environment: &Environment) -> Vec<Finding> {
    Vec::new()
}

/// `Windows 10.0.19045`; parts that are missing in the registry are left out.
pub(crate) fn release() -> String {
    let number = |name| local_machine_number(VERSION, name).map(|number| number.to_string());
    let text = |name| local_machine_text(VERSION, name);
    let newer = number("CurrentMajorVersionNumber").zip(number("CurrentMinorVersionNumber"));
    let version = newer.map(|(major, minor)| format!("{major}.{minor}"));
    // Before Windows 10 it is a single text.
    let parts = [version.or_else(|| text("CurrentVersion")), text("CurrentBuildNumber")];
    let version: Vec<String> = parts.into_iter().flatten().collect();
    format!("Windows {}", version.join(".")).trim_end().to_owned()
}

/// The hypervisor, as far as it is visible; `None` on bare metal.
fn virtualization() -> Option<String> {
    if __cpuid(1).ecx & HYPERVISOR_BIT == 0 {
        return None;
    }
    let leaf = __cpuid(0x4000_0000);
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let name = String::from_utf8_lossy(&bytes).trim_matches('\0').to_owned();
    let known = HYPERVISORS.iter().find(|(begin, _)| name.starts_with(begin));
    let maker =
        || local_machine_text(FIRMWARE, "SystemManufacturer").filter(|text| !text.is_empty());
    known.map(|(_, name)| (*name).to_owned()).or_else(maker).or(Some("unknown hypervisor".into()))
}

/// Checks that this program may use large pages. Windows allows them only to accounts with the right to
/// lock pages in memory, which no account has by default.
///
/// # Errors
/// Why it may not, and what to do, as a clause.
pub fn check_huge_pages(_roots: &Roots) -> Result<(), String> {
    engine::allow_large_pages().map(drop).map_err(|cause| {
        let cause = system_words(&cause.into());
        format!(
            "Windows provides large pages only to an account that may lock pages in memory \
             ({cause}); grant this right (secpol.msc, Local Policies, User Rights Assignment: Lock \
             pages in memory) and log on again"
        )
    })
}
