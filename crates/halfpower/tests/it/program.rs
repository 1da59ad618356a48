//! Runs the program as a child process: starts, watches and signals it, and kills it if it hangs.

use record::{Finding, FindingCode, Profile, Trial};
use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testkit::install_program;

/// Longer than any command here takes on a slow and busy machine. A command that takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(300);
/// How often a child is polled.
const POLL: Duration = Duration::from_millis(2);

/// How a command ended, and its output.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Exit code; `None` if a signal killed it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Outcome {
    /// Checks the exit code, and that the program did not panic.
    #[track_caller]
    pub(crate) fn expect(self, code: i32) -> Self {
        assert!(!self.stderr.contains("panicked"), "{self:#?}");
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }

    /// Checks that the program rejected bad input: this exit code, one message with all these words, and
    /// nothing on standard output.
    #[track_caller]
    pub(crate) fn refuses(self, code: i32, words: &[&str]) {
        let ended = self.expect(code);
        assert_eq!(ended.stdout, "", "{ended:#?}");
        let is_message = |line: &&str| {
            line.starts_with("error: ")
                || line.starts_with("halfpower: ") && !line.ends_with(" ...")
        };
        let messages: Vec<&str> = ended.stderr.lines().filter(is_message).collect();
        assert_eq!(messages.len(), 1, "{ended:#?}");
        for word in words {
            assert!(messages[0].contains(word), "{word:?} is not in {:?}", messages[0]);
        }
    }

    /// The trial that was printed as JSON.
    #[track_caller]
    pub(crate) fn trial(&self) -> Trial {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// The profile that was printed as JSON.
    #[track_caller]
    pub(crate) fn profile(&self) -> Profile {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }
}

/// The program, without the environment settings of the user who runs the tests.
pub(crate) fn program() -> Command {
    cleaned(Command::new(env!("CARGO_BIN_EXE_halfpower")))
}

/// The program under another one, such as strace, whose words come first.
pub(crate) fn program_under(words: &str) -> Command {
    let mut parts = words.split_whitespace();
    let mut command = cleaned(Command::new(parts.next().unwrap()));
    command.args(parts).arg(env!("CARGO_BIN_EXE_halfpower"));
    command
}

/// The program as an unprivileged user, copied to a folder that this user can reach.
pub(crate) fn unprivileged(folder: &Path) -> Command {
    let copy = folder.join("halfpower");
    install_program(Path::new(env!("CARGO_BIN_EXE_halfpower")), &copy).unwrap();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
    let mut command = cleaned(Command::new("setpriv"));
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(copy);
    command
}

fn cleaned(mut command: Command) -> Command {
    for name in ["HALFPOWER_DB", "NO_COLOR", "COLUMNS", "TERM"] {
        command.env_remove(name);
    }
    // No folder can be created there, so a test that names no database fails and leaves none.
    command.env("XDG_DATA_HOME", "/proc/none").stdin(Stdio::null());
    command
}

/// Runs the program with these words.
pub(crate) fn halfpower(words: &str) -> Outcome {
    run(program(), words)
}

/// Runs the program in a folder.
pub(crate) fn halfpower_in(folder: &Path, words: &str) -> Outcome {
    let mut command = program();
    command.current_dir(folder);
    run(command, words)
}

/// Runs a command with these words.
pub(crate) fn run(mut command: Command, words: &str) -> Outcome {
    command.args(words.split_whitespace());
    // Pages as on a terminal: a file has wider rows. Help texts keep their usual width.
    if !words.contains("help") {
        command.env("COLUMNS", "80");
    }
    Running::start(command).end()
}

/// A running command. Its output goes to files, so it never waits for a reader.
pub(crate) struct Running {
    child: Child,
    streams: TempDir,
}

impl Running {
    /// Starts a command.
    pub(crate) fn start(mut command: Command) -> Self {
        let streams = tempfile::tempdir().unwrap();
        let file = |name: &str| File::create(streams.path().join(name)).unwrap();
        command.stdout(file("stdout")).stderr(file("stderr"));
        Self { child: command.spawn().unwrap(), streams }
    }

    /// Its standard input, if that is a pipe.
    pub(crate) fn input(&mut self) -> ChildStdin {
        self.child.stdin.take().unwrap()
    }

    /// Starts a command with the streams that the caller has set.
    pub(crate) fn start_as_set(mut command: Command) -> Self {
        Self { child: command.spawn().unwrap(), streams: tempfile::tempdir().unwrap() }
    }

    fn stream(&self, name: &str) -> String {
        let bytes = std::fs::read(self.streams.path().join(name)).unwrap_or_default();
        String::from_utf8(bytes).unwrap()
    }

    /// Its standard output so far.
    pub(crate) fn said(&self) -> String {
        self.stream("stdout")
    }

    /// Its standard error so far.
    pub(crate) fn complained(&self) -> String {
        self.stream("stderr")
    }

    /// Waits until its standard error contains these words.
    #[track_caller]
    pub(crate) fn wait_for(&mut self, words: &str) {
        let start = Instant::now();
        while !self.stream("stderr").contains(words) {
            let ended = self.child.try_wait().unwrap();
            let said = self.stream("stderr");
            assert!(ended.is_none() || said.contains(words), "it never said {words:?}: {said}");
            assert!(start.elapsed() < PATIENCE, "it has not said {words:?}: {said}");
            std::thread::sleep(POLL);
        }
    }

    /// Waits until it has transferred more data from or to disks.
    #[track_caller]
    pub(crate) fn wait_for_transfers(&self) {
        // proc(5), /proc/pid/io.
        let moved = || -> u64 {
            let text = std::fs::read_to_string(format!("/proc/{}/io", self.child.id())).unwrap();
            let lines = text.lines().filter_map(|line| line.split_once("_bytes: "));
            let of_disks = lines.filter(|(name, _)| ["read", "write"].contains(name));
            of_disks.map(|(_, bytes)| bytes.parse::<u64>().unwrap()).sum()
        };
        let (start, before) = (Instant::now(), moved());
        while moved() < before + 65_536 {
            assert!(start.elapsed() < PATIENCE, "it transfers nothing");
            std::thread::sleep(POLL);
        }
    }

    /// Whether it has ended.
    pub(crate) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Sends a signal, by its name without `SIG`.
    pub(crate) fn signal(&self, name: &str) {
        let command = format!("kill -s {name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    }

    /// Kills it with SIGKILL.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
    }

    /// Waits until it ends.
    #[track_caller]
    pub(crate) fn end(mut self) -> Outcome {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "it hangs: {}", self.stream("stderr"));
            std::thread::sleep(POLL);
        };
        let (stdout, stderr) = (self.stream("stdout"), self.stream("stderr"));
        Outcome { code: status.code(), stdout, stderr }
    }
}

impl Drop for Running {
    /// Kills the process, so that a failed test leaves none behind.
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

/// A trial with these words after `run`, which is not saved. Checks the exit code.
#[track_caller]
pub(crate) fn trial(code: i32, words: &str) -> Trial {
    halfpower(&format!("run {words} --no-save --json")).expect(code).trial()
}

/// A profile with these words after `check`, which is not saved. Checks the exit code. Tests that check a
/// simulated device with the same words share one check.
#[track_caller]
pub(crate) fn profile(code: i32, words: &str) -> Profile {
    let check = || halfpower(&format!("check {words} --no-save --json"));
    let ended =
        if words.starts_with("sim:") { once(words, || (check(), Vec::new())).0 } else { check() };
    ended.expect(code).profile()
}

/// Checks a simulated device with these words, and saves the results in a database that does not exist yet.
/// Tests with the same words share one check: each gets a copy of its database.
#[track_caller]
pub(crate) fn profiled_into(database: &Path, words: &str) -> Outcome {
    let (ended, saved) = once(&format!("{words} --db"), || {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kept.db");
        let ended = halfpower(&format!("check {words} --json --db {}", path.display()));
        // The last program that closes a database leaves one file.
        assert_eq!(names(folder.path()), ["kept.db"]);
        (ended, std::fs::read(path).unwrap())
    });
    assert!(!database.exists());
    std::fs::write(database, saved).unwrap();
    ended.expect(0)
}

/// The outcome and the database of a check of a simulated device.
type Checked = (Outcome, Vec<u8>);

/// The result of the first `check` with these words: a simulated document depends on its command line alone,
/// which `determinism` tests.
fn once(words: &str, check: impl FnOnce() -> Checked) -> Checked {
    static DONE: Mutex<BTreeMap<String, Arc<OnceLock<Checked>>>> = Mutex::new(BTreeMap::new());
    let mut done = DONE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = Arc::clone(done.entry(words.to_owned()).or_default());
    drop(done);
    place.get_or_init(check).clone()
}

/// Whether one of the findings has this code.
pub(crate) fn found(findings: &[Finding], code: FindingCode) -> bool {
    findings.iter().any(|finding| finding.code == code)
}

/// The names in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}
