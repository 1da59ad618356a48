//! The journal of ext4 (jbd2): many fsyncs meet in one commit, and a slow journal device holds all of them.

use crate::check::{Basis, Check, When};
use crate::effect::{Claim, Effect};
use crate::host::{Fact, Host, Reader};
use crate::view::View;
use kernel::read::{names, text};
use record::{LayerKind, format_nanos};

pub(super) const ROW: Check = Check {
    name: "journal",
    causes: &[14],
    layer: LayerKind::FileSystem,
    reads: "/proc/fs/jbd2/*/info: commits, those that were requested, the average time of a commit",
    excludes: "slow commits of ext4's journal",
    source: "https://docs.kernel.org/filesystems/ext4/journal.html",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const COMMITS: &str = "commits";
const REQUESTED: &str = "requested commits";
const COMMIT: &str = "time of a commit";
const HANDLES: &str = "handles of a commit";
const EXTERNAL: &str = "journal";
/// Commits per second that programs asked for, from which on they matter.
const OFTEN_PER_S: f64 = 1.0;
/// Share of the time in commits from which on programs that sync wait for one.
const COMMITTING: f64 = 0.5;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let folder = host.roots.proc.join("fs/jbd2");
    for journal in names(&folder) {
        // `sda1-8` for a journal in inode 8 of sda1, `sdb1` for one that has the device to itself.
        let (device, inside) = match journal.rsplit_once('-') {
            Some((device, inode)) if inode.bytes().all(|byte| byte.is_ascii_digit()) => {
                (device, true)
            }
            _ => (journal.as_str(), false),
        };
        // A slash of the device's name is printed as this.
        let Some(device) = host.device(&device.replace('!', "/")) else { continue };
        let Some(info) = text(&folder.join(&journal).join("info")) else {
            reader.not_read(Some(device), "the statistics of its journal cannot be read");
            continue;
        };
        let fact = Fact::of(device)
            .number(COMMITS, before(&info, " transactions ("), "")
            .number(REQUESTED, between(&info, "transactions (", " requested)"), "")
            .number(
                COMMIT,
                before(&info, "us average transaction commit time").map(|us| us * 1e3),
                "ns",
            )
            .number(HANDLES, before(&info, " handles per transaction"), "")
            .text(EXTERNAL, (!inside).then_some("on a device of its own"));
        reader.add(fact);
    }
}

/// The number in front of some words, on their line.
fn before(info: &str, words: &str) -> Option<f64> {
    let line = info.lines().find(|line| line.contains(words))?;
    line[..line.find(words)?].trim().parse().ok()
}

fn between(info: &str, from: &str, to: &str) -> Option<f64> {
    let rest = info.split_once(from)?.1;
    rest.split_once(to)?.0.trim().parse().ok()
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let busiest = view.facts.iter().filter_map(|fact| {
        let per_s = view.per_s(fact.rise(REQUESTED)?);
        Some((fact, per_s, fact.number(COMMIT)?))
    });
    let (fact, per_s, commit_ns) = busiest.max_by(|a, b| (a.1 * a.2).total_cmp(&(b.1 * b.2)))?;
    let committing = view.per_s(fact.rise(COMMITS)?) * commit_ns / 1e9;
    if per_s < OFTEN_PER_S || committing < COMMITTING {
        return None;
    }
    let name = fact.device.as_deref().unwrap_or("ext4");
    let own = fact.text(EXTERNAL).map_or("", |_| " (a journal device)");
    let says = format!(
        "The journal of {name}{own} commits {per_s:.0} times per second because programs sync, and each commit \
         takes {}: every program that syncs waits for it.",
        format_nanos(commit_ns)
    );
    let action = "Move what syncs to a file system of its own, or the journal to a device that flushes quickly \
                  (`mke2fs -O journal_dev`); fewer fsyncs, or `commit=` where data may be lost.";
    let explains = [Effect::WaitsAbove, Effect::SlowFlushes];
    Some(Claim::usual(says, &explains, action).with(COMMIT, commit_ns, "ns").by(commit_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Load;
    use crate::rows::staging_tests::{
        between as read_between, cause_only_with_effect, disk, nothing,
    };
    use crate::view::Machine;
    use testkit::Fake;

    /// As `jbd2_seq_info_show` of fs/jbd2/journal.c prints it.
    fn info(commits: u32, requested: u32, commit_us: u32) -> String {
        format!(
            "{commits} transactions ({requested} requested), each up to 4096 blocks\naverage: \n  0ms waiting \
             for transaction\n  0ms request delay\n  30ms running transaction\n  0ms transaction was being \
             locked\n  0ms flushing data (in ordered mode)\n  10ms logging transaction\n  {commit_us}us average \
             transaction commit time\n  12 handles per transaction\n  3 blocks per transaction\n  4 logged blocks \
             per transaction\n"
        )
    }

    #[test]
    fn slow_commits_that_programs_asked_for_explain_waits_and_rare_ones_do_not() {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.block("pci0000:00/block/sda/sda1", "8:1", 1 << 19);
        fake.sys("devices/pci0000:00/block/sda/sda1/partition", "1\n");
        let sda = disk("sda", |_| {});
        let load = Load { seconds: 10.0, ..Load::default() };
        let read = |info_then: String, info_now: String| {
            fake.proc("fs/jbd2/sda1-8/info", &info_then);
            read_between("journal", &fake, &sda, || fake.proc("fs/jbd2/sda1-8/info", &info_now))
        };
        let slow = read(info(1000, 900, 30_000), info(1250, 1150, 30_000));
        let now = Machine { facts: &slow, disk: Some(&sda), ..Machine::default() };
        let says = cause_only_with_effect("journal", now, Effect::WaitsAbove, load);
        assert!(says.contains("sda1 commits 25 times per second"), "{says}");
        // The usual commit every five seconds, and many that are quick.
        let rare = read(info(1000, 0, 30_000), info(1002, 0, 30_000));
        nothing("journal", Machine { facts: &rare, ..now }, load);
        let quick = read(info(1000, 900, 60), info(3000, 2900, 60));
        nothing("journal", Machine { facts: &quick, ..now }, load);
    }
}
