//! Starts a load: by the program itself, or by fio for requests that the program cannot make (libaio,
//! blocking calls, the page cache).

use anyhow::Result;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use testkit::{MemoryGroup, Throttle, ThrottledGroup, Undo};

/// Size of the files of `run`; size and name of fio's file, which is written before any load.
pub(super) const FILE: &str = "256m";
pub(super) const BUFFERED: u64 = 512 << 20;
pub(super) const LOADED: &str = "load";
/// Name of a file that is written and removed during a load.
pub(super) const FLOODED: &str = "flood";
/// Name and size of the fragmented file.
pub(super) const FRAGMENTED: &str = "pieces/file";
pub(super) const FRAGMENTED_BYTES: u64 = 128 << 20;
/// Maximum duration of a load.
const RUNTIME_S: u32 = 90;

/// A load as command-line words, and how to start it.
#[derive(Clone, Debug)]
pub(super) struct Load {
    words: String,
    fio: bool,
    held: Option<(Throttle, u64)>,
    memory: Option<u64>,
    /// Whether it runs in the idle I/O class.
    idle_class: bool,
    file: &'static str,
}

impl Load {
    pub(super) fn run(words: &str) -> Self {
        Self {
            words: words.to_owned(),
            fio: false,
            held: None,
            memory: None,
            idle_class: false,
            file: LOADED,
        }
    }

    fn fio(words: String) -> Self {
        Self { words, fio: true, ..Self::run("") }
    }

    /// Constant queue depth.
    pub(super) fn closed(rw: &str, depth: u64) -> Self {
        Self::run(&format!("--rw {rw} --bs 4k --iodepth {depth}"))
    }

    /// Open loop with this many arrivals per second, regardless of latency.
    pub(super) fn open(rw: &str, per_s: u64, arrival: &str) -> Self {
        let arrival = format!("--rate-iops {per_s} --arrival {arrival} --iodepth 64");
        Self::run(&format!("--rw {rw} --bs 4k {arrival}"))
    }

    /// Large sequential requests.
    pub(super) fn in_order(rw: &str) -> Self {
        Self::run(&format!("--rw {rw} --bs 64k --iodepth 4"))
    }

    /// Blocking direct I/O, one request at a time.
    pub(super) fn sync(rw: &str, more: &str) -> Self {
        Self::fio(format!("--rw={rw} --bs=4k --direct=1 --ioengine=psync {more}"))
    }

    pub(super) fn libaio(rw: &str, depth: u64, more: &str) -> Self {
        Self::fio(format!(
            "--rw={rw} --bs=4k --direct=1 --ioengine=libaio --iodepth={depth} {more}"
        ))
    }

    /// Blocking calls through the page cache, which is cold at first.
    pub(super) fn buffered(rw: &str, more: &str) -> Self {
        let cold = "--invalidate=1 --fadvise_hint=0";
        Self::fio(format!("--rw={rw} --bs=4k --ioengine=psync {cold} {more}"))
    }

    pub(super) fn held(mut self, limit: Throttle, per_s: u64) -> Self {
        self.held = Some((limit, per_s));
        self
    }

    pub(super) fn in_memory(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    pub(super) fn of_file(mut self, file: &'static str) -> Self {
        self.file = file;
        self
    }

    pub(super) fn in_idle_class(mut self) -> Self {
        self.idle_class = true;
        self
    }

    /// Starts the load in a folder. Its limit is set later, because with it, writing the file would take
    /// minutes.
    pub(super) fn start(&self, binary: &Path, folder: &Path) -> Result<Running> {
        let mut groups = Groups::default();
        let mut command = Command::new("env");
        if let Some((limit, per_s)) = self.held {
            let group = ThrottledGroup::new()?;
            command = group.entered();
            groups.held = Some((group, limit, per_s));
        }
        if let Some(bytes) = self.memory {
            let group = MemoryGroup::new(bytes)?;
            command = group.entered();
            groups.memory = Some(group);
        }
        if self.idle_class {
            command.args(["ionice", "-c", "3"]);
        }
        let words = &self.words;
        if self.fio {
            let bytes = if self.file == LOADED { BUFFERED } else { FRAGMENTED_BYTES };
            let file = format!("--thread --name=load --filename={} --size={bytes}", self.file);
            let time = format!("--time_based --runtime={RUNTIME_S} --output=/dev/null");
            command.arg("fio").args(format!("{file} {time} {words}").split_whitespace());
        } else {
            // With a cache mode in the words, --direct is omitted.
            let direct = if words.contains("--cache") { "" } else { "--direct" };
            let all =
                format!("run . --size {FILE} {direct} --runtime {RUNTIME_S}s --no-save {words}");
            command.arg(binary).args(all.split_whitespace());
        }
        command.current_dir(folder);
        Running::new(command, groups)
    }
}

#[derive(Default)]
struct Groups {
    held: Option<(ThrottledGroup, Throttle, u64)>,
    memory: Option<MemoryGroup>,
}

/// A running load; it is ended on drop.
pub(super) struct Running {
    child: Child,
    /// Ends the load if a signal ends this process.
    undo: Undo,
    groups: Groups,
}

impl Running {
    fn new(mut command: Command, groups: Groups) -> Result<Self> {
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let undo = Undo::process(child.id());
        Ok(Self { child, undo, groups })
    }

    /// Starts any program.
    pub(super) fn of(command: Command) -> Result<Self> {
        Self::new(command, Groups::default())
    }

    /// Starts a shell script in a folder.
    pub(super) fn script(folder: &Path, script: &str) -> Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        Self::new(command, Groups::default())
    }

    /// Sets or removes the limit.
    pub(super) fn limit(&self, device: &Path, on: bool) -> Result<()> {
        if let Some((group, limit, per_s)) = &self.groups.held {
            group.limit(device, *limit, if on { *per_s } else { 0 })?;
        }
        Ok(())
    }

    /// Whether the load has written its file. From then on, `run` uses direct I/O and io_uring's rings are
    /// open. fio finds its file.
    pub(super) fn is_measuring(&self) -> bool {
        let Ok(open) = std::fs::read_dir(format!("/proc/{}/fd", self.child.id())) else {
            return true;
        };
        let told =
            |to: &str| to.contains("io_uring") || to.ends_with(LOADED) || to.ends_with(FRAGMENTED);
        open.flatten().any(|entry| {
            std::fs::read_link(entry.path()).is_ok_and(|to| told(&to.to_string_lossy()))
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.undo.forget();
    }
}
