//! A fake machine whose counters a test writes.

use crate::program::{Outcome, Running, program};
use record::Observation;
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than the program takes to read its counters on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The files of a machine called db7.
pub(crate) struct Machine {
    folder: TempDir,
}

impl Machine {
    /// A machine with these counters, until others are written.
    pub(crate) fn new(lines: &str) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        machine.write("proc/sys/kernel/osrelease", "6.12.0\n");
        machine.write("proc/sys/kernel/hostname", "db7\n");
        machine.write("sys/class/block/none/x", "");
        machine.write("proc/diskstats", lines);
        machine
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        // Atomically, as in the kernel, so that no reader sees a partial text.
        let partial = path.with_extension("partial");
        std::fs::write(&partial, text).unwrap();
        std::fs::rename(partial, path).unwrap();
    }

    /// The flags that name this machine.
    pub(crate) fn roots(&self) -> String {
        let path = |name: &str| self.path(name).display().to_string();
        format!("--procfs {} --sysfs {}", path("proc"), path("sys"))
    }

    /// Runs a command that observes this machine. Its readings of the counters are these texts, in order. The
    /// counters are a pipe, so no reading is missed, however busy the test machine is.
    pub(crate) fn observed(&self, words: &str, readings: &[String]) -> Outcome {
        self.new_pipe();
        let mut command = program();
        let length = 20 * (readings.len() - 1);
        let words = format!("{words} --for {length}ms --interval 20ms {}", self.roots());
        command.args(words.split_whitespace());
        let running = Running::start(command);
        readings.iter().for_each(|text| self.give(text));
        running.end()
    }

    /// The recording of these readings by `record`.
    pub(crate) fn recorded(&self, readings: &[String]) -> Observation {
        let ended = self.observed("record --no-save --json", readings).expect(0);
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }

    /// Replaces the counters by a new pipe.
    fn new_pipe(&self) {
        let partial = self.path("proc/diskstats.partial");
        let mode = Mode::RUSR | Mode::WUSR;
        mknodat(CWD, &partial, FileType::Fifo, mode, 0).unwrap();
        std::fs::rename(partial, self.path("proc/diskstats")).unwrap();
    }

    /// Gives one reading to the program.
    #[track_caller]
    fn give(&self, text: &str) {
        let begin = Instant::now();
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
        let mut pipe = loop {
            // A pipe without a reader cannot be opened.
            let mut options = OpenOptions::new();
            match options.write(true).custom_flags(nonblocking).open(self.path("proc/diskstats")) {
                Ok(pipe) => break pipe,
                Err(error) => assert!(begin.elapsed() < PATIENCE, "no reading: {error}"),
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        // The next reading opens another pipe, so it cannot see the end of this one.
        self.new_pipe();
        pipe.write_all(text.as_bytes()).unwrap();
    }
}

/// A line with 20 columns, for a disk that did this many reads of 4 KiB, 1 ms each.
pub(crate) fn disk(minor: u32, name: &str, ios: u64) -> String {
    let sectors = ios * 8;
    format!("8 {minor} {name} {ios} 0 {sectors} {ios} 0 0 0 0 0 {ios} {ios} 0 0 0 0 0 0\n")
}
