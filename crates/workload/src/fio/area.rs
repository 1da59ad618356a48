//! Converts the targets of a fio job, the area on them, and when the job ends.
//!
//! fio spreads the size, the depth and the requests of a job over its files. Several files are therefore
//! combined into one area, with chunks of one request in turn. Sequential requests then rotate over the
//! files, as in fio, and random ones are spread evenly. Rejected: a job per file, which would multiply the
//! depth by the number of files.

use crate::fio::load::Load;
use crate::fio::parts::{FileKind, FileNames, NO_END, Words};
use crate::fio::settings::Settings;
use crate::fio::values::{Length, SECOND_NS, length, size_word, time};
use record::time_word;

/// Maximum number of a job's files that are also separate files here.
const FILES_MAX: u64 = 64;

struct Files {
    /// Number of files in fio; each has an equal part of the size.
    count: u64,
    /// Number of fio's files that each of them replaces.
    merged: u64,
    /// Length of the shortest file, if all exist and it is known.
    bytes: Option<u64>,
    /// Whether another file is known to be longer.
    uneven: bool,
    /// Whether test files replace them.
    made: bool,
    /// Whether each job has its own files.
    own: bool,
}

/// The lengths of a job, in bytes.
#[derive(Clone, Copy)]
struct Lengths {
    /// Length of the area in each file.
    leg: Option<u64>,
    /// Bytes that one pass of one job transfers.
    pass: Option<u64>,
    /// Whether the area is the whole file.
    whole: bool,
}

pub(crate) fn area(
    settings: &Settings<'_>,
    out: &mut Words,
    known: &dyn FileNames,
    load: &Load,
    (kb_base, jobs, engine, verified): (u64, u64, &str, bool),
) {
    let files = files(settings, out, known, jobs);
    let read = |name: &str| settings.value(name, |text| length(text, kb_base));
    let offset = read("offset").and_then(|offset| offset.of(files.bytes)).unwrap_or(0);
    let bounded = load.stride.is_some() || settings.has("number_ios");
    let lengths = lengths(settings, &files, offset, (kb_base, load.sizes.smallest(), bounded));
    let filled = settings.on("fill_device");
    if filled && files.made {
        settings
            .refuse("fill_device", "halfpower never fills a file system completely; give a size");
    } else if lengths.leg.is_none()
        && files.made
        && settings.has_engine()
        && !["size", "filesize"].into_iter().any(|name| settings.is_refused(name))
    {
        match out.stands_for.first().filter(|_| !settings.has("filename_format")) {
            Some(name) => {
                let why = format!(
                    "size is missing: {name} does not exist, so halfpower would create a test \
                     file; give its size, such as size=1g, or name an existing file or device"
                );
                settings.refuse("size", &why);
            }
            None => settings
                .refuse("size", "size is missing: give the size of the test file, such as size=1g"),
        }
    }
    let step =
        read("offset_increment").and_then(|step| step.of(files.bytes)).filter(|step| *step > 0);
    if settings.on("file_append") && !files.made {
        settings.refuse(
            "file_append",
            "halfpower does not write behind the end of a file; name a file that does not exist",
        );
    }
    if load.backwards && (offset > 0 || step.is_some() && jobs > 1) {
        settings.refuse("rw", "steps back are possible only without an offset");
    }
    // Jobs that verify need areas that do not overlap, so that each knows its last write.
    let disjoint = step.zip(lengths.leg).is_some_and(|(step, leg)| step >= leg);
    let apart = jobs > 1 && !files.own && (!verified || disjoint);
    let distance = match step {
        Some(step) if apart => Some(step),
        Some(_) if jobs > 1 => {
            settings.refuse(
                "offset_increment",
                "jobs that have separate files, or that verify, use separate parts of one area",
            );
            None
        }
        _ => (apart && load.sequential).then_some(0),
    };
    if jobs > 1 && verified && !files.own {
        out.note(
            "numjobs: each job has its own part of the area, so that the job knows what it \
                  wrote last",
        );
    }
    bind(settings, out, &files, load);
    if let Some(leg) = lengths.leg {
        // The size of a test file whose parts the jobs use, or of a file with the areas of all jobs.
        let parts = if files.own { leg.saturating_mul(jobs) } else { leg };
        let reach = distance.map_or(0, |step| step.saturating_mul(jobs - 1));
        let bound = files.count > 1;
        let whole = if files.made || bound { parts + offset + reach } else { parts };
        let folders = out.targets.len() as u64;
        let folders = if files.own && !bound { folders.max(1) } else { 1 };
        out.flag("size", &size_word(whole / folders));
    }
    if offset > 0 {
        out.flag("offset", &size_word(offset.saturating_mul(files.count)));
    }
    if let Some(distance) = distance {
        out.flag("offset-increment", &size_word(distance.saturating_mul(files.count)));
    }
    if files.own && jobs > 1 {
        out.flag("regions", &"own");
        out.note(format!("numjobs: {jobs} jobs use parts of one test file, not {jobs} files"));
    }
    if load.sequential {
        out.switch("from-start");
    }
    if load.by_map && engine != "null" {
        out.switch("without-replacement");
    }
    end(settings, out, load, (kb_base, jobs), lengths);
}

/// The named files, or test files in a directory.
fn files(settings: &Settings<'_>, out: &mut Words, known: &dyn FileNames, jobs: u64) -> Files {
    let folders: Vec<String> = settings.text("directory").map(file_names).unwrap_or_default();
    let mut names = settings.text("filename").map(file_names).unwrap_or_default();
    for folder in &folders {
        if !known.is_folder(folder) {
            settings.refuse(
                "directory",
                &format!("the folder {folder} does not exist; create it first"),
            );
        }
    }
    let folder = folders.first().map(String::as_str);
    let format = settings.text("filename_format");
    let nrfiles = settings.number("nrfiles").unwrap_or(1).max(1);
    if nrfiles == 1 && !settings.has("filename") && folders.is_empty() {
        names.extend(device_of_name(settings, out, known));
    }
    if names.is_empty() {
        return in_folders(out, (&folders, nrfiles), jobs, format);
    }
    if nrfiles > 1 && nrfiles != names.len() as u64 {
        out.note("nrfiles: has no effect because filename names the files, as in fio");
    }
    if settings.text("filename").is_some_and(|text| text.starts_with("sim:")) {
        let why = "fio has no simulated devices; use the flags of `halfpower run sim:NAME`";
        settings.refuse("filename", why);
        // fio splits the name at its colon: the parts are no files that could be missing.
        return in_folders(out, (&folders, nrfiles), jobs, format);
    }
    let within = |name: &String| match folder {
        Some(folder) if !name.starts_with('/') => format!("{folder}/{name}"),
        _ => name.clone(),
    };
    let (mut bytes, mut longest) = (Some(u64::MAX), 0);
    for name in names.iter().map(within) {
        match known.kind(&name) {
            FileKind::Missing if name.starts_with("/dev/") => {
                settings.refuse("filename", &format!("the device {name} does not exist"));
            }
            FileKind::Missing => {
                let parent = parent_of(&name).to_owned();
                if !known.is_folder(&parent) {
                    settings.refuse(
                        "filename",
                        &format!("the folder {parent} does not exist; create it first"),
                    );
                }
                out.note(format!(
                    "filename: {name} does not exist; this run uses a temporary test file in \
                     {parent} instead"
                ));
                out.stands_for.push(name);
                out.targets.push(parent);
                bytes = None;
            }
            FileKind::Folder => {
                settings.refuse("filename", "this is a folder; use the option directory instead");
            }
            FileKind::Elsewhere { bytes: length } => {
                let shares = ["size", "offset", "offset_increment"];
                if shares.into_iter().any(|it| settings.text(it).is_some_and(is_share)) {
                    let length = size_word(length);
                    out.note(format!(
                        "filename: {name} is not on this machine; percentages are computed from a \
                         length of {length}"
                    ));
                }
                bytes = bytes.map(|least| least.min(length));
                longest = longest.max(length);
                out.targets.push(name);
            }
            FileKind::File { bytes: length } => {
                bytes = bytes.zip(length).map(|(least, length)| least.min(length));
                longest = longest.max(length.unwrap_or(0));
                out.targets.push(name);
            }
        }
    }
    let made = !out.stands_for.is_empty();
    let uneven = bytes.is_some_and(|least| least < longest);
    Files { count: out.targets.len().max(1) as u64, merged: 1, bytes, uneven, made, own: false }
}

/// The device that a job without `filename` names. fio also uses the job's name as the file if that name
/// exists and is not a regular file.
fn device_of_name(
    settings: &Settings<'_>,
    out: &mut Words,
    known: &dyn FileNames,
) -> Option<String> {
    let name = settings.job_name();
    if !name.starts_with("/dev/") && !known.is_special(name) {
        return None;
    }
    if known.kind(name) == FileKind::Folder {
        settings.refuse(
            "filename",
            &format!(
                "the job's name {name} is also the name of a folder, which fio would use as the \
                 file; rename the job, or add directory={name}"
            ),
        );
        return None;
    }
    out.note(format!("filename: missing, so the job's name {name} is the file, as in fio"));
    Some(name.to_owned())
}

/// Test files in directories; each job's files are in one of them.
fn in_folders(
    out: &mut Words,
    (folders, nrfiles): (&[String], u64),
    jobs: u64,
    format: Option<&str>,
) -> Files {
    let mut targets: Vec<String> = folders.to_vec();
    if targets.is_empty() {
        targets.push(".".to_owned());
    }
    let spread = targets.len().min(jobs as usize);
    targets.truncate(if jobs.is_multiple_of(spread as u64) && nrfiles == 1 { spread } else { 1 });
    // A format without the job number names one file for all jobs.
    let own = jobs > 1 && format.is_none_or(|format| format.contains("$jobnum"));
    let count = if nrfiles <= FILES_MAX { nrfiles } else { 1 };
    if count < nrfiles {
        out.note(format!("nrfiles: one test file instead of {nrfiles}, with the same total size"));
    }
    let folder = targets[0].clone();
    targets.extend((1..count).map(|_| folder.clone()));
    out.targets = targets;
    if let Some(format) = format.filter(|_| !own) {
        out.stands_for.push(format.to_owned());
    }
    Files { count, merged: nrfiles / count, bytes: None, uneven: false, made: true, own }
}

fn is_share(text: &str) -> bool {
    text.ends_with('%')
}

fn parent_of(name: &str) -> &str {
    match name.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((parent, _)) => parent,
        None => ".",
    }
}

/// Splits file names at colons, except those after a backslash.
pub(crate) fn file_names(text: &str) -> Vec<String> {
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

/// Combines several files into one area.
fn bind(settings: &Settings<'_>, out: &mut Words, files: &Files, load: &Load) {
    let order = settings.text("file_service_type").unwrap_or("roundrobin");
    if files.count < 2 {
        return;
    }
    if load.stride.is_some() || load.backwards {
        settings.refuse("rw", "a gap or step after each request is possible in only one file");
    }
    match (load.sequential, order) {
        (true, "roundrobin" | "roundrobin:1") | (false, "random" | "random:1") => {}
        (false, "roundrobin" | "roundrobin:1") => out.note(
            "filename: each random request chooses its file at random; fio takes the files in turn",
        ),
        (true, _) => settings.refuse(
            "file_service_type",
            "sequential requests go to several files in turn; use roundrobin",
        ),
        (false, _) => settings.refuse(
            "file_service_type",
            "random requests go to all files with equal probability; use random",
        ),
    }
    if load.trims {
        return settings.refuse(
            "filename",
            "a job can trim only one file or device; use a separate job for each",
        );
    }
    if load.sequential && load.sizes.only().is_none() {
        settings.refuse(
            "nrfiles",
            "sequential requests of several sizes can use only one file; name one size or one file",
        );
    }
    out.flag("raid", &"0");
    // Random requests of several sizes start at multiples of the smallest size, and none may cross a chunk
    // boundary.
    let largest = load.sizes.shares.iter().map(|(bytes, _)| *bytes).max().unwrap_or(1);
    let chunk = if load.sizes.only().is_some() { largest } else { (1 << 30) / largest * largest };
    out.flag("chunk", &size_word(chunk));
}

/// The length of the area in each file, and the bytes of one pass.
fn lengths(
    settings: &Settings<'_>,
    files: &Files,
    offset: u64,
    (kb_base, unit, bounded): (u64, u64, bool),
) -> Lengths {
    let read = |name: &str| settings.value(name, |text| length(text, kb_base));
    let file = settings.value("filesize", |text| match text.split_once(['-', ':']) {
        Some((low, high)) if low != high => {
            Err("all files have the same size; give one size".to_owned())
        }
        Some((one, _)) => length(one, kb_base),
        None => length(text, kb_base),
    });
    let size = read("size");
    let fixed = |length: &Option<Length>| matches!(length, Some(Length::Bytes(1..)));
    if files.uneven && ![file, size].iter().any(fixed) {
        let most = size_word(files.bytes.unwrap_or(0).saturating_mul(files.count));
        let why = format!(
            "the files have different lengths: fio uses each file to its own end, halfpower uses \
             the same length of each; give a size that both divide equally, at most size={most}"
        );
        settings.refuse("filename", &why);
    }
    let file = file.and_then(|file| file.of(files.bytes));
    if let Some(Length::Percent(percent)) = size {
        let known = file.or(files.bytes.filter(|_| !files.made));
        let Some(known) = known else {
            // All of a device whose length becomes known later.
            if percent != 100 || files.made {
                settings.refuse(
                    "size",
                    "a percentage needs the length of the file; give filesize, or a size in bytes",
                );
            }
            return Lengths { leg: None, pass: None, whole: false };
        };
        let leg = Length::Percent(percent).of(Some(known));
        // Whole requests, within what the offset leaves.
        let leg = leg.map(|leg| leg.min(known - offset.min(known)) / unit * unit);
        let pass = leg.map(|leg| leg.saturating_mul(files.count));
        return Lengths { leg, pass, whole: percent == 100 && offset == 0 };
    }
    let size = size.and_then(|size| size.of(None)).filter(|size| *size > 0);
    let merged = |file: u64| file.saturating_sub(offset).saturating_mul(files.merged);
    let leg = file.map(merged).or(size.map(|size| size / files.count));
    // The length of the files matters if a pass may transfer less than all of it.
    let known = files.bytes.filter(|_| bounded).map(|bytes| bytes.saturating_sub(offset));
    let all = leg.or(known).map(|leg| leg.saturating_mul(files.count));
    let pass = match (file, size) {
        (Some(_), Some(size)) => all.map(|all| all.min(size)),
        (None, Some(size)) => Some(size),
        _ => all,
    };
    let whole = offset == 0 && files.bytes.zip(leg).is_none_or(|(bytes, leg)| leg >= bytes);
    Lengths { leg, pass, whole }
}

/// Bytes that a job with gaps transfers in an area. If a gap crosses the end of the file, fio starts again
/// until it has transferred the length of the area. Otherwise the job ends after one pass (fio 3.33).
fn with_gaps(load: &Load, stride: u64, (area, whole): (u64, bool)) -> u64 {
    let size = load.sizes.smallest();
    let rest = area % stride;
    if whole && (rest == 0 || rest > size) {
        return area;
    }
    (area / stride + u64::from(rest >= size)) * size
}

/// When the job ends: only by time, or by the bytes of each job with a time limit.
fn end(
    settings: &Settings<'_>,
    out: &mut Words,
    load: &Load,
    (kb_base, jobs): (u64, u64),
    lengths: Lengths,
) {
    let seconds = |text: &str| time(text, SECOND_NS);
    let runtime = settings.value("runtime", seconds).filter(|time| *time > 0);
    let mut by_time = settings.on("time_based");
    if by_time && runtime.is_none() {
        out.note("time_based: has no effect without a runtime, as in fio");
        by_time = false;
    }
    let rounds = settings.number("loops").unwrap_or(1).max(1);
    let transferred = settings.value("io_size", |text| length(text, kb_base));
    let transferred =
        transferred.and_then(|bytes| bytes.of(lengths.pass)).filter(|bytes| *bytes > 0);
    let counted = settings.number("number_ios").filter(|count| *count > 0);
    let counted = counted.map(|count| (count as f64 * load.sizes.mean()) as u64);
    let unit = load.sizes.smallest();
    let pass = match (load.stride, lengths.pass) {
        (Some(stride), Some(area)) => {
            let pass = with_gaps(load, stride, (area, lengths.whole));
            if pass < area && load.reads && load.writes && !by_time && transferred.is_none() {
                settings.refuse(
                    "rw",
                    "in fio, a mix with gaps ends with the direction that reaches the end first; \
                     use time_based, or give io_size",
                );
            }
            Some(pass)
        }
        // A block at the end that is too short is not in fio's map of used blocks.
        (_, pass) if load.by_map => pass.map(|pass| pass / unit * unit),
        (_, pass) => pass,
    };
    let each = transferred.or(pass);
    let each = counted.map_or(each, |counted| Some(each.map_or(counted, |each| each.min(counted))));
    match runtime {
        Some(runtime) => out.flag("runtime", &time_word(runtime)),
        None => out.flag("runtime", &NO_END),
    }
    out.ends_after_ns = runtime.filter(|_| by_time);
    if !by_time {
        match each {
            Some(bytes) => {
                let all = bytes.saturating_mul(jobs).saturating_mul(rounds);
                out.flag("io-size", &size_word(all));
            }
            None => out.flag("passes", &jobs.saturating_mul(rounds)),
        }
        let once = !load.sequential && !load.by_map && !settings.on("norandommap");
        if once && load.sizes.only().is_none() {
            out.note(
                "bs: with random requests of several sizes, some blocks repeat and some are never \
                 used; fio uses each block once",
            );
        }
    }
    if let Some(ramp) = settings.value("ramp_time", seconds).filter(|time| *time > 0) {
        out.flag("ramp-time", &time_word(ramp));
    }
    // fio's totals cover the whole run after the ramp time.
    out.switch("keep-warm-up");
}
