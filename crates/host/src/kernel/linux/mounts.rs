//! Parses /proc/self/mountinfo: finds the file system of a path.
//!
//! A path is matched by device number and longest mount point together. The number alone fails for bind
//! mounts, the path alone if a later mount covers an earlier one. Files on btrfs subvolumes and overlays
//! have another number than their mount; for them the longest mount point must suffice. Format:
//! Documentation/filesystems/proc.rst of the kernel, section 3.5.

use crate::kernel::read::{Roots, parse_numbers};
use engine::input;
use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One mounted file system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number, given as `mnt_id` for a descriptor.
    pub id: u32,
    /// Device numbers of its files.
    pub device: (u32, u32),
    /// The directory of the file system that is mounted.
    pub root: PathBuf,
    /// The mount point.
    pub point: PathBuf,
    /// Options of the mount and of the file system, without duplicates.
    pub options: String,
    /// File system type.
    pub kind: String,
    /// The mounted device or export.
    pub source: String,
}

/// Whether a mount of this type is the export of a file server whose calls the kernel counts.
pub(crate) fn is_export(kind: &str) -> bool {
    matches!(kind, "nfs" | "nfs4" | "cifs" | "smb3")
}

/// All mounts that this process sees; empty if the file is missing.
pub fn read_mounts(roots: &Roots) -> Vec<Mount> {
    mounts_of_process(roots, "self")
}

/// All mounts that a process sees, which may be in another mount namespace.
pub fn mounts_of_process(roots: &Roots, process: &str) -> Vec<Mount> {
    let text = input::kernel_bytes(&roots.proc.join(process).join("mountinfo")).unwrap_or_default();
    text.split(|byte| *byte == b'\n').filter_map(parse_mount).collect()
}

/// The mount of a path: the longest mount point above it with this device number. Among equal ones the
/// last, because it covers the others.
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
    // Optional fields end with a single dash.
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

/// Decodes the kernel's octal escapes (`\040` is a space).
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

/// Combines both option lists. `ro` on either side makes the mount read-only, so it replaces a `rw`.
fn merge_options(mount: &str, superblock: &str) -> String {
    let all = || mount.split(',').chain(superblock.split(',')).filter(|option| !option.is_empty());
    let read_only = all().any(|option| option == "ro");
    let mut seen = HashSet::new();
    let told = all().filter(|&option| !(read_only && option == "rw") && seen.insert(option));
    told.collect::<Vec<_>>().join(",")
}
