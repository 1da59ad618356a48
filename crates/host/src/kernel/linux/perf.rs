//! Reads one hardware counter of this process: instructions, in user mode and in the kernel.
//!
//! Every thread started later inherits the counter: the jobs, and through them the kernel's io_uring
//! workers. Many virtual machines have no performance monitoring unit, and many systems allow kernel counts
//! only to administrators, so the error explains why there is no counter. Rejected: counting per processor
//! (needs privileges, and counts other processes), and user mode alone (most of a request's cost is in the
//! kernel). Source: perf_event_open(2); the kernel's include/uapi/linux/perf_event.h.

use crate::kernel::linux::unsafe_calls::{PerfEventAttributes, perf_event_open};
use crate::kernel::read::{Roots, text};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

/// `PERF_TYPE_HARDWARE` and `PERF_COUNT_HW_INSTRUCTIONS`.
const INSTRUCTIONS: (u32, u64) = (0, 1);
/// `PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING`: the result has three words.
const FORMAT_TIMES: u64 = 3;
/// Threads that start later are counted too.
const INHERIT: u64 = 1 << 1;
/// The hypervisor is not counted.
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

pub(crate) struct PerfCounter(OwnedFd);

impl PerfCounter {
    /// Counts instructions from now on, of this thread and the threads that it starts; or returns why not.
    pub(crate) fn instructions(roots: &Roots) -> Result<Self, String> {
        Self::open(roots, INSTRUCTIONS)
    }

    fn open(roots: &Roots, (kind, config): (u32, u64)) -> Result<Self, String> {
        let mut attributes = PerfEventAttributes::of(kind, config);
        attributes.read_format = FORMAT_TIMES;
        attributes.flags = INHERIT | EXCLUDE_HYPERVISOR;
        let (this_thread, any_processor) = (0, -1);
        let opened = perf_event_open(&attributes, this_thread, any_processor);
        opened.map(Self).map_err(|cause| refusal(roots, cause))
    }

    /// The count so far; if the counter was shared, scaled to the whole time.
    pub(crate) fn read(&self) -> Option<u64> {
        let mut answer = [0; 24];
        if rustix::io::read(&self.0, &mut answer).ok()? != answer.len() {
            return None;
        }
        let (words, _) = answer.as_chunks();
        let [count, enabled, running] = std::array::from_fn(|word| u64::from_ne_bytes(words[word]));
        scaled(count, enabled, running)
    }
}

/// `None` if the counter never ran.
fn scaled(count: u64, enabled: u64, running: u64) -> Option<u64> {
    if running == 0 {
        return (enabled == 0).then_some(count);
    }
    u64::try_from(u128::from(count) * u128::from(enabled) / u128::from(running)).ok()
}

pub(crate) fn refusal(roots: &Roots, cause: Errno) -> String {
    let level = paranoid_level(roots).and_then(|level| level.parse::<i64>().ok());
    match (cause, level) {
        (Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV | Errno::NXIO, _) => {
            "the CPU has no visible performance counters (many virtual machines have none unless \
             the host enables them)"
                .to_owned()
        }
        (Errno::ACCESS | Errno::PERM, Some(level)) if level > 1 => {
            format!("kernel.perf_event_paranoid is {level}: run as root, or set it to 1 or less")
        }
        (Errno::ACCESS | Errno::PERM, _) => {
            format!("a security filter forbids perf_event_open ({cause})")
        }
        (Errno::NOSYS, _) => "the kernel has no perf events".to_owned(),
        _ => format!("perf_event_open failed: {cause}"),
    }
}

/// The kernel setting that decides who may count.
pub(crate) fn paranoid_level(roots: &Roots) -> Option<String> {
    text(&roots.proc.join("sys/kernel/perf_event_paranoid"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::Fake;

    /// `PERF_TYPE_SOFTWARE` and `PERF_COUNT_SW_TASK_CLOCK`: nanoseconds on a processor, which every kernel
    /// with perf events can count.
    const TASK_CLOCK: (u32, u64) = (1, 1);

    #[test]
    fn a_counter_sees_threads_that_begin_after_it_and_keeps_what_they_did() {
        let counter = match PerfCounter::open(&Roots::default(), TASK_CLOCK) {
            Ok(counter) => counter,
            Err(refusal) => {
                // If even this is refused, the message must name the cause.
                assert!(!refusal.contains("failed"), "{refusal}");
                return;
            }
        };
        let before = counter.read().unwrap();
        let busy = || {
            let begin = std::time::Instant::now();
            while begin.elapsed().as_millis() < 30 {
                std::hint::spin_loop();
            }
        };
        std::thread::spawn(busy).join().unwrap();
        let after = counter.read().unwrap();
        // This thread slept, so the count is the other thread's, which may have shared the processor.
        assert!(after - before > 1_000_000, "{before} {after}");
    }

    #[test]
    fn a_shared_counter_is_scaled_and_one_that_never_ran_has_no_count() {
        assert_eq!(scaled(500, 100, 50), Some(1_000));
        assert_eq!(scaled(500, 100, 100), Some(500));
        assert_eq!(scaled(0, 100, 0), None);
        assert_eq!(scaled(0, 0, 0), Some(0));
    }

    #[test]
    fn a_refusal_names_its_cause() {
        let fake = Fake::new();
        let roots = Roots::below(fake.root());
        fake.proc("sys/kernel/perf_event_paranoid", "3\n");
        let says = |cause, words: &str| {
            let refusal = refusal(&roots, cause);
            assert!(refusal.contains(words), "{refusal}");
        };
        says(Errno::ACCESS, "perf_event_paranoid is 3");
        fake.proc("sys/kernel/perf_event_paranoid", "0\n");
        says(Errno::PERM, "a security filter forbids");
        says(Errno::NOENT, "no visible performance counters");
        says(Errno::NOSYS, "the kernel has no perf events");
    }
}
