//! Opens targets on all agents, by the same steps as local targets.

use crate::backend::ClientsBackend;
use crate::fleet::{Agents, Result};
use crate::launch::{Launch, fill};
use crate::protocol::{Opened, Reply, Request};
use crate::waits::{Deadlines, Step};
use host::target::{self, Access};
use plan::session::{
    Display, Opener, PreparedElsewhere, RealTargets, SessionError, StopFlag, TargetsElsewhere,
    add_new,
};
use record::{Bytes, CacheMode, EngineName, Nanos, Target, TargetKind, TargetSharing, Workload};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use workload::Spec;

/// File systems that several machines can share.
const NETWORK_FILESYSTEMS: &str =
    "nfs nfs4 cifs smb3 ceph lustre gpfs beegfs glusterfs fuse.glusterfs";

/// Connected clients, on which targets can be opened.
pub struct Clients {
    agents: Rc<RefCell<Agents>>,
    /// Whether the clients share a target, if the user says so.
    sharing: Option<TargetSharing>,
    sets: Cell<u32>,
}

impl Clients {
    /// Starts the agents and checks their version and their clocks. Each is given up after `silence`
    /// without a message; `display` shows the user which agents it waits for.
    ///
    /// # Errors
    /// If an agent does not start or has another version, or the user interrupts.
    pub fn start(
        launch: &Launch,
        sharing: Option<TargetSharing>,
        silence: Option<Nanos>,
        stop: &StopFlag,
        display: Box<dyn Display>,
    ) -> Result<Self> {
        let deadlines = Deadlines::new(silence.map(|it| Duration::from_nanos(it.0)));
        let links = |events: &_| launch.links(events);
        let agents = Agents::greeted(links, launch.words(), deadlines, stop, display)?;
        Ok(Self { agents: Rc::new(RefCell::new(agents)), sharing, sets: Cell::new(0) })
    }

    /// Number of clients.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.agents.borrow().links.len() as u32
    }
}

impl Opener for Clients {
    fn open(
        &self,
        paths: &[&Path],
        access: &Access,
        size: Option<Bytes>,
        min_request: Bytes,
    ) -> Result<RealTargets> {
        let set = self.sets.replace(self.sets.get() + 1);
        let mut agents = self.agents.borrow_mut();
        let named: Vec<String> =
            paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        let hosts: Vec<String> = agents.links.iter().map(|link| link.host.clone()).collect();
        for (rank, host) in hosts.iter().enumerate() {
            for path in &named {
                target::refuse_own_file(fill(path, rank, host).as_ref(), access)?;
            }
        }
        let request = |rank: usize| Request::Open {
            set,
            targets: named.iter().map(|path| fill(path, rank, &hosts[rank])).collect(),
            access: access.into(),
            size,
            min_request,
        };
        let opened = agents.ask_all(Step::Open, request, |reply| match reply {
            Reply::Opened(opened) => Some(opened),
            _ => None,
        })?;
        let one_kernel = agents.on_one_kernel();
        drop(agents);
        let (sharing, reason) = match self.sharing {
            Some(said) => (said, "set by --targets-are".to_owned()),
            None => sharing(&named, &opened, one_kernel)?,
        };
        let agents = Rc::clone(&self.agents);
        let targets =
            Everywhere { agents, set, facts: facts(&named, &opened), opened, sharing, reason };
        RealTargets::elsewhere(Rc::new(targets))
    }

    fn whole(&self, mut spec: Spec) -> Result<Spec> {
        let refused = [
            (
                !spec.beside.is_empty(),
                "--beside: each client would have several measurement windows; start a second \
                 command with --hosts at the same time, or omit --beside",
            ),
            (
                spec.asked.replay.is_some(),
                "--replay: a recording contains the requests of one machine; replay it on one \
                 machine, without --hosts",
            ),
            (
                spec.asked.array.is_some() || spec.asked.stripe_bytes.is_some(),
                "--raid: each client would have a separate array, whose writes do not wait for \
                 those of other clients; name a device that is an array (md, LVM), or omit --raid",
            ),
            (
                spec.asked.data == record::Data::Tagged,
                "--verify: each client knows only its own writes; verify on one machine, without \
                 --hosts",
            ),
        ];
        if let Some((_, why)) = refused.iter().find(|(given, _)| *given) {
            return Err(SessionError::usage(*why));
        }
        let clients = self.count();
        let times = |each: u64| each.saturating_mul(u64::from(clients));
        let asked = &mut spec.asked;
        asked.numjobs = asked.numjobs.saturating_mul(clients);
        // A warm-up that differs between clients cannot be cut off for all.
        asked.stop.cut_warm_up = false;
        asked.rate_iops = asked.rate_iops.map(times);
        asked.write_rate_iops = asked.write_rate_iops.map(times);
        asked.stop.max_bytes = asked.stop.max_bytes.map(|bytes| Bytes(times(bytes.0)));
        Ok(spec)
    }

    fn clients(&self) -> Vec<String> {
        self.agents.borrow().links.iter().map(|link| link.host.clone()).collect()
    }

    fn check_machine(&self, _asked: &Workload) -> Result<()> {
        // Each agent checks its own machine when it checks the area.
        Ok(())
    }

    fn has_default_engine(&self) -> bool {
        self.agents.borrow().links.iter().all(|link| link.default_engine)
    }
}

struct Everywhere {
    agents: Rc<RefCell<Agents>>,
    set: u32,
    facts: Vec<Target>,
    opened: Vec<Opened>,
    sharing: TargetSharing,
    reason: String,
}

impl Everywhere {
    fn open_all(&self, request: &Request) -> Result<()> {
        let mut agents = self.agents.borrow_mut();
        let done = |reply| matches!(reply, Reply::Done).then_some(());
        agents.ask_all(Step::Open, |_| request.clone(), done).map(drop)
    }
}

impl TargetsElsewhere for Everywhere {
    fn facts(&self) -> &[Target] {
        &self.facts
    }

    fn alignment(&self) -> u64 {
        self.opened.iter().map(|opened| opened.alignment).max().unwrap_or(1)
    }

    fn writable(&self) -> bool {
        self.opened.iter().all(|opened| opened.writable)
    }

    fn look_at_area(&self, workload: &Workload) -> Result<()> {
        let workload = Box::new(workload.clone());
        self.open_all(&Request::LookAtArea { set: self.set, workload })
    }

    fn open_mode(&self, cache: CacheMode, write: bool) -> Result<()> {
        self.open_all(&Request::OpenMode { set: self.set, cache, write })
    }

    fn prepare(&self, engine: EngineName, seed: u64) -> Result<PreparedElsewhere> {
        let makes_files = self.facts.iter().any(|facts| facts.kind == TargetKind::Directory);
        let step = if makes_files { Step::WriteFile } else { Step::Prepare };
        let set = self.set;
        let mut agents = self.agents.borrow_mut();
        // Different data on each client: storage that all share would otherwise see the same blocks twice.
        let request = |rank: usize| Request::Prepare {
            set,
            engine,
            seed: seed.wrapping_add((rank as u64) << 16),
        };
        let prepared = agents.ask_all(step, request, |reply| match reply {
            Reply::Prepared { engine, findings } => Some((engine, findings)),
            _ => None,
        })?;
        drop(agents);
        let engines = || prepared.iter().map(|(engine, _)| *engine);
        let common = engines().find(|one| *one != engine).unwrap_or(engine);
        if engines().any(|one| one != common) {
            return Err(SessionError::NoResult(format!(
                "only some clients can use io_uring; add --ioengine {}",
                common.name()
            )));
        }
        // Findings of an agent from before the trials are in its own trials. Those of all agents are also
        // reported once here, so that the combined document shows them.
        let mut findings = Vec::new();
        if let Some((_, first)) = prepared.first() {
            let of_all = first.iter().filter(|it| prepared.iter().all(|(_, all)| all.contains(it)));
            add_new(&mut findings, of_all.cloned());
        }
        let (agents, sharing) = (Rc::clone(&self.agents), (self.sharing, self.reason.clone()));
        let backend = Box::new(ClientsBackend::new(agents, set, sharing));
        Ok(PreparedElsewhere { backend, engine: common, findings })
    }

    fn flush(&self) -> Result<f64> {
        let flushed = |reply| match reply {
            Reply::Flushed { ms } => Some(ms),
            _ => None,
        };
        let set = self.set;
        let all =
            self.agents.borrow_mut().ask_all(Step::Flush, |_| Request::Flush { set }, flushed)?;
        Ok(all.into_iter().fold(0.0, f64::max))
    }
}

/// Facts of the targets for the combined document: named as by the user, as large as the smallest, and with
/// a device or a file system only if it is the same for all.
fn facts(named: &[String], opened: &[Opened]) -> Vec<Target> {
    let Some(first) = opened.first() else { return Vec::new() };
    let of = |(index, path): (usize, &String)| {
        let mut facts = first.facts.get(index)?.clone();
        facts.path.clone_from(path);
        for other in opened.iter().skip(1).filter_map(|opened| opened.facts.get(index)) {
            facts.size_bytes = facts.size_bytes.min(other.size_bytes);
            if facts.device != other.device {
                facts.device = None;
            }
            if facts.filesystem != other.filesystem {
                facts.filesystem = None;
            }
        }
        facts.extents = None;
        Some(facts)
    };
    named.iter().enumerate().filter_map(of).collect()
}

/// Whether the source of a network file system names the machine that mounts it: `localhost:/x`,
/// `[::1]:/x`, `//127.0.0.1/share`, `127.0.0.1:6789:/`, or Lustre's `0@lo:/x`. If several servers are
/// named, all must be local.
fn is_own_host(source: &str) -> bool {
    let server = source.strip_prefix("//").unwrap_or(source);
    // The path follows the last server.
    let servers = server.split_once('/').map_or(server, |(servers, _)| servers);
    servers.split(',').all(|server| {
        let host = match server.strip_prefix('[') {
            Some(address) => address.split(']').next().unwrap_or_default(),
            None => server.split(':').next().unwrap_or_default(),
        };
        let host = host.trim_end_matches('.').to_ascii_lowercase();
        let names = ["localhost", "localhost.localdomain", "localhost6", "ip6-localhost", "0@lo"];
        names.contains(&host.as_str())
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    })
}

/// Whether all clients load one target, and the evidence.
fn sharing(
    named: &[String],
    opened: &[Opened],
    one_kernel: bool,
) -> Result<(TargetSharing, String)> {
    let own = |why: &str| Ok((TargetSharing::Own, why.to_owned()));
    let shared = |why: &str| Ok((TargetSharing::Shared, why.to_owned()));
    if named.iter().any(|path| path.contains("{host}") || path.contains("{rank}")) {
        return own("{host} or {rank} is in the path");
    }
    let all = || opened.iter().flat_map(|opened| &opened.facts);
    if all().any(|facts| facts.kind == TargetKind::Directory) {
        return own("each client creates a separate test file in the directory");
    }
    if opened.len() < 2 {
        return own("only one client takes part");
    }
    if one_kernel && opened.windows(2).all(|pair| pair[0].identities == pair[1].identities) {
        return shared("the clients run on one kernel, and the file or device is the same");
    }
    let over_network = |facts: &Target| {
        let filesystem = facts.filesystem.as_ref()?;
        let known = NETWORK_FILESYSTEMS.split(' ').any(|kind| kind == filesystem.kind);
        known.then(|| (filesystem.source.clone(), facts.path.clone()))
    };
    let sources: Option<Vec<_>> = all().map(over_network).collect();
    let same = sources
        .filter(|it| it.chunks(named.len().max(1)).all(|of| of == &it[..of.len()]))
        .unwrap_or_default();
    if let Some((source, _)) = same.iter().find(|(source, _)| is_own_host(source)) {
        return Err(SessionError::Usage(format!(
            "each client mounts the file system from {source:?}, which may be one shared server \
             or a separate server on each client; add --targets-are own (separate servers) or \
             --targets-are shared (such as one server behind a tunnel)"
        )));
    }
    if !same.is_empty() {
        return shared("the same path of the same network file system");
    }
    let serials: Option<Vec<&String>> =
        all().map(|facts| facts.device.as_ref()?.serial.as_ref()).collect();
    if let Some(serials) = serials.filter(|_| all().all(|it| it.kind == TargetKind::BlockDevice)) {
        let of_first = &serials[..named.len().min(serials.len())];
        if serials.chunks(named.len().max(1)).all(|of| of == of_first) {
            return shared("the devices have the same serial number");
        }
        return own("the devices have different serial numbers");
    }
    Err(SessionError::usage(
        "it is unknown whether the clients share one target or each has its own; add \
         --targets-are shared (jobs get different parts, and the clients' shares are compared) or \
         --targets-are own",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::FilesystemFacts;

    #[test]
    fn a_source_on_the_machine_itself_is_told_by_its_host() {
        for own in [
            "127.0.0.1:/x",
            "127.5.0.1:/x",
            "localhost:/x",
            "LOCALHOST.:/x",
            "[::1]:/x",
            "//127.0.0.1/share",
            "//localhost/share",
            "127.0.0.1:6789:/",
            "127.0.0.1:6789,127.0.0.1:6790:/x",
            "0@lo:/x",
            "localhost:volume",
        ] {
            assert!(is_own_host(own), "{own}");
        }
        for other in [
            "10.0.0.1:/127.0.0.1",
            "server:/x",
            "[fe80::1]:/x",
            "//server/localhost",
            "127.0.0.1:6789,10.0.0.1:6789:/",
            "10.0.0.1@tcp:/x",
            "beegfs_nodev",
            "",
        ] {
            assert!(!is_own_host(other), "{other}");
        }
    }

    /// The report of a client that has this source mounted.
    fn client(source: &str) -> Opened {
        let facts = Target {
            path: "/mnt/big".to_owned(),
            kind: TargetKind::File,
            size_bytes: Bytes(1 << 30),
            device: None,
            filesystem: Some(FilesystemFacts {
                kind: "nfs4".to_owned(),
                mount_point: "/mnt".to_owned(),
                options: String::new(),
                source: source.to_owned(),
                size_bytes: Bytes(1 << 40),
                free_bytes: Bytes(1 << 39),
                block_bytes: Bytes(4_096),
                in_memory: false,
                compresses: false,
                direct_alignment_bytes: None,
            }),
            extents: None,
            file_hash: None,
            test_file: None,
        };
        Opened { facts: vec![facts], identities: vec![None], alignment: 512, writable: false }
    }

    #[test]
    fn a_file_server_on_each_client_is_not_taken_for_one_that_all_share() {
        let named = ["/mnt/big".to_owned()];
        let told = |source: &str| sharing(&named, &[client(source), client(source)], false);
        let (found, _) = told("server:/x").expect("it is one server");
        assert_eq!(found, TargetSharing::Shared);
        let asked = told("127.0.0.1:/x").expect_err("it cannot be told").to_string();
        assert!(asked.contains("127.0.0.1:/x") && asked.contains("--targets-are own"), "{asked}");
    }
}
