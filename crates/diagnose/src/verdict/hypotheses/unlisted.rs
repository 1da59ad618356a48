//! Something that is not in this list. It is always there, and weighs more the more the best of the others leaves
//! unexplained: how long programs wait beyond what the device takes, and how little is known without a profile.

use crate::verdict::engine::{Explanation, Facts, PROOF};
use crate::verdict::facts::LONGER;
use crate::words::times;
use record::{Doubt, Verdict, format_nanos};

/// What is never excluded, as a share of all that the list explains.
const ALWAYS: f64 = 0.002;
/// Without a profile no verdict is surer than "likely", unless it is proven.
const WITHOUT_PROFILE: f64 = 0.08;
/// The rows that explain such a wait.
const EXPLAINS: [Verdict; 2] = [Verdict::Capped, Verdict::NotEnoughEvidence];

pub(in crate::verdict) fn unlisted(
    facts: &Facts<'_, '_>,
    found: &[Explanation],
) -> Option<Explanation> {
    let all: f64 = found.iter().map(|one| one.weight).sum();
    let proven = found.iter().any(|one| one.weight >= PROOF);
    // A program that gets no processor takes its answers late: that row explains the wait.
    let late = facts.segment.around.processors_full();
    let waited = facts.segment.waited_beyond().filter(|waited| waited.times >= LONGER && !late);
    let explained: f64 =
        found.iter().filter(|one| EXPLAINS.contains(&one.verdict)).map(|one| one.weight).sum();
    // An overloaded device explains waits in the program's own queue as well as those in its own.
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
        None => "The cause is not in this list.".to_owned(),
    };
    let decided_by = "Run `halfpower check` on the quiet device, and the tracer (as root) while \
                      the device is slow.";
    (weight > 0.0).then(|| {
        let doubt = Doubt::Unlisted;
        Explanation::weighed(Verdict::NotEnoughEvidence, doubt, weight, because, decided_by)
    })
}
