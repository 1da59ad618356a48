//! A job of fio as a run.

use crate::notes::{harmless, refusal};
use crate::values::{
    MICROSECOND_NS, SECOND_NS, has_binary_prefix, number, size, size_word, switch, time, time_word,
};
use crate::{FioError, Section, Setting};
use std::cell::RefCell;

/// What a file name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// Nothing is there.
    Missing,
    /// A folder.
    Folder,
    /// A file or device.
    File,
}

/// A run in the words of `halfpower run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The job's name.
    pub name: String,
    /// Targets and flags.
    pub words: Vec<String>,
    /// What is done otherwise than in fio, or anyway.
    pub notes: Vec<String>,
    /// Whether it writes.
    pub writes: bool,
    /// Whether it waits for the jobs before it to end.
    pub waits: bool,
    /// How much later than the jobs at the same time it begins.
    pub delay_ns: u64,
}

/// fio's engines for which another name stands here, and why that is the same where it is not.
const ENGINES: &[(&str, &str, Option<&str>)] = &[
    ("io_uring", "io_uring", None),
    ("libaio", "libaio", None),
    ("sync", "sync", None),
    ("psync", "sync", None),
    ("vsync", "sync", Some("adjacent requests are not joined")),
    ("pvsync", "sync", Some("each request has one buffer either way")),
    ("pvsync2", "sync", Some("each request has one buffer either way")),
    ("posixaio", "threads", Some("a pool of threads, as the C library has one")),
    ("windowsaio", "iocp", None),
    ("mmap", "mmap", None),
    ("null", "null", None),
];
/// A run without an end by time: the longest that there is.
const NO_END: &str = "8760h";

/// Settings by their first name, of which none may be left over.
struct Settings<'a> {
    section: &'a Section,
    /// Which were asked for, by their place in the section.
    taken: RefCell<Vec<bool>>,
}

/// The first name of an option that has several.
fn canonical(name: &str) -> &str {
    match name {
        "blocksize" => "bs",
        "readwrite" => "rw",
        "io_limit" => "io_size",
        "timeout" => "runtime",
        "wait_for_previous" => "stonewall",
        "ba" => "blockalign",
        "iomem" => "mem",
        _ => name,
    }
}

impl<'a> Settings<'a> {
    fn new(section: &'a Section) -> Self {
        Self { section, taken: RefCell::new(vec![false; section.settings.len()]) }
    }

    /// The setting that counts.
    fn get(&self, name: &str) -> Option<&'a Setting> {
        let mut found = None;
        for (at, setting) in self.section.settings.iter().enumerate() {
            if canonical(&setting.name) == name {
                self.taken.borrow_mut()[at] = true;
                found = Some(setting);
            }
        }
        found
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(Option<&str>) -> Result<T, String>,
    ) -> Result<Option<T>, FioError> {
        let Some(setting) = self.get(name) else { return Ok(None) };
        read(setting.value.as_deref()).map(Some).map_err(|why| error(setting, &why))
    }

    /// One that has to have a value.
    fn text(&self, name: &str) -> Result<Option<&'a str>, FioError> {
        let Some(setting) = self.get(name) else { return Ok(None) };
        let value = setting.value.as_deref().filter(|value| !value.is_empty());
        value.map(Some).ok_or_else(|| error(setting, "a value is missing"))
    }

    fn value<T>(
        &self,
        name: &str,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, FioError> {
        self.read(name, |value| {
            read(value.filter(|text| !text.is_empty()).ok_or("a value is missing")?)
        })
    }

    fn on(&self, name: &str) -> Result<Option<bool>, FioError> {
        self.read(name, switch)
    }

    fn refuse(&self, name: &str, why: &str) -> FioError {
        self.get(name)
            .map_or_else(|| FioError::new(&self.section.place, why), |setting| error(setting, why))
    }

    /// Notes on what became no flag.
    ///
    /// # Errors
    /// The first option that is not honoured.
    fn rest(&self) -> Result<Vec<String>, FioError> {
        let mut notes = Vec::new();
        for (setting, taken) in self.section.settings.iter().zip(self.taken.borrow().iter()) {
            if *taken {
                continue;
            }
            match harmless(&setting.name) {
                Some(note) => notes.extend(note.map(|note| format!("{}: {note}", setting.name))),
                None => return Err(error(setting, refusal(&setting.name))),
            }
        }
        Ok(notes)
    }
}

fn error(setting: &Setting, why: &str) -> FioError {
    let value = setting.value.as_deref().map(|value| format!("={value}")).unwrap_or_default();
    FioError::new(&setting.place, format!("{}{value}: {why}", setting.name))
}

/// Words and notes as they come together.
#[derive(Default)]
struct Words {
    words: Vec<String>,
    notes: Vec<String>,
}

impl Words {
    fn flag(&mut self, flag: &str, value: &impl ToString) {
        self.words.extend([format!("--{flag}"), value.to_string()]);
    }

    fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// The run that a job asks for. `kind_of` says what is there by the name of a file.
///
/// # Errors
/// The first option that is not understood or not honoured, with its place.
pub fn run_of(section: &Section, kind_of: &dyn Fn(&str) -> FileKind) -> Result<Run, FioError> {
    let settings = Settings::new(section);
    let mut out = Words::default();
    let kb_base = settings.value("kb_base", number)?.unwrap_or(1024);
    if kb_base != 1024 && kb_base != 1000 {
        return Err(settings.refuse("kb_base", "use 1000 or 1024"));
    }
    let bytes = |text: &str| size(text, kb_base);
    if let Some(setting) = section.settings.iter().find(|one| ambiguous(one)) {
        let (name, value) = (&setting.name, setting.value.as_deref().unwrap_or_default());
        let by = if kb_base == 1024 { "1,000" } else { "1,024" };
        out.note(format!("{name}: in fio a Ki is {by} with kb_base={kb_base}, so also in {value}"));
    }
    let jobs = settings.value("numjobs", number)?.unwrap_or(1).max(1);
    let writes = if let Some(log) = settings.text("read_iolog")? {
        recorded(&settings, &mut out, log)?;
        caches(&settings, &mut out)?;
        data(&settings, &mut out, true)?;
        // What is in it is known when it is read.
        true
    } else {
        let (sequential, writes) = load(&settings, &mut out, &bytes)?;
        place(&settings, &mut out, kind_of, &Area { jobs, sequential, bytes: &bytes })?;
        caches(&settings, &mut out)?;
        arrivals(&settings, &mut out, jobs, &bytes)?;
        data(&settings, &mut out, writes)?;
        writes
    };
    if jobs > 1 {
        out.flag("numjobs", &jobs);
    }
    let waits = settings.on("stonewall")?.unwrap_or(false);
    let delay_ns = settings.value("startdelay", |text| time(text, SECOND_NS))?.unwrap_or(0);
    priority(&settings, &mut out)?;
    let mut notes = out.notes;
    notes.extend(settings.rest()?);
    Ok(Run { name: section.name.clone(), words: out.words, notes, writes, waits, delay_ns })
}

/// The requests of a recording, in place of drawn ones.
fn recorded(settings: &Settings<'_>, out: &mut Words, log: &str) -> Result<(), FioError> {
    let redirect = settings.text("replay_redirect")?;
    let names = settings.text("filename")?.map(file_names).unwrap_or_default();
    let targets = redirect.map_or(names, |target| vec![target.to_owned()]);
    if targets.is_empty() {
        let why = "name the target with replay_redirect or filename; the names in the log are of the \
                   machine that it is from";
        return Err(settings.refuse("read_iolog", why));
    }
    out.words.splice(0..0, targets);
    out.flag("replay", &log);
    // Percents of the recorded rate: 200 is twice as fast.
    let scale = settings.value("replay_time_scale", number)?.unwrap_or(100);
    if settings.on("replay_no_stall")?.unwrap_or(false) {
        out.flag("replay-speed", &"max");
    } else if scale == 0 {
        return Err(settings.refuse("replay_time_scale", "use 1 or more"));
    } else if scale != 100 {
        out.flag("replay-speed", &(scale as f64 / 1e2));
    }
    let seconds = |text: &str| time(text, SECOND_NS);
    if let Some(runtime) = settings.value("runtime", seconds)?.filter(|time| *time > 0) {
        out.flag("runtime", &time_word(runtime));
    }
    for ignored in ["rw", "bs", "size", "norandommap", "time_based"] {
        if settings.get(ignored).is_some() {
            out.note(format!("{ignored}: the recording says that, in fio too"));
        }
    }
    Ok(())
}

/// What the I/O scheduler is asked for.
fn priority(settings: &Settings<'_>, out: &mut Words) -> Result<(), FioError> {
    let level = settings.value("prio", number)?;
    let class = settings.value("prioclass", number)?;
    let name = match class {
        None | Some(0 | 2) => "be",
        Some(1) => "rt",
        Some(3) => "idle",
        Some(_) => return Err(settings.refuse("prioclass", "use 1, 2 or 3")),
    };
    match (name, level) {
        (_, None) if class.is_none() => {}
        ("idle", _) => out.flag("io-priority", &"idle"),
        (_, Some(level)) if level > 7 => return Err(settings.refuse("prio", "use 0 to 7")),
        (name, level) => out.flag("io-priority", &format!("{name}/{}", level.unwrap_or(0))),
    }
    Ok(())
}

/// A size whose prefix means something else than its writer may think.
fn ambiguous(setting: &Setting) -> bool {
    let sizes = ["bs", "size", "offset", "io_size", "bssplit"];
    sizes.contains(&canonical(&setting.name))
        && setting.value.as_deref().is_some_and(has_binary_prefix)
}

/// Order, direction, sizes and depth: whether it is sequential, and whether it writes.
fn load(
    settings: &Settings<'_>,
    out: &mut Words,
    bytes: &dyn Fn(&str) -> Result<u64, String>,
) -> Result<(bool, bool), FioError> {
    let rw = settings.text("rw")?.unwrap_or("read");
    let known =
        ["read", "write", "rw", "readwrite", "randread", "randwrite", "randrw", "trim", "randtrim"];
    if !known.contains(&rw) {
        let why = "use read, write, rw, randread, randwrite, randrw, trim or randtrim; trims with writes and \
                   counts behind a colon are not supported";
        return Err(settings.refuse("rw", why));
    }
    out.flag("rw", &rw);
    let mixed = ["rw", "readwrite", "randrw"].contains(&rw);
    let (reads, written) =
        (settings.value("rwmixread", number)?, settings.value("rwmixwrite", number)?);
    // Of the two fio believes the one that comes last; both together have to be all.
    match (reads, written) {
        (Some(reads), Some(written)) if reads.saturating_add(written) != 100 => {
            return Err(settings.refuse("rwmixwrite", "it and rwmixread are not 100 together"));
        }
        (None, Some(written)) if written > 100 => {
            return Err(settings.refuse("rwmixwrite", "more than all"));
        }
        (Some(reads), _) if mixed => out.flag("rwmixread", &reads),
        (None, Some(written)) if mixed => out.flag("rwmixread", &(100 - written)),
        (None, None) => {}
        _ => out.note("rwmixread: means nothing without a mix, as in fio"),
    }
    match (settings.text("bssplit")?, settings.text("bs")?) {
        (Some(split), _) => {
            let parts = split.split(':').map(|part| part_of(part, bytes));
            let parts: Result<Vec<String>, String> = parts.collect();
            let parts = parts.map_err(|why| settings.refuse("bssplit", &why))?;
            out.flag("bs", &parts.join(":"));
        }
        (None, bs) => {
            let bs = bs.unwrap_or("4k");
            let sizes: Result<Vec<u64>, String> =
                bs.split(',').filter(|part| !part.is_empty()).map(bytes).collect();
            let sizes = sizes.map_err(|why| settings.refuse("bs", &why))?;
            match sizes[..] {
                [] => return Err(settings.refuse("bs", "a size is missing")),
                [first, ..] if sizes.iter().all(|size| *size == first) => {
                    out.flag("bs", &size_word(first));
                }
                _ => {
                    let why = "reads and writes of different sizes in one job are not supported";
                    return Err(settings.refuse("bs", why));
                }
            }
        }
    }
    if let Some(align) = settings.text("blockalign")? {
        return Err(settings
            .refuse("blockalign", &format!("requests begin at multiples of bs, not of {align}")));
    }
    let sequential = !rw.starts_with("rand");
    if let Some(random) = settings.value("percentage_random", number)? {
        match random {
            _ if sequential => out.note("percentage_random: means nothing in order, as in fio"),
            100.. => {}
            random => out.flag("seq-share", &format!("{}%", 100 - random)),
        }
    }
    match settings.text("random_distribution")? {
        None | Some("random") => {}
        Some(law) => match law.split_once(':') {
            Some(("zipf", theta)) if !sequential => {
                out.flag("pattern", &"zipf");
                out.flag("zipf-theta", &theta);
            }
            _ => return Err(settings.refuse("random_distribution", "use random or zipf:THETA")),
        },
    }
    if let Some(seed) = settings.value("randseed", number)? {
        out.flag("seed", &seed);
    }
    Ok((sequential, !rw.ends_with("read")))
}

/// A size with its share, in bytes.
fn part_of(part: &str, bytes: &dyn Fn(&str) -> Result<u64, String>) -> Result<String, String> {
    let (size, share) = part.split_once('/').ok_or("write SIZE/PERCENT, separated by colons")?;
    if part.contains(',') {
        return Err("other sizes for writes than for reads are not supported".to_owned());
    }
    Ok(format!("{}/{share}", size_word(bytes(size)?)))
}

/// What the area of a job rests on.
struct Area<'a> {
    jobs: u64,
    sequential: bool,
    bytes: &'a dyn Fn(&str) -> Result<u64, String>,
}

/// Targets, area and end.
fn place(
    settings: &Settings<'_>,
    out: &mut Words,
    kind_of: &dyn Fn(&str) -> FileKind,
    area: &Area<'_>,
) -> Result<(), FioError> {
    let size = settings.value("size", area.bytes)?;
    let folder = settings.text("directory")?;
    let names = settings.text("filename")?.map(file_names).unwrap_or_default();
    let within = |name: &String| match folder {
        Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.clone(),
    };
    let names: Vec<String> = names.iter().map(within).collect();
    let mut own_files = names.is_empty();
    let mut targets = Vec::new();
    if settings.text("filename")?.is_some_and(|text| text.starts_with("sim:")) {
        let why = "fio knows no simulated devices; use the flags of `halfpower run sim:NAME`";
        return Err(settings.refuse("filename", why));
    }
    for name in &names {
        match kind_of(name) {
            FileKind::Missing if names.len() > 1 => {
                let why = format!("{name} is not there; of several files each has to be");
                return Err(settings.refuse("filename", &why));
            }
            FileKind::Missing => {
                let parent = match name.rsplit_once('/') {
                    Some(("", _)) => "/",
                    Some((parent, _)) => parent,
                    None => ".",
                };
                out.note(format!("filename: {name} is not there; a test file of this run in {parent} takes its place"));
                targets.push(parent.to_owned());
                own_files = true;
            }
            FileKind::Folder => {
                return Err(settings.refuse("filename", "a folder; name it with directory"));
            }
            FileKind::File => targets.push(name.clone()),
        }
    }
    if names.is_empty() {
        targets.push(folder.unwrap_or(".").to_owned());
    }
    // Each job has a file of its own in a folder, and all work on one that is named.
    let each_its_own = own_files && names.is_empty() && area.jobs > 1;
    match size {
        Some(size) if each_its_own => {
            out.flag("size", &size_word(size.saturating_mul(area.jobs)));
            out.flag("regions", &"own");
            out.note(format!(
                "numjobs: {} parts of one test file, not {} files",
                area.jobs, area.jobs
            ));
        }
        Some(size) => out.flag("size", &size_word(size)),
        None if own_files => {
            return Err(settings.refuse("size", "size is missing: how large the file is"));
        }
        None => {}
    }
    if area.jobs > 1 && area.sequential && !each_its_own {
        out.note("numjobs: each job has a part of the area; in fio all begin at its start");
    }
    if let Some(offset) = settings.value("offset", area.bytes)?.filter(|offset| *offset > 0) {
        out.flag("offset", &size_word(offset));
    }
    if settings.value("offset_increment", area.bytes)?.is_some_and(|step| step > 0) {
        return Err(settings.refuse("offset_increment", "jobs have equal parts of the area"));
    }
    end(settings, out, area, size)?;
    out.words.splice(0..0, targets);
    Ok(())
}

/// Names of files, separated by colons that no backslash protects.
fn file_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, names.last_mut()) {
            ('\\', Some(name)) if letters.peek() == Some(&':') => name.extend(letters.next()),
            (':', _) => names.push(String::new()),
            (_, Some(name)) => name.push(letter),
            (_, None) => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// When it ends: by time alone, or by the bytes of each job, at the latest by time.
fn end(
    settings: &Settings<'_>,
    out: &mut Words,
    area: &Area<'_>,
    size: Option<u64>,
) -> Result<(), FioError> {
    let seconds = |text: &str| time(text, SECOND_NS);
    let runtime = settings.value("runtime", seconds)?.filter(|time| *time > 0);
    let by_time = settings.on("time_based")?.unwrap_or(false);
    let rounds = settings.value("loops", number)?.unwrap_or(1).max(1);
    let each = settings.value("io_size", area.bytes)?.filter(|bytes| *bytes > 0).or(size);
    if by_time && runtime.is_none() {
        return Err(settings.refuse("time_based", "a runtime is missing"));
    }
    match runtime {
        Some(runtime) => out.flag("runtime", &time_word(runtime)),
        None => out.flag("runtime", &NO_END),
    }
    if !by_time {
        match each {
            Some(bytes) => {
                let all = bytes.saturating_mul(area.jobs).saturating_mul(rounds);
                out.flag("io-size", &size_word(all));
            }
            None => out.flag("passes", &area.jobs.saturating_mul(rounds)),
        }
        if !area.sequential {
            out.note(
                "random blocks are drawn with replacement: some of the area come twice and some never, \
                 where fio takes each once",
            );
        }
    }
    if let Some(ramp) = settings.value("ramp_time", seconds)?.filter(|time| *time > 0) {
        out.flag("ramp-time", &time_word(ramp));
    }
    Ok(())
}

/// Engine, depth and the caches on the way.
fn caches(settings: &Settings<'_>, out: &mut Words) -> Result<(), FioError> {
    let name = settings.text("ioengine")?.unwrap_or("psync");
    let known = ENGINES.iter().find(|(known, ..)| *known == name);
    let Some((_, engine, other)) = known else {
        let names: Vec<&str> = ENGINES.iter().map(|(name, ..)| *name).collect();
        return Err(settings.refuse("ioengine", &format!("use one of {}", names.join(", "))));
    };
    out.flag("ioengine", &engine);
    if let Some(other) = other {
        out.note(format!("ioengine: {engine} in place of {name}: {other}"));
    }
    let depth = settings.value("iodepth", number)?.unwrap_or(1).max(1);
    let one_by_one = matches!(*engine, "sync" | "mmap");
    if one_by_one && depth > 1 {
        out.note(format!("iodepth: {name} has one request in flight, in fio too"));
    } else {
        out.flag("iodepth", &depth);
    }
    let buffered = settings.on("buffered")?;
    let direct = settings.on("direct")?.unwrap_or(buffered == Some(false));
    let durable = match settings.text("sync")? {
        None | Some("0" | "none") => false,
        Some("1" | "sync") => {
            out.note("sync: O_DSYNC in place of O_SYNC, which also writes the file's times");
            true
        }
        Some("dsync") => true,
        Some(_) => return Err(settings.refuse("sync", "use none, sync or dsync")),
    };
    let mode = match (direct, durable) {
        (true, false) => "device",
        (true, true) => "none",
        (false, true) => "fs",
        (false, false) => "all",
    };
    out.flag("cache", &mode);
    // fio empties the cache of its file before it reads from it.
    if settings.on("invalidate")?.unwrap_or(true) && !direct && *engine != "null" {
        out.flag("drop-cache", &"dontneed");
        if settings.on("time_based")? == Some(true) {
            out.notes.push(
                "invalidate: the page cache is emptied before the run; fio empties it again before \
                 each further pass over the file"
                    .to_owned(),
            );
        }
    }
    memory(settings, out)?;
    for (option, flag) in [("hipri", "hipri"), ("sqthread_poll", "sqthread-poll")] {
        if settings.on(option)?.unwrap_or(false) {
            out.words.push(format!("--{flag}"));
        }
    }
    Ok(())
}

/// What the buffers consist of.
fn memory(settings: &Settings<'_>, out: &mut Words) -> Result<(), FioError> {
    let huge = settings.value("mem", |kind| match kind.split(':').next().unwrap_or(kind) {
        "malloc" | "mmap" | "shm" | "mmapshared" => Ok(false),
        "mmaphuge" | "shmhuge" => Ok(true),
        _ => Err("there is no such memory here; use malloc or mmaphuge".to_owned()),
    })?;
    if huge == Some(true) {
        out.words.push("--huge-pages".to_owned());
    }
    Ok(())
}

/// How often a file is written out and waited for: `write,wait_after:N`.
fn write_out(text: &str) -> Result<u64, String> {
    let (kinds, every) = text.split_once(':').ok_or("write KINDS:N")?;
    let kinds: Vec<&str> = kinds.split(',').collect();
    let known = kinds.iter().all(|kind| ["wait_before", "write", "wait_after"].contains(kind));
    if !known || !kinds.contains(&"write") || !kinds.contains(&"wait_after") {
        return Err("what is written out is waited for here; use write,wait_after:N".to_owned());
    }
    number(every)
}

/// Rates, pauses and flushes.
fn arrivals(
    settings: &Settings<'_>,
    out: &mut Words,
    jobs: u64,
    bytes: &dyn Fn(&str) -> Result<u64, String>,
) -> Result<(), FioError> {
    if let Some(rate) = settings.value("rate_iops", number)? {
        out.flag("rate-iops", &rate.saturating_mul(jobs));
        out.note("rate_iops: requests arrive at that rate, and their latency counts from there; fio holds them back and counts from when it lets them go");
        match settings.text("rate_process")? {
            None | Some("linear") => {}
            Some("poisson") => out.flag("arrival", &"poisson"),
            Some(_) => return Err(settings.refuse("rate_process", "use linear or poisson")),
        }
    }
    if settings.value("rate", bytes)?.is_some() {
        return Err(settings.refuse("rate", "give requests per second: rate_iops"));
    }
    let pause = settings.value("thinktime", |text| time(text, MICROSECOND_NS))?;
    if let Some(pause) = pause.filter(|pause| *pause > 0) {
        if settings.value("thinktime_blocks", number)?.is_some_and(|blocks| blocks != 1) {
            return Err(settings.refuse("thinktime_blocks", "a pause follows each request"));
        }
        out.flag("think-time", &time_word(pause));
    }
    if let Some(every) = settings.value("sync_file_range", write_out)? {
        out.flag("sync-file-range", &every);
        out.note(
            "sync_file_range: of all that was written to the file, not of the last requests alone",
        );
    }
    for flush in ["fsync", "fdatasync"] {
        if let Some(every) = settings.value(flush, number)?.filter(|every| *every > 0) {
            out.flag(flush, &every);
        }
    }
    Ok(())
}

/// What writes carry, and whether they are read back.
fn data(settings: &Settings<'_>, out: &mut Words, writes: bool) -> Result<(), FioError> {
    if settings.on("zero_buffers")?.unwrap_or(false) {
        out.words.push("--zeros".to_owned());
    }
    let share = settings.value("buffer_compress_percentage", number)?;
    if let Some(share) = share.filter(|share| *share > 0) {
        out.flag("compressible", &share);
    }
    match settings.text("verify")? {
        None | Some("0" | "none") => {}
        Some(_) if !writes => {
            return Err(settings.refuse(
                "verify",
                "reads alone are held against an earlier run: halfpower run --verify --seed N",
            ));
        }
        Some(kind) => {
            out.words.push("--verify".to_owned());
            out.note(format!("verify: checksums and places of our own in place of {kind}"));
        }
    }
    Ok(())
}
