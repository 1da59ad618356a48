//! The readers under test, each with its initial inputs and a function that reads one.

use anyhow::{Context, Result, ensure};
use plan::scenarios;
use record::{Diagnosis, Experiment, LimitsRun, Observation, Profile, Trial};
use report::{Story, Style};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use workload::fio;

const PROGRAM: &str = env!("CARGO_BIN_EXE_halfpower");
/// Root of the repository.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// glibc's arenas reserve 64 MiB of address space each, and address space is limited. Twenty threads would
/// exhaust it, and a thread that gets no initial memory panics.
const ARENAS: (&str, &str) = ("MALLOC_ARENA_MAX", "1");

/// A reader under test.
pub(super) struct Reader {
    pub(super) name: &'static str,
    pub(super) corpus: fn() -> Result<Vec<Vec<u8>>>,
    /// Reads an input; returns its behaviour, or a fault other than a panic.
    pub(super) read: fn(&[u8]) -> Result<String, String>,
}

pub(super) const READERS: [Reader; 8] = [
    Reader { name: "importers", corpus: samples, read: import },
    Reader { name: "documents", corpus: documents, read: document },
    Reader { name: "designs", corpus: designs, read: design },
    Reader { name: "simulated", corpus: simulated, read: simulated_device },
    Reader { name: "machines", corpus: described, read: described_device },
    Reader { name: "loads", corpus: loads, read: load },
    Reader { name: "jobs", corpus: job_files, read: job_file },
    Reader { name: "commands", corpus: commands, read: command },
];

/// All files of a folder of the repository with this ending.
fn files(folder: &str, ending: &str) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Path::new(ROOT).join(folder)).context(folder.to_owned())? {
        let path = entry?.path();
        if path.is_file() && path.to_string_lossy().ends_with(ending) {
            found.push(std::fs::read(path)?);
        }
    }
    Ok(found)
}

/// The pages of the documentation.
fn pages() -> Result<Vec<String>> {
    let pages = files("docs", ".md")?.into_iter().chain(files(".", "README.md")?);
    pages.map(|page| Ok(String::from_utf8(page)?)).collect()
}

/// Words of the documentation with this prefix, up to a blank or a quote.
fn words_of_docs(begin: &str) -> Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for page in pages()? {
        let ends = |sign: char| sign.is_whitespace() || "`'\"|)".contains(sign);
        let words = page.split(ends).filter(|word| word.starts_with(begin));
        found.extend(words.map(|word| word.as_bytes()[begin.len()..].to_vec()));
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// Example command lines in the documentation that call the program.
fn examples() -> Result<Vec<String>> {
    let mut found = Vec::new();
    for page in pages()? {
        let lines = page.lines().filter_map(|line| line.trim().split_once("halfpower "));
        found.extend(lines.map(|(_, words)| words.replace('`', "")));
    }
    Ok(found)
}

/// fio examples of the documentation, and a job file with most of the syntax.
fn job_files() -> Result<Vec<Vec<u8>>> {
    const MOST: &str = "; jobs\n[global]\ndirect=1\nsize=${SIZE}\nkb_base=1000\n[one]\nrw=randrw:8\n\
                        bssplit=4k/60:64KiB/40\nrandom_distribution=zipf:1.2\nfilename=a\\:b:c\n[two]\nstonewall\n\
                        include more\nruntime=5m\ntime_based\nrate_iops=100\nnumjobs=3\nfdatasync=1\nverify=crc32c\n";
    let of_words = examples()?.into_iter().filter(|line| line.contains("--name="));
    let as_file = |line: String| {
        let lines = line.split_ascii_whitespace().map(|word| word.trim_start_matches('-'));
        format!("[job]\n{}", lines.collect::<Vec<_>>().join("\n")).into_bytes()
    };
    Ok(of_words.map(as_file).chain([MOST.as_bytes().to_vec()]).collect())
}

fn job_file(bytes: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let include = |name: &str| Err(format!("no {name} here"));
    let environment = |name: &str| (name == "SIZE").then(|| "1m".to_owned());
    let whats = |errors: Vec<fio::FioError>| -> String {
        errors.into_iter().map(|error| error.what).collect()
    };
    let sections = match fio::read_file("jobs", &text, &[], &include, &environment) {
        Ok(sections) => sections,
        Err(errors) => return Ok(whats(errors)),
    };
    let kind = |name: &str| match name.len() {
        length if length % 3 == 0 => fio::FileKind::Missing,
        length if length % 3 == 1 => fio::FileKind::Folder,
        length => fio::FileKind::File { bytes: (length % 2 == 0).then_some(1 << 30) },
    };
    let mut behaviour = String::new();
    for section in &sections {
        behaviour += &match fio::run_of(section, &kind) {
            Ok(run) => run.words.into_iter().filter(|word| word.starts_with("--")).collect(),
            Err(errors) => whats(errors),
        };
    }
    Ok(behaviour)
}

fn samples() -> Result<Vec<Vec<u8>>> {
    files("crates/import/tests/samples", "")
}

/// Makes every form of a page; returns the first words of the terminal's lines.
fn show(story: &Story) -> String {
    let one = std::slice::from_ref(story);
    let forms = [report::markdown(one), report::report_html(one)];
    let text = report::terminal(story, &Style::default());
    let lines = text.lines().filter_map(|line| line.split_whitespace().next());
    format!("{} forms: {}", forms.len(), lines.collect::<Vec<_>>().join(" "))
}

fn import(bytes: &[u8]) -> Result<String, String> {
    let options = import::Options { interval_ns: Some(1_000_000_000), ..Default::default() };
    let observations = match import::read(&[bytes], None, &options) {
        Ok(observations) => observations,
        Err(error) => return Ok(error.to_string()),
    };
    let mut behaviour = String::new();
    for observation in observations {
        show(&report::observation(&observation));
        let found =
            diagnose::diagnose(&observation, &|_| None, &diagnose::DiagnoseOptions::default());
        behaviour += &show(&report::diagnosis(&found));
        for finding in &observation.findings {
            behaviour += &format!("{:?} ", finding.code);
        }
    }
    Ok(behaviour)
}

/// JSON output of the program about simulated devices.
fn documents() -> Result<Vec<Vec<u8>>> {
    const DEVICE: &str = "sim:mmc,servers=4,service=1ms";
    let load = "rw=randread rate-iops=900 arrival=poisson";
    let commands: [&[&str]; 5] = [
        &["run", DEVICE, "--runtime", "1s"],
        &["check", DEVICE, "--budget", "20s"],
        &["sweep", "friedman", DEVICE, "--runtime", "100ms", "--set", "bs=4k,64k"],
        &["limits", DEVICE, "--budget", "20s"],
        &["diagnose", DEVICE, "--load", load],
    ];
    let mut found = Vec::new();
    for words in commands {
        let ended = Command::new(PROGRAM)
            .args(words)
            .args(["--json", "--no-save"])
            .env(ARENAS.0, ARENAS.1)
            .output()?;
        ensure!(!ended.stdout.is_empty(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
        found.push(ended.stdout);
    }
    Ok(found)
}

fn document(bytes: &[u8]) -> Result<String, String> {
    let tries = [
        shown::<Trial>(bytes, report::trial),
        shown::<Profile>(bytes, |profile| report::profile(profile, &[])),
        shown::<Experiment>(bytes, |experiment| report::experiment(experiment, &[])),
        shown::<LimitsRun>(bytes, report::limits),
        shown::<Diagnosis>(bytes, report::diagnosis),
        shown::<Observation>(bytes, report::observation),
    ];
    Ok(tries.into_iter().flatten().collect())
}

fn shown<D: DeserializeOwned>(bytes: &[u8], story: fn(&D) -> Story) -> Option<String> {
    Some(show(&story(&serde_json::from_slice(bytes).ok()?)))
}

fn designs() -> Result<Vec<Vec<u8>>> {
    files("crates/workload/designs", ".toml")
}

fn design(bytes: &[u8]) -> Result<String, String> {
    let read = workload::Design::parse("fuzz", &String::from_utf8_lossy(bytes));
    Ok(read.map_or_else(|error| error.to_string(), |_| "read".to_owned()))
}

fn simulated() -> Result<Vec<Vec<u8>>> {
    words_of_docs("sim:")
}

fn simulated_device(bytes: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let spec = match simdisk::SimSpec::parse(&text) {
        Ok(spec) => spec,
        Err(error) => return Ok(error.to_string()),
    };
    Ok(format!("read, {} B", spec.size().0))
}

/// Devices of the catalogue as user files, and one that changes another.
fn described() -> Result<Vec<Vec<u8>>> {
    const CHANGED: &str = "like = \"st15150w\"\ndisks = 2 # two\n[drive]\nlike = 'atlas10k'\nspeed = 7_200\n\
                           settling = '0.8 ms'\n[bus]\nlike = \"ata66\"\nrate-in = \"33 MB/s\"\n";
    let names = simdisk::FAMILIES.iter().flat_map(|family| family.kinds).map(|kind| kind.name);
    let shown = names.map(simdisk::SimSpec::shown).collect::<Result<Vec<_>, _>>()?;
    Ok(shown.into_iter().chain([CHANGED.to_owned()]).map(String::into_bytes).collect())
}

fn described_device(bytes: &[u8]) -> Result<String, String> {
    let failed = |error: std::io::Error| error.to_string();
    let mut file = tempfile::Builder::new().suffix(".toml").tempfile().map_err(failed)?;
    std::io::Write::write_all(&mut file, bytes).map_err(failed)?;
    let path = file.path().to_string_lossy().into_owned();
    let named = |text: String| text.replace(&path, "FILE");
    match simdisk::SimSpec::parse(&path) {
        // The printed description must give the same device.
        Ok(spec) => match simdisk::SimSpec::shown(&path).map(|text| std::fs::write(&path, text)) {
            Ok(Ok(())) => match simdisk::SimSpec::parse(&path) {
                Ok(again) if again.kind == spec.kind => Ok(format!("read, {} B", spec.size().0)),
                Ok(_) => Err("is another device from the file that it is shown as".to_owned()),
                Err(error) => Err(named(format!("shown and refused: {error}"))),
            },
            Ok(Err(error)) => Err(error.to_string()),
            Err(error) => Err(named(format!("read and not shown: {error}"))),
        },
        Err(error) => Ok(named(error.to_string())),
    }
}

fn loads() -> Result<Vec<Vec<u8>>> {
    let words = ["rw=randread rate-iops=900 arrival=poisson", "iodepth=8 from=1s for=3s limit=100"];
    Ok(words.map(|words| words.as_bytes().to_vec()).to_vec())
}

fn load(bytes: &[u8]) -> Result<String, String> {
    let read = scenarios::LoadWords::parse(&String::from_utf8_lossy(bytes));
    Ok(read.map_or_else(|error| error, |load| format!("read, {} flags", load.flags.len().min(3))))
}

/// Maximum time of a command. A longer one is killed, which is not an error.
const COMMAND: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(2);

fn commands() -> Result<Vec<Vec<u8>>> {
    Ok(examples()?.into_iter().map(String::into_bytes).collect())
}

/// Runs the program as an unprivileged user in an empty folder, which is then removed.
fn command(bytes: &[u8]) -> Result<String, String> {
    let text = String::from_utf8_lossy(bytes).replace('\0', "");
    let failed = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(failed)?;
    let work = folder.path().join("work");
    let copy: PathBuf = std::env::temp_dir().join("halfpower-fuzzed");
    // Once per process: a copy left by an earlier process may be of another build.
    static INSTALLED: OnceLock<bool> = OnceLock::new();
    if !INSTALLED.get_or_init(|| testkit::install_program(Path::new(PROGRAM), &copy).is_ok()) {
        return Err(format!("cannot be copied to {}", copy.display()));
    }
    let open = |path: &Path, mode| {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))
    };
    std::fs::create_dir(&work).and_then(|()| open(folder.path(), 0o755)).map_err(failed)?;
    open(&work, 0o777).map_err(failed)?;
    let errors = std::fs::File::create(folder.path().join("errors")).map_err(failed)?;
    let mut child = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(text.split_whitespace())
        .current_dir(&work)
        .env("HOME", &work)
        .env("HALFPOWER_DB", work.join("fuzz.db"))
        .env(ARENAS.0, ARENAS.1)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors)
        .spawn()
        .map_err(failed)?;
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            break Some(status);
        }
        if begin.elapsed() > COMMAND {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            break None;
        }
        std::thread::sleep(POLL);
    };
    let said = std::fs::read(folder.path().join("errors")).map_err(failed)?;
    let said = String::from_utf8_lossy(&said);
    if let Some(line) = said.lines().find(|line| line.contains("panicked at")) {
        return Err(line.to_owned());
    }
    match status {
        None => Ok("it went on".to_owned()),
        Some(status) => match status.code() {
            Some(code) => Ok(format!("{code} {}", said.lines().next().unwrap_or_default())),
            None => Err(format!("ended by {status}: {said}")),
        },
    }
}
