//! Converts engine, depth, caches, and the CPU and priority settings of a job's threads.

use crate::fio::area::file_names;
use crate::fio::parts::{FileNames, Words};
use crate::fio::settings::Settings;
use crate::fio::values::number;

/// fio's engines with the matching engine here, and a note if they differ.
const ENGINES: &[(&str, &str, Option<&str>)] = &[
    ("io_uring", "io_uring", None),
    ("libaio", "libaio", None),
    ("sync", "sync", None),
    ("psync", "sync", None),
    ("vsync", "sync", Some("adjacent requests are not merged")),
    ("pvsync", "sync", None),
    ("pvsync2", "sync", None),
    ("posixaio", "threads", None),
    ("windowsaio", "iocp", None),
    ("mmap", "mmap", None),
    ("null", "null", None),
];
/// Stands for an engine that halfpower does not have.
const NO_ENGINE: (&str, &str, Option<&str>) = ("", "", None);

/// Sets the engine, the depth and the caches. Returns halfpower's name of the engine.
pub(crate) fn caches(settings: &Settings<'_>, out: &mut Words) -> &'static str {
    let name = settings.text("ioengine").unwrap_or("psync");
    let known = ENGINES.iter().find(|(known, ..)| *known == name);
    // The other options are read all the same, so that all of their errors are found.
    let (_, engine, other) = known.unwrap_or_else(|| {
        let names: Vec<&str> = ENGINES.iter().map(|(name, ..)| *name).collect();
        let why = format!("halfpower does not have this engine; use one of {}", names.join(", "));
        settings.refuse("ioengine", &why);
        settings.without_engine();
        &NO_ENGINE
    });
    // If the interface has no trims, fio issues them one by one, as they are submitted.
    let trims = settings.text("rw").is_some_and(|rw| rw.ends_with("trim"));
    let engine = if trims && matches!(*engine, "libaio" | "mmap") {
        out.note(format!("ioengine: {name} issues trims one at a time, as in fio"));
        &"sync"
    } else {
        engine
    };
    out.flag("ioengine", &engine);
    if let Some(other) = other {
        out.note(format!("ioengine: {engine} instead of {name}: {other}"));
    }
    depth(settings, out, (name, engine));
    let (direct, buffered) = (settings.switch("direct"), settings.switch("buffered"));
    let mut direct = match settings.last_of(&["direct", "buffered"]) {
        Some("buffered") => buffered == Some(false),
        _ => direct == Some(true),
    };
    if direct && *engine == "mmap" {
        out.note("direct: has no effect, because mmap uses the page cache");
        direct = false;
    }
    let durable = match settings.text("sync") {
        None | Some("0" | "none") => false,
        Some("1" | "sync") => {
            out.note(
                "sync: O_DSYNC instead of O_SYNC, which would also write the file's \
                      timestamps",
            );
            true
        }
        Some("dsync") => true,
        Some(_) => {
            settings.refuse("sync", "use none, sync or dsync");
            false
        }
    };
    out.flag(
        "cache",
        &match (direct, durable) {
            (true, false) => "device",
            (true, true) => "none",
            (false, true) => "fs",
            (false, false) => "all",
        },
    );
    emptied(settings, out, !direct && *engine != "null");
    let huge = settings.value("mem", |kind| match kind.split(':').next().unwrap_or(kind) {
        "malloc" | "mmap" | "shm" | "mmapshared" => Ok(false),
        "mmaphuge" | "shmhuge" => Ok(true),
        _ => Err("this kind of memory is not supported; use malloc or mmaphuge".to_owned()),
    });
    if huge == Some(true) {
        out.switch("huge-pages");
    }
    for (option, flag) in [("hipri", "hipri"), ("sqthread_poll", "sqthread-poll")] {
        if settings.on(option) && settings.has_engine() {
            match *engine {
                "io_uring" => out.switch(flag),
                _ if (name, option) == ("pvsync2", "hipri") => settings.refuse(
                    option,
                    "polling for completions requires io_uring; use ioengine=io_uring with \
                     iodepth=1, or omit hipri",
                ),
                _ => settings.refuse(
                    option,
                    &format!(
                        "fio's {name} engine does not have this option; use ioengine=io_uring, or \
                         omit it"
                    ),
                ),
            }
        }
    }
    engine
}

fn depth(settings: &Settings<'_>, out: &mut Words, (name, engine): (&str, &str)) {
    let mut depth = settings.number("iodepth").unwrap_or(1).max(1);
    if matches!(engine, "sync" | "mmap") && depth > 1 {
        out.note(format!("iodepth: {name} has one request in flight, as in fio"));
        depth = 1;
    }
    let named = settings.text("filename").map_or(0, |names| file_names(names).len() as u64);
    let files = named.max(settings.number("nrfiles").unwrap_or(1));
    if name == "posixaio" && depth > files {
        out.note(
            "iodepth: the C library runs one request per file at a time; in fio, further requests \
             wait in the library's queue, and their latency includes this wait",
        );
        depth = files.max(1);
    }
    if depth > 1 && settings.has("thinktime") {
        out.note(
            "iodepth: one request in flight, because a pause waits for all requests in flight, as \
             in fio",
        );
        depth = 1;
    }
    out.flag("iodepth", &depth);
}

/// fio drops its file's page cache before the job. A command that drops the whole page cache goes further.
fn emptied(settings: &Settings<'_>, out: &mut Words, buffered: bool) {
    if let Some(command) = settings.text("exec_prerun") {
        if command.contains("drop_caches") {
            out.flag("drop-cache", &"drop-caches");
            out.note(
                "exec_prerun: halfpower empties the page cache itself, which needs root; the \
                      command is not run",
            );
            settings.get("invalidate");
            return;
        }
        settings.refuse("exec_prerun", "run the command before halfpower");
    }
    if settings.switch("invalidate").unwrap_or(true) && buffered {
        out.flag("drop-cache", &"dontneed");
        if settings.on("time_based") {
            out.note(
                "invalidate: the page cache is emptied only before the run; fio empties it again \
                 before each further pass over the file. If the run makes more than one pass, its \
                 rate is not comparable with fio's",
            );
        }
    }
}

pub(crate) fn processors(
    settings: &Settings<'_>,
    out: &mut Words,
    known: &dyn FileNames,
    jobs: u64,
) {
    let list = settings.text("cpus_allowed").map(str::to_owned);
    let mask = settings.value("cpumask", |text| {
        let mask = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).map_err(|error| error.to_string())?,
            None => number(text)?,
        };
        let bits = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1);
        Ok(bits.map(|bit| bit.to_string()).collect::<Vec<_>>().join(","))
    });
    let nodes = settings.value("numa_cpu_nodes", |text| match text {
        "all" => Ok(None),
        nodes => known.processors_of_nodes(nodes).map(Some),
    });
    // fio also accepts a colon between two numbers, with the same meaning.
    let Some(list) = list.or(mask).or(nodes.flatten()) else { return };
    out.flag("processors", &list.replace([':', ' '], ","));
    let split = settings.text("cpus_allowed_policy") == Some("split");
    if split && jobs > 1 {
        out.note(
            "cpus_allowed_policy: the threads share the CPUs; fio gives each thread a separate CPU",
        );
    }
}

pub(crate) fn priority(settings: &Settings<'_>, out: &mut Words) {
    let level = settings.number("prio");
    let class = settings.number("prioclass");
    let name = match class {
        None | Some(0 | 2) => "be",
        Some(1) => "rt",
        Some(3) => "idle",
        Some(_) => return settings.refuse("prioclass", "use 1, 2 or 3"),
    };
    match (name, level) {
        (_, None) if class.is_none() => {}
        ("idle", _) => out.flag("io-priority", &"idle"),
        (_, Some(level)) if level > 7 => settings.refuse("prio", "use 0 to 7"),
        (name, level) => out.flag("io-priority", &format!("{name}/{}", level.unwrap_or(0))),
    }
}
