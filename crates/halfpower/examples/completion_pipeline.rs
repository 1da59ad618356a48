//! Asynchronous reads driven by completions: whenever one of eight requests completes, its slot issues the
//! next read at once.
//!
//! After figure 21 of Riedel, van Ingen and Gray (1997), whose completion routine issues the next request
//! itself. As the authors warn, that can nest: if the next request completes before the call returns, its
//! routine runs inside the first, and so on down the stack. Here the routine returns the next request and the
//! loop submits it, so the stack stays flat. (`halfpower run --completion callback` counts the nesting depth
//! of the other method.)
//!
//! `cargo run --example completion_pipeline -- FILE`
#![forbid(unsafe_code)]

use anyhow::{Context, Result, ensure};
use engine::{Completion, Engine, OpenEngine, Setup, Submission, UringEngine, Wait};
use record::OpKind;
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::time::Instant;
use workload::Request;

const REQUEST_BYTES: u32 = 64 << 10;
const DEPTH: u32 = 8;
/// `O_DIRECT` of Linux on x86_64 (open(2); asm-generic/fcntl.h).
const O_DIRECT: i32 = 0o40000;

/// Reads a file through eight slots.
struct Reader {
    engine: UringEngine,
    /// Length of the file when it was opened.
    length: u64,
    /// Offset of the next request.
    next: u64,
    /// Offset of each slot's request.
    offsets: [u64; DEPTH as usize],
    in_flight: u32,
    requests: u64,
    bytes: u64,
    sum: u64,
}

impl Reader {
    /// The next request for a slot; `None` when the whole file has been requested.
    fn next_for(&mut self, slot: u32) -> Option<Submission> {
        if self.next >= self.length {
            return None;
        }
        let offset = self.next;
        self.offsets[slot as usize] = offset;
        self.next += u64::from(REQUEST_BYTES);
        let request = Request { offset, bytes: REQUEST_BYTES, op: OpKind::Read };
        Some(Submission { request, slot, generation: 0 })
    }

    /// The completion routine: uses the data, and returns the slot's next request.
    fn completed(&mut self, completion: Completion) -> Result<Option<Submission>> {
        let Completion { slot, outcome } = completion;
        self.in_flight -= 1;
        self.requests += 1;
        let offset = self.offsets[slot as usize];
        if outcome < 0 {
            return Err(std::io::Error::from_raw_os_error(-outcome))
                .with_context(|| format!("the read at byte {offset} failed"));
        }
        // Only the end of the file may shorten a request; otherwise the file has changed.
        let expected = (self.length - offset).min(u64::from(REQUEST_BYTES));
        ensure!(outcome as u64 == expected, "the read at byte {offset} gave {outcome} bytes only");
        let data = self.engine.data(slot, outcome as usize);
        self.sum += data.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        self.bytes += expected;
        Ok(self.next_for(slot))
    }

    fn run(&mut self) -> Result<()> {
        let mut ready: Vec<Submission> =
            (0..DEPTH).filter_map(|slot| self.next_for(slot)).collect();
        let mut arrived = Vec::new();
        while !ready.is_empty() || self.in_flight > 0 {
            self.in_flight += ready.len() as u32;
            self.engine.prepare(&ready);
            ready.clear();
            // One system call submits all ready requests and waits for a completion.
            self.engine.wait(Wait::new(1, DEPTH), &mut arrived)?;
            for completion in arrived.drain(..) {
                ready.extend(self.completed(completion)?);
            }
        }
        Ok(())
    }
}

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("usage: completion_pipeline FILE")?;
    let name = path.display();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(O_DIRECT)
        .open(&path)
        .with_context(|| format!("cannot open {name} with O_DIRECT"))?;
    let length = file.metadata().with_context(|| format!("cannot look at {name}"))?.len();
    let engine = UringEngine::open(&Setup::reading(vec![file.as_raw_fd()], DEPTH, REQUEST_BYTES))?;
    let mut reader = Reader {
        engine,
        length,
        next: 0,
        offsets: [0; DEPTH as usize],
        in_flight: 0,
        requests: 0,
        bytes: 0,
        sum: 0,
    };
    let begin = Instant::now();
    reader.run().with_context(|| format!("cannot read {name}"))?;
    let seconds = begin.elapsed().as_secs_f64();
    let Reader { requests, bytes, sum, .. } = reader;
    println!("{bytes} bytes in {requests} requests, sum of bytes {sum}");
    println!("{:.1} MB/s", bytes as f64 / 1e6 / seconds);
    Ok(())
}
