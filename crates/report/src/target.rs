//! Describes what is below the target: all facts that affect the meaning of a number.
//!
//! Facts are printed as the kernel reports them. If a report is unreliable (a virtual disk's
//! rotational flag), this is stated next to it. Unknown facts are left out, because a list of
//! question marks helps no reader.

use crate::page::{Page, Span, Tone};
use crate::story::{Story, joined};
use crate::{Style, number};
use record::{
    CgroupLimit, DeviceFacts, Environment, FilesystemFacts, Target, TargetKind, Trial, counted,
    format_bytes,
};
use std::collections::BTreeSet;

/// Column at which the facts begin.
const FACTS: usize = 16;

/// What is below a target: file system, device, queue, layers and limits.
#[must_use]
pub fn target_text(target: &Target, environment: Option<&Environment>, style: &Style) -> String {
    let mut page = Page::new(style);
    let lead = vec![Span::new("Target: ", Tone::Strong)];
    page.hanging(lead, &format!("{}, {}", target.path, what_it_is(target)), Tone::Plain);
    for (label, text) in facts(target, environment) {
        let label = Span::plain(format!("  {label:<0$}", FACTS - 2));
        page.hanging(vec![label], &text, Tone::Plain);
    }
    page.finish()
}

/// The facts below a target, by name, without its path.
fn facts(target: &Target, environment: Option<&Environment>) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if let Some(filesystem) = &target.filesystem {
        facts.push(("file system", filesystem_line(filesystem, target.device.is_none())));
    }
    match &target.device {
        Some(device) => facts.extend([
            ("device", device_line(device)),
            ("rotational", rotational_line(device)),
            ("queue", queue_line(device)),
            ("layers", layers_line(device)),
        ]),
        None if target.kind != TargetKind::Simulated => {
            facts.push(("device", "none: no I/O here reaches a block device".to_owned()));
        }
        None => {}
    }
    facts.extend(environment.map(|environment| ("I/O limits", limits_line(environment))));
    facts.retain(|(_, text)| !text.is_empty());
    facts
}

/// Short descriptions of a document's targets.
pub(crate) fn summaries(targets: &[Target]) -> String {
    joined(targets, " and ", summary)
}

/// Short description of a target: `/data on vda (virtual disk, 64 GiB), ext4`.
pub(crate) fn summary(target: &Target) -> String {
    let mut text = target.path.clone();
    if target.kind == TargetKind::Simulated {
        return format!("{text} (simulated, {})", format_bytes(target.size_bytes.0));
    }
    if let Some(device) = &target.device {
        let (kind, size) = (device_kind(device), format_bytes(device.size_bytes.0));
        text.push_str(&format!(" on {} ({kind}, {size})", device.disk));
    }
    text.extend(target.filesystem.as_ref().map(|filesystem| format!(", {}", filesystem.kind)));
    text
}

fn what_it_is(target: &Target) -> String {
    let size = format_bytes(target.size_bytes.0);
    let kind = match target.kind {
        TargetKind::Directory => format!("a directory; temporary test file of {size}"),
        TargetKind::File => format!("an existing file of {size}"),
        TargetKind::BlockDevice => format!("a block device of {size}"),
        TargetKind::Simulated => {
            let hash = target.file_hash.as_ref();
            let file = hash.map(|hash| format!(", described by a file with hash {hash}"));
            format!("a SIMULATED device of {size} in virtual time{}", file.unwrap_or_default())
        }
    };
    match &target.extents {
        Some(extents) => format!("{kind} in {}", counted(extents.count as f64, "extent")),
        None => kind,
    }
}

/// The mount source is named only if the device is unknown, which would include it.
fn filesystem_line(filesystem: &FilesystemFacts, with_source: bool) -> String {
    let source = if with_source { format!(" from {}", filesystem.source) } else { String::new() };
    let [free, size] = [filesystem.free_bytes, filesystem.size_bytes].map(|it| format_bytes(it.0));
    let mut parts = vec![
        format!("{} at {}{source}", filesystem.kind, filesystem.mount_point),
        format!("{free} free of {size}"),
    ];
    parts.extend(filesystem.in_memory.then(|| "is in memory".to_owned()));
    parts.extend(filesystem.compresses.then(|| "compresses".to_owned()));
    parts.extend(Some(filesystem.options.clone()).filter(|options| !options.is_empty()));
    parts.join("; ")
}

/// `virtual disk`, `solid state`, `rotating disk`, `export of a file server` or `disk`, as far as
/// the facts are reliable.
fn device_kind(device: &DeviceFacts) -> &'static str {
    match (device.virtual_disk, device.rotational, device.rotational_trusted) {
        _ if device.is_export() => "export of a file server",
        (true, ..) => "virtual disk",
        (false, Some(true), true) => "rotating disk",
        (false, Some(false), true) => "solid state",
        _ => "disk",
    }
}

pub(crate) fn device_line(device: &DeviceFacts) -> String {
    let known = |field: &Option<String>| field.clone().filter(|text| !text.trim().is_empty());
    let name = match device.name.as_str() {
        "" => device.disk.clone(),
        name if name == device.disk => name.to_owned(),
        name => format!("{name} on {}", device.disk),
    };
    let model = [known(&device.vendor), known(&device.model)].into_iter().flatten();
    let model = joined(model, " ", |name| name);
    let mut parts: Vec<String> =
        Some(model).filter(|model| !model.is_empty()).into_iter().collect();
    parts.push(device_kind(device).to_owned());
    parts.extend((device.size_bytes.0 > 0).then(|| format_bytes(device.size_bytes.0)));
    parts.extend(known(&device.serial).map(|serial| format!("serial {serial}")));
    parts.extend(known(&device.firmware).map(|firmware| format!("firmware {firmware}")));
    // A link named like the driver (`virtio`, `virtio_blk`) is one fact, not two.
    let (link, driver) = (known(&device.link), known(&device.driver));
    let is_named = |link: &String| driver.as_ref().is_some_and(|name| name.starts_with(link));
    parts.extend(link.filter(|link| !is_named(link)));
    parts.extend(driver.as_ref().map(|driver| format!("driver {driver}")));
    format!("{name}: {}", parts.join(", "))
}

fn rotational_line(device: &DeviceFacts) -> String {
    let flag = match device.rotational {
        Some(true) => "yes",
        Some(false) => "no",
        None => return "unknown to the kernel".to_owned(),
    };
    let doubt = match device.virtual_disk {
        _ if device.rotational_trusted => return flag.to_owned(),
        true => "which cannot know it for a virtual disk",
        false => "which is unreliable here",
    };
    format!("\"{flag}\" according to the kernel, {doubt}")
}

fn queue_line(device: &DeviceFacts) -> String {
    let bytes = format_bytes;
    let mut parts = Vec::new();
    parts.extend(device.scheduler.as_ref().map(|name| format!("scheduler {name}")));
    parts.extend(device.write_cache.as_ref().map(|mode| format!("write cache {mode}")));
    let (logical, physical) = (device.logical_block_bytes, device.physical_block_bytes);
    let both = logical.and(physical).map(|physical| format!(" (physical {})", bytes(physical)));
    let both = both.unwrap_or_default();
    parts.extend(logical.or(physical).map(|block| format!("blocks of {}{both}", bytes(block))));
    let count = device.nr_requests.map(|requests| format!("{requests} requests"));
    let size = device.max_request_bytes.map(|size| format!("of at most {}", bytes(size)));
    parts.extend(match (count, size) {
        (Some(count), Some(size)) => Some(format!("{count} {size}")),
        (None, Some(size)) => Some(format!("requests {size}")),
        (count, None) => count,
    });
    // Merging is the default, so only its absence is reported.
    let merging = |level: u64| if level == 1 { "merging partly off" } else { "merging off" };
    let level = device.nomerges.filter(|level| *level > 0);
    parts.extend(level.map(|level| merging(level).to_owned()));
    parts.extend((device.iostats == Some(false)).then(|| "counters switched off".to_owned()));
    parts.join("; ")
}

fn layers_line(device: &DeviceFacts) -> String {
    let built = (device.leaves.len() > 1).then(|| device.leaves.join(", "));
    let built = built.map(|leaves| format!("stacked on {leaves}"));
    joined(device.layers.iter().cloned().chain(built), "; ", |layer| layer)
}

fn limits_line(environment: &Environment) -> String {
    joined(&environment.cgroup_limits, "; ", |limit| {
        let (op, rate) = (limit.limited.op().plural(), limit_rate(limit));
        format!("{op} {rate} on {} by control group {}", limit.major_minor, limit.group)
    })
}

/// The rate of a limit, in its unit.
pub(crate) fn limit_rate(limit: &CgroupLimit) -> String {
    let format = if limit.limited.is_bytes() { number::rate } else { number::per_second };
    format(limit.limit_per_s as f64)
}

fn environment_parts(environment: Option<&Environment>) -> Vec<String> {
    let Some(environment) = environment else { return Vec::new() };
    let Environment { kernel, cpu, cpus, .. } = environment;
    let mut parts = Vec::new();
    parts.extend((!kernel.is_empty()).then(|| format!("kernel {kernel}")));
    parts.extend((!cpu.is_empty()).then(|| format!("{cpus} x {cpu}")));
    parts.extend(environment.virtualization.as_ref().map(|kind| format!("VM ({kind})")));
    parts.extend(environment.governor.as_ref().map(|name| format!("governor {name}")));
    parts
}

/// Adds targets, machine, version, time and seed as conditions.
pub(crate) fn conditions(
    story: &mut Story,
    targets: &[Target],
    environment: Option<&Environment>,
    (version, time, seed): (&str, Option<&str>, u64),
) {
    for (place, each) in targets.iter().enumerate() {
        if targets[..place].iter().any(|before| before.path == each.path) {
            continue;
        }
        story.condition("target", format!("{}, {}", each.path, what_it_is(each)));
        for (name, text) in facts(each, environment) {
            story.condition(name, text);
        }
    }
    story.condition("machine", environment_parts(environment).join("; "));
    if story.simulated {
        story.condition("time", "virtual: a simulated device, no real disk");
    }
    let when = time.map(|time| format!("{}, ", number::when(time))).unwrap_or_default();
    story.condition("measured", format!("{when}halfpower {version}, seed {seed}"));
    story.condition("id", story.id.clone());
}

/// The same for a trial. If another program's file is its source, device and machine are unknown.
pub(crate) fn conditions_of_trial(story: &mut Story, targets: &[Target], trial: &Trial) {
    let Some(program) = &trial.measured_by else {
        let about = (trial.halfpower_version.as_str(), trial.time.as_deref(), trial.seed);
        return conditions(story, targets, trial.environment.as_ref(), about);
    };
    let paths: BTreeSet<&str> = targets.iter().map(|target| target.path.as_str()).collect();
    story.condition("target", joined(paths, ", ", str::to_owned));
    story.condition("device", "not in fio's file");
    let when = trial.time.as_deref().map(|time| format!("{}, ", number::when(time)));
    story.condition("measured", format!("{}{program}", when.unwrap_or_default()));
    story.condition("id", story.id.clone());
}

/// The machines that made a load together, if there are several.
pub(crate) fn clients(story: &mut Story, clients: &[String]) {
    if !clients.is_empty() {
        let names = clients.join(", ");
        story.condition("clients", format!("{}: {names}", clients.len()));
    }
}
