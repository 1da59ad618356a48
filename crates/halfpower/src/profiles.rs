//! The saved profiles: the one of a name, and those that devices may be held against.
//!
//! Where the user names one, it stands for every device; otherwise the latest ones are looked at for
//! one that fits. Those of long ago are left out: reading thousands of them takes longer than an
//! answer may.

use crate::store_args::StoreArgs;
use ::diagnose::ProfileSet;
use record::Profile;
use store::StoreError;

/// Latest profiles that are looked at for one that fits.
const MOST: usize = 200;

/// The saved profile of an id, a beginning of one, or "last".
pub(crate) fn saved(keeping: &StoreArgs, id: &str) -> anyhow::Result<Profile> {
    Ok(keeping.existing()?.document(id)?)
}

/// The profiles that devices are compared with: the one that was asked for, else the latest ones
/// of the database, where there is one.
pub(crate) fn for_devices(keeping: &StoreArgs, id: Option<&str>) -> anyhow::Result<ProfileSet> {
    if let Some(id) = id {
        return Ok(ProfileSet::chosen(saved(keeping, id)?));
    }
    let store = match keeping.existing() {
        Err(StoreError::Missing(_) | StoreError::NoDefaultPath) => return Ok(ProfileSet::default()),
        opened => opened?,
    };
    let rows = store.list::<Profile>()?;
    let latest = rows.iter().skip(rows.len().saturating_sub(MOST));
    let profiles: Result<Vec<Profile>, _> = latest.map(|row| store.document(&row.id)).collect();
    Ok(ProfileSet::saved(profiles?))
}
