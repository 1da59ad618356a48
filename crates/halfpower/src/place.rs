//! `halfpower zones --file`: where a file lies on its disk, by a saved map of the disk.
//!
//! The file is opened and nothing of it is read: its file system says where its extents are.

use crate::failure::usage;
use crate::output::{self, Verdict};
use crate::store_args::SaveArgs;
use anyhow::{Context, anyhow};
use host::kernel::{self, Roots};
use host::target;
use plan::session;
use record::{
    Bytes, DeviceFacts, DocumentKind, FilePlace, FindingCode, MapOfPlace, Measured, PLACE_SCHEMA,
    SavedDocument, Target, TargetKind, ZoneMap, quoted,
};
use std::fs::File;
use std::path::Path;
use store::{Library, StoreError};

/// File systems whose extents are places on their device. That of btrfs, for one, are addresses of its own.
const TELL_PLACES: [&str; 5] = ["ext2", "ext3", "ext4", "xfs", "f2fs"];
/// Latest maps among which one of the device is looked for.
const LATEST_MAPS: usize = 100;

/// A map, and where the device of the file begins on what was mapped.
struct Found {
    map: ZoneMap,
    shift: u64,
    cautions: Vec<String>,
    chosen: bool,
}

pub(crate) fn place(path: &Path, named: Option<&str>, save: &SaveArgs) -> anyhow::Result<Verdict> {
    let roots = Roots::default();
    let file = File::open(path).with_context(|| format!("cannot open {}", quoted(path)))?;
    let facts = file.metadata().with_context(|| format!("cannot examine {}", quoted(path)))?;
    if !facts.is_file() {
        return Err(usage(format!("--file: {} is not a file", quoted(path))));
    }
    let size = Bytes(facts.len());
    let (filesystem, device) = kernel::filesystem::locate_filesystem(&roots, path, &file)?;
    let tells = TELL_PLACES.contains(&filesystem.kind.as_str());
    let pieces = if tells { target::pieces(&file, size)? } else { None };
    let pieces = pieces.ok_or_else(|| {
        format!(
            "the {} of {} does not report where a file is on its device",
            filesystem.kind, filesystem.mount_point
        )
    });
    let found = match (&device, named) {
        (None, _) => Err("the file is not on a block device".to_owned()),
        (Some(device), Some(name)) => Ok(chosen(name, save, &roots, device)?),
        (Some(device), None) => latest(save, &roots, device)?,
    };
    let mut document = FilePlace {
        schema: PLACE_SCHEMA.to_owned(),
        halfpower_version: session::VERSION.to_owned(),
        target: Target {
            path: path.to_string_lossy().into_owned(),
            kind: TargetKind::File,
            size_bytes: size,
            device,
            filesystem: Some(filesystem),
            extents: None,
            file_hash: None,
            test_file: None,
        },
        map: None,
        place: Measured::not(""),
        rates: Measured::not(""),
        cautions: Vec::new(),
    };
    if let Ok(found) = &found {
        document.map = Some(MapOfPlace {
            id: found.map.id.clone(),
            time: found.map.time.clone(),
            path: found.map.target.path.clone(),
            size_bytes: found.map.target.size_bytes,
            bands: u32::try_from(found.map.bands.len()).unwrap_or(u32::MAX),
            chosen: found.chosen,
        });
        document.cautions.clone_from(&found.cautions);
    }
    (document.place, document.rates) = match (pieces, found) {
        (Ok(pieces), Ok(Found { map, shift, .. })) => {
            let moved =
                |(first, length): (Bytes, Bytes)| (Bytes(first.0.saturating_add(shift)), length);
            ::plan::limits::zones::place(&map, &pieces.into_iter().map(moved).collect::<Vec<_>>())
        }
        (Err(why), _) | (_, Err(why)) => (Measured::not(why.clone()), Measured::not(why)),
    };
    output::document(save.json, &document, || output::page(&report::place(&document)))?;
    Ok(Verdict::of(true))
}

/// The map that the user names, of whatever it is.
fn chosen(
    name: &str,
    save: &SaveArgs,
    roots: &Roots,
    device: &DeviceFacts,
) -> anyhow::Result<Found> {
    let library = Library::new(save.keeping.file()?);
    let map =
        library.named(name, &[DocumentKind::Zones])?.into_iter().find_map(|found| match found {
            SavedDocument::Zones(map) => Some(*map),
            _ => None,
        });
    let map =
        map.ok_or_else(|| anyhow!("{} is not a map made by `halfpower zones`", quoted(name)))?;
    let mut cautions = of_map(&map);
    let shift = match shift(roots, device, &map) {
        Ok(shift) => shift,
        Err(why) => {
            cautions.insert(0, format!("The map that you named may not apply: {why}."));
            kernel::device::start_on_disk(roots, &device.name).map_or(0, |start| start.0)
        }
    };
    Ok(Found { map, shift, cautions, chosen: true })
}

/// The newest saved map of the device, or why there is none.
fn latest(
    save: &SaveArgs,
    roots: &Roots,
    device: &DeviceFacts,
) -> anyhow::Result<Result<Found, String>> {
    let disk = if device.leaves.is_empty() { &device.disk } else { &device.name };
    let none = || {
        // What lies where on these is decided below, and may be another place tomorrow.
        let below = if device.virtual_disk {
            "; the disk is virtual, so a map may become outdated"
        } else {
            ""
        };
        let flash = device.rotational == Some(false) && device.rotational_trusted;
        let flash = if flash {
            "; the disk does not rotate: no position is known to be faster"
        } else {
            ""
        };
        format!("no map of {disk} is saved: run `halfpower zones /dev/{disk}` first{below}{flash}")
    };
    let store = match save.keeping.existing() {
        Err(StoreError::Missing(_) | StoreError::NoDefaultPath) => return Ok(Err(none())),
        opened => opened?,
    };
    let rows = store.list::<ZoneMap>()?;
    for row in rows.iter().rev().take(LATEST_MAPS) {
        let Ok(map) = store.document::<ZoneMap>(&row.id) else { continue };
        if map.random || map.target.kind != TargetKind::BlockDevice {
            continue;
        }
        if let Ok(shift) = shift(roots, device, &map) {
            let cautions = of_map(&map);
            return Ok(Ok(Found { map, shift, cautions, chosen: false }));
        }
    }
    Ok(Err(none()))
}

/// Where the device of a file begins on what was mapped, or why that is not known.
fn shift(roots: &Roots, device: &DeviceFacts, map: &ZoneMap) -> Result<u64, String> {
    let Some(mapped) = &map.target.device else {
        return Err(format!(
            "the map describes {}, which is not a device of this machine",
            map.target.path
        ));
    };
    let of =
        |it: &DeviceFacts| (it.disk.clone(), it.model.clone(), it.serial.clone(), it.size_bytes);
    if of(mapped) != of(device) {
        return Err(format!(
            "the map describes {}, but the file is on {}",
            mapped.disk, device.disk
        ));
    }
    if mapped.name == device.name {
        return Ok(0);
    }
    if mapped.name != mapped.disk {
        return Err(format!(
            "the map describes {}, but the file is on {}",
            mapped.name, device.name
        ));
    }
    let start = kernel::device::start_on_disk(roots, &device.name);
    let unknown = || {
        format!(
            "the file is on {}, which is stacked on {}, so it has no single position",
            device.name, device.disk
        )
    };
    start.map(|start| start.0).ok_or_else(unknown)
}

/// What is to be said of a map before it is believed.
fn of_map(map: &ZoneMap) -> Vec<String> {
    let mut cautions = Vec::new();
    if map.findings.iter().any(|finding| finding.code == FindingCode::RateByPosition) {
        cautions.push(
            "The disk may not rotate, so the differences between positions may change. Map it \
             again before you move files."
                .to_owned(),
        );
    }
    let nameless = map.target.device.as_ref().is_some_and(|device| device.serial.is_none());
    if nameless {
        cautions.push(
            "The device has no serial number: this map was chosen because the name and size match."
                .to_owned(),
        );
    }
    cautions
}
