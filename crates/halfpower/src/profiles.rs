//! The saved profiles: the one of a name, its target, and those that devices may be held against.
//!
//! Where the user names one, it stands for every device; otherwise the latest ones are looked at for
//! one that fits. Those of long ago are left out: reading thousands of them takes longer than an
//! answer may.

use crate::failure::UsageError;
use crate::progress::Progress;
use crate::store_args::{LAST, StoreArgs};
use ::diagnose::{DiagnoseOptions, FittedProfile, best_fit, diagnose};
use record::{Bytes, CacheMode, Diagnosis, EngineName, Observation, ObservedDevice, Profile};
use session::{self, RealTargets, Session, VERSION};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Store, StoreError};

/// Latest profiles that are looked at for one that fits.
const MOST: usize = 200;

/// Largest request of a drawn load: a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(128 << 10);

/// The profile of an id, a beginning of one, or "last".
pub(crate) fn named(store: &Store, id: &str) -> anyhow::Result<Profile> {
    let rows = if id == LAST { store.profiles()? } else { Vec::new() };
    Ok(store.profile(rows.last().map_or(id, |row| &row.id))?)
}

/// The same, of the database that the user means.
pub(crate) fn saved(keeping: &StoreArgs, id: &str) -> anyhow::Result<Profile> {
    named(&Store::open_existing(&keeping.file()?)?, id)
}

/// The part of its target that a profile is of.
pub(crate) fn area_of(profile: &Profile) -> anyhow::Result<Bytes> {
    let area = profile.cells.first().map(|cell| cell.workload.size_bytes);
    area.ok_or_else(|| UsageError("the profile holds no cells".to_owned()).into())
}

/// The target of a profile, ready for loads; without `write` nothing of it is written but a file of
/// halfpower's own.
pub(crate) fn open_again(
    profile: &Profile,
    write: bool,
    seed: u64,
    stop: &Arc<AtomicBool>,
    progress: &mut Progress,
) -> anyhow::Result<Session> {
    let area = area_of(profile)?;
    if let Some(device) = session::simulated(&profile.target.path)? {
        return Ok(Session::simulated(&device, Some(area), seed, stop));
    }
    let path = Path::new(&profile.target.path);
    let access = target::Access::ReadOnly;
    let mut target = RealTargets::open(&[path], &access, Some(area), LARGEST_REQUEST)?;
    let disk = |target: &record::Target| target.device.as_ref().map(|device| device.name.clone());
    if disk(target.facts()) != disk(&profile.target) {
        let text = format!(
            "{} is on another disk than the one that was profiled; a profile holds for its own",
            profile.target.path
        );
        return Err(UsageError(text).into());
    }
    target.open_mode(CacheMode::Device, write)?;
    Ok(target.into_session(EngineName::IoUring, seed, stop, progress)?)
}

/// Profiles that may stand for a device.
pub(crate) struct Profiles {
    chosen: Option<FittedProfile>,
    known: Vec<FittedProfile>,
}

impl Profiles {
    /// The one that was asked for, or the latest ones of the database, where there is one.
    pub(crate) fn open(
        path: Result<PathBuf, StoreError>,
        id: Option<&str>,
    ) -> anyhow::Result<Self> {
        if let Some(id) = id {
            let store = Store::open_existing(&path?)?;
            let chosen = Some(FittedProfile::new(named(&store, id)?));
            return Ok(Self { chosen, known: Vec::new() });
        }
        let store = path.ok().and_then(|path| Store::open_existing(&path).ok());
        let Some(store) = store else { return Ok(Self { chosen: None, known: Vec::new() }) };
        let rows = store.profiles()?;
        let latest = rows.iter().skip(rows.len().saturating_sub(MOST));
        let known = latest.map(|row| store.profile(&row.id).map(FittedProfile::new));
        Ok(Self { chosen: None, known: known.collect::<Result<_, _>>()? })
    }

    /// The one that stands for a device.
    pub(crate) fn of(&self, device: &ObservedDevice) -> Option<&FittedProfile> {
        self.chosen.as_ref().or_else(|| best_fit(device, &self.known))
    }

    /// The diagnosis of all devices.
    pub(crate) fn diagnose(&self, observation: &Observation, without_series: bool) -> Diagnosis {
        let options = DiagnoseOptions {
            halfpower_version: VERSION.to_owned(),
            chosen: self.chosen.is_some(),
            without_series,
        };
        diagnose(observation, &|device| self.of(device), &options)
    }
}
