//! `cargo xtask burner`: whether the upper bound of processor cost sees what others use.
//!
//! A burner is this program once more, as a process of its own, which keeps a processor busy for a
//! share of a time by duty cycle and answers what its own processor clock says it used. That is the
//! truth that soakers are held against, in the blocks that `--cpu-upper` makes: without, with,
//! with, without. The median error over blocks is judged; our own CPU time shows that a lower
//! bound does not see the burner.
//!
//! The second part is work of the kernel: a loop device over a file in memory is zeroed, by one
//! call for the whole device, which its worker does. The truth is what the kernel charges to its
//! workers (schedstat). Rejected: reads of 64 KiB, with which the processors change hands 87,000
//! times a second, and a tenth of a processor that the soakers see is missing from that truth.
//!
//! A machine that is not quiet has no truth to offer: the run says so and skips. The gate also
//! shows that a planted error (a burner that hides a tenth of a processor) is caught.

use anyhow::{Context, Result};
use kernel::{Calibration, Roots, SoakSpan, Soaker};
use nix::fcntl::{FallocateFlags, OFlag, fallocate};
use nix::time::{ClockId, clock_gettime};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// Shares of one processor that are burnt.
const LEVELS: [f64; 4] = [0.0, 0.1, 0.5, 0.9];
/// Largest error that passes, in processors.
const TOLERANCE: f64 = 0.05;
/// Blocks per level; odd, for the median.
const BLOCKS: usize = 7;
const SLICE: Duration = Duration::from_millis(400);
/// One turn of the duty cycle.
const TURN: Duration = Duration::from_millis(5);
/// Steps of arithmetic between two looks at the clock.
const WORK: u32 = 1_000;
/// What the planted burner hides from its report, in processors.
const HIDDEN: f64 = 0.1;
const DEVICE_BYTES: u64 = 64 << 20;
/// A machine that uses more than this of all its processors by itself is not quiet. On a virtual
/// machine processors that share a core with a neighbour's lose several percent of their speed,
/// which looks the same; the slices without load beside each slice with it take that out.
const QUIET_SHARE: f64 = 0.15;
/// Nor is one whose calibration moves by more.
const QUIET_CHANGE: f64 = 0.10;

/// The burner itself, in its own process: one line per slice, `SHARE MILLISECONDS`.
pub(crate) fn burn() -> Result<bool> {
    let mut state = 1u64;
    for line in std::io::stdin().lines() {
        let line = line?;
        let (share, ms) = line.split_once(' ').context("the burner takes SHARE MILLISECONDS")?;
        let (share, ms): (f64, u64) = (share.parse()?, ms.parse()?);
        let before = nanos(ClockId::CLOCK_PROCESS_CPUTIME_ID)?;
        let end = Instant::now() + Duration::from_millis(ms);
        while Instant::now() < end {
            let turn = Instant::now();
            // The same chain of multiplications as a soaker's: where two processors share a core,
            // as a virtual machine does not tell, lighter work leaves the other one more than its
            // part, and the difference would count as an error of the soakers.
            while turn.elapsed() < TURN.mul_f64(share) {
                for _ in 0..WORK {
                    state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                }
                state = std::hint::black_box(state);
            }
            std::thread::sleep(TURN.saturating_sub(turn.elapsed()));
        }
        println!("{}", nanos(ClockId::CLOCK_PROCESS_CPUTIME_ID)? - before);
    }
    Ok(true)
}

fn nanos(clock: ClockId) -> Result<u64> {
    Ok(u64::try_from(Duration::from(clock_gettime(clock)?).as_nanos())?)
}

/// A burner at the other end of two pipes; gone when dropped.
struct Burner {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Burner {
    fn start() -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["burner", "--burn"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the burner")?;
        let orders = child.stdin.take().context("the burner has no input")?;
        let answers = child.stdout.take().context("the burner has no output")?;
        Ok(Self { child, orders, answers: BufReader::new(answers) })
    }

    /// Burns for a slice; what it used by its own clock, in ns.
    fn slice(&mut self, share: f64) -> Result<f64> {
        writeln!(self.orders, "{share} {}", SLICE.as_millis())?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        answer.trim().parse().with_context(|| format!("the burner answered {answer:?}"))
    }
}

impl Drop for Burner {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing to end.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One block: processors that the soakers missed, that the burner reported, and that were charged
/// to this process.
struct Block {
    upper: f64,
    truth: f64,
    lower: f64,
}

fn idle(soaker: &Soaker) -> SoakSpan {
    let before = soaker.reading();
    std::thread::sleep(SLICE);
    soaker.reading().since(&before)
}

/// Some blocks with the same load, which says what it used in a slice, in ns.
fn blocks(
    soaker: &Soaker,
    calibration: &Calibration,
    load: &mut dyn FnMut() -> Result<f64>,
) -> Result<Vec<Block>> {
    let block = |_| {
        let first = idle(soaker);
        let charged = nanos(ClockId::CLOCK_THREAD_CPUTIME_ID)?;
        let (mut spans, mut truth_ns) = (Vec::new(), 0.0);
        for _ in 0..2 {
            let before = soaker.reading();
            truth_ns += load()?;
            spans.push(soaker.reading().since(&before));
        }
        // Of this thread: the soakers are threads of this process too.
        let charged = nanos(ClockId::CLOCK_THREAD_CPUTIME_ID)? - charged;
        let idle = first.plus(&idle(soaker));
        let length_ns: f64 = spans.iter().map(|span| span.length.0 as f64).sum();
        let upper_ns: f64 = spans.iter().map(|span| span.load_ns(&idle, calibration)).sum();
        Ok(Block {
            upper: upper_ns / length_ns,
            truth: truth_ns / length_ns,
            lower: charged as f64 / length_ns,
        })
    };
    (0..BLOCKS).map(block).collect()
}

/// The medians over blocks: error of the upper bound, truth, and what was charged to us.
fn medians(blocks: &[Block]) -> [f64; 3] {
    let of = |value: fn(&Block) -> f64| stats::median(blocks.iter().map(value).collect());
    [of(|block| block.upper - block.truth), of(|block| block.truth), of(|block| block.lower)]
}

/// Runs the proof; whether it passed. A machine that is not quiet skips it.
pub(crate) fn run() -> Result<bool> {
    let soaker = Soaker::start(&Roots::default())?;
    let calibration = soaker.calibrate(Duration::from_secs(1));
    if calibration.disturbed_share > QUIET_SHARE {
        println!(
            "SKIP burner: the machine is not quiet ({:.1} % of it in use; at most {:.0} %)",
            calibration.disturbed_share * 100.0,
            QUIET_SHARE * 100.0
        );
        return Ok(true);
    }
    for doubt in soaker.doubts() {
        println!("unsure: {doubt}");
    }
    let mut burner = Burner::start()?;
    let mut passed = true;
    println!("in processors, medians of {BLOCKS} blocks; the error must be below {TOLERANCE}");
    println!("{:>8} {:>9} {:>9} {:>9} {:>10}", "asked", "used", "error", "charged", "");
    let level = |burner: &mut Burner, share: f64, hidden: f64| -> Result<[f64; 3]> {
        let mut load = || Ok(burner.slice(share)? - hidden * SLICE.as_nanos() as f64);
        Ok(medians(&blocks(&soaker, &calibration, &mut load)?))
    };
    for share in LEVELS {
        let [error, truth, charged] = level(&mut burner, share, 0.0)?;
        let good = error.abs() < TOLERANCE && charged.abs() < TOLERANCE;
        passed &= good;
        println!(
            "{share:>8.2} {truth:>9.3} {error:>+9.3} {charged:>9.3} {:>10}",
            if good { "ok" } else { "NOT MET" }
        );
    }
    let [error, _, _] = level(&mut burner, 0.5, HIDDEN)?;
    let caught = error.abs() >= TOLERANCE;
    println!(
        "planted: a burner that hides {HIDDEN} of a processor: error {error:+.3}, {}",
        if caught { "caught" } else { "NOT CAUGHT" }
    );
    passed &= caught;
    passed &= loop_worker(&soaker, &calibration)?;
    let moved = calibration.change_rel(&soaker.calibrate(Duration::from_secs(1)));
    if moved > QUIET_CHANGE {
        println!(
            "SKIP burner: the calibration moved by {:.1} % meanwhile; the figures above do not \
             count",
            moved * 100.0
        );
        return Ok(true);
    }
    Ok(passed)
}

/// CPU time of all kernel workers, by the scheduler's own account.
fn workers_ns() -> Result<f64> {
    let mut total = 0;
    for process in std::fs::read_dir("/proc")?.flatten() {
        let read = |file: &str| std::fs::read_to_string(process.path().join(file));
        // Processes come and go; what is gone used nothing more.
        let (Ok(name), Ok(schedstat)) = (read("comm"), read("schedstat")) else { continue };
        if name.starts_with("kworker") || name.starts_with("loop") {
            let used = schedstat.split_ascii_whitespace().next().unwrap_or("0");
            total += used.parse::<u64>().unwrap_or(0);
        }
    }
    Ok(total as f64)
}

/// Less work than this of the kernel's workers proves nothing, in processors.
const WORK_MIN: f64 = 0.1;

/// Zeroes a device again and again for a slice.
fn zero_slice(device: &File) -> Result<()> {
    let started = Instant::now();
    while started.elapsed() < SLICE {
        fallocate(device, FallocateFlags::FALLOC_FL_ZERO_RANGE, 0, DEVICE_BYTES as i64)
            .context("cannot zero a loop device")?;
    }
    Ok(())
}

/// A loop device's worker: seen by the upper bound, not by the lower one.
fn loop_worker(soaker: &Soaker, calibration: &Calibration) -> Result<bool> {
    // Memory, so that nothing but the worker's copying is between the reader and its data.
    let device = match testkit::LoopDevice::within(Path::new("/dev/shm"), DEVICE_BYTES, 512) {
        Ok(device) => device,
        Err(error) => {
            println!("SKIP loop worker: {error}");
            return Ok(true);
        }
    };
    let file =
        File::options().write(true).custom_flags(OFlag::O_EXCL.bits()).open(device.path())?;
    let blocks = blocks(soaker, calibration, &mut || {
        let before = workers_ns()?;
        zero_slice(&file)?;
        Ok(workers_ns()? - before)
    })?;
    // What the upper bound shows beyond our own time, less what its workers used.
    let beyond = stats::median(blocks.iter().map(|b| b.upper - b.lower - b.truth).collect());
    let [_, workers, own] = medians(&blocks);
    let good = workers > WORK_MIN && beyond.abs() < TOLERANCE;
    println!(
        "loop worker: charged to us {own:.3}, used by kernel workers {workers:.3}, the \
         upper bound beyond both {beyond:+.3} processors: {}",
        if good { "ok" } else { "NOT MET" }
    );
    Ok(good)
}
