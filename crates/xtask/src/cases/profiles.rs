//! Creates the profiles of healthy devices, each once.
//!
//! They are created as by a user: by the plan of `check`, in virtual time. A slow device gets a longer
//! check.

use crate::cases::building::AREA;
use crate::cases::devices::Device;
use anyhow::{Context, Result};
use model::{Characterise, characterise};
use plan::session;
use plan::{CheckPlan, CheckSettings};
use record::{EngineName, Profile, Target, TargetKind};
use simdisk::SimSpec;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

const SEED: u64 = 1;
const TARGET_REL: f64 = 0.05;

/// Profiles by the text of their device.
#[derive(Debug, Default)]
pub struct Profiles(BTreeMap<String, Profile>);

impl Profiles {
    /// Creates the profile of a device if it does not exist.
    ///
    /// # Errors
    /// If the device cannot be simulated.
    pub fn make(&mut self, device: &Device) -> Result<()> {
        if let Entry::Vacant(place) = self.0.entry(device.text()) {
            place.insert(profiled(device)?);
        }
        Ok(())
    }

    /// The profile of a device, if it was created.
    #[must_use]
    pub fn of(&self, device: &Device) -> Option<&Profile> {
        self.0.get(&device.text())
    }
}

fn profiled(device: &Device) -> Result<Profile> {
    let text = device.text();
    let spec = SimSpec::parse(&text)?;
    let settings = CheckSettings {
        area: AREA.min(spec.size()),
        areas: Vec::new(),
        read_areas: Vec::new(),
        engine: EngineName::Sim,
        alignment: 1,
        budget: device.budget(),
        write: true,
        full: false,
        target_rel: TARGET_REL,
        seed: SEED,
    };
    let target = Target {
        path: format!("sim:{text}"),
        kind: TargetKind::Simulated,
        size_bytes: settings.area,
        device: None,
        filesystem: None,
        extents: None,
        file_hash: spec.file_hash.clone(),
        test_file: None,
    };
    let no_cell = || format!("{} cannot be profiled: no cell fits it", target.path);
    let mut plan = CheckPlan::new(settings).with_context(no_cell)?;
    let trials = session::simulate(&spec, target.size_bytes, SEED, &mut plan)?.trials;
    Ok(characterise(Characterise {
        halfpower_version: String::new(),
        id: text,
        time: None,
        seed: SEED,
        simulated: true,
        target,
        environment: None,
        budget_ns: device.budget(),
        target_rel: TARGET_REL,
        trials: &trials,
        earlier: &[],
    }))
}
