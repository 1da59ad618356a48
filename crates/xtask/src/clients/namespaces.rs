//! Four network namespaces as hosts, each with a secure shell daemon of its own, and the processes of
//! mpirun.
//!
//! A namespace has its own network and nothing else: kernel, files and clock are those of this machine, so
//! that what is known of the clock's offset (it is zero) is a truth to hold the measured one against. The
//! daemons have their own keys, configuration and port; the system's are not touched. What this machine's
//! kernel cannot do (throttled reads) is said and left out.

use super::{
    Case, Coordinator, accuses, adds_up, bridged, figures, finds, is_shared, keygen, namespace,
    nothing, quietly, secure_shell,
};
use anyhow::{Context, Result, ensure};
use record::{FindingCode, TargetSharing, Trial};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Throttle, ThrottledGroup, Undo};

/// Namespace of the coordinator, and the beginning of those of the hosts.
const COORDINATOR: &str = "hpcl-co";
const HOST: &str = "hpcl-";
pub(super) const HOSTS: u32 = 4;
const PORT: u16 = 2222;
/// Documentation's own addresses (RFC 5737), which no real network has.
const NETWORK: &str = "192.0.2";
const FILE_BYTES: usize = 256 << 20;
/// Reads a second that the slow host may do.
const SLOW_IOPS: u64 = 200;
/// Longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(120);

pub(super) const CASES: [Case<Stage>; 6] = [
    ("four hosts over ssh, one shared file", shared),
    ("four hosts over ssh, a file each", own),
    ("one agent killed in the middle", killed),
    ("one host's network cut in the middle", cut),
    ("one host made slow", slow),
    ("a sweep and a check on four hosts", plans),
];

/// The hosts; all of it goes away again.
pub(super) struct Stage {
    coordinator: Coordinator,
    /// The program with MPI's barrier, or why there is none.
    pub(super) with_mpi: Result<PathBuf, String>,
    pub(super) seconds: u32,
    // Dropped in this order: what runs in the namespaces, then these, then the folder.
    _daemons: Vec<Undo>,
    slow: Result<ThrottledGroup, String>,
    _namespaces: Vec<Undo>,
    _folder: tempfile::TempDir,
}

impl Stage {
    pub(super) fn new(
        binary: PathBuf,
        with_mpi: Result<PathBuf, String>,
        seconds: u32,
    ) -> Result<Self> {
        let folder = testkit::disk_folder()?;
        let bytes: Vec<u8> = (0..(FILE_BYTES / 4) as u32).flat_map(u32::to_ne_bytes).collect();
        std::fs::write(folder.path().join("big"), &bytes)?;
        for host in 1..=HOSTS {
            std::fs::write(
                folder.path().join(format!("of-{NETWORK}.{host}")),
                &bytes[..FILE_BYTES / 4],
            )?;
        }
        let mut namespaces = vec![bridged(COORDINATOR, &format!("{NETWORK}.254"))?];
        for name in (1..=HOSTS).map(host_name) {
            namespaces.push(namespace(&name)?);
        }
        let inside = format!("ip -n {COORDINATOR}");
        for host in 1..=HOSTS {
            let name = host_name(host);
            quietly(&format!("{inside} link add to{host} type veth peer name net0 netns {name}"))?;
            quietly(&format!("{inside} link set to{host} master bridge"))?;
            quietly(&format!("{inside} link set to{host} up"))?;
            quietly(&format!("ip -n {name} addr add {NETWORK}.{host}/24 dev net0"))?;
            quietly(&format!("ip -n {name} link set net0 up"))?;
        }
        let slow = ThrottledGroup::new().map_err(|error| error.to_string());
        let key = folder.path().join("user").display().to_string();
        keygen(&key)?;
        let login = secure_shell(&key, PORT);
        let coordinator = Coordinator {
            launch: format!("{login} root@{{host}} {} agent", binary.display()),
            binary,
            namespace: COORDINATOR,
            folder: folder.path().to_owned(),
            hosts: (1..=HOSTS).map(|host| format!("{NETWORK}.{host}")).collect(),
            patience: PATIENCE,
        };
        let mut stage = Self {
            coordinator,
            with_mpi,
            seconds,
            _daemons: Vec::new(),
            slow,
            _namespaces: namespaces,
            _folder: folder,
        };
        for host in 1..=HOSTS {
            let daemon = stage.daemon(host)?;
            stage._daemons.push(daemon);
        }
        Ok(stage)
    }

    /// The program, which is that of the agents too.
    pub(super) fn binary(&self) -> &Path {
        &self.coordinator.binary
    }

    pub(super) fn file(&self, name: &str) -> String {
        self.coordinator.file(name)
    }

    /// A secure shell daemon in the namespace of a host; the last host's may be held down.
    fn daemon(&self, host: u32) -> Result<Undo> {
        let key = |name: &str| self.file(name);
        keygen(&key(&format!("host-{host}")))?;
        let config = self.file(&format!("sshd-{host}.conf"));
        std::fs::write(
            &config,
            format!(
                "Port {PORT}\nListenAddress {NETWORK}.{host}\nHostKey {}\nAuthorizedKeysFile {}\n\
                 PidFile none\nUsePAM no\nStrictModes no\nPermitRootLogin prohibit-password\n\
                 PasswordAuthentication no\nLogLevel ERROR\n",
                key(&format!("host-{host}")),
                key("user.pub")
            ),
        )?;
        // The folder that the daemon wants exists in a file system of the namespace's own.
        let script = format!(
            "mount -t tmpfs none /run && mkdir /run/sshd && exec /usr/sbin/sshd -D -e -f {config}"
        );
        let mut command = match (&self.slow, host) {
            (Ok(group), HOSTS) => group.entered(),
            _ => Command::new("env"),
        };
        let child = command
            .args(["ip", "netns", "exec", &host_name(host), "sh", "-c", &script])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(self.file(&format!("sshd-{host}.log")))?)
            .spawn()?;
        let undo = Undo::process(child.id());
        let begin = Instant::now();
        let probe = format!("ip netns exec {COORDINATOR} ssh-keyscan -p {PORT} {NETWORK}.{host}");
        while begin.elapsed() < Duration::from_secs(20) {
            if quietly(&probe).is_ok_and(|output| !output.stdout.is_empty()) {
                return Ok(undo);
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let log = std::fs::read_to_string(self.file(&format!("sshd-{host}.log")))?;
        anyhow::bail!("the daemon of host {host} does not answer: {log}")
    }

    /// The agent on a host, once it is measuring: it has read so many bytes.
    fn agent(&self, host: u32) -> Result<u32> {
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(30) {
            let output = quietly(&format!("ip netns pids {}", host_name(host)))?;
            for pid in String::from_utf8_lossy(&output.stdout).lines() {
                let exe = std::fs::read_link(format!("/proc/{pid}/exe")).unwrap_or_default();
                let io = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
                let read = io.lines().find_map(|line| line.strip_prefix("read_bytes: "));
                let read: u64 = read.and_then(|read| read.parse().ok()).unwrap_or(0);
                if exe == self.coordinator.binary && read > 64 << 20 {
                    return Ok(pid.parse()?);
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        anyhow::bail!("no agent measures on host {host}")
    }
}

fn host_name(host: u32) -> String {
    format!("{HOST}{host}")
}

/// The whole is the sum of its parts, and the clocks are one.
pub(super) fn hold(trial: &Trial, parts: usize) -> Result<()> {
    adds_up(trial, parts)?;
    let clients = trial.clients.as_ref().context("the trial has no clients")?;
    for client in &clients.each {
        let (offset, error) = (client.clock.offset_ns, client.clock.error_ns);
        ensure!(
            offset.unsigned_abs() <= error.0 + 1_000,
            "{}: one clock seems to be {offset} ns off, ±{} ns",
            client.host,
            error.0
        );
    }
    Ok(())
}

fn shared(stage: &Stage) -> Result<Value> {
    let words = format!("run {} --runtime {}s --iodepth 4", stage.file("big"), stage.seconds);
    let trial = stage.coordinator.trial(&words, &[0, 1], nothing)?;
    hold(&trial, HOSTS as usize)?;
    is_shared(&trial, TargetSharing::Shared, "one kernel")?;
    ensure!(trial.workload.depth == HOSTS * 4, "depth {}", trial.workload.depth);
    figures(&trial)
}

fn own(stage: &Stage) -> Result<Value> {
    let words =
        format!("run {} --runtime {}s --rw read --bs 64k", stage.file("of-{host}"), stage.seconds);
    let trial = stage.coordinator.trial(&words, &[0, 1], nothing)?;
    hold(&trial, HOSTS as usize)?;
    is_shared(&trial, TargetSharing::Own, "{host}")?;
    figures(&trial)
}

fn killed(stage: &Stage) -> Result<Value> {
    let words = format!("run {} --runtime {}s --iodepth 4", stage.file("big"), stage.seconds + 5);
    let trial = stage.coordinator.trial(&words, &[1], || {
        let agent = stage.agent(2)?;
        std::thread::sleep(Duration::from_millis(1_500));
        quietly(&format!("kill -9 {agent}")).map(drop)
    })?;
    hold(&trial, HOSTS as usize - 1)?;
    finds(&trial, FindingCode::ClientLost)?;
    figures(&trial)
}

fn cut(stage: &Stage) -> Result<Value> {
    let file = stage.file("big");
    let words =
        format!("run {file} --runtime {}s --iodepth 4 --agent-timeout 3s", stage.seconds + 6);
    let link =
        |state: &str| quietly(&format!("ip -n {COORDINATOR} link set to3 {state}")).map(drop);
    let trial = stage.coordinator.trial(&words, &[1], || {
        stage.agent(3)?;
        std::thread::sleep(Duration::from_millis(1_500));
        link("down")
    });
    link("up")?;
    let trial = trial?;
    hold(&trial, HOSTS as usize - 1)?;
    finds(&trial, FindingCode::ClientLost)?;
    // Behind a network that is cut nothing tells the agent: its daemon notices by itself, or it ends its run.
    figures(&trial)
}

fn slow(stage: &Stage) -> Result<Value> {
    let group = match &stage.slow {
        Ok(group) => group,
        Err(why) => return Ok(json!({ "not measured": why })),
    };
    let source = quietly(&format!("df --output=source {}", stage.file("big")))?;
    let device =
        String::from_utf8_lossy(&source.stdout).lines().last().unwrap_or_default().to_owned();
    if !device.starts_with("/dev/") {
        return Ok(
            json!({ "not measured": format!("{device} is no device that reads can be held down on") }),
        );
    }
    group.limit(Path::new(&device), Throttle::ReadIops, SLOW_IOPS)?;
    let words = format!("run {} --runtime {}s --iodepth 4", stage.file("big"), stage.seconds);
    let trial = stage.coordinator.trial(&words, &[0, 1], nothing);
    group.limit(Path::new(&device), Throttle::ReadIops, 0)?;
    let trial = trial?;
    hold(&trial, HOSTS as usize)?;
    accuses(&trial, FindingCode::ClientStraggles, &format!("{NETWORK}.{HOSTS}"))?;
    finds(&trial, FindingCode::UnequalShares)?;
    figures(&trial)
}

fn plans(stage: &Stage) -> Result<Value> {
    super::plans(&stage.coordinator, &stage.file("big"), "6s")
}
