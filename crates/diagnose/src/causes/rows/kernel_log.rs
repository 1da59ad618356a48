//! Reads recent kernel messages about a disk: resets, time-outs, failed commands, a link that was slowed
//! down.
//!
//! Only lines that name the disk, its port or its controller and contain a problem word count. The log of the
//! running kernel is read once. Journal entries of earlier boots describe another state of the machine.

use crate::causes::{
    Basis, Check, Claim, Effect, Fact, Host, HostDevice, Reader, View, When, is_numbered,
};
use host::kernel::LogLine;
use host::kernel::device_calls::kernel_log;
use host::kernel::read::base_name;
use record::{LayerKind, counted};

pub(super) const ROW: Check = Check {
    name: "kernel_log",
    causes: &[6, 7, 13],
    layer: LayerKind::Device,
    reads: "/dev/kmsg, lines of the last six hours that name the disk (root, or kernel.dmesg_restrict=0)",
    source: "https://www.kernel.org/doc/Documentation/ABI/testing/dev-kmsg",
    basis: Basis::Facts { when: When::BothEnds, read, judge },
};

const WINDOW_US: u64 = 6 * 3600 * 1_000_000;
/// Problem words, as disk drivers print them.
const TROUBLE: [&str; 14] = [
    "i/o error",
    "failed command",
    "hard resetting link",
    "soft resetting link",
    "limiting sata link speed",
    "timeout",
    "timed out",
    "aborting",
    "reset controller",
    "resetting controller",
    "uas_eh",
    "medium error",
    "unrecovered read error",
    "frozen",
];
const RESETS: &str = "reset ";
/// Kernel messages of a wake-up, and the time around one in which devices are reset.
const WAKES: [&str; 3] =
    ["PM: suspend exit", "PM: hibernation: hibernation exit", "ACPI: PM: Waking up"];
const WAKES_US: u64 = 15 * 1_000_000;
const LINES: &str = "problem messages";
const LAST: &str = "last";

fn read(host: &Host<'_>, reader: &mut Reader<'_>) {
    let Some(log) = reader.known(None, kernel_log(host.roots)) else { return };
    let now_us = uptime_us(host).unwrap_or_else(|| log.last().map_or(0, |line| line.since_boot_us));
    let recent: Vec<&LogLine> =
        log.iter().filter(|line| line.since_boot_us + WINDOW_US >= now_us).collect();
    let woken = wake_ups(&recent);
    let trouble: Vec<(&LogLine, String)> = recent
        .into_iter()
        .map(|line| (line, line.text.to_lowercase()))
        .filter(|(line, text)| is_trouble(text, woken.iter().any(|at| is_near(*at, line))))
        .collect();
    // The name of a loop device is reused for other files, whose errors are unrelated.
    for disk in host.disks().filter(|disk| disk.facts.loop_file.is_none()) {
        let names = names_of(disk);
        let about = |text: &str| names.iter().any(|name| has_word(text, name));
        let lines: Vec<&LogLine> =
            trouble.iter().filter(|(_, text)| about(text)).map(|(line, _)| *line).collect();
        let since = lines.first().and_then(|line| at(host, line.since_boot_us));
        let last = lines.last().map(|line| line.text.as_str());
        let fact = Fact::of(disk).number(LINES, lines.len() as f64, "").text(LAST, last);
        reader.add(fact.since(since));
    }
}

/// The times at which the machine woke up from sleep: USB devices are reset then.
fn wake_ups(lines: &[&LogLine]) -> Vec<u64> {
    let woke = |line: &&&LogLine| WAKES.iter().any(|words| line.text.contains(words));
    lines.iter().filter(woke).map(|line| line.since_boot_us).collect()
}

fn is_near(wake_us: u64, line: &LogLine) -> bool {
    line.since_boot_us.abs_diff(wake_us) <= WAKES_US
}

/// Whether a line in lower case reports a problem. NVMe drivers also print the shutdown timeout of
/// each healthy drive.
fn is_trouble(text: &str, waking: bool) -> bool {
    let reset = text.contains(RESETS) && text.contains("usb device");
    let trouble = TROUBLE.iter().any(|word| text.contains(word)) || reset && !waking;
    trouble && !text.contains("shutdown timeout set")
}

/// Time since boot, in microseconds.
fn uptime_us(host: &Host<'_>) -> Option<u64> {
    let seconds: f64 = host.proc("uptime")?.split_ascii_whitespace().next()?.parse().ok()?;
    Some((seconds * 1e6) as u64)
}

/// Converts a time since boot to a date.
fn at(host: &Host<'_>, since_boot_us: u64) -> Option<String> {
    let stat = host.proc("stat")?;
    let begun: i64 =
        stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()?;
    let seconds = begun.checked_add(i64::try_from(since_boot_us / 1_000_000).ok()?)?;
    jiff::Timestamp::from_second(seconds).ok().map(|time| time.to_string())
}

/// The names of a disk in the kernel log: the disk, its SCSI address, its ATA port and device, its
/// NVMe controller, its USB port.
fn names_of(disk: &HostDevice) -> Vec<String> {
    let mut found = vec![disk.name.clone()];
    for directory in &disk.above {
        let name = base_name(directory);
        let scsi = name.split(':').count() == 4 && !name.contains('.');
        let usb = directory.join("bDeviceClass").exists();
        if scsi || usb || is_numbered(directory, "ata") || is_numbered(directory, "nvme") {
            found.push(name.clone());
        }
        if is_numbered(directory, "ata") {
            found.push(format!("{name}.00"));
        }
        if usb {
            break;
        }
    }
    found
}

/// Whether a text contains a name as a word: `sda` is in `dev sda, sector 5` and `[sda]`, but not in `sdab`.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |character: Option<char>| character.is_some_and(|it| it.is_ascii_alphanumeric());
    text.match_indices(name).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        // `sd 0:0:0:0` is one name; `1-1` does not match `1-1.2`.
        let longer =
            after.strip_prefix(['.', '-']).is_some_and(|rest| is_part(rest.chars().next()));
        !is_part(before.chars().last()) && !is_part(after.chars().next()) && !longer
    })
}

/// `3 messages about problems`.
fn told(lines: f64) -> String {
    format!("{} about problems", counted(lines, "message"))
}

fn judge(view: &View<'_>) -> Option<Claim> {
    let fact = view.fact()?;
    let lines = fact.number(LINES).filter(|count| *count > 0.0)?;
    let rose = fact.rise(LINES).filter(|rise| *rise > 0.0);
    let since = fact.since.as_ref().map(|time| format!(" since {time}")).unwrap_or_default();
    let last = fact.text(LAST).map(|text| format!("; the last one: {text:?}")).unwrap_or_default();
    let says = format!("The kernel logged {} with this disk{since}{last}.", told(lines));
    let explains = [Effect::StandsStill, Effect::SlowReads, Effect::SlowWrites, Effect::CappedRate];
    let action = "Read these messages (`dmesg`, `journalctl -k`): resets and failed commands point \
                  to the cable, the slot, the power supply or the drive.";
    let claim = Claim::unusual(says, &explains, action).with(LINES, lines, "").by(lines);
    let claim = Claim { since: fact.since.clone(), ..claim };
    Some(if rose.is_some() { Claim { weight: 3.0, ..claim } } else { claim })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::rows::staging_tests::{cause_only_with_effect, disk, facts, nothing};
    use crate::causes::{Load, Machine};
    use testkit::Fake;

    const PATH: &str = "pci0000:00/0000:00:1f.2/ata1/host0/target0:0:0/0:0:0:0/block/sda";

    fn machine(log: &str) -> Fake {
        let fake = Fake::new();
        fake.block(PATH, "8:0", 1 << 20);
        fake.proc("uptime", "30000.00 50000.00\n");
        fake.proc("stat", "cpu  1 2 3 4\nbtime 1700000000\n");
        std::fs::write(fake.root().join("dev/kmsg"), log).unwrap();
        fake
    }

    #[test]
    fn failed_commands_of_the_last_hours_count_with_their_time_and_others_do_not() {
        let fake = machine(
            "3,1,100000000,-;ata1.00: failed command: READ FPDMA QUEUED\n\
             4,2,29000000000,-;ata1.00: exception Emask 0x0 SAct 0x1 SErr 0x0 action 0x6 frozen\n\
             3,3,29000100000,-;ata1.00: failed command: WRITE FPDMA QUEUED\n\
             6,4,29000200000,-;ata1: hard resetting link\n\
             3,5,29000300000,-;ata12: hard resetting link\n\
             3,6,29000400000,-;I/O error, dev sdab, sector 5 op 0x0:(READ)\n\
             6,7,29000500000,-;sd 0:0:0:0: [sda] Attached SCSI disk\n\
             6,8,29000600000,-;sda: Shutdown timeout set to 8 seconds\n",
        );
        let sda = disk("sda", |_| {});
        let read = facts("kernel_log", &fake, &sda);
        assert_eq!(read[0].number(LINES), Some(3.0));
        assert_eq!(read[0].since.as_deref(), Some("2023-11-15T06:16:40Z"));
        let now = Machine { facts: &read, disk: Some(&sda), ..Machine::default() };
        let says = cause_only_with_effect("kernel_log", now, Effect::StandsStill, Load::default());
        assert!(
            says.contains("3 messages about problems") && says.contains("hard resetting"),
            "{says}"
        );
        let quiet = facts("kernel_log", &machine("6,7,5,-;sd 0:0:0:0: [sda] Attached\n"), &sda);
        nothing("kernel_log", Machine { facts: &quiet, ..now }, Load::default());
    }

    #[test]
    fn a_reset_of_usb_is_trouble_unless_the_machine_wakes_up_meanwhile() {
        let line = |at_s: u64, text: &str| {
            let (since_boot_us, text) = (at_s * 1_000_000, text.to_owned());
            LogLine { since_boot_us, text }
        };
        let wake = line(100, "PM: suspend exit");
        let reset = "usb 1-1: reset high-speed USB device number 2 using xhci_hcd";
        let (waking, later) = (line(102, reset), line(300, reset));
        let woken = wake_ups(&[&wake, &waking, &later]);
        let counts =
            |line: &LogLine| is_trouble(&line.text.to_lowercase(), is_near(woken[0], line));
        assert!(woken == [100_000_000] && !counts(&waking) && counts(&later));
    }

    #[test]
    fn a_log_that_is_not_there_is_said_to_be_not_read() {
        let fake = Fake::new();
        fake.block(PATH, "8:0", 1 << 20);
        let round = crate::causes::reading::Round::Once;
        let found =
            crate::causes::rows::staging_tests::read_of(&fake, &[disk("sda", |_| {})], round);
        assert!(found.not_read.iter().any(|one| one.check == "kernel_log"), "{found:?}");
    }
}
