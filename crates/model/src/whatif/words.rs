//! Writes what a change assumes, what it costs, and how to check it.

use super::Setup;
use record::{Change, RaidLevel, format_bytes};

/// The sentences of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// Assumptions behind its figures.
    pub assumes: String,
    /// Its cost.
    pub cost: String,
    /// How to check its figures.
    pub how_to_check: String,
}

/// The sentences of a change for a load.
#[must_use]
pub fn words(change: Change, load: &Setup) -> Words {
    let open = load.offered.is_open();
    let [assumes, cost, how_to_check] = match change {
        Change::Array { disks, raid, chunk_bytes } => return array(disks, raid, chunk_bytes),
        Change::Faster(_) => [
            "all requests on the new disk are faster by this factor, at queue depth 1 and in a \
             queue",
            "another disk, and moving the data to it",
            "run `halfpower check` on the new disk and compare",
        ],
        Change::CacheHit { hit_ns: None, .. } => [
            "the cache serves this share of the random reads, as fast as this device serves \
             re-reads",
            "a controller or drive with memory; to cache writes, it needs a battery or capacitor",
            "trace the addresses: at least this share of the reads must be re-reads",
        ],
        Change::CacheHit { hit_ns: Some(_), .. } => [
            "the cache serves this share of the random reads in the stated time, without a queue",
            "a cache device or controller memory",
            "trace the addresses: at least this share of the reads must be re-reads",
        ],
        Change::HostCache(_) => [
            "memory serves this share of the reads in no time, and the mean latency includes \
             those reads; writes are a larger share of the remaining load and may come in bursts \
             (the upper end of the interval)",
            "memory; a crash loses data that is not yet written",
            "watch the hit rate of the host's cache: it should rise",
        ],
        Change::Memory { .. } => [
            "the memory is an LRU page cache, programs read through it, the recorded requests are \
             typical, and hits take no time",
            "memory; a crash loses data that is not yet written",
            "watch the hit rate of the host's cache: it should rise; a new recording should show \
             fewer repeated reads",
        ],
        Change::Sequential(_) => [
            "requests that were random become sequential and arrive in order",
            "reading and rewriting the files once; space for a copy of the largest file",
            "count the extents: if there are already few per file, the program's own access is \
             random",
        ],
        Change::Depth(_) => [
            "programs keep this many requests in flight, and none depends on the result of another",
            "changes to the program, where excess requests then wait instead",
            "compare the rate with the prediction",
        ],
        Change::RequestBytes(_) if open => [
            "the same bytes per second, at the same positions; the figures are for requests of the \
             new size",
            "memory for larger buffers, or more requests for the same bytes",
            "check that throughput stays the same: if it rises, the device reads data that no \
             program requested",
        ],
        Change::RequestBytes(_) => [
            "the same queue depth as before; the figures are for requests of the new size",
            "memory for larger buffers, or more requests for the same bytes",
            "compare the throughput with the prediction",
        ],
        Change::Cap(_) => [
            "a limit without burst credit ahead of the device (lower end of the interval: a limit \
             with enough credit)",
            "the limited programs wait while other programs use the disk",
            "check that latency at the device stays the same: if it changes, the limit is not \
             ahead of the device",
        ],
        Change::Uncapped => [
            "the programs keep as many requests in flight as the device serves in parallel; the \
             interval extends from the present rate to the maximum",
            "a larger volume type, or a smaller share for other users of the disk",
            "watch the rate: if it does not rise, the program paces itself",
        ],
        Change::AsProfiled => [
            match (open, load.alternatives.iter().any(|other| !other.is_open())) {
                (false, _) => "the same queue depth as now",
                (true, false) => "Poisson arrivals at the present rate",
                (true, true) => {
                    "Poisson arrivals at the present rate; the interval includes the result for \
                     the present queue depth"
                }
            },
            "a check of about a minute on the quiet device, then a new disk or a move of the data",
            "profile the quiet device again: if the profiles agree, the load changed, not the \
             device",
        ],
        Change::Without { .. } => [
            "the remaining load has the same mix and random arrivals",
            "the program gets a smaller share of this disk, or moves to another disk",
            "pause this program: the latency of the others should fall",
        ],
        Change::Independent => [
            "the same requests per second, independent of each other",
            "fewer writes are merged in memory, so their number may rise",
            "watch the bursts: those that remain come from the program",
        ],
    }
    .map(str::to_owned);
    Words { assumes, cost, how_to_check }
}

fn array(disks: u32, raid: RaidLevel, chunk_bytes: u64) -> Words {
    let (room, loss) = match raid {
        RaidLevel::Raid0 => (disks, "the loss of one disk loses all data"),
        RaidLevel::Raid1 => (1, "all disks but one may fail"),
        RaidLevel::Raid5 => (disks - 1, "one disk may fail; a small write becomes four requests"),
        RaidLevel::Raid6 => (disks - 2, "two disks may fail; a small write becomes six requests"),
        RaidLevel::Raid10 => {
            (disks / 2, "one disk of each pair may fail; a write becomes two requests")
        }
    };
    Words {
        assumes: format!(
            "requests are spread evenly over all disks in chunks of {}, the array adds no \
             overhead, and each disk seeks as far as this one did",
            format_bytes(chunk_bytes)
        ),
        cost: format!("{disks} disks to get the capacity of {room}; {loss}"),
        how_to_check: "compare the disks of the array: none should be busier than the others"
            .to_owned(),
    }
}
