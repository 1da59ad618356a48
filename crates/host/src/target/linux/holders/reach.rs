//! Finds everything that shares bytes with a target, and the path to each.

use super::Use;
use super::blocks::{Below, Block, Node};
use super::layers::FileNames;
use crate::kernel::Roots;
use crate::kernel::read::text;
use std::ops::Range;

/// Maximum number of parts to follow; a real machine has a handful.
const MOST_PARTS: usize = 512;
const ALL: Range<u64> = 0..u64::MAX;

/// The start of a walk.
pub(super) enum Start {
    /// A block device by its kernel name.
    Device(String),
    File(FileNames),
}

/// A file or device that holds bytes of the target.
#[derive(Clone, Debug)]
pub(super) enum Thing {
    Device(Node),
    File(FileNames),
}

impl Thing {
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Device(one), Self::Device(other)) => one.name == other.name,
            (Self::File(one), Self::File(other)) => one.is_same(other),
            _ => false,
        }
    }
}

/// A file or device, and the range of its bytes that the target shares.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) thing: Thing,
    bytes: Range<u64>,
    /// The subject of a sentence about it: "loop1 lies on loop0, which"; for the target itself, its name.
    subject: String,
    /// Whether it is a member of a volume or array, so that the position of the bytes is unknown.
    member: bool,
    /// Whether it is below a loop device of the target.
    pub(super) below_loop: bool,
    pub(super) start: bool,
}

impl Part {
    /// A sentence about it, including the path to it: "loop1 lies on loop0, which is mounted at /mnt".
    pub(super) fn says(&self, predicate: &str) -> String {
        format!("{} {predicate}", self.subject)
    }

    pub(super) fn device(&self) -> Option<&Node> {
        match &self.thing {
            Thing::Device(node) => Some(node),
            Thing::File(_) => None,
        }
    }

    pub(super) fn file(&self) -> Option<&FileNames> {
        match &self.thing {
            Thing::File(file) => Some(file),
            Thing::Device(_) => None,
        }
    }

    fn then(&self, predicate: &str, thing: Thing, bytes: Range<u64>) -> Self {
        let below_loop = self.below_loop;
        let subject = format!("{}, which", self.says(predicate));
        Self { thing, bytes, subject, member: self.member, below_loop, start: false }
    }
}

/// The parts that were found, nearest first.
pub(super) struct Reach {
    pub(super) parts: Vec<Part>,
    /// The first device built on any part; that also counts as a use.
    pub(super) built_on: Option<Use>,
}

impl Reach {
    pub(super) fn from(roots: &Roots, blocks: &[Block], start: Start) -> Self {
        let (thing, subject) = match start {
            Start::Device(name) => (blocks.iter().find(|block| block.node.name == name), name),
            Start::File(file) => return Walk::new(roots, blocks).run(Thing::File(file), "it"),
        };
        match thing {
            Some(block) => {
                Walk::new(roots, blocks).run(Thing::Device(block.node.clone()), &subject)
            }
            None => Self { parts: Vec::new(), built_on: None },
        }
    }
}

struct Walk<'a> {
    roots: &'a Roots,
    blocks: &'a [Block],
    parts: Vec<Part>,
    built_on: Option<Use>,
}

impl<'a> Walk<'a> {
    fn new(roots: &'a Roots, blocks: &'a [Block]) -> Self {
        Self { roots, blocks, parts: Vec::new(), built_on: None }
    }

    fn run(mut self, thing: Thing, subject: &str) -> Reach {
        let subject = subject.to_owned();
        self.parts.push(Part {
            thing,
            bytes: ALL,
            subject,
            member: false,
            below_loop: false,
            start: true,
        });
        let mut next = 0;
        while next < self.parts.len().min(MOST_PARTS) {
            let part = self.parts[next].clone();
            match &part.thing {
                Thing::Device(node) => self.beside_device(&part, &node.name),
                Thing::File(_) => {}
            }
            self.loops_over(&part);
            next += 1;
        }
        Reach { parts: self.parts, built_on: self.built_on }
    }

    fn block(&self, name: &str) -> Option<&'a Block> {
        self.blocks.iter().find(|block| block.node.name == name)
    }

    fn add(&mut self, part: Part) {
        let covers = |known: &Part| {
            known.thing.is_same(&part.thing)
                && known.bytes.start <= part.bytes.start
                && known.bytes.end >= part.bytes.end
        };
        if !self.parts.iter().any(covers) {
            self.parts.push(part);
        }
    }

    fn add_device(&mut self, from: &Part, predicate: &str, name: &str, bytes: Range<u64>) {
        if let Some(block) = self.block(name) {
            self.add(from.then(predicate, Thing::Device(block.node.clone()), bytes));
        }
    }

    fn beside_device(&mut self, part: &Part, name: &str) {
        let Some(block) = self.block(name) else { return };
        if let Some((disk, range)) = &block.on_disk {
            let bytes = shifted(&part.bytes, range);
            self.add_device(part, &format!("is a partition of {disk}"), disk, bytes);
        }
        match &block.below {
            Some((Below::Device(below), window)) => {
                if let Some(block) = self.block(below) {
                    let thing = Thing::Device(block.node.clone());
                    self.add_below(part, below, thing, window);
                }
            }
            Some((Below::File(file), window)) => {
                let name = format!("{:?}", file.path);
                self.add_below(part, &name, Thing::File(file.clone()), window);
            }
            None => {}
        }
        for slave in &block.slaves {
            if let Some(slave) = self.block(slave) {
                let predicate = format!("is stacked on {}", slave.node.name);
                let mut member = part.then(&predicate, Thing::Device(slave.node.clone()), ALL);
                member.member = true;
                self.add(member);
            }
        }
        // A volume does not share its bytes with its neighbours on a member.
        if !part.member {
            self.above(part, block);
        }
    }

    fn add_below(&mut self, part: &Part, name: &str, thing: Thing, window: &Range<u64>) {
        let mut below =
            part.then(&format!("is stored on {name}"), thing, shifted(&part.bytes, window));
        below.below_loop = true;
        self.add(below);
    }

    /// Adds partitions, volumes and arrays on a device, and the same disk on another path.
    fn above(&mut self, part: &Part, block: &Block) {
        for holder in &block.holders {
            self.is_built_on(part, holder);
            self.add_device(part, &format!("is a part of {holder}"), holder, ALL);
        }
        for other in self.blocks {
            let name = &other.node.name;
            if let Some((disk, range)) = &other.on_disk
                && *disk == block.node.name
                && let Some(bytes) = inside(&part.bytes, range)
            {
                self.add_device(part, &format!("has the partition {name}"), name, bytes);
            }
            if other.world_wide.is_some()
                && other.world_wide == block.world_wide
                && *name != block.node.name
            {
                let predicate = format!("is the same disk as {name} on another path");
                self.add_device(part, &predicate, name, part.bytes.clone());
            }
        }
    }

    /// Adds loop devices over the same bytes. One that is only attached counts as a user too.
    fn loops_over(&mut self, part: &Part) {
        for block in self.blocks {
            let Some((below, window)) = &block.below else { continue };
            let is_below = match (below, &part.thing) {
                (Below::Device(name), Thing::Device(node)) => *name == node.name,
                (Below::File(one), Thing::File(other)) => one.is_same(other),
                _ => false,
            };
            let name = &block.node.name;
            let is_known = self.parts.iter().any(|known| {
                known.device().is_some_and(|node| node.name == *name) && !known.bytes.is_empty()
            });
            if !is_below || is_known {
                continue;
            }
            if let Some(bytes) = inside(&part.bytes, window) {
                let predicate = format!("is in use as the loop device {name}");
                self.built_on.get_or_insert_with(|| Use {
                    why: part.says(&predicate),
                    remedy: format!("detach it first (losetup -d /dev/{name})"),
                });
                self.add(part.then(&predicate, Thing::Device(block.node.clone()), bytes));
            }
        }
    }

    /// Records that a device (device mapper, md, bcache and similar) is built on a part.
    fn is_built_on(&mut self, part: &Part, holder: &str) {
        if self.built_on.is_some() {
            return;
        }
        let directory = self.roots.sys.join("class/block").join(holder);
        let beside = part.device().map(|node| node.directory.join("holders").join(holder));
        let name = [Some(directory), beside]
            .into_iter()
            .flatten()
            .find_map(|directory| text(&directory.join("dm/name")))
            .map(|name| format!(" ({name})"))
            .unwrap_or_default();
        let remedy = match holder.trim_end_matches(|c: char| c.is_ascii_digit()) {
            "dm-" => "remove that volume first (lvchange -an, cryptsetup close or dmsetup remove)",
            "md" => "stop that array first (mdadm --stop)",
            _ => "release it there first",
        };
        let why = part.says(&format!("is a part of {holder}{name}"));
        self.built_on = Some(Use { why, remedy: remedy.to_owned() });
    }
}

/// The bytes of an object below, of which `window` is exposed.
fn shifted(bytes: &Range<u64>, window: &Range<u64>) -> Range<u64> {
    let end = window.start.saturating_add(bytes.end).min(window.end);
    window.start.saturating_add(bytes.start).min(end)..end
}

/// The bytes of an object above that exposes `window`; `None` if none are shared.
fn inside(bytes: &Range<u64>, window: &Range<u64>) -> Option<Range<u64>> {
    let (start, end) = (bytes.start.max(window.start), bytes.end.min(window.end));
    (start < end).then(|| start - window.start..end - window.start)
}
