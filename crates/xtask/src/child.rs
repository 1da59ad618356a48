//! Runs one child process and measures its output, its time and its CPU time. A fault can be planted.
//!
//! CPU time is what the kernel charges to waited-for children (getrusage(2), `RUSAGE_CHILDREN`). It includes
//! all threads and io_uring's workers, so children must run one at a time.
//!
//! The fault is real and independent of the program under test. The child is stopped (SIGSTOP) for the last
//! part of every 10 ms, which reduces its rate by that part, or it burns CPU time before its work. Rejected:
//! scaling a result, which tests the arithmetic alone.

use anyhow::{Context, Result, ensure};
use nix::sched::{CpuSet, sched_getaffinity};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Period of the planted stop.
const TURN: Duration = Duration::from_millis(10);
/// A fifth of a period. A child stopped for this long loses a fifth of its rate.
const FIFTH: Duration = Duration::from_millis(2);

/// The planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    Nothing,
    /// Stops the child for a fifth of each 10 ms.
    Stopped,
    /// Burns this CPU time before the child's work.
    Burns(Duration),
}

pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) wall: Duration,
    /// User and system time of all its threads.
    pub(crate) cpu: Duration,
}

/// The last CPU that this process may use. The first one gets most interrupts.
pub(crate) fn core() -> Result<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).context("cannot read the affinity")?;
    let allowed = |&core: &usize| set.is_set(core).unwrap_or(false);
    (0..CpuSet::count()).rev().find(allowed).context("no processor is allowed")
}

/// A command that runs on one CPU.
pub(crate) fn pinned(program: &OsStr, core: usize) -> Command {
    let mut command = Command::new("taskset");
    command.args(["-c", &core.to_string()]).arg(program);
    command
}

/// A command that burns CPU time and then becomes `command`.
fn burning(command: &Command, time: Duration) -> Command {
    let mut burning = Command::new("sh");
    burning
        .args(["-c", "timeout $0 sh -c 'while :; do :; done'; exec \"$@\""])
        .arg(format!("{}s", time.as_secs_f64()))
        .arg(command.get_program())
        .args(command.get_args());
    burning
}

pub(crate) fn run(command: &mut Command, plant: Plant) -> Result<Finished> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut burner = match plant {
        Plant::Burns(time) => Some(burning(command, time)),
        _ => None,
    };
    let command = burner.as_mut().unwrap_or(command);
    let cpu_before = children_cpu()?;
    let begin = Instant::now();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {}", command.get_program().display()))?;
    // A signal to this process ends the child, whose open files would keep a device busy.
    let running = testkit::Undo::process(child.id());
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let status = match plant {
        Plant::Nothing | Plant::Burns(_) => child.wait()?,
        Plant::Stopped => wait_stopping(&mut child)?,
    };
    running.forget();
    let wall = begin.elapsed();
    let cpu = children_cpu()?.saturating_sub(cpu_before);
    let text = |thread: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&thread.join().unwrap_or_default()).into_owned()
    };
    Ok(Finished { status, stdout: text(stdout), stderr: text(stderr), wall, cpu })
}

/// Reads a pipe on a thread, so that the child never blocks on a full pipe.
fn drain(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // On an error, the bytes read before it are the result.
        let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

/// Waits for the child, and stops it for a part of each period. Signals are sent only before the child has
/// been waited for, so they cannot reach another process.
fn wait_stopping(child: &mut Child) -> Result<ExitStatus> {
    let id = Pid::from_raw(i32::try_from(child.id()).context("a process id above 2^31")?);
    let begin = Instant::now();
    for turn in 1u32.. {
        let end = begin + TURN * turn;
        sleep_until(end - FIFTH);
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        kill(id, Signal::SIGSTOP)?;
        sleep_until(end);
        kill(id, Signal::SIGCONT)?;
    }
    Ok(child.wait()?)
}

/// Standard output of a command that must end with one of these codes.
pub(crate) fn output(command: &mut Command, good: &[i32]) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let ended_well = output.status.code().is_some_and(|code| good.contains(&code));
    ensure!(ended_well, "{command:?}: {}", words.trim());
    Ok(output.stdout)
}

/// The same as text.
pub(crate) fn text(command: &mut Command, good: &[i32]) -> Result<String> {
    Ok(String::from_utf8_lossy(&output(command, good)?).into_owned())
}

fn sleep_until(moment: Instant) {
    std::thread::sleep(moment.saturating_duration_since(Instant::now()));
}

/// CPU time of all children that have been waited for.
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
    use testkit::{is_child, passes_in_child};

    fn bash(script: &str, plant: Plant) -> Finished {
        run(Command::new("bash").args(["-c", script]), plant).unwrap()
    }

    #[test]
    fn processor_time_is_charged_for_work_and_not_for_waiting() {
        // The kernel adds up all children that a process has waited for, including those of other tests.
        const TEST: &str = "child::tests::processor_time_is_charged_for_work_and_not_for_waiting";
        if !is_child() {
            return passes_in_child(TEST, &[]);
        }
        let busy = bash("for ((n = 0; n < 200000; n++)); do :; done", Plant::Nothing);
        let idle = bash("sleep 0.2", Plant::Nothing);
        assert!(busy.cpu > 5 * idle.cpu, "{:?} and {:?}", busy.cpu, idle.cpu);
        assert!(busy.cpu < busy.wall * 2 && idle.wall.as_secs_f64() >= 0.2);
    }

    #[test]
    fn a_slowed_child_is_stopped_and_continued_many_times_and_ends_by_itself() {
        let script = "n=0; trap 'n=$((n + 1))' CONT; \
                      while ((n < 5)); do :; done; echo $n; exit 3";
        let child = bash(script, Plant::Stopped);
        // It may be continued once more before it prints.
        let continued: u32 = child.stdout.trim().parse().unwrap();
        assert!(continued >= 5, "{continued}");
        assert_eq!(child.status.code(), Some(3));
    }

    #[test]
    fn a_child_that_burns_first_does_its_work_afterwards_and_is_charged_for_both() {
        let script = "echo \"$0 $1\"; exit 3";
        let mut command = Command::new("bash");
        command.args(["-c", script, "a b", "c"]);
        let child = run(&mut command, Plant::Burns(Duration::from_millis(200))).unwrap();
        assert_eq!((child.stdout.trim(), child.status.code()), ("a b c", Some(3)));
        assert!(child.wall.as_secs_f64() >= 0.2);
    }

    #[test]
    fn a_child_that_writes_more_than_a_pipe_holds_is_read_whole() {
        let command = "head -c 300000 /dev/zero; head -c 200000 /dev/zero >&2; exit 3";
        let child = run(Command::new("sh").args(["-c", command]), Plant::Nothing).unwrap();
        let lengths = (child.stdout.len(), child.stderr.len());
        assert_eq!((lengths, child.status.code()), ((300_000, 200_000), Some(3)));
    }
}
