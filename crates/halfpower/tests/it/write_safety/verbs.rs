//! Command lines that write to a target: loads, traces, fio's options, results.

use super::draw::pick;
use super::model::Kind;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};
use workload::Rng;

/// What a command line does to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Writes, with the flag that names the target.
    Write,
    /// Would write, but lacks that flag or gives another name.
    WriteWithoutLeave,
    /// Reads only.
    Read,
    /// Would write a result in place of the target.
    Result,
}

/// A target as a command line names it.
pub(super) struct Target<'a> {
    pub(super) path: &'a Path,
    pub(super) kind: Kind,
    /// For a device only.
    pub(super) stable_name: Option<String>,
}

/// Other files that the commands need.
#[derive(Clone)]
pub(super) struct Kit {
    pub(super) binary: PathBuf,
    /// Folder for job files, traces and the like.
    pub(super) folder: PathBuf,
    /// Home folder with the database of commands on stacks, which may grow.
    pub(super) home: PathBuf,
    /// An unused file.
    pub(super) free: PathBuf,
    /// A saved trial.
    pub(super) trial: PathBuf,
}

/// A command line to try.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) verb: &'static str,
    pub(super) class: Class,
    /// Whether it must work on a target that may be written.
    pub(super) must: bool,
    pub(super) words: Vec<String>,
    /// Whether it runs in its own process namespace, as in a container, where other processes are invisible.
    pub(super) contained: bool,
    /// Shell commands that were run to prepare it.
    pub(super) prepared: Vec<String>,
}

/// A load of sixteen requests.
const SMALL: &str = "--size 64k --io-size 64k --runtime 300ms";
/// Share of the command lines that run as in a container.
const CONTAINED: f64 = 0.1;
const JOB: &str = "[global]\nbs=4k\nsize=64k\n";

type Build = fn(&Kit, &Target<'_>, &mut Rng) -> Line;

/// The words of a command. `{T}` is the target, `{L}` the permission flag, `{F}` the unused file and `{LF}`
/// its permission flag.
struct Line {
    text: String,
    files: Vec<(&'static str, String)>,
}

fn line(text: impl Into<String>) -> Line {
    Line { text: text.into(), files: Vec::new() }
}

fn clients(kit: &Kit, hosts: &str) -> Line {
    let binary = kit.binary.display();
    line(format!(
        "run {{T}} --hosts {hosts} --launch \"{binary} agent\" --rw randwrite {SMALL} {{L}}"
    ))
}

/// Verb, class, whether it must work where writing is allowed, weight, and its words.
type Verb = (&'static str, Class, bool, u64, Build);

const VERBS: &[Verb] = &[
    ("run", Class::Write, true, 12, |_, _, rng| {
        let rw = pick(rng, &["randwrite", "write", "rw", "randrw"]);
        let more = pick(rng, &["", "", "--no-save", "--fsync 4", "--offset 64k", "--numjobs 2"]);
        line(format!("run {{T}} --rw {rw} {SMALL} {more} {{L}}"))
    }),
    ("run, another engine", Class::Write, false, 8, |_, _, rng| {
        let engine = pick(rng, &["sync", "libaio", "threads", "mmap", "io_uring"]);
        let cache = pick(rng, &["all", "fs", "device", "none"]);
        let cache = if engine == "mmap" { "all" } else { cache };
        line(format!("run {{T}} --rw randwrite --ioengine {engine} --cache {cache} {SMALL} {{L}}"))
    }),
    ("run, trims", Class::Write, false, 5, |_, _, rng| {
        let rw = pick(rng, &["trim", "randtrim"]);
        line(format!("run {{T}} --rw {rw} {SMALL} {{L}}"))
    }),
    ("run --verify", Class::Write, true, 3, |_, _, _| {
        line(format!("run {{T}} --rw randwrite --verify {SMALL} {{L}}"))
    }),
    ("run --precondition", Class::Write, false, 1, |_, _, _| {
        line(format!("run {{T}} --rw randwrite --precondition {SMALL} {{L}}"))
    }),
    ("run --precondition of reads", Class::Write, false, 1, |_, _, _| {
        line(format!("run {{T}} --rw randread --precondition {SMALL} {{L}}"))
    }),
    ("run --beside", Class::Write, true, 4, |_, _, _| {
        let job = "{T} --rw randwrite --size 64k --io-size 64k";
        line(format!("run {{F}} --rw randread {SMALL} --beside \"{job}\" {{L}}"))
    }),
    ("run --beside of the same target", Class::Write, true, 3, |_, _, _| {
        let job = "--rw randwrite --io-size 64k";
        line(format!("run {{T}} --rw randread {SMALL} --beside \"{job}\" {{L}}"))
    }),
    ("run of two targets", Class::Write, true, 3, |_, _, _| {
        line(format!("run {{F}} {{T}} --rw randwrite {SMALL} {{L}} {{LF}}"))
    }),
    ("run --raid", Class::Write, true, 6, |_, _, rng| {
        let legs = pick(rng, &["{T} {F}", "{F} {T}"]);
        let level = pick(rng, &["0", "1"]);
        line(format!("run {legs} --raid {level} --rw randwrite {SMALL} {{L}} {{LF}}"))
    }),
    ("run --rebuild", Class::Write, false, 2, |_, _, _| {
        let array = "--raid 1 --failed 0 --rebuild max --rw randread";
        line(format!("run {{T}} {{F}} {array} {SMALL} {{L}} {{LF}}"))
    }),
    ("run --replay", Class::Write, true, 5, |kit, _, _| {
        let trace =
            "fio version 2 iolog\nx add\nx open\nx write 0 4096\nx write 8192 4096\nx close\n";
        let path = kit.folder.join("writes.io");
        Line {
            text: format!("run {{T}} --replay {} --replay-speed max {{L}}", path.display()),
            files: vec![("writes.io", trace.to_owned())],
        }
    }),
    ("run --replay of trims", Class::Write, false, 1, |kit, _, _| {
        let trace = "fio version 2 iolog\nx add\nx open\nx trim 0 65536\nx read 0 4096\nx close\n";
        let path = kit.folder.join("trims.io");
        Line {
            text: format!("run {{T}} --replay {} {{L}}", path.display()),
            files: vec![("trims.io", trace.to_owned())],
        }
    }),
    ("fio's words", Class::Write, true, 5, |_, _, rng| {
        let engine = pick(rng, &["psync", "libaio", "io_uring"]);
        let rw = pick(rng, &["write", "randwrite", "randrw"]);
        line(format!(
            "run --name=a --filename={{T}} --rw={rw} --bs=4k --size=64k --ioengine={engine} {{L}}"
        ))
    }),
    ("fio's job file", Class::Write, true, 5, |kit, target, rng| {
        let path = target.path.display();
        let free = kit.free.display();
        let (text, leave) = match rng.below(4) {
            0 => (format!("{JOB}[a]\nrw=randwrite\nfilename={path}\n"), ""),
            1 => (format!("{JOB}[a]\nrw=randwrite\nfilename={free}:{path}\n"), "{LF}"),
            2 => (
                format!(
                    "{JOB}[a]\nrw=randread\nfilename={free}\n[b]\nstonewall\nrw=write\nfilename={path}\n"
                ),
                "",
            ),
            _ => (format!("{JOB}filename={path}\nrw=randwrite\n[a]\n"), ""),
        };
        let job = kit.folder.join("job.fio");
        Line {
            text: format!("run {} {{L}} {leave}", job.display()),
            files: vec![("job.fio", text)],
        }
    }),
    ("sweep", Class::Write, true, 2, |_, _, _| {
        line("sweep riedel {T} --set rw=write --set bs=4k --size 64k --runtime 20ms --blocks 1 {L}")
    }),
    ("run --hosts", Class::Write, true, 3, |kit, target, rng| {
        // The kernel gives a device to one process only, so a second client on the same machine is refused.
        let most = if target.kind == Kind::Device { 1 } else { 2 };
        clients(kit, pick(rng, &["x", "x,y"][..most]))
    }),
    ("run --hosts of two", Class::Write, false, 1, |kit, _, _| clients(kit, "x,y")),
    ("run --cost-fit", Class::Write, false, 1, |_, _, _| {
        line("run {T} --rw write --cost-fit --size 64k --io-size 64k --runtime 20ms {L}")
    }),
    ("run without leave", Class::WriteWithoutLeave, false, 4, |_, _, rng| {
        let wrong =
            pick(rng, &["", "", "--destroy-data-on loop7777", "--destroy-data-on /dev/null"]);
        line(format!("run {{T}} --rw randwrite {SMALL} {wrong}"))
    }),
    ("run with the leave of another", Class::WriteWithoutLeave, false, 2, |_, target, _| {
        let leave =
            if target.kind == Kind::File { "--destroy-data-on loop0" } else { "--overwrite" };
        line(format!("run {{F}} {{T}} --rw randwrite {SMALL} {leave}"))
    }),
    ("fio's words without leave", Class::WriteWithoutLeave, false, 2, |_, _, _| {
        line("run --name=a --filename={T} --rw=randwrite --bs=4k --size=64k")
    }),
    ("sweep without leave", Class::WriteWithoutLeave, false, 1, |_, _, _| {
        line("sweep riedel {T} --set rw=write --set bs=4k --size 64k --runtime 20ms --blocks 1")
    }),
    ("run that reads", Class::Read, true, 6, |_, _, rng| {
        let rw = pick(rng, &["randread", "read"]);
        let engine = pick(rng, &["io_uring", "sync", "libaio", "threads"]);
        line(format!("run {{T}} --rw {rw} --ioengine {engine} {SMALL}"))
    }),
    ("run --raid that reads", Class::Read, false, 2, |_, _, rng| {
        let level = pick(rng, &["0", "1"]);
        line(format!("run {{T}} {{F}} --raid {level} --rw randread {SMALL}"))
    }),
    ("sweep that reads", Class::Read, true, 1, |_, _, _| {
        line("sweep riedel {T} --set rw=read --set bs=4k --size 64k --runtime 20ms --blocks 1")
    }),
    ("zones", Class::Read, false, 1, |_, _, _| line("zones {T} --no-save")),
    ("result: --output", Class::Result, false, 4, |_, _, _| {
        line("run sim:mm1 --io-size 64k --no-save --output {T}")
    }),
    ("result: --csv", Class::Result, false, 3, |_, _, _| {
        line("run sim:mm1 --runtime 1s --interval 500ms --no-save --csv {T}")
    }),
    ("result: --sqlio-csv", Class::Result, false, 3, |_, _, _| {
        line("run sim:mm1 --io-size 64k --no-save --sqlio-csv {T}")
    }),
    ("result: --db", Class::Result, false, 3, |_, _, _| line("run sim:mm1 --io-size 64k --db {T}")),
    ("result: fio's --output", Class::Result, false, 2, |kit, _, _| {
        let free = kit.free.display();
        line(format!(
            "run --name=a --filename={free} --rw=randread --bs=4k --size=64k --output-format=json \
             --output={{T}}"
        ))
    }),
    ("result: report -o", Class::Result, false, 3, |kit, _, _| {
        line(format!("report {} -o {{T}}", kit.trial.display()))
    }),
    ("result: report --csv", Class::Result, false, 2, |kit, _, _| {
        line(format!("report {} --csv {{T}}", kit.trial.display()))
    }),
    ("result: report --sqlio-csv", Class::Result, false, 2, |kit, _, _| {
        line(format!("report {} --sqlio-csv {{T}}", kit.trial.display()))
    }),
    ("result: export --csv", Class::Result, false, 2, |kit, _, _| {
        let tables = kit.folder.join("tables");
        line(format!("export {} --csv {}", kit.trial.display(), tables.display()))
    }),
    ("result: record -o", Class::Result, false, 1, |_, _, _| {
        line("record --for 100ms --interval 50ms --trace=no --no-processes --no-save -o {T}")
    }),
];

/// Draws a command line for the target.
pub(super) fn draw(kit: &Kit, target: &Target<'_>, rng: &mut Rng) -> Result<Attempt> {
    let all: u64 = VERBS.iter().map(|(.., weight, _)| weight).sum();
    let mut at = rng.below(all);
    let mut verbs = VERBS.iter();
    let (verb, class, must, _, build) = loop {
        let entry = verbs.next().context("the weights add up")?;
        if at < entry.3 {
            break entry;
        }
        at -= entry.3;
    };
    let mut drawn = attempt(kit, target, verb, *class, *must, &build(kit, target, rng))?;
    // A process id from outside is meaningless inside the namespace.
    drawn.contained = rng.unit() < CONTAINED && !target.path.starts_with("/proc");
    Ok(drawn)
}

/// The plain load, which every test of the judge uses.
pub(super) fn plain(kit: &Kit, target: &Target<'_>) -> Result<Attempt> {
    let load = line(format!("run {{T}} --rw randwrite {SMALL} {{L}}"));
    attempt(kit, target, "run", Class::Write, true, &load)
}

fn attempt(
    kit: &Kit,
    target: &Target<'_>,
    verb: &'static str,
    class: Class,
    must: bool,
    line: &Line,
) -> Result<Attempt> {
    let mut prepared = Vec::new();
    for (name, text) in &line.files {
        let path = kit.folder.join(name);
        fs::write(&path, text)?;
        prepared.push(format!("cat > {} <<'END'\n{text}END", path.display()));
    }
    if verb.contains("export") {
        let tables = kit.folder.join("tables");
        let link = tables.join("trials.csv");
        fs::create_dir_all(&tables)?;
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink(target.path, &link)?;
        prepared.push(format!("ln -s {} {}", target.path.display(), link.display()));
    }
    let leave = match &target.stable_name {
        Some(name) => format!("--destroy-data-on {name}"),
        None => "--overwrite".to_owned(),
    };
    // If the target is a file, the flag is given already.
    let of_free = if target.kind == Kind::File { "" } else { "--overwrite" };
    let text = line
        .text
        .replace("{LF}", of_free)
        .replace("{L}", &leave)
        .replace("{T}", &target.path.display().to_string())
        .replace("{F}", &kit.free.display().to_string());
    Ok(Attempt { verb, class, must, words: words(&text), contained: false, prepared })
}

/// Splits a line into words; double quotes group words.
pub(super) fn words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in text.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
