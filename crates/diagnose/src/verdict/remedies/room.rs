//! Adds capacity: more disks, or memory for a cache. Purchases come last in the advice.

use super::{Fixes, Row, array, row};
use crate::words::percent;
use record::{CachePoint, CauseCode, Change, RaidLevel, Strategy, enough_cache, format_bytes};

/// Latency reduction of the next better disk: the middle of Friedman's 20 to 30 %.
const FASTER: f64 = 0.25;
/// Share of the reads that a cache serves.
const CACHED: f64 = 0.5;
/// Share of reread data from which more memory is a remedy.
const REUSED_MIN: f64 = 0.05;
/// Smallest share of reads that is worth a cache.
const READS_MIN: f64 = 0.3;
/// Least free memory that could serve as a cache, in bytes.
const MEMORY_MIN: f64 = 1e9;

pub(super) static ROWS: [Row; 5] = [
    row(Strategy::MoreDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = "Spread the load evenly over two such disks instead of one.";
        Some((action.to_owned(), Some(array(2, RaidLevel::Raid0))))
    }),
    row(Strategy::DiskArray, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = "Stripe over an array: with four disks as RAID 10, all four serve reads, and \
                      each write goes to two. Parity (RAID 5, 6) is cheaper but costs four or six \
                      requests per small write.";
        Some((action.to_owned(), Some(array(4, RaidLevel::Raid10))))
    }),
    row(Strategy::FasterDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |_| {
        let action = format!("Use a disk with {} lower latency.", percent(FASTER));
        Some((action, Some(Change::Faster(FASTER))))
    }),
    row(Strategy::CachedDisks, &[CauseCode::RateNearMaximum], Fixes::Room, |case| {
        let reads = case.segment.tally.read_share().filter(|share| *share >= READS_MIN);
        let action = format!(
            "Use a device or controller with a cache that serves {} of the random reads.",
            percent(CACHED)
        );
        reads.map(|_| (action, Some(Change::CacheHit { share: CACHED, hit_ns: None })))
    }),
    row(Strategy::HostCache, &[CauseCode::RateNearMaximum], Fixes::Room, |case| {
        case.segment.tally.read_share().filter(|share| *share >= READS_MIN)?;
        if case.segment.known.constant {
            return None;
        }
        if let Some(enough) = enough_cache(case.segment.reuse) {
            return reused(&enough);
        }
        let memory = case.segment.around.memory_bytes.filter(|bytes| *bytes > MEMORY_MIN)?;
        let action = format!(
            "Let the host cache {} of the reads: {} of memory is available (a larger shared \
             buffer, or buffered instead of direct reads).",
            percent(CACHED),
            format_bytes(memory as u64)
        );
        Some((action, Some(Change::HostCache(CACHED))))
    }),
];

/// More memory, by the reuse of recorded requests; `None` if hardly any data is reread.
fn reused(enough: &CachePoint) -> Option<(String, Option<Change>)> {
    let CachePoint { bytes, read_hit_share: share } = *enough;
    let action = format!(
        "Give the host's cache {} more memory: for the recorded requests it would serve {} of the \
         reads.",
        format_bytes(bytes.0),
        percent(share)
    );
    let change = Change::Memory { bytes: bytes.0, share };
    (share >= REUSED_MIN).then_some((action, Some(change)))
}
