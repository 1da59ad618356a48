//! Detects degraded arrays, and arrays that read and write their members on their own account: a
//! rebuild, a check, a balance. Neither is a fault of the disk that becomes slower or busier.
//!
//! The state is the one that the kernel reported at the start of the observation. An array's own I/O is the
//! difference between what its members transferred and what programs requested from it; merging
//! does not change bytes. An array that writes several times per write has such a difference too,
//! so it is computed for reads. Rejected: predicting the load without the rebuild, because the
//! rebuild's requests are large, sequential and mixed with others.

use super::facts::Judged;
use super::interval_totals::IntervalTotals;
use super::judgement::{Number, cause};
use super::members::leaf;
use super::subject::Subject;
use record::{ArrayState, Cause, CauseCode, Observation, OpKind, counted, format_bytes};
use std::ops::Range;

/// An array, its state, and the disks directly below it.
struct Array<'o> {
    name: &'o str,
    state: &'o ArrayState,
    members: &'o [String],
}

/// The arrays of an observation whose state is known.
fn arrays(observation: &Observation) -> Vec<Array<'_>> {
    let by_file_system = observation.paths.iter().flat_map(|path| &path.volumes);
    let by_file_system = by_file_system.filter_map(|volume| {
        Some(Array { name: &volume.name, state: volume.state.as_ref()?, members: &volume.members })
    });
    let software = observation.devices.iter().filter_map(|device| {
        let state = device.facts.as_ref()?.array.as_ref()?;
        Some(Array { name: &device.name, state, members: &device.built_of })
    });
    let mut found: Vec<Array<'_>> = Vec::new();
    for array in by_file_system.chain(software) {
        // Several paths may lead to the same array.
        if found.iter().all(|known| known.name != array.name) {
            found.push(array);
        }
    }
    found
}

/// The state of a volume, by name.
pub(super) fn state_of<'o>(observation: &'o Observation, name: &str) -> Option<&'o ArrayState> {
    arrays(observation).into_iter().find(|array| array.name == name).map(|array| array.state)
}

/// `1 member missing, recover running`; empty if all is well.
pub(super) fn state_text(state: &ArrayState) -> String {
    let missing = (state.missing > 0)
        .then(|| format!("{} missing", counted(f64::from(state.missing), "member")));
    let work = state.work.as_ref().map(|work| format!("{work} running"));
    missing.into_iter().chain(work).collect::<Vec<_>>().join(", ")
}

/// Adds causes for degraded and self-loaded arrays to the verdicts on the disks below them.
pub(super) fn of_their_own(
    observation: &Observation,
    subjects: &[Subject<'_>],
    judged: &mut [Vec<Judged<'_>>],
) {
    for array in arrays(observation) {
        let is_member = |subject: &Subject<'_>| {
            array.members.iter().any(|name| leaf(observation, name) == Some(&subject.device.name))
        };
        for (subject, judged) in subjects.iter().zip(judged.iter_mut()) {
            if !is_member(subject) {
                continue;
            }
            for one in judged {
                one.causes.extend(rebuilds(observation, &array, &one.segment.time));
                one.causes.extend(degraded(&array));
            }
        }
    }
}

fn rebuilds(observation: &Observation, array: &Array<'_>, time: &Range<u64>) -> Option<Cause> {
    let work = array.state.work.as_ref()?;
    let read_per_s = |name: &str| {
        let totals = IntervalTotals::of_device(observation, name, time);
        totals.per_s(Some(OpKind::Read), true).filter(|_| totals.seconds > 0.0)
    };
    let name = array.name;
    let mut claim = format!(
        "{name} itself reads and writes its members ({work} was running when the observation \
         began)."
    );
    let mut evidence: Vec<Number> = Vec::new();
    let members: Option<f64> = array.members.iter().map(|member| read_per_s(member)).sum();
    if let (Some(asked), Some(members)) = (read_per_s(name), members) {
        let text = |per_s: f64| format_bytes(per_s as u64);
        claim.push_str(&format!(
            " The members read {}/s, but programs requested only {}/s from {name}.",
            text(members),
            text(asked)
        ));
        evidence.push(("read by the members", members, "B/s"));
        evidence.push(("read by programs", asked, "B/s"));
    }
    Some(cause(CauseCode::ArrayRebuilds, claim, &evidence))
}

fn degraded(array: &Array<'_>) -> Option<Cause> {
    let missing = array.state.missing;
    let claim = format!(
        "{} is degraded, with {} missing. The other members serve the requests for missing data \
         (with parity, every such read goes to all of them), and another failure may lose data.",
        array.name,
        counted(f64::from(missing), "member")
    );
    let evidence = [("missing members", f64::from(missing), "")];
    (missing > 0).then(|| cause(CauseCode::ArrayDegraded, claim, &evidence))
}
