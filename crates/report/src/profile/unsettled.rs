//! Explains a check that does not determine how fast a disk is: the first lines of its page say so, why, and
//! what to do.
//!
//! The interval of the maximum rate, as another run would find it, decides. Its parts are compared: the drift
//! of the disk's speed, the differences between its files, and the differences between visits of one load.
//! Parts that are small compared with the largest are not blamed. A check cannot see why a speed drifted:
//! another program, another machine on the same storage, or the disk itself.

use super::largest;
use crate::number;
use crate::story::{Action, joined};
use record::{Estimate, FindingCode, Locality, NORMAL_95, OpKind, Profile, WIDE};

/// Parts below this share of the largest part are not named.
const BESIDE: f64 = 0.5;
/// Findings that name other activity.
const BUSY: [FindingCode; 3] =
    [FindingCode::ForeignIo, FindingCode::CpuTaken, FindingCode::CgroupLimit];

/// The sentences for the top, and the action; `None` if the check determines the rates.
pub(super) fn unsettled(profile: &Profile) -> Option<(String, Action)> {
    let wide = OpKind::ALL.into_iter().filter_map(|op| {
        let (rate, throughput) = largest(profile, op);
        let is_wide = |it: &Estimate| it.relative_half_width() > WIDE;
        let rate = rate.filter(is_wide).map(|it| number::with_interval(&it, number::per_second));
        let most = throughput.filter(is_wide).map(|it| number::rate_with_interval(&it));
        Some((op, format!("{} {}", op.plural(), rate.or(most)?)))
    });
    let wide: Vec<(OpKind, String)> = wide.collect();
    let op = wide.first()?.0;
    let rates = joined(&wide, ", ", |(_, text)| text.clone());
    let parts = parts(profile, op);
    let why = joined(&parts, "; ", |part| part.words.clone());
    let why = if why.is_empty() { String::new() } else { format!(" Why: {why}.") };
    let text = format!("This check leaves the speed of the disk uncertain: {rates}.{why}");
    Some((text, action(profile, parts.first().map(|part| part.kind))))
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Level,
    Files,
    Visits,
}

/// A part of an error, with its relative half-width.
#[derive(Clone)]
struct Part {
    kind: Kind,
    half_width: f64,
    words: String,
}

/// The parts of the maximum rate's error, the largest first, without negligible ones.
fn parts(profile: &Profile, op: OpKind) -> Vec<Part> {
    let level = NORMAL_95 * profile.common_se();
    let files = NORMAL_95 * profile.reruns().areas_se(op, Locality::Random, false);
    let curve = profile.depth_curves.iter().find(|curve| curve.op == op);
    let visits = curve.map_or(0.0, |curve| curve.max_iops.relative_half_width());
    let busy = profile.findings.iter().find(|finding| BUSY.contains(&finding.code));
    let busy = busy.map_or(String::new(), |one| format!(" ([{}])", one.code.name()));
    let [of_disk, of_files] = [level, files].map(other_speed);
    let of_mean = format!("so their mean is uncertain by {}", number::percent(visits));
    let mut parts = [
        (Kind::Level, level, format!("the disk as a whole was up to {of_disk}{busy}")),
        (Kind::Files, files, format!("files on this disk differ; another file may be {of_files}")),
        (Kind::Visits, visits, format!("visits of the same load differ, {of_mean}")),
    ]
    .map(|(kind, half_width, words)| Part { kind, half_width, words })
    .to_vec();
    parts.sort_by(|a, b| b.half_width.total_cmp(&a.half_width));
    let most = parts[0].half_width;
    parts.retain(|part| part.half_width > 0.0 && part.half_width >= BESIDE * most);
    parts
}

/// How much faster or slower, from a half-width of the logarithm. Nothing is 186 % slower: from [`WIDE`] on, a
/// factor is printed.
fn other_speed(half_width: f64) -> String {
    match half_width {
        ..WIDE => format!("{} faster or slower", number::percent(half_width)),
        _ => format!("{} times as fast or as slow", number::digits(half_width.exp())),
    }
}

fn action(profile: &Profile, main: Option<Kind>) -> Action {
    let again = profile.longer_check();
    let what = match main {
        _ if profile.simulated => again,
        Some(Kind::Files) => {
            format!("run halfpower check --file PATH on the file you care about, or {again}")
        }
        _ => format!("stop other programs on this disk and machine, then {again}"),
    };
    let why = match main {
        Some(Kind::Files) => "another file on this disk may differ as much as these did",
        Some(Kind::Level) if !profile.simulated => {
            "`halfpower watch` shows the other load of this machine. Load of other machines on \
             shared storage is not visible here; checks at different times reveal it"
        }
        _ => "more visits reduce the error",
    };
    Action::new("check again", what).with("why", why)
}
