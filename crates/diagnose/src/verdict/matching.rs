//! Whether a profile is of the device that was observed. A kernel's name moves from disk to disk;
//! model and serial number stay. Where a source tells no more than a name, the name decides and the
//! doubt is printed. Facts that contradict each other exclude a profile, also a chosen one.

use super::fitted_profile::FittedProfile;
use record::{DeviceFacts, Finding, LoopFile, MatchedBy, ObservedDevice, Profile, format_bytes};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A size may differ by this share: partitions, units, reserved blocks.
const SIZE_DIFFERS: f64 = 0.05;

/// Half of an interval, as a share: a rate that is not known to a factor of 1.5 expects too little of a device.
const UNSTEADY: f64 = 0.4;

/// How a profile stands to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It is of this device, as far as is known.
    Of(MatchedBy, Option<String>),
    /// It is of another one: why.
    Not(String),
}

impl Fit {
    /// How good it is, the best first; `None` where it does not fit.
    fn rank(&self) -> Option<u8> {
        match self {
            Self::Of(MatchedBy::Serial | MatchedBy::Simulated, _) => Some(0),
            Self::Of(MatchedBy::ModelAndSize, _) => Some(1),
            Self::Of(MatchedBy::Name, _) => Some(2),
            Self::Of(MatchedBy::Model, _) => Some(3),
            Self::Of(MatchedBy::Choice, _) | Self::Not(_) => None,
        }
    }
}

/// How a profile stands to an observed device. `chosen` is for one that the user named.
#[must_use]
pub fn fit(device: &ObservedDevice, profile: &Profile, chosen: bool) -> Fit {
    if profile.target.path == device.name && profile.simulated {
        let (measured, seen) = (&profile.target.file_hash, &device.file_hash);
        if measured.is_none() || measured == seen {
            return Fit::Of(MatchedBy::Simulated, None);
        }
        let why = format!(
            "the file that describes {} has changed since the profile was made",
            device.name
        );
        return if chosen { choice(&why) } else { Fit::Not(why) };
    }
    let mounted = profile.target.filesystem.as_ref().map(|filesystem| &filesystem.source);
    if mounted == Some(&device.name) && profile.target.device.is_none() {
        // The export of a file server, by its name and that of the server.
        return Fit::Of(MatchedBy::Name, None);
    }
    match (&device.facts, &profile.target.device) {
        (Some(seen), Some(measured)) => by_facts(seen, measured, chosen),
        (None, Some(measured)) => by_name(&device.name, measured, chosen),
        _ => {
            let kind = if profile.simulated { "the simulated device " } else { "" };
            let why = format!(
                "the profile was made on {kind}{}, but the observed device is {}",
                profile.target.path, device.name
            );
            if chosen { choice(&why) } else { Fit::Not(why) }
        }
    }
}

/// The profile that fits best: of equals a valid one, of those one of a device that was steady while it was
/// measured, and of those the latest; `profiles` come in order of time.
pub(super) fn best_fit<'a>(
    device: &ObservedDevice,
    profiles: &'a [Arc<FittedProfile>],
) -> Option<&'a Arc<FittedProfile>> {
    let rank = |fitted: &Arc<FittedProfile>| {
        let profile = fitted.profile();
        let rank = fit(device, profile, false).rank()?;
        // A short check has no second visit that would show how unsteady the device was, but wide intervals.
        let widths = profile.cells.iter().map(|cell| cell.rerun_iops.relative_half_width());
        let is_unsteady = stats::median(widths.collect()) > UNSTEADY;
        Some((rank, !Finding::none_invalid(&profile.findings), is_unsteady))
    };
    let ranked = profiles.iter().rev().filter_map(|fitted| Some((rank(fitted)?, fitted)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, fitted)| fitted)
}

fn choice(why: &str) -> Fit {
    Fit::Of(MatchedBy::Choice, Some(format!("the profile was chosen by hand; {why}")))
}

fn by_facts(seen: &DeviceFacts, measured: &DeviceFacts, chosen: bool) -> Fit {
    // What several devices do together is no measure of one of them, nor of others together.
    let together = seen.leaves.len() > 1 || measured.leaves.len() > 1;
    if together {
        let names = |device: &DeviceFacts| device.leaves.iter().cloned().collect::<BTreeSet<_>>();
        let (own, theirs) = (disks(seen), disks(measured));
        return if names(seen) == names(measured) {
            let doubt = format!("only the names of its devices match ({own})");
            Fit::Of(MatchedBy::Name, Some(doubt))
        } else {
            Fit::Not(format!("the device is {own}, but the profile was made on {theirs}"))
        };
    }
    if let Some(doubt) = of_the_same_model(seen, measured) {
        return Fit::Of(MatchedBy::Model, Some(doubt));
    }
    let facts = [
        ("model", &seen.model, &measured.model),
        ("serial number", &seen.serial, &measured.serial),
    ];
    for (what, seen, measured) in facts {
        if let (Some(seen), Some(measured)) = (seen, measured)
            && seen.trim() != measured.trim()
        {
            let (seen, measured) = (seen.trim(), measured.trim());
            return Fit::Not(format!("its {what} is {seen}, but {measured} in the profile"));
        }
    }
    if let (Some(seen), Some(measured)) = (&seen.loop_file, &measured.loop_file)
        && (&seen.path, &seen.on) != (&measured.path, &measured.on)
    {
        let (seen, measured) = (file(seen), file(measured));
        return Fit::Not(format!(
            "the device stores its data in {seen}, but the profiled disk stores it in {measured}"
        ));
    }
    let sizes_known = seen.size_bytes.0 > 0 && measured.size_bytes.0 > 0;
    if !same_size(seen, measured) {
        let (size, was) = (format_bytes(seen.size_bytes.0), format_bytes(measured.size_bytes.0));
        return Fit::Not(format!(
            "the device has a size of {size}, but the profiled device had {was}"
        ));
    }
    if seen.serial.is_some() && measured.serial.is_some() {
        return Fit::Of(MatchedBy::Serial, None);
    }
    if seen.model.is_some() && measured.model.is_some() && sizes_known {
        let doubt = "several disks may have this model and size, and there is no serial number to \
             distinguish them";
        return Fit::Of(MatchedBy::ModelAndSize, Some(doubt.to_owned()));
    }
    if seen.disk == measured.disk {
        let doubt = if sizes_known {
            format!(
                "only the name ({}) and the size match; the device has no model or serial number",
                seen.disk
            )
        } else {
            format!("only the name {} matches, and another disk may have had that name", seen.disk)
        };
        return Fit::Of(MatchedBy::Name, Some(doubt));
    }
    let names =
        format!("the device is {}, but the profile was made on {}", seen.disk, measured.disk);
    if chosen {
        return choice(&format!(
            "{names}, and no serial number shows that they are the same device"
        ));
    }
    Fit::Not(format!("{names}, and nothing shows that they are the same device"))
}

/// Whether two devices hold as much as each other, as far as that is known.
pub(super) fn same_size(one: &DeviceFacts, other: &DeviceFacts) -> bool {
    let (one, other) = (one.size_bytes.0 as f64, other.size_bytes.0 as f64);
    one <= 0.0 || other <= 0.0 || (one - other).abs() <= SIZE_DIFFERS * other
}

/// Why a profile of another drive of the same model tells less than one of the drive itself. What hosts sell under
/// one name are volumes of many kinds.
fn of_the_same_model(seen: &DeviceFacts, measured: &DeviceFacts) -> Option<String> {
    let (model, other) = (seen.model.as_ref()?.trim(), measured.model.as_ref()?.trim());
    let (serial, of_profile) = (seen.serial.as_ref()?.trim(), measured.serial.as_ref()?.trim());
    let drives = !seen.virtual_disk && !measured.virtual_disk && !seen.is_export();
    let alike = drives && model == other && same_size(seen, measured);
    (alike && serial != of_profile).then(|| {
        format!(
            "the profile was made on another {model}, with the serial number \
                          {of_profile}"
        )
    })
}

fn by_name(name: &str, measured: &DeviceFacts, chosen: bool) -> Fit {
    if measured.disk == name || measured.name == name {
        let doubt =
            format!("only the name {name} matches, and another disk may have had that name");
        return Fit::Of(MatchedBy::Name, Some(doubt));
    }
    if chosen {
        return choice("the recording contains only the name of the device");
    }
    Fit::Not(format!("the device is {name}, but the profile was made on {}", measured.name))
}

fn disks(device: &DeviceFacts) -> String {
    if device.leaves.is_empty() {
        device.disk.clone()
    } else {
        format!("{} together", device.leaves.join(" and "))
    }
}

fn file(file: &LoopFile) -> String {
    let on = file.on.as_ref().map(|on| format!(" ({on})")).unwrap_or_default();
    format!("{:?}{on}", file.path)
}
