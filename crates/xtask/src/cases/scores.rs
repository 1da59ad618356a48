//! Summarises many draws: the confusion matrix and the shares that the goals refer to.

use crate::cases::carry_out::{Outcome, carry_out};
use crate::cases::case::{Case, Kind};
use crate::cases::judge::{Called, Score, judge};
use crate::cases::profiles::Profiles;
use crate::cases::stage::{name, staged};
use crate::tally::{Count, Tally};
use anyhow::Result;
use record::{Confidence, Doubt, Verdict};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

/// The verdicts as columns.
const COLUMNS: [(Verdict, &str); 7] = [
    (Verdict::Healthy, "fine"),
    (Verdict::NotTheDisk, "spare"),
    (Verdict::Slow, "slow"),
    (Verdict::Overloaded, "over"),
    (Verdict::SlowAndOverloaded, "both"),
    (Verdict::Capped, "capped"),
    (Verdict::NotEnoughEvidence, "unkn."),
];
/// Bin edges of stated probabilities.
const STATED: [f64; 10] = [0.0, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.995, 1.1];
const LEGEND: &str = "fine: healthy; spare: not the disk; over: overloaded; both: slow and \
                      overloaded;\nunkn.: not enough evidence. right: verdicts and first advice \
                      were correct.\nmet: the applied advice had the predicted effect.";

/// A case with its results.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The case.
    pub case: Case,
    /// Assessment of the diagnosis.
    pub score: Score,
    /// Result of the applied advice; `None` if it could not be applied.
    pub outcome: Option<Outcome>,
}

/// Simulates, diagnoses and judges cases on all processors. Results are in the order of the cases.
///
/// # Errors
/// If a case cannot be simulated.
pub fn run(cases: &[Case], profiles: &mut Profiles) -> Result<Vec<Drawn>> {
    for disk in cases.iter().flat_map(|case| &case.disks) {
        profiles.make(&disk.device)?;
    }
    let known = &*profiles;
    let drawn =
        plan::on_all_processors(cases, &AtomicBool::new(false), |case| one(case, known), |_| {});
    drawn.into_iter().collect()
}

fn one(case: &Case, profiles: &Profiles) -> Result<Drawn> {
    let diagnosis = staged(case, profiles)?.diagnosed();
    let score = judge(case, &diagnosis);
    let first = diagnosis.devices.iter().find(|found| found.device == name(0));
    let outcome = match first.filter(|_| score.answer.advised == Some(true)) {
        Some(found) => carry_out(case, found)?,
        None => None,
    };
    Ok(Drawn { case: case.clone(), score, outcome })
}

/// Counts over many draws.
#[derive(Clone, Debug, Default)]
pub struct Scores {
    /// The counts that all evaluations have.
    pub tally: Tally,
    /// Draws with correct verdicts and correct first advice.
    pub right: Count,
    /// Applied pieces of advice with a result within the predicted interval.
    pub met: Count,
    /// Draws with the expected note.
    pub noted: Count,
    /// Confidence of each verdict.
    called: Vec<Called>,
    verdicts: BTreeMap<Verdict, usize>,
    /// Scores of each kind and of its opposite.
    matrix: BTreeMap<(Kind, bool), Self>,
}

impl Scores {
    /// The scores of these draws.
    #[must_use]
    pub fn of(drawn: &[Drawn]) -> Self {
        let mut scores = Self::default();
        for one in drawn {
            scores.add(one);
            scores.matrix.entry((one.case.kind, one.case.opposite)).or_default().add(one);
        }
        scores
    }

    fn add(&mut self, Drawn { score, outcome, .. }: &Drawn) {
        self.tally.add(&score.answer);
        self.right.add(Some(score.answer.right && score.answer.advised == Some(true)));
        self.met.add(outcome.as_ref().map(|outcome| outcome.inside));
        self.noted.add(score.noted);
        self.called.extend(score.called.iter().cloned());
        if let Some(verdict) = score.verdict {
            *self.verdicts.entry(verdict).or_default() += 1;
        }
    }

    /// Whether the goals are met.
    #[must_use]
    pub fn reached(&self) -> bool {
        self.right.at_least(0.95)
            && self.tally.unnamed.part == 0
            && self.tally.gave_up.at_most(0.1)
            && self.met.at_least(0.9)
    }

    /// The confusion matrix and the shares, as text of at most 80 columns.
    #[must_use]
    pub fn text(&self) -> String {
        let heads: String = COLUMNS.iter().map(|(_, head)| format!("{head:>7}")).collect();
        let mut lines = vec![format!("{:21}{heads}{:>6}{:>6}", "kind", "right", "met")];
        let mut named = None;
        for ((kind, opposite), row) in &self.matrix {
            // Without its kind's row above it, an opposite names the kind.
            let label = match (*opposite, named == Some(*kind)) {
                (false, _) => kind.name(),
                (true, true) => "  its opposite".to_owned(),
                (true, false) => format!("not {}", kind.name()),
            };
            named = Some(*kind);
            let cells: String = COLUMNS
                .iter()
                .map(|(verdict, _)| match row.verdicts.get(verdict) {
                    Some(count) => format!("{count:>7}"),
                    None => format!("{:>7}", "·"),
                })
                .collect();
            let right = format!("{}/{}", row.right.part, row.right.of);
            let came = match row.met {
                Count { of: 0, .. } => "–".to_owned(),
                Count { part, of } => format!("{part}/{of}"),
            };
            lines.push(format!("{label:21}{cells}{right:>6}{came:>6}"));
        }
        lines.push(LEGEND.to_owned());
        lines.push(String::new());
        lines.push(self.shares());
        lines.join("\n")
    }

    fn shares(&self) -> String {
        let Tally { right, unnamed, gave_up, alarms, loud_alarms, .. } = self.tally;
        let called = |confidence| {
            let mut count = Count::default();
            let all = self.called.iter().filter(|one| one.confidence == confidence);
            all.for_each(|one| count.add(Some(one.right)));
            count
        };
        [
            ("right verdict and right first advice", self.right, "95"),
            ("right verdict", right, ""),
            ("wrong verdict, and no alternative is right", unnamed, "0"),
            ("not enough evidence, although there is enough", gave_up, "10"),
            ("advice with a result inside its interval", self.met, "90"),
            ("expected notes that were given", self.noted, ""),
            ("false alarms on healthy devices", alarms, "2"),
            ("false alarms rated more than possible", loud_alarms, "0"),
            ("right among the verdicts rated certain", called(Confidence::Certain), "99.5"),
            (
                "right among the verdicts rated almost certain",
                called(Confidence::AlmostCertain),
                "",
            ),
            ("right among the verdicts rated likely", called(Confidence::Likely), "85 to 95"),
            ("right among the verdicts rated possible", called(Confidence::Possible), ""),
        ]
        .map(|(what, count, goal)| {
            let Count { part, of } = count;
            let line = format!("{what:52}{part:>5} of{of:>5}  {:>5.1} %  {goal}", count.percent());
            line.trim_end().to_owned()
        })
        .join("\n")
    }

    /// A text of at most 80 columns. It shows how often verdicts were correct, by their stated probability, and
    /// how often an alternative was correct, by its kind of doubt.
    #[must_use]
    pub fn reliability(&self) -> String {
        let mut lines = vec![format!(
            "{:30}{:>8}{:>10}{:>8}",
            "probability of the verdict", "stated", "right", "of"
        )];
        for (low, high) in STATED.windows(2).map(|edge| (edge[0], edge[1])) {
            let within = |one: &&Called| (low..high).contains(&one.probability);
            let found: Vec<(f64, bool)> =
                self.called.iter().filter(within).map(|one| (one.probability, one.right)).collect();
            let label = format!("{low} to {}", high.min(1.0));
            lines.extend(reliability_line(&label, &found));
        }
        lines.push(format!("{:30}", "alternative left open by"));
        let mut doubts: BTreeMap<Doubt, Vec<(f64, bool)>> = BTreeMap::new();
        for (doubt, probability, right) in self.called.iter().flat_map(|one| &one.open) {
            doubts.entry(*doubt).or_default().push((*probability, *right));
        }
        lines.extend(
            doubts.iter().filter_map(|(doubt, found)| reliability_line(&doubt.name(), found)),
        );
        lines.join("\n")
    }
}

/// Stated and actual share for some verdicts or alternatives; `None` if empty.
fn reliability_line(label: &str, found: &[(f64, bool)]) -> Option<String> {
    let count = found.len() as f64;
    let stated = found.iter().map(|(probability, _)| probability).sum::<f64>() / count;
    let right = found.iter().filter(|(_, right)| *right).count() as f64 / count;
    let (stated, right) = (100.0 * stated, 100.0 * right);
    (count > 0.0).then(|| format!("{label:30}{stated:>6.1} %{right:>8.1} %{count:>8}"))
}
