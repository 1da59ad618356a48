//! The loops of the memory tests against loops of C that do the same accesses.
//!
//! Whether the compiler leaves the safe loops of `limits` what their names say is shown by holding
//! them against volatile words and `memcpy` from the C compiler, in a cache and beyond it. Each
//! side must be within a tenth of the other: a removed or widened loop is several times too fast.
//! The planted faults pass over a quarter more than is counted, and a quarter less.

use super::gate::{Gate, Goal, Proof, numbers, turns};
use super::machine::Pinned;
use super::{Context, Report};
use crate::child;
use crate::pairs::Ratio;
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("memory.c");
/// The tests, by the peer's words.
const TESTS: [&str; 3] = ["read", "write", "copy"];
/// Buffers: in the nearest cache, in the second, and memspeed's. A copy has two of them: what just
/// fills a cache is within it or not by where its pages happen to lie.
const BUFFERS: [(&str, usize); 3] =
    [("8 KiB", 8 << 10), ("128 KiB", 128 << 10), ("10 MiB", 10 << 20)];
/// Turns a side, and the length of one.
const PAIRS: usize = 31;
const SLICE: Duration = Duration::from_millis(50);
/// The clock is read once per so many bytes.
const BATCH_BYTES: usize = 4 << 20;
/// Each side is within a tenth of the other.
const LEAST: f64 = 0.9;
const MOST: f64 = 1.1;

pub(super) fn run(context: &Context) -> Result<Report> {
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    let Some(peer) = compiled(folder.path())? else {
        return Ok(Report::skipped("memory", "there is no C compiler (cc)"));
    };
    let _bound = Pinned::to(context.core)?;
    let mut gates = Vec::new();
    let mut details = json!({ "unit": "our rate over that of C" });
    for test in TESTS {
        for (name, bytes) in BUFFERS {
            let (least, most) = contest(context, &peer, test, name, bytes)?;
            details[format!("{test} {name}")] = numbers(&least.figure);
            gates.extend([least, most]);
        }
    }
    Ok(Report { gates, details })
}

/// The peer as a program; `None` without a compiler.
fn compiled(folder: &Path) -> Result<Option<std::path::PathBuf>> {
    let (source, program) = (folder.join("memory.c"), folder.join("memory"));
    std::fs::write(&source, SOURCE)?;
    let outcome = Command::new("cc").args(["-O2", "-o"]).arg(&program).arg(&source).status();
    let Ok(status) = outcome else { return Ok(None) };
    ensure!(status.success(), "cc does not compile the peer of the memory tests");
    Ok(Some(program))
}

/// One test in one buffer: not slower and not faster than C.
fn contest(
    context: &Context,
    peer: &Path,
    test: &str,
    name: &str,
    bytes: usize,
) -> Result<(Gate, Gate)> {
    let slice = if context.options.smoke { SLICE / 20 } else { SLICE };
    // `moved` bytes are passed over and `bytes` counted, in pages of this turn's own, as in the
    // peer.
    let ours = |moved: usize| -> Result<f64> {
        let words = trial::memory::buffer(moved / 8);
        let mut both = vec![1_u8; moved.next_multiple_of(4096) + 2048 + moved];
        let (from, to) = both.split_at_mut(moved.next_multiple_of(4096) + 2048);
        Ok(match test {
            "read" => rate(bytes, slice, || {
                black_box(trial::memory::read(&words));
            }),
            "write" => rate(bytes, slice, || trial::memory::write(&words, 3)),
            _ => rate(bytes, slice, || trial::memory::copy(&from[..moved], to)),
        })
    };
    ours(bytes)?;
    let count = context.pairs(PAIRS);
    let theirs = || of_peer(peer, test, bytes, slice);
    let figure = Ratio::median_of_pairs(&turns(count, theirs, || ours(bytes))?);
    let proof = |moved: usize, fault| Proof::of(count, fault, || ours(bytes), || ours(moved));
    let whole = |bytes: usize| bytes / 128 * 128;
    let (slow, _) = proof(whole(bytes + bytes / 4), "a quarter more is moved than counted")?;
    let (fast, _) = proof(whole(bytes - bytes / 4), "a quarter less is moved than counted")?;
    let gate = |goal, proof, what: &str| {
        Gate::new(format!("{test}, {name}, {what} than C"), "", goal, figure, proof)
    };
    Ok((
        gate(Goal::AtLeast(LEAST), slow, "not slower"),
        gate(Goal::AtMost(MOST), fast, "not faster"),
    ))
}

/// Bytes per second of passes that count `bytes` each.
fn rate(bytes: usize, length: Duration, mut pass: impl FnMut()) -> f64 {
    let batch = BATCH_BYTES / bytes + 1;
    let (begin, mut passes) = (Instant::now(), 0);
    loop {
        for _ in 0..batch {
            pass();
        }
        passes += batch;
        let spent = begin.elapsed();
        if spent >= length {
            return (bytes * passes) as f64 / spent.as_secs_f64();
        }
    }
}

/// The same of the peer, which inherits the processor that this thread is bound to.
fn of_peer(peer: &Path, test: &str, bytes: usize, length: Duration) -> Result<f64> {
    let words = [test, &bytes.to_string(), &length.as_millis().max(1).to_string()];
    let output = child::output(Command::new(peer).args(words), &[0])?;
    String::from_utf8_lossy(&output).trim().parse().context("the peer printed no rate")
}
