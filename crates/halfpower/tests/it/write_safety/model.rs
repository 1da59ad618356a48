//! The guarantees of docs/safety.md about writing, as a rule over nodes and byte ranges.
//!
//! The author knew only these guarantees, not the program's implementation, so that one mistake cannot be in
//! both. Every file and device of a stack is a byte range of one base (a lowest file, or a RAM disk). Two
//! nodes share data exactly if their ranges overlap, however they are stacked. A file inside a mounted file
//! system is a separate base: writing to it is the purpose of a file system.

use std::path::PathBuf;

/// A range of bytes of a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) base: usize,
    pub(super) start: u64,
    pub(super) end: u64,
}

impl Span {
    fn overlaps(self, other: Self) -> bool {
        self.base == other.base && self.start < other.end && other.start < self.end
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Device,
}

/// What a node is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Mounted,
    MountedElsewhere,
    MountedUntilClosed,
    Swap,
    FilesystemMember,
    OpenForWriting,
    OpenExclusively,
    OpenForReading,
    Locked,
    Leased,
    MappedForWriting,
    Signature,
}

impl Use {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Mounted => "mounted",
            Self::MountedElsewhere => "mounted in another mount namespace",
            Self::MountedUntilClosed => "unmounted lazily while a process is in it",
            Self::Swap => "swap",
            Self::FilesystemMember => "a member of a mounted file system",
            Self::OpenForWriting => "open for writing",
            Self::OpenExclusively => "open with O_EXCL",
            Self::OpenForReading => "open for reading",
            Self::Locked => "locked",
            Self::Leased => "leased",
            Self::MappedForWriting => "mapped shared for writing",
            Self::Signature => "carrying a signature",
        }
    }
}

/// A path to a node.
#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) path: PathBuf,
    pub(super) how: &'static str,
}

/// A file or device of a stack.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) label: String,
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// The node below it, of the same base.
    pub(super) over: Option<usize>,
    pub(super) uses: Vec<Use>,
    /// Names by which a command line may specify it as a target.
    pub(super) names: Vec<Name>,
    /// Names by which other processes and loop devices use it.
    pub(super) user_names: Vec<PathBuf>,
    /// Words that start a process where these names exist, for example in another mount namespace.
    pub(super) enter: Vec<String>,
    /// Whether a write by one of these names would make a copy: a file of an overlay's lower layer.
    pub(super) only_read_by_users: bool,
}

/// Whether a write with the right flag is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Forbidden(String),
    /// The guarantees leave it open.
    Open(String),
    /// The user must be able to do it.
    Allowed,
}

/// The nodes below a node, from the nearest.
fn below(nodes: &[Node], node: usize) -> impl Iterator<Item = usize> + '_ {
    std::iter::successors(nodes[node].over, |at| nodes[*at].over)
}

/// How a node relates to the target.
fn relation(nodes: &[Node], target: usize, other: usize) -> &'static str {
    if other == target {
        "it"
    } else if below(nodes, target).any(|at| at == other) {
        "what it lies on"
    } else if below(nodes, other).any(|at| at == target) {
        "what lies on it"
    } else {
        "what shares bytes with it"
    }
}

/// Whether data could be lost by writing to a node with the right flag.
pub(super) fn may_write(nodes: &[Node], target: usize) -> Verdict {
    let written = &nodes[target];
    let mut open = None;
    for (at, node) in nodes.iter().enumerate() {
        let relation = relation(nodes, target, at);
        if node.span.base != written.span.base {
            continue;
        }
        let touches = node.span.overlaps(written.span);
        let idle_device = node.kind == Kind::Device && relation != "it" && touches;
        if idle_device && written.kind == Kind::File {
            return Verdict::Forbidden(format!("{relation} is a loop device"));
        }
        if idle_device && relation != "what it lies on" {
            open = Some(format!("{relation} is a device"));
        }
        for used in &node.uses {
            let reason = || format!("{relation} is {}", used.words());
            let forbidden = match used {
                Use::OpenForReading => continue,
                Use::Signature => {
                    written.kind == Kind::Device && node.span.start == written.span.start
                }
                // A lock on a device is a convention of some programs, not a writer.
                Use::Locked | Use::Leased => node.kind == Kind::File,
                _ => true,
            };
            if forbidden && touches {
                return Verdict::Forbidden(reason());
            }
            open = Some(reason());
        }
    }
    open.map_or(Verdict::Allowed, Verdict::Open)
}

/// The same for a program in its own process namespace, where it sees no outside process. The kernel still
/// shows a writer of a file, but not of a device, nor a second writer of a file below a loop device.
pub(super) fn may_write_contained(nodes: &[Node], target: usize) -> Verdict {
    let verdict = may_write(nodes, target);
    let mut seen = nodes.to_vec();
    for (at, node) in seen.iter_mut().enumerate() {
        let shown = at == target && node.kind == Kind::File;
        let hidden = |it: &Use| !shown && matches!(it, Use::OpenForWriting | Use::MappedForWriting);
        node.uses.retain(|it| !hidden(it));
    }
    match (&verdict, may_write(&seen, target)) {
        (Verdict::Forbidden(_), Verdict::Forbidden(_)) => verdict,
        (Verdict::Forbidden(reason), _) => Verdict::Open(reason.clone()),
        _ => verdict,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(kind: Kind, start: u64, end: u64, over: Option<usize>, uses: &[Use]) -> Node {
        Node {
            label: String::new(),
            kind,
            span: Span { base: 0, start, end },
            over,
            uses: uses.to_vec(),
            names: Vec::new(),
            user_names: Vec::new(),
            enter: Vec::new(),
            only_read_by_users: false,
        }
    }

    fn forbidden(nodes: &[Node], target: usize) -> bool {
        matches!(may_write(nodes, target), Verdict::Forbidden(_))
    }

    #[test]
    fn a_mount_forbids_every_device_and_file_that_shares_its_bytes() {
        let nodes = [
            node(Kind::File, 0, 100, None, &[]),
            node(Kind::Device, 0, 50, Some(0), &[Use::Mounted]),
            node(Kind::Device, 10, 50, Some(1), &[]),
            node(Kind::Device, 40, 60, Some(0), &[]),
            node(Kind::Device, 50, 100, Some(0), &[]),
        ];
        assert!((0..4).all(|target| forbidden(&nodes, target)));
        assert!(matches!(may_write(&nodes, 4), Verdict::Open(_)));
    }

    #[test]
    fn a_free_file_and_a_blank_device_may_be_written() {
        let nodes = [node(Kind::File, 0, 100, None, &[Use::OpenForReading])];
        assert_eq!(may_write(&nodes, 0), Verdict::Allowed);
        let nodes = [node(Kind::File, 0, 100, None, &[]), node(Kind::Device, 0, 100, Some(0), &[])];
        assert_eq!(may_write(&nodes, 1), Verdict::Allowed);
        assert!(forbidden(&nodes, 0), "it backs a loop device");
    }

    #[test]
    fn a_writer_outside_the_namespace_is_asked_about_only_where_it_holds_the_target() {
        let held = [
            node(Kind::File, 0, 100, None, &[Use::OpenForWriting]),
            node(Kind::Device, 0, 100, Some(0), &[]),
        ];
        assert!(forbidden(&held, 1));
        assert!(matches!(may_write_contained(&held, 1), Verdict::Open(_)));
        assert!(matches!(may_write_contained(&held[..1], 0), Verdict::Forbidden(_)));
    }

    #[test]
    fn a_lock_on_the_file_below_forbids_the_device_and_a_signature_only_where_it_is_read() {
        let locked = [
            node(Kind::File, 0, 100, None, &[Use::Locked]),
            node(Kind::Device, 0, 100, Some(0), &[]),
        ];
        assert!(forbidden(&locked, 1));
        let signed = [
            node(Kind::File, 0, 100, None, &[]),
            node(Kind::Device, 0, 100, Some(0), &[Use::Signature]),
            node(Kind::Device, 20, 100, Some(0), &[]),
        ];
        assert!(forbidden(&signed, 1) && !forbidden(&signed, 2));
    }
}
