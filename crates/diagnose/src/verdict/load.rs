//! Models the load of a segment for what-if questions: closed if programs keep a number in flight,
//! and otherwise a rate. The other model is an alternative if the counters do not exclude it. A
//! device that is slower than its profile is modelled as the profiled one on a slower clock.

use super::facts::{Judged, SLOW_FROM};
use super::fitted_profile::FittedProfile;
use super::judgement::RestsOn;
use super::outstanding::Outstanding;
use super::queue_depth::{constant_depth, kept_up, partly_kept_up};
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
    let limited = matches!(one.judgement.rests_on, RestsOn::Limits(_));
    let slowdown = match one.judgement.verdict {
        Verdict::Slow | Verdict::SlowAndOverloaded => ratio,
        // A device behind a limit may be slow too.
        Verdict::Capped if limited && ratio >= SLOW_FROM => ratio,
        _ => 1.0,
    };
    let partly = partly_kept_up(series) || segment.deep.is_some_and(|deep| deep.may_be_kept());
    let full = iops * slowdown >= look.max_iops;
    let (closed, open) = (Offered::Depth(depth), Offered::PoissonPerS(iops));
    let (offered, alternatives) = if constant_depth(series) {
        // If other programs use the device, one of their requests may be in front.
        (closed, Vec::from_iter((!kept_up(series)).then_some(Offered::Depth(depth + 1.0))))
    } else if segment.known.constant {
        (closed, vec![open])
    } else {
        (open, Vec::from_iter((partly || full).then_some(closed)))
    };
    Some(EpisodeLoad { mix: look.mix.clone(), offered, alternatives, iops, slowdown })
}
