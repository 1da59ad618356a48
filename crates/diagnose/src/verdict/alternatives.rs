//! What layers that the counters do not tell apart may do to a verdict: each is a named alternative.

use super::by_operation::apart;
use super::judge::{OVER_AT_ALL, Segment, is_hosted};
use super::judgement::Judgement;
use super::neighbours::NeighbourBy;
use super::system_context::TracedSums;
use crate::words::{changed, percent, times};
use record::{CgroupShare, Doubt, ShareKind, Verdict};

/// A wait in the scheduler, or above the device, of a smaller share of the latency is none that matters.
const WAITS_LEAST: f64 = 0.1;

impl Segment<'_> {
    /// What happens to reads or to writes alone.
    pub(crate) fn alternatives_of_one_operation(&self, judgement: &mut Judgement) {
        let Some([reads, writes]) = apart(self) else { return };
        let (one, other) = if reads.slow { (reads, writes) } else { (writes, reads) };
        if !one.slow || other.slow {
            return;
        }
        if one.constant.is_some() && other.constant.is_none() {
            judgement.against(
                Verdict::Capped,
                Doubt::OneOperationConstant,
                format!("{} A limit on them alone does that.", one.because()),
                "A limit of the provider or of a control group on that operation, or a trial of our \
                 own at another rate.",
            );
        }
        if !judgement.verdict.is_slow() {
            judgement.against(
                Verdict::Slow,
                Doubt::OneOperation,
                format!("{} The mean over both hides that.", one.because()),
                "A trial of that operation alone, beside the profile's.",
            );
        }
    }

    /// A scheduler that serves by weight or class, or that the profile was made without: the wait in
    /// it looks like a slow or a full device.
    pub(crate) fn alternatives_of_the_scheduler(&self, judgement: &mut Judgement) {
        let harmed = judgement.verdict.is_slow() || judgement.verdict == Verdict::Overloaded;
        let waits = self.may_wait(|traced| traced.queue_ns);
        let Some(scheduler) = self.scheduler().filter(|_| harmed) else { return };
        let was = self.changed.iter().find(|changed| changed.what == model::SCHEDULER);
        if !waits {
            if let Some(was) = was.and_then(|was| was.a.as_ref()) {
                let because = format!(
                    "The I/O scheduler is {scheduler} and was {was} when the profile was made: it passes \
                     requests on by a thread, whose time is in these counters."
                );
                let decided_by = "The same with the scheduler of the profile.";
                judgement.against(self.fine(), Doubt::SchedulerChanged, because, decided_by);
            }
            return;
        }
        let (doubt, because) = match was.and_then(|was| was.a.as_ref()) {
            Some(was) => {
                let because = format!(
                    "The I/O scheduler is {scheduler} and was {was} when the profile was made: \
                     requests may wait in it for others, within these counters."
                );
                (Doubt::SchedulerChanged, because)
            }
            None if self.scheduler_by_share().is_some() => {
                let because = format!(
                    "The I/O scheduler {scheduler} serves by weight and class: requests of one \
                     program may wait in it for those of another, within these counters."
                );
                (Doubt::SchedulerByShare, because)
            }
            None => return,
        };
        let decided_by = if self.around.traced.is_some() {
            "The same with the scheduler of the profile."
        } else {
            "The tracer's time before the issue to the device (as root), or the same with the \
             scheduler of the profile."
        };
        judgement.against(Verdict::Capped, doubt, because, decided_by);
    }

    /// Whether requests may wait somewhere: where the tracer sees that they do not, they do not.
    fn may_wait(&self, waited_ns: fn(&TracedSums) -> f64) -> bool {
        let waited = self.around.traced.as_ref().map(waited_ns);
        waited
            .zip(self.tally.latency_ns())
            .is_none_or(|(waited, latency)| waited >= WAITS_LEAST * latency)
    }

    /// Control groups that share the device: the kernel holds requests of some back for others, above
    /// every counter of the device.
    pub(crate) fn alternatives_of_shares(&self, judgement: &mut Judgement) {
        let Some(facts) = self.facts else { return };
        let shares = self.around.shares_of(facts);
        let rules = shares.iter().map(|share| share.kind);
        let above = |kind: &ShareKind| matches!(kind, ShareKind::Cost | ShareKind::LatencyTarget);
        let rule = rules.filter(above).max();
        let waits = self.may_wait(|traced| traced.waited_ns);
        let Some(rule) = rule.filter(|_| waits && judgement.verdict != Verdict::Capped) else {
            return;
        };
        let what = match rule {
            ShareKind::Cost => "divides it among control groups by weight",
            _ => "promises a control group a latency",
        };
        judgement.also_against(
            Verdict::Capped,
            Doubt::GroupShares,
            format!(
                "{} {what} ({}): requests of the others may wait before any counter of the device \
                 starts.",
                rule.file(),
                shares_text(&shares)
            ),
            "`cost.wait` in io.stat of the group, or the tracer's waits before a request is started.",
        );
    }

    /// What is not as it was when the profile was made: then it is no profile of what is there.
    pub(crate) fn alternatives_of_changes(&self, judgement: &mut Judgement) {
        // A scheduler that is there now has its own alternative; one that is gone is a change.
        let by_itself = |what: &str| what == model::SCHEDULER && self.scheduler().is_some();
        let told = changed(self.changed.iter().filter(|one| !by_itself(&one.what)));
        if !judgement.verdict.is_slow() || told.is_empty() {
            return;
        }
        judgement.against(
            Verdict::NotEnoughEvidence,
            Doubt::ConditionsChanged,
            format!("The profile was made under other conditions: {told}."),
            "A new profile with the settings of now, or a trial with those of then.",
        );
    }

    /// Who shares the device: as many in progress are expected to take that long, and a program that
    /// would be alone without the others sees a slower disk all the same.
    pub(crate) fn alternatives_of_neighbours(&self, judgement: &mut Judgement) {
        let Some(neighbour) = self.neighbour() else { return };
        let flushes = neighbour.by == NeighbourBy::Flushes;
        let fine = judgement.verdict.is_fine();
        let told = self.told(neighbour.group);
        let (doubt, because) = if fine && self.waits_beside() {
            let Some((look, latency)) = self.best_look() else { return };
            let because = format!(
                "Requests take {} what a lone one takes, beside {told}.",
                times(latency / look.unloaded_ns.max(1.0))
            );
            (Doubt::Neighbour, because)
        } else if judgement.verdict.is_slow() && flushes {
            let because =
                format!("Requests wait while the device flushes, which no profile holds: {told}.");
            (Doubt::NeighbourFlushes, because)
        } else {
            return;
        };
        judgement.also_against(
            Verdict::Overloaded,
            doubt,
            because,
            "The same while that program is stopped, or limited (io.max).",
        );
    }

    /// Flushes: whoever waits for one, or for the journal behind it, waits above the device.
    pub(crate) fn alternatives_of_flushes(&self, judgement: &mut Judgement) {
        if judgement.verdict == Verdict::NotTheDisk {
            return;
        }
        let Some(flushes) = self.many_flushes() else { return };
        judgement.also_against(
            Verdict::NotTheDisk,
            Doubt::Flushes,
            format!(
                "Programs may wait for the file system's journal or for a flush, which the latency \
                 of reads and writes does not hold: {}. {}",
                flushes.sentence(),
                self.who_flushes()
            ),
            "Latency of fsync, and of reads, in the program; the same with the flushing program on \
             another file system.",
        );
    }

    /// A provider's limit that is exceeded for a part of the time, by the volume's own log.
    pub(crate) fn alternatives_of_the_provider(&self, judgement: &mut Judgement) {
        let Some((what, share)) = self.around.over_limit.map(|over| over.largest()) else { return };
        if share >= OVER_AT_ALL {
            judgement.also_against(
                Verdict::Capped,
                Doubt::ProviderLog,
                format!(
                    "By the volume's own log more was asked for than the provider lets through {} of \
                     the time ({what}): bursts wait for that.",
                    percent(share)
                ),
                "The log second by second (record), beside the latency.",
            );
        }
    }

    /// What lies below a virtual disk takes its time within that of the device.
    pub(crate) fn alternatives_out_of_sight(&self, judgement: &mut Judgement) {
        if self.unknown && judgement.verdict.is_slow() {
            judgement.against(
                Verdict::Capped,
                Doubt::DeviceUnknown,
                "The source tells no more of the device than its name: a host below it, a limit or a \
                 scheduler above it is out of sight and looks the same.",
                "The same observed live on its machine, with `halfpower diagnose`.",
            );
        }
        let Some(facts) = self.facts.filter(|facts| is_hosted(facts)) else { return };
        if !judgement.verdict.is_slow() {
            return;
        }
        let (because, decided_by) = if facts.is_export() {
            (
                format!(
                    "{} is the export of a file server: the network, a limit or other clients of the \
                     server are out of sight and look the same.",
                    facts.disk
                ),
                "The same on the server; of NFS also `nfsiostat` (round trip against the whole call).",
            )
        } else {
            // What the volume's own log rules out is no cap.
            let cap = if self.around.over_limit.is_some() { "" } else { "a cap of the provider, " };
            (
                format!(
                    "{} is a virtual disk: {cap}a neighbour on the host or a network below it is out \
                     of sight and looks the same.",
                    facts.disk
                ),
                "The provider's or the host's own figures of this volume.",
            )
        };
        judgement.against(Verdict::Capped, Doubt::OutOfSight, because, decided_by);
    }
}

/// `io.weight=10 of /light`, some of them.
pub(super) fn shares_text(shares: &[&CgroupShare]) -> String {
    const MOST: usize = 3;
    let text = |share: &&CgroupShare| match share.kind {
        ShareKind::Cost => format!("{} on", share.kind.file()),
        kind => format!("{}={} of {}", kind.file(), share.value, share.group),
    };
    let texts: Vec<String> = shares.iter().take(MOST).map(text).collect();
    let more = if shares.len() > MOST { ", ..." } else { "" };
    format!("{}{more}", texts.join(", "))
}
