//! Who uses a device: the processes with their I/O, grouped by service, container or program.
//!
//! A neighbour is rarely one process: it may be eight writers, forty backends of a database, or a container.
//! Processes are therefore grouped by systemd unit or container if their control group names one. Otherwise
//! (a login session, a slice, the root) they are grouped by program, because a whole session is not a useful
//! answer. Kernel threads write for other processes (write-back, journals), and form groups of their own by
//! name. Workers of the kernel are named by their work where it starts requests of others.
//! Sources: systemd's CGROUP_DELEGATION and systemd.unit(5); the drivers cgroupfs and systemd of
//! runc; LXC's lxc.payload.NAME; the kubelet's pod_container_manager; podman's libpod_pod_ID.

use crate::{OpKind, counted, format_count, format_share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Length of a container id as container tools print it.
const SHORT_ID: usize = 12;
/// Work of the kernel's workers that starts requests of other processes, as in their names
/// (`kworker/u8:3-flush-254:0`), and the kind that it makes of a worker.
const WORK: [(&str, &str); 2] = [("flush-", "kworker (write-back)"), ("kthrotld", RELEASES)];
/// The kind of a worker that starts the requests which the limit of a control group delayed.
const RELEASES: &str = "kworker (throttled)";

/// I/O of one process on a device during an interval. Processes beyond the busiest ones are summed by program
/// and group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessIo {
    /// Process id; null for the sum of several.
    pub process: Option<u32>,
    /// Number of processes in this entry.
    pub processes: u32,
    /// Name of the program.
    pub name: String,
    /// Path of its control group, as the kernel reports it; null if the process ended before it was looked
    /// up.
    pub group: Option<String>,
    /// Whether it is a kernel thread, which works for other processes.
    pub kernel_thread: bool,
    /// Reads that it started.
    pub reads: u64,
    /// Writes that it started.
    pub writes: u64,
    /// Bytes of these reads.
    pub read_bytes: u64,
    /// Bytes of these writes.
    pub write_bytes: u64,
    /// Cache flushes that it requested directly from the device.
    pub flushes: u64,
    /// Its fsyncs (also fdatasync, msync and `O_SYNC` writes) on the device's ext4, XFS and F2FS file
    /// systems. Another thread, often the journal's, may then write and flush.
    pub fsyncs: u64,
    /// Requests that it waited for at the end of the interval and that the device had not received yet:
    /// entries of its io_uring rings that it had not reaped, and threads asleep in the kernel. Null if this
    /// is not visible (libaio), or if it also uses other disks.
    pub outstanding: Option<u32>,
}

/// What a control group identifies.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum OwnerKind {
    /// A container of any tool.
    Container,
    /// A service or scope of systemd.
    Unit,
    /// A group that a user or program created.
    Group,
    /// A session, a slice or the root, whose processes have nothing in common.
    Shared,
}

/// The owner of a process, by its control group.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Owner {
    /// Kind of the owner.
    pub kind: OwnerKind,
    /// Its printed name: `docker 0123456789ab`, `postgresql.service`, `/user.slice`.
    pub name: String,
}

/// Container tools, by their prefix in control group names.
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
    /// The owner for the path of a control group.
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
        // A group below a slice or session, if systemd did not create it, identifies its processes again.
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

    /// Whether the owner identifies the processes.
    #[must_use]
    pub fn tells(&self) -> bool {
        self.kind != OwnerKind::Shared
    }
}

/// `TOOL ID` for a path in or below a container; `pod UID (TOOL ID)` in a pod of Kubernetes or podman.
fn container(parts: &[&str]) -> Option<String> {
    let container = own_container(parts)?;
    Some(match parts.iter().find_map(|part| pod(part)) {
        Some(pod) => format!("pod {pod} ({})", container.replace("kubernetes ", "container ")),
        None => container,
    })
}

/// The id of a pod, from the name of its group: `kubepods-burstable-pod6f1c2d3e_....slice` (systemd),
/// `pod6f1c2d3e-...` (cgroupfs), `machine-libpod_pod_ID.slice` (podman). No path contains the pod's name;
/// `kubectl get pods -A -o custom-columns=NAME:.metadata.name,UID:.metadata.uid` lists it.
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
            // `libpod-conmon-ID` monitors a container but is not part of it. A slice contains groups of
            // containers: podman's slice for a pod is `machine-libpod_pod_ID.slice`.
            let rest = part
                .strip_prefix(begin)
                .filter(|rest| !rest.starts_with("conmon-") && !rest.ends_with(".slice"));
            if let Some(found) = rest.and_then(|rest| named(tool, rest)) {
                return Some(found);
            }
        }
        // Without systemd, a tool creates its groups below one with its own name.
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

/// Processes that belong together, and their I/O on a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct IoGroup {
    /// The program with the most requests; for kernel threads their kind (`jbd2`, `kworker (write-back)`).
    pub program: String,
    /// Number of further programs in the group.
    pub other_programs: u32,
    /// Number of processes in the group.
    pub processes: u32,
    /// Process id, if the group is one process.
    pub process: Option<u32>,
    /// Their owner; null if their control group is unknown.
    pub owner: Option<Owner>,
    /// Whether they are kernel threads, which work for other processes.
    pub kernel_thread: bool,
    /// Reads per second.
    pub reads_per_s: f64,
    /// Writes per second.
    pub writes_per_s: f64,
    /// Bytes read per second.
    pub read_bytes_per_s: f64,
    /// Bytes written per second.
    pub write_bytes_per_s: f64,
    /// Cache flushes per second that they requested directly.
    pub flushes_per_s: f64,
    /// fsyncs per second, as in [`ProcessIo::fsyncs`].
    pub fsyncs_per_s: f64,
}

impl IoGroup {
    /// A name for printing: `fio (8 processes) in /user.slice`, `mysqld (4711) in mysql.service`, `jbd2
    /// (kernel)`, `kworker for /batch`.
    #[must_use]
    pub fn label(&self) -> String {
        if self.kernel_thread {
            return self.thread_label();
        }
        let mut text = self.program.clone();
        if self.other_programs > 0 {
            let others = counted(f64::from(self.other_programs), "other program");
            text.push_str(&format!(" and {others}"));
        }
        match self.process {
            Some(process) => text.push_str(&format!(" ({process})")),
            None if self.processes > 1 => {
                text.push_str(&format!(" ({} processes)", self.processes));
            }
            None => {}
        }
        if let Some(owner) = self.owner.as_ref().filter(|owner| owner.name != "/") {
            text.push_str(&format!(" in {}", owner.name));
        }
        text
    }

    /// The name of kernel threads: which process id they have and how many they are means little.
    fn thread_label(&self) -> String {
        let (kind, work) =
            self.program.split_once(" (").unwrap_or((self.program.as_str(), "kernel)"));
        match &self.owner {
            Some(owner) => format!("{kind} for {}", owner.name),
            None => format!("{kind} ({work}"),
        }
    }

    /// Whether these are kernel threads that start requests which the limit of a control group delayed.
    #[must_use]
    pub fn releases_delayed(&self) -> bool {
        self.kernel_thread && self.program == RELEASES
    }

    /// Whether both are the same program of the same owner.
    #[must_use]
    pub fn is_same_program(&self, other: &Self) -> bool {
        (&self.program, &self.owner) == (&other.program, &other.owner)
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

    /// fsyncs or flushes per second, whichever is larger. Flushes are larger for programs that write to a
    /// device without a file system, or to a file system whose fsyncs are not visible.
    #[must_use]
    pub fn syncs_per_s(&self) -> f64 {
        self.fsyncs_per_s.max(self.flushes_per_s)
    }

    /// A summary of its I/O with its shares of the total: `840 fsyncs/s, 61 % of the writes`.
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
            // Omit a share that rounds to zero.
            if let Some(share) = share.filter(|share| *share >= 0.005) {
                parts.push(format!("{} of the {what}", format_share(share)));
            }
        }
        parts.join(", ")
    }
}

/// Groups the processes over a period, most requests first.
#[must_use]
pub fn io_groups<'a>(
    processes: impl IntoIterator<Item = &'a ProcessIo>,
    seconds: f64,
) -> Vec<IoGroup> {
    let mut sums: BTreeMap<(bool, Option<Owner>, &str), GroupSums<'a>> = BTreeMap::new();
    let processes: Vec<&ProcessIo> = processes.into_iter().collect();
    // A worker has the name of its latest work, so one interval that names the work counts for all.
    let work = |one: &ProcessIo| {
        let named = |(name, _): &&(&str, &str)| one.kernel_thread && one.name.contains(name);
        WORK.iter().find(named).map(|(_, kind)| *kind)
    };
    let works: BTreeMap<u32, &str> =
        processes.iter().filter_map(|one| Some((one.process?, work(one)?))).collect();
    for one in processes {
        // The root group counts as no group, as for a process that has ended.
        let owner = one.group.as_deref().filter(|group| *group != "/").map(Owner::of);
        // Kernel thread names: `kworker/u8:3-flush-254:0`, `jbd2/vda-8`.
        let of_worker = one.process.and_then(|id| works.get(&id).copied()).or_else(|| work(one));
        let kind = of_worker.or(one.name.split('/').next()).filter(|_| one.kernel_thread);
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
    /// Requests and fsyncs per program, to find the largest.
    programs: BTreeMap<&'a str, u64>,
    known: BTreeSet<u32>,
    /// The most processes that one interval reported as a sum, without ids.
    unknown: u32,
    /// Reads, writes, bytes read, bytes written, flushes, fsyncs.
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
