//! Finds programs that have a file or device open for writing, mapped or locked.
//!
//! Descriptors are checked in order of cost. First the flags, because most are open only for reading; then
//! the mount of the file, because reading the state of a file on a dead server would hang; then its state.
//! Threads that share a descriptor table (kcmp(2)) are checked once; if the kernel does not support that,
//! each thread is checked. Rejected: pidfd_getfd, which needs more rights than reading /proc.

use super::Use;
use super::layers::{FileId, FileNames};
use super::reach::{Part, Reach};
use crate::kernel::Roots;
use crate::kernel::device::numbers;
use crate::kernel::mounts::{Mount, mounts_of_process};
use crate::kernel::read::{field, names, text};
use crate::target::linux::unsafe_calls::share_descriptors;
use rustix::fs::FileType;
use std::fs;
use std::path::{Path, PathBuf};

/// Link target of a ring's descriptor; a ring keeps files open that its program has closed.
const RING: &str = "anon_inode:[io_uring]";
/// File systems whose file state comes from another machine or program.
const ELSEWHERE: [&str; 9] =
    ["nfs", "nfs4", "cifs", "smb3", "ceph", "9p", "autofs", "fuse", "fuseblk"];

/// The first program that has any of these parts open.
pub(super) fn find(roots: &Roots, reach: &Reach) -> Option<Use> {
    let ours = std::process::id().to_string();
    let search = Search { roots, reach, program: FileId::of_path(&roots.proc.join("self/exe")) };
    let mut others = numbers_of_processes(roots);
    others.retain(|process| *process != ours);
    others.iter().find_map(|process| search.process(process)).or_else(|| search.locks(&ours))
}

pub(super) fn numbers_of_processes(roots: &Roots) -> Vec<String> {
    let mut all = names(&roots.proc);
    all.retain(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    all
}

struct Search<'a> {
    roots: &'a Roots,
    reach: &'a Reach,
    /// This program's own executable.
    program: Option<FileId>,
}

impl Search<'_> {
    fn process(&self, process: &str) -> Option<Use> {
        let folder = self.roots.proc.join(process);
        let found = self.descriptors(&folder).or_else(|| {
            // A thread may have its own descriptor table (unshare(2)), and the first thread may have ended.
            let tasks = folder.join("task");
            let own = |task: &String| task != process && !share_descriptors(process, task);
            let apart = names(&tasks).into_iter().filter(own);
            apart.into_iter().find_map(|task| self.descriptors(&tasks.join(task)))
        });
        let (part, how) = found.or_else(|| Some((self.mapped(&folder)?, "mapped for writing")))?;
        if part.file().is_some() && self.is_our_program(&folder) {
            // Another client of the same load, which only writes test data.
            return None;
        }
        let program = text(&folder.join("comm")).unwrap_or_default();
        Some(Use {
            why: part.says(&format!("is {how} by process {process} ({program:?})")),
            remedy: "end that process first".to_owned(),
        })
    }

    fn is_our_program(&self, folder: &Path) -> bool {
        self.program.is_some() && FileId::of_path(&folder.join("exe")) == self.program
    }

    fn descriptors(&self, folder: &Path) -> Option<(&Part, &'static str)> {
        let mut mounts = None;
        names(&folder.join("fd")).into_iter().find_map(|descriptor| {
            let facts = text(&folder.join("fdinfo").join(&descriptor)).unwrap_or_default();
            let link = folder.join("fd").join(&descriptor);
            // Locks and leases are also listed there, with the descriptor by which they were taken.
            let how = match (is_for_writing(&facts), facts.lines().any(is_lock)) {
                (true, _) => "open for writing",
                (false, true) => "locked",
                (false, false) => return None,
            };
            let path = fs::read_link(&link).ok()?;
            if path == Path::new(RING) {
                let part = files_of_ring(&facts).find_map(|path| self.by_path(Path::new(path)))?;
                return Some((part, "registered for I/O"));
            }
            let process = folder.strip_prefix(&self.roots.proc).ok()?.to_string_lossy();
            let mounts = mounts.get_or_insert_with(|| mounts_of_process(self.roots, &process));
            self.file(&link, &path, &facts, mounts).map(|part| (part, how))
        })
    }

    /// The part that an open file belongs to.
    fn file(&self, link: &Path, path: &Path, facts: &str, mounts: &[Mount]) -> Option<&Part> {
        if !path.starts_with("/") {
            return None;
        }
        let mount = field(facts, "mnt_id").and_then(|id| id.parse::<u32>().ok());
        let mount = mounts.iter().find(|other| Some(other.id) == mount);
        if mount.is_some_and(|mount| self.is_elsewhere(mount)) {
            return None;
        }
        let stat = rustix::fs::stat(link).ok()?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::BlockDevice => self.device(numbers(stat.st_rdev)),
            FileType::RegularFile => {
                let id = FileId { device: stat.st_dev, inode: stat.st_ino };
                self.regular(&FileNames::with_layer(mounts, path.to_owned(), Some(id)))
            }
            _ => None,
        }
    }

    /// Whether a mount depends on another machine or program, and none of our parts is on such a mount.
    fn is_elsewhere(&self, mount: &Mount) -> bool {
        let kind = mount.kind.split('.').next().unwrap_or_default();
        let device = rustix::fs::makedev(mount.device.0, mount.device.1);
        let files = self.reach.parts.iter().filter_map(Part::file);
        let ours = files.flat_map(|file| &file.ids).any(|id| id.device == device);
        ELSEWHERE.contains(&kind) && !ours
    }

    fn device(&self, wanted: (u32, u32)) -> Option<&Part> {
        let is = |part: &&Part| part.device().is_some_and(|node| node.numbers == wanted);
        self.reach.parts.iter().find(is)
    }

    fn regular(&self, wanted: &FileNames) -> Option<&Part> {
        let is = |part: &&Part| part.file().is_some_and(|file| file.is_same(wanted));
        self.reach.parts.iter().find(is)
    }

    /// The part at a path that the kernel prints, for a file that no descriptor refers to.
    fn by_path(&self, path: &Path) -> Option<&Part> {
        let base = |path: &Path| path.file_name().map(ToOwned::to_owned);
        let device = |part: &&Part| {
            let name = part.device().map(|node| PathBuf::from("/dev").join(&node.name));
            name.is_some_and(|name| path.starts_with("/dev") && base(&name) == base(path))
        };
        let by_name = self.reach.parts.iter().find(device);
        by_name.or_else(|| {
            let names =
                FileNames { ids: FileId::of_path(path).into_iter().collect(), path: path.into() };
            self.regular(&names)
        })
    }

    /// The part that a process has mapped shared and writable. The descriptor may be closed.
    fn mapped(&self, folder: &Path) -> Option<&Part> {
        let maps = text(&folder.join("maps"))?;
        maps.lines().find_map(|line| {
            // `ADDRESSES rw-s OFFSET MAJOR:MINOR INODE PATH`
            let mut words = line.split_ascii_whitespace();
            let addresses = words.next()?;
            let rights = words.next()?.as_bytes();
            if rights.get(1) != Some(&b'w') || rights.get(3) != Some(&b's') {
                return None;
            }
            let inode: u64 = words.nth(2)?.parse().ok()?;
            let path = line.split_once('/').map(|(_, path)| format!("/{path}"))?;
            let is_file = |part: &Part| {
                part.file().is_some_and(|file| file.ids.iter().any(|id| id.inode == inode))
            };
            if !path.starts_with("/dev/") && !self.reach.parts.iter().any(is_file) {
                return None;
            }
            let state = rustix::fs::stat(folder.join("map_files").join(addresses)).ok();
            match state {
                Some(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice => {
                    self.device(numbers(stat.st_rdev))
                }
                Some(stat) => {
                    let id = FileId { device: stat.st_dev, inode: stat.st_ino };
                    self.regular(&FileNames { path: path.into(), ids: vec![id] })
                }
                None => self.by_path(Path::new(&path)),
            }
        })
    }

    /// File locks, including those taken through a descriptor for reading (proc_locks(5)).
    fn locks(&self, ours: &str) -> Option<Use> {
        let table = text(&self.roots.proc.join("locks"))?;
        table.lines().find_map(|line| {
            // `1: POSIX  ADVISORY  WRITE 1234 08:01:5678 0 EOF`; a waiting lock has an arrow before its
            // kind.
            let words: Vec<&str> =
                line.split_ascii_whitespace().filter(|word| *word != "->").collect();
            let (kind, process, place) = (words.get(1)?, words.get(4)?, words.get(5)?);
            let id = FileId::read(place)?;
            let is = |part: &&Part| part.file().is_some_and(|file| file.ids.contains(&id));
            let part = self.reach.parts.iter().find(is).filter(|_| *process != ours)?;
            let folder = self.roots.proc.join(process);
            if self.is_our_program(&folder) {
                return None;
            }
            let program = text(&folder.join("comm")).map(|name| format!(" ({name:?})"));
            let holder = match *process {
                "-1" => "another program".to_owned(),
                process => format!("process {process}{}", program.unwrap_or_default()),
            };
            let kind = if *kind == "LEASE" { "leased" } else { "locked" };
            Some(Use {
                why: part.says(&format!("is {kind} by {holder}")),
                remedy: "end that program first".to_owned(),
            })
        })
    }
}

/// Whether a descriptor was opened for writing (proc(5), `flags:` of fdinfo, in octal).
pub(super) fn is_for_writing(facts: &str) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    let flags = field(facts, "flags").and_then(|flags| u32::from_str_radix(flags, 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
}

/// Whether a line in fdinfo describes a lock or a lease (proc_pid_fdinfo(5)).
fn is_lock(line: &str) -> bool {
    line.starts_with("lock:")
}

/// The files registered in a ring (`io_uring_show_fdinfo` of io_uring/fdinfo.c).
fn files_of_ring(facts: &str) -> impl Iterator<Item = &str> {
    let below = facts.lines().skip_while(|line| !line.starts_with("UserFiles:")).skip(1);
    let files = below.take_while(|line| line.starts_with(' '));
    files.filter_map(|line| Some(line.split_once(':')?.1.trim()))
}
