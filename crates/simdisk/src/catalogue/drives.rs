//! Drives: the disks of Riedel, van Ingen and Gray 1997, of Chung, Gray, Worthington and Horst
//! 2000, and of Friedman.
//!
//! A paper prints the media rate as the maker does, with everything that is on a track. What a
//! request sees is less by the codes and gaps between sectors, which the rows here leave out, and
//! by the skew between tracks, which the geometry adds.

use super::Source::{Assumed, Derived, Fitted, Paper};
use super::{Field, Model, Parts, Rest, Rows, model};
use crate::drive::{DriveSpec, Order};

const SEEK: &str = "Riedel, Table 1: range 1-17 ms";
const SIDES: &str = "as drives of its size and time; sets only how often arm and head change";
const WCE: &str = "Riedel, figure 3, plateau of writes with WCE";
const NOTHING: Rest = Rest::Zero(Assumed("nothing known"));

pub(crate) const DRIVES: Parts<DriveSpec> = Parts { kind: "drive", fields: FIELDS, models: MODELS };

const MODELS: &[Model] = &[
    model("st15150w", &[ST15150])
        .help("Seagate Barracuda 4, 4.3 GB, 7200 rpm, Fast-Wide SCSI (Riedel 1997)"),
    model("st34371w", &[ST34371, ST15150])
        .help("Seagate Barracuda 4LP, 4.3 GB, 7200 rpm, Ultra-Wide SCSI (Riedel 1997)"),
    model("st15150n", &[ST15150])
        .help("Seagate Barracuda 4, 4.3 GB, 7200 rpm, Fast narrow SCSI (Riedel 1997, Table 3)"),
    model("atlas10k", &[ATLAS, LATER])
        .help("Quantum Atlas 10K, 18.2 GB, 10,000 rpm, Ultra160 SCSI (Chung 2000)")
        .rest(NOTHING),
    model("fireball", &[FIREBALL, LATER])
        .help("Quantum Fireball lct08, 26 GB, 5400 rpm, ATA/66 on a 3ware card (Chung 2000)")
        .rest(NOTHING),
    model("friedman10k", &[FRIEDMAN, LATER])
        .help("the 10,000 rpm server disk of Friedman's Table 1, 72 GB")
        .rest(NOTHING),
];

const FIELDS: &[Field<DriveSpec>] = &[
    ("capacity", &["B"], |it, value| it.capacity_bytes = value),
    ("speed", &["rpm"], |it, value| it.rpm = value as u32),
    ("heads", &[""], |it, value| it.heads = value as u32),
    ("zones", &[""], |it, value| it.zones = value as u32),
    ("media rate, outermost track", &["B/s"], |it, value| it.outer_bytes_per_s = value),
    ("media rate, innermost track", &["B/s"], |it, value| it.inner_bytes_per_s = value),
    ("head switch", &["ns"], |it, value| it.head_switch_ns = value),
    ("cylinder switch", &["ns"], |it, value| it.cylinder_switch_ns = value),
    ("seek, next cylinder", &["ns"], |it, value| it.track_seek_ns = value),
    ("seek, average", &["ns"], |it, value| it.average_seek_ns = value),
    ("seek, full stroke", &["ns"], |it, value| it.full_seek_ns = value),
    ("settling", &["ns"], |it, value| it.settle_ns = value),
    ("read segments", &[""], |it, value| it.segments = value as u32),
    ("read segment", &["B"], |it, value| it.segment_bytes = value),
    ("write buffer", &["B"], |it, value| it.write_buffer_bytes = value),
    ("write runs", &[""], |it, value| it.write_runs = value as u32),
    ("burst", &["B"], |it, value| it.burst_bytes = value),
    ("finds what it sent", &[""], |it, value| it.rereads = value != 0),
    ("finding it", &["ns"], |it, value| it.reread_ns = value),
    ("writes on arrival", &[""], |it, value| it.write_on_arrival = value != 0),
    ("writes miss the skew of cylinders", &[""], |it, value| it.write_misses_skew = value != 0),
    ("overlaps writes", &[""], |it, value| it.overlaps_writes = value != 0),
    ("order", &["arrival", "elevator", "soonest"], |it, value| {
        it.order = [Order::Arrival, Order::Elevator, Order::Soonest][value as usize];
    }),
    ("window", &[""], |it, value| it.window = value as u32),
    ("commands at once", &[""], |it, value| it.tags = value as u32),
    ("firmware, command", &["ns"], |it, value| it.command_ns = value),
    ("firmware, command to write", &["ns"], |it, value| it.write_command_ns = value),
    ("firmware, command among others", &["ns"], |it, value| it.queued_ns = value),
    ("firmware, first after another drive", &["ns"], |it, value| it.wake_ns = value),
    ("firmware, end", &["ns"], |it, value| it.after_ns = value),
    ("firmware, write-through", &["ns"], |it, value| it.write_through_ns = value),
];

const ST15150: Rows = &[
    ("capacity", 4_300_000_000, Paper("Riedel, Table 1: 4.3 GB")),
    ("speed", 7_200, Paper("Riedel, Table 1")),
    ("heads", 21, Assumed(SIDES)),
    ("zones", 16, Assumed("as drives of its time")),
    ("media rate, outermost track", 7_700_000, Fitted("Riedel, figure 3: 87.5 % of Table 1")),
    ("media rate, innermost track", 5_160_000, Derived("the same share of Table 1")),
    ("head switch", 800_000, Assumed("below the 1 ms of a track-to-track seek")),
    ("cylinder switch", 1_000_000, Derived("track-to-track seek")),
    ("seek, next cylinder", 1_000_000, Paper(SEEK)),
    ("seek, average", 8_000_000, Assumed("Table 1 has half a revolution; 8 ms lies in range")),
    ("seek, full stroke", 17_000_000, Paper(SEEK)),
    ("settling", 0, Assumed("in the seek times")),
    ("read segments", 4, Assumed("of the 1 MB of Table 1, three quarters for reading")),
    ("read segment", 196_608, Assumed("of the 1 MB of Table 1, three quarters")),
    ("write buffer", 262_144, Assumed("of the 1 MB of Table 1, a quarter")),
    ("write runs", 4, Assumed("no figure depends on it")),
    ("burst", 32_768, Fitted("Riedel, Table 4: two Data In of a 64 KB request")),
    ("finds what it sent", 1, Paper("Riedel, Table 3: cache hits below 64 KB")),
    ("finding it", 200_000, Fitted("Riedel, Table 3, cache hit of 2 KB")),
    ("writes on arrival", 0, Paper("Riedel, figure 3: one more revolution a write")),
    ("writes miss the skew of cylinders", 1, Fitted(WCE)),
    ("overlaps writes", 1, Paper("Riedel, figure 6: deeper writes are faster")),
    ("order", 2, Assumed("tagged command queueing")),
    ("window", 32, Assumed("all that it holds")),
    ("commands at once", 32, Assumed("more than the figures ask for")),
    ("firmware, command", 310_000, Fitted("Riedel, figure 3, read of 4 KB")),
    ("firmware, command to write", 85_000, Fitted("Riedel, figure 3, write of 4 KB with WCE")),
    ("firmware, command among others", 75_000, Fitted("Riedel, figure 6, read of 4 KB, 3 deep")),
    ("firmware, first after another drive", 2_000_000, Fitted("Riedel, figure 7, 16 KB, 1 deep")),
    ("firmware, end", 360_000, Fitted("Riedel, figure 3, read of 2 KB")),
    ("firmware, write-through", 330_000, Fitted("Riedel, figure 6, write of 4 KB, 8 deep")),
];

const ST34371: Rows = &[
    ("heads", 10, Assumed(SIDES)),
    ("media rate, outermost track", 10_650_000, Fitted("Riedel, figure 3: 71 % of Table 1")),
    ("media rate, innermost track", 7_100_000, Derived("the same share of the 10 MB/s of Table 1")),
    ("head switch", 900_000, Assumed("below the 1 ms of a track-to-track seek")),
    ("read segments", 3, Assumed("of the 0.5 MB of Table 1, three quarters for reading")),
    ("read segment", 131_072, Assumed("of the 0.5 MB of Table 1, three quarters")),
    ("write buffer", 131_072, Assumed("of the 0.5 MB of Table 1, a quarter")),
    ("finds what it sent", 0, Paper("Riedel, Table 3: a revolution for each re-read")),
    ("finding it", 0, Paper("Riedel, Table 3: it does not")),
    ("writes miss the skew of cylinders", 0, Fitted(WCE)),
    ("overlaps writes", 1, Paper("Riedel, figure 12: deeper writes are faster")),
    ("firmware, command", 30_000, Fitted("Riedel, figure 3, read of 2 KB")),
    ("firmware, command to write", 0, Fitted("Riedel, figure 3, write of 4 KB with WCE")),
    ("firmware, command among others", 235_000, Fitted("Riedel, figure 13, aligned, 2 KB")),
    ("firmware, first after another drive", 1_100_000, Fitted("Riedel, figure 10, read of 16 KB")),
    ("firmware, end", 60_000, Assumed("hidden behind the host's own time")),
    ("firmware, write-through", 690_000, Fitted("Riedel, figure 12, write of 4 KB, 8 deep")),
];

/// What the drives after 1999 share.
const LATER: Rows = &[
    ("zones", 16, Assumed("as drives of its time")),
    ("seek, full stroke", 0, Assumed("not given: a curve with the root alone")),
    ("burst", 65_536, Assumed("a whole transfer of the host")),
    ("finding it", 0, Assumed("no figure depends on it")),
    ("commands at once", 64, Assumed("more than the figures ask for")),
    ("firmware, end", 20_000, Assumed("hidden behind the host's own time")),
];

const ATLAS: Rows = &[
    ("capacity", 18_200_000_000, Paper("Chung, Table 5: 18.2 GB")),
    ("speed", 10_000, Paper("Chung, Table 5")),
    ("heads", 12, Assumed(SIDES)),
    ("media rate, outermost track", 26_000_000, Paper("Chung, Table 5: 18-26 MB/s")),
    ("media rate, innermost track", 18_000_000, Paper("Chung, Table 5: 18-26 MB/s")),
    ("head switch", 480_000, Fitted("Chung, Table 6: of 26 MB/s, 24 come over many tracks")),
    ("cylinder switch", 800_000, Derived("seek to the next cylinder")),
    ("seek, next cylinder", 800_000, Assumed("as drives of its class")),
    ("seek, average", 5_000_000, Paper("Chung, Table 5")),
    ("settling", 1_100_000, Fitted("Chung, figure 11: 105 random reads/s, 1 deep")),
    ("read segments", 6, Assumed("of the 2 MB of Table 5, three quarters for reading")),
    ("read segment", 262_144, Assumed("of the 2 MB of Table 5, three quarters")),
    ("write buffer", 524_288, Assumed("of the 2 MB of Table 5, a quarter")),
    ("write runs", 1, Fitted("Chung, Table 9: 105 random writes/s: none are sorted")),
    ("finds what it sent", 1, Paper("Chung, section 4.1: re-reads come from its cache")),
    ("writes on arrival", 1, Fitted("Chung, figure 13: 10 MB/s of writes without WCE")),
    ("writes miss the skew of cylinders", 1, Fitted("Chung, section 1: 22.5 MB/s, reads 24")),
    ("overlaps writes", 0, Paper("Chung, figure 15: deeper writes are no faster")),
    ("order", 2, Paper("Chung, section 7.1: it permutes the requests")),
    ("window", 16, Fitted("Chung, section 8.1: 1.1 requests a revolution, 32 deep")),
    ("firmware, command", 8_000, Fitted("Chung, figure 15: 17.7 MB/s at 2 KB, 1 deep")),
    ("firmware, end", 10_000, Assumed("hidden behind the host's own time")),
];

const FIREBALL: Rows = &[
    ("capacity", 26_000_000_000, Paper("Chung, Table 5: 26 GB")),
    ("speed", 5_400, Paper("Chung, Table 5")),
    ("heads", 6, Assumed(SIDES)),
    ("media rate, outermost track", 21_600_000, Fitted("Chung, Table 6: 19 MB/s; 68 % of Table 5")),
    ("media rate, innermost track", 14_100_000, Fitted("Chung, Table 6: 12.4 MB/s")),
    ("head switch", 1_400_000, Assumed("below a track-to-track seek")),
    ("cylinder switch", 2_000_000, Derived("seek to the next cylinder")),
    ("seek, next cylinder", 2_000_000, Assumed("as drives of its class")),
    ("seek, average", 9_500_000, Paper("Chung, Table 5")),
    ("settling", 0, Assumed("in the seek times")),
    ("read segments", 1, Assumed("of the 512 KB of Table 5, three quarters for reading")),
    ("read segment", 393_216, Assumed("of the 512 KB of Table 5, three quarters")),
    ("write buffer", 393_216, Assumed("of the 512 KB of Table 5, three quarters too")),
    ("write runs", 12, Fitted("Chung, Table 9: 90 random writes/s")),
    ("finds what it sent", 1, Paper("Chung, section 3.3: re-reads come from its cache")),
    ("overlaps writes", 0, Derived("one command at a time: ATA/66 has no queueing")),
    ("order", 1, Assumed("what a card that sees only addresses can do")),
    ("window", 32, Assumed("all that waits in the card")),
    ("commands at once", 1, Derived("ATA/66 has no queueing; the card holds the rest")),
    ("firmware, command", 60_000, Assumed("between the two SCSI drives")),
];

const FRIEDMAN: Rows = &[
    ("capacity", 72_000_000_000, Paper("Friedman, section on random disk I/O: 72 GB")),
    ("speed", 10_000, Paper("Friedman, Table 1")),
    ("heads", 8, Assumed(SIDES)),
    ("media rate, outermost track", 78_000_000, Paper("Friedman, Table 1")),
    ("media rate, innermost track", 43_000_000, Paper("Friedman, Table 1")),
    ("head switch", 400_000, Derived("minimum seek of Table 1")),
    ("cylinder switch", 400_000, Derived("minimum seek of Table 1")),
    ("seek, next cylinder", 400_000, Paper("Friedman, Table 1")),
    ("seek, average", 5_000_000, Paper("Friedman, Table 1")),
    ("settling", 400_000, Assumed("as long as the minimum seek of Table 1")),
    ("read segments", 6, Assumed("of 8 MB, as drives of its class")),
    ("read segment", 1_048_576, Assumed("of 8 MB, as drives of its class")),
    ("write buffer", 2_097_152, Assumed("of 8 MB, as drives of its class")),
    ("write runs", 8, Assumed("as drives of its class")),
    ("finds what it sent", 1, Assumed("as drives of its class")),
    ("overlaps writes", 1, Assumed("tagged command queueing")),
    ("order", 2, Paper("Friedman, random disk I/O: what is served fastest next")),
    ("window", 64, Assumed("all that it holds")),
    ("firmware, command", 30_000, Fitted("Friedman, Table 4, 4K sequential read")),
    ("firmware, command to write", 100_000, Fitted("Friedman, Table 4, 4K sequential write")),
];
