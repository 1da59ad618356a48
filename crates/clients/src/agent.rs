//! Runs the agent: executes a coordinator's requests on its machine, over a pair of byte streams.
//!
//! One thread reads. It answers requests for the time at once, even during a trial, and hands everything
//! else to the working thread. The end of the stream, or an invalid message, is the order to stop. The load
//! then ends within a second; if the process is blocked, it exits some seconds later. So a coordinator that
//! is killed leaves no load behind, whatever transports its messages.

use crate::frame::{self, Frame};
use crate::lock;
use crate::protocol::{self, Opened, PROTOCOL, Reply, Request};
use engine::{Clock, MonotonicClock};
use host::kernel;
use host::target::{self, Access};
use plan::session::{
    self, Display, Opener, PartOfTrial, RealTargets, Session, SessionError, Shown, StopFlag,
    ThisMachine,
};
use record::Nanos;
use std::collections::BTreeMap;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};
use trial::{AgreeOnBegin, JobCounters, JudgeElsewhere, Part, Ready, TrialError};

/// Interval between two signs of life, and between two progress messages.
pub(crate) const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// How often the working thread checks whether it must stop.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long the working thread may take to end once the stream has ended.
const GRACE: Duration = Duration::from_secs(10);
/// How long a coordinator may be silent. It sends a sign of life each second; if the network is cut, the
/// stream does not end.
const DESERTED: Duration = Duration::from_secs(20);
/// Intervals of a trial per message. One interval takes at most some hundred kilobytes: four histograms
/// with all of their buckets.
const INTERVALS_AT_A_TIME: usize = 64;
/// Exit code if this side ends the conversation.
const EXIT_LEFT: i32 = 130;

pub(crate) type Out = Arc<Mutex<Box<dyn Write + Send>>>;

/// Serves one coordinator until its stream ends; `stop` is set by signals, and by that end. The access to
/// targets is the permission of the coordinator: a user who can log in to start an agent could write anyway.
///
/// # Errors
/// If an answer cannot be written, for a reason other than that the reader is gone.
pub fn serve(
    from: impl Read + Send + 'static,
    to: impl Write + Send + 'static,
    stop: &StopFlag,
) -> std::io::Result<()> {
    let shared = Arc::new(Shared {
        out: Arc::new(Mutex::new(Box::new(to))),
        stop: stop.clone(),
        told: AtomicBool::new(false),
        over: AtomicBool::new(false),
        heard: Mutex::new(Instant::now()),
        end: Mutex::new(None),
    });
    let (asked, requests) = mpsc::channel();
    let (begins, begin) = mpsc::channel();
    let reader = Reader { shared: Arc::clone(&shared), asked, begins };
    let ours = Arc::clone(&shared);
    thread::spawn(move || {
        reader.read(from);
        ours.exit_after_grace();
    });
    let ours = Arc::clone(&shared);
    thread::spawn(move || {
        // If the reader is gone, a write may block for long; the next thread checks the time.
        while !ours.is_over() && say(&ours.out, &Reply::Alive).is_ok() {
            thread::sleep(ALIVE_EVERY);
        }
    });
    let ours = Arc::clone(&shared);
    thread::spawn(move || {
        while !ours.is_over() {
            thread::sleep(ALIVE_EVERY);
            if lock(&ours.heard).elapsed() > DESERTED {
                ours.stop.store(true, Ordering::Relaxed);
                ours.exit_after_grace();
            }
        }
    });
    let begin = Arc::new(Mutex::new(begin));
    let mut agent = Agent { shared: Arc::clone(&shared), begin, sets: BTreeMap::new() };
    let served = agent.serve(&requests);
    shared.over.store(true, Ordering::Relaxed);
    served
}

pub(crate) fn say(out: &Out, reply: &Reply) -> std::io::Result<()> {
    let text = serde_json::to_vec(reply).map_err(std::io::Error::other)?;
    frame::write(&mut *lock(out), &text)
}

/// Sends the intervals of a trial in several messages, so that signs of life come between them. Returns the
/// reply with the trial, without its intervals.
pub(crate) fn tell_intervals(out: &Out, made: PartOfTrial) -> std::io::Result<Reply> {
    let (mut trial, mut totals) = (Box::new(made.trial), Box::new(made.totals));
    let mut of_trial = trial.result.intervals.as_mut().map(std::mem::take).unwrap_or_default();
    let mut of_totals = std::mem::take(&mut totals.totals.intervals);
    while !of_trial.is_empty() || !of_totals.is_empty() {
        let results = of_trial.drain(..of_trial.len().min(INTERVALS_AT_A_TIME)).collect();
        let totals = of_totals.drain(..of_totals.len().min(INTERVALS_AT_A_TIME)).collect();
        say(out, &Reply::Intervals { results, totals })?;
    }
    Ok(Reply::Trial { trial, totals })
}

/// What the threads of an agent share.
struct Shared {
    out: Out,
    stop: StopFlag,
    /// Whether the coordinator asked to end its load.
    told: AtomicBool,
    /// Whether the working thread has ended.
    over: AtomicBool,
    /// When the coordinator was last heard.
    heard: Mutex<Instant>,
    /// When the window of the current trial ends, relative to its begin, once the coordinator has sent it.
    end: Mutex<Option<Nanos>>,
}

impl Shared {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A device that does not respond blocks the working thread: does not wait for it any longer.
    fn exit_after_grace(&self) {
        thread::sleep(GRACE);
        if !self.is_over() {
            std::process::exit(EXIT_LEFT);
        }
    }
}

struct Reader {
    shared: Arc<Shared>,
    asked: mpsc::Sender<Request>,
    begins: mpsc::Sender<Nanos>,
}

impl Reader {
    fn read(self, from: impl Read) {
        let mut from = BufReader::new(from);
        let shared = &self.shared;
        while let Ok(Some(frame)) = frame::read(&mut from) {
            let received = MonotonicClock.now();
            *lock(&shared.heard) = Instant::now();
            // Lines that are not frames are ignored; an invalid frame ends the conversation.
            let Frame::Text(text) = frame else { continue };
            let Ok(request) = protocol::parse(&text) else { break };
            let taken = match request {
                Request::Clock { sent } => {
                    let replied = MonotonicClock.now();
                    say(&shared.out, &Reply::Clock { sent, received, replied }).is_ok()
                }
                Request::Alive => true,
                Request::Begin { at } => self.begins.send(at).is_ok(),
                Request::End { after } => {
                    *lock(&shared.end) = Some(after);
                    true
                }
                Request::Stop => {
                    shared.told.store(true, Ordering::SeqCst);
                    shared.stop.store(true, Ordering::Relaxed);
                    true
                }
                other => self.asked.send(other).is_ok(),
            };
            if !taken {
                break;
            }
        }
        shared.stop.store(true, Ordering::Relaxed);
    }
}

/// The coordinator, which judges the precision of all clients together.
struct CoordinatorJudge(Arc<Shared>);

impl JudgeElsewhere for CoordinatorJudge {
    fn tell(&mut self, slices: Vec<u64>, at: Nanos) {
        // If the reader is gone, the reading thread notices it and ends the run.
        let _ = say(&self.0.out, &Reply::Slices { ios: slices, at });
    }

    fn end(&self) -> Option<Nanos> {
        *lock(&self.0.end)
    }
}

/// A set of targets that is being prepared.
enum Set {
    Opened(Box<RealTargets>),
    Ready(Box<Session>),
}

struct Agent {
    shared: Arc<Shared>,
    /// When the window of the current trial begins, by the clock of this machine.
    begin: Arc<Mutex<mpsc::Receiver<Nanos>>>,
    sets: BTreeMap<u32, Set>,
}

/// A reply, or an error with its exit code.
type Outcome = Result<Reply, SessionError>;

impl Agent {
    fn serve(&mut self, requests: &mpsc::Receiver<Request>) -> std::io::Result<()> {
        let shared = Arc::clone(&self.shared);
        loop {
            let request = match requests.recv_timeout(LOOK_EVERY) {
                Ok(request) => request,
                Err(mpsc::RecvTimeoutError::Disconnected) => return Ok(()),
                // A signal ends the agent; the coordinator sees the stream end. If the coordinator stopped
                // it, it stays until it is released: it would otherwise count as lost while its result is
                // in transit.
                Err(mpsc::RecvTimeoutError::Timeout)
                    if shared.stop.load(Ordering::Relaxed)
                        && !shared.told.load(Ordering::SeqCst) =>
                {
                    return Ok(());
                }
                Err(mpsc::RecvTimeoutError::Timeout) => continue,
            };
            let reply = self.answer(request).unwrap_or_else(|error| Reply::Failed {
                exit_code: error.exit_code(),
                message: error.to_string(),
            });
            match say(&shared.out, &reply) {
                Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
                other => other?,
            }
        }
    }

    fn answer(&mut self, request: Request) -> Outcome {
        match request {
            Request::Hello { .. } => Ok(hello()),
            Request::Open { set, targets, access, size, min_request } => {
                let paths: Vec<&Path> = targets.iter().map(Path::new).collect();
                let access = Access::from(access);
                let opened = ThisMachine.open(&paths, &access, size, min_request)?;
                let reply = Reply::Opened(Opened {
                    facts: opened.all_facts().cloned().collect(),
                    identities: paths.iter().map(|path| target::identity(path)).collect(),
                    alignment: opened.alignment(),
                    writable: opened.writable(),
                });
                self.sets.insert(set, Set::Opened(Box::new(opened)));
                Ok(reply)
            }
            Request::LookAtArea { set, workload } => {
                for job in workload.all() {
                    session::check_machine(job)?;
                }
                self.opened(set)?.look_at_area(&workload)?;
                Ok(Reply::Done)
            }
            Request::OpenMode { set, cache, write } => {
                self.opened(set)?.open_mode(cache, write)?;
                Ok(Reply::Done)
            }
            Request::Prepare { set, engine, seed } => {
                let Some(Set::Opened(targets)) = self.sets.remove(&set) else {
                    return Err(out_of_turn(set));
                };
                let out = Arc::clone(&self.shared.out);
                let mut display = ToldDisplay { out, last: None };
                let session =
                    targets.into_session(engine, seed, &self.shared.stop, &mut display)?;
                let reply =
                    Reply::Prepared { engine: session.engine, findings: session.findings.clone() };
                self.sets.insert(set, Set::Ready(Box::new(session)));
                Ok(reply)
            }
            Request::Flush { set } => Ok(Reply::Flushed { ms: self.session(set)?.flush()? }),
            Request::Trial { set, workload, seed, first_job, jobs, judged } => {
                // An end that arrived after the previous trial does not apply here.
                *lock(&self.shared.end) = None;
                let coordinator = CoordinatorJudge(Arc::clone(&self.shared));
                let judge = judged.then(|| -> Box<dyn JudgeElsewhere> { Box::new(coordinator) });
                let counters = Arc::default();
                let begin = self.agree(&counters);
                let out = Arc::clone(&self.shared.out);
                let mut progress = Progress { out, counters, last: Instant::now() };
                let part = Part { first_job, jobs, begin, judge };
                let mut tell = |share| progress.tell(share);
                let made = self.session(set)?.part_of_trial(&workload, seed, part, &mut tell)?;
                let why = |error| format!("cannot report its result: {error}");
                tell_intervals(&self.shared.out, made)
                    .map_err(|error| SessionError::NoResult(why(error)))
            }
            Request::Alive
            | Request::Clock { .. }
            | Request::Begin { .. }
            | Request::End { .. }
            | Request::Stop => Ok(Reply::Done),
        }
    }

    fn agree(&self, counted: &Counted) -> AgreeOnBegin {
        let (shared, begin) = (Arc::clone(&self.shared), Arc::clone(&self.begin));
        let counted = Arc::clone(counted);
        Box::new(move |ready: &Ready| {
            lock(&counted).clone_from(&ready.counters);
            let told = say(&shared.out, &Reply::Ready { ahead: ready.ahead });
            told.map_err(|_| TrialError::Interrupted)?;
            let begin = lock(&begin);
            loop {
                let stopped = || shared.stop.load(Ordering::Relaxed);
                match begin.recv_timeout(LOOK_EVERY) {
                    Ok(moment) => return Ok(moment),
                    Err(mpsc::RecvTimeoutError::Timeout) if !stopped() => {}
                    Err(_) => return Err(TrialError::Interrupted),
                }
            }
        })
    }

    fn opened(&mut self, set: u32) -> Result<&mut RealTargets, SessionError> {
        match self.sets.get_mut(&set) {
            Some(Set::Opened(targets)) => Ok(targets),
            _ => Err(out_of_turn(set)),
        }
    }

    fn session(&mut self, set: u32) -> Result<&mut Session, SessionError> {
        match self.sets.get_mut(&set) {
            Some(Set::Ready(session)) => Ok(session),
            _ => Err(out_of_turn(set)),
        }
    }
}

fn out_of_turn(set: u32) -> SessionError {
    SessionError::NoResult(format!("the agent got an unexpected request for target set {set}"))
}

fn hello() -> Reply {
    Reply::Hello {
        protocol: PROTOCOL,
        version: session::VERSION.to_owned(),
        hostname: kernel::host_name(),
        boot: kernel::boot_identity(),
        default_engine: engine::probe_default_engine().is_ok(),
    }
}

/// The counters of the jobs of the current trial.
type Counted = Arc<Mutex<Vec<Arc<JobCounters>>>>;

struct Progress {
    out: Out,
    counters: Counted,
    last: Instant,
}

impl Progress {
    fn tell(&mut self, share: f64) {
        if self.last.elapsed() < ALIVE_EVERY {
            return;
        }
        self.last = Instant::now();
        let jobs = lock(&self.counters);
        let so_far = jobs.iter().map(|job| job.so_far());
        let (ios, bytes) = so_far.fold((0, 0), |sum, (ios, bytes)| (sum.0 + ios, sum.1 + bytes));
        // If the reader is gone, the reading thread notices it and ends the run.
        let _ = say(&self.out, &Reply::Progress { share: share.clamp(0.0, 1.0), ios, bytes });
    }
}

/// A display that sends progress to the coordinator, which shows it.
struct ToldDisplay {
    out: Out,
    last: Option<Instant>,
}

impl Display for ToldDisplay {
    fn show(&mut self, shown: &Shown<'_>) {
        if self.last.is_some_and(|last| last.elapsed() < ALIVE_EVERY) {
            return;
        }
        self.last = Some(Instant::now());
        // If the reader is gone, the reading thread notices it and ends the step.
        let _ = say(&self.out, &Reply::Step { share: shown.share.clamp(0.0, 1.0) });
    }

    fn clear(&mut self) {}
}
