//! Who uses a device: processes as they were counted, and the groups that a reader knows them by.
//!
//! A neighbour is rarely one process: eight writers, forty backends of a database, a container. So
//! processes are put together by systemd unit or container where their control group names one,
//! and by program where it does not (a login session, a slice, the root): that everything in a
//! session is one neighbour would be no answer. Threads of the kernel write for others (write-back,
//! journals) and are a group of their own by name.
//! Sources: systemd's CGROUP_DELEGATION and systemd.unit(5); the drivers cgroupfs and systemd of
//! runc; LXC's lxc.payload.NAME; the kubelet's pod_container_manager; podman's libpod_pod_ID.

use crate::{OpKind, counted, format_count, format_share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Characters of a container's identifier that its own tools print.
const SHORT_ID: usize = 12;

/// What one process asked of a device during an interval; what is behind the busiest ones is
/// together by program and group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIo {
    /// Process id; null for several together.
    pub process: Option<u32>,
    /// How many processes this is of.
    pub processes: u32,
    /// Name of the program.
    pub name: String,
    /// Path of its control group, as the kernel tells it; null where it had ended before it was
    /// looked up.
    pub group: Option<String>,
    /// Whether it is a thread of the kernel, which works for others.
    pub kernel_thread: bool,
    /// Reads that it started.
    pub reads: u64,
    /// Writes that it started.
    pub writes: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Bytes of these writes.
    pub write_bytes: u64,
    /// Cache flushes of the device that it asked for by itself.
    pub flushes: u64,
    /// Its fsyncs (fdatasync, msync, `O_SYNC` writes) on ext4, XFS and F2FS of the device, whoever
    /// then writes and flushes: often the journal's thread.
    pub fsyncs: u64,
    /// Requests that it waited for at the end of the interval, those among them that the device does not
    /// know of yet: entries of its io_uring rings that it has not reaped, and threads that slept in the
    /// kernel. Null where nothing of that shows (libaio), or where it uses other disks as well.
    pub outstanding: Option<u32>,
}

/// What a control group says of who is in it.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// A container, of whichever tool.
    Container,
    /// A service or scope of systemd.
    Unit,
    /// A group that somebody made.
    Group,
    /// A session, a slice, the root: who is in it have nothing in common.
    Shared,
}

/// Whose processes these are, by their control group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// What it is.
    pub kind: OwnerKind,
    /// Its name in print: `docker 0123456789ab`, `postgresql.service`, `/user.slice`.
    pub name: String,
}

/// Tools of containers, by how they begin the name of a control group.
const TOOLS: [(&str, &str); 7] = [
    ("docker-", "docker"),
    ("cri-containerd-", "containerd"),
    ("crio-", "cri-o"),
    ("libpod-", "podman"),
    ("lxc.payload.", "lxc"),
    ("systemd-nspawn@", "nspawn"),
    ("machine-", "machine"),
];

impl Owner {
    /// What the path of a control group tells.
    #[must_use]
    pub fn of(group: &str) -> Self {
        let parts: Vec<&str> = group.split('/').filter(|part| !part.is_empty()).collect();
        let owner = |kind, name: String| Self { kind, name };
        if let Some(name) = container(&parts) {
            return owner(OwnerKind::Container, name);
        }
        let unit = |part: &&&str| {
            let service = part.ends_with(".service") && !part.starts_with("user@");
            let scope = part.ends_with(".scope") && !part.starts_with("session-");
            (service || scope) && **part != "init.scope"
        };
        if let Some(unit) = parts.iter().rev().find(unit) {
            return owner(OwnerKind::Unit, (*unit).to_owned());
        }
        // A group below a slice or a session that systemd did not make says something again.
        let own = |part: &str| {
            !(part.ends_with(".slice") || part.ends_with(".scope") || part.ends_with(".service"))
                && part != ".."
        };
        let kind = match parts.last() {
            Some(last) if own(last) => OwnerKind::Group,
            _ => OwnerKind::Shared,
        };
        owner(kind, group.to_owned())
    }

    /// Whether it says who is in it.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.kind != OwnerKind::Shared
    }
}

/// `TOOL ID` of the container that a path is in or below; `pod UID (TOOL ID)` in a pod of Kubernetes or podman.
fn container(parts: &[&str]) -> Option<String> {
    let container = own_container(parts)?;
    Some(match parts.iter().find_map(|part| pod(part)) {
        Some(pod) => format!("pod {pod} ({})", container.replace("kubernetes ", "container ")),
        None => container,
    })
}

/// The identifier of a pod, as its group is named: `kubepods-burstable-pod6f1c2d3e_....slice` (systemd),
/// `pod6f1c2d3e-...` (cgroupfs), `machine-libpod_pod_ID.slice` (podman). Its name is in no path; `kubectl get pods -A
/// -o custom-columns=NAME:.metadata.name,UID:.metadata.uid` finds it.
fn pod(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let id = match part.strip_prefix("machine-libpod_pod_") {
        Some(id) => id,
        None => {
            let kubernetes = part.starts_with("kubepods") || part.starts_with("pod");
            let id = part.rsplit_once("pod").filter(|_| kubernetes)?.1;
            id.split(['_', '-']).next()?
        }
    };
    let is_id = id.len() >= 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.chars().take(SHORT_ID).collect())
}

/// `TOOL ID` of the container.
fn own_container(parts: &[&str]) -> Option<String> {
    let is_id = |text: &str| text.len() >= 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let short = |id: &str| id.chars().take(SHORT_ID).collect::<String>();
    let named = |tool: &str, id: &str| {
        let id = id.strip_suffix(".scope").or(id.strip_suffix(".service")).unwrap_or(id);
        let id = if is_id(id) { short(id) } else { id.to_owned() };
        (!id.is_empty()).then(|| format!("{tool} {id}"))
    };
    let mut above = "";
    for part in parts {
        for (begin, tool) in TOOLS {
            // `libpod-conmon-ID` watches over a container and is not in it.
            // A slice holds groups of containers: podman's of a pod is `machine-libpod_pod_ID.slice`.
            let rest = part
                .strip_prefix(begin)
                .filter(|rest| !rest.starts_with("conmon-") && !rest.ends_with(".slice"));
            if let Some(found) = rest.and_then(|rest| named(tool, rest)) {
                return Some(found);
            }
        }
        // Groups that a tool makes without systemd are below one of its name.
        let tool = match above {
            "docker" | "lxc" | "lxc.payload" => above.split('.').next(),
            "libpod_parent" => Some("podman"),
            _ if above.starts_with("pod") && is_id(part) => Some("kubernetes"),
            _ => None,
        };
        if let Some(tool) = tool {
            return named(tool, part);
        }
        above = part;
    }
    None
}

/// Processes that belong together, and what they ask of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoGroup {
    /// The program that asks for most; of the kernel's threads their kind (`jbd2`, `kworker`).
    pub program: String,
    /// Further programs in it.
    pub other_programs: u32,
    /// Processes in it.
    pub processes: u32,
    /// The id of its process, where it is one.
    pub process: Option<u32>,
    /// Whose they are; null where their control group is not known.
    pub owner: Option<Owner>,
    /// Whether these are threads of the kernel, which work for others.
    pub kernel_thread: bool,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub write_bytes_per_s: f64,
    /// Cache flushes per second that they asked for by themselves.
    pub flushes_per_s: f64,
    /// fsyncs per second, as in [`ProcessIo::fsyncs`].
    pub fsyncs_per_s: f64,
}

impl IoGroup {
    /// `fio ×8 in /user.slice`, `mysqld (4711) in mysql.service`.
    #[must_use]
    pub fn label(&self) -> String {
        let mut text = self.program.clone();
        if self.other_programs > 0 {
            let others = counted(f64::from(self.other_programs), "other program");
            text.push_str(&format!(" and {others}"));
        }
        match self.process {
            Some(process) => text.push_str(&format!(" ({process})")),
            None if self.processes > 1 => text.push_str(&format!(" ×{}", self.processes)),
            None => {}
        }
        match &self.owner {
            _ if self.kernel_thread => text.push_str(" (kernel)"),
            Some(owner) if owner.name != "/" => text.push_str(&format!(" in {}", owner.name)),
            _ => {}
        }
        text
    }

    /// Reads and writes per second.
    #[must_use]
    pub fn requests_per_s(&self) -> f64 {
        self.reads_per_s + self.writes_per_s
    }

    /// Requests of one operation per second.
    #[must_use]
    pub fn per_s(&self, op: OpKind) -> f64 {
        match op {
            OpKind::Read => self.reads_per_s,
            OpKind::Write => self.writes_per_s,
        }
    }

    /// Bytes of one operation per second.
    #[must_use]
    pub fn op_bytes_per_s(&self, op: OpKind) -> f64 {
        match op {
            OpKind::Read => self.read_bytes_per_s,
            OpKind::Write => self.write_bytes_per_s,
        }
    }

    /// fsyncs, or flushes where those are more: programs that write to a device without a file
    /// system, or on one whose fsyncs are not seen.
    #[must_use]
    pub fn syncs_per_s(&self) -> f64 {
        self.fsyncs_per_s.max(self.flushes_per_s)
    }

    /// `840 fsyncs/s, 61 % of the writes`: what it does, with its shares of what all do.
    #[must_use]
    pub fn figures(&self, all: &[Self]) -> String {
        let share = |of: &dyn Fn(&Self) -> f64| {
            let whole: f64 = all.iter().map(of).sum();
            (whole > 0.0).then(|| of(self) / whole)
        };
        let mut parts: Vec<String> = Vec::new();
        if self.syncs_per_s() > 0.0 {
            let word = if self.fsyncs_per_s >= self.flushes_per_s { "fsyncs" } else { "flushes" };
            parts.push(format!("{} {word}/s", format_count(self.syncs_per_s())));
        }
        let shares: [(&str, Option<f64>); 2] =
            [("reads", share(&|one| one.reads_per_s)), ("writes", share(&|one| one.writes_per_s))];
        for (what, share) in shares {
            // A share that rounds to nothing says nothing.
            if let Some(share) = share.filter(|share| *share >= 0.005) {
                parts.push(format!("{} of the {what}", format_share(share)));
            }
        }
        parts.join(", ")
    }
}

/// Processes over some time, put together; those with the most requests first.
#[must_use]
pub fn io_groups<'a>(
    processes: impl IntoIterator<Item = &'a ProcessIo>,
    seconds: f64,
) -> Vec<IoGroup> {
    let mut sums: BTreeMap<(bool, Option<Owner>, &str), GroupSums<'a>> = BTreeMap::new();
    for one in processes {
        // The root group means no group, as for a process that has ended.
        let owner = one.group.as_deref().filter(|group| *group != "/").map(Owner::of);
        // `kworker/u8:3-flush-254:0`, `jbd2/vda-8`.
        let kind = one.name.split('/').next().filter(|_| one.kernel_thread);
        let program = kind.unwrap_or(&one.name);
        let together = !one.kernel_thread && owner.as_ref().is_some_and(Owner::tells);
        let key = (one.kernel_thread, owner, if together { "" } else { program });
        sums.entry(key).or_default().add(one, program);
    }
    let group = |((kernel_thread, owner, _), sums): ((bool, _, _), GroupSums<'a>)| {
        sums.group(kernel_thread, owner, seconds.max(1e-9))
    };
    let mut groups: Vec<IoGroup> = sums.into_iter().map(group).collect();
    groups.sort_by(|a, b| b.requests_per_s().total_cmp(&a.requests_per_s()));
    groups
}

#[derive(Default)]
struct GroupSums<'a> {
    /// What each program did, to name the one that does most.
    programs: BTreeMap<&'a str, u64>,
    known: BTreeSet<u32>,
    /// The most processes that were told together in one interval, without ids.
    unknown: u32,
    /// Reads, writes, their bytes, flushes, fsyncs.
    counts: [u64; 6],
}

impl<'a> GroupSums<'a> {
    fn add(&mut self, one: &ProcessIo, program: &'a str) {
        *self.programs.entry(program).or_default() += one.reads + one.writes + one.fsyncs;
        match one.process {
            Some(process) => drop(self.known.insert(process)),
            None => self.unknown = self.unknown.max(one.processes),
        }
        let counts =
            [one.reads, one.writes, one.read_bytes, one.write_bytes, one.flushes, one.fsyncs];
        self.counts.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
    }

    fn group(self, kernel_thread: bool, owner: Option<Owner>, seconds: f64) -> IoGroup {
        let [reads, writes, read_bytes, write_bytes, flushes, fsyncs] =
            self.counts.map(|count| count as f64 / seconds);
        let most = self.programs.iter().max_by_key(|(_, did)| **did);
        IoGroup {
            program: most.map(|(name, _)| (*name).to_owned()).unwrap_or_default(),
            other_programs: self.programs.len().saturating_sub(1) as u32,
            processes: self.known.len() as u32 + self.unknown,
            process: self
                .known
                .first()
                .copied()
                .filter(|_| self.known.len() == 1 && self.unknown == 0),
            owner,
            kernel_thread,
            reads_per_s: reads,
            writes_per_s: writes,
            read_bytes_per_s: read_bytes,
            write_bytes_per_s: write_bytes,
            flushes_per_s: flushes,
            fsyncs_per_s: fsyncs,
        }
    }
}
