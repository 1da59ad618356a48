//! Reports merged and split requests. The block layer normally does this, so the findings are notes. But
//! the latency is then that of a different request than the requested one.

use super::{devices, mean_bytes, traffic};
use record::{Finding, FindingCode, Trial, format_bytes, format_count};

/// Share of our requests below which merging and splitting have no effect.
const SHARE: f64 = 0.02;

const PAGE_BYTES: u64 = 4_096;

/// Minimum share of our bytes that the device must have seen to compare its requests with ours.
const SEEN_SHARE: f64 = 0.1;

/// The device counted fewer requests than ours for the same bytes.
pub(super) fn merged(trial: &Trial) -> Option<Finding> {
    let traffic = traffic(trial)?;
    let counters = traffic.counters;
    let theirs = counters.mean_request_bytes?;
    let ours = mean_bytes(trial);
    let merges = counters.merges as f64;
    // The page cache reads more at a time than the program, and writes back in larger pieces.
    let cached = !trial.workload.cache.direct();
    let larger = theirs > (1.0 + SHARE) * ours;
    let merging = merges > SHARE * trial.completed() as f64;
    // Traffic of other processes would hide the size of our requests.
    let countable = traffic.ratio > SEEN_SHARE && larger && (cached || !traffic.more());
    (countable && (merging || cached)).then(|| {
        let who = if cached { "The page cache combined" } else { "The kernel merged" };
        Finding::note(
            FindingCode::RequestsMerged,
            format!(
                "{who} the submitted requests into larger ones: {} got requests of {} on average \
                 instead of {}.",
                counters.device,
                format_bytes(theirs as u64),
                format_bytes(ours as u64)
            ),
            "To see single requests, use --cache device and --rw randread, or, on Linux, set \
             /sys/block/NAME/queue/nomerges to 2.",
        )
        .with("requests merged", merges, "")
        .with(
            "device requests over this run's",
            counters.ratio_ios.unwrap_or_default(),
            "",
        )
    })
}

/// The device counted more requests than ours for the same bytes.
pub(super) fn split(trial: &Trial) -> Option<Finding> {
    let traffic = traffic(trial)?;
    let counters = traffic.counters;
    let splits = counters.splits? as f64;
    let (theirs, ours) = (counters.mean_request_bytes?, mean_bytes(trial));
    let share = splits / trial.completed().max(1) as f64;
    let limits = devices(trial).filter_map(|device| device.max_request_bytes);
    let limit = limits.min().filter(|limit| *limit < trial.workload.max_bs().0);
    let pieces = devices(trial).filter_map(|device| device.max_segments).min();
    let pages = trial.workload.max_bs().0 / PAGE_BYTES;
    let scattered = pieces.filter(|pieces| *pieces < pages && !trial.workload.huge_pages);
    let why = match (limit, scattered) {
        (Some(limit), _) => {
            format!("the largest request that its queue accepts is {}", format_bytes(limit))
        }
        (None, Some(pieces)) => format!(
            "a request has up to {pages} pages of memory, and the queue accepts at most {pieces} \
             segments"
        ),
        (None, None) => {
            "a layer below accepts only smaller requests, or the extents of the file are short"
                .to_owned()
        }
    };
    let remedy = match (limit, scattered) {
        (None, Some(_)) => {
            "Buffers in huge pages keep requests whole; run again with --huge-pages to see the \
             effect."
        }
        (Some(_), _) => {
            "Each latency covers all parts of a request. On Linux, \
             /sys/block/NAME/queue/max_sectors_kb may allow larger parts."
        }
        (None, None) => {
            "Each latency covers all parts of a request. To measure whole requests, use a smaller \
             --bs."
        }
    };
    (share > SHARE).then(|| {
        Finding::note(
            FindingCode::RequestsSplit,
            format!(
                "The {} requests reached {} in parts of {} on average ({} additional requests): {why}.",
                format_bytes(ours as u64),
                counters.device,
                format_bytes(theirs as u64),
                format_count(splits)
            ),
            remedy,
        )
        .with("additional device requests", splits, "")
        .with("of this run's requests", share, "share")
    })
}
