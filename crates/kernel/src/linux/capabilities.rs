//! What this machine can and cannot measure, and why: the list behind `halfpower doctor`.
//!
//! Each entry is tried, not looked up by version: distributions and containers take features away
//! that the version promises. A missing one says what is lost without it and what brings it back.
//! Nothing is changed on the machine; the tries make nameless files and close what they open.
//! Rejected: one score for the machine, which would hide which number suffers.

use crate::linux::cgroup::{io_version, limits};
use crate::linux::device::device_of_mount;
use crate::linux::diskstats::{counted_devices, read_lines};
use crate::linux::environment::environment;
use crate::linux::filesystem::locate_filesystem;
use crate::linux::perf::{PerfRefusal, paranoid_level, try_instructions};
use crate::linux::probe::{cpu_split, steal_ns};
use crate::linux::processors;
use crate::linux::roots::{Roots, field, number, text};
use crate::linux::soaker::{Soaker, SoakerError};
use crate::linux::unsafe_calls::try_io_uring;
use record::{Capability, CpuSplit, DeviceFacts, format_bytes};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};
use std::ffi::OsStr;
use std::path::Path;

/// Locked memory that a large run registers with the kernel: 256 slots of 1 MiB and the rings.
const MEMLOCK_WANTED_BYTES: u64 = 272 << 20;

/// What the kernel tells of this machine and of a disk.
#[must_use]
pub fn capabilities(roots: &Roots, disk: Option<&DeviceFacts>) -> Vec<Capability> {
    vec![
        root(),
        device_counters(roots, disk),
        link_facts(disk),
        io_uring(roots, try_io_uring()),
        locked_memory(),
        clock(roots),
        split(roots),
        steal(roots),
        governor(roots),
        clock_frequency(roots),
        perf_events(roots, try_instructions(roots)),
        soaker(roots, try_soaker(roots)),
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
    let (_, mount, numbers) = locate_filesystem(roots, dir, &file).ok()?;
    device_of_mount(roots, numbers, Some(&mount))
}

fn root() -> Capability {
    let is_root = geteuid().is_root();
    let detail = if is_root { "running as root" } else { "running as an ordinary user" };
    Capability::of(
        "root",
        is_root,
        detail,
        "block devices cannot be read, and the block layer cannot be traced: run as root for those",
    )
}

fn device_counters(roots: &Roots, disk: Option<&DeviceFacts>) -> Capability {
    let name = "device counters";
    let Some(disk) = disk else {
        return Capability::of(
            name,
            false,
            "no block device is known under the directory",
            "what the device did cannot be checked: name a directory on a disk",
        );
    };
    if disk.iostats == Some(false) {
        return Capability::of(
            name,
            false,
            format!("{}: queue/iostats is 0", disk.disk),
            "write 1 to queue/iostats of the disk in /sys/block",
        );
    }
    let devices = counted_devices(disk);
    match read_lines(roots, &devices) {
        Ok(_) => Capability::of(name, true, format!("of {}", devices.join(", ")), ""),
        Err(error) => Capability::of(name, false, error.to_string(), "check that /proc is mounted"),
    }
}

fn link_facts(disk: Option<&DeviceFacts>) -> Capability {
    let link =
        disk.and_then(|disk| disk.link.as_ref().map(|link| format!("{}: {link}", disk.disk)));
    let available = link.is_some();
    Capability::of(
        "link facts",
        available,
        link.unwrap_or_else(|| "sysfs tells nothing of the link".to_owned()),
        "the speed of the path to the disk must be known from elsewhere",
    )
}

/// `outcome` is what the kernel said to a ring of two entries.
fn io_uring(roots: &Roots, outcome: Result<(), Errno>) -> Capability {
    let name = "io_uring";
    let Err(cause) = outcome else { return Capability::of(name, true, "a ring can be made", "") };
    let setting = number(&roots.proc.join("sys/kernel/io_uring_disabled"));
    let (why, remedy) = match (cause, setting) {
        (Errno::NOSYS, _) => ("the kernel has none", "use Linux 5.1 or newer built with it"),
        (Errno::PERM, Some(2)) => (
            "kernel.io_uring_disabled is 2: off for everyone",
            "set it with 'sysctl kernel.io_uring_disabled=0'",
        ),
        (Errno::PERM, Some(1)) => (
            "kernel.io_uring_disabled is 1: off for ordinary users",
            "run as root, join the group of kernel.io_uring_group, or set the value to 0",
        ),
        (Errno::PERM | Errno::ACCESS, _) => (
            "a security filter forbids it (seccomp of the container, or a security module)",
            "allow the io_uring system calls in the container's seccomp profile",
        ),
        (Errno::NOMEM, _) => ("no locked memory is left", "raise 'ulimit -l'"),
        _ => ("the system refuses it", "look at the kernel log"),
    };
    Capability::of(
        name,
        false,
        format!("{cause}: {why}"),
        &format!("{remedy}; until then use --ioengine sync"),
    )
}

fn locked_memory() -> Capability {
    let limit = getrlimit(Resource::Memlock).current;
    let enough = limit.is_none_or(|bytes| bytes >= MEMLOCK_WANTED_BYTES) || geteuid().is_root();
    let detail = limit.map_or("unlimited".to_owned(), format_bytes);
    Capability::of(
        "locked memory",
        enough,
        detail,
        "large depths cannot register their buffers, which costs some CPU: raise 'ulimit -l'",
    )
}

fn clock(roots: &Roots) -> Capability {
    let source = environment(roots, None).clocksource;
    let cpuinfo = text(&roots.proc.join("cpuinfo")).unwrap_or_default();
    let flags = field(&cpuinfo, "flags").unwrap_or_default();
    let has = |wanted: &str| flags.split_ascii_whitespace().any(|flag| flag == wanted);
    let invariant = has("constant_tsc") && has("nonstop_tsc");
    let source = source.unwrap_or_else(|| "unknown".to_owned());
    let invariance = if invariant { "invariant" } else { "not invariant" };
    Capability::of(
        "invariant clock",
        invariant && source == "tsc",
        format!("clock source {source}, the processor's counter is {invariance}"),
        "each reading of the time costs more, which shows at high rates; times stay true",
    )
}

fn split(roots: &Roots) -> Capability {
    let exact = cpu_split(roots) == CpuSplit::Exact;
    let detail = if exact {
        "user and system time are measured"
    } else {
        "user and system time are sampled by the timer tick; their sum is exact"
    };
    Capability::of(
        "exact CPU split",
        exact,
        detail,
        "trust the sum; for an exact split boot with nohz_full= for the processors in use",
    )
}

fn steal(roots: &Roots) -> Capability {
    let steal = steal_ns(roots);
    let virtual_machine = environment(roots, None).virtualization;
    let detail = match (steal, &virtual_machine) {
        (None, _) => "the kernel has no such counter".to_owned(),
        (Some(_), None) => "no hypervisor shows, so nothing can be stolen".to_owned(),
        (Some(0), Some(name)) => format!("{name} has taken nothing since boot, or does not tell"),
        (Some(ns), Some(name)) => format!("{name} has taken {:.2} s since boot", ns as f64 / 1e9),
    };
    Capability::of(
        "steal time",
        steal.is_some(),
        detail,
        "time that the host takes shows as slow processors: use a newer kernel",
    )
}

fn governor(roots: &Roots) -> Capability {
    let conditions = environment(roots, None);
    let available = conditions.governor.is_some();
    let detail = conditions.governor.unwrap_or_else(|| match conditions.virtualization {
        Some(name) => format!("left to the host ({name})"),
        None => "the kernel controls no frequency".to_owned(),
    });
    Capability::of(
        "frequency governor",
        available,
        detail,
        "whether the processor clock held still cannot be checked",
    )
}

/// `outcome` is what the kernel said to a counter of instructions.
fn perf_events(roots: &Roots, outcome: Result<(), PerfRefusal>) -> Capability {
    let level = paranoid_level(roots);
    let setting = format!("kernel.perf_event_paranoid is {level}");
    match outcome {
        Ok(()) => {
            Capability::of("perf events", true, format!("instructions are counted; {setting}"), "")
        }
        Err(refusal) => Capability::of(
            "perf events",
            false,
            format!("{refusal}; {setting}"),
            "instructions per request stay unknown; processor time is measured without them",
        ),
    }
}

/// `outcome` is whether soakers could be started, and on how many processors.
fn soaker(roots: &Roots, outcome: Result<(u32, Vec<String>), SoakerError>) -> Capability {
    let name = "upper bound of CPU cost";
    match outcome {
        Err(error) => Capability::of(
            name,
            false,
            error.to_string(),
            "--cpu-upper cannot be used; lower bounds can",
        ),
        Ok((cpus, doubts)) if doubts.is_empty() => {
            let quota = processors::usable(roots);
            Capability::of(
                name,
                true,
                format!("a soaker on each of {cpus} processors; {quota} usable"),
                "",
            )
        }
        Ok((cpus, doubts)) => Capability::of(
            name,
            true,
            format!("a soaker on each of {cpus} processors, but unsure: {}", doubts.join("; ")),
            "",
        ),
    }
}

fn try_soaker(roots: &Roots) -> Result<(u32, Vec<String>), SoakerError> {
    Soaker::start(roots).map(|soaker| (soaker.cpus(), soaker.doubts()))
}

fn clock_frequency(roots: &Roots) -> Capability {
    let clock = processors::clock(roots);
    Capability::of(
        "processor clock",
        clock.is_some(),
        clock.map_or("the kernel tells no frequency".to_owned(), |clock| {
            format!("{:.2} GHz, from {}", clock.hz / 1e9, clock.source)
        }),
        "clocks per byte stay unknown; processor time is measured without them",
    )
}

fn pressure(roots: &Roots) -> Capability {
    let some = text(&roots.proc.join("pressure/io"));
    let line = some.as_deref().and_then(|lines| lines.lines().next()).map(str::to_owned);
    let available = line.is_some();
    Capability::of(
        "pressure stall information",
        available,
        line.unwrap_or_else(|| "/proc/pressure/io is missing".to_owned()),
        "stalls above the disk stay invisible: boot with psi=1",
    )
}

fn control_groups(roots: &Roots, disk: Option<&DeviceFacts>) -> Capability {
    let name = "control group limits";
    let Some(version) = io_version(roots) else {
        return Capability::of(
            name,
            false,
            "no control group governs I/O here",
            "limits set outside of this container cannot be seen",
        );
    };
    let found = disk.map(|disk| limits(roots, disk)).unwrap_or_default();
    let detail = if found.is_empty() {
        format!("{version}, no limit on this disk")
    } else {
        let all: Vec<String> = found
            .iter()
            .map(|limit| format!("{} {} {}/s", limit.group, limit.limited.key(), limit.limit_per_s))
            .collect();
        format!("{version}, in force: {}", all.join("; "))
    };
    Capability::of(name, true, detail, "")
}

/// `path` is the search path of programs.
fn fio(path: Option<&OsStr>) -> Capability {
    let found = path
        .map(std::env::split_paths)
        .into_iter()
        .flatten()
        .map(|directory| directory.join("fio"))
        .find(|program| rustix::fs::access(program, rustix::fs::Access::EXEC_OK).is_ok());
    Capability::of(
        "fio",
        found.is_some(),
        found.map_or("not installed".to_owned(), |program| program.display().to_string()),
        "comparisons with fio are skipped: install it with the system's package manager",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::soaker::SOAKERS;
    use testkit::Fake;

    #[test]
    fn a_forbidden_ring_names_the_setting_that_forbids_it() {
        let fake = Fake::new();
        let detail = |setting: &str, cause: Errno| {
            fake.proc("sys/kernel/io_uring_disabled", setting);
            io_uring(&Roots::below(fake.root()), Err(cause))
        };
        let off = detail("2\n", Errno::PERM);
        assert!(!off.available && off.detail.contains("for everyone"), "{off:?}");
        assert!(off.remedy.contains("--ioengine sync"), "{off:?}");
        assert!(detail("1\n", Errno::PERM).detail.contains("ordinary users"));
        assert!(detail("0\n", Errno::PERM).detail.contains("seccomp"));
        assert!(detail("0\n", Errno::NOSYS).detail.contains("kernel has none"));
        assert!(io_uring(&Roots::below(fake.root()), Ok(())).available);
    }

    #[test]
    fn what_keeps_instructions_from_being_counted_is_named() {
        let fake = Fake::new();
        fake.proc("sys/kernel/perf_event_paranoid", "3\n");
        assert!(perf_events(&Roots::below(fake.root()), Ok(())).available);
        let none = perf_events(&Roots::below(fake.root()), Err(PerfRefusal::NoCounters));
        assert!(!none.available && none.detail.contains("virtual machines"), "{none:?}");
        let refused = perf_events(&Roots::below(fake.root()), Err(PerfRefusal::Paranoid(3)));
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

    #[test]
    fn this_machine_gets_each_entry_once_and_a_remedy_exactly_where_something_is_missing() {
        let _alone = SOAKERS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let directory = tempfile::TempDir::new().unwrap();
        let roots = Roots::default();
        let list = capabilities(&roots, disk_of(&roots, directory.path()).as_ref());
        let names: std::collections::BTreeSet<&str> =
            list.iter().map(|capability| capability.name.as_str()).collect();
        assert_eq!(names.len(), list.len());
        assert_eq!(list.len(), 15);
        for capability in &list {
            assert_eq!(capability.available, capability.remedy.is_empty(), "{capability:?}");
            assert!(!capability.detail.is_empty(), "{capability:?}");
        }
    }
}
