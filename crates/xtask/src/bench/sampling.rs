//! What a sample of a thousand devices costs: the price of having `watch` open all day.
//!
//! The program's sampler reads a generated /proc/diskstats of 1,000 devices that all did something,
//! and the context beside it; CPU time of the thread is taken around the sample alone. At one
//! sample per second a hundredth of a processor is 10 ms per sample. What this machine's own
//! devices cost, the kernel's work included, is printed beside. Rejected: wall time, which is
//! somebody else's.

use super::gate::{Gate, Goal, Proof, numbers};
use super::machine::Pinned;
use super::{Context, Report};
use crate::pairs::Ratio;
use anyhow::{Result, ensure};
use kernel::Roots;
use kernel::live::{Sampler, Selection};
use nix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::cell::RefCell;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;
use testkit::Fake;

/// Devices of the figure, and of the planted fault: a fifth more.
const DEVICES: u64 = 1_000;
const PLANTED: u64 = 1_200;
/// Milliseconds of CPU time per sample: a hundredth of a processor at one per second.
const GOAL_MS: f64 = 10.0;
const SAMPLES: u64 = 20;
/// Files of the context, as this machine has them.
const CONTEXT_FILES: [&str; 3] = ["pressure/io", "meminfo", "stat"];

pub(super) fn run(context: &Context) -> Result<Report> {
    let _pinned = Pinned::to(context.core)?;
    let samples = if context.options.smoke { 2 } else { SAMPLES };
    let few = RefCell::new(Machine::new(DEVICES)?);
    let many = RefCell::new(Machine::new(PLANTED)?);
    let cost = |machine: &RefCell<Machine>| machine.borrow_mut().cost_ms(samples);
    cost(&few)?;
    cost(&many)?;
    let (proof, figure) =
        Proof::of(context.pairs(15), "a fifth more devices", || cost(&few), || cost(&many))?;
    let gate = Gate::new(
        "a sample of 1,000 devices with its context",
        "ms of CPU time",
        Goal::AtMost(GOAL_MS),
        figure,
        proof,
    );
    println!("    at one per second: {:.2} % of a processor", figure.value / 10.0);
    let (devices, here) = here(samples)?;
    println!("    this machine's own {devices} devices, the kernel's work included: {here} ms");
    let details =
        json!({ "unit": "ms per sample", "here": { "devices": devices, "cost": numbers(&here) } });
    Ok(Report { gates: vec![gate], details })
}

/// A tree with so many devices, and a sampler of it.
struct Machine {
    fake: Fake,
    devices: u64,
    round: u64,
    sampler: Sampler,
}

impl Machine {
    fn new(devices: u64) -> Result<Self> {
        let fake = Fake::new();
        for file in CONTEXT_FILES {
            let text = std::fs::read_to_string(Path::new("/proc").join(file));
            fake.proc(file, &text.unwrap_or_default());
        }
        fake.proc("diskstats", &lines(devices, 0));
        let selection = Selection { unused: true, ..Selection::default() };
        let sampler = Sampler::new(Roots::below(fake.root()), selection)?;
        Ok(Self { fake, devices, round: 0, sampler })
    }

    fn cost_ms(&mut self, samples: u64) -> Result<f64> {
        let mut spent = Duration::ZERO;
        for _ in 0..samples {
            self.round += 1;
            self.fake.proc("diskstats", &lines(self.devices, self.round));
            let begin = thread_time()?;
            let intervals = self.sampler.sample()?;
            let context = self.sampler.context();
            spent += thread_time()?.saturating_sub(begin);
            ensure!(intervals.len() as u64 == self.devices, "{} devices", intervals.len());
            ensure!(context.duration_ns > 0, "no context");
        }
        Ok(spent.as_secs_f64() * 1e3 / samples as f64)
    }
}

/// The file after so many rounds: every device reads and writes.
pub(super) fn lines(devices: u64, round: u64) -> String {
    let mut text = String::new();
    for device in 0..devices {
        let (major, minor) = (8 + device / 256, device % 256);
        let ios = 1_000_000 + device + round * (100 + device % 7);
        let (sectors, ms) = (ios * 16, (ios / 3) & 0xffff_ffff);
        let _ = writeln!(
            text,
            "{major:4} {minor:7} sd{device} {ios} 12 {sectors} {ms} {ios} 34 {sectors} {ms} 3 {ms} {} \
             17 0 4096 5 900 40",
            (2 * ms) & 0xffff_ffff
        );
    }
    text
}

fn thread_time() -> Result<Duration> {
    Ok(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?.into())
}

/// What a sample of this machine costs.
fn here(samples: u64) -> Result<(usize, Ratio)> {
    let selection = Selection { unused: true, partitions: true, ..Selection::default() };
    let mut sampler = Sampler::new(Roots::default(), selection)?;
    let mut costs = Vec::new();
    for _ in 0..samples {
        let begin = thread_time()?;
        sampler.sample()?;
        sampler.context();
        costs.push(thread_time()?.saturating_sub(begin).as_secs_f64() * 1e3);
    }
    Ok((sampler.devices().len(), Ratio::median_of(costs)))
}
