//! One load from several machines, for real: hosts that are logged in to by ssh, and a coordinator beside
//! them in a network namespace of its own.
//!
//! Hosts are namespaces of this machine, which are quick and share one clock, or with `--guests` machines of
//! qemu, which are slow, and have kernels, clocks and a file server of their own. How a load is run on
//! either and what is asked of its document stands here.

mod guests;
mod kernel_clock;
mod mpirun;
mod namespaces;

use crate::{arguments::Arguments, kept, place};
use anyhow::{Context, Result, ensure};
use record::{FindingCode, TargetSharing, Trial};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testkit::{Capability, Undo};

pub(crate) const SWITCHES: [&str; 3] = ["--guests", "--smoke", "--no-keep"];
pub(crate) const VALUES: [&str; 2] = ["--only", "--binary"];

/// A case: its name, and what came of it on hosts.
type Case<Hosts> = (&'static str, fn(&Hosts) -> Result<Value>);

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let (smoke, guests) = (arguments.has("--smoke"), arguments.has("--guests"));
    ensure!(!(smoke && guests), "--smoke is for namespaces: guests are slow at anything");
    if let Some(why) = missing() {
        testkit::skip("clients", &why);
        return Ok(true);
    }
    let only: Option<String> = arguments.value("--only")?;
    let with_mpi = if guests { None } else { Some(mpirun::built(smoke)?) };
    let binary = place::binary(arguments.value("--binary")?, !guests)?;
    let (name, good, results) = if let Some(with_mpi) = with_mpi {
        let hosts = namespaces::Stage::new(binary, with_mpi, if smoke { 2 } else { 5 })?;
        let cases = [&namespaces::CASES[..], &mpirun::CASES].concat();
        let (good, results) = try_all(&hosts, &cases, only.as_deref());
        ("clients", good, results)
    } else {
        let guest = match crate::lab::guest(binary.clone()) {
            Ok(guest) => guest,
            Err(why) => {
                testkit::skip("clients --guests", &why);
                return Ok(true);
            }
        };
        let (hosts, begun) = guests::Guests::new(&guest, binary)?;
        let (good, mut results) = try_all(&hosts, &guests::CASES, only.as_deref());
        results.insert("guests".to_owned(), begun);
        hosts.ended()?;
        ("clients-guests", good, results)
    };
    if !arguments.has("--no-keep") && !smoke && only.is_none() {
        kept::keep(name, &[("good", json!(good)), ("cases", Value::Object(results))])?;
    }
    Ok(good)
}

/// Whether all cases came out, and what they found.
fn try_all<Hosts>(
    hosts: &Hosts,
    cases: &[Case<Hosts>],
    only: Option<&str>,
) -> (bool, serde_json::Map<String, Value>) {
    let (mut results, mut good) = (serde_json::Map::new(), true);
    for (name, case) in cases.iter().filter(|(name, _)| only.is_none_or(|it| name.contains(it))) {
        let begin = Instant::now();
        match case(hosts) {
            Ok(found) => {
                let told = found.get("not measured").and_then(Value::as_str);
                println!(
                    "{name}: {}",
                    told.map_or("as expected".to_owned(), |it| format!("not measured: {it}"))
                );
                println!("  {found}");
                results.insert((*name).to_owned(), found);
            }
            Err(error) => {
                good = false;
                println!("{name}: WRONG: {error:#}");
                results.insert((*name).to_owned(), json!({ "wrong": format!("{error:#}") }));
            }
        }
        println!("  {:.1} s", begin.elapsed().as_secs_f64());
    }
    // A name that is none of theirs tries nothing.
    (good && !results.is_empty(), results)
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

fn nothing() -> Result<()> {
    Ok(())
}

/// A network namespace.
fn namespace(name: &str) -> Result<Undo> {
    quietly(&format!("ip netns add {name}"))?;
    let undo = Undo::by(format!("network namespace {name}"), &["ip", "netns", "del", name]);
    quietly(&format!("ip -n {name} link set lo up"))?;
    Ok(undo)
}

/// A namespace with a bridge that has an address, to which hosts are joined.
fn bridged(name: &str, address: &str) -> Result<Undo> {
    let undo = namespace(name)?;
    quietly(&format!("ip -n {name} link add bridge type bridge"))?;
    quietly(&format!("ip -n {name} addr add {address}/24 dev bridge"))?;
    quietly(&format!("ip -n {name} link set bridge up"))?;
    Ok(undo)
}

fn keygen(file: &str) -> Result<()> {
    let output =
        Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", file]).output()?;
    ensure!(output.status.success(), "ssh-keygen: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// A login with a key of ours that leaves no trace in files of the user.
fn secure_shell(key: &str, port: u16) -> String {
    format!(
        "ssh -F none -i {key} -p {port} -o BatchMode=yes -o ConnectTimeout=10 -o StrictHostKeyChecking=no \
         -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
    )
}

/// Where the program runs that asks the hosts.
#[derive(Clone)]
struct Coordinator {
    binary: PathBuf,
    /// Its network namespace.
    namespace: &'static str,
    /// For files that go away again.
    folder: PathBuf,
    hosts: Vec<String>,
    /// What starts an agent.
    launch: String,
    /// Longest that a run may take.
    patience: Duration,
}

impl Coordinator {
    fn file(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }

    /// The program on all hosts.
    fn command(&self, words: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", self.namespace]).arg(&self.binary);
        command.args(words.split_whitespace());
        command.args(["--hosts", &self.hosts.join(","), "--launch", &self.launch]);
        command.args(["--json", "--no-save"]);
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
            if begin.elapsed() > self.patience {
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
        let text = std::fs::read_to_string(self.file("out"))?;
        serde_json::from_str(&text).with_context(|| format!("`{words}`: {status}: {said}"))
    }

    fn trial(
        &self,
        words: &str,
        codes: &[i32],
        middle: impl FnOnce() -> Result<()>,
    ) -> Result<Trial> {
        Ok(serde_json::from_value(self.run(words, codes, middle)?)?)
    }
}

fn finds(trial: &Trial, code: FindingCode) -> Result<()> {
    let has = trial.findings.iter().any(|finding| finding.code == code);
    ensure!(has, "{} is not among the findings", code.name());
    Ok(())
}

/// A finding of this kind begins with the name of a host.
fn accuses(trial: &Trial, code: FindingCode, host: &str) -> Result<()> {
    finds(trial, code)?;
    let named = |claim: &str| claim.strip_prefix(host).is_some_and(|rest| rest.starts_with(' '));
    let mut claims = trial.findings.iter().filter(|it| it.code == code).map(|it| &it.claim);
    ensure!(claims.any(|claim| named(claim)), "{} does not name {host}", code.name());
    Ok(())
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
            "drift_ns": client.clock.drift_ns,
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

/// The whole is the sum of its parts.
fn adds_up(trial: &Trial, parts: usize) -> Result<()> {
    ensure!(trial.parts.len() == parts, "{} of {parts} parts", trial.parts.len());
    let sum = trial.parts.iter().map(Trial::histogram).reduce(|sum, next| sum.merged(&next));
    ensure!(sum == Some(trial.histogram()), "the histogram is not that of the parts");
    let completed: u64 = trial.parts.iter().map(Trial::completed).sum();
    ensure!(completed == trial.completed(), "{completed} of {} requests", trial.completed());
    Ok(())
}

fn is_shared(trial: &Trial, sharing: TargetSharing, reason: &str) -> Result<()> {
    let clients = trial.clients.as_ref().context("the trial has no clients")?;
    ensure!(
        clients.sharing == sharing && clients.sharing_reason.contains(reason),
        "targets are {}: {}",
        clients.sharing.name(),
        clients.sharing_reason
    );
    Ok(())
}

/// A sweep and a check.
fn plans(on: &Coordinator, target: &str, budget: &str) -> Result<Value> {
    let sweep =
        format!("sweep riedel {target} --set bs=4k,64k --set rw=read --runtime 300ms --blocks 1");
    let experiment = on.run(&sweep, &[0, 1], nothing)?;
    let trials = experiment["done"].as_array().map_or(0, Vec::len);
    ensure!(trials == 12, "{trials} of 12 trials");
    let profile = on.run(&format!("check {target} --budget {budget}"), &[0, 1], nothing)?;
    let cells = profile["cells"].as_array().map_or(0, Vec::len);
    let clients = profile["clients"].as_array().map(Vec::len);
    ensure!(cells > 0 && clients == Some(on.hosts.len()), "no cells");
    Ok(json!({ "trials of the sweep": trials, "cells of the check": cells }))
}
