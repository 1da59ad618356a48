//! Detects the format of a file from its content.
//!
//! File names are not used: people save `out.txt`. The content decides, by words that each format must
//! have. The whole file is searched: a scrape of a machine with many processors has its disks after the
//! first 64 KiB, and a log of several tools may have iostat anywhere. Formats with too little data are
//! known too, so that the message can state what to record instead.

use crate::{ImportError, collectd, decode, diskstats, iostat_text, sadf_pairs, sar, telegraf};

/// How to record a disk.
const RECORD: &str = "record the disk with: iostat -o JSON -x -t 1";

/// How to print the disks that sar recorded.
const SAR: &str = "print its disks with: sar -d -f FILE, or record them with: sar -d 1 60";
/// How to convert the disks that sadc recorded.
const SADF: &str = "use: sadf -d FILE -- -d, or sadf -j FILE -- -d";

/// A supported format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `iostat -o JSON`.
    Iostat,
    /// The text tables of iostat.
    IostatText,
    /// `sadf -j`.
    SadfJson,
    /// `sadf -d`.
    SadfLines,
    /// `sadf -p`.
    SadfPairs,
    /// `sadf -x`.
    SadfXml,
    /// The text table of `sar -d`.
    Sar,
    /// Dumps of /proc/diskstats.
    Diskstats,
    /// The text that node_exporter serves, once or several times.
    NodeExporter,
    /// Responses of a Prometheus server to range queries.
    Prometheus,
    /// The CSV of telegraf's diskio plugin.
    Telegraf,
    /// The CSV of collectd's disk plugin, a file for each figure.
    Collectd,
    /// Windows counters of PhysicalDisk and LogicalDisk as CSV: typeperf, relog, perfmon.
    Perfmon,
    /// An observation of this program.
    Observation,
}

record::words! { Format:
    Iostat = "iostat",
    IostatText = "iostat-text",
    SadfJson = "sadf-json",
    SadfLines = "sadf-lines",
    SadfPairs = "sadf-pairs",
    SadfXml = "sadf-xml",
    Sar = "sar",
    Diskstats = "diskstats",
    NodeExporter = "node-exporter",
    Prometheus = "prometheus",
    Telegraf = "telegraf",
    Collectd = "collectd",
    Perfmon = "windows",
    Observation = "observation",
}

/// First bytes of binary files, with their format and what to do.
const BINARY: [(&[u8], &str, &str); 7] = [
    (&[0x96, 0xd5], "a binary sadc file", "convert it with: sadf -j FILE -- -d"),
    (&[0xd5, 0x96], "a binary sadc file", "convert it with: sadf -j FILE -- -d"),
    (&[0x1f, 0x8b], "compressed", "unpack it with: gzip -d FILE"),
    (b"\xfd7zXZ", "compressed", "unpack it with: xz -d FILE"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed", "unpack it with: zstd -d FILE"),
    (b"BZh", "compressed", "unpack it with: bzip2 -d FILE"),
    (b"PK\x03\x04", "an archive", "unpack it with: unzip FILE"),
];

/// How to save counters with PowerShell.
const POWERSHELL: &str = "use: Get-Counter ... | Export-Counter -Path FILE.csv -FileFormat CSV, or \
                          record with typeperf";

/// How to save counters during a benchmark.
const DISKSPD: &str =
    "record the disk while diskspd runs: typeperf \"\\PhysicalDisk(*)\\*\" -si 1 -o disks.csv";

/// Words of a related format, with its name and what to do.
const RELATIVES: [(&[&str], &str, &str); 21] = [
    (
        &["PerformanceCounterSample"],
        "output of Get-Counter and Export-Csv, which writes names of objects instead of values",
        POWERSHELL,
    ),
    (
        &["CookedValue", "Timestamp"],
        "output of Get-Counter with one counter per record",
        POWERSHELL,
    ),
    (&["Timestamp", "CounterSamples"], "the screen output of Get-Counter", POWERSHELL),
    (
        &["Command Line:", "Input parameters:"],
        "a result of diskspd, which describes its own load",
        DISKSPD,
    ),
    (&["<Results>", "<TimeSpan>"], "a result of diskspd, which describes its own load", DISKSPD),
    (&["avg-cpu:"], "an iostat log without disks", RECORD),
    (&["# hostname;interval;timestamp"], "sadf without disks", SADF),
    (&["PID", "kB_rd/s"], "output of pidstat, which reports processes, not disks", RECORD),
    (&["procs", "swpd"], "output of vmstat, which has no latencies", RECORD),
    (&["Total DISK READ"], "output of iotop, which reports processes, not disks", RECORD),
    (
        &["# HELP"],
        "a scrape without disk counters",
        "scrape node_exporter with its diskstats collector",
    ),
    (
        &["# TYPE"],
        "a scrape without disk counters",
        "scrape node_exporter with its diskstats collector",
    ),
    (
        &["avwait", "avserv"],
        "output of sar on AIX or Solaris, whose tables are not supported",
        "supported: sar -d of Linux",
    ),
    (&["LINUX-RESTART"], "sadf without disks", SADF),
    (&["<sysstat", "<statistics"], "sadf without disks", SADF),
    (&["\t%user\t"], "sadf without disks", SADF),
    (&["%idle"], "output of sar or mpstat without disks", SAR),
    (&["LINUX RESTART"], "output of sar without disks", SAR),
    (&["kbmemfree"], "output of sar without disks", SAR),
    (&["runq-sz", "ldavg-1"], "output of sar without disks", SAR),
    (&["IFACE", "rxkB/s"], "output of sar without disks", SAR),
];

/// Words in JSON, the format that has them, and whether the text must begin as JSON.
const JSON_WORDS: [(&str, Format, bool); 7] = [
    ("halfpower/observation/", Format::Observation, true),
    ("\"disk_device\"", Format::Iostat, false),
    ("\"sysdata-version\"", Format::SadfJson, false),
    ("\"disk-device\"", Format::SadfJson, false),
    ("\"resultType\"", Format::Prometheus, true),
    ("\"errorType\"", Format::Prometheus, true),
    // A beginning without disks; a later report may have some.
    ("\"sysstat\"", Format::Iostat, true),
];

/// Whether a line belongs to a format.
type LineTest = fn(&str) -> bool;

/// How much of a line is inspected. Headers name a few dozen columns.
const LINE_BYTES: usize = 64 << 10;

/// Lines that identify a format, most certain first.
const LINES: [(LineTest, Format); 6] = [
    (iostat_text::is_header, Format::IostatText),
    (sar::is_header, Format::Sar),
    (sadf_pairs::is_line, Format::SadfPairs),
    (diskstats::is_line, Format::Diskstats),
    (telegraf::is_header, Format::Telegraf),
    (collectd::is_header, Format::Collectd),
];

/// Detects the format of a file.
///
/// # Errors
/// If its content matches no format, or one with too little data.
pub fn detect(bytes: &[u8]) -> Result<Format, ImportError> {
    let magic = |(first, _, _): &&(&[u8], &str, &str)| bytes.starts_with(first);
    if let Some(&(_, what, instead)) = BINARY.iter().find(magic) {
        return Err(ImportError::WrongForm { what, instead });
    }
    detect_text(&decode::text(bytes))
}

/// Whether these first bytes are text, in any supported encoding. Only the control characters of ASCII occur
/// in no text: the bytes 0x80 to 0x9f are letters in some code pages.
#[must_use]
pub fn is_text(head: &[u8]) -> bool {
    let text = decode::text(head);
    let odd =
        |letter: char| letter.is_ascii_control() && !letter.is_whitespace() && letter != '\u{1b}';
    !text.is_empty() && !text.contains(odd)
}

/// Detects the format of a text.
pub(crate) fn detect_text(text: &str) -> Result<Format, ImportError> {
    let has = |word: &str| contains(text, word);
    let begin = text.trim_start();
    let json = begin.starts_with(['{', '[', ',']);
    let of_json = JSON_WORDS.iter().find(|(word, _, begins)| (json || !begins) && has(word));
    if let Some((_, format, _)) = of_json {
        return Ok(*format);
    }
    if !json && let Some(format) = of_lines(text) {
        return Ok(format);
    }
    if json && has("halfpower/") {
        return Err(ImportError::OwnDocument("it is not an observation".to_owned()));
    }
    let known = |(words, _, _): &&(&[&str], &str, &str)| words.iter().all(|word| has(word));
    if let Some(&(_, what, instead)) = RELATIVES.iter().find(known) {
        return Err(ImportError::WrongForm { what, instead });
    }
    let why = match (json, begin.is_empty()) {
        (true, _) => "it is JSON without disks",
        (_, true) => "it is empty",
        _ => "it contains no known keyword",
    };
    Err(ImportError::UnknownForm(why))
}

/// The format of a text that is not JSON.
fn of_lines(text: &str) -> Option<Format> {
    let has = |word: &str| contains(text, word);
    if has("(PDH-CSV") || has("(PDH-TSV") {
        return Some(Format::Perfmon);
    }
    if text.trim_start().starts_with('<') && has("<disk-device") {
        return Some(Format::SadfXml);
    }
    if has("node_disk_") {
        return Some(Format::NodeExporter);
    }
    if has(";DEV;") || (has("# hostname;interval;timestamp") && has("DEV")) {
        return Some(Format::SadfLines);
    }
    let of_line = |line: &str| {
        let begin = &line[..line.floor_char_boundary(LINE_BYTES)];
        LINES.iter().find(|(test, _)| test(begin)).map(|(_, format)| *format)
    };
    text.lines().find_map(of_line)
}

/// Whether a text contains a word. `str::contains` is several times slower, and fifteen words are searched
/// in files of up to hundreds of megabytes.
fn contains(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()
}
