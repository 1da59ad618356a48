//! Finds users in the kernel's tables: mounts, swap, btrfs, zram, file servers and storage targets.

use super::Use;
use super::blocks::{Block, Node, device_by_path};
use super::layers::{FileId, FileNames};
use super::processes::numbers_of_processes;
use super::reach::{Part, Reach};
use crate::kernel::Roots;
use crate::kernel::device::btrfs_of;
use crate::kernel::mounts::{Mount, mounts_of_process, unescape};
use crate::kernel::read::{names, text};
use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The nearest user of any part; if there is none, a device that is built on a part.
pub(super) fn find(roots: &Roots, blocks: &[Block], reach: &Reach) -> Option<Use> {
    let tables = Tables::read(roots, blocks);
    let nearest = reach.parts.iter().find_map(|part| tables.user(part));
    nearest.or_else(|| reach.built_on.clone())
}

/// Mounts of one namespace, and a process in it.
struct Namespace {
    process: String,
    mounts: Vec<Mount>,
}

struct Tables<'a> {
    roots: &'a Roots,
    blocks: &'a [Block],
    namespaces: Vec<Namespace>,
    swaps: Vec<PathBuf>,
    exported: Vec<(PathBuf, &'static str)>,
    open_at_server: Vec<FileId>,
}

impl<'a> Tables<'a> {
    fn read(roots: &'a Roots, blocks: &'a [Block]) -> Self {
        Self {
            roots,
            blocks,
            namespaces: namespaces(roots),
            swaps: swaps(roots),
            exported: exported(roots),
            open_at_server: open_at_server(roots),
        }
    }

    fn user(&self, part: &Part) -> Option<Use> {
        let used = |predicate: String, remedy: &str| {
            Some(Use { why: part.says(&predicate), remedy: remedy.to_owned() })
        };
        if let Some((predicate, remedy)) = self.mounted(part) {
            return used(predicate, &remedy);
        }
        if let Some(path) = self.swaps.iter().find(|path| self.leads_to(path, part)) {
            let remedy = format!("take it out of use first (swapoff {path:?})");
            return used("is in use as swap".to_owned(), &remedy);
        }
        if let Some(id) = part.device().and_then(|node| btrfs_of(self.roots, &node.name)) {
            let predicate = format!("is a part of the mounted btrfs file system {id}");
            return used(predicate, "unmount that file system first");
        }
        let writes_back = |block: &&Block| {
            let back = block.writes_back_to.as_ref();
            back.is_some_and(|path| self.leads_to(path, part))
        };
        if let Some(block) = self.blocks.iter().find(writes_back) {
            let name = &block.node.name;
            let remedy = format!("reset {name} first (echo 1 > /sys/block/{name}/reset)");
            return used(format!("receives the pages that {name} writes back"), &remedy);
        }
        if let Some((_, how)) = self.exported.iter().find(|(path, _)| self.leads_to(path, part)) {
            let remedy = "end that export first (with targetcli, nvmetcli or configfs)";
            return used(format!("is exported to other machines or guests ({how})"), remedy);
        }
        let ids = part.file().map(|file| file.ids.as_slice()).unwrap_or_default();
        ids.iter().any(|id| self.open_at_server.contains(id)).then(|| Use {
            why: part.says("is open for writing by a client of this machine's NFS server"),
            remedy: "have that client close it first".to_owned(),
        })
    }

    fn mounted(&self, part: &Part) -> Option<(String, String)> {
        let sees = |namespace: &Namespace| {
            let mount = namespace.mounts.iter().find(|mount| self.is_mount_of(mount, part))?;
            let (point, kind) = (&mount.point, &mount.kind);
            if namespace.process == "self" {
                return Some((
                    format!("is mounted at {point:?} ({kind})"),
                    format!("if nothing uses it, unmount it first (umount {point:?})"),
                ));
            }
            let process = &namespace.process;
            Some((
                format!("is mounted at {point:?} in the mount namespace of process {process}"),
                format!(
                    "if nothing uses it, unmount it there first (nsenter -t {process} -m umount \
                     {point:?})"
                ),
            ))
        };
        self.namespaces.iter().find_map(sees)
    }

    fn is_mount_of(&self, mount: &Mount, part: &Part) -> bool {
        let source = Path::new(&mount.source);
        match part.device() {
            // btrfs gives its mounts numbers that belong to no device, so the source is compared too.
            Some(node) => mount.device == node.numbers || self.is_node(source, node),
            // The only file system that is mounted from a file without a loop device.
            None => mount.kind == "erofs" && self.leads_to(source, part),
        }
    }

    /// Whether a name in a kernel table refers to this part.
    fn leads_to(&self, printed: &Path, part: &Part) -> bool {
        match (part.device(), part.file()) {
            (Some(node), _) => self.is_node(printed, node),
            (None, Some(file)) if !printed.starts_with("/dev") => {
                let printed = printed.to_owned();
                let id = FileId::of_path(&printed);
                let mounts = self.namespaces.first().map(|namespace| &*namespace.mounts);
                FileNames::with_layer(mounts.unwrap_or_default(), printed, id).is_same(file)
            }
            _ => false,
        }
    }

    fn is_node(&self, printed: &Path, node: &Node) -> bool {
        device_by_path(self.roots, printed, [node]).is_some()
    }
}

/// The mounts of each visible namespace, our own first.
fn namespaces(roots: &Roots) -> Vec<Namespace> {
    let mut seen = HashSet::new();
    let processes = std::iter::once("self".to_owned()).chain(numbers_of_processes(roots));
    let fresh = processes
        .filter(|process| seen.insert(fs::read_link(roots.proc.join(process).join("ns/mnt")).ok()));
    fresh.map(|process| Namespace { mounts: mounts_of_process(roots, &process), process }).collect()
}

fn swaps(roots: &Roots) -> Vec<PathBuf> {
    let table = text(&roots.proc.join("swaps")).unwrap_or_default();
    let paths = table.lines().skip(1).filter_map(|line| line.split_ascii_whitespace().next());
    paths.map(|path| unescape(path.as_bytes()).into()).collect()
}

/// Parts of the kernel that open a path without a process: where sysfs shows the path, and the name for
/// messages. `*` is any name.
const EXPORTS: [(&str, &str); 3] = [
    ("kernel/config/target/core/*/*/udev_path", "iSCSI or vhost target"),
    ("kernel/config/nvmet/subsystems/*/namespaces/*/device_path", "NVMe target"),
    ("kernel/config/usb_gadget/*/functions/*/*/file", "USB mass storage"),
];

fn exported(roots: &Roots) -> Vec<(PathBuf, &'static str)> {
    let of = |(pattern, how): (&str, &'static str)| {
        let files = matching(&roots.sys, pattern).into_iter();
        files.filter_map(move |file| Some((PathBuf::from(text(&file)?), how))).collect::<Vec<_>>()
    };
    EXPORTS.into_iter().flat_map(of).collect()
}

/// The paths below a folder that match a pattern, in which `*` matches any single name.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    pattern.split('/').fold(vec![folder.to_owned()], |folders, part| {
        let inside = |folder: &PathBuf| match part {
            "*" => names(folder).into_iter().map(|name| folder.join(name)).collect(),
            name => vec![folder.join(name)],
        };
        folders.iter().flat_map(inside).collect()
    })
}

/// Files that clients of this machine's NFS server have open for writing, or hold (version 4;
/// fs/nfsd/nfs4state.c).
fn open_at_server(roots: &Roots) -> Vec<FileId> {
    let states = matching(&roots.proc, "fs/nfsd/clients/*/states");
    let texts = states.iter().filter_map(|file| text(file));
    texts.flat_map(|text| text.lines().filter_map(state_for_writing).collect::<Vec<_>>()).collect()
}

/// The file in a line such as `- 0x1: { type: open, access: rw, ..., superblock: "fd:10:13649", ... }`:
/// device numbers in hexadecimal, then the inode.
fn state_for_writing(line: &str) -> Option<FileId> {
    let is_read = line.contains("type: open") && line.contains("access: r-");
    let place = line.split_once("superblock: \"")?.1.split('"').next()?;
    FileId::read(place).filter(|_| !is_read)
}
