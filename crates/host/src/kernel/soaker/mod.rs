//! Measures unused processor time: a thread of idle priority on each processor counts loops.
//!
//! The time that a soaker does not get was used by everything else, whichever process was charged: other
//! processes, kernel workers, interrupts, the host of a virtual machine. So its count gives an upper bound
//! of a load's processor cost (Chung, Gray, Worthington, Horst 2000, section 4.2). Loops are counted, not
//! CPU time, because an interrupt may be charged to the thread that it interrupted. A loop is a chain of
//! dependent multiplications in registers, so that its rate depends on the clock alone.
//!
//! The rate of an undisturbed soaker is its calibration: the second best of many slices of a few
//! milliseconds (their edges are not sharp), before and after. It is per unit of the soaker's own CPU time,
//! which is available even on a machine that is never idle. Per unit of wall-clock time, such a machine
//! would look slow. A soaker changes what it measures: processors no longer sleep, and their clock may rise
//! or fall. Rejected: nice 19 instead of the idle policy (takes 1.5 % from other processes), and the idle
//! time of /proc/stat alone (sampled by the tick on most kernels, and blind to steal).

#[cfg(target_os = "linux")]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use linux as system;
#[cfg(windows)]
use windows as system;

use crate::kernel::error::system_words;
use crate::kernel::platform::clock::monotonic_ns;
use crate::kernel::platform::processors::{cpu_ticks, doubts, soakable};
use crate::kernel::read::{Roots, accounting};
use record::{KernelAccounting, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::Duration;
use system::{NO_PROCESSOR, REFUSED, ThreadNumber, be_idle_on, thread_cpu_ns};

/// Multiplications between two updates of the count: about 2 µs.
const CHUNK: u32 = 1_024;
/// Length of a slice of a calibration.
const SLICE: Duration = Duration::from_millis(10);
const MIN_SLICES: u32 = 5;
/// Minimum CPU time for a rate: the count moves in steps of 2 µs.
const OWN_MIN_NS: u64 = 200_000;
/// Minimum CPU time for a slice to count by itself; its edges then have little weight.
const OWN_SLICE_NS: u64 = 5_000_000;
/// CPU time that may pass between reading it and reading the count: a hundredth of a slice.
const SKEW_NS: u64 = 100_000;
const SKEW_TRIES: u32 = 5;

/// Why no soaker could be started.
#[derive(Debug, thiserror::Error)]
pub enum SoakerError {
    /// The kernel lists no processor for this process.
    #[error("the kernel reports no CPU that this process may use; {NO_PROCESSOR}")]
    NoProcessor,
    /// A thread could not be started.
    #[error(
        "cannot start the background thread for CPU {cpu}: {source}; check the limit on threads"
    )]
    Thread {
        /// Number of the processor.
        cpu: u32,
        /// The system's error.
        source: std::io::Error,
    },
    /// A thread could not be bound to its processor or given the idle policy.
    #[error(
        "cannot bind the background thread to CPU {cpu} with the idle policy: {}; {REFUSED}",
        system_words(.cause)
    )]
    Refused {
        /// Number of the processor.
        cpu: u32,
        /// The system's error.
        cause: std::io::Error,
    },
}

/// A count on its own cache line.
#[repr(align(128))]
#[derive(Default)]
struct Count(AtomicU64);

struct Shared {
    roots: Roots,
    stop: AtomicBool,
    counts: Vec<Count>,
}

impl Shared {
    fn reading(&self) -> SoakSpan {
        // The counts are read as close to the time as possible; /proc is read after both.
        let counts = self.counts();
        SoakSpan { kernel_ticks: cpu_ticks(&self.roots), ..counts }
    }

    /// Without the kernel's own accounting, which takes time to read.
    fn counts(&self) -> SoakSpan {
        let length = Nanos(monotonic_ns());
        let loops = self.counts.iter().map(|count| count.0.load(Ordering::Relaxed)).collect();
        SoakSpan { length, loops, kernel_ticks: None }
    }
}

/// Running soakers; dropping this ends them.
pub struct Soaker {
    shared: Arc<Shared>,
    cpus: BTreeSet<u32>,
    threads: Vec<JoinHandle<()>>,
    /// Thread numbers, in the order of the processors.
    numbers: Vec<ThreadNumber>,
}

impl Soaker {
    /// Starts a soaker on each online processor that this process may use.
    ///
    /// # Errors
    /// If a thread cannot be created, bound to its processor or given the idle policy; no soaker is then
    /// left running.
    pub fn start(roots: &Roots) -> Result<Self, SoakerError> {
        let cpus = soakable(roots);
        if cpus.is_empty() {
            return Err(SoakerError::NoProcessor);
        }
        let counts = cpus.iter().map(|_| Count::default()).collect();
        let shared =
            Arc::new(Shared { roots: roots.clone(), stop: AtomicBool::new(false), counts });
        // From here on, an early return drops the soaker, which ends the threads started so far.
        let mut soaker = Self { shared, cpus, threads: Vec::new(), numbers: Vec::new() };
        let (started, starts) = mpsc::channel();
        for (index, &cpu) in soaker.cpus.iter().enumerate() {
            let (shared, started) = (Arc::clone(&soaker.shared), started.clone());
            let thread = std::thread::Builder::new()
                .name(format!("soaker-{cpu}"))
                .spawn(move || live(&shared, index, cpu, &started))
                .map_err(|source| SoakerError::Thread { cpu, source })?;
            soaker.threads.push(thread);
        }
        // Each thread holds a sender as long as it lives, so the messages are counted.
        let mut numbers = BTreeMap::new();
        for (cpu, outcome) in starts.iter().take(soaker.cpus.len()) {
            let number = outcome.map_err(|cause| SoakerError::Refused { cpu, cause })?;
            numbers.insert(cpu, number);
        }
        soaker.numbers = numbers.into_values().collect();
        Ok(soaker)
    }

    /// Number of processors with a soaker.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.cpus.len() as u32
    }

    /// The counts so far, over the time of the monotonic clock.
    #[must_use]
    pub fn reading(&self) -> SoakSpan {
        self.shared.reading()
    }

    /// The rate of each undisturbed soaker, from slices over about `length`; none if it did not run.
    #[must_use]
    pub fn calibrate(&self, length: Duration) -> Calibration {
        let slices = (length.as_nanos() / SLICE.as_nanos()).max(u128::from(MIN_SLICES));
        let first = self.reading_with_own();
        let mut last = first.clone();
        let mut rates: Vec<Vec<f64>> = vec![Vec::new(); self.cpus.len()];
        for _ in 0..slices {
            std::thread::sleep(SLICE);
            let now = self.reading_with_own();
            for (rates, rate) in rates.iter_mut().zip(own_rates(&last, &now, OWN_SLICE_NS)) {
                rates.extend(rate);
            }
            last = now;
        }
        for (rates, rate) in rates.iter_mut().zip(own_rates(&first, &last, OWN_MIN_NS)) {
            if rates.is_empty() {
                rates.extend(rate);
            }
        }
        Calibration::of(&rates, &last.0.since(&first.0))
    }

    /// The counts, and the CPU time of each soaker at the same moment.
    fn reading_with_own(&self) -> (SoakSpan, Vec<u64>) {
        let own = || -> Vec<u64> {
            self.numbers.iter().map(|thread| thread_cpu_ns(thread).unwrap_or(0)).collect()
        };
        let mut tries = 0;
        loop {
            let (before, counts, after) = (own(), self.shared.counts(), own());
            tries += 1;
            let pairs = || before.iter().zip(&after);
            if tries == SKEW_TRIES || pairs().all(|(before, after)| after - before < SKEW_NS) {
                return (counts, pairs().map(|(&a, &b)| a.midpoint(b)).collect());
            }
        }
    }

    /// What makes the counts uncertain on this machine, each as a clause.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        doubts(&self.shared.roots, &self.cpus)
    }
}

impl Drop for Soaker {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A soaker that panicked has also ended.
            let _ = thread.join();
        }
    }
}

/// Loops per second of each soaker's own CPU time between two readings; `None` below `least` ns.
fn own_rates(
    (before, own_before): &(SoakSpan, Vec<u64>),
    (after, own_after): &(SoakSpan, Vec<u64>),
    least: u64,
) -> Vec<Option<f64>> {
    let loops = after.since(before).loops;
    let own = own_after.iter().zip(own_before).map(|(after, before)| after.saturating_sub(*before));
    let rate = |(loops, own): (u64, u64)| (own >= least).then(|| loops as f64 / own as f64 * 1e9);
    loops.into_iter().zip(own).map(rate).collect()
}

fn live(
    shared: &Shared,
    index: usize,
    cpu: u32,
    started: &mpsc::Sender<(u32, std::io::Result<ThreadNumber>)>,
) {
    let ready = be_idle_on(cpu);
    let failed = ready.is_err();
    // The receiver waits for every thread; if it were gone, the stop flag would be set.
    let _ = started.send((cpu, ready));
    if failed {
        return;
    }
    let count = &shared.counts[index].0;
    let mut state = u64::from(cpu) | 1;
    let mut chunks = 0;
    while !shared.stop.load(Ordering::Relaxed) {
        for _ in 0..CHUNK {
            // Knuth's MMIX generator: each step needs the previous one, and none can be skipped.
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
        }
        state = black_box(state);
        chunks += 1;
        count.store(chunks, Ordering::Relaxed);
    }
}

/// The counts of all soakers over a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoakSpan {
    /// Length of the span.
    pub length: Nanos,
    loops: Vec<u64>,
    /// Ticks of all processors, see [`cpu_ticks`]; `None` if the kernel does not report them.
    kernel_ticks: Option<[u64; 8]>,
}

impl SoakSpan {
    /// What was counted since an earlier reading.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        self.each(earlier, u64::saturating_sub)
    }

    /// This span and another together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        self.each(other, u64::saturating_add)
    }

    /// Combines each count with that of the other span.
    fn each(&self, other: &Self, of: fn(u64, u64) -> u64) -> Self {
        let ticks = self.kernel_ticks.zip(other.kernel_ticks);
        let loops = self.loops.iter().zip(&other.loops);
        Self {
            length: Nanos(of(self.length.0, other.length.0)),
            loops: loops.map(|(&mine, &other)| of(mine, other)).collect(),
            kernel_ticks: ticks
                .map(|(mine, other)| std::array::from_fn(|index| of(mine[index], other[index]))),
        }
    }

    fn rates(&self) -> impl Iterator<Item = f64> + '_ {
        let seconds = self.length.as_secs_f64().max(1e-9);
        self.loops.iter().map(move |&loops| loops as f64 / seconds)
    }

    /// CPU time that the soakers did not get, summed over all processors, in ns. May be slightly negative
    /// if nothing else ran.
    fn others_ns(&self, calibration: &Calibration) -> f64 {
        let missing = self
            .rates()
            .zip(&calibration.loops_per_s)
            // A soaker that never ran was displaced completely.
            .map(|(rate, &full)| if full > 0.0 { 1.0 - rate / full } else { 1.0 });
        missing.sum::<f64>() * self.length.0 as f64
    }

    /// CPU time that the soakers did not get, as a share of all processors' time.
    #[must_use]
    pub fn others_share(&self, calibration: &Calibration) -> f64 {
        let all = self.length.0.max(1) as f64 * self.loops.len().max(1) as f64;
        self.others_ns(calibration) / all
    }

    /// CPU time in ns that a load used in this span, less the use of an idle machine as in `idle`.
    #[must_use]
    pub fn load_ns(&self, idle: &Self, calibration: &Calibration) -> f64 {
        let share = self.others_share(calibration) - idle.others_share(calibration);
        share * self.length.0 as f64 * self.loops.len() as f64
    }

    /// The kernel's own accounting of the span.
    #[must_use]
    pub fn kernel(&self) -> Option<KernelAccounting> {
        self.kernel_ticks.and_then(accounting)
    }
}

/// The rates of undisturbed soakers.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    loops_per_s: Vec<f64>,
    /// Share of the time that other work used meanwhile: 0 on an idle machine.
    pub disturbed_share: f64,
}

impl Calibration {
    /// From the rates of slices, processor by processor, and the span of them all.
    fn of(rates: &[Vec<f64>], whole: &SoakSpan) -> Self {
        let second_best = |rates: &Vec<f64>| {
            let mut sorted = rates.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.iter().rev().nth(1).or(sorted.last()).copied().unwrap_or(0.0)
        };
        let mut calibration =
            Self { loops_per_s: rates.iter().map(second_best).collect(), disturbed_share: 0.0 };
        calibration.disturbed_share = whole.others_share(&calibration).max(0.0);
        calibration
    }

    /// Number of processors with a soaker.
    #[must_use]
    pub fn cpus(&self) -> u32 {
        self.loops_per_s.len() as u32
    }

    /// The faster of two, processor by processor: disturbance only ever slows a soaker.
    #[must_use]
    pub fn best(&self, other: &Self) -> Self {
        let pairs = self.loops_per_s.iter().zip(&other.loops_per_s);
        Self {
            loops_per_s: pairs.map(|(mine, other)| mine.max(*other)).collect(),
            disturbed_share: self.disturbed_share.max(other.disturbed_share),
        }
    }

    /// The relative difference to another calibration, for the processor that changed most.
    #[must_use]
    pub fn change_rel(&self, other: &Self) -> f64 {
        let pairs = self.loops_per_s.iter().zip(&other.loops_per_s);
        pairs
            .filter(|(mine, _)| **mine > 0.0)
            .map(|(mine, other)| (other / mine - 1.0).abs())
            .fold(0.0, f64::max)
    }
}

/// Collects the soaker's counts whenever the probe samples: at the boundaries of the measured window.
#[derive(Clone, Default)]
pub struct SoakTap(Arc<Mutex<Option<Tapped>>>);

/// The connected soaker, and its counts since the last span was taken.
struct Tapped {
    source: Arc<Shared>,
    readings: Vec<SoakSpan>,
}

impl SoakTap {
    fn state(&self) -> std::sync::MutexGuard<'_, Option<Tapped>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the counts of this soaker at each sample from now on.
    pub fn connect(&self, soaker: &Soaker) {
        let source = Arc::clone(&soaker.shared);
        *self.state() = Some(Tapped { source, readings: Vec::new() });
    }

    /// Stops recording counts.
    pub fn disconnect(&self) {
        *self.state() = None;
    }

    /// The span from the first to the last sample since the last call; `None` with fewer than two.
    #[must_use]
    pub fn take_span(&self) -> Option<SoakSpan> {
        let readings = std::mem::take(&mut self.state().as_mut()?.readings);
        match readings.as_slice() {
            [first, .., last] => Some(last.since(first)),
            _ => None,
        }
    }

    /// Called by the probe at each of its samples.
    pub(crate) fn record(&self) {
        if let Some(tapped) = self.state().as_mut() {
            tapped.readings.push(tapped.source.reading());
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
#[path = "linux_tests.rs"]
mod tests;
