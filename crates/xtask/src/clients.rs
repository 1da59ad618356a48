//! One load from several machines, for real: four network namespaces as hosts, each with a secure shell
//! daemon of its own, and the processes of mpirun.
//!
//! A namespace has its own network and nothing else: kernel, files and clock are those of this machine, so
//! that what is known of the clock's offset (it is zero) is a truth to hold the measured one against. The
//! daemons have their own keys, configuration and port; the system's are not touched. What this machine's
//! kernel cannot do (an NFS server, delayed packets, throttled reads) is said and left out.

use crate::{arguments::Arguments, kept, place};
use anyhow::{Context, Result, ensure};
use record::{BegunBy, FindingCode, TargetSharing, Trial};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::{Capability, Throttle, ThrottledGroup, Undo};

pub(crate) const SWITCHES: [&str; 2] = ["--smoke", "--no-keep"];
pub(crate) const VALUES: [&str; 1] = ["--binary"];

/// Namespace of the coordinator, and the beginning of those of the hosts.
const COORDINATOR: &str = "hpcl-co";
const HOST: &str = "hpcl-";
const HOSTS: u32 = 4;
const PORT: u16 = 2222;
/// Documentation's own addresses (RFC 5737), which no real network has.
const NETWORK: &str = "192.0.2";
const FILE_BYTES: usize = 256 << 20;
/// Reads a second that the slow host may do.
const SLOW_IOPS: u64 = 200;
/// Longest that a run may take.
const PATIENCE: Duration = Duration::from_secs(120);

/// What is asked of one case, and what came of it.
type Case = (&'static str, fn(&Stage) -> Result<Value>);

const CASES: [Case; 12] = [
    ("four hosts over ssh, one shared file", shared),
    ("four hosts over ssh, a file each", own),
    ("one agent killed in the middle", killed),
    ("one host's network cut in the middle", cut),
    ("one host made slow", slow),
    ("a sweep and a check on four hosts", plans),
    ("four processes of mpirun", mpi),
    ("four processes of mpirun that meet in MPI's barrier", mpi_barrier),
    ("one process of mpirun killed in the middle", mpi_killed),
    ("likewise where they meet in MPI's barrier", mpi_barrier_killed),
    ("an NFS export between hosts", nfs),
    ("delayed packets", delayed),
];

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let smoke = arguments.has("--smoke");
    if let Some(why) = missing() {
        println!("not possible here: {why}");
        return Ok(true);
    }
    // Before the other, whose place it takes.
    let with_mpi = match ["mpirun", "mpicc"].into_iter().find(|program| !has(program)) {
        Some(program) => Err(format!("{program} is not installed")),
        None if smoke => Err("it is not built for a smoke run".to_owned()),
        None => Ok(place::with_feature("mpi")?),
    };
    let binary = place::binary(arguments.value("--binary")?, true)?;
    let stage = Stage::new(binary, with_mpi, if smoke { 2 } else { 5 })?;
    let (mut results, mut good) = (serde_json::Map::new(), true);
    for (name, case) in CASES {
        let begin = Instant::now();
        match case(&stage) {
            Ok(found) => {
                let told = found.get("not measured").and_then(Value::as_str);
                println!(
                    "{name}: {}",
                    told.map_or("as expected".to_owned(), |it| format!("not measured: {it}"))
                );
                println!("  {found}");
                results.insert(name.to_owned(), found);
            }
            Err(error) => {
                good = false;
                println!("{name}: WRONG: {error:#}");
                results.insert(name.to_owned(), json!({ "wrong": format!("{error:#}") }));
            }
        }
        println!("  {:.1} s", begin.elapsed().as_secs_f64());
    }
    if !arguments.has("--no-keep") && !smoke {
        kept::keep("clients", &[("good", json!(good)), ("cases", Value::Object(results))])?;
    }
    Ok(good)
}

/// Why nothing of it is possible here.
fn missing() -> Option<String> {
    let needed = [Capability::Root, Capability::Disk].map(Capability::lack);
    if let Some(why) = needed.into_iter().flatten().next() {
        return Some(why);
    }
    let programs = ["ip", "ssh", "ssh-keygen", "/usr/sbin/sshd", "mount"];
    let lacking = programs.into_iter().find(|program| !has(program));
    lacking.map(|program| format!("the program {program} is not installed"))
}

fn has(program: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output();
    found.is_ok_and(|output| output.status.success())
}

fn quietly(words: &str) -> Result<Output> {
    let mut parts = words.split_whitespace();
    let output = Command::new(parts.next().unwrap_or_default()).args(parts).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`{words}` failed: {}", said.trim());
    Ok(output)
}

/// The hosts; all of it goes away again.
struct Stage {
    binary: PathBuf,
    /// The program with MPI's barrier, or why there is none.
    with_mpi: Result<PathBuf, String>,
    seconds: u32,
    // Dropped in this order: what runs in the namespaces, then these, then the folder.
    _daemons: Vec<Undo>,
    slow: Result<ThrottledGroup, String>,
    _namespaces: Vec<Undo>,
    folder: tempfile::TempDir,
}

impl Stage {
    fn new(binary: PathBuf, with_mpi: Result<PathBuf, String>, seconds: u32) -> Result<Self> {
        let folder = testkit::disk_folder()?;
        let bytes: Vec<u8> = (0..(FILE_BYTES / 4) as u32).flat_map(u32::to_ne_bytes).collect();
        std::fs::write(folder.path().join("big"), &bytes)?;
        for host in 1..=HOSTS {
            std::fs::write(
                folder.path().join(format!("of-{NETWORK}.{host}")),
                &bytes[..FILE_BYTES / 4],
            )?;
        }
        let mut namespaces = Vec::new();
        for name in std::iter::once(COORDINATOR.to_owned()).chain((1..=HOSTS).map(host_name)) {
            quietly(&format!("ip netns add {name}"))?;
            let what = format!("network namespace {name}");
            namespaces.push(Undo::by(what, &["ip", "netns", "del", &name]));
            quietly(&format!("ip -n {name} link set lo up"))?;
        }
        let inside = format!("ip -n {COORDINATOR}");
        quietly(&format!("{inside} link add bridge type bridge"))?;
        quietly(&format!("{inside} addr add {NETWORK}.254/24 dev bridge"))?;
        quietly(&format!("{inside} link set bridge up"))?;
        for host in 1..=HOSTS {
            let name = host_name(host);
            quietly(&format!("{inside} link add to{host} type veth peer name net0 netns {name}"))?;
            quietly(&format!("{inside} link set to{host} master bridge"))?;
            quietly(&format!("{inside} link set to{host} up"))?;
            quietly(&format!("ip -n {name} addr add {NETWORK}.{host}/24 dev net0"))?;
            quietly(&format!("ip -n {name} link set net0 up"))?;
        }
        let slow = ThrottledGroup::new().map_err(|error| error.to_string());
        let mut stage = Self {
            binary,
            with_mpi,
            seconds,
            _daemons: Vec::new(),
            slow,
            _namespaces: namespaces,
            folder,
        };
        for host in 1..=HOSTS {
            let daemon = stage.daemon(host)?;
            stage._daemons.push(daemon);
        }
        Ok(stage)
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// A secure shell daemon in the namespace of a host; the last host's may be held down.
    fn daemon(&self, host: u32) -> Result<Undo> {
        let key = |name: &str| self.file(name);
        for name in [format!("host-{host}"), "user".to_owned()] {
            if !Path::new(&key(&name)).exists() {
                keygen(&key(&name))?;
            }
        }
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

    /// The program in the coordinator's namespace, on all hosts.
    fn command(&self, words: &str) -> Command {
        let hosts: Vec<String> = (1..=HOSTS).map(|host| format!("{NETWORK}.{host}")).collect();
        let launch = format!(
            "ssh -F none -i {} -p {PORT} -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=no \
             -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR root@{{host}} {} agent",
            self.file("user"),
            self.binary.display()
        );
        let mut command = Command::new("ip");
        command.args(["netns", "exec", COORDINATOR]).arg(&self.binary);
        command.args(words.split_whitespace());
        command.args(["--hosts", &hosts.join(","), "--launch", &launch, "--json", "--no-save"]);
        command
    }

    /// Runs it to its end, after something was done in the middle.
    fn run(
        &self,
        words: &str,
        codes: &[i32],
        middle: impl FnOnce() -> Result<()>,
    ) -> Result<Value> {
        let mut child = self
            .command(words)
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(self.file("out"))?)
            .stderr(std::fs::File::create(self.file("err"))?)
            .spawn()?;
        let done = middle();
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                child.kill()?;
                child.wait()?;
                anyhow::bail!("`{words}` hangs");
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        done?;
        let said = std::fs::read_to_string(self.file("err"))?;
        let is_good = status.code().is_some_and(|code| codes.contains(&code));
        ensure!(is_good, "`{words}` ended with {status}: {said}");
        Ok(serde_json::from_str(&std::fs::read_to_string(self.file("out"))?)?)
    }

    fn trial(
        &self,
        words: &str,
        codes: &[i32],
        middle: impl FnOnce() -> Result<()>,
    ) -> Result<Trial> {
        Ok(serde_json::from_value(self.run(words, codes, middle)?)?)
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
                if exe == self.binary && read > 64 << 20 {
                    return Ok(pid.parse()?);
                }
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        anyhow::bail!("no agent measures on host {host}")
    }
}

fn keygen(file: &str) -> Result<()> {
    let output =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", file]).output()?;
    ensure!(output.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn host_name(host: u32) -> String {
    format!("{HOST}{host}")
}

fn nothing() -> Result<()> {
    Ok(())
}

fn found(trial: &Trial, code: FindingCode) -> bool {
    trial.findings.iter().any(|finding| finding.code == code)
}

/// What a result keeps of a trial.
fn figures(trial: &Trial) -> Result<Value> {
    let clients = trial.clients.as_ref().context("the trial has no clients")?;
    let each = clients.each.iter().enumerate().map(|(rank, client)| {
        json!({
            "host": client.host,
            "iops": trial.part(rank).map(Trial::iops),
            "share": client.share,
            "skew_ns": client.begin_skew_ns,
            "offset_ns": client.clock.offset_ns,
            "error_ns": client.clock.error_ns,
            "lost": client.lost.as_ref().map(|lost| &lost.reason),
        })
    });
    let codes: Vec<String> = trial.findings.iter().map(|finding| finding.code.name()).collect();
    Ok(json!({
        "iops": trial.iops(),
        "p99_ns": trial.histogram().percentile(0.99),
        "begun_by": clients.begun_by,
        "spread_ns": clients.start_spread_ns,
        "spread_error_ns": clients.start_spread_error_ns,
        "jain_index": clients.jain_index,
        "findings": codes,
        "clients": each.collect::<Vec<_>>(),
    }))
}

/// The whole is the sum of its parts, and the clocks are one.
fn hold(trial: &Trial, parts: usize) -> Result<()> {
    let clients = trial.clients.as_ref().context("the trial has no clients")?;
    ensure!(trial.parts.len() == parts, "{} of {parts} parts", trial.parts.len());
    let sum = trial.parts.iter().map(Trial::histogram).reduce(|sum, next| sum.merged(&next));
    ensure!(sum == Some(trial.histogram()), "the histogram is not that of the parts");
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
    let trial = stage.trial(&words, &[0, 1], nothing)?;
    hold(&trial, HOSTS as usize)?;
    let clients = trial.clients.as_ref().context("no clients")?;
    ensure!(clients.sharing == TargetSharing::Shared, "{}", clients.sharing_reason);
    ensure!(trial.workload.depth == HOSTS * 4, "depth {}", trial.workload.depth);
    figures(&trial)
}

fn own(stage: &Stage) -> Result<Value> {
    let words =
        format!("run {} --runtime {}s --rw read --bs 64k", stage.file("of-{host}"), stage.seconds);
    let trial = stage.trial(&words, &[0, 1], nothing)?;
    hold(&trial, HOSTS as usize)?;
    let clients = trial.clients.as_ref().context("no clients")?;
    ensure!(clients.sharing == TargetSharing::Own, "{}", clients.sharing_reason);
    figures(&trial)
}

fn killed(stage: &Stage) -> Result<Value> {
    let words = format!("run {} --runtime {}s --iodepth 4", stage.file("big"), stage.seconds + 5);
    let trial = stage.trial(&words, &[1], || {
        let agent = stage.agent(2)?;
        std::thread::sleep(Duration::from_millis(1_500));
        quietly(&format!("kill -9 {agent}")).map(drop)
    })?;
    hold(&trial, HOSTS as usize - 1)?;
    ensure!(found(&trial, FindingCode::ClientLost), "no finding names the lost client");
    figures(&trial)
}

fn cut(stage: &Stage) -> Result<Value> {
    let file = stage.file("big");
    let words =
        format!("run {file} --runtime {}s --iodepth 4 --agent-timeout 3s", stage.seconds + 6);
    let link =
        |state: &str| quietly(&format!("ip -n {COORDINATOR} link set to3 {state}")).map(drop);
    let trial = stage.trial(&words, &[1], || {
        stage.agent(3)?;
        std::thread::sleep(Duration::from_millis(1_500));
        link("down")
    });
    link("up")?;
    let trial = trial?;
    hold(&trial, HOSTS as usize - 1)?;
    ensure!(found(&trial, FindingCode::ClientLost), "no finding names the lost client");
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
    let trial = stage.trial(&words, &[0, 1], nothing);
    group.limit(Path::new(&device), Throttle::ReadIops, 0)?;
    let trial = trial?;
    hold(&trial, HOSTS as usize)?;
    ensure!(found(&trial, FindingCode::ClientStraggles), "no finding names the slow host");
    ensure!(
        found(&trial, FindingCode::UnequalShares),
        "no finding says that the shares are unequal"
    );
    let slowest = format!("{NETWORK}.{HOSTS}");
    let names = trial.findings.iter().any(|finding| {
        finding.code == FindingCode::ClientStraggles && finding.claim.starts_with(&slowest)
    });
    ensure!(names, "the straggler is said to be another host");
    figures(&trial)
}

fn plans(stage: &Stage) -> Result<Value> {
    let file = stage.file("big");
    let sweep =
        format!("sweep riedel {file} --set bs=4k,64k --set rw=read --runtime 300ms --blocks 1");
    let experiment = stage.run(&sweep, &[0, 1], nothing)?;
    let trials = experiment["done"].as_array().map_or(0, Vec::len);
    ensure!(trials == 12, "{trials} of 12 trials");
    let profile = stage.run(&format!("check {file} --budget 6s"), &[0, 1], nothing)?;
    let cells = profile["cells"].as_array().map_or(0, Vec::len);
    ensure!(
        cells > 0 && profile["clients"].as_array().map(Vec::len) == Some(HOSTS as usize),
        "no cells"
    );
    Ok(json!({ "trials of the sweep": trials, "cells of the check": cells }))
}

/// The processes of mpirun, with a document that number 0 writes.
fn mpirun(stage: &Stage, binary: &Path, seconds: u32) -> Command {
    let words = format!("--runtime {seconds}s --iodepth 4 --quiet --no-save --output");
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &HOSTS.to_string()]);
    // When a rank dies it asks the others to end, and kills them a second later: here others may be busy. It
    // waits twice so long, whatever has ended by then.
    command.args(["--mca", "odls_base_sigkill_timeout", "5"]);
    command.arg(binary).args(["run", "--mpi", &stage.file("big")]);
    command.args(words.split_whitespace()).arg(stage.file("of-mpirun.json")).stdin(Stdio::null());
    command
}

/// What they wrote, once they have all ended.
fn of_mpirun(stage: &Stage, binary: &Path, middle: Option<fn(u32) -> Result<()>>) -> Result<Trial> {
    let file = stage.file("of-mpirun.json");
    let _ = std::fs::remove_file(&file);
    let seconds = stage.seconds + if middle.is_some() { 10 } else { 0 };
    let said = std::fs::File::create(stage.file("err"))?;
    let mut child =
        mpirun(stage, binary, seconds).stdout(said.try_clone()?).stderr(said).spawn()?;
    let done = middle.map_or(Ok(()), |middle| middle(child.id()));
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("mpirun hangs");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    done?;
    let said = std::fs::read_to_string(stage.file("err"))?;
    let text = std::fs::read_to_string(&file).with_context(|| format!("no document: {said}"))?;
    Ok(serde_json::from_str(&text)?)
}

fn begun_by(trial: &Trial, by: BegunBy) -> Result<Value> {
    hold(trial, HOSTS as usize)?;
    let begun_by = trial.clients.as_ref().and_then(|clients| clients.begun_by);
    ensure!(begun_by == Some(by), "they began by {begun_by:?}");
    figures(trial)
}

fn mpi(stage: &Stage) -> Result<Value> {
    if !has("mpirun") {
        return Ok(json!({ "not measured": "mpirun is not installed" }));
    }
    begun_by(&of_mpirun(stage, &stage.binary, None)?, BegunBy::AgreedTime)
}

fn mpi_barrier(stage: &Stage) -> Result<Value> {
    match &stage.with_mpi {
        Err(why) => Ok(json!({ "not measured": why })),
        Ok(binary) => begun_by(&of_mpirun(stage, binary, None)?, BegunBy::MpiBarrier),
    }
}

/// Kills the last of the processes that mpirun started, once all measure.
fn kill_last(mpirun: u32) -> Result<()> {
    std::thread::sleep(Duration::from_secs(5));
    let output = quietly(&format!("pgrep --parent {mpirun}"))?;
    let children = String::from_utf8_lossy(&output.stdout);
    let last = children.lines().last().context("mpirun has no children")?;
    quietly(&format!("kill -9 {last}")).map(drop)
}

fn without_one(stage: &Stage, binary: &Path) -> Result<Value> {
    let trial = of_mpirun(stage, binary, Some(kill_last))?;
    hold(&trial, HOSTS as usize - 1)?;
    ensure!(found(&trial, FindingCode::ClientLost), "no finding names the lost client");
    figures(&trial)
}

fn mpi_killed(stage: &Stage) -> Result<Value> {
    if !has("mpirun") {
        return Ok(json!({ "not measured": "mpirun is not installed" }));
    }
    without_one(stage, &stage.binary)
}

fn mpi_barrier_killed(stage: &Stage) -> Result<Value> {
    match &stage.with_mpi {
        Err(why) => Ok(json!({ "not measured": why })),
        Ok(binary) => without_one(stage, binary),
    }
}

/// Whether the kernel knows a file system by this name.
fn kernel_has(name: &str) -> bool {
    let known = std::fs::read_to_string("/proc/filesystems").unwrap_or_default();
    known.lines().any(|line| line.split_whitespace().last() == Some(name))
}

fn nfs(_: &Stage) -> Result<Value> {
    let lacking: Vec<&str> =
        ["nfsd", "nfs4"].into_iter().filter(|name| !kernel_has(name)).collect();
    let why = match lacking.as_slice() {
        [] => {
            "this kernel has it, and the export has not been written for lack of one to try it on"
                .to_owned()
        }
        names => format!("this kernel has no {}", names.join(" and no ")),
    };
    Ok(json!({ "not measured": why }))
}

fn delayed(_: &Stage) -> Result<Value> {
    let words = format!("tc -n {} qdisc add dev net0 root netem delay 1ms", host_name(1));
    let why = match quietly(&words) {
        Err(error) => format!("this kernel has no netem ({error:#})"),
        Ok(_) => {
            quietly(&format!("tc -n {} qdisc del dev net0 root", host_name(1)))?;
            "this kernel has it; how it changes the clocks has not been asked for lack of one to try it on"
                .to_owned()
        }
    };
    Ok(json!({ "not measured": why }))
}
