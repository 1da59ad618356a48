//! Represents causes that are not in the table. This explanation is always present. It weighs more if the
//! other rows explain little: if programs wait longer than the device takes, and if there is no profile.

use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::LONGER;
use crate::words::times;
use record::{Doubt, Verdict, format_nanos};

/// Weight that is never excluded, as a share of all weights in the table.
const ALWAYS: f64 = 0.002;
/// Without a profile no verdict is surer than "likely", unless it is proven.
const WITHOUT_PROFILE: f64 = 0.08;
/// Verdicts that explain such a wait.
const EXPLAINS: [Verdict; 2] = [Verdict::Capped, Verdict::NotEnoughEvidence];

pub(in crate::verdict) fn unlisted(
    facts: &Facts<'_, '_>,
    found: &[Explanation],
) -> Option<Explanation> {
    let all: f64 = found.iter().map(|one| one.weight).sum();
    let proven = found.iter().any(|one| one.weight >= PROOF);
    // A program that gets no CPU processes completions late: another row explains that wait.
    let late = facts.segment.around.processors_full();
    let waited = facts.segment.waited_beyond().filter(|waited| waited.times >= LONGER && !late);
    let explained: f64 =
        found.iter().filter(|one| EXPLAINS.contains(&one.verdict)).map(|one| one.weight).sum();
    // An overloaded device explains waits in the program's own queue, as well as those in the device's.
    let explained = explained + facts.states.overloaded() + facts.states.slow();
    let unexplained = waited
        .as_ref()
        .map_or(0.0, |waited| (all - explained).max(0.0) * (waited.times - 1.0).min(3.0));
    let unknown = if facts.segment.is_unprofiled() && !proven { WITHOUT_PROFILE } else { ALWAYS };
    let weight = all * unknown + unexplained;
    let because = match waited {
        Some(waited) => format!(
            "Programs wait {} for a request, {} the device's latency ({}), and no checked layer \
             explains the delay.",
            format_nanos(waited.program_ns),
            times(waited.times),
            format_nanos(waited.device_ns)
        ),
        None => "The cause may be something that halfpower does not look for.".to_owned(),
    };
    let decided_by = facts.segment.by_system(
        "Run `halfpower check` on the quiet device, and take a Windows (ETW) trace while it is \
             slow.",
        "Run `halfpower check` on the quiet device, and the tracer (as root) while it is slow.",
    );
    (weight > 0.0).then(|| {
        let doubt = Doubt::Unlisted;
        Explanation::weighed(Verdict::NotEnoughEvidence, doubt, weight, because, decided_by)
    })
}
