//! Presents SMB (CIFS) mounts as devices: the client's counters of calls to a server, in the form of a line
//! of /proc/diskstats.
//!
//! A kernel with `CONFIG_CIFS_STATS2`, such as Debian's, counts the calls to each server with their
//! durations, in timer ticks. A tick is longer than many calls: a single time is off by up to one tick, but
//! the mean is correct. Times are per server, bytes per share. If several shares of one server are mounted,
//! their times cannot be separated, and none of them is a device. Format: fs/smb/client/cifs_debug.c and
//! smb2ops.c of the kernel.

use crate::kernel::linux::diskstats::{DiskstatsLine, SECTOR_BYTES, TransferCounters};

/// Command numbers in SMB 2 and 3 ([MS-SMB2] 2.2.1).
const FLUSH: u64 = 7;
const READ: u64 = 8;
const WRITE: u64 = 9;

#[derive(Debug, Default)]
struct Server {
    ticks_per_s: Option<u64>,
    /// For each call: its number, how many ended, and their time in ticks.
    calls: Vec<(u64, u64, u64)>,
    shares: Vec<Share>,
}

#[derive(Debug, Default)]
struct Share {
    name: String,
    read_bytes: u64,
    written_bytes: u64,
}

/// The shares in /proc/fs/cifs/Stats that are the only one of their server, named by their source.
pub(super) fn lines(text: &str) -> Vec<DiskstatsLine> {
    let mut servers: Vec<Server> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if line.starts_with("Max requests in flight:") {
            servers.push(Server::default());
        }
        let Some(server) = servers.last_mut() else { continue };
        match words[..] {
            ["Total", "time", "spent", .., per_s, "per", "second)"] => {
                server.ticks_per_s = per_s.trim_start_matches('(').parse().ok();
            }
            ["Bytes", "read:", read, "Bytes", "written:", written] => {
                if let Some(share) = server.shares.last_mut() {
                    share.read_bytes = read.parse().unwrap_or(0);
                    share.written_bytes = written.parse().unwrap_or(0);
                }
            }
            [number, name, ..] if number.ends_with(')') && name.starts_with(r"\\") => {
                let name = name.replace('\\', "/");
                server.shares.push(Share { name, ..Share::default() });
            }
            [call, count, ticks, _, _] if server.shares.is_empty() => {
                let numbers = [call, count, ticks].map(str::parse::<u64>);
                if let [Ok(call), Ok(count), Ok(ticks)] = numbers {
                    server.calls.push((call, count, ticks));
                }
            }
            _ => {}
        }
    }
    servers.iter().filter_map(Server::line).collect()
}

impl Server {
    fn line(&self) -> Option<DiskstatsLine> {
        let ([share], Some(per_s)) =
            (&self.shares[..], self.ticks_per_s.filter(|per_s| *per_s > 0))
        else {
            return None;
        };
        // A call that was never made has no line, or a line of zeros.
        let counted = |call: u64| {
            let found = self.calls.iter().find(|(number, ..)| *number == call);
            found.map_or((0, 0), |(_, count, ticks)| (*count, ticks * 1000 / per_s))
        };
        let direction = |call: u64, bytes: u64| {
            let (ios, time_ms) = counted(call);
            let sectors = bytes / SECTOR_BYTES;
            TransferCounters { ios, sectors, time_ms: Some(time_ms), ..TransferCounters::default() }
        };
        let flushes = counted(FLUSH);
        let [reads, writes] =
            [direction(READ, share.read_bytes), direction(WRITE, share.written_bytes)];
        let times = [reads.time_ms, writes.time_ms, Some(flushes.1)];
        Some(DiskstatsLine {
            device: share.name.clone(),
            remote: true,
            weighted_ms: times.into_iter().sum(),
            reads,
            writes,
            flushes: Some(flushes),
            ..DiskstatsLine::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r"Resources in use
CIFS Session: 1
Share (unique mount targets): 2

0 session 0 share reconnects
Total vfs operations: 125 maximum at one time: 4

Max requests in flight: 12
Total time spent processing by command. Time units are jiffies (250 per second)
  SMB3 CMD	Number	Total Time	Fastest	Slowest
  --------	------	----------	-------	-------
  0		1	15		15	15
  7		3	6		2	2
  8		2000	500		0	9
  9		64	491		4	18
  3 slow responses from files for command 9

1) \\files\base
SMBs: 2080
Bytes read: 8192000  Bytes written: 1048576
Open files: 2 total (local), 2 open on server
Reads: 2001 total 0 failed
";

    #[test]
    fn a_share_alone_on_its_server_is_counted_by_the_servers_calls_and_its_own_bytes() {
        let found = lines(ONE);
        let [share] = &found[..] else { panic!("{found:?}") };
        assert_eq!((share.device.as_str(), share.remote), ("//files/base", true));
        let of = |one: TransferCounters| (one.ios, one.sectors, one.time_ms, one.merges);
        assert_eq!(of(share.reads), (2_000, 16_000, Some(2_000), None));
        assert_eq!(of(share.writes), (64, 2_048, Some(1_964), None));
        assert_eq!((share.flushes, share.weighted_ms), (Some((3, 24)), Some(3_988)));
        assert_eq!((share.busy_ms, share.in_flight), (None, None));
    }

    #[test]
    fn what_two_shares_of_a_server_took_is_nobodys_and_without_times_there_is_nothing() {
        let second = "\n2) \\\\files\\home\nSMBs: 1\nBytes read: 0  Bytes written: 0\n";
        assert!(lines(&format!("{ONE}{second}")).is_empty());
        // Each has a server of its own.
        let other = ONE.replace("files", "other");
        let names: Vec<String> =
            lines(&format!("{ONE}\n{other}")).into_iter().map(|line| line.device).collect();
        assert_eq!(names, ["//files/base", "//other/base"]);
        let untimed: Vec<&str> = ONE.lines().filter(|line| !line.contains("jiffies")).collect();
        assert!(lines(&untimed.join("\n")).is_empty());
        assert!(lines("Resources in use\nCIFS Session: 0\n").is_empty());
    }
}
