//! Builds the what-if document: a load before, after each change, and after all changes together.

use super::{Setup, WhatIfError, Words, words};
use crate::predict::{PredictError, Predictor};
use record::{
    Change, Estimate, LoadState, Measured, ObservedLoad, Profile, UnsustainedLoad, WHATIF_SCHEMA,
    WhatIf, WhatIfCase, format_bytes,
};

/// Minimum relative error of the ratio of two computed latencies.
const RATIO_ERROR: f64 = 0.05;

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
    let (before, unsustained) = match setup.state(predictor) {
        Ok(state) => (Some(state), None),
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
        before,
        before_unsustained: unsustained,
        extrapolated: extrapolated.map(|found| found.extrapolated).unwrap_or_default(),
        balance: None,
    })
}

fn case(
    predictor: &Predictor,
    setup: &Setup,
    before: Option<&LoadState>,
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
    let after = changed.and_then(|changed| changed.state(predictor));
    let after: Measured<LoadState> = match after {
        // A RAID level with an impossible number of disks is an invalid request.
        Err(error @ WhatIfError::Disks(..)) => return Err(error),
        other => other.map_err(|error| error.to_string()).into(),
    };
    Ok(WhatIfCase {
        changes: changes.to_vec(),
        latency_ratio: before
            .zip(after.value())
            .map(|(before, after)| ratio(&before.latency_ns, &after.latency_ns)),
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

/// Latency after divided by latency before. Both come from one model and share its error. So the error of
/// the ratio is only the additional width of the interval after, and at least [`RATIO_ERROR`].
fn ratio(before: &Estimate, after: &Estimate) -> Estimate {
    let value = after.value / before.value;
    let beyond = |after: f64, before: f64| (after / before).max(1.0 + RATIO_ERROR);
    let low = value / beyond(after.value / after.low, before.value / before.low);
    let high = value * beyond(after.high / after.value, before.high / before.value);
    Estimate::spanning(value, low, high, 0)
}
