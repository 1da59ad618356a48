//! Builds the program for 64-bit Arm with a cross compiler, and runs it with qemu-user on this machine.
//!
//! qemu-user emulates every instruction but passes system calls on, so files, clocks and signals are those of
//! this kernel. It has no io_uring and no io_submit; tests that need them are omitted and counted. A
//! simulated document must be byte-identical to that of this CPU. Speed is not tested.

use crate::place;
use anyhow::{Context, Result};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const QEMU: &str = "qemu-aarch64";
/// Folder of the cross compiler's libraries.
const LIBRARIES: &str = "/usr/aarch64-linux-gnu";

/// Crates whose tests all run under qemu-user.
const WHOLE: [&str; 4] = ["record", "simdisk", "stats", "workload"];
/// Engine tests that qemu-user cannot run, each with the reason.
const LEFT_OUT: [(&str, &str); 4] = [
    ("uring::", "qemu-user has no io_uring"),
    ("refusals::", "they fail system calls of io_uring and io_submit"),
    ("limits::", "the limits that they set bind the emulator itself"),
    ("the_table_tells", "it opens io_uring"),
];
/// Simulated trials whose documents are compared: queues, drives, flash, an array with parity.
const SIMULATED: [&str; 5] = [
    "sim:mm1,service=5ms --iodepth 4",
    "sim:st15150w,disks=4,raid=0,chunk=64k --rw read --bs 64k --iodepth 8",
    "sim:atlas10k,disks=4,raid=5,failed=1 --rw randrw --iodepth 16",
    "sim:nvme-ssd,preconditioned=random --rw randwrite --iodepth 32",
    "sim:cloud --rate-iops 900 --arrival poisson --iodepth 64",
];

pub(crate) fn run() -> Result<bool> {
    place::needs_programs(&[COMPILER, QEMU], " (Debian: gcc-aarch64-linux-gnu, qemu-user)")?;
    let whole: Vec<String> =
        WHOLE.iter().map(|name| format!("--package=halfpower-{name}")).collect();
    let mut words = vec!["test", "--quiet", "--no-fail-fast"];
    words.extend(whole.iter().map(String::as_str));
    let mut good = cargo(&words)?;
    good &= cargo(&["test", "--quiet", "--package=halfpower-host", "kernel::"])?;
    let mut words = vec!["test", "--quiet", "--package=halfpower-engine", "--"];
    for (name, reason) in LEFT_OUT {
        testkit::skip(&format!("aarch64: {name}"), reason);
        words.extend(["--skip", name]);
    }
    good &= cargo(&words)?;
    good &= cargo(&["build", "--quiet", "--package=halfpower", "--bin=halfpower"])?;
    let ours = place::dev_binary()?;
    let theirs = place::target_folder().join(TARGET).join("debug/halfpower");
    for load in SIMULATED {
        good &= same_document(&ours, &theirs, load)?;
    }
    Ok(good & real_file(&theirs)?)
}

/// Runs the Arm program through the emulator.
fn emulated(program: &Path) -> Command {
    let mut qemu = Command::new(QEMU);
    qemu.args(["-L", LIBRARIES]).arg(program);
    qemu
}

/// Whether a simulated trial gives the same document, byte for byte, on both CPUs.
fn same_document(ours: &Path, theirs: &Path, load: &str) -> Result<bool> {
    let document = |command: &mut Command| -> Result<Vec<u8>> {
        command.arg("run").args(load.split(' ')).args(["--no-save", "--json"]);
        command.current_dir(place::root());
        crate::child::output(command, &[0, 1])
    };
    let (ours, theirs) = (document(&mut Command::new(ours))?, document(&mut emulated(theirs))?);
    let same = ours == theirs && !ours.is_empty();
    println!("run {load}: {} bytes, {}", ours.len(), if same { "equal" } else { "NOT equal" });
    Ok(same)
}

/// Whether trials on a file complete, with each engine that qemu-user supports. The file is verified after it
/// was written, so the bytes are right.
fn real_file(program: &Path) -> Result<bool> {
    let folder = testkit::disk_folder()?;
    let mut good = true;
    for (engine, cache) in [("sync", "device"), ("threads", "device"), ("mmap", "all")] {
        let path = folder.path().join(engine);
        std::fs::write(&path, vec![0; 4 << 20])?;
        let mut command = emulated(program);
        command.arg("run").arg(&path).args(["--ioengine", engine, "--cache", cache]);
        command.args(["--rw", "randwrite", "--overwrite", "--verify", "--iodepth", "1"]);
        command.args(["--io-size", "2m", "--no-save", "--json"]);
        let trial: Value = serde_json::from_slice(&crate::child::output(&mut command, &[0, 1])?)?;
        let verify = &trial["result"]["verify"];
        let count = |what: &str| verify[what].as_u64().unwrap_or(0);
        let bad: u64 = ["lost", "misplaced", "torn", "stale"].into_iter().map(count).sum();
        println!("run FILE --ioengine {engine}: {} blocks are right, {bad} are not", count("good"));
        good &= verify.is_object() && bad == 0 && count("good") > 0;
    }
    Ok(good)
}

/// Whether the crates with architecture-dependent code compile for Arm (half a minute from scratch).
pub(crate) fn smoke() -> Result<bool> {
    cargo(&["check", "--quiet", "--package=halfpower-engine", "--package=halfpower-host"])
}

/// Runs a cargo command for the target; returns whether it succeeded.
fn cargo(words: &[&str]) -> Result<bool> {
    let runner = format!("{QEMU} -L {LIBRARIES}");
    let mut cargo = place::cross(TARGET, words, COMPILER, &runner)?;
    Ok(cargo.env(testkit::EMULATOR, runner).status().context("cannot run cargo")?.success())
}
