//! The saved profiles: the one of a name, its target, and those that devices may be held against.
//!
//! Where the user names one, it stands for every device; otherwise the latest ones are looked at for
//! one that fits. Those of long ago are left out: reading thousands of them takes longer than an
//! answer may.

use crate::failure::UsageError;
use crate::progress::Progress;
use crate::store_args::StoreArgs;
use ::diagnose::ProfileSet;
use record::{Bytes, CacheMode, EngineName, Profile};
use session::{RealTargets, Session};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use store::{Store, StoreError};

/// Latest profiles that are looked at for one that fits.
const MOST: usize = 200;

/// Largest request of a drawn load: a target must hold one.
const LARGEST_REQUEST: Bytes = Bytes(128 << 10);

/// The saved profile of an id, a beginning of one, or "last".
pub(crate) fn saved(keeping: &StoreArgs, id: &str) -> anyhow::Result<Profile> {
    Ok(Store::open_existing(&keeping.file()?)?.profile(id)?)
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

/// The profiles that devices are compared with: the one that was asked for, else the latest ones
/// of the database, where there is one.
pub(crate) fn for_devices(keeping: &StoreArgs, id: Option<&str>) -> anyhow::Result<ProfileSet> {
    if let Some(id) = id {
        return Ok(ProfileSet::chosen(saved(keeping, id)?));
    }
    let store = match keeping.file().and_then(|path| Store::open_existing(&path)) {
        Err(StoreError::Missing(_) | StoreError::NoDefaultPath) => return Ok(ProfileSet::default()),
        opened => opened?,
    };
    let rows = store.list::<Profile>()?;
    let latest = rows.iter().skip(rows.len().saturating_sub(MOST));
    let profiles: Result<Vec<Profile>, _> = latest.map(|row| store.profile(&row.id)).collect();
    Ok(ProfileSet::saved(profiles?))
}
