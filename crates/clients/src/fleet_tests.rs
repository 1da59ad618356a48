//! Tests the coordinator with agents on threads of this process, whose answers each test chooses.

use crate::agent::{Out, say, tell_intervals};
use crate::fleet::{Agents, Limits};
use crate::frame::{self, Frame};
use crate::link::Link;
use crate::protocol::{PROTOCOL, Reply, Request};
use crate::waits::Deadlines;
use engine::{Clock, MonotonicClock};
use plan::session::{self, Display, PartOfTrial, Session, SessionError, Shown, VERSION};
use record::{Bytes, HistogramSnapshot, IntervalResult, Nanos, Trial, Workload};
use std::io::{BufReader, PipeReader, PipeWriter};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use trial::{IntervalTotals, JobTotals, PartTotals, Precision, Stuck, Window};

/// Longer than any test takes.
const PATIENCE: Duration = Duration::from_secs(600);

/// An agent, with the streams of its messages and of messages to it.
struct Connected {
    host: String,
    from: PipeReader,
    to: PipeWriter,
}

/// An agent that answers questions for its identity and the time; `answer` handles everything else.
fn agent(host: &str, mut answer: impl FnMut(Request, &Out) + Send + 'static) -> Connected {
    let (its_input, to) = std::io::pipe().expect("a pipe can be made");
    let (from, its_output) = std::io::pipe().expect("a pipe can be made");
    let out: Out = Arc::new(Mutex::new(Box::new(its_output)));
    let hello = Reply::Hello {
        protocol: PROTOCOL,
        version: VERSION.to_owned(),
        hostname: host.to_owned(),
        boot: None,
        default_engine: true,
    };
    thread::spawn(move || {
        let mut input = BufReader::new(its_input);
        while let Ok(Some(Frame::Text(text))) = frame::read(&mut input) {
            let request = crate::protocol::parse(&text).expect("it is a request");
            let reply = match request {
                Request::Hello { .. } => {
                    answer(request, &out);
                    hello.clone()
                }
                Request::Clock { sent } => {
                    let now = MonotonicClock.now();
                    Reply::Clock { sent, received: now, replied: now }
                }
                Request::Alive => Reply::Alive,
                other => {
                    answer(other, &out);
                    continue;
                }
            };
            let _ = say(&out, &reply);
        }
    });
    Connected { host: host.to_owned(), from, to }
}

/// Records which agents the user saw being waited for, and in which step.
#[derive(Clone, Default)]
struct ShownWaits(Arc<Mutex<Vec<(String, String)>>>);

impl Display for ShownWaits {
    fn show(&mut self, shown: &Shown<'_>) {
        let told = (shown.waits_for.to_owned(), shown.phase.to_owned());
        self.0.lock().expect("nobody panics").push(told);
    }
    fn clear(&mut self) {}
}

fn start(
    agents: Vec<Connected>,
    deadlines: Deadlines,
    display: impl Display + 'static,
) -> Result<Agents, SessionError> {
    let links = |events: &_| {
        let agents = agents.into_iter().enumerate();
        Ok(agents.map(|(rank, it)| Link::on(rank, &it.host, it.from, it.to, events)).collect())
    };
    Agents::greeted(links, "a test".to_owned(), deadlines, &Arc::default(), Box::new(display))
}

fn limits(window: Nanos) -> Limits {
    Limits { window, longest: PATIENCE, precision: Precision::of(&Workload::default()) }
}

fn trial_request(workload: &Workload) -> Option<Request> {
    let workload = Box::new(workload.clone());
    Some(Request::Trial { set: 0, workload, seed: 1, first_job: 0, jobs: 1, judged: false })
}

#[test]
fn an_agent_that_gives_signs_of_life_and_never_gets_ready_is_a_named_error() {
    let quick = agent("quick", |request, out| {
        if matches!(request, Request::Trial { .. }) {
            let _ = say(out, &Reply::Ready { ahead: Nanos(0) });
        }
    });
    let stuck = agent("stuck", |_, _| {});
    let write = Duration::from_millis(100);
    let deadlines = Deadlines { write, ..Deadlines::new(Some(PATIENCE)) };
    let mut agents =
        start(vec![quick, stuck], deadlines, ShownWaits::default()).expect("they are there");
    let request = trial_request(&Workload::default());
    let outcome = agents.trial(&[request.clone(), request], limits(Nanos(1)), &mut |_| {});
    let error = outcome.err().expect("it is not ready").to_string();
    assert!(error.starts_with("stuck: it is alive"), "{error}");
    assert!(error.contains("\"begin trial\""), "{error}");
}

#[test]
fn people_see_for_whom_is_waited_and_with_what() {
    let told = ShownWaits::default();
    let seen = told.clone();
    // It starts after the user was told that it has not.
    let slow = agent("slow", move |_, _| {
        while seen.0.lock().expect("nobody panics").is_empty() {
            thread::sleep(Duration::from_millis(10));
        }
    });
    let quick = agent("quick", |_, _| {});
    start(vec![quick, slow], Deadlines::new(Some(PATIENCE)), told.clone()).expect("they are there");
    let told = told.0.lock().expect("nobody panics");
    assert!(
        told.iter().all(|it| *it == ("slow".to_owned(), "start agents".to_owned())),
        "{told:?}"
    );
}

#[test]
fn all_are_told_one_end_once_their_sum_is_known_and_the_lost_one_is_not_waited_for() {
    let ends = Arc::new(Mutex::new(Vec::new()));
    let client = |number: u64| {
        let ends = Arc::clone(&ends);
        agent(&number.to_string(), move |request, out| match request {
            Request::Trial { .. } => drop(say(out, &Reply::Ready { ahead: Nanos(0) })),
            Request::Begin { .. } if number == 2 => {
                let message = "its disk is gone".to_owned();
                let _ = say(out, &Reply::Failed { message, exit_code: 4 });
            }
            Request::Begin { .. } => {
                // They alternate: neither alone is known precisely, but both together are.
                let ios = (0..64).map(|slice| 900 + 100 * ((slice + number) % 2)).collect();
                let _ = say(out, &Reply::Slices { ios, at: Nanos(1_000 + number) });
            }
            Request::End { after } => {
                ends.lock().expect("nobody panics").push(after);
                let part = tell_intervals(out, long_part(0, 0)).expect("it is heard");
                let _ = say(out, &part);
            }
            _ => {}
        })
    };
    let agents = (0..3).map(client).collect();
    let mut agents = start(agents, Deadlines::new(Some(PATIENCE)), ShownWaits::default())
        .expect("they are there");
    let mut asked = Workload::default();
    asked.stop.precision_ppm = Some(1_000);
    let limits = Limits { precision: Precision::of(&asked), ..limits(Nanos(1)) };
    let request = trial_request(&Workload::default());
    let requests = [request.clone(), request.clone(), request];
    let trials = agents.trial(&requests, limits, &mut |_| {}).expect("it began");
    let back: Vec<bool> = trials.each.iter().map(Option::is_some).collect();
    assert_eq!(back, [true, true, false]);
    let ends = ends.lock().expect("nobody panics").clone();
    assert!(ends.len() == 2 && ends[0] == ends[1] && ends[0] > Nanos(1_001), "{ends:?}");
}

/// A trial with `count` intervals, each with as many buckets as a histogram may have.
fn long_part(count: usize, buckets: u32) -> PartOfTrial {
    let device = session::simulated("sim:mm1").expect("it is known").expect("it is simulated");
    let workload = Workload { runtime_ns: Nanos(100_000_000), ..Workload::default() };
    let mut session = Session::simulated(&device, Some(Bytes(1 << 30)), 1, &Arc::default());
    let workload = Workload { size_bytes: Bytes(1 << 30), engine: session.engine, ..workload };
    let mut trial: Trial = session.trial(&workload, 1, &mut |_| {}).expect("it is simulated");
    let result = |index: usize| IntervalResult {
        begin_ns: Nanos(index as u64),
        length_ns: Nanos(1),
        read: None,
        write: None,
        trim: None,
        flush: None,
        concurrency: 0.0,
    };
    trial.result.intervals = Some((0..count).map(result).collect());
    let totals = |index: usize| {
        let buckets = (0..buckets).map(|it| (it, 1_000_000_000 + index as u64)).collect();
        let mut totals = IntervalTotals::default();
        totals.latency[0] = HistogramSnapshot { buckets };
        totals
    };
    let intervals = (0..count).map(totals).collect();
    let window = Window { begin: Nanos(0), end: Nanos(count as u64) };
    let totals = PartTotals {
        window,
        end: window.end,
        ended_by: None,
        totals: JobTotals { intervals, ..JobTotals::default() },
        stuck: Stuck::default(),
        harness: None,
    };
    PartOfTrial { trial, totals }
}

/// The result of the coordinator for an agent that sends a trial of `told` intervals when `asked` were
/// requested.
fn handed_over(
    told: usize,
    asked: u64,
    buckets: u32,
) -> (Agents, Option<PartTotals>, Option<Trial>) {
    let one = agent("one", move |request, out| match request {
        Request::Trial { .. } => drop(say(out, &Reply::Ready { ahead: Nanos(0) })),
        Request::Begin { .. } => {
            let reply = tell_intervals(out, long_part(told, buckets)).expect("it is heard");
            let _ = say(out, &reply);
        }
        _ => {}
    });
    let mut agents = start(vec![one], Deadlines::new(Some(PATIENCE)), ShownWaits::default())
        .expect("it is there");
    let mut workload = Workload { runtime_ns: Nanos(asked), ..Workload::default() };
    workload.stop.interval_ns = Some(Nanos(1));
    let trials = agents
        .trial(&[trial_request(&workload)], limits(Nanos(asked)), &mut |_| {})
        .expect("it began");
    let (trial, totals) = trials.each.into_iter().next().flatten().unzip();
    (agents, totals.map(|it| *it), trial.map(|it| *it))
}

#[test]
fn a_result_that_is_longer_than_a_message_may_be_arrives_whole() {
    let (count, buckets) = (1_400, 3_000);
    let one = serde_json::to_vec(&long_part(1, buckets).totals.totals.intervals);
    assert!(one.expect("it is text").len() * count > frame::LONGEST);
    let (_agents, totals, trial) = handed_over(count, count as u64, buckets);
    let sent = long_part(count, buckets);
    let intervals = trial.and_then(|trial| trial.result.intervals).expect("they came");
    assert_eq!(Some(intervals), sent.trial.result.intervals);
    let totals = totals.expect("they came").totals.intervals;
    let histograms = |of: &[IntervalTotals]| -> Vec<HistogramSnapshot> {
        of.iter().map(|it| it.latency[0].clone()).collect()
    };
    assert!(histograms(&totals) == histograms(&sent.totals.totals.intervals));
}

#[test]
fn an_agent_that_tells_of_more_intervals_than_were_asked_for_is_given_up() {
    let (agents, totals, _) = handed_over(200, 100, 1);
    assert!(totals.is_none());
    let error = agents.nobody_lost().expect_err("it is lost").to_string();
    assert!(error.contains("more than the 101 intervals"), "{error}");
}
