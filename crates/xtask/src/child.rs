//! One child process: its output, its time, its processor time, and a fault that can be planted.
//!
//! Processor time is what the kernel charges to waited-for children, read before and after
//! (getrusage(2), `RUSAGE_CHILDREN`), so it holds all threads and io_uring's workers of the child.
//! Children must therefore run one at a time, which a lock makes sure of.
//!
//! The fault is real and owes nothing to the program under test: the child is stopped (SIGSTOP)
//! for the last tenth of every 10 ms and then continued, which takes a tenth of its rate away.
//! Rejected: scaling a result (tests the arithmetic alone) and a rival for the processor (its
//! size depends on the scheduler and the machine).

use anyhow::{Context, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One turn of the planted fault.
const TURN: Duration = Duration::from_millis(10);
/// The part of each turn during which the child is stopped.
const STOPPED: Duration = Duration::from_millis(1);

/// Whether the child is slowed down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    /// It runs freely.
    Nothing,
    /// It is stopped for a tenth of the time.
    TenthStopped,
}

/// What a child left.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) wall: Duration,
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command, plant: Plant) -> Result<Finished> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let cpu_before = children_cpu()?;
    let begin = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = match plant {
        Plant::Nothing => child.wait()?,
        Plant::TenthStopped => wait_stopping(&mut child)?,
    };
    let wall = begin.elapsed();
    let cpu = children_cpu()?.saturating_sub(cpu_before);
    let text = |thread: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
    };
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr), wall, cpu })
}

/// Reads a pipe on a thread, so that a child that fills one never waits for us.
fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is what there is.
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the child, and stops it for a part of each turn. Signals go out only while it has not
/// been waited for, so that they cannot reach another process.
fn wait_stopping(child: &mut Child) -> Result<ExitStatus> {
    let id = Pid::from_raw(i32::try_from(child.id()).context("a process id above 2^31")?);
    let begin = Instant::now();
    for turn in 1u32.. {
        let end = begin + TURN * turn;
        sleep_until(end - STOPPED);
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        kill(id, Signal::SIGSTOP)?;
        sleep_until(end);
        kill(id, Signal::SIGCONT)?;
    }
    Ok(child.wait()?)
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// Processor time of all children that have been waited for.
fn children_cpu() -> Result<Duration> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let micros = |time: nix::sys::time::TimeVal| {
        let micros = time.tv_sec() * 1_000_000 + time.tv_usec();
        Duration::from_micros(u64::try_from(micros).unwrap_or_default())
    };
    Ok(micros(usage.user_time()) + micros(usage.system_time()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bash(script: &str, plant: Plant) -> Finished {
        run(Command::new("bash").args(["-c", script]), plant).unwrap()
    }

    #[test]
    fn processor_time_is_charged_for_work_and_not_for_waiting() {
        let busy = bash("for ((n = 0; n < 200000; n++)); do :; done", Plant::Nothing);
        let idle = bash("sleep 0.2", Plant::Nothing);
        assert!(busy.cpu > 5 * idle.cpu, "{:?} and {:?}", busy.cpu, idle.cpu);
        assert!(busy.cpu < busy.wall * 2 && idle.wall.as_secs_f64() >= 0.2);
    }

    #[test]
    fn a_slowed_child_is_stopped_and_continued_many_times_and_ends_by_itself() {
        let script = "n=0; trap 'n=$((n + 1))' CONT; \
                      while ((n < 5)); do :; done; echo $n; exit 3";
        let child = bash(script, Plant::TenthStopped);
        assert_eq!((child.stdout.trim(), child.status.code()), ("5", Some(3)));
    }

    #[test]
    fn a_child_that_writes_more_than_a_pipe_holds_is_read_whole() {
        let command = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let child = run(Command::new("sh").args(["-c", command]), Plant::Nothing).unwrap();
        let lengths = (child.stdout.len(), child.stderr.len());
        assert_eq!((lengths, child.status.code()), ((300_000, 200_000), Some(3)));
    }
}
