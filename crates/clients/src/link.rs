//! The coordinator's connection to one agent: how it was started, its messages, and whether it is lost.

use crate::frame::{self, Frame};
use crate::lock;
use crate::protocol::{self, Reply, Request};
use engine::{Clock, MonotonicClock};
use plan::session::{NO_RESULT, SessionError};
use record::{ClientClock, IntervalResult, LostClient, LostKind, Nanos, Trial, shell_word};
use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trial::{IntervalTotals, PartTotals};

/// Number of lines kept for a report, of an agent's standard error and of noise before its messages.
const LINES_KEPT: usize = 8;
/// How long a program may take to end after its streams.
const ENDING: Duration = Duration::from_millis(200);
/// How long an agent may take to end once its stream is closed, before it is killed.
const LEAVE: Duration = Duration::from_secs(5);

/// A message from an agent.
pub(crate) struct Event {
    pub(crate) rank: usize,
    /// When it arrived, by the monotonic clock.
    pub(crate) at: Nanos,
    pub(crate) what: Message,
}

pub(crate) enum Message {
    Reply(Box<Reply>),
    /// The stream ended; the reason if known.
    Ended(Option<String>),
}

/// Stream for requests to an agent; `None` once the agent is lost.
pub(crate) type Out = Arc<Mutex<Option<Box<dyn Write + Send>>>>;
type Lines = Arc<Mutex<VecDeque<String>>>;

/// Intervals of a trial received so far, and their maximum number.
#[derive(Default)]
struct Intervals {
    most: usize,
    results: Vec<IntervalResult>,
    totals: Vec<IntervalTotals>,
}

pub(crate) struct Link {
    /// Its number, from 0.
    pub(crate) rank: usize,
    /// Its name as given by the user.
    pub(crate) host: String,
    pub(crate) hostname: String,
    pub(crate) boot: Option<String>,
    pub(crate) default_engine: bool,
    pub(crate) clock: ClientClock,
    /// When its clock was read, by the clock of the coordinator.
    pub(crate) clock_read: Nanos,
    /// When it was last heard.
    pub(crate) heard: Instant,
    /// When it last reported progress in the current step, and the completed share.
    pub(crate) advanced: Instant,
    pub(crate) step_share: f64,
    /// Why it is lost, if it is.
    pub(crate) lost: Option<LostClient>,
    /// Its last report on the current trial: completed share, requests, bytes.
    pub(crate) progress: Option<(f64, u64, u64)>,
    /// Intervals of the current trial received from it.
    intervals: Intervals,
    to: Out,
    child: Option<Child>,
    /// The command that started it.
    words: String,
    /// Whether it has answered.
    pub(crate) known: bool,
    said: Lines,
}

impl Link {
    /// Starts the command of a template; its standard streams transport the messages.
    pub(crate) fn start(
        rank: usize,
        host: &str,
        words: &[String],
        events: &mpsc::SyncSender<Event>,
    ) -> Result<Self, String> {
        let (program, arguments) = words.split_first().ok_or("--launch contains no program")?;
        let mut command = Command::new(program);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A terminal sends Ctrl-C to all processes of its group. In that group, the transport processes
        // would end while results are still in transit.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let failed = |error| format!("cannot start {program:?} (--launch): {error}");
        let mut child = command.spawn().map_err(failed)?;
        let (to, from, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(errors)) = (to, from, errors) else {
            return Err(format!("{program:?} was started without standard input, output or error"));
        };
        let mut link = Self::on(rank, host, from, to, events);
        link.child = Some(child);
        link.words = words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ");
        let said = Arc::clone(&link.said);
        thread::spawn(move || {
            let mut errors = BufReader::new(errors);
            while let Ok(Some(line)) = frame::line(&mut errors) {
                keep(&said, &line);
            }
        });
        Ok(link)
    }

    pub(crate) fn on(
        rank: usize,
        host: &str,
        from: impl Read + Send + 'static,
        to: impl Write + Send + 'static,
        events: &mpsc::SyncSender<Event>,
    ) -> Self {
        let said = Lines::default();
        let (noise, events) = (Arc::clone(&said), events.clone());
        thread::spawn(move || listen(rank, from, &noise, &events));
        Self {
            rank,
            host: host.to_owned(),
            hostname: String::new(),
            boot: None,
            default_engine: false,
            clock: ClientClock::default(),
            clock_read: Nanos(0),
            heard: Instant::now(),
            advanced: Instant::now(),
            step_share: 0.0,
            intervals: Intervals::default(),
            lost: None,
            progress: None,
            to: Arc::new(Mutex::new(Some(Box::new(to)))),
            child: None,
            words: String::new(),
            known: false,
            said,
        }
    }

    /// Sends it a request. If that fails, the end of its stream shows it.
    pub(crate) fn ask(&mut self, request: &Request) {
        say(&self.to, request);
    }

    pub(crate) fn begin_step(&mut self) {
        let now = Instant::now();
        (self.heard, self.advanced, self.step_share) = (now, now, 0.0);
    }

    /// Records progress in the current step; the same share again is not progress.
    pub(crate) fn advance(&mut self, share: f64) {
        if share > self.step_share {
            (self.advanced, self.step_share) = (Instant::now(), share.min(1.0));
        }
    }

    /// Prepares for a trial of at most this many intervals.
    pub(crate) fn begin_trial(&mut self, intervals: usize) {
        self.progress = None;
        self.intervals = Intervals { most: intervals, ..Intervals::default() };
    }

    /// Stores received intervals, up to the requested number.
    pub(crate) fn keep_intervals(
        &mut self,
        results: Vec<IntervalResult>,
        totals: Vec<IntervalTotals>,
        window: Option<Nanos>,
    ) {
        let told = &mut self.intervals;
        told.results.extend(results);
        told.totals.extend(totals);
        if told.results.len().max(told.totals.len()) > told.most {
            let text = format!("it reported more than the {} intervals of its trial", told.most);
            self.intervals = Intervals::default();
            self.lose(LostKind::Failed, text, window);
        }
    }

    /// Puts the received intervals into their trial.
    pub(crate) fn complete(&mut self, trial: &mut Trial, totals: &mut PartTotals) {
        let told = std::mem::take(&mut self.intervals);
        if let Some(intervals) = &mut trial.result.intervals {
            *intervals = told.results;
        }
        totals.totals.intervals = told.totals;
    }

    /// Sets its clock, and when that was read.
    pub(crate) fn set_clock(&mut self, clock: ClientClock, read: Nanos) {
        (self.clock, self.clock_read) = (clock, read);
    }

    /// Its stream for requests, for the thread that sends signs of life.
    pub(crate) fn out(&self) -> Out {
        Arc::clone(&self.to)
    }

    /// Marks it as lost: stores what is known about it, and sends no more requests.
    pub(crate) fn lose(&mut self, kind: LostKind, reason: String, window: Option<Nanos>) {
        if self.lost.is_some() {
            return;
        }
        let mut reason = reason;
        reason.extend(self.ending().map(|status| format!(" ({status})")));
        let lines = Some(self.last_lines()).filter(|lines| !lines.is_empty());
        reason.extend(lines.map(|lines| format!("; its last output was: {lines}")));
        if !self.known {
            let how = "to find out why, run the start command yourself";
            reason.push_str(&format!("; no agent started: {how}: {}", self.words));
        }
        let (share, ios, bytes) = self.progress.unwrap_or_default();
        let until_ns =
            self.progress.and(window).map(|length| Nanos((length.0 as f64 * share) as u64));
        self.lost = Some(LostClient { kind, reason, until_ns, ios, bytes });
        self.close();
    }

    /// The exit status of the program that transported it, if it ended. Its streams end a moment earlier.
    fn ending(&mut self) -> Option<String> {
        let child = self.child.as_mut()?;
        let begin = Instant::now();
        while begin.elapsed() < ENDING {
            if let Ok(Some(status)) = child.try_wait() {
                // Another thread reads its last output.
                thread::sleep(Duration::from_millis(20));
                return Some(status.to_string());
            }
            thread::sleep(Duration::from_millis(5));
        }
        None
    }

    /// The last lines that were not messages.
    fn last_lines(&self) -> String {
        let lines = lock(&self.said);
        lines.iter().map(String::as_str).collect::<Vec<_>>().join(" | ")
    }

    /// Closes its stream, which ends its load.
    pub(crate) fn close(&mut self) {
        *lock(&self.to) = None;
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.close();
        let Some(child) = &mut self.child else { return };
        let patience = if self.lost.is_some() { Duration::ZERO } else { LEAVE };
        let begin = Instant::now();
        while begin.elapsed() < patience {
            if !matches!(child.try_wait(), Ok(None)) {
                return;
            }
            thread::sleep(Duration::from_millis(5));
        }
        kill_all(child);
        let _ = child.wait();
    }
}

/// Kills a child that has not ended, and the processes that it started: they form their own group.
fn kill_all(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
}

/// The error of an agent without a result, with its reason.
pub(crate) fn no_result(host: &str, message: String) -> SessionError {
    SessionError::Client { host: host.to_owned(), message, exit_code: NO_RESULT }
}

pub(crate) fn say(out: &Out, request: &Request) {
    let Ok(text) = serde_json::to_vec(request) else { return };
    let mut out = lock(out);
    if let Some(to) = &mut *out
        && frame::write(to, &text).is_err()
    {
        *out = None;
    }
}

fn keep(lines: &Lines, line: &str) {
    if line.trim().is_empty() {
        return;
    }
    let mut lines = lock(lines);
    if lines.len() == LINES_KEPT {
        lines.pop_front();
    }
    lines.push_back(line.chars().take(200).collect());
}

/// Reads an agent's messages until its stream ends.
fn listen(rank: usize, from: impl Read, noise: &Lines, events: &mpsc::SyncSender<Event>) {
    let mut from = BufReader::new(from);
    let tell = |what| events.send(Event { rank, at: MonotonicClock.now(), what }).is_ok();
    loop {
        let ended = match frame::read(&mut from) {
            Ok(Some(Frame::Noise(line))) => {
                keep(noise, &line);
                continue;
            }
            Ok(Some(Frame::Text(text))) => match protocol::parse(&text) {
                Ok(reply) => match tell(Message::Reply(Box::new(reply))) {
                    true => continue,
                    false => return,
                },
                Err(error) => Some(format!("it sent an invalid message: {error}")),
            },
            Ok(None) => None,
            Err(error) => Some(error.to_string()),
        };
        tell(Message::Ended(ended));
        return;
    }
}
