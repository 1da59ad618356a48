//! Collects the conditions of each side of a comparison and finds those that differ: everything in a
//! document that may explain a difference by itself.

use record::{
    Bytes, ComparedCondition, DeviceFacts, Environment, Extents, FilesystemFacts, Measured,
    Profile, Target, Trial, Workload, format_bytes,
};
use std::collections::BTreeSet;
use std::path::Path;

/// The condition name of a target's path.
const TARGET: &str = "target";
/// The condition name of the I/O scheduler.
pub const SCHEDULER: &str = "scheduler";

/// Conditions of one side: name, and its values in order of appearance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Conditions {
    entries: Vec<(String, Vec<String>)>,
}

impl Conditions {
    fn add(&mut self, what: &str, value: Option<String>) {
        let Some(value) = value.filter(|value| !value.is_empty()) else { return };
        match self.entries.iter_mut().find(|(name, _)| name == what) {
            Some((_, values)) if values.contains(&value) => {}
            Some((_, values)) => values.push(value),
            None => self.entries.push((what.to_owned(), vec![value])),
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (what, values) in &other.entries {
            for value in values {
                self.add(what, Some(value.clone()));
            }
        }
    }

    fn values(&self, what: &str) -> Option<&[String]> {
        self.entries.iter().find(|(name, _)| name == what).map(|(_, values)| values.as_slice())
    }

    /// The conditions stated in a document: program version, system, and target.
    pub(super) fn document(
        &mut self,
        version: &str,
        simulated: bool,
        environment: Option<&Environment>,
        targets: &[Target],
    ) {
        let time = if simulated { "virtual: simulated" } else { "real" };
        self.add("time", Some(time.to_owned()));
        self.add("halfpower", Some(version.to_owned()));
        self.environment(environment);
        for target in targets {
            self.target(target);
        }
    }

    pub(super) fn trial(&mut self, trial: &Trial) {
        let environment = trial.environment.as_ref();
        self.document(&trial.halfpower_version, trial.simulated, environment, &trial.targets);
        let clock = trial.cpu.value().and_then(|cpu| cpu.clock.as_ref());
        self.add("processor clock", clock.map(|clock| format!("{:.2} GHz", clock.hz / 1e9)));
        if let Measured::Value(harness) = &trial.harness {
            // An engine reports them in the order in which it found them.
            let mut features: Vec<&str> =
                harness.engine_features.iter().map(String::as_str).collect();
            features.sort_unstable();
            self.add("engine features", Some(features.join(" ")));
        }
        self.workload(&trial.workload);
    }

    pub(super) fn workload(&mut self, workload: &Workload) {
        let engine = workload.engine.name();
        let polled = if workload.polled { " polled" } else { "" };
        let thread = if workload.sqpoll { " with a kernel thread" } else { "" };
        let pages = if workload.huge_pages { " huge pages" } else { "" };
        self.add("engine", Some(format!("{engine}{polled}{thread}{pages}")));
        let beside = workload.beside.iter().map(|job| job.workload.cell());
        let beside: Vec<String> = beside.map(|cell| cell.chars().take(8).collect()).collect();
        let beside = if beside.is_empty() { none() } else { beside.join(" ") };
        self.add("concurrent jobs, by cell", Some(beside));
        // The area of a result of another program may be unknown.
        if workload.size_bytes.0 > 0 {
            self.add("area", Some(bytes(workload.size_bytes)));
        }
        self.add("area starts at", Some(bytes(workload.offset_bytes)));
    }

    pub(super) fn environment(&mut self, environment: Option<&Environment>) {
        let Some(environment) = environment else { return };
        self.add("kernel", Some(environment.kernel.clone()));
        self.add("processor", Some(format!("{} x {}", environment.cpus, environment.cpu)));
        self.add("memory", Some(bytes(environment.memory_bytes)));
        self.add("governor", Some(environment.governor.clone().unwrap_or_else(none)));
        self.add("virtual machine", Some(environment.virtualization.clone().unwrap_or_else(none)));
        self.add("clock source", environment.clocksource.clone());
        if environment.cgroup_limits.is_empty() {
            self.add("I/O limit", Some(none()));
        }
        for limit in &environment.cgroup_limits {
            let text = format!("{} {} {}/s", limit.group, limit.limited.name(), limit.limit_per_s);
            self.add("I/O limit", Some(text));
        }
    }

    /// The target and its place on the device.
    fn target(&mut self, target: &Target) {
        self.add(TARGET, Some(target.path.clone()));
        self.add("described by a file with hash", target.file_hash.clone());
        if target.size_bytes.0 > 0 {
            self.add("size", Some(bytes(target.size_bytes)));
        }
        if let Some(device) = &target.device {
            self.device(device);
            self.add("layers", device.layers.is_empty().then(none));
        }
        if let Some(filesystem) = &target.filesystem {
            self.filesystem(filesystem);
        }
        if let Some(extents) = &target.extents {
            self.extents(extents);
        }
    }

    fn device(&mut self, device: &DeviceFacts) {
        self.add("disk", Some(device.disk.clone()));
        self.add("model", device.model.clone());
        self.add("serial", device.serial.clone());
        self.add("disk size", Some(bytes(device.size_bytes)));
        self.settings(device);
    }

    /// Settings that can change on the same device.
    fn settings(&mut self, device: &DeviceFacts) {
        let number = |value: Option<u64>| value.map(|value| value.to_string());
        let size = |value: Option<u64>| value.map(format_bytes);
        self.add(SCHEDULER, device.scheduler.clone());
        // The kernel's numbers mean how much of the merging is off.
        let merging = device.nomerges.map(|off| match off {
            0 => "on",
            1 => "partly off",
            _ => "off",
        });
        self.add("merging", merging.map(str::to_owned));
        self.add("write cache", device.write_cache.clone());
        self.add("firmware", device.firmware.clone());
        self.add("driver", device.driver.clone());
        self.add("link", device.link.clone());
        self.add("logical block", size(device.logical_block_bytes));
        self.add("physical block", size(device.physical_block_bytes));
        self.add("kernel's queue", number(device.nr_requests));
        self.add("largest request", size(device.max_request_bytes));
        self.add("read-ahead", size(device.read_ahead_bytes));
        self.add("layers", Some(device.layers.join("; ")));
    }

    fn filesystem(&mut self, filesystem: &FilesystemFacts) {
        self.add("file system", Some(filesystem.kind.clone()));
        self.add("mount options", Some(filesystem.options.clone()));
        self.add("allocation unit", Some(bytes(filesystem.block_bytes)));
    }

    fn extents(&mut self, extents: &Extents) {
        self.add("extents", Some(extents.count.to_string()));
        let (from, to) = (extents.first_physical_bytes, extents.last_physical_bytes);
        let hash: String = extents.map_hash.chars().take(8).collect();
        self.add("located at", Some(format!("{} to {} ({hash})", bytes(from), bytes(to))));
        self.add("never written", Some(bytes(extents.unwritten_bytes)));
        self.add("holes", Some(bytes(extents.hole_bytes)));
    }
}

/// A size, in one spelling for all sizes that round to it.
fn bytes(bytes: Bytes) -> String {
    format_bytes(bytes.0).replace(".00 ", " ").replace(".0 ", " ")
}

/// A value that is known to be absent.
fn none() -> String {
    "none".to_owned()
}

/// The settings of a device, by the names under which conditions are compared.
#[must_use]
pub fn settings_told(device: &DeviceFacts) -> Vec<(String, String)> {
    let mut told = Conditions::default();
    told.device(device);
    told.entries.into_iter().map(|(what, values)| (what, values.join(", "))).collect()
}

/// The conditions that differ, in the order of `a`. A condition that one side does not state is unknown there,
/// which is no difference.
pub(super) fn differing(a: &Conditions, b: &Conditions) -> Vec<ComparedCondition> {
    // The order of appearance is that of the trials, and no difference.
    let set = |values: &[String]| values.iter().cloned().collect::<BTreeSet<_>>();
    let both = a.entries.iter().filter_map(|(what, of_a)| Some((what, of_a, b.values(what)?)));
    let is_same = |what: &str, a: &[String], b: &[String]| {
        set(a) == set(b) || what == TARGET && may_be_same(a, b)
    };
    both.filter(|(what, a, b)| !is_same(what, a, b))
        .map(|(what, a, b)| ComparedCondition {
            what: what.clone(),
            a: a.join(", "),
            b: b.join(", "),
        })
        .collect()
}

/// Whether the paths of both sides may be the same: one may be relative to a directory that is unknown now.
/// Their disks are compared as conditions of their own.
fn may_be_same(a: &[String], b: &[String]) -> bool {
    let same = |one: &String, other: &String| {
        let (one, other) = (Path::new(one), Path::new(other));
        let one_is_relative = one.is_absolute() != other.is_absolute();
        one == other || (one_is_relative && (one.ends_with(other) || other.ends_with(one)))
    };
    let all_in = |a: &[String], b: &[String]| a.iter().all(|it| b.iter().any(|to| same(it, to)));
    all_in(a, b) && all_in(b, a)
}

/// The conditions of a profile that have changed on its device or kernel since. Only conditions known on
/// both sides are compared. In each pair the profile's value is first.
#[must_use]
pub fn changed_since(
    profile: &Profile,
    now: &DeviceFacts,
    kernel: Option<&str>,
) -> Vec<ComparedCondition> {
    let (mut then_told, mut now_told) = (Conditions::default(), Conditions::default());
    if let Some(then) = &profile.target.device {
        then_told.settings(then);
    }
    now_told.settings(now);
    then_told.add("kernel", profile.environment.as_ref().map(|then| then.kernel.clone()));
    now_told.add("kernel", kernel.map(str::to_owned));
    differing(&then_told, &now_told)
}
