//! Measures NFS commits that wait for the server's disk, and calls that wait on this machine.
//!
//! The observation counts commits as flushes of the export. It does not show how much of a call is
//! the round trip and how much the wait for a free slot on this machine.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, Reader, View, When};
use host::kernel::device_calls::mount_word;
use record::{LayerKind, format_nanos};

pub(super) const ROW: Check = Check {
    name: "nfs_commits",
    causes: &[10],
    layer: LayerKind::Below,
    reads: "calls, round-trip times and total times of WRITE and COMMIT in /proc/self/mountstats",
    source: "https://man7.org/linux/man-pages/man8/mountstats.8.html",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

/// Fields after the name of a call: calls, transmissions, time-outs, bytes sent and received, and the sums of
/// the slot waits, of the round trips and of the total times, in ms (net/sunrpc/stats.c).
const CALLS: usize = 0;
const QUEUED_MS: usize = 5;
const ROUND_TRIPS_MS: usize = 6;
const WHOLE_MS: usize = 7;
const NAMES: [(&str, [&str; 4]); 2] = [
    ("WRITE:", ["writes", "wait of writes", "round trips of writes", "time of writes"]),
    ("COMMIT:", ["commits", "wait of commits", "round trips of commits", "time of commits"]),
];
/// Ratio of commit time to write time from which commits wait for the server's medium.
const LONGER: f64 = 3.0;
/// Share of the total time in slot waits from which there are too few slots.
const WAITS: f64 = 0.5;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    if host.exports.is_empty() {
        return;
    }
    let Some(stats) = host.proc("self/mountstats") else {
        return reader.not_read(None, "/proc/self/mountstats cannot be read");
    };
    let mut open: Option<Fact> = None;
    for line in stats.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        if let ["device", source, "mounted", "on", ..] = words[..] {
            let source = mount_word(source);
            open.take().into_iter().for_each(|fact| reader.add(fact));
            let own = host.exports.contains(&source);
            open = own.then(|| Fact::named(&source));
            continue;
        }
        let Some((call, counts)) = words.split_first() else { continue };
        let Some((_, names)) = NAMES.iter().find(|(name, _)| name == call) else { continue };
        open = open.map(|fact| {
            let places = [CALLS, QUEUED_MS, ROUND_TRIPS_MS, WHOLE_MS];
            let value = |at: usize| counts.get(at).and_then(|count| count.parse::<f64>().ok());
            names.iter().zip(places).fold(fact, |fact, (name, at)| {
                fact.number(name, value(at), if at == CALLS { "" } else { "ms" })
            })
        });
    }
    open.into_iter().for_each(|fact| reader.add(fact));
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let [writes, commits] =
        NAMES.map(|(_, names)| names.map(|name| fact.rise(name).unwrap_or(0.0)));
    let each = |of: [f64; 4], which: usize| (of[0] > 0.0).then(|| of[which] / of[0]);
    let commit_ms = each(commits, 3)?;
    let write_ms = each(writes, 3).unwrap_or(0.0);
    let explains = [Effect::SlowFlushes, Effect::SlowWrites];
    let commit = format_nanos(commit_ms * 1e6);
    if commits[1] >= WAITS * commits[3] {
        let says = format!(
            "Commits to the server take {commit}. More than half of that time is the wait for a \
             free slot on this machine."
        );
        let action = "Use more connections (mount option nconnect), or a larger slot table \
                      (sunrpc.tcp_max_slot_table_entries).";
        return Some(Claim::usual(says, &explains, action).with("commit", commit_ms, "ms"));
    }
    (commit_ms >= LONGER * write_ms).then(|| {
        let says = format!(
            "Commits to the server take {commit} and writes {}: the server waits for its disk.",
            format_nanos(write_ms * 1e6)
        );
        let action = "Give the server a disk with power-loss protection or a log device, export \
                      with `async` if you can afford to lose the data, or let the program sync \
                      less often.";
        Claim::usual(says, &explains, action).with("commit", commit_ms, "ms").by(commit_ms)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{between, cause_only_with_effect, nothing};
    use crate::causes::{Load, Machine};
    use record::DeviceFacts;
    use testkit::Fake;

    fn set(fake: &Fake, writes: [u64; 4], commits: [u64; 4]) {
        let row = |[calls, wait, trip, whole]: [u64; 4]| {
            format!("{calls} {calls} 0 8500 300 {wait} {trip} {whole} 0")
        };
        fake.proc(
            "self/mountstats",
            &format!(
                "device rootfs mounted on / with fstype rootfs\ndevice srv:/data mounted on /srv/db with fstype \
                 nfs4 statvers=1.1\n\topts:\trw,vers=4.2\n\tbytes:\t0 0 4096000 8192 4096000 8192 1000 2\n\tper-op \
                 statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\t       WRITE: {}\n\t      COMMIT: {}\n",
                row(writes),
                row(commits)
            ),
        );
    }

    #[test]
    fn commits_that_wait_for_the_server_and_those_that_wait_here_are_told_apart() {
        let fake = Fake::new();
        let export = DeviceFacts::export("srv:/data");
        let staged = |writes: [u64; 4], commits: [u64; 4]| {
            set(&fake, [10, 1, 5, 7], [10, 1, 5, 7]);
            between("nfs_commits", &fake, &export, || set(&fake, writes, commits))
        };
        for (commits, word) in [
            ([110, 11, 3_000, 3_107], "the server waits for its disk"),
            ([110, 2_900, 200, 3_107], "on this machine"),
        ] {
            let facts = staged([110, 11, 105, 157], commits);
            let now = Machine { facts: &facts, disk: Some(&export), ..Machine::default() };
            let says =
                cause_only_with_effect("nfs_commits", now, Effect::SlowFlushes, Load::default());
            assert!(says.contains(word), "{says}");
        }
        let quick = staged([110, 11, 105, 157], [110, 11, 105, 167]);
        let now = Machine { facts: &quick, disk: Some(&export), ..Machine::default() };
        nothing("nfs_commits", now, Load::default());
    }
}
