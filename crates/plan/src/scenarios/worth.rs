//! What each kind of evidence is worth: the same draws, diagnosed without it.

use crate::scenarios::ScenarioError;
use crate::scenarios::case::Case;
use crate::scenarios::judge::judge;
use crate::scenarios::profiles::Profiles;
use crate::scenarios::scores::{Drawn, Scores, on_all_processors};
use crate::scenarios::stage::staged;
use record::Observation;
use std::sync::atomic::AtomicBool;

/// A kind of evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvidenceKind {
    /// Single requests, and who asks for them.
    Tracer,
    /// How long tasks wait for I/O.
    Pressure,
    /// Limits of control groups.
    Limits,
    /// How long the device is busy.
    BusyTime,
    /// What the device is and how it is set up, beside the same of the profile.
    Settings,
    /// Other stretches of time of the same device.
    OtherTimes,
}

impl EvidenceKind {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Tracer,
        Self::Pressure,
        Self::Limits,
        Self::BusyTime,
        Self::Settings,
        Self::OtherTimes,
    ];

    /// In print.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tracer => "the tracer",
            Self::Pressure => "I/O pressure",
            Self::Limits => "limits of control groups",
            Self::BusyTime => "busy time",
            Self::Settings => "settings of the device",
            Self::OtherTimes => "other times",
        }
    }

    /// Takes it from what a diagnosis gets; `from_s` and `to_s` are the stretch that is asked about.
    fn leave_out(self, observation: &mut Observation, (from_s, to_s): (u64, u64)) {
        match self {
            Self::Tracer => {
                for interval in &mut observation.intervals {
                    (interval.traced, interval.processes) = (None, None);
                }
            }
            Self::Pressure => {
                for context in &mut observation.contexts {
                    context.io_some_share = None;
                }
            }
            Self::Limits => {
                observation.contexts.iter_mut().for_each(|context| context.cgroup_limits.clear());
            }
            Self::BusyTime => {
                observation.intervals.iter_mut().for_each(|interval| interval.busy_share = None);
            }
            Self::Settings => {
                observation.devices.iter_mut().for_each(|device| device.facts = None);
            }
            Self::OtherTimes => {
                let stretch = from_s * 1_000_000_000..to_s * 1_000_000_000;
                observation.intervals.retain(|interval| stretch.contains(&interval.begin_ns));
                observation.contexts.retain(|context| stretch.contains(&context.begin_ns));
            }
        }
    }
}

/// Scores of the same cases with all evidence, and without each kind. Only the first stretch of a case
/// is asked about, and no advice is carried out.
///
/// # Errors
/// If a case cannot be simulated.
pub fn worth(
    cases: &[Case],
    profiles: &mut Profiles,
) -> Result<Vec<(Option<EvidenceKind>, Scores)>, ScenarioError> {
    for disk in cases.iter().flat_map(|case| &case.disks) {
        profiles.make(&disk.device)?;
    }
    let known = &*profiles;
    let kinds = || [None].into_iter().chain(EvidenceKind::ALL.map(Some));
    let of_case = |case: &Case| -> Result<Vec<Drawn>, ScenarioError> {
        let mut case = case.clone();
        case.expects.truncate(1);
        let stretch = case.expects.first().map_or((0, 0), |expect| (expect.from_s, expect.to_s));
        let staged = staged(&case, known)?;
        let without = |kind: Option<EvidenceKind>| {
            let mut observation = staged.observation.clone();
            if let Some(kind) = kind {
                kind.leave_out(&mut observation, stretch);
            }
            let score = judge(&case, &staged.diagnosis_of(&observation));
            Drawn { case: case.clone(), score, outcome: None }
        };
        Ok(kinds().map(without).collect())
    };
    let rows = on_all_processors(cases, &AtomicBool::new(false), of_case, |_| {});
    let rows = rows.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(kinds()
        .enumerate()
        .map(|(at, kind)| {
            let column: Vec<Drawn> = rows.iter().filter_map(|row| row.get(at).cloned()).collect();
            (kind, Scores::of(&column))
        })
        .collect())
}

/// The table of it, of at most 80 columns.
#[must_use]
pub fn worth_text(worth: &[(Option<EvidenceKind>, Scores)]) -> String {
    let head = format!(
        "{:26}{:>8}{:>15}{:>15}{:>12}",
        "without", "right", "certain", "truth unnamed", "surprise"
    );
    let mut lines = vec![head];
    for (kind, scores) in worth {
        let name = kind.map_or("(nothing omitted)", EvidenceKind::name);
        let certain =
            scores.called.iter().filter(|one| one.confidence == record::Confidence::Certain);
        let (certain, right) =
            certain.fold((0, 0), |(all, right), one| (all + 1, right + usize::from(one.right)));
        let certain = format!("{right} of {certain}");
        let surprise = scores.surprise / scores.draws.max(1) as f64;
        lines.push(format!(
            "{name:26}{:>8}{certain:>15}{:>15}{surprise:>12.4}",
            scores.verdict_right, scores.truth_unnamed
        ));
    }
    lines.join("\n")
}
