//! A stack: files, loop devices, file systems and processes on top of each other, and the commands that made
//! it.
//!
//! The system's own programs make everything, and each command is logged, so that a hole can be reproduced by
//! hand. Resources that outlive this process are registered in [`testkit`]. Mounts are not, because they are
//! made in a mount namespace of this process alone.

use super::bytes::{self, Content};
use super::holder::Holder;
use super::model::{Kind, Name, Node, Span, Use};
use super::output;
use anyhow::{Context, Result, ensure};
use rustix::fs::syncfs;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Folder, LoopDevice, Undo, Zram};

/// Resources that are removed with the stack, newest first.
#[derive(Debug)]
enum Part {
    Loop { _device: LoopDevice },
    Memory { _disk: Zram },
    Change { _undo: Undo },
    Mount(PathBuf),
    Process { _holder: Holder },
}

/// A lowest file or RAM disk.
#[derive(Debug)]
pub(super) struct Base {
    pub(super) path: PathBuf,
    pub(super) label: String,
    /// Bases of the file system that contains the file; they change with it.
    pub(super) hosts: Vec<usize>,
    /// Whether its file system writes to it spontaneously.
    restless: bool,
}

#[derive(Debug)]
pub(super) struct Stack {
    pub(super) nodes: Vec<Node>,
    pub(super) bases: Vec<Base>,
    /// Shell commands that make the stack.
    pub(super) lines: Vec<String>,
    parts: Vec<Part>,
    mounts: Vec<PathBuf>,
    /// Distinguishes it from others in a list of findings.
    pub(super) note: &'static str,
    pub(super) folder: Folder,
}

impl Stack {
    pub(super) fn new(parent: &Path) -> Result<Self> {
        let folder = Folder::within(parent, "halfpower-write-safety-")?;
        let lines = vec![format!("mkdir -p {}", folder.path().display())];
        let (nodes, bases, parts, mounts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Ok(Self { nodes, bases, lines, parts, mounts, note: "", folder })
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs a shell command and logs it.
    pub(super) fn shell(&mut self, line: &str) -> Result<String> {
        let output = output(Command::new("sh").args(["-c", line]), &[0])?;
        self.lines.push(line.to_owned());
        Ok(String::from_utf8_lossy(&output).trim().to_owned())
    }

    /// Makes a folder in the stack.
    pub(super) fn make_folder(&mut self, name: &str) -> Result<PathBuf> {
        let path = self.path(name);
        self.shell(&format!("mkdir -p {}", path.display()))?;
        Ok(path)
    }

    /// Makes a file of non-repeating text; a sparse one has a hole in the middle.
    pub(super) fn file(
        &mut self,
        path: &Path,
        bytes: u64,
        sparse: bool,
        hosts: &[usize],
    ) -> Result<usize> {
        let shown = path.display();
        let line = format!(
            "awk 'BEGIN {{ for (at = 0; at < {bytes}; at += 64) \
             printf \"%-63s\\n\", at \" of data that nobody may lose\" }}' > {shown}"
        );
        self.shell(&line)?;
        if sparse {
            self.shell(&format!("fallocate -p -o {} -l 262144 {shown}", bytes / 2 / 4096 * 4096))?;
        }
        Ok(self.base(path, Kind::File, bytes, hosts.to_vec()))
    }

    /// Adds a file or RAM disk as a base with its own node.
    pub(super) fn base(&mut self, path: &Path, kind: Kind, bytes: u64, hosts: Vec<usize>) -> usize {
        let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let base = self.bases.len();
        self.bases.push(Base {
            path: path.to_owned(),
            label: label.clone(),
            hosts,
            restless: false,
        });
        let span = Span { base, start: 0, end: bytes };
        self.node(label, kind, span, None, path)
    }

    fn node(
        &mut self,
        label: String,
        kind: Kind,
        span: Span,
        over: Option<usize>,
        path: &Path,
    ) -> usize {
        self.nodes.push(Node {
            label,
            kind,
            span,
            over,
            uses: Vec::new(),
            names: vec![Name { path: path.to_owned(), how: "its path" }],
            user_names: vec![path.to_owned()],
            enter: Vec::new(),
            only_read_by_users: false,
        });
        self.nodes.len() - 1
    }

    /// Makes a RAM disk, filled like a file.
    pub(super) fn memory(&mut self, bytes: u64) -> Result<usize> {
        let disk = Zram::new(bytes)?;
        let path = disk.path().to_owned();
        self.lines.push(format!("zramctl --find --size {bytes}  # {}", path.display()));
        self.parts.push(Part::Memory { _disk: disk });
        Ok(self.base(&path, Kind::Device, bytes, Vec::new()))
    }

    /// Makes a loop device over a node, from an offset, with a size limit (0: none).
    pub(super) fn loop_over(
        &mut self,
        node: usize,
        name: &Path,
        offset: u64,
        limit: u64,
    ) -> Result<usize> {
        let below = &self.nodes[node];
        let mut span = below.span;
        span.start += offset;
        if limit > 0 {
            span.end = span.end.min(span.start + limit);
        }
        let mut options = vec![format!("--offset={offset}"), format!("--sizelimit={limit}")];
        if below.only_read_by_users {
            options.push("--read-only".to_owned());
        }
        let words: Vec<&str> = options.iter().map(String::as_str).collect();
        let device = LoopDevice::over(name, &words)?;
        let path = device.path().to_owned();
        let made = format!("losetup --find --show {} {}", options.join(" "), name.display());
        self.lines.push(format!("{made}  # {}", path.display()));
        self.parts.push(Part::Loop { _device: device });
        let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.node(label, Kind::Device, span, Some(node), &path))
    }

    /// Adds a partition that only the kernel knows.
    pub(super) fn partition(&mut self, node: usize, start: u64, bytes: u64) -> Result<usize> {
        let disk = self.nodes[node].user_names[0].clone();
        let (path, undo) = testkit::partition(&disk, 1, start / 512, bytes / 512)?;
        self.lines.push(format!("addpart {} 1 {} {}", disk.display(), start / 512, bytes / 512));
        self.parts.push(Part::Change { _undo: undo });
        let mut span = self.nodes[node].span;
        span.start += start;
        span.end = span.end.min(span.start + bytes);
        let label = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(self.node(label, Kind::Device, span, Some(node), &path))
    }

    /// Mounts with these arguments of mount(8) on a new folder.
    pub(super) fn mount(&mut self, words: &str, folder: &str) -> Result<PathBuf> {
        let place = self.make_folder(folder)?;
        self.shell(&format!("mount {words} {}", place.display()))?;
        self.mounted(&place);
        Ok(place)
    }

    /// Registers a mount, to be unmounted later.
    pub(super) fn mounted(&mut self, place: &Path) {
        self.parts.push(Part::Mount(place.to_owned()));
        self.mounts.push(place.to_owned());
    }

    /// Excludes a mount from synchronisation: it was unmounted, or another one covers it.
    pub(super) fn not_to_sync(&mut self, place: &Path) {
        self.mounts.retain(|mount| mount != place);
    }

    /// Marks the file system on this node as writing spontaneously.
    pub(super) fn restless(&mut self, node: usize) {
        self.bases[self.nodes[node].span.base].restless = true;
    }

    pub(super) fn keep(&mut self, undo: Undo) {
        self.parts.push(Part::Change { _undo: undo });
    }

    /// Starts a process that holds something. Returns its first output and its process id.
    pub(super) fn hold(&mut self, words: &[String]) -> Result<(String, u32)> {
        let holder = Holder::start(words)?;
        let answer = (holder.said.clone(), holder.process());
        let shown: Vec<String> = words.iter().map(|word| super::quoted(word)).collect();
        self.lines.push(format!("sleep 600 | {} &", shown.join(" ")));
        self.parts.push(Part::Process { _holder: holder });
        Ok(answer)
    }

    /// The content of all bases, after synchronisation.
    pub(super) fn contents(&self) -> Result<Vec<Option<Content>>> {
        for mount in &self.mounts {
            syncfs(File::open(mount)?).with_context(|| mount.display().to_string())?;
        }
        for node in self.nodes.iter().rev().filter(|node| node.kind == Kind::Device) {
            let name = &node.user_names[0];
            let synced = File::open(name).and_then(|device| device.sync_all());
            synced.with_context(|| format!("cannot write out {}", name.display()))?;
        }
        let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
        let content = |(at, base): (usize, &Base)| {
            let steady = !base.restless && !self.swapped_out(at, &swaps);
            steady.then(|| bytes::content(&base.path)).transpose()
        };
        self.bases.iter().enumerate().map(content).collect()
    }

    /// Whether the kernel has swapped out pages to a base.
    fn swapped_out(&self, base: usize, swaps: &str) -> bool {
        let areas = self.nodes.iter().filter(|node| node.span.base == base);
        areas.filter(|node| node.uses.contains(&Use::Swap)).any(|node| {
            let device = Path::new("/dev").join(&node.label);
            let is_area = |name: &str| {
                let name = Path::new(name);
                name == device || name == self.bases[base].path
            };
            let words = swaps.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            let mut lines = words.filter(|words| words.first().is_some_and(|name| is_area(name)));
            lines.any(|words| words.get(3).is_some_and(|used| *used != "0"))
        })
    }

    /// The base, and those that change with it.
    pub(super) fn with_hosts(&self, base: usize) -> Vec<usize> {
        let mut all = vec![base];
        for host in &self.bases[base].hosts {
            all.extend(self.with_hosts(*host));
        }
        all
    }

    /// Whether the base of a node has a signature, which a write to the node may destroy.
    pub(super) fn signed(&self, node: usize) -> bool {
        let base = self.nodes[node].span.base;
        self.nodes.iter().any(|it| it.span.base == base && it.uses.contains(&Use::Signature))
    }

    /// A line per node.
    pub(super) fn drawing(&self) -> String {
        let mut text = String::new();
        for node in &self.nodes {
            let below = match node.over {
                Some(below) => {
                    let from = node.span.start - self.nodes[below].span.start;
                    format!(" over {} from byte {from}", self.nodes[below].label)
                }
                None => String::new(),
            };
            let uses: Vec<&str> = node.uses.iter().map(|it| it.words()).collect();
            let uses = if uses.is_empty() { "free".to_owned() } else { uses.join(", ") };
            let bytes = node.span.end - node.span.start;
            text += &format!("  {}{below}, {bytes} bytes: {uses}\n", node.label);
        }
        text
    }

    /// Registers a use.
    pub(super) fn used(&mut self, node: usize, how: Use) {
        self.nodes[node].uses.push(how);
    }

    /// The name of a device without its folder.
    pub(super) fn device_name(&self, node: usize) -> Result<String> {
        let node = &self.nodes[node];
        ensure!(node.kind == Kind::Device, "{} is no device", node.label);
        Ok(node.label.clone())
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        while let Some(part) = self.parts.pop() {
            let Part::Mount(place) = &part else { continue };
            // A former user may take a moment to release it; a lazy unmount ends with its last user.
            let quiet = |words: &[&str]| {
                let done = Command::new("umount").args(words).arg(place).output();
                done.is_ok_and(|output| output.status.success())
            };
            if !quiet(&[]) && !quiet(&["--lazy"]) {
                eprintln!("{} stays mounted", place.display());
            }
        }
    }
}
