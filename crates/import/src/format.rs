//! The forms that are read, and how their content tells them apart.
//!
//! Names of files say nothing: people save `out.txt`. So the content decides, by words that each
//! form must have. The whole file is looked at: a scrape of a machine with many processors has its disks behind
//! the first 64 KiB, and a log of several tools has iostat wherever it was started. Forms that hold
//! too little are known as well, so that the message can say what to record instead.

use crate::{ImportError, collectd, decode, diskstats, iostat_text, sadf_pairs, sar, telegraf};

/// How to record what is read.
const RECORD: &str = "record the disk with: iostat -o JSON -x -t 1";

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `iostat -o JSON`.
    Iostat,
    /// The tables of iostat for people.
    IostatText,
    /// `sadf -j`.
    SadfJson,
    /// `sadf -d`.
    SadfLines,
    /// `sadf -p`.
    SadfPairs,
    /// `sadf -x`.
    SadfXml,
    /// The table of `sar -d` for people.
    Sar,
    /// Dumps of /proc/diskstats.
    Diskstats,
    /// The text that node_exporter serves, once or several times.
    NodeExporter,
    /// Answers of a Prometheus server to range queries.
    Prometheus,
    /// telegraf's CSV of its plugin diskio.
    Telegraf,
    /// collectd's CSV of its plugin disk, a file for each figure.
    Collectd,
    /// Windows counters of PhysicalDisk and LogicalDisk as CSV: typeperf, relog, perfmon.
    Perfmon,
    /// An observation of this program.
    Observation,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Iostat,
        Self::IostatText,
        Self::SadfJson,
        Self::SadfLines,
        Self::SadfPairs,
        Self::SadfXml,
        Self::Sar,
        Self::Diskstats,
        Self::NodeExporter,
        Self::Prometheus,
        Self::Telegraf,
        Self::Collectd,
        Self::Perfmon,
        Self::Observation,
    ];

    /// The name, as a flag takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Iostat => "iostat",
            Self::IostatText => "iostat-text",
            Self::SadfJson => "sadf-json",
            Self::SadfLines => "sadf-lines",
            Self::SadfPairs => "sadf-pairs",
            Self::SadfXml => "sadf-xml",
            Self::Sar => "sar",
            Self::Diskstats => "diskstats",
            Self::NodeExporter => "node-exporter",
            Self::Prometheus => "prometheus",
            Self::Telegraf => "telegraf",
            Self::Collectd => "collectd",
            Self::Perfmon => "windows",
            Self::Observation => "observation",
        }
    }
}

/// First bytes of files that are no text, what they are, and what to do.
const BINARY: [(&[u8], &str, &str); 7] = [
    (&[0x96, 0xd5], "a binary sadc file", "convert it with: sadf -j FILE -- -d"),
    (&[0xd5, 0x96], "a binary sadc file", "convert it with: sadf -j FILE -- -d"),
    (&[0x1f, 0x8b], "compressed", "unpack it with: gzip -d FILE"),
    (b"\xfd7zXZ", "compressed", "unpack it with: xz -d FILE"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed", "unpack it with: zstd -d FILE"),
    (b"BZh", "compressed", "unpack it with: bzip2 -d FILE"),
    (b"PK\x03\x04", "an archive", "unpack it with: unzip FILE"),
];

/// Words that a text of a known relative has, what it is, and what to do.
const RELATIVES: [(&[&str], &str, &str); 7] = [
    (&["avg-cpu:"], "an iostat log without disks", RECORD),
    (
        &["# hostname;interval;timestamp"],
        "sadf without disks",
        "use: sadf -d FILE -- -d, or sadf -j FILE -- -d",
    ),
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
];

/// Words of JSON, the form that has them, and whether the text must begin as JSON.
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

/// Whether a line belongs to a form.
type LineTest = fn(&str) -> bool;

/// How much of a line is looked at. Headers name a few dozen columns.
const LINE_BYTES: usize = 64 << 10;

/// What a line says of the whole, in order of how surely.
const LINES: [(LineTest, Format); 6] = [
    (iostat_text::is_header, Format::IostatText),
    (sar::is_header, Format::Sar),
    (sadf_pairs::is_line, Format::SadfPairs),
    (diskstats::is_line, Format::Diskstats),
    (telegraf::is_header, Format::Telegraf),
    (collectd::is_header, Format::Collectd),
];

/// What a file is.
///
/// # Errors
/// If its content fits no form, or one that holds too little.
pub fn detect(bytes: &[u8]) -> Result<Format, ImportError> {
    let magic = |(first, _, _): &&(&[u8], &str, &str)| bytes.starts_with(first);
    if let Some(&(_, what, instead)) = BINARY.iter().find(magic) {
        return Err(ImportError::WrongForm { what, instead });
    }
    detect_text(&decode::text(bytes))
}

/// Whether these first bytes are of a text, in any encoding that is read.
#[must_use]
pub fn is_text(head: &[u8]) -> bool {
    let text = decode::text(head);
    let odd = |letter: char| letter.is_control() && !letter.is_whitespace() && letter != '\u{1b}';
    !text.is_empty() && !text.contains(odd)
}

/// What a text is.
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

/// The form of a text that is no JSON.
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

/// Whether a text has a word. Not `str::contains`, which takes several times as long: fifteen words are
/// looked for in the whole of what may be hundreds of megabytes.
fn contains(text: &str, word: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), word.as_bytes()).is_some()
}
