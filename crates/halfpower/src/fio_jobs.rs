//! Reads the jobs of fio's job files and of its command line, and reports all of their errors together.

use crate::failure::usage;
use crate::fio_words::FioWords;
use crate::output;
use engine::input;
use host::kernel::read;
use std::cell::Cell;
use std::io::{Seek, SeekFrom};
use std::path::Path;
use workload::fio::{self, FileKind, FileNames, FioError, Section, Setting};

/// Assumed size of a device on another machine, for the shares that `--parse-only` prints.
const ELSEWHERE_BYTES: u64 = 1 << 40;

/// The jobs of all files and of the command line.
pub(crate) fn sections(asked: &FioWords) -> anyhow::Result<Vec<Section>> {
    let mut faults = Vec::new();
    let mut found: Vec<Section> = Vec::new();
    // Options on the command line are defaults for the files, as in fio.
    let (global, of_line) = fio::read_words(&asked.options).unwrap_or_else(|errors| {
        faults.extend(errors);
        (Vec::new(), Vec::new())
    });
    for file in &asked.files {
        match jobs_of_file(file, &global)? {
            Ok(mut jobs) => {
                if !found.is_empty() {
                    // The jobs of a file wait for those of the previous file.
                    let place = jobs[0].place.clone();
                    let name = "stonewall".to_owned();
                    jobs[0].settings.push(Setting { name, value: None, place });
                }
                found.extend(jobs);
            }
            Err(errors) => faults.extend(errors),
        }
    }
    refused(asked, &faults)?;
    found.extend(of_line);
    let names: Vec<String> = found.iter().map(|section| section.name.clone()).collect();
    if let Some(missing) = asked.only.iter().find(|name| !names.contains(name)) {
        let names = names.join(", ");
        return Err(usage(format!(
            "--section: the job file has no job {missing:?}; its jobs are {names}"
        )));
    }
    found.retain(|section| asked.only.is_empty() || asked.only.contains(&section.name));
    Ok(found)
}

fn jobs_of_file(
    file: &str,
    global: &[Setting],
) -> anyhow::Result<Result<Vec<Section>, Vec<FioError>>> {
    let room = Cell::new(input::JOB_FILE.bytes_max());
    let read = |path: &Path| {
        let text = input::text(path, input::JOB_FILE).map_err(|error| error.reason.to_string())?;
        let left = room.get().checked_sub(text.len() as u64);
        room.set(left.ok_or("the job file and the files it includes together exceed 1 MiB")?);
        Ok::<_, String>(text)
    };
    let text = read(file.as_ref()).map_err(|why| {
        usage(format!("cannot read the job file {}: {why}", ::record::quoted(file)))
    })?;
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    // Like fio: look in the working directory first, then next to the job file.
    let include = |name: &str| match Path::new(name) {
        here if here.is_file() => read(here),
        _ => read(&folder.join(name)),
    };
    let environment = |name: &str| {
        if name.starts_with('$') { keyword(name) } else { std::env::var(name).ok() }
    };
    Ok(fio::read_file(file, &text, global, &include, &environment))
}

/// This machine's value of a fio keyword.
fn keyword(name: &str) -> Option<String> {
    let text = |path: &str| input::kernel_text(path.as_ref()).ok();
    let value = match name {
        "$mb_memory" => read::memory_field(&text("/proc/meminfo")?, "MemTotal")? >> 20,
        "$ncpus" => u64::from(read::count_list(&text("/sys/devices/system/cpu/online")?)),
        "$pagesize" => read::memory_field(&text("/proc/self/smaps")?, "KernelPageSize")?,
        _ => return None,
    };
    Some(value.to_string())
}

/// Reports all errors in the order of their lines, each once.
pub(crate) fn refused(asked: &FioWords, faults: &[FioError]) -> anyhow::Result<()> {
    let mut faults: Vec<&FioError> = faults.iter().collect();
    faults.sort_by_key(|fault| line_of(asked, &fault.place));
    let mut told: Vec<String> = Vec::new();
    for fault in faults {
        let line = fault.to_string();
        // Report an error in [global] once, not once per job.
        if !told.contains(&line) {
            told.push(line);
        }
    }
    let what = match asked.files.as_slice() {
        [] => "a fio command line".to_owned(),
        [file] => format!("{file}, a fio job file"),
        files => format!("{}, fio job files", files.join(", ")),
    };
    match told.as_slice() {
        [] => Ok(()),
        [only] => Err(usage(format!("{only} ({what}; nothing was run)"))),
        several => {
            several.iter().for_each(|line| output::remark(line));
            Err(usage(format!("{} errors in {what}; nothing was run", several.len())))
        }
    }
}

/// Sort key of a place: its file, line and column; for a word of the command line, its position.
fn line_of(asked: &FioWords, place: &str) -> (String, usize, usize) {
    let mut parts = place.rsplitn(3, ':');
    let mut number = || parts.next()?.parse::<usize>().ok();
    match number().zip(number()) {
        Some((column, line)) => (parts.collect(), line, column),
        None => {
            let first = |word: &String| place.split(' ').next() == Some(word);
            (String::new(), asked.options.iter().position(first).unwrap_or(0), 0)
        }
    }
}

/// Looks up what a file name refers to.
pub(crate) struct Names {
    /// Nothing will run: files that are missing now may exist later.
    pub(crate) dry: bool,
}

impl FileNames for Names {
    fn kind(&self, name: &str) -> FileKind {
        match std::fs::metadata(name) {
            Ok(found) if found.is_dir() => FileKind::Folder,
            Ok(found) if found.is_file() => FileKind::File { bytes: Some(found.len()) },
            Ok(_) => FileKind::File { bytes: end_of(name) },
            Err(_) if self.dry && name.starts_with("/dev/") => {
                FileKind::Elsewhere { bytes: ELSEWHERE_BYTES }
            }
            Err(_) => FileKind::Missing,
        }
    }

    fn is_folder(&self, name: &str) -> bool {
        self.dry || Path::new(name).is_dir()
    }

    fn is_special(&self, name: &str) -> bool {
        // Like fio, do not follow a link.
        std::fs::symlink_metadata(name).is_ok_and(|found| !found.is_file())
    }

    fn processors_of_nodes(&self, nodes: &str) -> Result<String, String> {
        let wrong = || format!("{nodes:?} is not a list of nodes; use numbers, such as 0-1");
        let mut found = Vec::new();
        for part in nodes.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| wrong());
            for node in number(first)?..=number(last)? {
                let list = format!("/sys/devices/system/node/node{node}/cpulist");
                match input::kernel_text(list.as_ref()) {
                    Ok(list) => found.push(list.trim().to_owned()),
                    Err(_) if self.dry => {}
                    Err(_) => return Err(format!("this machine has no NUMA node {node}")),
                }
            }
        }
        Ok(found.join(","))
    }
}

/// Size of a device: the position of its end.
fn end_of(name: &str) -> Option<u64> {
    let end = std::fs::File::open(name).ok()?.seek(SeekFrom::End(0)).ok()?;
    Some(end).filter(|end| *end > 0)
}
