//! How fast the simulator steps: it bounds how long the tests and the published tables take.
//!
//! Whole runs of the program are timed, from command line to document. Beside the goals stand the
//! two ways in which a simulator becomes slow: with the length of the simulated time, and with the
//! number of devices. With `--against` another binary, the one of an earlier commit, is run in turn
//! with this one.

use super::gate::{Gate, Goal, Proof, median_of, numbers, ratio_of, turns};
use super::{Context, Report};
use crate::child::{self, FIFTH, Plant};
use anyhow::{Context as _, Result, ensure};
use record::Trial;
use serde_json::json;
use std::path::Path;
use std::process::Command;

const PAIRS: usize = 15;

/// What is counted against real time.
#[derive(Clone, Copy)]
enum Per {
    Requests,
    VirtualSeconds,
}

/// A run.
struct Load {
    name: &'static str,
    words: &'static str,
    seconds: u32,
    per: Per,
    goal: Goal,
}

const QUEUE: &str = "sim:mm1,service=5ms --iodepth 4";
const LOADS: [Load; 12] = [
    Load {
        name: "simulated requests, queue device",
        words: QUEUE,
        seconds: 10_000,
        per: Per::Requests,
        goal: Goal::AtLeast(2e6),
    },
    Load {
        name: "simulated requests, queue device, 64 jobs",
        words: "sim:mmc,servers=64,service=5ms --numjobs 64",
        seconds: 100,
        per: Per::Requests,
        goal: Goal::AtLeast(2e6),
    },
    Load {
        name: "simulated requests, drive model, random, depth 8",
        words: "sim:st34371w --rw randread --bs 8k --iodepth 8",
        seconds: 5_000,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, drive model, random, depth 1",
        words: "sim:st34371w --rw randread --bs 8k --iodepth 1",
        seconds: 10_000,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, drive model, random, depth 32",
        words: "sim:st34371w --rw randread --bs 8k --iodepth 32",
        seconds: 3_000,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, drive model, sequential, depth 1",
        words: "sim:st34371w --rw read --bs 8k --iodepth 1",
        seconds: 500,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, drive model, sequential, depth 8",
        words: "sim:st34371w --rw read --bs 8k --iodepth 8",
        seconds: 500,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, drive model, sequential, depth 32",
        words: "sim:st34371w --rw read --bs 8k --iodepth 32",
        seconds: 500,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        // One request is several commands here, so that it has no goal of its own.
        name: "simulated requests, array of six drives with parity, three reads to two writes",
        words: "sim:atlas10k,disks=6,raid=5,buses=2 --rw randrw --rwmixread 60 --bs 8k --iodepth 16",
        seconds: 500,
        per: Per::Requests,
        goal: Goal::Shown,
    },
    Load {
        name: "simulated requests, flash model, steady random overwriting",
        words: "sim:nvme-ssd,size=4g,preconditioned=random --rw randwrite --iodepth 64",
        seconds: 10,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "simulated requests, flash model",
        words: "sim:nvme-ssd --rw randread --iodepth 64",
        seconds: 10,
        per: Per::Requests,
        goal: Goal::AtLeast(5e5),
    },
    Load {
        name: "array of 1,000 drives at 100,000 requests/s",
        // Enough buses for them, and a host that costs nothing: the drives are what is simulated.
        words: "sim:friedman10k,disks=1000,raid=0,buses=250,pci=16,adapter=none,host=ideal \
                --rate-iops 100000 --arrival poisson --iodepth 32768",
        seconds: 10,
        per: Per::VirtualSeconds,
        goal: Goal::AtLeast(1.0),
    },
];
/// The long run of [`QUEUE`] is so many times as long as the short one.
const LONGER: u32 = 10;

pub(super) fn run(context: &Context) -> Result<Report> {
    let binary = context.binary()?;
    let pairs = context.pairs(PAIRS);
    let mut gates = Vec::new();
    let mut details = json!({});
    for load in &LOADS {
        let seconds = if context.smoke { load.seconds.div_ceil(50) } else { load.seconds };
        let rate = |binary: &Path, plant| measure(binary, load.words, seconds, load.per, plant);
        let this = || rate(binary, Plant::Nothing);
        this()?;
        let same = turns(pairs, this, this)?;
        let planted = turns(pairs, this, || rate(binary, Plant::Stopped(FIFTH)))?;
        let rates: Vec<f64> = same.iter().flat_map(|(a, b)| [*a, *b]).collect();
        if let Some(other) = &context.against {
            let pairs = turns(pairs, || rate(other, Plant::Nothing), this)?;
            let ratio = ratio_of(&pairs, |rate| *rate);
            println!("  {}: this over {}: {ratio}", load.name, other.display());
            details["this_over_other"][load.name] = numbers(&ratio);
        }
        let unit = match load.per {
            Per::Requests => "per second of real time",
            Per::VirtualSeconds => "virtual seconds per second of real time",
        };
        gates.push(Gate::new(
            load.name,
            unit,
            load.goal,
            median_of(&rates),
            proof(&same, &planted),
        ));
    }
    let shorter = if context.smoke { 100 } else { 2_000 };
    let of_length = |seconds, plant| measure(binary, QUEUE, seconds, Per::Requests, plant);
    let short = || of_length(shorter, Plant::Nothing);
    let same = turns(pairs, short, short)?;
    let longer = turns(pairs, short, || of_length(shorter * LONGER, Plant::Nothing))?;
    let planted = turns(pairs, short, || of_length(shorter, Plant::Stopped(FIFTH)))?;
    let name = "rate of a run ten times as long over that of the run";
    let figure = ratio_of(&longer, |rate| *rate);
    gates.push(Gate::new(name, "", Goal::AtLeast(0.9), figure, proof(&same, &planted)));
    Ok(Report { gates, details })
}

fn proof(same: &[(f64, f64)], planted: &[(f64, f64)]) -> Proof {
    Proof {
        same: ratio_of(same, |rate| *rate),
        planted: ratio_of(planted, |rate| *rate),
        fault: "a fifth of the time stopped",
    }
}

/// What a run comes to per second of real time.
fn measure(binary: &Path, words: &str, seconds: u32, per: Per, plant: Plant) -> Result<f64> {
    let mut command = Command::new(binary);
    command.arg("run").args(words.split_whitespace());
    command.args(["--runtime", &format!("{seconds}s"), "--no-save", "--json"]);
    let child = child::run(&mut command, plant)?;
    let trial: Trial = serde_json::from_str(&child.stdout).with_context(|| {
        format!("{command:?} gave no trial ({}): {}", child.status, child.stderr.trim())
    })?;
    let directions = [&trial.result.read, &trial.result.write];
    let ios: u64 = directions.into_iter().flatten().map(|direction| direction.ios).sum();
    ensure!(ios > 0, "{command:?} completed no requests");
    let count = match per {
        Per::Requests => ios as f64,
        Per::VirtualSeconds => f64::from(seconds),
    };
    Ok(count / child.wall.as_secs_f64())
}
