//! halfpower against fio on the same target, run by run in turn, over all engines.
//!
//! Both do the same requests on the same prepared file or device for the same time. The two sides
//! of a pair take turns in slices of a fraction of a second (ABBAABBA): on a shared machine the
//! speed wanders within seconds, and two runs of one second each differ by a tenth where nothing
//! differs. IOPS and mean latency are compared as [`crate::pairs`] describes. fio gets the
//! same help from the kernel (registered file and buffers) that halfpower says it got, and hands
//! over as many requests per system call: the question is whether the two measure alike. (`cargo
//! xtask bench` asks who is faster, against fio's fastest settings.)
//!
//! Before anything is believed, the gate shows on each target what it can tell: fio against fio,
//! which must not come out as different, and halfpower against a halfpower that is really slowed by
//! a tenth (see [`crate::child`]), which must not come out as equivalent.
//!
//! On a target in memory both sides keep to one processor, the same: io_uring hands requests on
//! files of memory to kernel workers, and waking one up on another processor is most of a request
//! (on one host 45 µs against 6), which the scheduler decides by chance. There the load generator's
//! own work is a good part of a request, so that one of the two can really be faster: the gate
//! passes where halfpower is equivalent or ahead. That it does not merely claim more shows where
//! the target has counters of its own, which must agree within 2 %. A pool of threads is shown
//! without being judged, because fio has none: its jobs need no hand-over.
//!
//! CPU time is compared by both of its bounds (see [`super`]); halfpower's own upper bound
//! (`--cpu-upper`) is shown beside.

use super::fio::Registered;
use super::halfpower::findings;
use super::line::{Half, Line, SLICES};
use super::target::{self, Target};
use super::{Bout, Load, Outcome, SHORT};
use crate::arguments::Arguments;
use crate::child::{self, Plant, TENTH};
use crate::pairs::{LOOKS, Verdict};
use anyhow::{Result, ensure};
use record::EngineName;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Minutes that a full run takes at most, where no other number is given; a comparison that has
/// begun its first pairs is let finish them.
const MINUTES: u64 = 36;

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

    fn read(flags: &Arguments) -> Result<Self> {
        let known = |flag: &str, names: &[&str]| -> Result<Option<String>> {
            let name: Option<String> = flags.value(flag)?.filter(|name| name != "all");
            let fine = name.as_deref().is_none_or(|name| names.contains(&name));
            ensure!(fine, "{flag} is one of all, {}", names.join(", "));
            Ok(name)
        };
        let most = LOOKS[LOOKS.len() - 1];
        let pairs = flags.value("--pairs")?.unwrap_or(most);
        ensure!((2..=most).contains(&pairs), "--pairs must be from 2 to {most}");
        let runtime_s: f64 = flags.value("--runtime")?.unwrap_or(1.0);
        ensure!((1.0..=60.0).contains(&runtime_s), "--runtime must be from 1 to 60 seconds");
        let minutes = flags.value("--minutes")?.unwrap_or(MINUTES);
        let options = Self {
            smoke: flags.has("--smoke"),
            pairs,
            runtime: Duration::from_secs_f64(runtime_s),
            most: Duration::from_secs(60 * minutes),
            target: known("--target", &target::NAMES)?,
            engine: known("--engine", &ENGINES.map(EngineName::name))?,
            load: flags.value("--load")?,
            binary: flags.value("--binary")?,
        };
        if !options.smoke {
            return Ok(options);
        }
        // The least that shows that both sides still run and are understood, with every engine.
        let (runtime, most) = (Duration::from_millis(120), Duration::from_secs(60));
        let (target, engine, load) = (None, None, None);
        Ok(Self { pairs: 1, runtime, most, target, engine, load, ..options })
    }

    /// The loads to be run on a target.
    fn loads(&self, target: &str) -> Vec<Load> {
        if self.target.as_ref().is_some_and(|name| name != target) {
            return Vec::new();
        }
        let mut loads: Vec<Load> = LOADS
            .iter()
            .filter(|load| match load.via {
                EngineName::Null => target == "null",
                // Through the page cache, whatever is below.
                EngineName::Mmap => target == "tmpfs",
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

const ENGINES: [EngineName; 6] = [
    EngineName::IoUring,
    EngineName::Libaio,
    EngineName::Sync,
    EngineName::Threads,
    EngineName::Mmap,
    EngineName::Null,
];
const LOADS: [Load; 13] = [
    Load::new(EngineName::IoUring, "randread", "4k", 1),
    Load::new(EngineName::IoUring, "randread", "4k", 32),
    Load::new(EngineName::IoUring, "read", "64k", 1),
    Load::new(EngineName::IoUring, "read", "64k", 8),
    Load::new(EngineName::IoUring, "randwrite", "4k", 1),
    Load::new(EngineName::IoUring, "randwrite", "4k", 32),
    Load::new(EngineName::IoUring, "write", "64k", 1),
    Load::new(EngineName::Libaio, "randread", "4k", 32),
    Load::new(EngineName::Sync, "randread", "4k", 1),
    Load::new(EngineName::Sync, "randwrite", "4k", 1),
    Load::new(EngineName::Threads, "randread", "4k", 8),
    Load::new(EngineName::Mmap, "randread", "4k", 1),
    Load::new(EngineName::Null, "randread", "4k", 128),
];

/// How far the device's own count may lie from halfpower's on a target that nobody else uses:
/// requests in flight at the edges of a short run.
const COUNT_TOLERANCE: f64 = 0.02;

/// One side of a comparison: how it runs for a time.
type Side = fn(&Bout<'_>, Duration) -> Result<Outcome>;
const FIO: Side = |bout, runtime| bout.fio(runtime);
const HALFPOWER: Side = |bout, runtime| bout.halfpower(runtime, Plant::Nothing);
const SLOWED: Side = |bout, runtime| bout.halfpower(runtime, Plant::Stopped(TENTH));

impl Bout<'_> {
    /// Both sides in turn, so that a drift of the machine falls on both alike.
    fn pair(&self, sides: (Side, Side), reverse: bool, runtime: Duration) -> Result<(Half, Half)> {
        let slice = runtime / SLICES as u32;
        let (mut a, mut b) = (Vec::new(), Vec::new());
        for turn in 0..SLICES {
            let b_first = (turn % 2 == 1) != reverse;
            for of_b in [b_first, !b_first] {
                let (side, slices) = if of_b { (sides.1, &mut b) } else { (sides.0, &mut a) };
                slices.push(side(self, slice)?);
            }
        }
        let half = |side: Side, slices: &[Outcome]| -> Result<Half> {
            Ok(Half { slices: Outcome::together(slices), short: side(self, SHORT)? })
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
            if LOOKS.contains(&pairs.len()) && enough(&Line::of(&pairs)) {
                break;
            }
        }
        Ok(Line::of(&pairs))
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
pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    let options = &Options::read(flags)?;
    if let Some(why) = testkit::Capability::Fio.lack() {
        println!("SKIP peers: {why}");
        return Ok(true);
    }
    let binary = crate::place::binary(options.binary.clone(), options.smoke)?;
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
            Ok(target) => good &= compare_on(&binary, &target, &loads, options, &mut budget)?,
        }
    }
    Ok(good)
}

/// All loads on one target, after the proof that the gate works there.
fn compare_on(
    binary: &Path,
    target: &Target,
    loads: &[Load],
    options: &Options,
    budget: &mut Budget,
) -> Result<bool> {
    println!("\n{}: {}", target.name, target.description);
    println!("{}", Line::heading());
    let mut good = true;
    for (index, load) in loads.iter().enumerate() {
        // A pool of threads is there to be spread.
        let one_thread = load.via != EngineName::Threads;
        let core = (target.ram_backed && one_thread).then(child::core).transpose()?;
        let mut bout = Bout::new(binary, target, *load, core);
        let (_, trial) = bout.told(SHORT, Plant::Nothing, &[])?;
        bout.settings.registered = Registered::like(&trial);
        if index == 0 {
            good &= proof(&bout, options, budget)?;
        }
        let line = bout.compare((FIO, HALFPOWER), options, budget.next(), |line| {
            line.says_all() || line.decided() && !line.agrees_or_leads()
        })?;
        println!("{}", line.row(&load.label()));
        for finding in findings(&trial) {
            println!("    halfpower says: {finding}");
        }
        if let Some(ratio) = trial.device_counters.value().and_then(|it| it.ratio_ios) {
            println!("    the device counted {ratio:.3} of halfpower's requests");
            good &= (ratio - 1.0).abs() < COUNT_TOLERANCE || !target.ram_backed;
        }
        let first_of_engine = index == 0 || loads[index - 1].via != load.via;
        if first_of_engine && load.via != EngineName::Null && !options.smoke {
            println!("    {}", own_bounds(&bout, options.runtime));
        }
        // On a disk "undecided" is an answer; memory is quiet enough to decide.
        let judged = !options.smoke && target.ram_backed && one_thread;
        good &= !judged || line.agrees_or_leads();
    }
    Ok(good)
}

/// halfpower's own two bounds of CPU time, in words. They are beside the comparison: a run
/// that cannot make them spoils nothing.
fn own_bounds(bout: &Bout<'_>, runtime: Duration) -> String {
    match bout.told(runtime, Plant::Nothing, &["--cpu-upper"]) {
        Ok((_, trial)) => {
            match trial.cpu.value().map(|it| (it.lower_us_per_io, it.upper_us_per_io)) {
                Some((Some(lower), Some(upper))) => {
                    format!(
                        "halfpower's own bounds: lower {lower:.2}, upper {upper:.2} µs per request"
                    )
                }
                _ => "halfpower gives no bounds of its own here".to_owned(),
            }
        }
        Err(error) => format!("halfpower's own bounds are not measured: {error:#}"),
    }
}

/// Shows what the gate makes of nothing and of a real fault.
fn proof(bout: &Bout<'_>, options: &Options, budget: &mut Budget) -> Result<bool> {
    let same = bout.compare((FIO, FIO), options, budget.next(), Line::decided)?;
    println!("{}", same.row("A/A: fio, fio"));
    let slowed = bout.compare((HALFPOWER, SLOWED), options, budget.next(), Line::decided)?;
    println!("{}", slowed.row("planted: a tenth stopped"));
    let works = same.verdict() != Verdict::Different && slowed.verdict() != Verdict::Equivalent;
    if !works {
        println!("    the gate cannot tell a fault from nothing here: its verdicts mean nothing");
    }
    // A smoke run is too short to tell anything apart.
    Ok(works || options.smoke)
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
        for via in ENGINES {
            let rows = target::NAMES.iter().flat_map(|name| all.loads(name));
            assert!(rows.into_iter().any(|load| load.via == via), "{via:?}");
        }
        assert_eq!(count(&options(&["--engine", "mmap"]).unwrap()), [0, 1, 0, 0]);
        assert_eq!(count(&options(&["--target", "null"]).unwrap()), [1, 0, 0, 0]);
        let narrow = options(&["--target", "zram", "--load", "randread 4k x 32"]).unwrap();
        assert_eq!(count(&narrow), [0, 0, 2, 0]);
        assert_eq!(count(&options(&["--smoke"]).unwrap()), [1, 5, 0, 0]);
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
