//! Reads the processor's caches and the memory settings that affect speed from sysfs.
//!
//! Cache sizes decide where a buffer resides. In a virtual machine the hypervisor invents them, usually as
//! those of the physical processor, which the machine shares with others. A buffer that must be in memory
//! is therefore several times the largest reported cache.

use host::kernel::read::{count_list, field, text};
use host::kernel::{self, Roots};
use record::{Bytes, ProcessorCache};
use std::path::Path;

/// Where sysfs lists the caches of the first processor.
const CACHES: &str = "devices/system/cpu/cpu0/cache";
/// Where sysfs reports whether large buffers get huge pages.
const HUGE_PAGES: &str = "kernel/mm/transparent_hugepage/enabled";

/// The data and unified caches of the first processor, nearest first.
#[must_use]
pub fn caches(roots: &Roots) -> Vec<ProcessorCache> {
    let folder = roots.sys.join(CACHES);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut caches: Vec<ProcessorCache> =
        entries.flatten().filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_cached_key(|cache| (cache.level, cache.bytes));
    caches
}

fn cache(folder: &Path) -> Option<ProcessorCache> {
    let kind = text(&folder.join("type"))?;
    if !matches!(kind.as_str(), "Data" | "Unified") {
        return None;
    }
    let size = text(&folder.join("size"))?;
    let bytes = match size.split_at_checked(size.len().checked_sub(1)?)? {
        (number, "K") => number.parse::<u64>().ok()? << 10,
        (number, "M") => number.parse::<u64>().ok()? << 20,
        _ => size.parse().ok()?,
    };
    let list = text(&folder.join("shared_cpu_list")).unwrap_or_default();
    Some(ProcessorCache {
        level: text(&folder.join("level"))?.parse().ok()?,
        bytes: Bytes(bytes),
        shared_by: count_list(&list).max(1),
    })
}

/// Whether large buffers get huge pages: the word in brackets in the kernel's list.
#[must_use]
pub fn huge_pages(roots: &Roots) -> Option<String> {
    let words = text(&roots.sys.join(HUGE_PAGES))?;
    let chosen = words.split_once('[')?.1.split_once(']')?.0;
    Some(chosen.to_owned())
}

/// Memory that a program can use without evicting anything.
#[must_use]
pub fn available_memory(roots: &Roots) -> Option<Bytes> {
    kernel::available_memory(roots).map(Bytes)
}

/// Bytes that this process has read from devices so far; `None` if the kernel does not account for them.
#[must_use]
pub fn device_read_bytes(roots: &Roots) -> Option<u64> {
    let account = text(&roots.proc.join("self/io"))?;
    field(&account, "read_bytes")?.parse().ok()
}
