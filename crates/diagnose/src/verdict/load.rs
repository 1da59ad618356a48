//! The load of a segment, as what-ifs are asked about it: a closed one where programs keep a number
//! in flight, else a rate; the other is an alternative where the counters do not exclude it. A
//! device that is slower than its profile is the profiled one on a slower clock.

use super::facts::{Judged, SLOW_FROM};
use super::fitted_profile::FittedProfile;
use super::judgement::RestsOn;
use super::outstanding::{Outstanding, constant_depth, kept_up, partly_kept_up};
use record::{EpisodeLoad, Offered, Verdict};

/// The load of a segment; `None` without an expectation or without requests.
pub(crate) fn load(one: &Judged<'_>, reference: Option<&FittedProfile>) -> Option<EpisodeLoad> {
    let (segment, reference) = (&one.segment, reference?);
    let (look, latency) = segment.best_look()?;
    let (totals, series) = (&segment.tally, segment.series);
    let busy = segment.busy().filter(|busy| *busy > 0.0);
    let present = totals.concurrency()? / busy.unwrap_or(1.0);
    let counted = match segment.deep.map(|deep| deep.present) {
        Some(kept @ Outstanding::InPrograms(_)) => kept,
        _ => Outstanding::AtDevice(present),
    };
    let depth = reference.in_programs(&look.mix, counted);
    let iops = totals.iops();
    let ratio = (latency / look.expected_ns(false).max(1.0)).max(1.0);
    let limited = matches!(one.judgement.rests_on, RestsOn::Limit(_));
    let slowdown = match one.judgement.verdict {
        Verdict::Slow | Verdict::SlowAndOverloaded => ratio,
        // What a limit above the device lets through may be slow as well.
        Verdict::Capped if limited && ratio >= SLOW_FROM => ratio,
        _ => 1.0,
    };
    let partly = partly_kept_up(series) || segment.deep.is_some_and(|deep| deep.may_be_kept());
    let full = iops * slowdown >= look.max_iops;
    let (closed, open) = (Offered::Depth(depth), Offered::PoissonPerS(iops));
    let (offered, alternatives) = if constant_depth(series) {
        // Of other programs that ask as well, one request may be in front.
        (closed, Vec::from_iter((!kept_up(series)).then_some(Offered::Depth(depth + 1.0))))
    } else if segment.known.constant {
        (closed, vec![open])
    } else {
        (open, Vec::from_iter((partly || full).then_some(closed)))
    };
    Some(EpisodeLoad { mix: look.mix.clone(), offered, alternatives, iops, slowdown })
}
