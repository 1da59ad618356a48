//! Builds the document of a map from its trials.

use super::analysis::{Analysis, Visit, analyse, bands, lowest, positions};
use super::array::together;
use super::plan::{Place, Settings, ZonePlan};
use record::{
    EngineName, Environment, Finding, FindingCode, Severity, Target, Trial, ZONES_SCHEMA, ZoneMap,
    format_rate,
};

/// The target of a map.
#[derive(Clone, Debug)]
pub struct Mapped<'a> {
    /// The target; a stripe counts as one.
    pub target: &'a Target,
    /// The members of an array, in the order of its plan.
    pub members: Vec<Target>,
    /// System and settings; `None` for a simulated target.
    pub environment: Option<Environment>,
    /// Whether it is known to be a rotating disk.
    pub turns: bool,
    /// Findings from before the visits.
    pub findings: Vec<Finding>,
}

/// The map from the trials of a plan, one per visit; `None` if too few of them are valid. `identity` is the
/// id and the time of the document.
#[must_use]
pub fn document(
    mapped: Mapped<'_>,
    (plan, settings): (&ZonePlan, &Settings),
    trials: &[Trial],
    identity: (String, Option<String>),
    version: &str,
) -> Option<ZoneMap> {
    let array = settings.array.as_ref();
    let mut visits = vec![Vec::new(); 1 + array.map_or(0, |array| array.members.len())];
    for (&Place { of, position, pass }, trial) in plan.visits.iter().zip(trials) {
        let read = trial.result.read.as_ref().filter(|_| model::counts(trial));
        let rate = read.map_or(0.0, |read| read.bytes_per_s);
        if rate > 0.0 {
            visits[of as usize].push(Visit { position, pass, rate });
        }
    }
    let analysis = analyse(&visits[0], settings.seed)?;
    let offset = |position| plan.offset(position, false);
    let positions = positions(&analysis, &offset, mapped.target);
    let array = array
        .map(|array| together((plan, array), &visits, &mapped.members, settings.seed))
        .map(|found| found.ok_or("too few measurements of a member were valid").into());
    let mut findings = mapped.findings;
    findings.extend(steps_finding(&analysis, mapped.turns));
    let (id, time) = identity;
    Some(ZoneMap {
        schema: ZONES_SCHEMA.to_owned(),
        halfpower_version: version.to_owned(),
        id,
        time,
        seed: settings.seed,
        simulated: settings.engine == EngineName::Sim,
        target: mapped.target.clone(),
        environment: mapped.environment,
        request_bytes: plan.request,
        depth: plan.depth,
        window_bytes: plan.window,
        passes: settings.passes,
        mean_bytes_per_s: analysis.mean,
        bands: bands(&analysis, &offset),
        false_alarm_share: stats::STEP_FALSE_ALARM_SHARE,
        p_value: analysis.p_value,
        inner_loss: analysis.inner_loss,
        lowest: lowest(&positions),
        positions,
        array,
        trial_ids: trials.iter().map(|trial| trial.id.clone()).collect(),
        findings,
    })
}

/// The meaning of steps in the rate, if any.
fn steps_finding(analysis: &Analysis, turns: bool) -> Option<Finding> {
    let [(.., first), .., (.., last)] = analysis.bands.as_slice() else { return None };
    let bands = analysis.bands.len();
    let from_to = format!("{} to {}", format_rate(first.value), format_rate(last.value));
    let (code, claim, remedy) = if turns {
        (
            FindingCode::ZonesFound,
            format!("The medium has {bands} zones with different rates, from {from_to}."),
            "Put data for sequential reads at the start, and plan with the lowest rate for \
             streams.",
        )
    } else {
        (
            FindingCode::RateByPosition,
            format!(
                "The rate depends on the position: it changes from {from_to}, in {bands} steps. \
                 But this disk is not known to rotate, so a cache below, tiering or the parts of \
                 a volume may be the reason."
            ),
            "Map again later: if the differences change, the medium is not the cause.",
        )
    };
    let finding = Finding::new(code, Severity::Info, claim, remedy)
        .with("bands", bands as f64, "")
        .with("probability by chance", analysis.p_value, "");
    Some(match analysis.inner_loss.value() {
        Some(loss) => {
            finding.with("loss from the first positions to the last", loss.value, "share")
        }
        None => finding,
    })
}
