//! halfpower against fio on the same target, run by run in turn, over all engines.
//!
//! Both do the same requests on the same prepared file or device for the same time. The two sides
//! of a pair take turns in slices of a fraction of a second (ABBAABBA): on a shared machine the
//! speed wanders within seconds, and two runs of one second each, one after the other, differ by
//! a tenth where nothing differs. A slice of that length is as steady as a longer run. What each
//! reports as IOPS and mean response time is compared as [`crate::pairs`] describes. fio gets the
//! same help from the kernel (registered file and buffers) that halfpower says it got, and hands
//! over as many requests per system call, because the question is whether the two measure alike,
//! not who asked for more. (`cargo xtask bench` asks that, against fio's fastest settings.)
//!
//! Before anything is believed, the gate shows on each target what it can tell: fio against fio,
//! which must not come out as different, and halfpower against a halfpower that is really slowed
//! by a tenth (see [`crate::child`]), which must not come out as equivalent.
//!
//! On a target in memory both sides keep to one processor, the same. io_uring hands requests on
//! files of memory to kernel workers, and where a worker sits on another processor, waking that one up
//! is most of a request: on one host 45 µs against 6. Left to the scheduler, a load changes from the one
//! to the other within its first second, at chance, which says nothing of either program. On a disk both
//! are left free, as their users leave them.
//!
//! On a target in memory a request takes a few microseconds, of which the load generator's own work
//! is a good part: there one of the two can really be faster, not only say so. The gate passes
//! where halfpower is equivalent or ahead of fio, and fails where it is behind. That it does not
//! merely claim more is shown beside it where the target has counters of its own: requests that
//! the device counted over those that halfpower counted, which must be one within 2 %. A pool of
//! threads is shown without being judged, because fio has none: its jobs need no hand-over.
//!
//! Processor time has two bounds. The lower is what the kernel charges to the child, its threads
//! and io_uring's workers. For the upper, the same measure must serve both: the time that the
//! whole machine was not idle while the child lived, by the kernel's own idle counters, which
//! belong to neither. It holds what others did meanwhile, alike for both sides of a pair. What a
//! program spends before and after its load (fio calibrates clocks, halfpower measures its
//! ceiling) is taken out of both by the difference to a very short run of the same load, made once
//! in each pair. halfpower's own upper bound (`--cpu-upper`, a soaker on every processor) is shown
//! beside them: fio has none to compare it with.

mod report;

use crate::arguments::Arguments;
use crate::child::{self, Plant, TENTH};
use crate::contest::fio::{self, Registered, Settings};
use crate::contest::halfpower::{self, Entry, Notes};
use crate::contest::target::{self, Target};
use crate::contest::{Load, Outcome, SHORT, Via};
use crate::pairs::{LOOKS, Ratio, Verdict};
use anyhow::{Result, ensure};
use report::Line;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Minutes that a full run takes at most, where no other number is given; a comparison that has
/// begun its first pairs is let finish them.
const MINUTES: u64 = 36;

/// What `peers` was asked.
pub(crate) struct Options {
    smoke: bool,
    pairs: usize,
    runtime: Duration,
    most: Duration,
    target: Option<String>,
    engine: Option<String>,
    /// Words that the load's label must hold.
    load: Option<String>,
    /// The halfpower to compare; the release build of this tree where none is named.
    binary: Option<PathBuf>,
}

impl Options {
    pub(crate) const VALUES: [&'static str; 7] =
        ["--pairs", "--runtime", "--minutes", "--target", "--engine", "--load", "--binary"];

    pub(crate) fn read(flags: &Arguments) -> Result<Self> {
        let most = LOOKS[LOOKS.len() - 1];
        let pairs = flags.value("--pairs")?.unwrap_or(most);
        ensure!((2..=most).contains(&pairs), "--pairs must be from 2 to {most}");
        let runtime_s: f64 = flags.value("--runtime")?.unwrap_or(1.0);
        ensure!((1.0..=60.0).contains(&runtime_s), "--runtime must be from 1 to 60 seconds");
        let target: Option<String> = flags.value("--target")?.filter(|name| name != "all");
        let known = target.as_ref().is_none_or(|name| target::NAMES.contains(&name.as_str()));
        ensure!(known, "--target is one of all, {}", target::NAMES.join(", "));
        let engine: Option<String> = flags.value("--engine")?;
        let names = Via::ALL.map(Via::name);
        let known = engine.as_ref().is_none_or(|name| names.contains(&name.as_str()));
        ensure!(known, "--engine is one of {}", names.join(", "));
        let minutes = flags.value("--minutes")?.unwrap_or(MINUTES);
        let options = Self {
            smoke: false,
            pairs,
            runtime: Duration::from_secs_f64(runtime_s),
            most: Duration::from_secs(60 * minutes),
            target,
            engine,
            load: flags.value("--load")?,
            binary: flags.value("--binary")?,
        };
        let smoke = flags.has("--smoke");
        Ok(if smoke { Self { binary: options.binary, ..Self::smoke() } } else { options })
    }

    /// The least that shows that both sides still run and are understood, with every engine.
    pub(crate) fn smoke() -> Self {
        Self {
            smoke: true,
            pairs: 1,
            runtime: Duration::from_millis(120),
            most: Duration::from_secs(60),
            target: None,
            engine: None,
            load: None,
            binary: None,
        }
    }

    /// The loads to be run on a target.
    fn loads(&self, target: &str) -> Vec<Load> {
        if self.target.as_ref().is_some_and(|name| name != target) {
            return Vec::new();
        }
        let mut loads: Vec<Load> = LOADS
            .iter()
            .filter(|load| match load.via {
                Via::Null => target == "null",
                // Through the page cache, whatever is below.
                Via::Mmap => target == "tmpfs",
                _ => target != "null",
            })
            .filter(|load| self.engine.as_ref().is_none_or(|name| name == load.via.name()))
            .filter(|load| self.load.as_ref().is_none_or(|words| load.label().contains(words)))
            .copied()
            .collect();
        if self.smoke {
            // One of each engine where requests are served at once.
            loads.retain(|_| matches!(target, "null" | "tmpfs"));
            loads.dedup_by_key(|load| load.via);
        }
        loads
    }
}

const LOADS: [Load; 13] = [
    load(Via::IoUring, "randread", "4k", 1),
    load(Via::IoUring, "randread", "4k", 32),
    load(Via::IoUring, "read", "64k", 1),
    load(Via::IoUring, "read", "64k", 8),
    load(Via::IoUring, "randwrite", "4k", 1),
    load(Via::IoUring, "randwrite", "4k", 32),
    load(Via::IoUring, "write", "64k", 1),
    load(Via::Libaio, "randread", "4k", 32),
    load(Via::Sync, "randread", "4k", 1),
    load(Via::Sync, "randwrite", "4k", 1),
    load(Via::Threads, "randread", "4k", 8),
    load(Via::Mmap, "randread", "4k", 1),
    load(Via::Null, "randread", "4k", 128),
];

const fn load(via: Via, rw: &'static str, bs: &'static str, iodepth: u32) -> Load {
    Load { via, rw, bs, iodepth }
}

/// How far the device's own count may lie from halfpower's on a target that nobody else uses:
/// requests in flight at the edges of a short run.
const COUNT_TOLERANCE: f64 = 0.02;
/// Slices of each side in one pair.
const SLICES: usize = 4;

/// One side of one pair.
#[derive(Clone, Copy, Debug)]
struct Half {
    slices: Outcome,
    /// The run that shows what start and end cost.
    short: Outcome,
}

impl Half {
    fn cpu_us_per_io(&self) -> f64 {
        self.slices.cpu_us_per_io(&self.short, SLICES)
    }

    fn busy_us_per_io(&self) -> f64 {
        self.slices.busy_us_per_io(&self.short, SLICES)
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
    registered: Registered,
    /// The processor that both sides keep to.
    core: Option<usize>,
}

impl Bout {
    fn run(&self, side: Side, runtime: Duration) -> Result<Outcome> {
        match side {
            Side::Fio => {
                let settings = Settings::alike(&self.load, self.registered, self.core);
                if self.load.via == Via::Null {
                    return fio::run_null(
                        &self.load,
                        &settings,
                        self.target.size_bytes,
                        false,
                        runtime,
                    );
                }
                fio::run(&self.target, &self.load, &settings, runtime)
            }
            Side::Halfpower => Ok(self.halfpower(runtime, Plant::Nothing, &[])?.0),
            Side::HalfpowerSlowed => Ok(self.halfpower(runtime, Plant::Stopped(TENTH), &[])?.0),
        }
    }

    fn halfpower(
        &self,
        runtime: Duration,
        plant: Plant,
        more: &[&str],
    ) -> Result<(Outcome, Notes)> {
        let entry = Entry { binary: &self.binary, core: self.core, plant };
        halfpower::run(&entry, &self.target, &self.load, runtime, more)
    }

    /// Both sides in turn, so that a drift of the machine falls on both alike.
    fn pair(&self, sides: (Side, Side), reverse: bool, runtime: Duration) -> Result<(Half, Half)> {
        let slice = runtime / SLICES as u32;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for turn in 0..SLICES {
            let b_first = (turn % 2 == 1) != reverse;
            for of_b in [b_first, !b_first] {
                let (side, slices) = if of_b { (sides.1, &mut b) } else { (sides.0, &mut a) };
                slices.push(self.run(side, slice)?);
            }
        }
        let half = |side, slices: &[Outcome]| -> Result<Half> {
            let short = self.run(side, SHORT)?;
            Ok(Half { slices: Outcome::together(slices), short })
        };
        Ok((half(sides.0, &a)?, half(sides.1, &b)?))
    }

    /// Runs pairs until `enough` says so, no more are allowed, or the time is over.
    fn compare(
        &self,
        sides: (Side, Side),
        options: &Options,
        most: Duration,
        enough: fn(&Line) -> bool,
    ) -> Result<Line> {
        let begin = Instant::now();
        let mut pairs = Vec::new();
        while pairs.len() < options.pairs && (pairs.len() < LOOKS[0] || begin.elapsed() < most) {
            pairs.push(self.pair(sides, pairs.len() % 2 == 1, options.runtime)?);
            if LOOKS.contains(&pairs.len()) {
                let line = Line::new(&pairs);
                if enough(&line) {
                    break;
                }
            }
        }
        Ok(Line::new(&pairs))
    }
}

/// The time that is left, and how many comparisons it is for.
struct Budget {
    end: Instant,
    comparisons: u32,
}

impl Budget {
    /// The share of the next comparison.
    fn next(&mut self) -> Duration {
        let left = self.end.saturating_duration_since(Instant::now());
        let share = left / self.comparisons.max(1);
        self.comparisons = self.comparisons.saturating_sub(1);
        share
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
        None => crate::place::binary(options.smoke)?,
    };
    // Two more on each target prove the gate.
    let comparisons = target::NAMES
        .iter()
        .map(|name| options.loads(name).len())
        .filter(|&loads| loads > 0)
        .map(|loads| loads as u32 + 2)
        .sum();
    ensure!(comparisons > 0, "no load is left of what --target, --engine and --load allow");
    let mut budget = Budget { end: Instant::now() + options.most, comparisons };
    let mut good = true;
    for name in target::NAMES {
        let loads = options.loads(name);
        if loads.is_empty() {
            continue;
        }
        match Target::prepare(name, options.smoke)? {
            Err(why) => {
                println!("SKIP peers {name}: {why}");
                budget.comparisons = budget.comparisons.saturating_sub(loads.len() as u32 + 2);
            }
            Ok(target) => {
                let (binary, registered) = (binary.clone(), Registered::ALL);
                let bout = Bout { binary, target, load: loads[0], registered, core: None };
                good &= compare_on(bout, &loads, options, &mut budget)?;
            }
        }
    }
    Ok(good)
}

/// All loads on one target, after the proof that the gate works there.
fn compare_on(
    mut bout: Bout,
    loads: &[Load],
    options: &Options,
    budget: &mut Budget,
) -> Result<bool> {
    println!("\n{}: {}", bout.target.name, bout.target.description);
    println!("{}", Line::heading());
    let mut good = true;
    for (index, load) in loads.iter().enumerate() {
        bout.load = *load;
        // A pool of threads is there to be spread.
        let one_thread = load.via != Via::Threads;
        bout.core = (bout.target.ram_backed && one_thread).then(child::core).transpose()?;
        let (_, notes) = bout.halfpower(SHORT, Plant::Nothing, &[])?;
        bout.registered = Registered::like(&notes.features);
        if index == 0 {
            good &= proof(&bout, options, budget)?;
        }
        let line = bout.compare((Side::Fio, Side::Halfpower), options, budget.next(), |line| {
            line.says_all() || line.decided() && !line.agrees_or_leads()
        })?;
        println!("{}", line.row(&load.label()));
        for finding in &notes.findings {
            println!("    halfpower says: {finding}");
        }
        if let Some(ratio) = notes.counted_ratio {
            println!("    the device counted {ratio:.3} of halfpower's requests");
            good &= (ratio - 1.0).abs() < COUNT_TOLERANCE || !bout.target.ram_backed;
        }
        let first_of_engine = index == 0 || loads[index - 1].via != load.via;
        if first_of_engine && load.via != Via::Null && !options.smoke {
            println!("    {}", own_bounds(&bout, options.runtime));
        }
        // On a disk "undecided" is an answer; memory is quiet enough to decide.
        let judged = !options.smoke && bout.target.ram_backed && load.via != Via::Threads;
        good &= !judged || line.agrees_or_leads();
    }
    Ok(good)
}

/// halfpower's own two bounds of processor time, in words. They are beside the comparison: a run
/// that cannot make them spoils nothing.
fn own_bounds(bout: &Bout, runtime: Duration) -> String {
    match bout.halfpower(runtime, Plant::Nothing, &["--cpu-upper"]) {
        Ok((_, Notes { bounds_us: (Some(lower), Some(upper)), .. })) => {
            format!("halfpower's own bounds: lower {lower:.2}, upper {upper:.2} µs per request")
        }
        Ok(_) => "halfpower gives no bounds of its own here".to_owned(),
        Err(error) => format!("halfpower's own bounds are not measured: {error:#}"),
    }
}

/// Shows what the gate makes of nothing and of a real fault.
fn proof(bout: &Bout, options: &Options, budget: &mut Budget) -> Result<bool> {
    let same = bout.compare((Side::Fio, Side::Fio), options, budget.next(), Line::decided)?;
    println!("{}", same.row("A/A: fio, fio"));
    let sides = (Side::Halfpower, Side::HalfpowerSlowed);
    let slowed = bout.compare(sides, options, budget.next(), Line::decided)?;
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
    fn new(pairs: &[(Half, Half)]) -> Self {
        let ratio = |value: &dyn Fn(&Half) -> f64| {
            let values: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (value(a), value(b))).collect();
            Ratio::of_pairs(&values)
        };
        let means = |value: &dyn Fn(&Half) -> f64| {
            let mean = |values: Vec<f64>| values.iter().sum::<f64>() / values.len() as f64;
            (
                mean(pairs.iter().map(|(a, _)| value(a)).collect()),
                mean(pairs.iter().map(|(_, b)| value(b)).collect()),
            )
        };
        Self {
            pairs: pairs.len(),
            iops_means: means(&|half| half.slices.iops),
            iops: ratio(&|half| half.slices.iops),
            latency: ratio(&|half| half.slices.latency_ns),
            cpu_means: means(&Half::cpu_us_per_io),
            cpu: ratio(&Half::cpu_us_per_io),
            busy_means: means(&Half::busy_us_per_io),
            busy: ratio(&Half::busy_us_per_io),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(words: &[&str]) -> Result<Options> {
        let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        Options::read(&Arguments::read(&words, &["--smoke"], &Options::VALUES)?)
    }

    fn count(options: &Options) -> Vec<usize> {
        target::NAMES.iter().map(|name| options.loads(name).len()).collect()
    }

    #[test]
    fn every_engine_has_its_row_and_flags_narrow_them() {
        let all = options(&[]).unwrap();
        for via in Via::ALL {
            let rows = target::NAMES.iter().flat_map(|name| all.loads(name));
            assert!(rows.into_iter().any(|load| load.via == via), "{via:?}");
        }
        assert_eq!(count(&options(&["--engine", "mmap"]).unwrap()), [0, 1, 0, 0]);
        assert_eq!(count(&options(&["--target", "null"]).unwrap()), [1, 0, 0, 0]);
        let narrow = options(&["--target", "zram", "--load", "randread 4k x 32"]).unwrap();
        assert_eq!(count(&narrow), [0, 0, 2, 0]);
        assert_eq!(count(&Options::smoke()), [1, 5, 0, 0]);
        assert!(options(&["--engine", "posixaio"]).is_err());
    }

    #[test]
    fn the_time_that_is_left_is_shared_by_the_comparisons_that_are_left() {
        let mut budget = Budget { end: Instant::now() + Duration::from_secs(100), comparisons: 2 };
        let first = budget.next();
        assert!(first <= Duration::from_secs(50) && first > Duration::from_secs(40), "{first:?}");
        assert!(budget.next() > Duration::from_secs(90));
        assert!(budget.next() > Duration::from_secs(90), "more than planned");
    }
}
