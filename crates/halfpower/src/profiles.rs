//! The saved profiles: the one of a name, and those that devices may be held against.
//!
//! Where the user names one, it stands for every device; otherwise the latest ones are looked at for
//! one that fits. Those of long ago are left out: reading thousands of them takes longer than an
//! answer may.

use crate::keeping::{Keeping, LAST};
use crate::session::VERSION;
use ::diagnose::{DiagnoseOptions, Prepared, best_fit, diagnose};
use record::{Diagnosis, Observation, ObservedDevice, Profile};
use std::path::PathBuf;
use store::{Store, StoreError};

/// Latest profiles that are looked at for one that fits.
const MOST: usize = 200;

/// The profile of an id, a beginning of one, or "last".
pub(crate) fn named(store: &Store, id: &str) -> anyhow::Result<Profile> {
    let rows = if id == LAST { store.profiles()? } else { Vec::new() };
    Ok(store.profile(rows.last().map_or(id, |row| &row.id))?)
}

/// The same, of the database that the user means.
pub(crate) fn saved(keeping: &Keeping, id: &str) -> anyhow::Result<Profile> {
    named(&Store::open_existing(&keeping.file()?)?, id)
}

/// Profiles that may stand for a device.
pub(crate) struct Profiles {
    chosen: Option<Prepared>,
    known: Vec<Prepared>,
}

impl Profiles {
    /// The one that was asked for, or the latest ones of the database, where there is one.
    pub(crate) fn open(
        path: Result<PathBuf, StoreError>,
        id: Option<&str>,
    ) -> anyhow::Result<Self> {
        if let Some(id) = id {
            let store = Store::open_existing(&path?)?;
            let chosen = Some(Prepared::new(named(&store, id)?));
            return Ok(Self { chosen, known: Vec::new() });
        }
        let store = path.ok().and_then(|path| Store::open_existing(&path).ok());
        let Some(store) = store else { return Ok(Self { chosen: None, known: Vec::new() }) };
        let rows = store.profiles()?;
        let latest = rows.iter().skip(rows.len().saturating_sub(MOST));
        let known = latest.map(|row| store.profile(&row.id).map(Prepared::new));
        Ok(Self { chosen: None, known: known.collect::<Result<_, _>>()? })
    }

    /// The one that stands for a device.
    pub(crate) fn of(&self, device: &ObservedDevice) -> Option<&Prepared> {
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
