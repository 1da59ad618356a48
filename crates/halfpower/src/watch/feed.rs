//! Samples from a thread of their own.
//!
//! Reading sysfs of a disk that is failing can take long, and a screen must answer keys meanwhile
//! and give the terminal back. So the sampler has a thread, which sends each sample and writes a
//! byte into a pipe that the screen waits at, together with the keyboard and the signals. When the
//! thread panics or fails, the pipe ends and the screen learns why.

use crate::observing::{Pace, Tick};
use crate::tracing::Source;
use record::Nanos;
use std::io::{PipeReader, Write};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

/// What the screen asks of the sampler.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Show all devices, or those that were used.
    All(bool),
    /// Another length of intervals.
    Interval(Nanos),
}

/// The screen's end.
pub(super) struct Feed {
    /// Can be read where a sample is there, or none will come any more.
    pub(super) bell: PipeReader,
    samples: Receiver<anyhow::Result<Tick>>,
    orders: Sender<Order>,
}

impl Feed {
    /// Starts sampling.
    pub(super) fn start(mut source: Source, interval: Nanos) -> anyhow::Result<Self> {
        let (bell, mut ring) = std::io::pipe()?;
        let (to_screen, samples) = channel();
        let (orders, from_screen) = channel();
        let work = move || {
            let mut pace = Pace::new(interval);
            loop {
                match from_screen.recv_timeout(pace.left()) {
                    Ok(Order::All(all)) => source.sampler.show(all, all),
                    Ok(Order::Interval(interval)) => pace = Pace::new(interval),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        pace.step();
                        let sample = Tick::take(&mut source);
                        let failed = sample.is_err();
                        // Whoever does not listen any more has ended.
                        let heard = to_screen.send(sample).is_ok() && ring.write_all(b"!").is_ok();
                        if failed || !heard {
                            return;
                        }
                    }
                }
            }
        };
        std::thread::Builder::new().name("sampler".to_owned()).spawn(work)?;
        Ok(Self { bell, samples, orders })
    }

    /// The samples that have come. An error ends the feed.
    pub(super) fn take(&mut self) -> anyhow::Result<Vec<Tick>> {
        self.samples.try_iter().collect()
    }

    /// Tells the sampler.
    pub(super) fn order(&self, order: Order) {
        // A sampler that has ended is found out about at its pipe.
        let _ = self.orders.send(order);
    }
}
