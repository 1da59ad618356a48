//! Runs the coordinator's side: starts the agents, sends them requests, and listens to all of them at once.
//!
//! Every wait has a limit. An agent is lost if it is silent for too long, if it is alive but does not
//! finish a step ([`crate::waits`]), or if it continues long after its trial should have ended. Before a
//! trial a lost agent is an error, because nothing was measured. During a trial it is a finding, and the
//! results of the others are kept.

use crate::agent::ALIVE_EVERY;
use crate::judge::Judge;
use crate::link::{Event, Link, Message, Out, no_result, say};
use crate::protocol::{PROTOCOL, Reply, Request};
use crate::waits::{Deadlines, Step, Waiting, late_text};
use engine::{Clock, MonotonicClock};
use plan::session::{Display, SessionError, StopFlag, VERSION};
use record::{ClientClock, LostKind, Nanos};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};
use trial::Precision;

/// Exchanges per reading of a clock, before a run and after it.
const EXCHANGES: u32 = 16;
/// How often a waiting thread checks whether to continue.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Maximum number of unprocessed messages: an agent that sends more is blocked.
const UNREAD: usize = 64;
/// Minimum time from the agreement on a begin to the begin: enough to deliver messages and wake threads.
const LEAD: Nanos = Nanos(50_000_000);

pub(crate) type Result<T, E = SessionError> = std::result::Result<T, E>;

/// Agents that answered and accept requests.
pub(crate) struct Agents {
    pub(crate) links: Vec<Link>,
    events: mpsc::Receiver<Event>,
    pub(crate) stop: StopFlag,
    deadlines: Deadlines,
    /// Shows the user which agents it waits for.
    display: Box<dyn Display>,
    pub(crate) launched_by: String,
    /// Dropped when the agents are no longer needed.
    alive: Arc<()>,
}

/// The answer of each agent, or `None` if it is lost.
pub(crate) type Answers<T> = Vec<Option<T>>;

/// When an agent received a clock request and replied to it, and when the reply arrived.
type ClockAnswer = ((Nanos, Nanos), Nanos);

impl Agents {
    /// Connects to all agents by `links`, and checks their version and their clocks.
    pub(crate) fn greeted(
        links: impl FnOnce(&mpsc::SyncSender<Event>) -> Result<Vec<Link>>,
        launched_by: String,
        deadlines: Deadlines,
        stop: &StopFlag,
        display: Box<dyn Display>,
    ) -> Result<Self> {
        let (tell, events) = mpsc::sync_channel(UNREAD);
        let mut agents = Self {
            links: links(&tell)?,
            events,
            stop: stop.clone(),
            deadlines,
            display,
            alive: Arc::new(()),
            launched_by,
        };
        agents.give_signs_of_life();
        agents.greet()?;
        agents.read_clocks(Link::set_clock)?;
        agents.nobody_lost()?;
        Ok(agents)
    }

    /// Sends a sign of life to all agents each second from now on, whatever the program does.
    fn give_signs_of_life(&self) {
        let outs: Vec<Out> = self.links.iter().map(Link::out).collect();
        let over = Arc::downgrade(&self.alive);
        std::thread::spawn(move || {
            while over.upgrade().is_some() {
                outs.iter().for_each(|out| say(out, &Request::Alive));
                std::thread::sleep(ALIVE_EVERY);
            }
        });
    }

    /// Asks all agents for their identity.
    fn greet(&mut self) -> Result<()> {
        let hello = Request::Hello { protocol: PROTOCOL, version: VERSION.to_owned() };
        self.links.iter_mut().for_each(|link| link.ask(&hello));
        let answers = self.collect(Step::Start, None, |reply| {
            matches!(reply, Reply::Hello { .. }).then_some(reply)
        })?;
        for (link, answer) in self.links.iter_mut().zip(answers) {
            let Some(Reply::Hello { protocol, version, hostname, boot, default_engine }) = answer
            else {
                continue;
            };
            if protocol != PROTOCOL || version != VERSION {
                let message = format!(
                    "it has halfpower {version} (protocol {protocol}), but this machine has \
                     {VERSION} ({PROTOCOL}); install the same version on both"
                );
                return Err(no_result(&link.host, message));
            }
            link.known = true;
            (link.hostname, link.boot, link.default_engine) = (hostname, boot, default_engine);
        }
        Ok(())
    }

    /// Whether all agents run on one kernel, as far as known.
    pub(crate) fn on_one_kernel(&self) -> bool {
        let same = |pair: &[Link]| pair[0].boot.is_some() && pair[0].boot == pair[1].boot;
        self.links.windows(2).all(same)
    }

    pub(crate) fn nobody_lost(&self) -> Result<()> {
        let lost = self.links.iter().find_map(|link| Some((link, link.lost.as_ref()?)));
        lost.map_or(Ok(()), |(link, lost)| Err(no_result(&link.host, lost.reason.clone())))
    }

    /// Reads the clocks of all remaining agents, one by one: parallel exchanges would delay each other.
    pub(crate) fn read_clocks(
        &mut self,
        mut set: impl FnMut(&mut Link, ClientClock, Nanos),
    ) -> Result<()> {
        for rank in 0..self.links.len() {
            let mut best = ClientClock { round_trip_ns: Nanos(u64::MAX), ..ClientClock::default() };
            let mut read_at = Nanos(0);
            for _ in 0..EXCHANGES {
                if self.links[rank].lost.is_some() {
                    break;
                }
                let sent = MonotonicClock.now();
                self.links[rank].ask(&Request::Clock { sent });
                let Some(((received, replied), back)) = self.clock_answer(rank, sent)? else {
                    break;
                };
                let trip = Nanos(back.since(sent).0.saturating_sub(replied.since(received).0));
                best.exchanges += 1;
                if trip < best.round_trip_ns {
                    best.round_trip_ns = trip;
                    read_at = sent.plus(Nanos(back.since(sent).0 / 2));
                    best.error_ns = Nanos(trip.0.div_ceil(2));
                    best.offset_ns = offset_ns((sent, back), (received, replied));
                }
            }
            if best.exchanges > 0 {
                set(&mut self.links[rank], best, read_at);
            }
        }
        Ok(())
    }

    /// When the agent received the question and answered it, and when the answer arrived; `None` if lost.
    fn clock_answer(&mut self, rank: usize, asked: Nanos) -> Result<Option<ClockAnswer>> {
        let mut found = None;
        let (begin, silence) = (Instant::now(), self.deadlines.of(Step::Clocks));
        let mut waiting = Waiting::begin(Step::Clocks);
        while found.is_none() && self.links[rank].lost.is_none() {
            if self.stop.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            self.hear(None, |from, at, reply| {
                if let Reply::Clock { sent, received, replied } = reply
                    && from == rank
                    && sent == asked
                {
                    found = Some(((received, replied), at));
                }
            });
            waiting.show(&mut *self.display, &[&self.links[rank].host], 0.0);
            if begin.elapsed() > silence && found.is_none() {
                self.links[rank].lose(LostKind::Silent, silent_text(silence), None);
            }
        }
        waiting.end(&mut *self.display);
        Ok(found)
    }

    /// Waits briefly for messages, and detects silent agents; `window` is the length of the current trial.
    fn hear(&mut self, window: Option<Nanos>, mut take: impl FnMut(usize, Nanos, Reply)) {
        let mut next = self.events.recv_timeout(LOOK_EVERY).ok();
        while let Some(Event { rank, at, what }) = next {
            let link = &mut self.links[rank];
            link.heard = Instant::now();
            match what {
                // Ignore messages from an agent that was given up.
                _ if link.lost.is_some() => {}
                Message::Reply(reply) => match *reply {
                    Reply::Alive => {}
                    Reply::Progress { share, ios, bytes } => {
                        link.progress = Some((share, ios, bytes));
                    }
                    Reply::Step { share } => link.advance(share),
                    Reply::Intervals { results, totals } => {
                        link.keep_intervals(results, totals, window);
                    }
                    Reply::Trial { mut trial, mut totals } => {
                        link.complete(&mut trial, &mut totals);
                        take(rank, at, Reply::Trial { trial, totals });
                    }
                    other => take(rank, at, other),
                },
                Message::Ended(why) => {
                    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                    let text = format!("its connection ended{why}");
                    link.lose(LostKind::Ended, text, window);
                }
            }
            next = self.events.try_recv().ok();
        }
    }

    /// Sends a request to all remaining agents, and waits for the answer of each.
    ///
    /// # Errors
    /// If an agent is lost or reports a failure, or the user interrupts.
    pub(crate) fn ask_all<T>(
        &mut self,
        step: Step,
        request: impl Fn(usize) -> Request,
        take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<Vec<T>> {
        for (rank, link) in self.links.iter_mut().enumerate() {
            link.ask(&request(rank));
        }
        let answers = self.collect(step, None, take)?;
        Ok(answers.into_iter().flatten().collect())
    }

    /// Collects an answer from each agent that received a request; by default from all.
    ///
    /// # Errors
    /// As [`Agents::ask_all`].
    fn collect<T>(
        &mut self,
        step: Step,
        asked: Option<&[bool]>,
        take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<Answers<T>> {
        let mut waiting = Waiting::begin(step);
        let answers = self.collect_shown(&mut waiting, (step, asked), take);
        waiting.end(&mut *self.display);
        let answers = answers?;
        self.nobody_lost()?;
        Ok(answers)
    }

    fn collect_shown<T>(
        &mut self,
        waiting: &mut Waiting,
        (step, asked): (Step, Option<&[bool]>),
        mut take: impl FnMut(Reply) -> Option<T>,
    ) -> Result<Answers<T>> {
        let (within, silence) = (self.deadlines.of(step), self.deadlines.silence_in(step));
        self.links.iter_mut().for_each(Link::begin_step);
        let mut answers: Answers<T> = self.links.iter().map(|_| None).collect();
        let is_asked = |rank: usize| asked.is_none_or(|asked| asked[rank]);
        let mut failed = None;
        loop {
            let missing: Vec<usize> =
                (0..answers.len()).filter(|&it| is_asked(it) && answers[it].is_none()).collect();
            if missing.is_empty() || self.links.iter().any(|link| link.lost.is_some()) {
                return Ok(answers);
            }
            let hosts: Vec<&str> =
                missing.iter().map(|&rank| self.links[rank].host.as_str()).collect();
            let undone: f64 = missing.iter().map(|&rank| 1.0 - self.links[rank].step_share).sum();
            let of = (0..answers.len()).filter(|&rank| is_asked(rank)).count();
            waiting.show(&mut *self.display, &hosts, 1.0 - undone / of as f64);
            if self.stop.load(Ordering::Relaxed) {
                return Err(interrupted());
            }
            self.hear(None, |rank, _, reply| match reply {
                Reply::Failed { message, exit_code } => failed = Some((rank, message, exit_code)),
                other => {
                    if let Some(answer) = take(other) {
                        answers[rank] = Some(answer);
                    }
                }
            });
            if let Some((rank, message, exit_code)) = failed.take() {
                let host = self.links[rank].host.clone();
                return Err(SessionError::Client { host, message, exit_code });
            }
            let missing = |rank: usize| is_asked(rank) && answers[rank].is_none();
            self.drop_silent(silence, None, |rank, link| {
                let late = missing(rank) && link.advanced.elapsed() > within;
                late.then(|| late_text(step, within))
            });
        }
    }

    /// Gives up agents that are silent for too long, and those that are late, with the reason from `late`.
    fn drop_silent(
        &mut self,
        silence: Duration,
        window: Option<Nanos>,
        late: impl Fn(usize, &Link) -> Option<String>,
    ) {
        for (rank, link) in self.links.iter_mut().enumerate() {
            if link.lost.is_some() {
                continue;
            }
            if link.heard.elapsed() > silence {
                link.lose(LostKind::Silent, silent_text(silence), window);
            } else if let Some(why) = late(rank, link) {
                link.lose(LostKind::Silent, why, window);
            }
        }
    }

    /// Runs a trial on the agents that have a request. Waits until all are ready, agrees on the begin, and
    /// collects the results.
    ///
    /// # Errors
    /// If an agent cannot begin, or the user interrupts before the begin.
    pub(crate) fn trial(
        &mut self,
        requests: &[Option<Request>],
        limits: Limits,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Trials> {
        for (link, request) in self.links.iter_mut().zip(requests) {
            link.begin_trial(intervals_of(request.as_ref()));
            if let Some(request) = request {
                link.ask(request);
            }
        }
        let asked: Vec<bool> = requests.iter().map(Option::is_some).collect();
        let ready = self.collect(Step::Begin, Some(&asked), |reply| match reply {
            Reply::Ready { ahead } => Some(ahead),
            _ => None,
        });
        let ready = ready.inspect_err(|_| self.tell_stop())?;
        let ahead = ready.iter().flatten().copied().max().unwrap_or_default();
        let trip = self.links.iter().map(|link| link.clock.round_trip_ns).max();
        let lead = LEAD.plus(Nanos(4 * trip.unwrap_or_default().0));
        let begin = MonotonicClock.now().plus(ahead).plus(lead);
        for (link, asked) in self.links.iter_mut().zip(&asked) {
            if *asked {
                let at = begin.0.saturating_add_signed(link.clock.offset_ns);
                link.ask(&Request::Begin { at: Nanos(at) });
            }
        }
        self.gather(&asked, begin, limits, tick)
    }

    fn gather(
        &mut self,
        asked: &[bool],
        begin: Nanos,
        Limits { window, longest, precision }: Limits,
        tick: &mut dyn FnMut(f64),
    ) -> Result<Trials> {
        let mut trials: Answers<_> = asked.iter().map(|_| None).collect();
        let mut failed: Vec<(usize, String)> = Vec::new();
        let mut judge = Judge::new(precision, asked.len());
        let mut stopped = None;
        let (started, silence) = (Instant::now(), self.deadlines.silence);
        loop {
            let waits = |agents: &Self, trials: &Answers<_>, rank: usize| {
                asked[rank] && agents.links[rank].lost.is_none() && trials[rank].is_none()
            };
            if !(0..asked.len()).any(|rank| waits(self, &trials, rank)) {
                return Ok(Trials { begin, each: trials });
            }
            if stopped.is_none() && self.stop.load(Ordering::Relaxed) {
                self.tell_stop();
                stopped = Some(Instant::now());
            }
            self.hear(Some(window), |rank, at, reply| match reply {
                Reply::Slices { ios, at: place } => {
                    let taken = judge.tell(rank, (ios, place), at);
                    failed.extend(taken.err().map(|why| (rank, why)));
                }
                Reply::Trial { trial, totals } => trials[rank] = Some((trial, totals)),
                Reply::Failed { message, .. } => failed.push((rank, message)),
                _ => {}
            });
            for (rank, message) in failed.drain(..) {
                self.links[rank].lose(LostKind::Failed, message, Some(window));
            }
            self.end_where_known(&mut judge, asked, &trials);
            let late =
                started.elapsed() > longest || stopped.is_some_and(|at| at.elapsed() > silence);
            let lost: Vec<bool> =
                (0..asked.len()).map(|rank| late && waits(self, &trials, rank)).collect();
            self.drop_silent(silence, Some(window), |rank, _| {
                lost[rank].then(|| "it did not finish in time".to_owned())
            });
            let shares =
                self.links.iter().zip(asked).filter(|(link, asked)| **asked && link.lost.is_none());
            let shares = shares.filter_map(|(link, _)| Some(link.progress?.0));
            if let Some(least) = shares.reduce(f64::min) {
                tick(least);
            }
        }
    }

    /// Sends the end of all windows once the sum over the clients is known to the requested precision.
    fn end_where_known<T>(&mut self, judge: &mut Judge, asked: &[bool], trials: &Answers<T>) {
        let here = |link: &&Link| asked[link.rank] && link.lost.is_none();
        let counted: Vec<_> = self.links.iter().filter(here).collect();
        // If one client has finished by its bytes, the remaining load is a different one.
        if counted.iter().any(|link| trials[link.rank].is_some()) {
            return;
        }
        let counted: Vec<_> =
            counted.iter().map(|link| (link.rank, link.clock.round_trip_ns)).collect();
        if let Some(after) = judge.end(&counted, MonotonicClock.now()) {
            for (rank, _) in counted {
                self.links[rank].ask(&Request::End { after });
            }
        }
    }

    /// Stops the current trial on all agents.
    pub(crate) fn tell_stop(&mut self) {
        self.links.iter_mut().for_each(|link| link.ask(&Request::Stop));
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        // All at once, so that none waits for another to leave.
        self.links.iter_mut().for_each(Link::close);
    }
}

#[derive(Clone, Copy)]
pub(crate) struct Limits {
    /// Length of its window.
    pub(crate) window: Nanos,
    /// Maximum time after its begin.
    pub(crate) longest: Duration,
    /// Requested precision of the sum over all clients.
    pub(crate) precision: Precision,
}

pub(crate) struct Trials {
    /// The agreed begin, by the clock of the coordinator.
    pub(crate) begin: Nanos,
    pub(crate) each: Answers<(Box<record::Trial>, Box<trial::PartTotals>)>,
}

pub(crate) fn interrupted() -> SessionError {
    SessionError::ended("nothing was measured")
}

/// The maximum number of intervals in a requested trial.
fn intervals_of(request: Option<&Request>) -> usize {
    let Some(Request::Trial { workload, .. }) = request else { return 0 };
    let interval = workload.stop.interval_ns.filter(|interval| interval.0 > 0);
    interval.map_or(0, |interval| workload.runtime_ns.0.div_ceil(interval.0) as usize + 1)
}

fn silent_text(silence: Duration) -> String {
    format!("it has sent nothing for {} s", silence.as_secs_f64())
}

/// The clock of an agent minus ours: the mean of both differences. The transit times in both directions
/// cancel as far as they are equal (RFC 5905, section 8).
fn offset_ns((sent, back): (Nanos, Nanos), (received, replied): (Nanos, Nanos)) -> i64 {
    let there = i128::from(received.0) - i128::from(sent.0);
    let back = i128::from(replied.0) - i128::from(back.0);
    i64::try_from((there + back) / 2).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_exact_where_both_ways_take_as_long_and_off_by_half_of_what_they_differ() {
        let offset = |there: u64, back: u64| {
            let (sent, ahead) = (1_000_000, 5_000);
            let received = sent + there + ahead;
            let replied = received + 70;
            offset_ns(
                (Nanos(sent), Nanos(replied - ahead + back)),
                (Nanos(received), Nanos(replied)),
            )
        };
        assert_eq!(offset(400, 400), 5_000);
        assert_eq!(offset(800, 0), 5_400, "half of the round trip is the most that it is off");
    }
}
