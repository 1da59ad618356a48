//! Locates the kernel's file systems, and reads their small text files.
//!
//! Each attribute in sysfs and procfs is one short text. A missing, unreadable or empty file means that
//! this kernel or driver does not give the fact, so the functions return `None` and not an error: a disk
//! without a serial number is not a failure. Rejected: constants for the paths, because then tests would
//! work only on the developer's own machine.

use engine::input;
use record::KernelAccounting;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The three directory trees that facts are read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roots {
    /// Mount point of procfs.
    pub proc: PathBuf,
    /// Mount point of sysfs.
    pub sys: PathBuf,
    /// Directory of the device nodes.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::of_this_machine()
    }
}

impl Roots {
    #[cfg(not(windows))]
    fn of_this_machine() -> Self {
        Self { proc: "/proc".into(), sys: "/sys".into(), dev: "/dev".into() }
    }

    /// Windows has no such trees: nothing is below these names, whatever folders a drive contains.
    #[cfg(windows)]
    fn of_this_machine() -> Self {
        Self::below(Path::new(r"\\.\NUL"))
    }

    /// The trees `proc`, `sys` and `dev` below one folder.
    #[must_use]
    pub fn below(folder: &Path) -> Self {
        Self { proc: folder.join("proc"), sys: folder.join("sys"), dev: folder.join("dev") }
    }

    /// The location in these trees of a path that the kernel printed (`/sys/fs/cgroup`).
    pub fn locate(&self, printed: &Path) -> PathBuf {
        for (prefix, root) in [("/proc", &self.proc), ("/sys", &self.sys), ("/dev", &self.dev)] {
            if let Ok(rest) = printed.strip_prefix(prefix) {
                // Joining an empty path would add a slash, which readers of symlinks reject.
                return if rest.as_os_str().is_empty() { root.clone() } else { root.join(rest) };
            }
        }
        printed.to_owned()
    }
}

/// The trimmed text of a small file; `None` if it is missing, unreadable or empty.
pub fn text(path: &Path) -> Option<String> {
    let bytes = input::kernel_bytes(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!trimmed.is_empty()).then(|| trimmed.to_owned())
}

/// The number in a small file.
pub fn number(path: &Path) -> Option<u64> {
    text(path)?.parse().ok()
}

/// The value of the first line `key : value`, as in /proc/meminfo, cpuinfo and status.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// The number of the first line `name N`, as in /proc/vmstat and memory.stat of a control group.
pub fn count(text: &str, name: &str) -> Option<u64> {
    let number = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    number.trim().parse().ok()
}

/// A line `key: N kB` of /proc/meminfo, in bytes.
pub fn memory_field(meminfo: &str, key: &str) -> Option<u64> {
    let kib: u64 = field(meminfo, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// The numbers in a kernel list such as `0-3,8`; other parts are ignored.
pub fn cpu_list(list: &str) -> BTreeSet<u32> {
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        Some(first.trim().parse().ok()?..=last.trim().parse().ok()?)
    };
    list.split(',').filter_map(range).flatten().collect()
}

/// Count of the numbers in such a list.
pub fn count_list(list: &str) -> u32 {
    cpu_list(list).len() as u32
}

/// Major and minor number of a device, as the kernel prints them: `8:0`.
pub(crate) fn parse_numbers(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The numbers of a device, given its directory in sysfs.
pub fn device_numbers(directory: &Path) -> Option<(u32, u32)> {
    parse_numbers(&text(&directory.join("dev"))?)
}

/// Clock ticks of all processors since boot: user, nice, system, idle, iowait, irq, softirq and steal. The
/// guest columns after them are already included in the first two.
pub fn cpu_ticks(roots: &Roots) -> Option<[u64; 8]> {
    let stat = text(&roots.proc.join("stat"))?;
    let mut words = stat.lines().next()?.split_ascii_whitespace();
    (words.next()? == "cpu").then_some(())?;
    let mut ticks = [0; 8];
    for tick in &mut ticks {
        *tick = words.next()?.parse().ok()?;
    }
    Some(ticks)
}

/// How the ticks between two readings were spent; `None` if there are none.
pub(crate) fn accounting(ticks: [u64; 8]) -> Option<KernelAccounting> {
    let [.., idle, iowait, irq, softirq, steal] = ticks;
    let all: u64 = ticks.iter().sum();
    let share = |ticks: u64| ticks as f64 / all as f64;
    (all > 0).then(|| KernelAccounting {
        idle: share(idle + iowait),
        interrupts: share(irq + softirq),
        steal: share(steal),
    })
}

/// The names in a directory, sorted; empty if it does not exist. The order in which sysfs lists entries is
/// undefined, and facts must not change from run to run.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The last component of a path as text; empty if it has none.
pub fn base_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// The last component of a symlink's target.
pub fn link_name(link: &Path) -> Option<String> {
    fs::read_link(link).ok().map(|target| base_name(&target)).filter(|name| !name.is_empty())
}
