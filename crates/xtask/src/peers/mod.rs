//! halfpower against fio on the same target, run by run in turn.
//!
//! Both do the same requests on the same prepared file or device for the same time; what each
//! reports as IOPS and mean response time is compared as [`crate::pairs`] describes. fio gets the
//! same help from the kernel (registered file and buffers) that halfpower says it got, and hands
//! over as many requests per system call, because the question is whether the two measure alike,
//! not who asked for more.
//!
//! Before anything is believed, the gate shows on each target what it can tell: fio against fio,
//! which must not come out as different, and halfpower against a halfpower that is really slowed
//! by a tenth (see [`crate::child`]), which must not come out as equivalent.
//!
//! On a target in memory a request takes a few microseconds, of which the load generator's own work
//! is a good part: there one of the two can really be faster, not only say so. The gate passes
//! where halfpower is equivalent or ahead of fio, and fails where it is behind. That it does not
//! merely claim more is shown beside it where the target has counters of its own: requests that
//! the device counted over those that halfpower counted, which must be one within 2 %.
//!
//! Processor time is the whole child's. What a program spends before and after its load (fio
//! calibrates clocks, halfpower measures its ceiling) is taken out by the difference to a short
//! run of the same load.

mod fio;
mod halfpower;
mod report;
mod target;

use crate::arguments::Arguments;
use crate::child::Plant;
use crate::pairs::{LOOKS, Ratio, Verdict};
use anyhow::{Result, ensure};
use report::Line;
use std::path::PathBuf;
use std::time::Duration;
use target::Target;

/// What `peers` was asked.
pub(crate) struct Options {
    smoke: bool,
    pairs: usize,
    runtime: Duration,
    target: String,
    /// The halfpower to compare; the release build of this tree where none is named.
    binary: Option<PathBuf>,
}

impl Options {
    pub(crate) fn read(flags: &Arguments) -> Result<Self> {
        let binary = flags.value("--binary")?;
        if flags.has("--smoke") {
            return Ok(Self { binary, ..Self::smoke() });
        }
        let most = LOOKS[LOOKS.len() - 1];
        let pairs = flags.value("--pairs")?.unwrap_or(most);
        ensure!((2..=most).contains(&pairs), "--pairs must be from 2 to {most}");
        let runtime_s: f64 = flags.value("--runtime")?.unwrap_or(2.0);
        ensure!((1.0..=60.0).contains(&runtime_s), "--runtime must be from 1 to 60 seconds");
        let target = flags.value("--target")?.unwrap_or_else(|| "all".to_owned());
        let known = target == "all" || target::NAMES.contains(&target.as_str());
        ensure!(known, "--target is one of all, {}", target::NAMES.join(", "));
        Ok(Self {
            smoke: false,
            pairs,
            runtime: Duration::from_secs_f64(runtime_s),
            target,
            binary,
        })
    }

    /// The least that shows that both sides still run and are understood.
    pub(crate) fn smoke() -> Self {
        let runtime = Duration::from_millis(300);
        Self { smoke: true, pairs: 2, runtime, target: "tmpfs".to_owned(), binary: None }
    }
}

/// One load.
#[derive(Clone, Copy, Debug)]
struct Load {
    rw: &'static str,
    bs: &'static str,
    iodepth: u32,
}

impl Load {
    fn writes(&self) -> bool {
        self.rw.ends_with("write")
    }
}

const LOADS: [Load; 7] = [
    Load { rw: "randread", bs: "4k", iodepth: 1 },
    Load { rw: "randread", bs: "4k", iodepth: 32 },
    Load { rw: "read", bs: "64k", iodepth: 1 },
    Load { rw: "read", bs: "64k", iodepth: 8 },
    Load { rw: "randwrite", bs: "4k", iodepth: 1 },
    Load { rw: "randwrite", bs: "4k", iodepth: 32 },
    Load { rw: "write", bs: "64k", iodepth: 1 },
];

/// How far the device's own count may lie from halfpower's on a target that nobody else uses:
/// requests in flight at the edges of a short run.
const COUNT_TOLERANCE: f64 = 0.02;
/// Run time of the run that shows what start and end cost.
const SHORT: Duration = Duration::from_millis(200);
/// How many of them.
const SHORT_RUNS: usize = 3;

/// What one run reported and used.
#[derive(Clone, Copy, Debug)]
struct Outcome {
    iops: f64,
    response_ns: f64,
    cpu: Duration,
    runtime: Duration,
}

impl Outcome {
    /// Processor time per request in µs, beyond what the short run used.
    fn cpu_us_per_io(&self, short: &Outcome) -> f64 {
        let requests = self.iops * self.runtime.as_secs_f64();
        let short_requests = short.iops * short.runtime.as_secs_f64();
        (self.cpu.as_secs_f64() - short.cpu.as_secs_f64()) * 1e6 / (requests - short_requests)
    }
}

/// One side of a comparison.
#[derive(Clone, Copy)]
enum Side {
    Fio,
    Halfpower,
    HalfpowerSlowed,
}

/// What both sides need to know.
struct Bout {
    binary: PathBuf,
    target: Target,
    load: Load,
    /// What halfpower's engine got from the kernel.
    features: Vec<String>,
}

impl Bout {
    fn run(&self, side: Side, runtime: Duration) -> Result<Outcome> {
        match side {
            Side::Fio => fio::run(&self.target, &self.load, &self.features, runtime),
            Side::Halfpower => self.halfpower(runtime, Plant::Nothing),
            Side::HalfpowerSlowed => self.halfpower(runtime, Plant::TenthStopped),
        }
    }

    fn halfpower(&self, runtime: Duration, plant: Plant) -> Result<Outcome> {
        let (outcome, _) = halfpower::run(&self.binary, &self.target, &self.load, runtime, plant)?;
        Ok(outcome)
    }

    /// The short run with the middle processor time.
    fn short(&self, side: Side) -> Result<Outcome> {
        let mut runs =
            (0..SHORT_RUNS).map(|_| self.run(side, SHORT)).collect::<Result<Vec<_>>>()?;
        runs.sort_by_key(|run| run.cpu);
        Ok(runs[SHORT_RUNS / 2])
    }

    /// Runs pairs until both rate and response time are decided, or no more are allowed.
    fn compare(&self, sides: (Side, Side), options: &Options) -> Result<Line> {
        let short = (self.short(sides.0)?, self.short(sides.1)?);
        let mut runs = Vec::new();
        while runs.len() < options.pairs {
            let reverse = runs.len() % 2 == 1;
            let first = self.run(if reverse { sides.1 } else { sides.0 }, options.runtime)?;
            let second = self.run(if reverse { sides.0 } else { sides.1 }, options.runtime)?;
            runs.push(if reverse { (second, first) } else { (first, second) });
            if LOOKS.contains(&runs.len()) && Line::new(&runs, &short).decided() {
                break;
            }
        }
        Ok(Line::new(&runs, &short))
    }
}

/// Compares on the targets asked for; whether the gate works and RAM-backed targets agree.
pub(crate) fn run(options: &Options) -> Result<bool> {
    if let Some(why) = testkit::Capability::Fio.missing() {
        println!("SKIP peers: needs Fio: {why}");
        return Ok(true);
    }
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => crate::place::release_binary()?,
    };
    let mut good = true;
    for name in target::NAMES {
        if options.target != "all" && options.target != name {
            continue;
        }
        match Target::prepare(name, options.smoke)? {
            Err(why) => println!("SKIP peers {name}: {why}"),
            Ok(target) => good &= compare_on(&binary, target, options)?,
        }
    }
    Ok(good)
}

/// All loads on one target, after the proof that the gate works there.
fn compare_on(binary: &std::path::Path, target: Target, options: &Options) -> Result<bool> {
    println!("\n{}: {}", target.name, target.description);
    println!("{}", Line::heading());
    let mut bout = Bout { binary: binary.to_owned(), target, load: LOADS[0], features: Vec::new() };
    let mut good = true;
    let count = if options.smoke { 1 } else { LOADS.len() };
    for (index, load) in LOADS.iter().take(count).enumerate() {
        if load.writes() && bout.target.read_only {
            continue;
        }
        bout.load = *load;
        let (_, notes) = halfpower::run(binary, &bout.target, load, SHORT, Plant::Nothing)?;
        bout.features = notes.features;
        if index == 0 {
            good &= proof(&bout, options)?;
        }
        let line = bout.compare((Side::Fio, Side::Halfpower), options)?;
        println!("{}", line.row(&report::label(load)));
        for finding in notes.findings {
            println!("    halfpower says: {finding}");
        }
        if let Some(ratio) = notes.counted_ratio {
            println!("    the device counted {ratio:.3} of halfpower's requests");
            good &= (ratio - 1.0).abs() < COUNT_TOLERANCE || !bout.target.ram_backed;
        }
        // On a disk "undecided" is an answer; memory is quiet enough to decide.
        good &= options.smoke || !bout.target.ram_backed || line.agrees_or_leads();
    }
    Ok(good)
}

/// Shows what the gate makes of nothing and of a real fault.
fn proof(bout: &Bout, options: &Options) -> Result<bool> {
    let same = bout.compare((Side::Fio, Side::Fio), options)?;
    println!("{}", same.row("A/A: fio, fio"));
    let slowed = bout.compare((Side::Halfpower, Side::HalfpowerSlowed), options)?;
    println!("{}", slowed.row("planted: a tenth stopped"));
    let works =
        same.iops.verdict() != Verdict::Different && slowed.iops.verdict() != Verdict::Equivalent;
    if !works {
        println!("    the gate cannot tell a fault from nothing here: its verdicts mean nothing");
    }
    // A smoke run is too short to tell anything apart.
    Ok(works || options.smoke)
}

impl Line {
    fn new(runs: &[(Outcome, Outcome)], short: &(Outcome, Outcome)) -> Self {
        let ratio = |value: &dyn Fn(&Outcome, &Outcome) -> f64| {
            let pairs: Vec<(f64, f64)> =
                runs.iter().map(|(a, b)| (value(a, &short.0), value(b, &short.1))).collect();
            Ratio::of_pairs(&pairs)
        };
        let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
        Self {
            pairs: runs.len(),
            iops_means: (
                mean(runs.iter().map(|(a, _)| a.iops).collect()),
                mean(runs.iter().map(|(_, b)| b.iops).collect()),
            ),
            iops: ratio(&|run, _| run.iops),
            response: ratio(&|run, _| run.response_ns),
            cpu_means: (
                mean(runs.iter().map(|(a, _)| a.cpu_us_per_io(&short.0)).collect()),
                mean(runs.iter().map(|(_, b)| b.cpu_us_per_io(&short.1)).collect()),
            ),
            cpu: ratio(&Outcome::cpu_us_per_io),
        }
    }
}
