//! A job file, small: the same order, sizes, depth, mix and flushes on files of a megabyte.

use std::collections::BTreeMap;

const MIB: u64 = 1 << 20;

/// A job file that both programs run in moments.
pub(super) struct Small {
    pub(super) text: String,
    /// Files that have to be there, with their sizes.
    pub(super) files: BTreeMap<String, u64>,
    pub(super) writes: bool,
    /// Whether the time of the run is set by a rate.
    pub(super) paced: bool,
}

/// What is left out: times, places on large devices, logs, and what needs a machine that is not here. So are checks, whose
/// reads the programs make in different sizes.
const LEFT_OUT: [&str; 27] = [
    "directory",
    "size",
    "filesize",
    "io_size",
    "io_limit",
    "runtime",
    "timeout",
    "time_based",
    "ramp_time",
    "startdelay",
    "loops",
    "offset",
    "offset_increment",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "cpus_allowed",
    "fill_device",
    "nrfiles",
    "nr_files",
    "description",
    "name",
    "number_ios",
    "io_submit_mode",
    "filename_format",
    "create_on_open",
    "unlink",
];
/// Engines whose calls strace shows as they are.
const SHOWN: [&str; 5] = ["libaio", "posixaio", "psync", "pvsync", "pvsync2"];

/// Makes it small.
///
/// # Errors
/// If no small form keeps what it asks for.
pub(super) fn small(text: &str) -> Result<Small, String> {
    let mut small =
        Small { text: String::new(), files: BTreeMap::new(), writes: false, paced: false };
    let mut global: BTreeMap<String, Option<String>> = BTreeMap::new();
    let mut sections: Vec<(String, BTreeMap<String, Option<String>>)> = Vec::new();
    for line in text.lines() {
        let line = line.split([';', '#']).next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        if line.starts_with("include") || line.contains("${") {
            return Err("it depends on what is not in it".to_owned());
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            sections.push((name.to_owned(), BTreeMap::new()));
            continue;
        }
        let (option, value) = line
            .split_once('=')
            .map_or((line, None), |(option, value)| (option.trim(), Some(value.trim().to_owned())));
        let settings = match sections.last_mut() {
            Some((name, settings)) if name != "global" => settings,
            _ => &mut global,
        };
        settings.insert(option.to_owned(), value);
    }
    for (at, (name, own)) in sections.iter().filter(|(name, _)| name != "global").enumerate() {
        let mut settings = global.clone();
        settings.extend(own.clone());
        job(&mut small, (at, name), settings)?;
    }
    Ok(small)
}

fn job(
    small: &mut Small,
    (at, name): (usize, &str),
    mut settings: BTreeMap<String, Option<String>>,
) -> Result<(), String> {
    let value = |settings: &BTreeMap<String, Option<String>>, name: &str| {
        settings.get(name).cloned().flatten()
    };
    // A file of its own for each that is named, by its last part.
    let named = value(&settings, "filename").unwrap_or_else(|| format!("job{at}"));
    let base = |name: &str| name.rsplit('/').next().unwrap_or(name).to_owned();
    let names: Vec<String> = named.split(':').map(base).collect();
    settings.retain(|name, _| !LEFT_OUT.contains(&name.as_str()) && !name.contains("verify"));
    settings.insert("filename".to_owned(), Some(names.join(":")));
    let engine = value(&settings, "ioengine").unwrap_or_else(|| "psync".to_owned());
    let engine = match engine.as_str() {
        shown if SHOWN.contains(&shown) => shown,
        "io_uring" => "libaio",
        "sync" | "vsync" | "mmap" | "null" => "psync",
        _ => return Err(format!("ioengine={engine}")),
    };
    settings.insert("ioengine".to_owned(), Some(engine.to_owned()));
    for option in ["iodepth", "numjobs"] {
        let most = if option == "iodepth" { 16 } else { 2 };
        let number = value(&settings, option).and_then(|text| text.parse::<u64>().ok());
        if let Some(number) = number.filter(|number| *number > most) {
            settings.insert(option.to_owned(), Some(most.min(number).to_string()));
        }
    }
    if settings.contains_key("bssplit") || settings.contains_key("bsrange") {
        // fio cuts random requests where its map has blocks of them already: on a small file most of them.
        settings.insert("norandommap".to_owned(), None);
    }
    let largest = largest(&settings);
    let each = (32 * largest).clamp(MIB, 64 * MIB);
    settings.insert("size".to_owned(), Some((each * names.len() as u64).to_string()));
    // A file in the kernel's memory alone cannot be told from one on a disk; both begin with an empty cache.
    let rw = value(&settings, "rw").or_else(|| value(&settings, "readwrite"));
    small.writes |= rw.is_some_and(|rw| rw.contains('w'));
    small.paced |= settings.contains_key("rate_iops") || settings.contains_key("rate");
    for name in names {
        let size = small.files.entry(name).or_default();
        *size = (*size).max(each);
    }
    small.text.push_str(&format!("[{name}]\n"));
    for (option, value) in settings {
        match value {
            Some(value) => small.text.push_str(&format!("{option}={value}\n")),
            None => small.text.push_str(&format!("{option}\n")),
        }
    }
    Ok(())
}

/// The largest size of its requests, in bytes.
fn largest(settings: &BTreeMap<String, Option<String>>) -> u64 {
    let sizes = ["bs", "blocksize", "bsrange", "bssplit"];
    let texts = sizes.iter().filter_map(|name| settings.get(*name).cloned().flatten());
    let parts = texts.flat_map(|text| {
        let parts = text.split([',', ':', '-']).map(str::to_owned);
        parts.collect::<Vec<_>>()
    });
    parts.filter_map(|part| bytes(part.split('/').next()?)).max().unwrap_or(4_096)
}

fn bytes(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let digits = lower.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let factor = match lower[digits.len()..].chars().next() {
        None | Some('b') => 1,
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some(_) => return None,
    };
    Some(digits.parse::<u64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_keeps_its_order_and_sizes_and_loses_its_device_and_its_times() {
        let text = "[global]\nfilename=/dev/sdb\nruntime=600\nbs=64k\n[a]\nrw=randwrite\niodepth=64\nioengine=io_uring\n";
        let small = small(text).unwrap();
        assert!(small.writes && !small.paced);
        assert_eq!(small.files.iter().collect::<Vec<_>>(), [(&"sdb".to_owned(), &(2 * MIB))]);
        for line in
            ["[a]", "bs=64k", "filename=sdb", "iodepth=16", "ioengine=libaio", "rw=randwrite"]
        {
            assert!(small.text.lines().any(|one| one == line), "{line}: {}", small.text);
        }
        assert!(!small.text.contains("runtime"), "{}", small.text);
        assert!(super::small("[a]\nioengine=rbd\nrw=read\n").is_err());
    }
}
