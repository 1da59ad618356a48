//! Warns that threads stuck in the kernel keep the program from exiting.
//!
//! A request may wait in the kernel where no signal reaches it (a frozen file system, a lost network
//! mount). Its thread cannot end, and a process ends only with its last thread: the results are saved, but
//! the shell still waits. The program cannot end the wait, but it can report it. Rejected: a child process
//! to measure in, which would hold the test file or the device unseen.

use engine::input;
use host::kernel;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a thread gets to end by itself.
const PATIENCE: Duration = Duration::from_millis(300);
const POLL: Duration = Duration::from_millis(10);
/// Maximum number of threads that are named.
const NAMED: usize = 3;

/// A thread that no signal ends, and the kernel function in which it waits.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct StuckThread {
    name: String,
    place: Option<String>,
}

/// A message about what keeps this process from exiting; `None` if nothing does.
#[must_use]
pub fn warning() -> Option<String> {
    let tasks = &kernel::Roots::default().proc.join("self/task");
    let start = Instant::now();
    loop {
        let stuck = stuck_in(tasks);
        if stuck.is_empty() {
            return None;
        }
        if start.elapsed() >= PATIENCE {
            return Some(message(&stuck));
        }
        std::thread::sleep(POLL);
    }
}

/// The threads in uninterruptible sleep below a task directory (proc(5)).
fn stuck_in(tasks: &Path) -> Vec<StuckThread> {
    let Ok(entries) = std::fs::read_dir(tasks) else { return Vec::new() };
    let stuck = |task: &Path| -> Option<StuckThread> {
        let stat = input::kernel_text(&task.join("stat")).ok()?;
        // The name is in brackets and may contain any character.
        let (before, after) = stat.rsplit_once(") ")?;
        let (_, name) = before.split_once('(')?;
        // 0 if the kernel does not report it.
        let place = kernel::read::text(&task.join("wchan")).filter(|place| place != "0");
        after.starts_with('D').then(|| StuckThread { name: name.to_owned(), place })
    };
    let mut found: Vec<StuckThread> =
        entries.flatten().filter_map(|entry| stuck(&entry.path())).collect();
    found.sort();
    found
}

fn message(kept: &[StuckThread]) -> String {
    let named = |kept: &StuckThread| match &kept.place {
        Some(place) => format!("{} in {place}", kept.name),
        None => kept.name.clone(),
    };
    // The workers of a ring have the same name.
    let mut names: Vec<String> = kept.iter().map(named).collect();
    names.dedup();
    let more = names.len().saturating_sub(NAMED);
    names.truncate(NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    let (threads, wait) = if kept.len() == 1 { ("thread", "waits") } else { ("threads", "wait") };
    format!(
        "the work is done, but {} {threads} of halfpower still {wait} in the kernel for the \
         device or file system ({}), and no signal can end that wait. The process ends when the \
         device responds (or, if a file system is frozen, after fsfreeze --unfreeze)",
        kept.len(),
        names.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(folder: &Path, id: u32, stat: &str, wchan: &str) {
        let directory = folder.join(id.to_string());
        std::fs::create_dir(&directory).unwrap();
        std::fs::write(directory.join("stat"), stat).unwrap();
        std::fs::write(directory.join("wchan"), wchan).unwrap();
    }

    #[test]
    fn only_threads_that_no_signal_reaches_are_named_and_with_their_place() {
        let folder = tempfile::tempdir().unwrap();
        task(folder.path(), 1, "1 (halfpower) R 0 1 1", "0");
        task(folder.path(), 2, "2 (job-0) S 0 1 1", "io_cqring_wait");
        task(folder.path(), 3, "3 (job (1) x) D 0 1 1", "percpu_rwsem_wait");
        task(folder.path(), 4, "4 (iou-wrk-2) D 0 1 1", "0");
        let found = stuck_in(folder.path());
        let place = Some("percpu_rwsem_wait".to_owned());
        assert_eq!(
            found,
            [
                StuckThread { name: "iou-wrk-2".to_owned(), place: None },
                StuckThread { name: "job (1) x".to_owned(), place },
            ]
        );
        let text = message(&found);
        assert!(text.contains("(iou-wrk-2, job (1) x in percpu_rwsem_wait)"), "{text}");
        assert_eq!(stuck_in(&folder.path().join("none")), []);
    }

    #[test]
    fn many_threads_are_counted_and_workers_of_the_kernel_named() {
        let many: Vec<StuckThread> =
            (0..9).map(|job| StuckThread { name: format!("job-{job}"), place: None }).collect();
        let text = message(&many);
        assert!(text.contains("9 threads") && text.contains("6 more"), "{text}");
        let worker = || StuckThread { name: "iou-wrk-7".to_owned(), place: None };
        let text = message(&[worker(), worker()]);
        assert!(text.contains("2 threads") && text.contains("(iou-wrk-7)"), "{text}");
    }
}
