//! What a change takes for granted, what it costs, and what would refute it.

use record::{Change, Offered, RaidLevel, format_bytes};

/// The sentences of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words {
    /// What its figures take for granted.
    pub assumes: String,
    /// What it costs.
    pub price: String,
    /// What would show that they are wrong.
    pub refuted_by: String,
}

/// The sentences of a change for a load.
#[must_use]
pub fn words(change: Change, offered: Offered) -> Words {
    let (assumes, price, refuted_by) = match change {
        Change::Faster(_) => (
            "all requests of the new disk are that much faster, alone and in a queue".to_owned(),
            "another disk, and moving the data to it".to_owned(),
            "a `halfpower check` of the new disk that is not that much faster".to_owned(),
        ),
        Change::Array { disks, raid, chunk_bytes } => array(disks, raid, chunk_bytes),
        Change::CacheHit { hit_ns: None, .. } => (
            "that share of the random reads is served, as fast as this device serves re-reads"
                .to_owned(),
            "a controller or drive with memory; for writes with a battery or capacitor".to_owned(),
            "re-reads that are rarer: a trace of the addresses tells".to_owned(),
        ),
        Change::CacheHit { hit_ns: Some(_), .. } => (
            "that share of the random reads is served in the stated time, without a queue of its own"
                .to_owned(),
            "a cache device or controller memory".to_owned(),
            "re-reads that are rarer: a trace of the addresses tells".to_owned(),
        ),
        Change::HostCache(_) => (
            "that share of the reads is served from memory in no time, and is in the mean; what is \
             left has more writes in it, which may come in bursts (the upper end of the interval)"
                .to_owned(),
            "memory; and data that is written late is lost with the machine".to_owned(),
            "a hit rate of the host's cache that does not rise".to_owned(),
        ),
        Change::Sequential(_) => (
            "requests that were random become the next ones of their stream, and arrive in that \
             order"
                .to_owned(),
            "reading and writing the files once; room for a copy of the largest".to_owned(),
            "few extents per file already: then it is the program that jumps".to_owned(),
        ),
        Change::Depth(_) => (
            "whoever asks keeps a fixed number outstanding, of requests that do not wait for each \
             other's results"
                .to_owned(),
            "work on the program; what does not fit waits there instead".to_owned(),
            "a rate that does not follow".to_owned(),
        ),
        Change::RequestBytes(_) => (
            match offered {
                Offered::Depth(_) => "as many outstanding as before".to_owned(),
                Offered::PoissonPerS(_) | Offered::ConstantPerS(_) => {
                    "the same bytes per second, in the same places".to_owned()
                }
            },
            "memory for larger buffers, or more requests for the same bytes".to_owned(),
            "bytes per second that do not stay: then requests are read that nobody wants".to_owned(),
        ),
        Change::Cap(_) => (
            "a limit ahead of the device that saves no credit (the lower end of the interval: enough \
             of it)"
                .to_owned(),
            "whoever is limited waits; what is left is for others".to_owned(),
            "response times of the device that change: then it was not limited before it".to_owned(),
        ),
    };
    Words { assumes, price, refuted_by }
}

fn array(disks: u32, raid: RaidLevel, chunk_bytes: u64) -> (String, String, String) {
    let (room, loss) = match raid {
        RaidLevel::Raid0 => (disks, "any one of them lost is all lost"),
        RaidLevel::Raid1 => (1, "all but one may fail"),
        RaidLevel::Raid5 => (disks - 1, "one may fail; a small write is four requests"),
        RaidLevel::Raid6 => (disks - 2, "two may fail; a small write is six requests"),
        RaidLevel::Raid10 => (disks / 2, "one of each pair may fail; a write is two requests"),
    };
    let assumes = format!(
        "requests that fall on all disks alike, chunks of {}, an array that adds nothing of its own, \
         and disks that seek as far as this one did",
        format_bytes(chunk_bytes)
    );
    let price = format!("{disks} disks for the room of {room}; {loss}");
    (assumes, price, "single disks of the array that are busier than the others".to_owned())
}
