//! Collects all events of the screen on one channel: keys, signals, samples.
//!
//! Each source has its own thread. Reading sysfs of a failing disk can take long, and meanwhile the screen
//! must react to keys and restore the terminal. If the sampler panics or fails, the screen receives the
//! reason.

use crate::platform::listen;
use crate::{LiveError, cannot};
use diagnose::observe::{Pace, Sample, Source};
use ratatui::crossterm::event::{self, KeyEvent, MouseEvent};
use record::Nanos;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};

pub(crate) enum Event {
    Key(KeyEvent),
    Mouse(MouseEvent),
    /// The size of the terminal has changed.
    Resized,
    Signal(i32),
    Sample(Box<Sample>),
    /// The keyboard or the sampler has failed and sends no more events.
    Failed(LiveError),
}

/// A command from the screen to the sampler.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Order {
    /// Show all devices, or only those that were used.
    All(bool),
    /// Change the length of the intervals.
    Interval(Nanos),
}

/// The screen's side of the channels.
pub(crate) struct Events {
    pub(crate) happened: Receiver<Event>,
    orders: Sender<Order>,
    send: Sender<Event>,
}

impl Events {
    /// Events for tests, in which nothing happens.
    #[cfg(test)]
    pub(crate) fn none() -> Self {
        let (send, happened) = channel();
        let (orders, _) = channel();
        Self { happened, orders, send }
    }

    /// Starts the sampler and the signal thread.
    pub(crate) fn start(source: Source, interval: Nanos) -> Result<Self, LiveError> {
        let (send, happened) = channel();
        let (orders, from_screen) = channel();
        let sampler = Sampler(send.clone());
        thread("sampler", move || sampler.run(source, interval, &from_screen))?;
        let to_screen = send.clone();
        let signals = listen(move |signal| {
            let _ = to_screen.send(Event::Signal(signal));
        })?;
        thread("signals", signals)?;
        Ok(Self { happened, orders, send })
    }

    /// Starts the thread for keys and mouse. The terminal must be in raw mode.
    pub(crate) fn listen_for_keys(&self) -> Result<(), LiveError> {
        let send = self.send.clone();
        thread("keyboard", move || {
            loop {
                let event = match event::read() {
                    Ok(event::Event::Key(key)) => Event::Key(key),
                    Ok(event::Event::Mouse(mouse)) => Event::Mouse(mouse),
                    Ok(event::Event::Resize(..)) => Event::Resized,
                    Ok(_) => continue,
                    Err(error) => {
                        let _ = send.send(Event::Failed(cannot("read from the terminal")(error)));
                        return;
                    }
                };
                if send.send(event).is_err() {
                    return;
                }
            }
        })
    }

    /// Sends a command to the sampler. If it has ended, its last event says so.
    pub(crate) fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), LiveError> {
    let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    thread.map(drop).map_err(cannot("start a thread"))
}

/// Sends samples, and an event when it ends, including by a panic.
struct Sampler(Sender<Event>);

impl Sampler {
    fn run(&self, mut source: Source, interval: Nanos, orders: &Receiver<Order>) {
        let mut pace = Pace::new(interval);
        loop {
            match orders.recv_timeout(pace.left()) {
                Ok(Order::All(all)) => source.show_all(all),
                Ok(Order::Interval(interval)) => pace = Pace::new(interval),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => {
                    pace.step();
                    let (event, failed) = match source.sample() {
                        Ok(sample) => (Event::Sample(Box::new(sample)), false),
                        Err(error) => (Event::Failed(error.into()), true),
                    };
                    if self.0.send(event).is_err() || failed {
                        return;
                    }
                }
            }
        }
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        let _ = self.0.send(Event::Failed(LiveError::SamplerEnded));
    }
}
