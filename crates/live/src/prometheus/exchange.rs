//! Waiting for a server so that a signal and a deadline end it, whatever the server does.
//!
//! A server that sends a byte a second is never silent, and neither a read nor a look-up of a name returns at a signal:
//! the system restarts them. So the exchange runs on a thread of its own, and this one waits for what it has read.
//! A thread that is given up ends with the process, or with its next part. Rejected: short time-outs of the socket,
//! which the HTTP library takes for failures.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The wait after which the flag is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// Parts that are read ahead.
const AHEAD: usize = 16;

/// How an exchange ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The answer was read, as far as it was wanted.
    Done,
    /// The flag was set.
    Stopped,
}

enum Event<T> {
    Part(T),
    End(Result<(), String>),
}

/// Where an exchange puts what it reads.
pub(crate) struct Parts<T>(SyncSender<Event<T>>);

impl<T> Parts<T> {
    /// Hands over a part; whether any more is wanted.
    pub(crate) fn put(&self, part: T) -> bool {
        self.0.send(Event::Part(part)).is_ok()
    }
}

/// Runs an exchange and takes its parts, until it ends, `take` says by `false` that it has enough, the flag is set, or
/// the time is over.
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
        // Nobody may be there any more.
        let _ = parts.0.send(Event::End(end));
    });
    let begin = Instant::now();
    loop {
        if stop.load(Ordering::Relaxed) {
            return Ok(End::Stopped);
        }
        if begin.elapsed() >= longest {
            let minutes = longest.as_secs() / 60;
            return Err(format!(
                "its response was incomplete after {minutes} minutes; use a shorter range"
            ));
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
