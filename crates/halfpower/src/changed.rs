//! Predicts the load of a profile or a recording before and after a change.

use crate::failure::usage;
use crate::predict_args::PredictArgs;
use crate::recordings::{FormArgs, Sources};
use ::diagnose::{balanced, observed_load};
use anyhow::{Context, anyhow};
use host::target;
use model::Predictor;
use model::whatif::Setup;
use plan::session::{SessionError, VERSION};
use record::{
    Bytes, Cap, Change, DocumentKind, Observation, ObservedDevice, ObservedLoad, Profile,
    SavedDocument, WHATIF_SCHEMA, WhatIf, format_bytes, quoted, shell_word,
};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use store::LAST;
use workload::replay;

/// Names the newest observation.
const OBSERVED: &str = "observed";

/// The observation that the source names; `None` if it names a profile.
pub(crate) fn observation(
    arguments: &PredictArgs,
    source: &str,
) -> anyhow::Result<Option<Observation>> {
    if Path::new(source).is_file() {
        let as_found = (&FormArgs::default(), None);
        let found =
            Sources::of(&[source.to_owned()])?.recordings(&arguments.view.keeping, as_found)?;
        return Ok(found.and_then(|found| found.into_iter().next()));
    }
    let store = arguments.view.keeping.existing()?;
    if source == OBSERVED {
        return Ok(Some(store.document(LAST)?));
    }
    if source.starts_with(LAST) {
        return Ok(None);
    }
    match store.find(source, &[DocumentKind::Profile, DocumentKind::Observation])? {
        SavedDocument::Observation(observation) => Ok(Some(*observation)),
        _ => Ok(None),
    }
}

/// The load of an observation, of one device or balanced over all.
pub(crate) fn of_observation(
    arguments: &PredictArgs,
    observation: &Observation,
) -> anyhow::Result<WhatIf> {
    let profiles = arguments.view.keeping.profiles_for_devices(arguments.profile.as_deref())?;
    let diagnosis = profiles.diagnose(observation, VERSION, Some(0));
    let of = |device: &ObservedDevice| profiles.of(device).map(Arc::as_ref);
    if !arguments.change.balance {
        let device = arguments.device.as_deref();
        let (observed, setup, profile) =
            observed_load(observation, &diagnosis, &of, device).map_err(|why| anyhow!(why))?;
        let (profile, predictor) = (profile.profile(), profile.predictor());
        return of_load(arguments, Some(observed), profile, predictor, &setup);
    }
    if !arguments.changes(true)?.is_empty() {
        return Err(usage("--balance cannot be combined with another change; omit one of them"));
    }
    Ok(WhatIf {
        schema: WHATIF_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        balance: Some(balanced(observation, &diagnosis, &of).map_err(|why| anyhow!(why))?),
        ..WhatIf::default()
    })
}

/// Predicts one load before and after the change.
pub(crate) fn of_load(
    arguments: &PredictArgs,
    observed: Option<ObservedLoad>,
    profile: &Profile,
    predictor: &Predictor,
    setup: &Setup,
) -> anyhow::Result<WhatIf> {
    let changes = arguments.changes(observed.is_some())?;
    if changes.is_empty() {
        return Err(usage(
            "name at least one change to the recorded load: --faster, --disks and --raid, \
             --cache-hit, --host-cache, --memory, --sequential +N%, --iodepth, --bs, --cap, \
             --uncapped, --as-profiled, --without, --independent, or --balance",
        ));
    }
    if changes.contains(&Change::Uncapped) {
        refuse_above_cap(profile, setup)?;
    }
    let found = model::whatif::document(profile, predictor, setup, &changes, observed, VERSION);
    let mut document = found.map_err(|error| usage(error.to_string()))?;
    for case in &mut document.cases {
        if let [Change::Sequential(_)] = case.changes[..] {
            case.evidence.push(extents(arguments, profile)?);
        }
        if let ([Change::Memory { .. }], Some(recorded)) =
            (&case.changes[..], &arguments.change.recorded)
        {
            case.evidence.push(report::reuse(&replay::reuse(recorded), &recorded.source));
        }
    }
    Ok(document)
}

/// Refuses to predict a load above the cap that was active while the profile was measured: the profile has no
/// request above it.
fn refuse_above_cap(profile: &Profile, setup: &Setup) -> anyhow::Result<()> {
    let holds =
        |cap: &&Cap| cap.op.is_none_or(|op| setup.mix.classes.iter().any(|class| class.op == op));
    let Some(cap) = profile.caps.iter().find(holds) else { return Ok(()) };
    let place = shell_word(&profile.target.path);
    Err(SessionError::NoResult(format!(
        "--uncapped: this profile was made behind a cap ({}), so the disk's performance above the \
         cap is unknown; without the cap, the load reaches at least its current rate. Raise or \
         remove the cap, or use a volume without a cap; then run `halfpower check {place}`, and \
         predict from the new profile without --uncapped",
        cap.text()
    ))
    .into())
}

/// Reports what is known about the extents of a file.
fn extents(arguments: &PredictArgs, profile: &Profile) -> anyhow::Result<String> {
    if let Some(path) = &arguments.change.extents_of {
        let file = File::open(path).with_context(|| format!("cannot open {}", quoted(path)))?;
        let length =
            file.metadata().with_context(|| format!("cannot read {}", quoted(path)))?.len();
        let Some(found) = target::extents(&file, Bytes(0), Bytes(length))? else {
            return Ok(format!(
                "unknown: the file system of {} does not report extents",
                quoted(path)
            ));
        };
        let (count, each) = (found.count, format_bytes(length / found.count.max(1)));
        return Ok(format!("{} has {count} extents of {each} on average", quoted(path)));
    }
    Ok(match &profile.target.extents {
        Some(found) => format!(
            "the profile's test file had {} extents; to count the extents of \
             your file, use --extents-of FILE",
            found.count
        ),
        None => "unknown: to count the extents of a file, use --extents-of FILE".to_owned(),
    })
}
