//! The forms that are read, and how their content tells them apart.
//!
//! Names of files say nothing: people save `out.txt`. So the content decides, by words that each
//! form must have near its beginning. Forms that hold too little are known as well, so that the
//! message can say what to record instead.

use crate::{ImportError, decode};

/// How much of a file is looked at.
const HEAD_BYTES: usize = 65_536;
/// How to record what is read.
const RECORD: &str = "record the disk with: iostat -o JSON -x -t 1";

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `iostat -o JSON`.
    Iostat,
    /// `sadf -j`.
    SadfJson,
    /// `sadf -d`.
    SadfLines,
    /// The text that node_exporter serves, once or several times.
    NodeExporter,
    /// Answers of a Prometheus server to range queries.
    Prometheus,
    /// Windows counters of PhysicalDisk and LogicalDisk as CSV: typeperf, relog, perfmon.
    Perfmon,
    /// An observation of this program.
    Observation,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Iostat,
        Self::SadfJson,
        Self::SadfLines,
        Self::NodeExporter,
        Self::Prometheus,
        Self::Perfmon,
        Self::Observation,
    ];

    /// The name, as a flag takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Iostat => "iostat",
            Self::SadfJson => "sadf-json",
            Self::SadfLines => "sadf-lines",
            Self::NodeExporter => "node-exporter",
            Self::Prometheus => "prometheus",
            Self::Perfmon => "windows",
            Self::Observation => "observation",
        }
    }
}

/// First bytes of files that are no text, what they are, and what to do.
const BINARY: [(&[u8], &str, &str); 8] = [
    (&[0x96, 0xd5], "the binary file of sadc", "convert it with: sadf -j FILE -- -d"),
    (&[0xd5, 0x96], "the binary file of sadc", "convert it with: sadf -j FILE -- -d"),
    (&[0x1f, 0x8b], "compressed", "unpack it with: gzip -d FILE"),
    (b"\xfd7zXZ", "compressed", "unpack it with: xz -d FILE"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed", "unpack it with: zstd -d FILE"),
    (b"BZh", "compressed", "unpack it with: bzip2 -d FILE"),
    (b"PK\x03\x04", "an archive", "unpack it with: unzip FILE"),
    (b"SQLite format 3", "a database", "name it with --db, and an observation in it by its id"),
];

/// Words that a text of a known relative has, what it is, and what to do.
const RELATIVES: [(&[&str], &str, &str); 11] = [
    (&["\"fio version\""], "a result of fio, which counts its own requests only", RECORD),
    (&["avg-cpu:"], "the table of iostat for people", RECORD),
    (&["Device", "%util"], "the table of iostat for people", RECORD),
    (&["Device", "tps"], "the table of iostat for people", RECORD),
    (
        &["# hostname;interval;timestamp"],
        "sadf without disks",
        "use: sadf -d FILE -- -d, or sadf -j FILE -- -d",
    ),
    (
        &["DEV", "tps"],
        "the table of sar for people",
        "use what sar keeps in /var/log/sysstat: sadf -j FILE -- -d",
    ),
    (&["PID", "kB_rd/s"], "the table of pidstat, which counts processes and no disks", RECORD),
    (&["procs", "swpd"], "the table of vmstat, which tells no latencies", RECORD),
    (&["Total DISK READ"], "the table of iotop, which counts processes and no disks", RECORD),
    (
        &["# HELP"],
        "a scrape without counters of disks",
        "scrape node_exporter with its diskstats collector",
    ),
    (
        &["# TYPE"],
        "a scrape without counters of disks",
        "scrape node_exporter with its diskstats collector",
    ),
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
    let head = decode::text(&bytes[..bytes.len().min(HEAD_BYTES)]);
    let has = |word: &str| head.contains(word);
    let json = head.trim_start().starts_with(['{', '[', ',']);
    if has("(PDH-CSV") || has("(PDH-TSV") {
        return Ok(Format::Perfmon);
    }
    for (word, format) in [
        ("halfpower/observation/", Format::Observation),
        ("\"disk_device\"", Format::Iostat),
        ("\"sysdata-version\"", Format::SadfJson),
        ("\"disk-device\"", Format::SadfJson),
        ("\"resultType\"", Format::Prometheus),
        ("\"errorType\"", Format::Prometheus),
        // A beginning without disks; a later report may have some.
        ("\"sysstat\"", Format::Iostat),
    ] {
        if json && has(word) {
            return Ok(format);
        }
    }
    if !json && has("node_disk_") {
        return Ok(Format::NodeExporter);
    }
    if !json && (has(";DEV;") || (has("# hostname;interval;timestamp") && has("DEV"))) {
        return Ok(Format::SadfLines);
    }
    if json && has("halfpower/") {
        return Err(ImportError::OwnDocument("it is no observation".to_owned()));
    }
    let known = |(words, _, _): &&(&[&str], &str, &str)| words.iter().all(|word| has(word));
    if let Some(&(_, what, instead)) = RELATIVES.iter().find(known) {
        return Err(ImportError::WrongForm { what, instead });
    }
    let why = match (json, head.trim().is_empty()) {
        (true, _) => "it is JSON without disks",
        (_, true) => "it is empty",
        _ => "it has none of their words",
    };
    Err(ImportError::UnknownForm(why))
}
