//! /proc/self/mountinfo: which file system a path is on.
//!
//! A path is matched by device number and longest mount point together: the number alone fails for
//! bind mounts, the path alone where a later mount covers an earlier one. btrfs subvolumes and
//! overlays give files another number than their mount has, so that the longest mount point has to
//! do there. Format: Documentation/filesystems/proc.rst of the kernel, section 3.5.

use crate::kernel::read::{Roots, parse_numbers};
use engine::input;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, which `mnt_id` of a descriptor's facts names.
    pub id: u32,
    /// Device numbers of its files.
    pub device: (u32, u32),
    /// Which directory of the file system is mounted.
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Options of the mount and of the file system, each once.
    pub options: String,
    /// Type.
    pub kind: String,
    /// What is mounted.
    pub source: String,
}

/// Whether a mount of this type is the export of a file server whose calls the kernel counts.
pub(crate) fn is_export(kind: &str) -> bool {
    matches!(kind, "nfs" | "nfs4" | "cifs" | "smb3")
}

/// All mounts that we see; empty where the file is missing.
pub fn read_mounts(roots: &Roots) -> Vec<Mount> {
    mounts_of_process(roots, "self")
}

/// All mounts that a process sees, which can live in another mount namespace than ours.
pub fn mounts_of_process(roots: &Roots, process: &str) -> Vec<Mount> {
    let text = input::kernel_bytes(&roots.proc.join(process).join("mountinfo")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

/// The mount that a path is on: the longest mount point above it among those with the device
/// number; of equal ones the last, because it covers the others.
pub fn mount_of<'a>(
    mounts: &'a [Mount],
    path: &Path,
    device: Option<(u32, u32)>,
) -> Option<&'a Mount> {
    let longest = |with_device: bool| {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.point))
            .filter(|mount| !with_device || Some(mount.device) == device)
            .max_by_key(|mount| mount.point.components().count())
    };
    longest(true).or_else(|| longest(false))
}

/// One line: `36 35 98:0 /root /point options optional... - type source super-options`.
fn parse_mount(line: &[u8]) -> Option<Mount> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = lossy(fields.next()?).parse().ok()?;
    let device = parse_numbers(&lossy(fields.nth(1)?))?;
    let root = PathBuf::from(unescape(fields.next()?));
    let point = PathBuf::from(unescape(fields.next()?));
    let mount_options = lossy(fields.next()?);
    // Optional fields end with a lone dash.
    fields.by_ref().find(|field| *field == b"-")?;
    let kind = lossy(fields.next()?);
    let source = lossy(fields.next()?);
    let super_options = lossy(fields.next().unwrap_or_default());
    let options = merge_options(&mount_options, &super_options);
    Some(Mount { id, device, root, point, options, kind, source })
}

fn lossy(field: &[u8]) -> String {
    unescape(field).to_string_lossy().into_owned()
}

/// Undoes the kernel's octal escapes (`\040` is a space).
pub fn unescape(field: &[u8]) -> OsString {
    let octal = |digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok();
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&first, tail)) = rest.split_first() {
        let escaped = (first == b'\\').then(|| tail.get(..3)).flatten().and_then(octal);
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &tail[3..] } else { tail };
    }
    OsString::from_vec(bytes)
}

/// Both option lists as one. `ro` of either side makes the mount read-only, so that a `rw` of the
/// other side would mislead.
fn merge_options(mount: &str, superblock: &str) -> String {
    let all = || mount.split(',').chain(superblock.split(',')).filter(|option| !option.is_empty());
    let read_only = all().any(|option| option == "ro");
    let mut seen = HashSet::new();
    let told = all().filter(|&option| !(read_only && option == "rw") && seen.insert(option));
    told.collect::<Vec<_>>().join(",")
}
