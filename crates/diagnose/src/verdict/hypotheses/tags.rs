//! Tests for programs that keep more requests outstanding than the device accepts: its tags are all
//! in use, and the others wait above all counters. The device latency is as expected for that few
//! requests, and is not what the programs wait for.

use crate::verdict::engine::{Explanation, Facts};
use crate::verdict::facts::NEVER_IDLE;
use crate::verdict::judgement::RestsOn;
use crate::verdict::outstanding::WAITING_MIN;
use record::{Doubt, Verdict, format_count, format_nanos};

/// A device with at least this many tags is not limited by them.
const PLENTY: u64 = 32;
/// More tags pay off if they raise the profile's rate by at least this factor.
const PAYS: f64 = 1.2;

pub(super) fn all_in_use(facts: &Facts<'_, '_>) -> Option<Explanation> {
    let segment = facts.segment;
    let tags = segment.facts?.nr_requests?;
    let present = segment.full_tags()?;
    let at_device = segment.tally.concurrency().unwrap_or(0.0);
    let pays = facts.states.measure.as_ref().is_none_or(|measure| measure.saturation * PAYS < 1.0);
    // A program that submits one request after another stops at the first that waits.
    let least = WAITING_MIN * segment.busy().unwrap_or(1.0);
    let waiting = segment.waiting_above().filter(|waiting| *waiting >= least)?;
    if tags > PLENTY || !pays {
        return None;
    }
    let claim = if waiting >= at_device {
        let program_ns = segment.tally.iops().max(1e-9).recip() * (waiting + at_device) * 1e9;
        format!(
            "All {tags} tags of the device are in use (nr_requests), and {} more requests wait \
             for a tag: a program waits {} for a request that the device completes in {}.",
            format_count(waiting),
            format_nanos(program_ns),
            format_nanos(segment.tally.latency_ns().unwrap_or(0.0))
        )
    } else {
        format!(
            "All {tags} tags of the device are in use while it works (nr_requests), and a program \
             that submits more is blocked until a tag is free: on average, {} requests wait for a \
             tag.",
            format_count(waiting)
        )
    };
    let rival = (
        "The device may be no faster at a higher queue depth.",
        "Raise nr_requests (echo 256 > /sys/block/.../queue/nr_requests) and compare the rate.",
    );
    let looks_like = facts.states.all();
    Some(
        Explanation::instead(Verdict::Capped, Doubt::FullTags, looks_like, claim, rival)
            .resting_on(RestsOn::Tags(tags))
            .with(&[
                ("requests at the device", present, ""),
                ("requests that wait above it", waiting, ""),
                ("busy", segment.tally.utilization().unwrap_or(NEVER_IDLE), "share"),
            ]),
    )
}
