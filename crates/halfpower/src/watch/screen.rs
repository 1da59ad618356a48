//! The live screen's loop: keys, signals and samples in; drawn lines out.
//!
//! Everything that can happen arrives at one `poll`: the keyboard, a socket into which signals
//! write, and the bell of the sampler. What is drawn is a pure function of the data and of the view
//! (`report::watch_screen`), so this file holds no layout.

use super::feed::{Feed, Order};
use super::judge::Judge;
use super::keys::{Key, keys};
use super::terminal::Terminal;
use super::{WatchArgs, profiles};
use crate::failure::Interruption;
use crate::output::{self, Verdict};
use crate::recording::Recording;
use anyhow::{Context, anyhow};
use record::Nanos;
use report::{WatchData, WatchView, watch_order, watch_screen};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGWINCH};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lengths of intervals that + and - walk through, in milliseconds.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
/// Rows that a page of keys moves.
const PAGE: usize = 10;

/// What goes on after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Stay,
    Quit,
    Suspend,
    Redraw,
}

/// The screen.
struct Screen<'a> {
    arguments: &'a WatchArgs,
    judge: Judge,
    feed: Feed,
    view: WatchView,
    /// What is drawn; stands still while paused.
    data: WatchData,
    interval: Nanos,
    all: bool,
    /// Whether no sample has come yet.
    waiting: bool,
    recording: Option<Recording>,
    /// Ids of what was recorded, for the end.
    recorded: Vec<String>,
}

/// Shows it until the user quits.
pub(super) fn run(arguments: &WatchArgs, stop: &Arc<AtomicBool>) -> anyhow::Result<Verdict> {
    let source = arguments.observing.source()?;
    let (profiles, chosen) = profiles(arguments)?;
    let judge = Judge::new(&arguments.observing, profiles, chosen, source.sampler.host());
    let interval = arguments.observing.interval;
    let feed = Feed::start(source, interval)?;
    let signals = Signals::listen()?;
    let mut screen = Screen {
        arguments,
        judge,
        feed,
        view: WatchView { sort: arguments.sort.into(), ..WatchView::default() },
        data: WatchData::default(),
        interval,
        all: arguments.observing.all,
        waiting: true,
        recording: None,
        recorded: Vec::new(),
    };
    screen.view.remark = Some("the first figures come after one interval".to_owned());
    let mut terminal = Terminal::take()?;
    let ended = screen.go(&mut terminal, signals, stop);
    drop(terminal);
    // The terminal is the shell's again: now there can be words on it.
    let saved = screen.end_recording();
    for id in &screen.recorded {
        output::say(&format!("halfpower: recorded; next: halfpower diagnose {id}"));
    }
    saved?;
    ended?;
    if stop.load(Ordering::Relaxed) {
        return Err(Interruption("the screen was ended by a signal".to_owned()).into());
    }
    Ok(Verdict::Clean)
}

impl Screen<'_> {
    fn go(
        &mut self,
        terminal: &mut Terminal,
        mut signals: Signals,
        stop: &AtomicBool,
    ) -> anyhow::Result<()> {
        while !stop.load(Ordering::Relaxed) {
            self.refresh(terminal.size().0);
            let color = output::style().color;
            terminal.draw(watch_screen(&self.data, &self.view, terminal.size(), color))?;
            let woken = wait(&signals.wake, &self.feed)?;
            if woken.signal {
                signals.drain();
                if signals.taken(&signals.suspend) {
                    suspend(terminal)?;
                }
                if signals.taken(&signals.resize) {
                    terminal.resized();
                }
            }
            if woken.sample {
                self.samples()?;
            }
            if woken.keyboard {
                match self.keyboard()? {
                    Next::Stay => {}
                    Next::Quit => return Ok(()),
                    Next::Suspend => suspend(terminal)?,
                    Next::Redraw => terminal.resized(),
                }
            }
        }
        Ok(())
    }

    /// Brings what is drawn up to date.
    fn refresh(&mut self, columns: usize) {
        if !self.view.paused {
            let picked = self.view.picked.clone();
            self.data = self.judge.data(columns, self.interval, picked.as_deref());
            if picked.is_none() {
                // The first one is shown as picked: its curve belongs to it.
                let first = self.order().first().cloned();
                self.data = self.judge.data(columns, self.interval, first.as_deref());
            }
        }
        let seconds = |recording: &Recording| format!("{} s", recording.elapsed().as_secs());
        self.view.recording = self.recording.as_ref().map(seconds);
    }

    /// Takes in what the sampler sent.
    fn samples(&mut self) -> anyhow::Result<()> {
        let mut buffer = [0; 64];
        let rung = self.feed.bell.read(&mut buffer).context("the sampler's pipe broke")?;
        for tick in self.feed.take()? {
            if let Some(recording) = &mut self.recording {
                recording.add(&tick)?;
            }
            self.judge.add(tick);
            if std::mem::take(&mut self.waiting) {
                self.view.remark = None;
            }
        }
        if rung == 0 {
            return Err(anyhow!("the sampler ended unexpectedly"));
        }
        Ok(())
    }

    fn keyboard(&mut self) -> anyhow::Result<Next> {
        let mut buffer = [0; 256];
        let count = match rustix::io::read(std::io::stdin(), &mut buffer) {
            Ok(0) => return Err(anyhow!("the terminal is gone")),
            Ok(count) => count,
            Err(Errno::INTR | Errno::AGAIN) => return Ok(Next::Stay),
            Err(error) => return Err(error).context("cannot read from the terminal"),
        };
        for key in keys(&buffer[..count]) {
            let next = self.key(key)?;
            if next != Next::Stay {
                return Ok(next);
            }
        }
        Ok(Next::Stay)
    }

    fn key(&mut self, key: Key) -> anyhow::Result<Next> {
        self.view.remark = None;
        match key {
            Key::Letter('q') | Key::Interrupt => return Ok(Next::Quit),
            Key::Suspend => return Ok(Next::Suspend),
            Key::Up | Key::Letter('k') => self.pick(|at, _| at.saturating_sub(1)),
            Key::Down | Key::Letter('j') => self.pick(|at, _| at + 1),
            Key::PageUp => self.pick(|at, _| at.saturating_sub(PAGE)),
            Key::PageDown => self.pick(|at, _| at + PAGE),
            Key::Home => self.pick(|_, _| 0),
            Key::End => self.pick(|_, last| last),
            Key::Enter => self.view.detail = !self.view.detail,
            Key::Escape => (self.view.detail, self.view.help) = (false, false),
            Key::Letter('h' | '?') => self.view.help = !self.view.help,
            Key::Letter('s') => self.view.sort = self.view.sort.next(),
            Key::Letter('S') => self.view.reversed = !self.view.reversed,
            Key::Letter('p' | ' ') => self.view.paused = !self.view.paused,
            Key::Letter('r') => self.record()?,
            Key::Letter('a') => {
                self.all = !self.all;
                self.feed.order(Order::All(self.all));
                let what = if self.all { "all devices" } else { "whole devices that were used" };
                self.remark(format!("{what}, from the next interval on"));
            }
            Key::Letter('+') => self.lengthen(|known, now| known > now, true),
            Key::Letter('-') => self.lengthen(|known, now| known < now, false),
            Key::Redraw => return Ok(Next::Redraw),
            Key::Letter(_) => {}
        }
        Ok(Next::Stay)
    }

    fn remark(&mut self, text: String) {
        self.view.remark = Some(text);
    }

    /// Names in the order shown.
    fn order(&self) -> Vec<String> {
        let order = watch_order(&self.data.rows, self.view.sort, self.view.reversed);
        order.iter().map(|&index| self.data.rows[index].device.name.clone()).collect()
    }

    /// Picks another device; `to` gets the place of the picked one and the last place.
    fn pick(&mut self, to: impl Fn(usize, usize) -> usize) {
        let order = self.order();
        let Some(last) = order.len().checked_sub(1) else { return };
        let picked = self.view.picked.as_ref();
        let at = order.iter().position(|name| Some(name) == picked).unwrap_or(0);
        self.view.picked = order.get(to(at, last).min(last)).cloned();
    }

    /// The next longer or shorter interval.
    fn lengthen(&mut self, fits: impl Fn(u64, u64) -> bool, longer: bool) {
        let mut lengths = INTERVALS_MS.map(|ms| ms * 1_000_000).to_vec();
        if !longer {
            lengths.reverse();
        }
        let Some(length) = lengths.into_iter().find(|&known| fits(known, self.interval.0)) else {
            return self.remark("there is no such interval".to_owned());
        };
        self.interval = Nanos(length);
        self.feed.order(Order::Interval(self.interval));
    }

    /// Begins or ends a recording.
    fn record(&mut self) -> anyhow::Result<()> {
        if self.recording.is_some() {
            let before = self.recorded.len();
            self.end_recording()?;
            let text = match self.recorded.get(before) {
                Some(id) => format!("saved; later: halfpower diagnose {id}"),
                None => "nothing was recorded".to_owned(),
            };
            self.remark(text);
            return Ok(());
        }
        let host = Some(self.data.host.clone()).filter(|host| !host.is_empty());
        match Recording::begin(&self.arguments.keeping, false, host) {
            Ok(recording) => self.recording = Some(recording),
            // No reason to end the screen in somebody's incident.
            Err(error) => self.remark(format!("{error:#}")),
        }
        Ok(())
    }

    fn end_recording(&mut self) -> anyhow::Result<()> {
        let Some(recording) = self.recording.take() else { return Ok(()) };
        let observation = recording.finish()?;
        if !observation.intervals.is_empty() {
            self.recorded.push(observation.id);
        }
        Ok(())
    }
}

/// Stops the program as Ctrl-Z does, with the terminal in order meanwhile.
fn suspend(terminal: &mut Terminal) -> anyhow::Result<()> {
    terminal.release();
    signal_hook::low_level::raise(signal_hook::consts::SIGSTOP).context("cannot stop")?;
    terminal.resume()
}

/// What woke the loop.
struct Woken {
    keyboard: bool,
    signal: bool,
    sample: bool,
}

fn wait(wake: &UnixStream, feed: &Feed) -> anyhow::Result<Woken> {
    let stdin = std::io::stdin();
    let mut places = [
        PollFd::new(&stdin, PollFlags::IN),
        PollFd::new(wake, PollFlags::IN),
        PollFd::new(&feed.bell, PollFlags::IN),
    ];
    match poll(&mut places, None) {
        Ok(_) => {}
        Err(Errno::INTR) => return Ok(Woken { keyboard: false, signal: true, sample: false }),
        Err(error) => return Err(error).context("cannot wait for the keyboard"),
    }
    let [keyboard, signal, sample] = places.map(|place| !place.revents().is_empty());
    Ok(Woken { keyboard, signal, sample })
}

/// The signals that a screen hears: they set flags and wake it.
struct Signals {
    wake: UnixStream,
    resize: Arc<AtomicBool>,
    suspend: Arc<AtomicBool>,
}

impl Signals {
    fn listen() -> anyhow::Result<Self> {
        let (wake, from_signals) = UnixStream::pair()?;
        wake.set_nonblocking(true)?;
        let (resize, suspend) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let cannot = "cannot listen for signals";
        for (signal, flag) in [(SIGWINCH, &resize), (SIGCONT, &resize), (SIGTSTP, &suspend)] {
            signal_hook::flag::register(signal, Arc::clone(flag)).context(cannot)?;
        }
        for signal in [SIGWINCH, SIGCONT, SIGTSTP, SIGINT, SIGTERM, SIGHUP] {
            let end = from_signals.try_clone()?;
            signal_hook::low_level::pipe::register(signal, end).context(cannot)?;
        }
        Ok(Self { wake, resize, suspend })
    }

    /// Takes the bytes that signals wrote.
    fn drain(&mut self) {
        let mut buffer = [0; 64];
        while self.wake.read(&mut buffer).is_ok_and(|count| count == buffer.len()) {}
    }

    fn taken(&self, flag: &AtomicBool) -> bool {
        flag.swap(false, Ordering::Relaxed)
    }
}
