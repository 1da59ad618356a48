//! Asynchronous writes in event style: eight requests in flight, and the program waits for the oldest.
//!
//! After figure 20 of Riedel, van Ingen and Gray (1997): 100 blocks of 64 KiB. Each slot has an event, and
//! the program waits for it before it reuses the slot. This is easy to read and keeps the order. Its cost:
//! one slow request blocks seven completed slots (`halfpower run --completion oldest-first` measures how
//! much). The published program closes the file while the last eight writes are still in flight; this one
//! drains first.
//!
//! `cargo run --example event_pipeline -- NEW_FILE`
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use engine::{Completion, Engine, OpenEngine, Setup, Submission, UringEngine, Wait};
use record::OpKind;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;
use workload::Request;

const BLOCKS: u64 = 100;
const BLOCK_BYTES: u32 = 64 << 10;
const DEPTH: u32 = 8;
/// `O_DIRECT` of Linux on x86_64 (open(2); asm-generic/fcntl.h).
const O_DIRECT: i32 = 0o40000;

/// The slots of a pipeline and their events.
struct Pipeline {
    engine: UringEngine,
    /// Result of each slot's request, until the program waits for it.
    events: [Option<i32>; DEPTH as usize],
    arrived: Vec<Completion>,
}

impl Pipeline {
    /// Waits until the slot's request is done. Requests that finish earlier set their events.
    fn wait_for(&mut self, slot: u32) -> Result<()> {
        loop {
            if let Some(outcome) = self.events[slot as usize].take() {
                if outcome < 0 {
                    return Err(std::io::Error::from_raw_os_error(-outcome))
                        .context("a write failed");
                }
                ensure!(outcome == BLOCK_BYTES as i32, "a write transferred {outcome} bytes only");
                return Ok(());
            }
            // One system call submits all prepared requests and waits for a completion.
            self.engine.wait(Wait::new(1, DEPTH), &mut self.arrived)?;
            for completion in self.arrived.drain(..) {
                self.events[completion.slot as usize] = Some(completion.outcome);
            }
        }
    }

    /// Prepares and submits a write.
    fn start(&mut self, slot: u32, block: u64) -> Result<()> {
        let offset = block * u64::from(BLOCK_BYTES);
        let request = Request { offset, bytes: BLOCK_BYTES, op: OpKind::Write };
        // The slot has its own memory, filled by the engine with random data.
        self.engine.prepare(&[Submission { request, slot, generation: 0 }]);
        Ok(self.engine.hand_over()?)
    }
}

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("usage: event_pipeline NEW_FILE")?;
    let name = path.display();
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .custom_flags(O_DIRECT)
        .open(&path)
        .with_context(|| {
        format!("cannot create {name} (is there one, or no O_DIRECT here?)")
    })?;
    let setup = Setup {
        reads: false,
        writes: true,
        ..Setup::reading(vec![file.as_raw_fd()], DEPTH, BLOCK_BYTES)
    };
    let engine = UringEngine::open(&setup)?;
    let mut pipeline = Pipeline { engine, events: [None; DEPTH as usize], arrived: Vec::new() };
    let begin = Instant::now();
    for block in 0..BLOCKS {
        let slot = (block % u64::from(DEPTH)) as u32;
        if block >= u64::from(DEPTH) {
            // The pipeline is full: this slot has the oldest request.
            pipeline.wait_for(slot)?;
        }
        pipeline.start(slot, block)?;
    }
    // Drain, oldest first. Only now is it known that all writes succeeded.
    for block in BLOCKS..BLOCKS + u64::from(DEPTH) {
        pipeline.wait_for((block % u64::from(DEPTH)) as u32)?;
    }
    // Drop the ring before the file that it writes to.
    drop(pipeline);
    file.sync_all().with_context(|| format!("cannot flush {name}"))?;
    let bytes = BLOCKS * u64::from(BLOCK_BYTES);
    println!("{bytes} bytes in {BLOCKS} requests, at most {DEPTH} in flight");
    println!("{:.1} MB/s", bytes as f64 / 1e6 / begin.elapsed().as_secs_f64());
    Ok(())
}
