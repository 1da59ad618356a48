//! Who uses a block device.
//!
//! With O_EXCL the kernel refuses a device that is mounted in any namespace, swap, or held by
//! another driver, or a part of which is. It does not say who, and knows neither of loop devices
//! nor of programs that opened the device in the ordinary way: so sysfs and procfs are asked as
//! well. For a whole disk its partitions count, for a partition its disk; its neighbours do not.
//! Rejected: asking lsblk or fuser, and believing sysfs alone (it misses other namespaces' mounts).

use crate::linux::loops::bound_loops;
use kernel::Roots;
use kernel::device::{btrfs_of, numbers, partitions, whole_disk};
use kernel::mounts::{Mount, mounts_of_process, unescape};
use kernel::read::{base_name, device_numbers, field, names, number, text};
use rustix::fs::{FileType, Stat};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Use {
    pub(crate) why: String,
    pub(crate) remedy: String,
}

impl Use {
    fn of(why: String, remedy: impl Into<String>) -> Option<Self> {
        Some(Self { why, remedy: remedy.into() })
    }
}

/// A block device as sysfs knows it.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// Its directory in sysfs, without links.
    pub(crate) directory: PathBuf,
    pub(crate) numbers: (u32, u32),
}

impl Node {
    pub(crate) fn find(roots: &Roots, numbers: (u32, u32)) -> Option<Self> {
        Self::at(kernel::device::directory(roots, numbers)?)
    }

    fn at(directory: PathBuf) -> Option<Self> {
        let numbers = device_numbers(&directory)?;
        Some(Self { name: base_name(&directory), directory, numbers })
    }

    /// The whole disk of a partition.
    pub(crate) fn disk(&self) -> Option<Self> {
        let disk = whole_disk(&self.directory);
        (disk != self.directory).then(|| Self::at(disk)).flatten()
    }

    /// Whether the kernel takes no writes for it.
    pub(crate) fn read_only(&self) -> bool {
        number(&self.directory.join("ro")) == Some(1)
    }
}

/// Who uses the device; `None` where nobody is seen to.
pub(crate) fn device_use(roots: &Roots, node: &Node) -> Option<Use> {
    let mut members = vec![node.clone()];
    members.extend(node.disk());
    members.extend(partitions(&node.directory).filter_map(Node::at));
    let ways: [fn(&Roots, &Node) -> Option<Use>; 4] =
        [swap, |_, member| held(member), below_loop, part_of_btrfs];
    mounted(roots, &members)
        .or_else(|| ways.iter().find_map(|way| members.iter().find_map(|one| way(roots, one))))
        .or_else(|| written_by_another(roots, &members))
}

/// Whether a name in a kernel table is that of the device; btrfs gives its mounts numbers of no
/// device, and names lead through /dev/mapper.
fn leads_to(roots: &Roots, printed: &Path, member: &Node) -> bool {
    printed.starts_with("/dev") && {
        let node = roots.locate(printed);
        base_name(&fs::canonicalize(&node).unwrap_or(node)) == member.name
    }
}

fn mounted(roots: &Roots, members: &[Node]) -> Option<Use> {
    let mut seen = HashSet::new();
    // Our own namespace first; of what we may not see of the others nothing can be said.
    for process in std::iter::once("self".to_owned()).chain(processes(roots)) {
        if !seen.insert(fs::read_link(roots.proc.join(&process).join("ns/mnt")).ok()) {
            continue;
        }
        let mounts = mounts_of_process(roots, &process);
        let found = members.iter().find_map(|member| {
            let is_its = |mount: &&Mount| {
                mount.device == member.numbers || leads_to(roots, Path::new(&mount.source), member)
            };
            Some((member, mounts.iter().find(is_its)?))
        });
        let Some((Node { name, .. }, Mount { point, kind, .. })) = found else { continue };
        if process == "self" {
            return Use::of(
                format!("{name} is mounted at {point:?} ({kind})"),
                format!("if nobody needs what is on it, unmount it first (umount {point:?})"),
            );
        }
        return Use::of(
            format!("{name} is mounted at {point:?} in the mount namespace of process {process}"),
            format!(
                "if nobody needs what is on it, unmount it there first (nsenter -t {process} -m \
                 umount {point:?})"
            ),
        );
    }
    None
}

/// The paths of files and devices that are swap.
fn swaps(roots: &Roots) -> Vec<PathBuf> {
    let table = text(&roots.proc.join("swaps")).unwrap_or_default();
    let paths = table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    paths.map(|path| unescape(path.as_bytes()).into()).collect()
}

fn swap(roots: &Roots, member: &Node) -> Option<Use> {
    let path = swaps(roots).into_iter().find(|path| leads_to(roots, path, member))?;
    swap_use(&member.name, &path)
}

fn swap_use(what: &str, path: &Path) -> Option<Use> {
    let remedy = format!("take it out of use first (swapoff {path:?})");
    Use::of(format!("{what} is in use as swap"), remedy)
}

/// Device mapper, md, bcache and the like.
fn held(member: &Node) -> Option<Use> {
    let holders = member.directory.join("holders");
    let holder = names(&holders).into_iter().next()?;
    let name = text(&holders.join(&holder).join("dm/name"))
        .map(|name| format!(" ({name})"))
        .unwrap_or_default();
    let remedy = match holder.trim_end_matches(|c: char| c.is_ascii_digit()) {
        "dm-" => "remove that volume first (lvchange -an, cryptsetup close or dmsetup remove)",
        "md" => "stop that array first (mdadm --stop)",
        _ => "release it there first",
    };
    Use::of(format!("{} is a part of {holder}{name}", member.name), remedy)
}

fn below_loop(roots: &Roots, member: &Node) -> Option<Use> {
    let above = bound_loops(roots)
        .into_iter()
        .find(|device| device.is_on_device(member.numbers, &member.name))?;
    loop_use(&member.name, &above.name)
}

fn loop_use(what: &str, above: &str) -> Option<Use> {
    Use::of(
        format!("{what} is in use as the loop device {above}"),
        format!("detach it first (losetup -d /dev/{above})"),
    )
}

fn part_of_btrfs(roots: &Roots, member: &Node) -> Option<Use> {
    let id = btrfs_of(roots, &member.name)?;
    Use::of(
        format!("{} is a part of the mounted btrfs file system {id}", member.name),
        "unmount that file system first",
    )
}

/// Programs that write to a device without claiming it: virtual machines, databases.
fn written_by_another(roots: &Roots, members: &[Node]) -> Option<Use> {
    let ours = std::process::id().to_string();
    for process in processes(roots).into_iter().filter(|process| *process != ours) {
        let folder = roots.proc.join(&process);
        for descriptor in names(&folder.join("fd")) {
            let link = folder.join("fd").join(&descriptor);
            // The name first: to ask for the state of a file on a dead server would hang.
            if !fs::read_link(&link).is_ok_and(|file| file.starts_with("/dev")) {
                continue;
            }
            let Ok(stat) = rustix::fs::stat(&link) else { continue };
            if FileType::from_raw_mode(stat.st_mode) != FileType::BlockDevice {
                continue;
            }
            let number = numbers(stat.st_rdev);
            let Some(member) = members.iter().find(|member| member.numbers == number) else {
                continue;
            };
            if writes(&folder.join("fdinfo").join(&descriptor)) {
                let program = text(&folder.join("comm")).unwrap_or_default();
                let name = &member.name;
                let why = format!("process {process} ({program:?}) has {name} open for writing");
                return Use::of(why, "end that process first");
            }
        }
    }
    None
}

/// Whether a descriptor was opened for writing (proc(5), `flags:` of fdinfo, in octal).
fn writes(fdinfo: &Path) -> bool {
    const ACCESS_MODE: u32 = 0o3;
    let text = text(fdinfo).unwrap_or_default();
    let flags = field(&text, "flags").and_then(|flags| u32::from_str_radix(flags, 8).ok());
    flags.is_some_and(|flags| flags & ACCESS_MODE != 0)
}

fn processes(roots: &Roots) -> Vec<String> {
    let mut all = names(&roots.proc);
    all.retain(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    all
}

/// What uses a regular file as its storage: a loop device or swap. `stat` is that of the open
/// file, `path` the name by which it was opened.
pub(crate) fn file_use(roots: &Roots, stat: &Stat, path: &Path) -> Option<Use> {
    let absolute = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let above = bound_loops(roots).into_iter().find(|device| device.is_on_file(stat, &absolute));
    if let Some(above) = above {
        return loop_use("it", &above.name);
    }
    let same = |path: &PathBuf| {
        rustix::fs::stat(path).map_or_else(
            |_| *path == absolute,
            |swap| (swap.st_dev, swap.st_ino) == (stat.st_dev, stat.st_ino),
        )
    };
    let path = swaps(roots).into_iter().find(same)?;
    swap_use("it", &path)
}

#[cfg(test)]
#[path = "in_use_tests.rs"]
mod tests;
