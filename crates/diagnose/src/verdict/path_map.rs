//! Maps the path from a program to the medium. For each layer the map shows its present state, its
//! state when the profile was made, what it can explain, and the causes found in it. Layers that
//! cannot be observed are included, because they may be the cause. Rejected: a map of observed
//! layers only, in which the last observed layer takes the blame for everything below it.

use super::arrays::{state_of, state_text};
use super::facts::is_hosted;
use super::hypotheses::shares_text;
use super::layout::files;
use super::subject::Subject;
use super::system_context::{SystemContext, each_once};
use crate::causes;
use crate::words::percent;
use record::{
    ArrayState, Cause, CauseCode, CgroupLimit, DeviceDiagnosis, DeviceFacts, FileLayout,
    FilesystemFacts, LayerKind, Observation, ObservedPath, PathLayer, PathMap, Profile, SystemFact,
    Volume, VolumeKind, format_bytes,
};

/// A file system with less free space than this share is nearly full.
const NEARLY_FULL: f64 = 0.1;
/// Largest number of listed limits.
const LIMITS_MAX: usize = 3;

/// A disk at the end of a path.
struct Leaf<'a> {
    name: &'a str,
    facts: Option<&'a DeviceFacts>,
    profile: Option<&'a Profile>,
    around: SystemContext,
    causes: &'a [Cause],
}

/// The map of each observed path, and of each other device that the kernel describes.
pub(super) fn maps(
    observation: &Observation,
    subjects: &[Subject<'_>],
    devices: &[DeviceDiagnosis],
) -> Vec<PathMap> {
    let leaves: Vec<Leaf<'_>> =
        subjects.iter().zip(devices).map(|(subject, device)| leaf(subject, device)).collect();
    let of = |path: &ObservedPath| {
        let own = leaves.iter().filter(|leaf| path.devices.iter().any(|name| name == leaf.name));
        let within = |name: &String| path.devices.contains(name);
        let whole = leaves.iter().find(|leaf| {
            let built_of = leaf.facts.map_or(&[][..], |facts| &facts.leaves);
            built_of.len() > 1 && built_of.iter().all(within)
        });
        let layers = layers(observation, path, &own.collect::<Vec<_>>(), whole);
        let layers = with_facts(layers, &observation.facts, &path.devices);
        PathMap { path: path.path.clone(), layers }
    };
    let paths = &observation.paths;
    let on_a_path =
        |leaf: &&Leaf<'_>| paths.iter().any(|it| it.devices.iter().any(|name| name == leaf.name));
    let alone = |leaf: &Leaf<'_>| ObservedPath {
        path: leaf.name.to_owned(),
        filesystem: None,
        layout: None,
        volumes: Vec::new(),
        devices: vec![leaf.name.to_owned()],
    };
    let described = leaves.iter().filter(|leaf| {
        // A built device is not drawn if its parts are, whose paths are shown.
        leaf.facts.is_some_and(|facts| facts.leaves.len() < 2) && !on_a_path(leaf)
    });
    paths.iter().map(of).chain(described.map(|leaf| of(&alone(leaf)))).collect()
}

fn leaf<'a>(subject: &'a Subject<'_>, device: &'a DeviceDiagnosis) -> Leaf<'a> {
    let causes = device.shown_episode().map_or(&[][..], |episode| &episode.causes);
    Leaf {
        name: &subject.device.name,
        facts: subject.device.facts.as_ref(),
        profile: subject.reference.map(super::FittedProfile::profile),
        around: SystemContext::of(&subject.intervals, &subject.observation.contexts),
        causes,
    }
}

/// The layer to which a cause belongs.
fn layer_of(cause: &Cause, leaf: &Leaf<'_>) -> LayerKind {
    match cause.code {
        CauseCode::PinnedRate | CauseCode::StandsStill if leaf.facts.is_some_and(is_hosted) => {
            LayerKind::Below
        }
        CauseCode::ServiceSlower
        | CauseCode::WritesSlower
        | CauseCode::ReadsSlower
        | CauseCode::RateNearMaximum
        | CauseCode::PinnedRate
        | CauseCode::StandsStill
        | CauseCode::SlowestMember => LayerKind::Device,
        CauseCode::SystemFact => {
            let row = cause.check.as_deref().and_then(causes::check);
            row.map_or(LayerKind::Device, |row| row.layer)
        }
        CauseCode::ProviderLimit => LayerKind::Below,
        CauseCode::WritesInFront | CauseCode::SchedulerHolds => LayerKind::Scheduler,
        CauseCode::SplitRequests | CauseCode::ScatteredFiles => LayerKind::File,
        CauseCode::PartialBlocks | CauseCode::ManyFlushes | CauseCode::CompressedFiles => {
            LayerKind::FileSystem
        }
        CauseCode::VolumeHolds | CauseCode::ArrayRebuilds | CauseCode::ArrayDegraded => {
            LayerKind::Volume
        }
        CauseCode::TagsInUse => LayerKind::Queue,
        CauseCode::MemoryShort | CauseCode::WriteBackLimit | CauseCode::ReadAheadOff => {
            LayerKind::PageCache
        }
        CauseCode::DepthBeyondKnee
        | CauseCode::Bursts
        | CauseCode::Neighbour
        | CauseCode::HotDevice
        | CauseCode::CgroupLimit
        | CauseCode::WaitsAbove
        | CauseCode::OneAtATime
        | CauseCode::SmallSequential
        | CauseCode::ProcessorsBusy
        | CauseCode::StolenTime
        | CauseCode::CpuQuota => LayerKind::Program,
    }
}

fn layers(
    observation: &Observation,
    path: &ObservedPath,
    leaves: &[&Leaf<'_>],
    whole: Option<&Leaf<'_>>,
) -> Vec<PathLayer> {
    let profile = whole.or(leaves.first().copied()).and_then(|leaf| leaf.profile);
    let around = leaves.first().map(|leaf| &leaf.around);
    let program =
        (around.and_then(|around| program(around, leaves)), profile.and_then(limits_then));
    let file = (path.layout.as_ref().map(layout_text), profile.and_then(extents_then));
    let now = path.filesystem.as_ref().map(|now| filesystem(now, true));
    let then = profile.and_then(|profile| profile.target.filesystem.as_ref());
    let file_system = (now, then.map(|then| filesystem(then, false)));
    let page_cache = (around.and_then(page_cache), None);
    // Layers that the whole path shares.
    let common: [(LayerKind, NowAndThen, &str); 4] = [
        (LayerKind::Program, program, "limits and quotas of its group, queue depth and burstiness"),
        (LayerKind::File, file, "fragments, holes, a few hot blocks"),
        (
            LayerKind::FileSystem,
            file_system,
            "its journal, copy on write, compression, too little free space",
        ),
        (LayerKind::PageCache, page_cache, "reads from memory, bursts of write-back"),
    ];
    let common = common.map(|(kind, told, can_explain)| {
        layer(kind, Vec::new(), told, can_explain, names_in(kind, leaves))
    });
    let mut layers = Vec::from(common);
    let volumes = path
        .volumes
        .iter()
        .map(|volume| volume_layer(volume, state_of(observation, &volume.name), leaves));
    layers.extend(volumes);
    let per_device: [(LayerKind, &[&str], &str); 3] = [
        (LayerKind::Scheduler, &[model::SCHEDULER], "requests delayed in favour of other groups"),
        (
            LayerKind::Queue,
            &["kernel's queue", "largest request", "merging", "read-ahead"],
            "full tags, split requests",
        ),
        (
            LayerKind::Device,
            &["model", "driver", "link", "write cache", "firmware"],
            "its own time: wear, retries, rebuilds, a full cache",
        ),
    ];
    for (kind, names, can_explain) in per_device {
        layers.extend(grouped_layers(kind, leaves, names, can_explain));
    }
    for leaf in leaves.iter().filter(|leaf| leaf.facts.is_some()) {
        let can_explain = if leaf.facts.is_some_and(DeviceFacts::is_export) {
            "the network, the server, its disks, its other clients"
        } else if leaf.facts.is_some_and(is_hosted) {
            "the host's queue and cache, a neighbour, a network, a provider's cap"
        } else if leaf.facts.is_some_and(|facts| facts.virtual_disk) {
            continue;
        } else {
            "the inside of the drive: retries, garbage collection, its cache"
        };
        let causes = names_in(LayerKind::Below, &[leaf]);
        let devices = vec![leaf.name.to_owned()];
        layers.push(layer(LayerKind::Below, devices, (None, None), can_explain, causes));
    }
    layers
}

/// The present state, and the one when the profile was made.
type NowAndThen = (Option<String>, Option<String>);

fn layer(
    kind: LayerKind,
    devices: Vec<String>,
    (now, then): NowAndThen,
    can_explain: &str,
    causes: Vec<String>,
) -> PathLayer {
    let at_profiling = then.filter(|then| Some(then) != now.as_ref());
    let (can_explain, facts) = (can_explain.to_owned(), Vec::new());
    PathLayer { kind, devices, now, at_profiling, can_explain, facts, causes }
}

/// Causes of several devices in one layer, each once.
fn causes_in<'a>(kind: LayerKind, leaves: &[&Leaf<'a>]) -> Vec<&'a Cause> {
    let mut found: Vec<&Cause> = Vec::new();
    for leaf in leaves {
        for cause in leaf.causes.iter().filter(|cause| layer_of(cause, leaf) == kind) {
            if found.iter().all(|known| known.name() != cause.name()) {
                found.push(cause);
            }
        }
    }
    found
}

/// The names of these causes.
fn names_in(kind: LayerKind, leaves: &[&Leaf<'_>]) -> Vec<String> {
    causes_in(kind, leaves).into_iter().map(Cause::name).collect()
}

/// Adds the facts that the checks read about a path's devices to their layers. A fact of the
/// machine goes to the first layer of its kind.
fn with_facts(
    mut layers: Vec<PathLayer>,
    facts: &[SystemFact],
    devices: &[String],
) -> Vec<PathLayer> {
    for fact in facts {
        let own = |name: &String| devices.contains(name);
        let on_path = fact.device.as_ref().is_none_or(own) || fact.disks.iter().any(own);
        let Some(kind) = causes::check(&fact.check).map(|row| row.layer).filter(|_| on_path) else {
            continue;
        };
        let names = |layer: &PathLayer| {
            fact.device.as_ref().is_some_and(|device| layer.devices.contains(device))
        };
        let own = layers.iter().position(|layer| layer.kind == kind && names(layer));
        let place = own.or_else(|| layers.iter().position(|layer| layer.kind == kind));
        if let Some(layer) = place.and_then(|place| layers.get_mut(place)) {
            layer.facts.push(fact_text(fact));
        }
    }
    layers
}

/// `sata_link of sda: speed 1.5 Gb/s, limit of the port 6 Gb/s`.
fn fact_text(fact: &SystemFact) -> String {
    let of = fact.device.as_ref().map(|device| format!(" of {device}")).unwrap_or_default();
    let since = fact.since.as_ref().map(|since| format!(", since {since}")).unwrap_or_default();
    format!("{}{of}: {}{since}", fact.check, fact.values_text())
}

fn limit_text(limit: &CgroupLimit) -> String {
    let CgroupLimit { group, limited, major_minor, limit_per_s } = limit;
    format!("{}={limit_per_s} of {group} on {major_minor}", limited.name())
}

fn limits_text(limits: &[CgroupLimit]) -> Option<String> {
    let texts: Vec<String> = limits.iter().take(LIMITS_MAX).map(limit_text).collect();
    (!texts.is_empty()).then(|| texts.join(", "))
}

/// Limits on the path's devices, and the share of time that programs wait.
fn program(around: &SystemContext, leaves: &[&Leaf<'_>]) -> Option<String> {
    let ours = |limit: &&CgroupLimit| {
        let own =
            |leaf: &&Leaf<'_>| leaf.facts.is_some_and(|it| it.major_minor == limit.major_minor);
        leaves.iter().any(own)
    };
    let limits: Vec<CgroupLimit> = around.limits.iter().filter(ours).cloned().collect();
    let waits = around.io_some.map(|share| format!("waits for I/O {} of the time", percent(share)));
    let known = waits.is_some() || !around.limits.is_empty();
    let limits = limits_text(&limits).or_else(|| known.then(|| "no I/O limit".to_owned()));
    let shares = leaves.iter().filter_map(|leaf| leaf.facts).flat_map(|it| around.shares_of(it));
    let shares = each_once(shares);
    let shares = (!shares.is_empty()).then(|| shares_text(&shares));
    let told: Vec<String> = limits.into_iter().chain(shares).chain(waits).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

fn limits_then(profile: &Profile) -> Option<String> {
    limits_text(&profile.environment.as_ref()?.cgroup_limits)
}

fn extents_then(profile: &Profile) -> Option<String> {
    let count = profile.target.extents.as_ref()?.count;
    Some(record::counted(count as f64, "extent"))
}

/// `the 3 largest files, 1.21 GB: 12 extents of 101 MB; 80 % compressed`.
fn layout_text(layout: &FileLayout) -> String {
    let extents = record::counted(layout.extents as f64, "extent");
    let mut text = format!("{}, {}: {extents}", files(layout), format_bytes(layout.bytes.0));
    if let Some(bytes) = layout.extent_bytes() {
        text.push_str(&format!(" of {}", format_bytes(bytes as u64)));
    }
    for (share, what) in [
        (layout.compressed_share(), "compressed"),
        (layout.absent_bytes.0 as f64 / layout.bytes.0.max(1) as f64, "holes or never written"),
    ] {
        if share >= 0.005 {
            text.push_str(&format!("; {} {what}", percent(share)));
        }
    }
    text
}

/// Type and options, and the free space if it is nearly full.
fn filesystem(facts: &FilesystemFacts, now: bool) -> String {
    let mut text = format!("{}, {}", facts.kind, facts.options);
    let free = facts.free_bytes.0 as f64 / facts.size_bytes.0.max(1) as f64;
    if now && free < NEARLY_FULL {
        text.push_str(&format!("; {} free", percent(free)));
    }
    text
}

fn page_cache(around: &SystemContext) -> Option<String> {
    let written = around.writeback_bytes?;
    Some(format!("{} under write-back on average", format_bytes(written as u64)))
}

fn volume_layer(volume: &Volume, state: Option<&ArrayState>, leaves: &[&Leaf<'_>]) -> PathLayer {
    let on = volume.members.join(", ");
    let level = volume.level.as_ref().map(|level| format!("{level} ")).unwrap_or_default();
    let mut now = match (volume.kind, volume.members.is_empty()) {
        (VolumeKind::Btrfs, _) => format!("btrfs {level}over {on}"),
        (VolumeKind::Loop, false) => format!("{}: a file on {on}", volume.name),
        (VolumeKind::Loop, true) => {
            let own = leaves.iter().find(|leaf| leaf.name == volume.name);
            let file = own.and_then(|leaf| leaf.facts?.loop_file.as_ref()?.on.clone());
            let on = file.unwrap_or_else(|| "a file system without a disk".to_owned());
            format!("{}: a file on {on}", volume.name)
        }
        _ => format!("{}: {level}on {on}", volume.name),
    };
    let can_explain = if volume.members.len() > 1 {
        "its slowest member, a rebuild, parity"
    } else if volume.kind == VolumeKind::Loop {
        "the page cache and the file's file system"
    } else {
        "encryption, snapshots, thin provisioning"
    };
    if let Some(told) = state.map(state_text).filter(|told| !told.is_empty()) {
        now.push_str(&format!("; {told}"));
    }
    let mut causes = causes_in(LayerKind::Volume, leaves);
    causes.retain(|cause| match cause.code {
        CauseCode::ArrayRebuilds => state.is_some_and(|state| state.work.is_some()),
        CauseCode::ArrayDegraded => state.is_some_and(|state| state.missing > 0),
        // A cause on a disk does not identify which of several volumes above it holds requests.
        _ => volume.kind != VolumeKind::Loop,
    });
    let causes = causes.into_iter().map(Cause::name).collect();
    layer(LayerKind::Volume, vec![volume.name.clone()], (Some(now), None), can_explain, causes)
}

/// A layer for each device. Devices with the same texts share one.
fn grouped_layers(
    kind: LayerKind,
    leaves: &[&Leaf<'_>],
    names: &[&str],
    can_explain: &str,
) -> Vec<PathLayer> {
    let mut layers: Vec<PathLayer> = Vec::new();
    for leaf in leaves {
        let then = leaf.profile.and_then(|profile| profile.target.device.as_ref());
        let told = (settings(leaf.facts, names), settings(then, names));
        let devices = vec![leaf.name.to_owned()];
        let own = layer(kind, devices, told, can_explain, names_in(kind, &[leaf]));
        let alike = |known: &&mut PathLayer| {
            (&known.now, &known.at_profiling, &known.causes)
                == (&own.now, &own.at_profiling, &own.causes)
        };
        match layers.iter_mut().find(alike) {
            Some(known) => known.devices.extend(own.devices),
            None => layers.push(own),
        }
    }
    layers
}

/// Some settings of a device, by the names used in comparisons of conditions.
fn settings(facts: Option<&DeviceFacts>, names: &[&str]) -> Option<String> {
    let told = model::settings_told(facts?);
    let chosen = told.iter().filter(|(what, _)| names.contains(&what.as_str()));
    let texts: Vec<String> = match names {
        [_] => chosen.map(|(_, value)| value.clone()).collect(),
        _ => chosen.map(|(what, value)| format!("{what} {value}")).collect(),
    };
    (!texts.is_empty()).then(|| texts.join(", "))
}
