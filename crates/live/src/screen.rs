//! The live screen's loop: reads keys, signals and samples, and draws the screen.
//!
//! The drawing is a pure function of the data and the view (`report::watch_screen`), so this file contains no
//! layout. The terminal is restored on every exit: at the end, before the program stops for Ctrl-Z, and in
//! the panic hook before the message is printed (`ratatui::try_init`). Signals only wake the loop, which then
//! ends normally. After SIGKILL, the user must run `reset`.

use crate::events::{Event, Events, Order};
use crate::platform::{RESUMED, SUSPEND, stop_until_resumed};
use crate::{Judge, LiveError, cannot};
use diagnose::observe::{Recorder, Source};
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{
    DisableMouseCapture, EnableMouseCapture, KeyCode, KeyEvent, KeyModifiers, MouseButton,
    MouseEvent, MouseEventKind,
};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{EnterAlternateScreen, enable_raw_mode};
use ratatui::layout::Rect;
use record::Nanos;
use report::{SortBy, WatchData, WatchPlace, WatchView, watch_order, watch_place, watch_screen};
use std::fmt::Display;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval lengths that + and - step through, in milliseconds.
const INTERVALS_MS: [u64; 9] = [100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
/// Rows that Page Up and Page Down move.
const PAGE: usize = 10;
/// Maximum length of a filter in bytes.
const FILTER_MAX: usize = 64;
/// Rows that one notch of the mouse wheel moves.
const NOTCH: usize = 3;

/// What the loop does after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Stay,
    Quit,
    Suspend,
    Redraw,
}

/// Starts a recording of a host at the user's request.
type Record<'a, E> = &'a dyn Fn(Option<String>) -> Result<Recorder<E>, E>;

/// The live screen of `halfpower watch`.
pub struct Screen<'a, E> {
    judge: Judge,
    events: Events,
    record: Record<'a, E>,
    view: WatchView,
    /// The data on the screen; not updated while paused.
    data: WatchData,
    interval: Nanos,
    color: bool,
    all: bool,
    /// Whether the screen receives mouse events. If not, the terminal uses the mouse to select text.
    mouse: bool,
    /// Area of the last drawing.
    area: Rect,
    /// Whether the first sample has not arrived yet.
    waiting: bool,
    recording: Option<Recorder<E>>,
    /// Ids of the recordings, printed at the end.
    recorded: Vec<String>,
}

/// The result of a screen session, however it ended.
#[derive(Debug)]
pub struct Ended<E> {
    /// Ids of the saved recordings.
    pub recorded: Vec<String>,
    /// An error if saving or the screen itself failed.
    pub outcome: Result<(), E>,
}

impl<'a, E: From<LiveError> + Display> Screen<'a, E> {
    /// Creates a screen with a sample every `interval`. `all` includes partitions and unused devices.
    ///
    /// # Errors
    /// If a thread cannot be started.
    pub fn new(
        judge: Judge,
        source: Source,
        (interval, all): (Nanos, bool),
        (sort, color): (SortBy, bool),
        record: Record<'a, E>,
    ) -> Result<Self, LiveError> {
        let remark = Some("the first figures appear after one interval".to_owned());
        Ok(Self {
            judge,
            events: Events::start(source, interval)?,
            record,
            view: WatchView { sort, remark, all, ..WatchView::default() },
            data: WatchData::default(),
            interval,
            color,
            all,
            mouse: true,
            area: Rect::default(),
            waiting: true,
            recording: None,
            recorded: Vec::new(),
        })
    }

    /// Shows the screen until the user quits or `stop` is set. The terminal is restored before this returns.
    ///
    /// # Errors
    /// If the terminal cannot be set up.
    pub fn show(mut self, stop: &AtomicBool) -> Result<Ended<E>, LiveError> {
        let mut terminal = ratatui::try_init().map_err(cannot("set up the terminal"))?;
        take_mouse(true).map_err(cannot("enable the mouse"))?;
        let restoring = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let _ = take_mouse(false);
            restoring(panic);
        }));
        let listening = self.events.listen_for_keys().map_err(E::from);
        let shown = listening.and_then(|()| self.go(&mut terminal, stop));
        // Show the cursor again.
        drop(terminal);
        let _ = take_mouse(false);
        ratatui::restore();
        let saved = self.end_recording();
        Ok(Ended { recorded: self.recorded, outcome: saved.and(shown) })
    }

    fn go(&mut self, terminal: &mut DefaultTerminal, stop: &AtomicBool) -> Result<(), E> {
        let mut next = Next::Stay;
        while next != Next::Quit && !stop.load(Ordering::Relaxed) {
            let failed = || cannot("write to the terminal");
            let size = terminal.size().map_err(failed())?;
            self.area = Rect::new(0, 0, size.width, size.height);
            self.refresh(size.width.into());
            let draw = |frame: &mut ratatui::Frame<'_>| {
                let area = frame.area();
                watch_screen(&self.data, &self.view, self.color, area, frame.buffer_mut());
            };
            terminal.draw(draw).map_err(failed())?;
            let event = self.events.happened.recv().map_err(|_| LiveError::SamplerEnded)?;
            next = self.event(event)?;
            match next {
                Next::Stay | Next::Quit => {}
                Next::Suspend => suspend(terminal, self.mouse)?,
                Next::Redraw => redraw(terminal).map_err(failed())?,
            }
        }
        Ok(())
    }

    fn event(&mut self, event: Event) -> Result<Next, E> {
        match event {
            Event::Key(key) => return self.key(key),
            Event::Mouse(mouse) => self.mouse(mouse),
            Event::Signal(signal) if Some(signal) == SUSPEND => return Ok(Next::Suspend),
            Event::Signal(signal) if Some(signal) == RESUMED => return Ok(Next::Redraw),
            Event::Resized => return Ok(Next::Redraw),
            Event::Signal(_) => {}
            Event::Sample(sample) => {
                if let Some(recording) = &mut self.recording {
                    recording.add(&sample)?;
                }
                self.judge.add(*sample);
                if std::mem::take(&mut self.waiting) {
                    self.view.remark = None;
                }
            }
            Event::Failed(error) => return Err(error.into()),
        }
        Ok(Next::Stay)
    }

    /// Updates the data to draw.
    fn refresh(&mut self, columns: usize) {
        if !self.view.paused {
            self.data = self.judge.data(columns, self.interval);
            // If no device is picked, the first one is highlighted, so its curve is shown.
            let picked = self.view.picked.clone().or_else(|| self.order().first().cloned());
            self.data.profile = picked.and_then(|name| self.judge.profile(&name).cloned());
        }
        let seconds =
            |recording: &Recorder<E>| format!("{:.0} s", recording.length().as_secs_f64());
        self.view.recording = self.recording.as_ref().map(seconds);
    }

    fn key(&mut self, key: KeyEvent) -> Result<Next, E> {
        self.view.remark = None;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if self.view.typing && !control {
            self.typed(key.code);
            return Ok(Next::Stay);
        }
        match key.code {
            KeyCode::Char('c') if control => return Ok(Next::Quit),
            KeyCode::Char('z') if control => return Ok(Next::Suspend),
            KeyCode::Char('l') if control => return Ok(Next::Redraw),
            KeyCode::Char('q') => return Ok(Next::Quit),
            KeyCode::Up | KeyCode::Char('k') => self.pick(|at, _| at.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.pick(|at, _| at + 1),
            KeyCode::PageUp => self.pick(|at, _| at.saturating_sub(PAGE)),
            KeyCode::PageDown => self.pick(|at, _| at + PAGE),
            KeyCode::Home => self.pick(|_, _| 0),
            KeyCode::End => self.pick(|_, last| last),
            KeyCode::Enter => {
                // Pick the device that the user saw: after the next sample another one may be first.
                self.pick(|at, _| at);
                self.view.detail = !self.view.detail;
            }
            KeyCode::Esc if self.view.detail || self.view.help => {
                (self.view.detail, self.view.help) = (false, false);
            }
            KeyCode::Esc => self.view.filter.clear(),
            KeyCode::Char('/') => {
                (self.view.typing, self.view.detail, self.view.help) = (true, false, false);
            }
            KeyCode::Char('u') => self.view.binary = !self.view.binary,
            KeyCode::Char('m') => {
                self.mouse = !self.mouse;
                take_mouse(self.mouse).map_err(cannot("enable the mouse"))?;
                let whose = if self.mouse { "the screen's" } else { "the terminal's" };
                self.view.remark = Some(format!("the mouse is {whose}"));
            }
            KeyCode::Char('h' | '?') => self.view.help = !self.view.help,
            KeyCode::Char('s') => self.view.sort = self.view.sort.next(),
            KeyCode::Char('S') => self.view.reversed = !self.view.reversed,
            KeyCode::Char('p' | ' ') => self.view.paused = !self.view.paused,
            KeyCode::Char('r') => self.record()?,
            KeyCode::Char('a') => {
                self.all = !self.all;
                self.view.all = self.all;
                self.events.order(Order::All(self.all));
                let what =
                    if self.all { "all devices" } else { "whole devices that have done I/O" };
                self.view.remark = Some(format!("{what}, starting with the next interval"));
            }
            KeyCode::Char('+') => self.lengthen(true),
            KeyCode::Char('-') => self.lengthen(false),
            _ => {}
        }
        Ok(Next::Stay)
    }

    /// Handles a key while the user types a filter.
    fn typed(&mut self, key: KeyCode) {
        match key {
            KeyCode::Enter => self.view.typing = false,
            KeyCode::Esc => {
                self.view.typing = false;
                self.view.filter.clear();
            }
            KeyCode::Backspace => {
                self.view.filter.pop();
            }
            KeyCode::Char(letter) if self.view.filter.len() < FILTER_MAX => {
                self.view.filter.push(letter);
            }
            _ => {}
        }
    }

    /// Handles the mouse: a click picks a device, or sorts by a column title; the wheel moves through the
    /// devices.
    fn mouse(&mut self, mouse: MouseEvent) {
        match mouse.kind {
            MouseEventKind::ScrollUp => self.pick(|at, _| at.saturating_sub(NOTCH)),
            MouseEventKind::ScrollDown => self.pick(|at, _| at + NOTCH),
            MouseEventKind::Down(MouseButton::Left) => {
                let at = (mouse.column, mouse.row);
                match watch_place(&self.data, &self.view, self.area, at) {
                    Some(WatchPlace::Device(name)) => self.view.picked = Some(name),
                    Some(WatchPlace::Title(sort)) if sort == self.view.sort => {
                        self.view.reversed = !self.view.reversed;
                    }
                    Some(WatchPlace::Title(sort)) => {
                        (self.view.sort, self.view.reversed) = (sort, false);
                    }
                    None => return,
                }
            }
            _ => return,
        }
        self.view.remark = None;
    }

    /// Device names in the order shown.
    fn order(&self) -> Vec<String> {
        let order = watch_order(&self.data.rows, &self.view);
        order.iter().map(|&index| self.data.rows[index].device.name.clone()).collect()
    }

    /// Picks another device. `to` gets the index of the picked device and the last index, and returns the new
    /// one.
    fn pick(&mut self, to: impl Fn(usize, usize) -> usize) {
        let order = self.order();
        let Some(last) = order.len().checked_sub(1) else { return };
        let picked = self.view.picked.as_ref();
        let at = order.iter().position(|name| Some(name) == picked).unwrap_or(0);
        self.view.picked = order.get(to(at, last).min(last)).cloned();
    }

    /// Changes to the next longer or shorter interval.
    fn lengthen(&mut self, longer: bool) {
        let mut lengths = INTERVALS_MS.into_iter().map(|ms| Nanos(ms * 1_000_000));
        let next = match longer {
            true => lengths.find(|known| *known > self.interval),
            false => lengths.rfind(|known| *known < self.interval),
        };
        match next {
            Some(next) => {
                self.interval = next;
                self.events.order(Order::Interval(next));
            }
            None => {
                let end = if longer { "longest" } else { "shortest" };
                self.view.remark = Some(format!("this is the {end} interval"));
            }
        }
    }

    /// Starts or ends a recording.
    fn record(&mut self) -> Result<(), E> {
        if self.recording.is_some() {
            let before = self.recorded.len();
            self.end_recording()?;
            self.view.remark = Some(match self.recorded.get(before) {
                Some(id) => format!("saved; to diagnose it: halfpower diagnose {id}"),
                None => "nothing was recorded".to_owned(),
            });
            return Ok(());
        }
        let host = Some(self.data.host.clone()).filter(|host| !host.is_empty());
        match (self.record)(host) {
            Ok(recording) => self.recording = Some(recording),
            // A failed recording must not end the screen in the middle of an incident.
            Err(error) => self.view.remark = Some(format!("{error:#}")),
        }
        Ok(())
    }

    fn end_recording(&mut self) -> Result<(), E> {
        let Some(recording) = self.recording.take() else { return Ok(()) };
        let observation = recording.finish()?;
        if !observation.intervals.is_empty() {
            self.recorded.push(observation.id);
        }
        Ok(())
    }
}

/// Whether standard input and output are a terminal that can show the screen.
#[must_use]
pub fn terminal_is_there() -> bool {
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb" || term.is_empty());
    std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && !dumb
}

/// Enables or disables mouse events. When disabled, the terminal selects text as in a shell.
fn take_mouse(take: bool) -> std::io::Result<()> {
    match take {
        true => execute!(std::io::stdout(), EnableMouseCapture),
        false => execute!(std::io::stdout(), DisableMouseCapture),
    }
}

/// Suspends the program as Ctrl-Z does, and restores the terminal for that time.
fn suspend(terminal: &mut DefaultTerminal, mouse: bool) -> Result<(), LiveError> {
    let failed = || cannot("set up the terminal again");
    terminal.show_cursor().map_err(failed())?;
    take_mouse(false).map_err(failed())?;
    ratatui::restore();
    stop_until_resumed()?;
    enable_raw_mode().map_err(failed())?;
    execute!(std::io::stdout(), EnterAlternateScreen).map_err(failed())?;
    take_mouse(mouse).map_err(failed())?;
    terminal.hide_cursor().map_err(failed())?;
    redraw(terminal).map_err(failed())
}

/// Clears the screen so that everything is drawn again. `Terminal::clear` cannot be used: it asks the
/// terminal for the cursor position, and the keyboard thread would read the answer.
fn redraw(terminal: &mut DefaultTerminal) -> std::io::Result<()> {
    let size = terminal.size()?;
    terminal.resize(Rect::new(0, 0, size.width, size.height))
}

#[cfg(test)]
mod tests {
    use super::*;
    use diagnose::ProfileSet;
    use diagnose::observe::Sample;
    use host::kernel::Roots;
    use record::{Figure, Interval, ObservedDevice, OpInterval};
    use std::sync::Arc;

    /// A sample with these rates per device.
    fn sample(rates: &[(&str, f64)]) -> Sample {
        let device = |name: &&str| {
            Arc::new(ObservedDevice { name: (*name).to_owned(), ..Default::default() })
        };
        let interval = |&(name, rate): &(&str, f64)| Interval {
            device: name.to_owned(),
            duration_ns: 1_000_000_000,
            all: OpInterval { per_s: Some(Figure::measured(rate, 1.0)), ..OpInterval::default() },
            ..Interval::default()
        };
        Sample {
            devices: rates.iter().map(|(name, _)| device(name)).collect(),
            intervals: rates.iter().map(interval).collect(),
            ..Sample::default()
        }
    }

    fn no_recording(_: Option<String>) -> Result<Recorder<LiveError>, LiveError> {
        Err(LiveError::SamplerEnded)
    }

    fn screen() -> Screen<'static, LiveError> {
        Screen {
            judge: Judge::new(&Roots::default(), ProfileSet::default(), None, "0"),
            events: Events::none(),
            record: &no_recording,
            view: WatchView { sort: SortBy::Rate, ..WatchView::default() },
            data: WatchData::default(),
            interval: Nanos(1_000_000_000),
            color: false,
            all: false,
            mouse: false,
            area: Rect::new(0, 0, 80, 24),
            waiting: true,
            recording: None,
            recorded: Vec::new(),
        }
    }

    fn press(screen: &mut Screen<'_, LiveError>, code: KeyCode) {
        screen.event(Event::Key(KeyEvent::new(code, KeyModifiers::NONE))).unwrap();
    }

    #[test]
    fn enter_opens_the_row_that_was_drawn_while_rows_change_places() {
        let mut screen = screen();
        let quiet_a = [("sda", 1.0), ("sdb", 5.0), ("sdc", 3.0)];
        let busy_a = [("sda", 9.0), ("sdb", 2.0), ("sdc", 3.0)];
        screen.event(Event::Sample(Box::new(sample(&quiet_a)))).unwrap();
        screen.refresh(80);
        assert_eq!(screen.order(), ["sdb", "sdc", "sda"]);
        // A sample has arrived but is not drawn yet when the key is pressed.
        screen.event(Event::Sample(Box::new(sample(&busy_a)))).unwrap();
        press(&mut screen, KeyCode::Enter);
        screen.refresh(80);
        assert_eq!(screen.order(), ["sda", "sdc", "sdb"]);
        assert_eq!((screen.view.picked.as_deref(), screen.view.detail), (Some("sdb"), true));
        // The open device stays open, and Up moves within the current order.
        for rates in [&quiet_a, &busy_a] {
            screen.event(Event::Sample(Box::new(sample(rates)))).unwrap();
            screen.refresh(80);
            assert_eq!(screen.view.picked.as_deref(), Some("sdb"));
        }
        press(&mut screen, KeyCode::Up);
        assert_eq!(screen.view.picked.as_deref(), Some("sdc"));
        press(&mut screen, KeyCode::Enter);
        assert!(!screen.view.detail);
        assert_eq!(screen.view.picked.as_deref(), Some("sdc"));
    }
}
