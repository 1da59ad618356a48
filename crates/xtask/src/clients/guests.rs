//! Machines of qemu as hosts: each has a kernel and a clock of its own, and one exports a disk by NFS, which
//! the others mount.
//!
//! Times of an emulated machine are long, and no speed is judged here; who is named, what adds up and what
//! clocks are is as true as anywhere. A machine whose process is killed says no farewell to anyone, as one
//! without power. The coordinator is this machine, at a bridge in a namespace to which all are joined.

use super::kernel_clock::{Bounds, KernelClock, may_be_true};
use super::{
    Case, Coordinator, accuses, adds_up, bridged, figures, finds, is_shared, keygen, nothing,
    quietly, secure_shell,
};
use crate::lab::{Answers, Boot, Guest, LOAD_CLIENT, LOAD_SERVER, Machine, Network};
use anyhow::{Context, Result, bail, ensure};
use record::{FindingCode, TargetSharing, Trial};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::Undo;

const NAMESPACE: &str = "hpcl-gu";
/// Of the coordinator at the bridge.
const ADDRESS: &str = "10.0.0.254";
/// The last numbers of the addresses: of the file server, and of the others.
const SERVER: u8 = 1;
const CLIENTS: [u8; 3] = [11, 12, 13];
const PORT: u16 = 22;
/// Longest that all guests may take to come up, on processors that others use as well.
const COME_UP: Duration = Duration::from_secs(420);
/// Longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(300);
/// Of the shared file, and of each own one.
const FILE_MB: u32 = 128;
const OWN_FILE_MB: u32 = 16;
/// How far the clock of each agent is set ahead of that of the one before it.
const AHEAD_SECONDS: i64 = 1_000;

/// Lets a file server note each read that it is asked for, and then say when each file was first.
const TRACE: &str = "cd /sys/kernel/tracing; echo mono > trace_clock; echo 8192 > buffer_size_kb; echo > trace; \
                     echo 1 > events/nfsd/nfsd_read_start/enable";
const TRACED: &str = "cd /sys/kernel/tracing; echo 0 > events/nfsd/nfsd_read_start/enable; \
                      sed -n 's/.* \\([0-9.]*\\): nfsd_read_start.*fh_hash=\\([^ ]*\\) .*/\\2 \\1/p' trace | \
                      awk '!($1 in seen) { seen[$1]; print $2 }'";

pub(super) const CASES: [Case<Guests>; 8] = [
    ("three machines, one shared file on NFS", shared),
    ("three machines, a file each on NFS", own),
    ("clocks that are a known time apart", ahead),
    ("packets of one machine delayed by 5 ms", delayed_little),
    ("packets of one machine delayed by 60 ms", delayed),
    ("a sweep and a check on three machines", plans),
    ("the file server hangs in the middle", server_hangs),
    ("one machine dies in the middle", dies),
];

/// The machines; all of it goes away again.
pub(super) struct Guests {
    coordinator: Coordinator,
    /// Words that log in, as root, behind which the host and what to do there stand.
    login: String,
    // Dropped in this order: machines, then what they are joined to, then the folder.
    server: Machine,
    clients: RefCell<Vec<Option<Machine>>>,
    _namespace: Undo,
    _folder: tempfile::TempDir,
}

fn address(number: u8) -> String {
    format!("10.0.0.{number}")
}

impl Guests {
    /// Begins them, and waits until all have mounted the export; and what they are.
    pub(super) fn new(guest: &Guest, binary: PathBuf) -> Result<(Self, Value)> {
        let begin = Instant::now();
        let folder = testkit::disk_folder()?;
        let namespace = bridged(NAMESPACE, ADDRESS)?;
        for number in CLIENTS.into_iter().chain([SERVER]) {
            quietly(&format!("ip -n {NAMESPACE} tuntap add dev tap{number} mode tap"))?;
            quietly(&format!("ip -n {NAMESPACE} link set tap{number} master bridge"))?;
            quietly(&format!("ip -n {NAMESPACE} link set tap{number} up"))?;
        }
        let key = folder.path().join("user").display().to_string();
        keygen(&key)?;
        let key_line = std::fs::read_to_string(format!("{key}.pub"))?;
        let before = format!("secure_shell '{}'\n", key_line.trim());
        let start = |case, initrd: &PathBuf, number: u8| {
            let name = format!("guest-{number}");
            let network = Network::Tap { namespace: NAMESPACE, device: &format!("tap{number}") };
            // Days apart: nothing may rest on the time of day.
            let time_of_day = &format!("2026-01-{number:02}T00:00:00");
            let boot = Boot { name: &name, case, initrd, network, address: number, time_of_day };
            Machine::start(guest, &boot)
        };
        let server = start(&LOAD_SERVER, &guest.initrd(&LOAD_SERVER, &before)?, SERVER)?;
        let initrd = guest.initrd(&LOAD_CLIENT, &before)?;
        let clients = CLIENTS.into_iter().map(|number| start(&LOAD_CLIENT, &initrd, number));
        let clients = clients.map(|it| it.map(Some)).collect::<Result<Vec<_>>>()?;
        let login = secure_shell(&key, PORT);
        let coordinator = Coordinator {
            launch: format!("{login} root@{{host}} halfpower agent"),
            binary,
            namespace: NAMESPACE,
            folder: folder.path().to_owned(),
            hosts: CLIENTS.map(address).to_vec(),
            patience: PATIENCE,
        };
        let mut guests = Self {
            coordinator,
            login,
            server,
            clients: RefCell::new(clients),
            _namespace: namespace,
            _folder: folder,
        };
        guests.wait_until_up(begin)?;
        println!("the guests are up after {:.0} s", begin.elapsed().as_secs_f64());
        let mut files = vec![format!("big {FILE_MB}")];
        files.extend(CLIENTS.map(|number| format!("of-{} {OWN_FILE_MB}", address(number))));
        for file in files {
            let (name, megabytes) = file.split_once(' ').context("no size")?;
            guests.on(
                CLIENTS[0],
                &format!("dd if=/dev/urandom of=/mnt/{name} bs=1M count={megabytes} conv=fsync"),
            )?;
        }
        let mut kinds = serde_json::Map::new();
        for number in CLIENTS.into_iter().chain([SERVER]) {
            let told = guests.on(
                number,
                "uname -r; cat /sys/devices/system/clocksource/clocksource0/current_clocksource; date +%F",
            )?;
            kinds.insert(address(number), told.lines().collect());
        }
        Ok((guests, json!({ "up_after_s": begin.elapsed().as_secs(), "kinds": kinds })))
    }

    fn wait_until_up(&mut self, begin: Instant) -> Result<()> {
        let failed = |told: Answers| told.get("failed").map(|(_, why)| why.trim().to_owned());
        for (rank, number) in CLIENTS.into_iter().enumerate() {
            while self.on(number, "grep -q ' /mnt nfs' /proc/mounts").is_err() {
                let machines = self.clients.get_mut();
                let machine = machines[rank].as_mut().context("no machine")?;
                for (machine, name) in [(machine, number), (&mut self.server, SERVER)] {
                    if let Some(why) = failed(machine.told()?) {
                        bail!("the guest {}: {why}", address(name));
                    }
                    ensure!(machine.runs()?, "the guest {} has ended", address(name));
                }
                ensure!(begin.elapsed() < COME_UP, "{} does not come up", address(number));
                std::thread::sleep(Duration::from_secs(1));
            }
        }
        Ok(())
    }

    /// What logs in to a machine.
    fn log_in(&self, number: u8) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", NAMESPACE]).args(self.login.split(' '));
        command.arg(format!("root@{}", address(number)));
        command
    }

    /// Does something on a machine; what it prints.
    fn on(&self, number: u8, script: &str) -> Result<String> {
        let output = self.log_in(number).arg(script).stdin(Stdio::null()).output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "`{script}` on {}: {}", address(number), said.trim());
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// A trial, and what the kernels say of their clocks before and after it, by which the measured ones
    /// may be true; each agent's is so far ahead of its kernel's as `ahead` says of its rank, in ns.
    fn timed(
        &self,
        words: &str,
        between: (impl FnOnce() -> Result<()>, impl FnOnce() -> Result<()>),
        ahead: impl Fn(usize) -> i64,
        on: &Coordinator,
    ) -> Result<(Trial, Value)> {
        let clocks = CLIENTS.map(|number| KernelClock::new(self.log_in(number)));
        let mut clocks = clocks.into_iter().collect::<Result<Vec<_>>>()?;
        let read = |clocks: &mut Vec<KernelClock>| {
            clocks.iter_mut().map(KernelClock::read).collect::<Result<Vec<Bounds>>>()
        };
        let before = read(&mut clocks)?;
        between.0()?;
        let trial = on.trial(words, &[0, 1], nothing);
        between.1()?;
        let (trial, after) = (trial?, read(&mut clocks)?);
        adds_up(&trial, CLIENTS.len())?;
        let clients = trial.clients.as_ref().context("the trial has no clients")?;
        let between = before.into_iter().zip(after).map(|(before, after)| before.with(after));
        let truth: Vec<Bounds> =
            between.enumerate().map(|(rank, truth)| truth.ahead(ahead(rank))).collect();
        let told = may_be_true(clients, &truth)?;
        Ok((trial, told))
    }

    /// Waits until a machine measures: its agent has read a megabyte of the file server.
    fn measures(&self, number: u8) -> Result<()> {
        let reads = "for io in /proc/[0-9]*/io; do grep -qx halfpower ${io%io}comm && cat $io; done 2> /dev/null; :";
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE {
            let told = self.on(number, reads)?;
            let read = told.lines().filter_map(|line| line.strip_prefix("read_bytes: "));
            if read.filter_map(|read| read.parse::<u64>().ok()).any(|read| read > 1 << 20) {
                return Ok(());
            }
        }
        bail!("no agent measures on {}", address(number))
    }

    /// Ends them; what went wrong in one is printed.
    pub(super) fn ended(self) -> Result<()> {
        let clients = self.clients.into_inner().into_iter().flatten();
        for machine in clients.chain([self.server]) {
            for (name, (code, text)) in machine.ended()? {
                println!("  {name} {code}: {}", text.trim());
            }
        }
        Ok(())
    }
}

/// A trial as it stands, and its clocks.
fn told(trial: &Trial, clocks: Value) -> Result<Value> {
    let mut figures = figures(trial)?;
    figures["clocks"] = clocks;
    Ok(figures)
}

fn shared(guests: &Guests) -> Result<Value> {
    let words = "run /mnt/big --runtime 8s --iodepth 4";
    let (trial, clocks) = guests.timed(words, (nothing, nothing), |_| 0, &guests.coordinator)?;
    is_shared(&trial, TargetSharing::Shared, "the same path of the same network file system")?;
    ensure!(trial.workload.depth == 12, "depth {}", trial.workload.depth);
    told(&trial, clocks)
}

fn own(guests: &Guests) -> Result<Value> {
    let words = "run /mnt/of-{host} --runtime 8s --rw read --bs 64k";
    let (trial, clocks) = guests.timed(words, (nothing, nothing), |_| 0, &guests.coordinator)?;
    is_shared(&trial, TargetSharing::Own, "{host}")?;
    told(&trial, clocks)
}

/// Agents in time namespaces, whose clocks are ahead of their kernel's by what the namespace says.
fn ahead(guests: &Guests) -> Result<Value> {
    let seconds = format!("{{rank}}{}", &AHEAD_SECONDS.to_string()[1..]);
    let inside =
        format!("/usr/bin/unshare --time --boottime {seconds} --monotonic {seconds} --fork");
    let launch = format!("{} root@{{host}} {inside} halfpower agent", guests.login);
    let on = Coordinator { launch, ..guests.coordinator.clone() };
    let ahead = |rank: usize| rank as i64 * AHEAD_SECONDS * 1_000_000_000;
    let words = "run /mnt/of-{host} --runtime 8s --iodepth 4";
    let mut seen = String::new();
    let between = (
        || guests.on(SERVER, TRACE).map(drop),
        || {
            seen = guests.on(SERVER, TRACED)?;
            Ok(())
        },
    );
    let (trial, clocks) = guests.timed(words, between, ahead, &on)?;
    // Each arrives after its client has begun, later by what its way takes.
    let first: Vec<f64> = seen.lines().map(str::parse).collect::<Result<_, _>>()?;
    ensure!(first.len() == CLIENTS.len(), "the server was asked to read {} files", first.len());
    let (begin, end) = first.iter().fold((f64::MAX, 0.0), |(a, b), at| (at.min(a), at.max(b)));
    ensure!(end - begin < 1.0, "the server was first asked within {} s", end - begin);
    let mut told = told(&trial, clocks)?;
    told["the server was first asked within ms"] = json!(((end - begin) * 1e6).round() / 1e3);
    Ok(told)
}

/// With what the first machine sends delayed by so many milliseconds: twice as much as its clock may be off
/// by, and all on one way.
fn with_delay(guests: &Guests, delay_ms: u64) -> Result<(Trial, Value)> {
    let slow = |words: &str| guests.on(CLIENTS[0], &format!("/sbin/tc qdisc {words}")).map(drop);
    let between = (
        || slow(&format!("add dev eth0 root netem delay {delay_ms}ms limit 10000")),
        || slow("del dev eth0 root"),
    );
    let words = "run /mnt/big --runtime 8s --iodepth 4";
    let (trial, clocks) = guests.timed(words, between, |_| 0, &guests.coordinator)?;
    let clients = trial.clients.as_ref().context("the trial has no clients")?;
    let error = clients.each[0].clock.error_ns.0;
    ensure!(error >= delay_ms * 500_000, "±{error} ns is less than half of the delay");
    Ok((trial, clocks))
}

fn delayed_little(guests: &Guests) -> Result<Value> {
    let (trial, clocks) = with_delay(guests, 5)?;
    told(&trial, clocks)
}

fn delayed(guests: &Guests) -> Result<Value> {
    let (trial, clocks) = with_delay(guests, 60)?;
    accuses(&trial, FindingCode::ClientStraggles, &address(CLIENTS[0]))?;
    told(&trial, clocks)
}

fn plans(guests: &Guests) -> Result<Value> {
    super::plans(&guests.coordinator, "/mnt/big", "20s")
}

/// The file server stops answering, and so do all of its clients' requests, while their agents and the network
/// go on.
fn server_hangs(guests: &Guests) -> Result<Value> {
    let words = "run /mnt/big --runtime 15s --iodepth 4 --io-timeout 5s";
    let trial = guests.coordinator.trial(words, &[1], || {
        guests.measures(CLIENTS[0])?;
        guests.server.freeze()
    });
    guests.server.thaw()?;
    let trial = trial?;
    adds_up(&trial, CLIENTS.len())?;
    finds(&trial, FindingCode::DeviceSilent)?;
    let lost = trial.findings.iter().any(|it| it.code == FindingCode::ClientLost);
    ensure!(!lost, "clients count as lost, which only wait for the server");
    // All of them have it again before the next case.
    for number in CLIENTS {
        guests.on(number, "dd if=/mnt/big of=/dev/null bs=4k count=1 iflag=direct")?;
    }
    figures(&trial)
}

/// The last machine is killed while it measures. Comes last: it does not come back.
fn dies(guests: &Guests) -> Result<Value> {
    let dead = CLIENTS.len() - 1;
    let words = "run /mnt/big --runtime 20s --iodepth 4 --agent-timeout 5s";
    let trial = guests.coordinator.trial(words, &[1], || {
        guests.measures(CLIENTS[dead])?;
        std::thread::sleep(Duration::from_secs(2));
        let machine = guests.clients.borrow_mut()[dead].take();
        machine.context("it is dead already")?.ended().map(drop)
    })?;
    adds_up(&trial, dead)?;
    accuses(&trial, FindingCode::ClientLost, &address(CLIENTS[dead]))?;
    figures(&trial)
}
