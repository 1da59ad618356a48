//! Draws a stack: a file system, a file with several names, devices over it, and their users.

use super::holder::{Hold, OF_DEVICES, OF_FILES};
use super::model::{Kind, Name, Use};
use super::stack::Stack;
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use workload::Rng;

const MIB: u64 = 1 << 20;
/// Size of the file below the devices.
const FILE_BYTES: u64 = 4 * MIB;
/// Maximum number of loop devices per stack: other users need some, too.
const MOST_LOOPS: usize = 4;

/// Prints the last 66 bytes of a PC's partition table: four entries, one of them used, and the mark.
const TABLE: &str = "{ printf '\\200\\001\\001\\000\\203\\001\\001\\000\\000\\010\\000\\000\\000\\020\\000\\000'; \
                     head -c 48 /dev/zero; printf '\\125\\252'; }";

/// Programs that holders run.
#[derive(Debug)]
pub(super) struct Tools {
    pub(super) python: PathBuf,
    pub(super) script: PathBuf,
}

/// Where the file is created.
struct Ground {
    folder: PathBuf,
    /// Bases of its file system.
    hosts: Vec<usize>,
    layer: Layer,
}

/// The folder's role in an overlay.
enum Layer {
    None,
    /// The writable layer; the merged folder.
    Upper(PathBuf),
    /// A read-only layer; the merged folder.
    Lower(PathBuf),
    /// The writable layer of an overlay in other namespaces; words that mount it there, and the folder.
    Elsewhere(Vec<String>, PathBuf),
}

pub(super) fn pick<T: Copy>(rng: &mut Rng, items: &[T]) -> T {
    items[rng.below(items.len() as u64) as usize]
}

fn chance(rng: &mut Rng, share: f64) -> bool {
    rng.unit() < share
}

/// Draws a stack. Parts that cannot be made here are omitted where possible.
pub(super) fn draw(stack: &mut Stack, rng: &mut Rng, tools: &Tools) -> Result<()> {
    if chance(rng, 0.06) {
        let disk = stack.memory(8 * MIB)?;
        over(stack, rng, disk);
    } else {
        let ground = ground(stack, rng)?;
        let name = ground.folder.join("data");
        let sparse = chance(rng, 0.3);
        let file = stack.file(&name, FILE_BYTES, sparse, &ground.hosts)?;
        layered(stack, file, &ground);
        name_file(stack, rng, file, &ground)?;
        over(stack, rng, file);
    }
    if chance(rng, 0.6) {
        content(stack, rng)?;
    }
    for _ in 0..pick(rng, &[0, 0, 1, 1, 2]) {
        let node = rng.below(stack.nodes.len() as u64) as usize;
        // For example, the kernel refuses a second exclusive holder.
        let _ = hold(stack, rng, tools, node);
    }
    Ok(())
}

fn loops(stack: &Stack) -> usize {
    stack.nodes.iter().filter(|node| node.label.starts_with("loop")).count()
}

/// A file system for the file.
fn ground(stack: &mut Stack, rng: &mut Rng) -> Result<Ground> {
    let plain = |folder| Ground { folder, hosts: Vec::new(), layer: Layer::None };
    match rng.below(20) {
        0..=8 => Ok(plain(stack.make_folder("disk")?)),
        9 => Ok(plain(stack.mount("-t tmpfs -o size=64m tmpfs", "memory")?)),
        10..=12 => on_image(
            stack,
            "ext4",
            16 * MIB,
            "mkfs.ext4 -q -F -O ^has_journal -E lazy_itable_init=0",
        ),
        13 => on_image(stack, "btrfs", 64 * MIB, "mkfs.btrfs -q -f -M"),
        14 => on_two_images(stack),
        15 => on_image(stack, "xfs", 320 * MIB, "mkfs.xfs -q -f"),
        kind => {
            let base = if chance(rng, 0.3) {
                stack.mount("-t tmpfs -o size=64m tmpfs", "memory")?
            } else {
                stack.make_folder("disk")?
            };
            overlay(stack, &base, kind)
        }
    }
}

fn image(stack: &mut Stack, name: &str, bytes: u64) -> Result<usize> {
    let path = stack.path(name);
    stack.shell(&format!("truncate -s {bytes} {}", path.display()))?;
    let file = stack.base(&path, Kind::File, bytes, Vec::new());
    stack.loop_over(file, &path, 0, 0)
}

fn on_image(stack: &mut Stack, kind: &str, bytes: u64, make: &str) -> Result<Ground> {
    let device = image(stack, "image", bytes)?;
    let path = stack.nodes[device].user_names[0].display().to_string();
    stack.shell(&format!("{make} {path}"))?;
    stack.used(device, Use::Mounted);
    if kind != "ext4" {
        // XFS writes its log, and btrfs cleans up, half a minute after the last change.
        stack.restless(device);
    }
    in_file_system(stack, &format!("-t {kind} -o noatime {path}"), vec![device])
}

fn on_two_images(stack: &mut Stack) -> Result<Ground> {
    let devices = [image(stack, "image-a", 64 * MIB)?, image(stack, "image-b", 64 * MIB)?];
    let paths = devices.map(|device| stack.nodes[device].user_names[0].display().to_string());
    stack.shell(&format!("mkfs.btrfs -q -f -M -d raid1 -m raid1 {}", paths.join(" ")))?;
    stack.used(devices[0], Use::Mounted);
    stack.used(devices[1], Use::FilesystemMember);
    for device in devices {
        stack.restless(device);
    }
    in_file_system(stack, &format!("-t btrfs -o noatime {}", paths[0]), devices.to_vec())
}

/// Mounts it. A marker file shows whether the file system is intact.
fn in_file_system(stack: &mut Stack, words: &str, devices: Vec<usize>) -> Result<Ground> {
    let folder = stack.mount(words, "ground")?;
    let hosts: Vec<usize> =
        devices.into_iter().map(|device| stack.nodes[device].span.base).collect();
    stack.file(&folder.join("marker"), 256 << 10, false, &hosts)?;
    Ok(Ground { folder, hosts, layer: Layer::None })
}

fn overlay(stack: &mut Stack, base: &Path, kind: u64) -> Result<Ground> {
    let part = |name: &str| base.join(name);
    let (lower, upper, work) = (part("lower"), part("upper"), part("work"));
    let [a, b, c] = [&lower, &upper, &work].map(|path| path.display());
    stack.shell(&format!("mkdir -p {a} {b} {c}"))?;
    let words = format!("-t overlay overlay -o lowerdir={a},upperdir={b},workdir={c}");
    let ground = |folder, layer| Ground { folder, hosts: Vec::new(), layer };
    match kind {
        16 | 17 => {
            let merged = stack.mount(&words, "merged")?;
            stack.note = " (upper layer of an overlay)";
            Ok(ground(upper, Layer::Upper(merged)))
        }
        18 => {
            // The file is created before the mount, because layers must not change below an overlay.
            let merged = stack.path("merged");
            stack.lines.push(format!("# the overlay is mounted over the file: mount {words}"));
            stack.note = " (lower layer of an overlay)";
            Ok(ground(lower, Layer::Lower(merged)))
        }
        _ => {
            let merged = stack.make_folder("merged")?;
            let line = format!("mount {words} {} && exec \"$@\"", merged.display());
            let enter = ["unshare", "--mount", "sh", "-c", &line, "sh"].map(str::to_owned);
            stack.note = " (upper layer of an overlay of another namespace)";
            Ok(ground(upper, Layer::Elsewhere(enter.to_vec(), merged)))
        }
    }
}

/// Adds the names by which the file of an overlay is used.
fn layered(stack: &mut Stack, file: usize, ground: &Ground) {
    let name = |path: &PathBuf| Name { path: path.join("data"), how: "the overlay's name of it" };
    match &ground.layer {
        Layer::None => {}
        Layer::Upper(merged) => {
            let name = name(merged);
            stack.nodes[file].user_names.push(name.path.clone());
            stack.nodes[file].names.push(name);
        }
        Layer::Lower(merged) => {
            let (base, place) =
                (ground.folder.parent().unwrap_or(Path::new("/")), merged.display());
            let base = base.display();
            let words = format!(
                "mkdir -p {place} && mount -t overlay overlay -o \
                 lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work {place}"
            );
            if stack.shell(&words).is_ok() {
                stack.mounted(merged);
                stack.nodes[file].user_names = vec![name(merged).path];
                stack.nodes[file].only_read_by_users = true;
            }
        }
        Layer::Elsewhere(enter, merged) => {
            stack.nodes[file].user_names = vec![name(merged).path];
            stack.nodes[file].enter.clone_from(enter);
        }
    }
}

/// Adds more names of the file.
fn name_file(stack: &mut Stack, rng: &mut Rng, file: usize, ground: &Ground) -> Result<()> {
    let first = stack.nodes[file].names[0].path.clone();
    let shown = first.display().to_string();
    let elsewhere = !stack.nodes[file].enter.is_empty() || stack.nodes[file].only_read_by_users;
    for _ in 0..2 {
        let (path, how) = match rng.below(7) {
            0 => {
                let path = first.with_file_name("hard");
                stack.shell(&format!("ln -f {shown} {}", path.display()))?;
                (path, "a hard link")
            }
            1 => {
                let path = ground.folder.join("relative-link");
                stack.shell(&format!("ln -sfn data {}", path.display()))?;
                (path, "a relative link")
            }
            2 => {
                let (path, way) = (stack.path("link"), stack.path("way"));
                let (path_shown, way) = (path.display(), way.display());
                stack.shell(&format!("ln -sfn {shown} {way} && ln -sfn {way} {path_shown}"))?;
                (path, "a link to a link")
            }
            3 => {
                let path = stack.path("bound");
                stack.shell(&format!("touch {0} && mount --bind {shown} {0}", path.display()))?;
                stack.mounted(&path);
                stack.not_to_sync(&path);
                (path, "a bind mount of the file")
            }
            4 => {
                let parent = first.parent().context("a file has a folder")?.display().to_string();
                let folder = stack.mount(&format!("--bind {parent}"), "bound-folder")?;
                stack.not_to_sync(&folder);
                (folder.join("data"), "in a bind mount of the folder")
            }
            5 => (
                ground
                    .folder
                    .join(".")
                    .join("..")
                    .join(ground.folder.file_name().context("a folder has a name")?)
                    .join("data"),
                "a path with dots",
            ),
            _ => (PathBuf::new(), ""),
        };
        if how.is_empty() {
            continue;
        }
        if !elsewhere {
            stack.nodes[file].user_names.push(path.clone());
        }
        stack.nodes[file].names.push(Name { path, how });
    }
    Ok(())
}

/// Makes devices over the first node and over each other.
fn over(stack: &mut Stack, rng: &mut Rng, first: usize) {
    let most = MOST_LOOPS.saturating_sub(loops(stack));
    let wanted = pick(rng, &[0, 1, 1, 2, 2, 2, 3, 3, 4]).min(most);
    let mut grown = vec![first];
    for _ in 0..wanted {
        let on = if chance(rng, 0.45) { first } else { pick(rng, &grown) };
        let bytes = stack.nodes[on].span.end - stack.nodes[on].span.start;
        let place =
            |rng: &mut Rng| pick(rng, &[0, 0, 0, 512, 4096, 65536, MIB, MIB + 512, 2 * MIB]);
        let offset = place(rng);
        let limit = pick(rng, &[0, 0, 0, MIB, 2 * MIB]);
        if offset + MIB > bytes {
            continue;
        }
        let enters = !stack.nodes[on].enter.is_empty();
        let name =
            if enters { stack.nodes[on].names[0].path.clone() } else { pick_name(stack, rng, on) };
        // There may be no free device.
        if let Ok(node) = stack.loop_over(on, &name, offset, limit) {
            grown.push(node);
            more_device_names(stack, rng, node);
        }
    }
    if grown.len() > 1 && chance(rng, 0.2) {
        let disk = pick(rng, &grown[1..]);
        let bytes = stack.nodes[disk].span.end - stack.nodes[disk].span.start;
        let start = pick(rng, &[512, 65536, 524_288]);
        let _ = stack.partition(disk, start, (bytes - start) / 1024 * 1024);
    }
}

fn pick_name(stack: &Stack, rng: &mut Rng, node: usize) -> PathBuf {
    let names = &stack.nodes[node].user_names;
    names[rng.below(names.len() as u64) as usize].clone()
}

fn more_device_names(stack: &mut Stack, rng: &mut Rng, node: usize) {
    let path = stack.nodes[node].user_names[0].display().to_string();
    let label = stack.nodes[node].label.clone();
    let (line, how, name) = match rng.below(3) {
        0 => ("ln -sfn", "a link to the device", stack.path(&format!("to-{label}"))),
        1 => ("cp -a", "a second device node", stack.path(&format!("node-{label}"))),
        _ => return,
    };
    if stack.shell(&format!("{line} {path} {}", name.display())).is_ok() {
        stack.nodes[node].names.push(Name { path: name, how });
    }
}

/// Puts a file system, swap or a table on one of the devices, or swap on the file.
fn content(stack: &mut Stack, rng: &mut Rng) -> Result<()> {
    let is_free =
        |node: usize| stack.nodes[node].uses.is_empty() && !stack.nodes[node].only_read_by_users;
    let devices: Vec<usize> = (0..stack.nodes.len())
        .filter(|at| stack.nodes[*at].kind == Kind::Device && is_free(*at))
        .filter(|at| !below_is_read_only(stack, *at))
        .collect();
    let Some(mut node) = devices.get(rng.below(devices.len().max(1) as u64) as usize).copied()
    else {
        return swap_file(stack, rng);
    };
    // A node below another device is the harder case, so it is drawn more often.
    let below = devices.iter().find(|at| stack.nodes.iter().any(|node| node.over == Some(**at)));
    if let Some(&below) = below
        && chance(rng, 0.4)
    {
        node = below;
    }
    let path = stack.nodes[node].user_names[0].display().to_string();
    let make = "mkfs.ext4 -q -F -F -b 1024 -O ^has_journal -E lazy_itable_init=1";
    let sign = |stack: &mut Stack, line: String| {
        stack.shell(&line)?;
        stack.used(node, Use::Signature);
        anyhow::Ok(())
    };
    match rng.below(9) {
        0..=2 => {
            sign(stack, format!("{make} {path}"))?;
            let how = pick(rng, &["noatime,noinit_itable", "ro"]);
            let place = stack.mount(&format!("-t ext4 -o {how} {path}"), "mounted")?;
            stack.used(node, Use::Mounted);
            if how != "ro" {
                let hosts = stack.with_hosts(stack.nodes[node].span.base);
                stack.file(&place.join("inside"), 128 << 10, false, &hosts)?;
            }
        }
        3 | 4 => {
            sign(stack, format!("{make} {path}"))?;
            let place = stack.make_folder("elsewhere")?;
            let line = format!(
                "mount -t ext4 -o ro,noload {path} {} && echo there && exec cat",
                place.display()
            );
            stack.hold(&["unshare", "--mount", "sh", "-c", &line].map(str::to_owned))?;
            stack.used(node, Use::MountedElsewhere);
        }
        5 => {
            sign(stack, format!("{make} {path}"))?;
            let place = stack.make_folder("lazily")?;
            let shown = place.display();
            stack.shell(&format!("mount -t ext4 -o noatime,noinit_itable {path} {shown}"))?;
            let stay = format!("cd {shown} && echo there && exec cat");
            let held = stack.hold(&["sh", "-c", &stay].map(str::to_owned));
            stack.shell(&format!("umount --lazy {shown}"))?;
            held?;
            stack.used(node, Use::MountedUntilClosed);
        }
        6 => {
            let undo = testkit::swap_on(Path::new(&path))?;
            stack.lines.push(format!("mkswap {path} && swapon {path}"));
            stack.keep(undo);
            stack.used(node, Use::Swap);
        }
        7 => sign(stack, format!("mkswap -q {path}"))?,
        _ => sign(stack, format!("{TABLE} | dd of={path} bs=2 seek=223 status=none"))?,
    }
    Ok(())
}

fn below_is_read_only(stack: &Stack, node: usize) -> bool {
    let mut at = Some(node);
    while let Some(node) = at {
        if stack.nodes[node].only_read_by_users {
            return true;
        }
        at = stack.nodes[node].over;
    }
    false
}

/// Swap on the drawn file, if its file system supports it.
fn swap_file(stack: &mut Stack, rng: &mut Rng) -> Result<()> {
    let file = stack.nodes.len() - 1;
    let node = &stack.nodes[file];
    let path = node.names[0].path.clone();
    let on_disk = path.starts_with(stack.path("disk")) && node.enter.is_empty();
    if node.kind == Kind::Device || !on_disk || chance(rng, 0.5) {
        return Ok(());
    }
    // The kernel refuses a file with a hole.
    if let Ok(undo) = testkit::swap_on(&path) {
        stack.lines.push(format!("mkswap {0} && swapon {0}", path.display()));
        stack.keep(undo);
        stack.used(file, Use::Swap);
    }
    Ok(())
}

/// A process that holds a node by one of its names.
fn hold(stack: &mut Stack, rng: &mut Rng, tools: &Tools, node: usize) -> Result<()> {
    let target = &stack.nodes[node];
    let ways: &[Hold] = if target.kind == Kind::File { &OF_FILES } else { &OF_DEVICES };
    let way = pick(rng, ways);
    if target.only_read_by_users && !way.reads {
        return Ok(());
    }
    let name = pick_name(stack, rng, node).display().to_string();
    let mut words = target.enter.clone();
    if words.is_empty() && chance(rng, 0.2) {
        words = ["unshare", "--mount"].map(str::to_owned).to_vec();
    }
    let program = [&tools.python, &tools.script].map(|path| path.display().to_string());
    words.extend(program);
    words.extend([way.word.to_owned(), name]);
    let (descriptor, process) = stack.hold(&words)?;
    stack.used(node, way.means);
    if way.means == Use::OpenForReading && way.word == "read" && stack.nodes[node].enter.is_empty()
    {
        let path = PathBuf::from(format!("/proc/{process}/fd/{descriptor}"));
        stack.nodes[node].names.push(Name { path, how: "a descriptor of another process" });
    }
    Ok(())
}
