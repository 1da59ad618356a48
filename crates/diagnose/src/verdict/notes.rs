//! Notes on harmless signs that look like trouble, and warnings. Examples are an `await` that rises
//! because of larger requests, page-cache write-back, discards, or a hypervisor that does not let
//! the machine run. Each is reported when its evidence is present, because a user who saw the alarm
//! wants to know why the diagnosis ignores it.

use super::alike::same_kind;
use super::causes::SPLITS_SHARE;
use super::facts::{HARDLY_WAITS, Judged, REQUESTS_MIN, STEAL_MATTERS, Segment};
use super::interval_totals::IntervalTotals;
use super::judgement::{Number, numbers};
use super::layout::files;
use super::tails::{MEANS_HIDE, shown_by};
use crate::words::{changed, percent, times};
use record::{MatchedProfile, Note, NoteCode, ObservedDevice, format_bytes, format_nanos};

/// Ratio from which a rise of latency is an alarm.
const ROSE: f64 = 1.3;
/// Ratio of request sizes that explains a rise.
const GREW: f64 = 1.5;
/// Difference of two sequential shares that is a change.
const PLACE_CHANGED: f64 = 0.3;
/// Least utilization, and largest share of the maximum rate, of a busy device that is far from saturated.
const BUSY: f64 = 0.9;
const FAR_FROM_FULL: f64 = 0.5;
/// Least ratio of bytes under write-back to bytes in flight at which write-back explains the
/// latter. The two are sampled at different moments.
const WRITE_BACK_COVERS: f64 = 0.5;
/// Least share of writes in write-back.
const ALL_WRITES: f64 = 0.95;
/// Busy time beyond the time in flight that deserves a note, as a share of it.
const BUSY_CUT: f64 = 0.1;
/// Share of discards among the requests from which they count.
const DISCARDS_SHARE: f64 = 0.05;

fn note(code: NoteCode, claim: String, evidence: &[Number]) -> Note {
    Note { code, claim, evidence: numbers(evidence) }
}

/// A device with good means may still have short stalls.
fn means_only(judged: &[Judged<'_>]) -> Option<Note> {
    let fine = |one: &Judged<'_>| {
        let verdict = one.judgement.verdict;
        verdict.is_fine() && !one.segment.tail_is_told()
    };
    let first = judged.iter().find(|one| fine(one))?;
    let how = shown_by(&first.segment);
    Some(note(NoteCode::MeansOnly, format!("{MEANS_HIDE} {how}"), &[]))
}

pub(crate) fn notes(
    device: &ObservedDevice,
    profile: Option<&MatchedProfile>,
    judged: &[Judged<'_>],
    whole: &IntervalTotals,
) -> Vec<Note> {
    let pairs = || judged.windows(2).map(|pair| (&pair[0], &pair[1]));
    let doubt = profile.and_then(|profile| profile.doubt.as_ref()).map(|doubt| {
        let claim = format!("The profile may describe another device: {doubt}.");
        note(NoteCode::ProfileDoubtful, claim, &[])
    });
    let invalid = profile.and_then(|profile| profile.invalid.as_ref()).map(|invalid| {
        let claim = format!(
            "The profile is not valid, so its predictions may be far off: {invalid} Run \
             `halfpower check` to make a new one."
        );
        note(NoteCode::ProfileInvalid, claim, &[])
    });
    let told = profile.map(|profile| changed(profile.differences.iter()));
    let settings = told.filter(|told| !told.is_empty()).map(|told| {
        let claim = format!("Changed since the profile was made: {told}.");
        note(NoteCode::ConditionsChanged, claim, &[])
    });
    let doubtful = judged.iter().any(|one| !one.segment.known.busy);
    let busy_doubt = device.busy_doubt.as_ref().filter(|_| doubtful).map(|doubt| {
        let cut = match whole.busy_cut_s > 0.0 {
            true => " The busy share of this page excludes busy time without a request in flight.",
            false => "",
        };
        let claim = format!("The busy counter is unreliable: {doubt}.{cut}");
        note(NoteCode::BusyDoubtful, claim, &[])
    });
    let notes = [
        doubt,
        invalid,
        settings,
        pairs().find_map(|(from, to)| sizes_grew(from, to)),
        pairs().find_map(|(from, to)| pattern_changed(from, to)),
        judged.iter().find_map(write_back),
        judged.iter().find_map(busy_not_full),
        discards(whole),
        steal(judged),
        splits(whole),
        judged.iter().find_map(pieces),
        busy_doubt.or_else(|| busy_cut(whole)),
        missing(whole),
        means_only(judged),
    ];
    notes.into_iter().flatten().collect()
}

/// The profile has no writes, and these are too few to withhold a verdict on the reads.
pub(crate) fn reads_alone(whole: &IntervalTotals) -> Note {
    let share = whole.write.count() / whole.all.count().max(1.0);
    let claim = format!(
        "The verdict covers reads only: the profile has no write measurements. Writes are {} of the \
         requests. `halfpower check DIRECTORY` on this device measures both.",
        percent(share)
    );
    note(NoteCode::ReadsAlone, claim, &[("share of writes", share, "share")])
}

/// The latencies of two segments with enough requests, if the second is slower.
fn rise(from: &Judged<'_>, to: &Judged<'_>) -> Option<(f64, f64)> {
    let (before, after) = (from.segment.tally.latency_ns()?, to.segment.tally.latency_ns()?);
    let enough = |judged: &Judged<'_>| judged.segment.tally.all.count() >= REQUESTS_MIN;
    (enough(from) && enough(to) && after >= ROSE * before).then_some((before, after))
}

/// The rise is explained if the profile predicts it. Without a profile, a request may take longer in proportion
/// to its size, and no longer.
fn sizes_grew(from: &Judged<'_>, to: &Judged<'_>) -> Option<Note> {
    let (before, after) = rise(from, to)?;
    let size = |judged: &Judged<'_>| judged.segment.tally.all.request_bytes();
    let (small, large) = (size(from)?, size(to)?);
    let (grown, rose) = (large / small, after / before);
    let predicted =
        |judged: &Judged<'_>| judged.segment.best_look().map(|(look, _)| look.at_concurrency.value);
    let (most, why) = match to.segment.is_unprofiled() {
        true => (grown, "a request may take longer in proportion to its size"),
        false => (ROSE * predicted(to)? / predicted(from)?, "the profile predicts such a rise"),
    };
    let claim = format!(
        "Latencies rose {} while requests grew from {} to {}: {why}. The mean latency alone would \
         raise a false alarm.",
        times(rose),
        format_bytes(small as u64),
        format_bytes(large as u64)
    );
    let numbers = [("latency before", before, "ns"), ("latency after", after, "ns")];
    let fine = to.judgement.verdict.is_fine();
    (grown >= GREW && rose <= most && fine).then(|| note(NoteCode::SizesGrew, claim, &numbers))
}

fn pattern_changed(from: &Judged<'_>, to: &Judged<'_>) -> Option<Note> {
    let (before, after) = rise(from, to)?;
    let (first, second) = (from.segment.best_look()?.0, to.segment.best_look()?.0);
    if to.segment.is_unprofiled() {
        return place_may_explain(from, to);
    }
    let traced = from.segment.known.sequential.is_some() && to.segment.known.sequential.is_some();
    let fell = first.sequential_share - second.sequential_share;
    let shares =
        format!("from {} to {}", percent(first.sequential_share), percent(second.sequential_share));
    let rose = times(after / before);
    let tracer = to.segment.by_system("A Windows (ETW) trace", "The tracer");
    let claim = if traced {
        format!("Latencies rose {rose} because fewer requests are sequential ({shares}).")
    } else {
        format!(
            "Latencies rose {rose} (from {} to {}): fewer sequential requests would explain it \
             ({shares}); so would a slower device. {tracer} can distinguish the two.",
            format_nanos(before),
            format_nanos(after)
        )
    };
    let numbers = [("fall of the share", fell, "share")];
    (fell >= PLACE_CHANGED).then(|| note(NoteCode::PatternChanged, claim, &numbers))
}

/// Without a profile: the same requests became slower on a disk that may be rotating, and random requests on such
/// a disk would take as long.
fn place_may_explain(from: &Judged<'_>, to: &Judged<'_>) -> Option<Note> {
    let (before, after) = rise(from, to)?;
    let (first, second) = (&from.segment, &to.segment);
    let known = first.known.sequential.is_some() && second.known.sequential.is_some();
    let may = !known && second.class.place_explains(&second.tally);
    let claim = format!(
        "Latencies rose {} (from {} to {}) without larger requests. On a rotating disk, requests that became \
         random would explain it; so would a slower device. {} can distinguish the two.",
        times(after / before),
        format_nanos(before),
        format_nanos(after),
        second.by_system("A Windows (ETW) trace", "The tracer")
    );
    let numbers = [("latency before", before, "ns"), ("latency after", after, "ns")];
    (may && same_kind(&first.tally, &second.tally))
        .then(|| note(NoteCode::PatternChanged, claim, &numbers))
}

/// Whether a segment is page-cache write-back. The system's bytes under write-back must cover those
/// in flight here, and not belong to another disk next to a program's own writes. Data that
/// programs sync is also under write-back, but the programs wait for it.
pub(crate) fn is_write_back(segment: &Segment<'_>) -> bool {
    let tally = &segment.tally;
    let writes_only = tally.read_share().is_some_and(|share| share <= 1.0 - ALL_WRITES);
    let in_progress = tally.concurrency().zip(tally.write.request_bytes());
    let written = in_progress.map_or(0.0, |(present, bytes)| present * bytes);
    let covers = |bytes: f64| bytes > 0.0 && bytes >= WRITE_BACK_COVERS * written;
    // A program waits for its reads, however few they are among the writes.
    writes_only
        && segment.many_flushes().is_none()
        && segment.reads_behind_writes(HARDLY_WAITS).is_none()
        && segment.around.writeback_bytes.is_some_and(covers)
}

fn write_back(judged: &Judged<'_>) -> Option<Note> {
    let look = judged.segment.best_look()?.0;
    let bytes = judged.segment.around.writeback_bytes.unwrap_or(0.0);
    let claim = format!(
        "The page cache had {} under write-back on average: its requests wait for each other, and \
         no process is known to wait for them.",
        format_bytes(bytes as u64)
    );
    let numbers = [("under write-back on average", bytes, "B")];
    let waits = is_write_back(&judged.segment) && look.wait_ratio() >= 2.0;
    waits.then(|| note(NoteCode::WriteBackBursts, claim, &numbers))
}

fn busy_not_full(judged: &Judged<'_>) -> Option<Note> {
    let busy = judged.segment.busy()?;
    // Without a profile, parallelism and maximum are those of a class, not of this device.
    let look = judged.segment.best_look().map(|(look, _)| look).filter(|it| it.own.is_none())?;
    let (saturation, side) = (judged.segment.tally.iops() / look.max_iops, look.side_by_side());
    let claim = format!(
        "The device is busy {} of the time, yet the rate is only {} of the maximum: this device \
         serves about {side:.0} requests in parallel, and a single request in flight counts as \
         busy.",
        percent(busy),
        percent(saturation)
    );
    let numbers = [("busy", busy, "share"), ("saturation", saturation, "share")];
    let far = busy >= BUSY && saturation <= FAR_FROM_FULL && side >= 2.0;
    far.then(|| note(NoteCode::BusyNotSaturated, claim, &numbers))
}

fn discards(whole: &IntervalTotals) -> Option<Note> {
    let share = whole.discards? / whole.all.count().max(1.0);
    let claim = format!(
        "Discards added {} to the number of requests, and this source's latency includes them: a \
         file system that trims looks slow.",
        percent(share)
    );
    let numbers = [("discards per request", share, "share")];
    let held = whole.times_may_hold_discards && share >= DISCARDS_SHARE;
    held.then(|| note(NoteCode::DiscardsIncluded, claim, &numbers))
}

fn steal(judged: &[Judged<'_>]) -> Option<Note> {
    let most = judged.iter().filter_map(|judged| judged.segment.around.steal).fold(0.0, f64::max);
    let claim = format!(
        "The hypervisor took up to {} of the CPU time. A request that completes while the virtual \
         machine is stopped counts as in flight until the machine runs again.",
        percent(most)
    );
    (most > STEAL_MATTERS).then(|| note(NoteCode::Steal, claim, &[("steal", most, "share")]))
}

fn splits(whole: &IntervalTotals) -> Option<Note> {
    let share = whole.split_share()?;
    let claim = format!(
        "{} of the requests were split in two or more, which usually means fragmented files.",
        percent(share)
    );
    let numbers = [("splits per request", share, "share")];
    (share >= SPLITS_SHARE).then(|| note(NoteCode::SplitRequests, claim, &numbers))
}

/// Fragmentation matters for sequential requests, but their order is unknown.
fn pieces(judged: &Judged<'_>) -> Option<Note> {
    let segment = &judged.segment;
    let (layout, piece, bytes) = segment.in_pieces()?;
    let claim = format!(
        "The average extent of {} is {}. Short extents cost time only if requests are sequential \
         in the file, but their order was not traced.",
        files(layout),
        format_bytes(piece as u64)
    );
    let numbers = [("mean extent", piece, "B"), ("request size", bytes, "B")];
    let verdict = judged.judgement.verdict;
    let harmed = verdict.is_slow() || verdict.is_overloaded();
    let open = harmed && segment.known.sequential.is_none();
    open.then(|| note(NoteCode::ScatteredFiles, claim, &numbers))
}

fn busy_cut(whole: &IntervalTotals) -> Option<Note> {
    let told_s = whole.busy_s? + whole.busy_cut_s;
    let share = |busy_s: f64| percent(busy_s / whole.seconds.max(1e-9));
    let claim = format!(
        "The busy counter is wrong: it counts {} of the time as busy, but requests were in flight \
         for at most {}. The busy share of this page and the verdict use the time in flight.",
        share(told_s),
        share(whole.busy_s.unwrap_or(0.0))
    );
    let numbers = [("busy as counted", told_s, "s")];
    let cut = whole.busy_cut_s > BUSY_CUT * told_s;
    cut.then(|| note(NoteCode::BusyDoubtful, claim, &numbers))
}

fn missing(whole: &IntervalTotals) -> Option<Note> {
    let lacks = [
        (whole.utilization().is_none(), "busy time (no Friedman split; bursts look like slowness)"),
        (whole.read_share().is_none(), "reads and writes separately (the mix is unknown)"),
        (whole.latency_ns().is_none(), "latencies (no verdict on the device)"),
        (whole.all.request_bytes().is_none(), "request sizes (no expectation)"),
    ];
    let names: Vec<&str> =
        lacks.iter().filter(|(lacks, _)| *lacks).map(|(_, name)| *name).collect();
    (!names.is_empty() && whole.all.count() > 0.0).then(|| {
        let claim = format!("The source does not report {}.", names.join("; "));
        note(NoteCode::FiguresMissing, claim, &[])
    })
}
