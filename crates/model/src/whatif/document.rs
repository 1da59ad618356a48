//! Builds the what-if document: a load before, after each change, and after all changes together.

use super::path::Computed;
use super::{Setup, WhatIfError, Words, words};
use crate::predict::{PredictError, Predictor};
use record::{
    Change, Measured, ObservedLoad, Profile, UnsustainedLoad, WHATIF_SCHEMA, WhatIf, WhatIfCase,
    format_bytes,
};

/// Predicts a load after each change alone, and after all together. A load that exceeds the disk is often
/// the reason for a change: it has no state before, only a reason.
///
/// # Errors
/// If the profile lacks the load before, or a RAID level is not possible with this number of disks.
pub fn document(
    profile: &Profile,
    predictor: &Predictor,
    setup: &Setup,
    changes: &[Change],
    observed: Option<ObservedLoad>,
    halfpower_version: &str,
) -> Result<WhatIf, WhatIfError> {
    let (before, unsustained) = match setup.computed(predictor) {
        Ok(found) => (Some(found), None),
        Err(WhatIfError::Predict(
            why @ (PredictError::Saturated { .. } | PredictError::NearMaximum { .. }),
        )) => {
            let (mix, offered, why) = (setup.mix.clone(), setup.offered, why.to_string());
            (None, Some(UnsustainedLoad { mix, offered, why }))
        }
        Err(error) => return Err(error),
    };
    let together = (changes.len() > 1).then_some(changes);
    let sets = changes.chunks(1).chain(together);
    let cases = sets
        .map(|set| case(predictor, setup, before.as_ref(), set, observed.as_ref()))
        .collect::<Result<_, _>>()?;
    let extrapolated = predictor.predict(&setup.mix, setup.offered);
    Ok(WhatIf {
        schema: WHATIF_SCHEMA.to_owned(),
        halfpower_version: halfpower_version.to_owned(),
        profile_id: Some(profile.id.clone()),
        target: Some(profile.target.path.clone()),
        simulated: profile.simulated,
        observed,
        cases,
        before: before.map(|found| found.state),
        before_unsustained: unsustained,
        extrapolated: extrapolated.map(|found| found.extrapolated).unwrap_or_default(),
        balance: None,
    })
}

fn case(
    predictor: &Predictor,
    setup: &Setup,
    before: Option<&Computed>,
    changes: &[Change],
    observed: Option<&ObservedLoad>,
) -> Result<WhatIfCase, WhatIfError> {
    let Words { assumes, cost, how_to_check } = match changes {
        [change] => words(*change, setup),
        _ => Words {
            assumes: "all of the assumptions above".to_owned(),
            cost: "all of the costs above".to_owned(),
            how_to_check: "each of the checks above".to_owned(),
        },
    };
    let all = |setup: Setup, change: &Change| setup.with(*change, predictor);
    let changed = changes.iter().try_fold(setup.clone(), all);
    let (after, latency_ratio) = match changed.and_then(|changed| changed.computed(predictor)) {
        // A RAID level with an impossible number of disks is an invalid request.
        Err(error @ WhatIfError::Disks(..)) => return Err(error),
        Err(error) => (Measured::not(error.to_string()), None),
        Ok(found) => {
            let ratio = before.map(|before| found.over(before));
            (Measured::Value(found.state), ratio)
        }
    };
    Ok(WhatIfCase {
        changes: changes.to_vec(),
        latency_ratio,
        after,
        assumes: vec![assumes],
        cost: vec![cost],
        how_to_check: vec![how_to_check],
        evidence: match changes {
            [Change::HostCache(_) | Change::Memory { .. }] => vec![memory(observed)],
            _ => Vec::new(),
        },
    })
}

/// The memory available for more cache.
fn memory(observed: Option<&ObservedLoad>) -> String {
    match observed.map(|observed| observed.memory_available_bytes) {
        Some(Some(bytes)) => {
            format!("at least {} of memory was available all the time", format_bytes(bytes))
        }
        Some(None) => "unknown: the observation has no memory figures".to_owned(),
        None => "unknown: free memory is recorded only in an observation of the host".to_owned(),
    }
}
