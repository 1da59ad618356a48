//! Detects waits for the ext4 journal (jbd2): many fsyncs share one commit, and a slow journal
//! device delays all of them.

use crate::causes::{Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When};
use host::kernel::read::{names, text};
use record::{LayerKind, format_nanos};

pub(super) const ROW: Check = Check {
    name: "journal",
    causes: &[14],
    layer: LayerKind::FileSystem,
    reads: "/proc/fs/jbd2/*/info: commits, requested commits, average commit time; \
            /sys/fs/ext4/*/journal_task: the journal of each file system",
    source: "https://docs.kernel.org/filesystems/ext4/journal.html",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const COMMITS: &str = "commits";
const REQUESTED: &str = "requested commits";
const COMMIT: &str = "time of a commit";
const HANDLES: &str = "handles of a commit";
const EXTERNAL: &str = "journal";
/// Commits per second requested by programs, from which they matter.
const OFTEN_PER_S: f64 = 1.0;
/// Share of the time in commits from which programs that sync wait for one.
const COMMITTING: f64 = 0.5;

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let folder = host.roots.proc.join("fs/jbd2");
    let journals = names(&folder);
    // File systems with an external journal, by the journal's name.
    let outside: Vec<(String, &HostDevice)> = names(&host.roots.sys.join("fs/ext4"))
        .iter()
        .filter_map(|name| host.device(&plain(name)))
        .filter_map(|device| Some((journal_of(host, device, &journals)?, device)))
        .collect();
    for journal in &journals {
        let users = outside.iter().filter(|(name, _)| name == journal).map(|(_, device)| *device);
        let place = place(host, journal).into_iter();
        for device in place.chain(users) {
            let Some(info) = text(&folder.join(journal).join("info")) else {
                reader.not_read(Some(device), "the statistics of its journal cannot be read");
                continue;
            };
            let outside = !journal.starts_with(&format!("{}-", printed(&device.name)));
            let fact = Fact::of(device)
                .number(COMMITS, before(&info, " transactions ("), "")
                .number(REQUESTED, between(&info, "transactions (", " requested)"), "")
                .number(
                    COMMIT,
                    before(&info, "us average transaction commit time").map(|us| us * 1e3),
                    "ns",
                )
                .number(HANDLES, before(&info, " handles per transaction"), "")
                .text(EXTERNAL, outside.then_some(plain(journal).as_str()));
            reader.add(fact);
        }
    }
}

/// The kernel prints a slash in a device name as `!` in file names. This converts to that form, and
/// `plain` converts back.
fn printed(name: &str) -> String {
    name.replace('/', "!")
}

fn plain(name: &str) -> String {
    name.replace('!', "/")
}

/// The device of a journal: `sdb1` is an external journal; `sda1-8` is a journal in inode 8 of
/// sda1. A device name may end like that, too (`dm-0`).
fn place<'h>(host: &'h Host<'_>, journal: &str) -> Option<&'h HostDevice> {
    if let Some(device) = host.device(&plain(journal)) {
        return Some(device);
    }
    let (device, inode) = journal.rsplit_once('-')?;
    let numbered = !inode.is_empty() && inode.bytes().all(|byte| byte.is_ascii_digit());
    host.device(&plain(device)).filter(|_| numbered)
}

/// The journal of the ext4 on a device, if it is on another device. The journal thread has its
/// name, which the kernel truncates to 15 characters.
fn journal_of(host: &Host<'_>, device: &HostDevice, journals: &[String]) -> Option<String> {
    const THREAD: &str = "jbd2/";
    let file = format!("fs/ext4/{}/journal_task", printed(&device.name));
    let thread = text(&host.roots.sys.join(file))?;
    let name = host.proc(&format!("{thread}/comm"))?;
    let begin = name.trim().strip_prefix(THREAD)?;
    let mut own = journals.iter().filter(|journal| journal.starts_with(begin));
    let found = own.next().filter(|_| own.next().is_none())?;
    place(host, found).is_none_or(|it| it.name != device.name).then(|| found.clone())
}

/// The number before some words on their line.
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
    let outside = fact.text(EXTERNAL).filter(|device| *device != name);
    let own = match (fact.text(EXTERNAL), outside) {
        (_, Some(device)) => format!(", which is on {device},"),
        (Some(_), None) => " (a journal device)".to_owned(),
        (None, None) => String::new(),
    };
    let says = format!(
        "The journal of {name}{own} commits {per_s:.0} times per second because programs sync, and each commit \
         takes {}: every program that syncs waits for it.",
        format_nanos(commit_ns)
    );
    let action = "Move the files of programs that sync to a separate file system, or the journal \
                  to a device with fast flushes (`mke2fs -O journal_dev`). Otherwise call fsync \
                  less often, or set `commit=` if you can afford to lose data.";
    let explains = [Effect::WaitsAbove, Effect::SlowFlushes];
    Some(Claim::usual(says, &explains, action).with(COMMIT, commit_ns, "ns").by(commit_ns))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{
        between as read_between, cause_only_with_effect, disk, nothing,
    };
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    /// Output of `jbd2_seq_info_show` in fs/jbd2/journal.c.
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
        // The usual commit every five seconds; then many fast ones.
        let rare = read(info(1000, 0, 30_000), info(1002, 0, 30_000));
        nothing("journal", Machine { facts: &rare, ..now }, load);
        let quick = read(info(1000, 900, 60), info(3000, 2900, 60));
        nothing("journal", Machine { facts: &quick, ..now }, load);
    }

    #[test]
    fn a_journal_on_another_device_counts_for_the_disk_with_the_files_and_a_name_with_a_number_is_whole()
     {
        let fake = Fake::new();
        fake.block("pci0000:00/block/sda", "8:0", 1 << 20);
        fake.block("virtual/block/dm-0", "252:0", 1 << 20);
        fake.sys("fs/ext4/sda/journal_task", "77\n");
        fake.proc("77/comm", "jbd2/dm-0\n");
        let sda = disk("sda", |_| {});
        let load = Load { seconds: 10.0, ..Load::default() };
        fake.proc("fs/jbd2/dm-0/info", &info(1000, 900, 30_000));
        let slow = read_between("journal", &fake, &sda, || {
            fake.proc("fs/jbd2/dm-0/info", &info(1250, 1150, 30_000));
        });
        let now = Machine { facts: &slow, disk: Some(&sda), ..Machine::default() };
        let says = cause_only_with_effect("journal", now, Effect::WaitsAbove, load);
        assert!(says.contains("The journal of sda, which is on dm-0,"), "{says}");
    }
}
