//! Lists what this machine can and cannot measure, and why, for `halfpower doctor`.
//!
//! Each feature is tried, not looked up by version: distributions and containers remove features that the
//! version promises. For a missing feature, the entry tells what is lost and how to enable it. Nothing on
//! the machine is changed; the attempts create unnamed files and close what they open. Rejected: one score
//! for the machine, which would hide which number suffers.

use crate::kernel::linux::cgroup::{io_version, limits};
use crate::kernel::linux::diskstats::{counted_devices, read_lines};
use crate::kernel::linux::environment::environment;
use crate::kernel::linux::filesystem::locate_filesystem;
use crate::kernel::linux::perf::{PerfCounter, paranoid_level};
use crate::kernel::linux::probe::{cpu_split, machine_times};
use crate::kernel::linux::processors;
use crate::kernel::read::{Roots, field, text};
use engine::EngineError;
use record::{Capability, CgroupLimit, CpuSplit, DeviceFacts, format_bytes};
use rustix::fs::{Access, Mode, OFlags};
use rustix::process::{Resource, geteuid, getrlimit};
use std::ffi::OsStr;
use std::path::Path;

/// Locked memory that a large run registers with the kernel: 256 slots of 1 MiB and the rings.
const MEMLOCK_WANTED_BYTES: u64 = 272 << 20;

pub(crate) fn capabilities(
    roots: &Roots,
    disk: Option<&DeviceFacts>,
    upper_bound: Capability,
) -> Vec<Capability> {
    vec![
        root(),
        device_counters(roots, disk),
        link_facts(disk),
        io_uring(engine::probe_uring()),
        locked_memory(),
        clock(roots),
        split(roots),
        steal(roots),
        governor(roots),
        clock_frequency(roots),
        perf_events(roots, PerfCounter::instructions(roots).err().as_deref()),
        upper_bound,
        pressure(roots),
        control_groups(roots, disk),
        fio(std::env::var_os("PATH").as_deref()),
    ]
}

/// The disk under a directory.
#[must_use]
pub fn disk_of(roots: &Roots, dir: &Path) -> Option<DeviceFacts> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let file = rustix::fs::open(dir, flags, Mode::empty()).ok()?;
    locate_filesystem(roots, dir, &file).ok()?.1
}

fn root() -> Capability {
    let is_root = geteuid().is_root();
    let detail = if is_root { "running as root" } else { "running as an ordinary user" };
    let remedy =
        "block devices cannot be read, and the block layer cannot be traced; run as root for both";
    Capability::of("root", is_root, detail, remedy)
}

fn device_counters(roots: &Roots, disk: Option<&DeviceFacts>) -> Capability {
    let name = "device counters";
    let Some(disk) = disk else {
        let remedy = "device activity cannot be checked: name a directory on a disk";
        return Capability::of(name, false, "the directory's block device is unknown", remedy);
    };
    if disk.iostats == Some(false) {
        let remedy = "write 1 to queue/iostats of the disk in /sys/block";
        return Capability::of(name, false, format!("{}: queue/iostats is 0", disk.disk), remedy);
    }
    let devices = counted_devices(disk);
    let read = read_lines(roots, &devices).map_err(|error| error.to_string());
    let outcome = read.map(|_| format!("of {}", devices.join(", ")));
    Capability::tried(name, outcome, "check that /proc is mounted")
}

fn link_facts(disk: Option<&DeviceFacts>) -> Capability {
    let link = disk.and_then(|disk| Some(format!("{}: {}", disk.disk, disk.link.as_ref()?)));
    let remedy = "the speed of the path to the disk is unknown";
    Capability::tried("link facts", link.ok_or("sysfs does not report the link"), remedy)
}

fn io_uring(outcome: Result<(), EngineError>) -> Capability {
    match outcome {
        Ok(()) => Capability::of("io_uring", true, "a ring can be created", ""),
        Err(EngineError::Unavailable { cause, errno, remedy, .. }) => {
            Capability::of("io_uring", false, format!("{errno}: {cause}"), remedy)
        }
        Err(error) => {
            let remedy = "check the kernel log; in the meantime, use --ioengine sync";
            Capability::of("io_uring", false, error.to_string(), remedy)
        }
    }
}

fn locked_memory() -> Capability {
    let limit = getrlimit(Resource::Memlock).current;
    let enough = limit.is_none_or(|bytes| bytes >= MEMLOCK_WANTED_BYTES) || geteuid().is_root();
    let detail =
        limit.map_or("unlimited".to_owned(), |it| format!("limited to {}", format_bytes(it)));
    let remedy = "at large queue depths, buffers cannot be registered, which costs some CPU time: raise \
         'ulimit -l'";
    Capability::of("locked memory", enough, detail, remedy)
}

fn clock(roots: &Roots) -> Capability {
    let source = environment(roots, None).clocksource.unwrap_or_else(|| "unknown".to_owned());
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = field(&cpuinfo, "flags").unwrap_or_default();
    let has = |wanted: &str| flags.split_ascii_whitespace().any(|flag| flag == wanted);
    let invariant = has("constant_tsc") && has("nonstop_tsc");
    let invariance = if invariant { "invariant" } else { "not invariant" };
    let detail = format!("clock source {source}; the CPU's counter is {invariance}");
    let remedy = "reading the clock costs more, which matters at high rates; times remain correct";
    Capability::of("invariant clock", invariant && source == "tsc", detail, remedy)
}

fn split(roots: &Roots) -> Capability {
    let exact = cpu_split(roots) == CpuSplit::Exact;
    let detail = if exact {
        "user and system time are measured"
    } else {
        "user and system time are sampled by the timer tick; their sum is exact"
    };
    let remedy = "trust the sum; for an exact split, boot with nohz_full= for the CPUs in use";
    Capability::of("exact CPU split", exact, detail, remedy)
}

fn steal(roots: &Roots) -> Capability {
    let steal = machine_times(roots).and_then(|times| times.steal_ns);
    let detail = steal.map(|steal| match (steal, environment(roots, None).virtualization) {
        (_, None) => "no hypervisor was found, so there is no steal time".to_owned(),
        (0, Some(name)) => {
            format!("{name} has taken no CPU time since boot, or does not report it")
        }
        (ns, Some(name)) => {
            format!("{name} has taken {:.2} s of CPU time since boot", ns as f64 / 1e9)
        }
    });
    let remedy = "if the hypervisor gives CPU time to other guests, the CPUs look slow; use a \
                  newer kernel";
    Capability::tried("steal time", detail.ok_or("the kernel has no such counter"), remedy)
}

fn governor(roots: &Roots) -> Capability {
    let conditions = environment(roots, None);
    let none = match conditions.virtualization {
        Some(name) => format!("the host controls the CPU frequency ({name})"),
        None => "the kernel does not control the CPU frequency".to_owned(),
    };
    let remedy = "a constant CPU frequency cannot be verified";
    Capability::tried("frequency governor", conditions.governor.ok_or(none), remedy)
}

/// `refusal` is the reason if instructions cannot be counted.
fn perf_events(roots: &Roots, refusal: Option<&str>) -> Capability {
    let level = paranoid_level(roots).unwrap_or_else(|| "missing".to_owned());
    let allowed = format!("instructions are counted; kernel.perf_event_paranoid is {level}");
    let detail = refusal.map_or(allowed, str::to_owned);
    let remedy = "instructions per request are unknown; CPU time is measured without them";
    Capability::of("perf events", refusal.is_none(), detail, remedy)
}

fn clock_frequency(roots: &Roots) -> Capability {
    let clock = processors::clock(roots)
        .map(|clock| format!("{:.2} GHz, from {}", clock.hz / 1e9, clock.source));
    let remedy = "clock cycles per byte are unknown; CPU time is measured without them";
    Capability::tried("processor clock", clock.ok_or("the kernel reports no frequency"), remedy)
}

fn pressure(roots: &Roots) -> Capability {
    let lines = text(&roots.proc.join("pressure/io"));
    let line = lines.and_then(|lines| {
        let ten_seconds = lines.split_whitespace().find_map(|word| word.strip_prefix("avg10="))?;
        let share = ten_seconds.parse::<f64>().ok()? / 100.0;
        Some(format!("tasks waited for I/O for {} of the last 10 s", record::format_share(share)))
    });
    let remedy = "stalls above the disk are invisible: boot with psi=1";
    let outcome = line.ok_or("/proc/pressure/io is missing");
    Capability::tried("pressure stall information", outcome, remedy)
}

fn control_groups(roots: &Roots, disk: Option<&DeviceFacts>) -> Capability {
    let detail = io_version(roots).map(|version| {
        let limits = disk.map(|disk| limits(roots, disk)).unwrap_or_default();
        if limits.is_empty() {
            return format!("{version}, no limit on this disk");
        }
        let text = |limit: &CgroupLimit| {
            format!("{} {} {}/s", limit.group, limit.limited.name(), limit.limit_per_s)
        };
        let all: Vec<String> = limits.iter().map(text).collect();
        format!("{version}, in force: {}", all.join("; "))
    });
    let remedy = "limits set outside this container are not visible";
    let outcome = detail.ok_or("no control group here has an I/O controller");
    Capability::tried("control group limits", outcome, remedy)
}

/// `path` is the program search path.
fn fio(path: Option<&OsStr>) -> Capability {
    let mut directories = path.into_iter().flat_map(std::env::split_paths);
    let program = directories.find_map(|directory| {
        let program = directory.join("fio");
        rustix::fs::access(&program, Access::EXEC_OK).ok().map(|()| program.display().to_string())
    });
    let remedy = "comparisons with fio are skipped: install it with the system's package manager";
    Capability::tried("fio", program.ok_or("not installed"), remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::linux::perf::refusal;
    use rustix::io::Errno;
    use testkit::Fake;

    #[test]
    fn what_keeps_instructions_from_being_counted_is_named() {
        let fake = Fake::new();
        fake.proc("sys/kernel/perf_event_paranoid", "3\n");
        let roots = Roots::below(fake.root());
        assert!(perf_events(&roots, None).available);
        let none = perf_events(&roots, Some(&refusal(&roots, Errno::NOENT)));
        assert!(!none.available && none.detail.contains("virtual machines"), "{none:?}");
        let refused = perf_events(&roots, Some(&refusal(&roots, Errno::PERM)));
        assert!(refused.detail.contains("set it to 1 or less"), "{refused:?}");
    }

    #[test]
    fn fio_is_found_along_the_search_path_and_only_if_it_can_be_run() {
        use std::os::unix::fs::PermissionsExt;
        let fake = Fake::new();
        let program = fake.path("fio");
        let directory = program.parent().unwrap().as_os_str();
        assert!(!fio(Some(directory)).available);
        assert!(!fio(None).available);
        std::fs::write(&program, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(fio(Some(directory)).available);
    }
}
