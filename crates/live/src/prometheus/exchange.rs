//! Runs an exchange with a server so that a signal or a deadline always ends it.
//!
//! A server that sends one byte per second is never silent. A signal ends neither a read nor a name look-up,
//! because the system restarts them. The exchange therefore runs on its own thread, and the calling thread
//! waits for its data. An abandoned thread ends with the process, or when it reads its next part. Rejected:
//! short socket timeouts, which the HTTP library treats as failures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often the flag is checked while waiting.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Number of parts that are read ahead.
const AHEAD: usize = 16;

/// How an exchange ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The response was read as far as needed.
    Done,
    /// The flag was set.
    Stopped,
}

enum Event<T> {
    Part(T),
    End(Result<(), String>),
}

/// Receives the data of an exchange.
pub(crate) struct Parts<T>(SyncSender<Event<T>>);

impl<T> Parts<T> {
    /// Passes on a part; returns whether more is wanted.
    pub(crate) fn put(&self, part: T) -> bool {
        self.0.send(Event::Part(part)).is_ok()
    }
}

/// Runs an exchange and passes its parts to `take`. Ends with the exchange, when `take` returns `false`, when
/// the flag is set, or after `longest`.
pub(crate) fn run<T: Send + 'static>(
    exchange: impl FnOnce(&Parts<T>) -> Result<(), String> + Send + 'static,
    mut take: impl FnMut(T) -> bool,
    longest: Duration,
    stop: &AtomicBool,
) -> Result<End, String> {
    let (sender, events) = sync_channel(AHEAD);
    thread::spawn(move || {
        let parts = Parts(sender);
        let end = exchange(&parts);
        // The receiver may be gone.
        let _ = parts.0.send(Event::End(end));
    });
    let begin = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
        if begin.elapsed() >= longest {
            let minutes = longest.as_secs() / 60;
            let late = format!("its response was incomplete after {minutes} minutes");
            return Err(format!("{late}; use a shorter range"));
        }
        match events.recv_timeout(LOOK_EVERY) {
            Ok(Event::Part(part)) => {
                if !take(part) {
                    return Ok(End::Done);
                }
            }
            Ok(Event::End(end)) => return end.map(|()| End::Done),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err("the exchange failed".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_that_never_ends_is_given_up_at_the_flag_and_at_the_deadline() {
        let endless = |parts: &Parts<u8>| {
            while parts.put(0) {}
            Ok(())
        };
        let (mut taken, stop) = (0_u32, AtomicBool::new(false));
        let take = |_| {
            taken += 1;
            stop.store(taken == 100, Ordering::Relaxed);
            true
        };
        assert_eq!(run(endless, take, Duration::MAX, &stop), Ok(End::Stopped));
        assert_eq!(taken, 100);
        let late = run(endless, |_| true, Duration::ZERO, &AtomicBool::new(false));
        assert!(late.is_err_and(|why| why.contains("incomplete")));
        assert_eq!(run(endless, |_| false, Duration::MAX, &AtomicBool::new(false)), Ok(End::Done));
        let fails = |_: &Parts<u8>| Err("no".to_owned());
        assert_eq!(run(fails, |_| true, Duration::MAX, &stop), Ok(End::Stopped));
        stop.store(false, Ordering::Relaxed);
        assert_eq!(run(fails, |_| true, Duration::MAX, &stop), Err("no".to_owned()));
    }
}
