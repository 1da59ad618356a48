//! Starts a load: by the program itself, or by fio for requests that the program cannot make (libaio,
//! blocking calls, the page cache).

use anyhow::{Result, bail};
use serde::Deserialize;
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
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Load {
    /// Words of halfpower's `run`, or of fio.
    run: Option<String>,
    fio: Option<String>,
    /// A limit of its control group, by the kernel's name, and its value.
    held: Option<(String, u64)>,
    /// Limit of its memory in bytes.
    memory: Option<u64>,
    /// Whether it runs in the idle I/O class.
    #[serde(default)]
    idle: bool,
    /// Whether it uses the fragmented file.
    #[serde(default)]
    pieces: bool,
}

impl Load {
    /// Starts the load in a folder. Its limit is set later, because with it, writing the file would take
    /// minutes.
    pub(super) fn start(&self, binary: &Path, folder: &Path) -> Result<Running> {
        let mut groups = Groups::default();
        let mut command = Command::new("env");
        if let Some((limit, per_s)) = &self.held {
            let limit = match limit.as_str() {
                "read_iops" => Throttle::ReadIops,
                "write_iops" => Throttle::WriteIops,
                "read_bytes" => Throttle::ReadBytes,
                "write_bytes" => Throttle::WriteBytes,
                other => bail!("no group is limited in {other}"),
            };
            let group = ThrottledGroup::new()?;
            command = group.entered();
            groups.held = Some((group, limit, *per_s));
        }
        if let Some(bytes) = self.memory {
            let group = MemoryGroup::new(bytes)?;
            command = group.entered();
            groups.memory = Some(group);
        }
        if self.idle {
            command.args(["ionice", "-c", "3"]);
        }
        if let Some(words) = &self.fio {
            let (file, bytes) =
                if self.pieces { (FRAGMENTED, FRAGMENTED_BYTES) } else { (LOADED, BUFFERED) };
            let file = format!("--thread --name=load --filename={file} --size={bytes}");
            let time = format!("--time_based --runtime={RUNTIME_S} --output=/dev/null");
            command.arg("fio").args(format!("{file} {time} {words}").split_whitespace());
        }
        if let Some(words) = &self.run {
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
