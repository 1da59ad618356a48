//! Decides whether a profile describes an observed device. A kernel name can move from disk to
//! disk; model and serial number stay. If a source gives only a name, the name decides, and the
//! doubt is printed. Contradicting facts exclude a profile, even one that the user chose.

use super::fitted_profile::FittedProfile;
use record::{
    DeviceFacts, Finding, LoopFile, MatchedBy, ObservedDevice, Profile, format_bytes, short_id,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Largest relative difference of sizes, because of partitions, units and reserved blocks.
const SIZE_DIFFERS: f64 = 0.05;

/// Relation of a profile to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fit {
    /// It describes this device as far as is known, with a doubt if any.
    Of(MatchedBy, Option<String>),
    /// It describes another device, for the given reason.
    Not(String),
}

impl Fit {
    /// Quality of the match, 0 for the best; `None` if it does not match.
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

/// Matches a profile with an observed device. `chosen` is whether the user named the profile.
#[must_use]
pub fn fit(device: &ObservedDevice, profile: &Profile, chosen: bool) -> Fit {
    if profile.target.path == device.name && profile.simulated {
        let (measured, seen) = (&profile.target.file_hash, &device.file_hash);
        if measured.is_none() || measured == seen {
            return Fit::Of(MatchedBy::Simulated, None);
        }
        let name = &device.name;
        let why = format!("the file that describes {name} has changed since the profile was made");
        return if chosen { choice(&why) } else { Fit::Not(why) };
    }
    let mounted = profile.target.filesystem.as_ref().map(|filesystem| &filesystem.source);
    if mounted == Some(&device.name) && profile.target.device.is_none() {
        // A file-server export is identified by its own name and that of the server.
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

/// The best match, never a partial profile. Among equal matches a valid profile wins, then one
/// measured while the device was steady, then the latest. `profiles` are in order of time.
pub(super) fn best_fit<'a>(
    device: &ObservedDevice,
    profiles: &'a [Arc<FittedProfile>],
) -> Option<&'a Arc<FittedProfile>> {
    let rank = |fitted: &Arc<FittedProfile>| {
        let profile = fitted.profile();
        let rank = fit(device, profile, false).rank()?;
        Some((rank, !Finding::none_invalid(&profile.findings), fitted.is_unsteady()))
    };
    let complete = profiles.iter().rev().filter(|fitted| fitted.profile().partial().is_none());
    let ranked = complete.filter_map(|fitted| Some((rank(fitted)?, fitted)));
    ranked.min_by_key(|(rank, _)| *rank).map(|(_, fitted)| fitted)
}

/// Why the newest profile of a device is not the `used` one, and what to do; `None` if it is, or if
/// there is no other. `profiles` are in order of time. A profile of another observed device, one of
/// `in_use`, is not missing here.
pub(super) fn unused(
    device: &ObservedDevice,
    profiles: &[Arc<FittedProfile>],
    (used, in_use): (Option<&str>, &[String]),
    chosen: bool,
) -> Option<String> {
    let is_used = |fitted: &Arc<FittedProfile>| used == Some(fitted.profile().id.as_str());
    let mut newer = profiles.iter().rev().take_while(|fitted| !is_used(fitted));
    newer.find_map(|fitted| {
        let profile = fitted.profile();
        let id = short_id(&profile.id);
        let is_missing = || (chosen || concerns(device, profile)) && !in_use.contains(&profile.id);
        let said = |why: &str, action: &str| {
            format!("Profile {id} of {} {why}; {action}.", profile.target.path)
        };
        match fit(device, profile, chosen) {
            Fit::Not(why) if used.is_none() && is_missing() => {
                let mut action = "run `halfpower check` on this device".to_owned();
                if matches!(fit(device, profile, true), Fit::Of(..)) {
                    action += &format!(", or use it anyway with `--profile {id}`");
                }
                Some(said(&format!("does not fit this device: {why}"), &action))
            }
            // A profile of another drive of the model is no loss.
            Fit::Of(by, _) if by != MatchedBy::Model => {
                if profile.partial().is_some() {
                    let action = format!("repeat the check, or use it with `--profile {id}`");
                    return Some(said("is partial, because its check ended early", &action));
                }
                let why = match Finding::first_invalid(&profile.findings) {
                    Some(finding) => {
                        format!("is newer but invalid: {}", finding.claim.trim_end_matches('.'))
                    }
                    None if fitted.is_unsteady() => {
                        "is newer, but the device was unsteady when it was made".to_owned()
                    }
                    None => return None,
                };
                Some(said(&why, "repeat `halfpower check` while the disk is quiet"))
            }
            _ => None,
        }
    })
}

/// Whether a profile was made on a device with this name, serial number, model or exact size, or on
/// several devices that include this one.
fn concerns(device: &ObservedDevice, profile: &Profile) -> bool {
    let name = &device.name;
    let Some(measured) = &profile.target.device else { return profile.target.path == *name };
    let same = |one: &Option<String>, other: &Option<String>| {
        one.as_ref().is_some_and(|one| other.as_ref().is_some_and(|it| it.trim() == one.trim()))
    };
    let alike = |seen: &DeviceFacts| {
        same(&seen.serial, &measured.serial)
            || same(&seen.model, &measured.model)
            || seen.size_bytes.0 > 0 && seen.size_bytes == measured.size_bytes
    };
    [&measured.disk, &measured.name].contains(&name)
        || measured.leaves.contains(name)
        || device.facts.as_ref().is_some_and(alike)
}

fn choice(why: &str) -> Fit {
    Fit::Of(MatchedBy::Choice, Some(format!("the profile was chosen by hand; {why}")))
}

fn by_facts(seen: &DeviceFacts, measured: &DeviceFacts, chosen: bool) -> Fit {
    // A measurement of several devices together does not describe one of them, nor another group.
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

/// Whether two devices have the same capacity, as far as known.
pub(super) fn same_size(one: &DeviceFacts, other: &DeviceFacts) -> bool {
    let (one, other) = (one.size_bytes.0 as f64, other.size_bytes.0 as f64);
    one <= 0.0 || other <= 0.0 || (one - other).abs() <= SIZE_DIFFERS * other
}

/// Why a profile of another drive of the same model is less certain than one of the drive itself.
/// Volumes that a provider sells under one name are of many kinds.
fn of_the_same_model(seen: &DeviceFacts, measured: &DeviceFacts) -> Option<String> {
    let (model, other) = (seen.model.as_ref()?.trim(), measured.model.as_ref()?.trim());
    let (serial, of_profile) = (seen.serial.as_ref()?.trim(), measured.serial.as_ref()?.trim());
    let drives = !seen.virtual_disk && !measured.virtual_disk && !seen.is_export();
    let alike = drives && model == other && same_size(seen, measured);
    (alike && serial != of_profile).then(|| {
        format!("the profile was made on another {model}, with the serial number {of_profile}")
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
