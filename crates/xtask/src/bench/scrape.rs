//! What a scrape of a thousand devices costs the exporter: `watch --listen` as a user starts it, on a
//! generated /proc/diskstats whose devices all do something, each with a profile.
//!
//! The processor time is that of the thread that answers, as the scheduler counts it
//! (/proc/PID/task/TID/schedstat), the kernel's work for the answer included, and without the
//! sampling, which is another thread's and costs the same whoever scrapes. Rejected: wall time, which
//! is somebody else's, and rendering without a socket, which is half of it.

use super::gate::{Gate, Goal, Proof};
use super::sampling::lines;
use super::{Context, Report};
use crate::child;
use anyhow::{Context as _, Result, bail, ensure};
use prometheus::Client;
use serde_json::json;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use testkit::{Fake, Undo};

/// Devices of the figure, and of the planted fault: a fifth more.
const DEVICES: u64 = 1_000;
const PLANTED: u64 = 1_200;
/// Milliseconds of processor time per scrape.
const GOAL_MS: f64 = 10.0;
const SCRAPES: u64 = 10;
/// How often the counters move, so that no interval is idle.
const TURN: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(120);
/// Of a device with a profile, at least: all that depends on it is there.
const SERIES_MIN: usize = 30;

pub(super) fn run(context: &Context) -> Result<Report> {
    let folder = tempfile::tempdir()?;
    let database = folder.path().join("kept.db");
    let mut check = Command::new(&context.binary);
    check.args(["check", "sim:mm1", "--quiet", "--db"]).arg(&database);
    child::output(&mut check, &[0, 1])?;
    let scrapes = if context.options.smoke { 2 } else { SCRAPES };
    let few = Exporter::new(&context.binary, &database, DEVICES)?;
    let (text, few_series) = few.ready()?;
    let many = Exporter::new(&context.binary, &database, PLANTED)?;
    many.ready()?;
    let cost = |exporter: &Exporter| exporter.cost_ms(scrapes);
    cost(&few)?;
    cost(&many)?;
    let (proof, figure) =
        Proof::of(context.pairs(15), "a fifth more devices", || cost(&few), || cost(&many))?;
    println!("    {few_series} series, {} bytes", text.len());
    let gate = Gate::new(
        "a scrape of 1,000 devices with profiles",
        "ms of CPU time",
        Goal::AtMost(GOAL_MS),
        figure,
        proof,
    );
    let details = json!({ "unit": "ms per scrape", "series": few_series, "bytes": text.len() });
    Ok(Report { gates: vec![gate], details })
}

/// A machine of so many devices that all do something, until this is dropped.
struct Exporter {
    child: Child,
    undo: Undo,
    client: Client,
    devices: u64,
    over: Arc<AtomicBool>,
    turning: Option<JoinHandle<()>>,
}

impl Exporter {
    fn new(binary: &Path, database: &Path, devices: u64) -> Result<Self> {
        let fake = Fake::new();
        fake.proc("diskstats", &lines(devices, 0));
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let address = format!("127.0.0.1:{port}");
        let mut command = Command::new(binary);
        command.args(["watch", "--listen", &address, "--profile", "last", "--db"]).arg(database);
        command.arg("--procfs").arg(fake.path("proc")).arg("--sysfs").arg(fake.path("sys"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().with_context(|| format!("cannot run {command:?}"))?;
        let undo = Undo::process(child.id());
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let turning = std::thread::spawn(move || {
            for round in 1.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                // As the kernel does it: a reader never sees half of it.
                fake.proc("diskstats.next", &lines(devices, round));
                let path = |name: &str| fake.path("proc").join(name);
                if std::fs::rename(path("diskstats.next"), path("diskstats")).is_err() {
                    return;
                }
                std::thread::sleep(TURN);
            }
        });
        let client = Client::new(&address, None, &[])?;
        Ok(Self { child, undo, client, devices, over, turning: Some(turning) })
    }

    /// Waits until all series are there: the text, and how many.
    fn ready(&self) -> Result<(String, usize)> {
        let begin = Instant::now();
        loop {
            if let Ok(bytes) = self.client.get("/metrics") {
                let text = String::from_utf8(bytes)?;
                let series = text.lines().filter(|line| !line.starts_with('#')).count();
                if series >= usize::try_from(self.devices)? * SERIES_MIN {
                    return Ok((text, series));
                }
            }
            ensure!(begin.elapsed() < PATIENCE, "the exporter never showed all series");
            std::thread::sleep(TURN);
        }
    }

    fn cost_ms(&self, scrapes: u64) -> Result<f64> {
        let thread = self.thread()?;
        let before = spent_ns(&thread)?;
        for _ in 0..scrapes {
            self.client.get("/metrics")?;
        }
        Ok((spent_ns(&thread)? - before) as f64 / 1e6 / scrapes as f64)
    }

    /// The folder of the thread that answers.
    fn thread(&self) -> Result<PathBuf> {
        for entry in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let path = entry?.path();
            if std::fs::read_to_string(path.join("comm"))?.trim() == "exporter" {
                return Ok(path);
            }
        }
        bail!("no thread is called exporter")
    }
}

/// Processor time of a thread so far: the first number of its `schedstat`.
fn spent_ns(thread: &Path) -> Result<u64> {
    let text = std::fs::read_to_string(thread.join("schedstat"))?;
    let first = text.split_whitespace().next().context("an empty schedstat")?;
    Ok(first.parse()?)
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.undo.forget();
        let _ = self.turning.take().map(JoinHandle::join);
    }
}
