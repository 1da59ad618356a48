//! The processor's caches and what decides how memory behaves, from sysfs.
//!
//! Sizes decide where a buffer lives. In a virtual machine the hypervisor makes them up, usually
//! as those of the processor below, of which the machine has a share: a buffer that is meant to
//! lie in memory is therefore several times the largest cache that is told.

use kernel::Roots;
use record::{Bytes, ProcessorCache};
use std::path::Path;

/// Where sysfs lists the caches of the first processor.
const CACHES: &str = "devices/system/cpu/cpu0/cache";
/// Where it says whether large buffers get huge pages.
const HUGE_PAGES: &str = "kernel/mm/transparent_hugepage/enabled";

/// The data and unified caches of the first processor, nearest first.
#[must_use]
pub fn caches(roots: &Roots) -> Vec<ProcessorCache> {
    let folder = roots.sys.join(CACHES);
    let Ok(entries) = std::fs::read_dir(&folder) else { return Vec::new() };
    let mut caches: Vec<ProcessorCache> =
        entries.flatten().filter_map(|entry| cache(&entry.path())).collect();
    caches.sort_by_key(|cache| (cache.level, cache.bytes));
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
        shared_by: list.split(',').map(members).sum::<u32>().max(1),
    })
}

/// Entries of one range of a kernel list: `3` or `0-7`.
fn members(range: &str) -> u32 {
    let (first, last) = range.split_once('-').unwrap_or((range, range));
    match (first.trim().parse::<u32>(), last.trim().parse::<u32>()) {
        (Ok(first), Ok(last)) if first <= last => last - first + 1,
        _ => 0,
    }
}

/// Whether large buffers get huge pages: the word in brackets of the kernel's list.
#[must_use]
pub fn huge_pages(roots: &Roots) -> Option<String> {
    let words = text(&roots.sys.join(HUGE_PAGES))?;
    let chosen = words.split_once('[')?.1.split_once(']')?.0;
    Some(chosen.to_owned())
}

/// Memory that a program can have without pushing anything out.
#[must_use]
pub fn available_memory(roots: &Roots) -> Option<Bytes> {
    let info = text(&roots.proc.join("meminfo"))?;
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes(kib << 10))
}

/// Bytes that this process has read from devices so far; `None` where the kernel keeps no account.
#[must_use]
pub fn device_read_bytes(roots: &Roots) -> Option<u64> {
    let account = text(&roots.proc.join("self/io"))?;
    account.lines().find_map(|line| line.strip_prefix("read_bytes:"))?.trim().parse().ok()
}

pub(crate) fn text(path: &Path) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let trimmed = text.trim();
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let folder = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }
        let root = |name| folder.path().join(name);
        let roots = Roots { proc: root("proc"), sys: root("sys"), dev: root("dev") };
        (folder, roots)
    }

    #[test]
    fn data_caches_are_listed_nearest_first_and_instruction_caches_are_not() {
        let at = "sys/devices/system/cpu/cpu0/cache";
        let files: Vec<(String, &str)> = [
            ("index0/level", "1\n"),
            ("index0/type", "Data\n"),
            ("index0/size", "48K\n"),
            ("index0/shared_cpu_list", "0,4\n"),
            ("index1/level", "1\n"),
            ("index1/type", "Instruction\n"),
            ("index1/size", "32K\n"),
            ("index3/level", "3\n"),
            ("index3/type", "Unified\n"),
            ("index3/size", "105M\n"),
            ("index3/shared_cpu_list", "0-7\n"),
        ]
        .map(|(path, content)| (format!("{at}/{path}"), content))
        .to_vec();
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, content)| (path.as_str(), *content)).collect();
        let (_folder, roots) = machine(&files);
        let expected = [(1, 48 << 10, 2), (3, 105 << 20, 8)].map(|(level, bytes, shared_by)| {
            ProcessorCache { level, bytes: Bytes(bytes), shared_by }
        });
        assert_eq!(caches(&roots), expected);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_caches_and_no_figures() {
        let (_folder, roots) = machine(&[]);
        assert!(caches(&roots).is_empty());
        assert_eq!(huge_pages(&roots), None);
        assert_eq!(available_memory(&roots), None);
        assert_eq!(device_read_bytes(&roots), None);
    }

    #[test]
    fn the_kernels_words_are_read_as_it_prints_them() {
        let (_folder, roots) = machine(&[
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
            ("proc/meminfo", "MemTotal:  8 kB\nMemAvailable:     1024 kB\n"),
            ("proc/self/io", "rchar: 5\nread_bytes: 4096\nwrite_bytes: 1\n"),
        ]);
        assert_eq!(huge_pages(&roots).as_deref(), Some("madvise"));
        assert_eq!(available_memory(&roots), Some(Bytes(1 << 20)));
        assert_eq!(device_read_bytes(&roots), Some(4096));
    }
}
