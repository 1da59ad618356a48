//! Simulates arm and platter: one action at a time, the choice of the next, and reading ahead in between.
//!
//! Only requested work is an event. Reading ahead is a line through (time, byte) that is evaluated on
//! demand; any other waiting work ends it at once. A read holds the mechanism until its last byte has
//! passed under the head, a write until it is on the medium. Then the next request is chosen among those
//! waiting at that moment, which is why queue depth two is no faster than one. Reads and uncached writes go
//! before cached ones, unless a write waits for room. Rejected: committing to the next request ahead of
//! time (it would have one candidate fewer), and preempting a read whose bytes a request waits for.

use super::geometry::Geometry;
use super::writes::Run;
use super::{Ask, Drive, NEVER, Order, PATIENCE_NS, Place, Waiting};

/// The movement of the head over bytes that it reads.
#[derive(Clone, Copy, Debug)]
struct Stream {
    segment: usize,
    /// First byte, its streaming time, and when it passes under the head.
    from: u64,
    from_ns: u64,
    at_ns: u64,
    /// Where the head stops, and when it gets there.
    limit: u64,
    limit_ns: u64,
}

impl Stream {
    fn stop_at(&mut self, limit: u64, geometry: &Geometry) {
        self.limit = limit;
        self.limit_ns = self.at_ns + geometry.place(limit).stream_ns - self.from_ns;
    }

    /// Position of the head: an upper limit while it moves, exact once it has stopped.
    fn reached(&self, now_ns: u64, geometry: &Geometry) -> u64 {
        if now_ns >= self.limit_ns {
            self.limit
        } else {
            geometry.reached(self.from, now_ns.saturating_sub(self.at_ns))
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Writing {
    /// Index of a run in the write cache; `None` for a command.
    run: Option<usize>,
    id: u32,
    last: bool,
    first: u64,
    bytes: u64,
    end_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
enum Work {
    #[default]
    Rest,
    Stream(Stream),
    Write(Writing),
}

/// The current action of arm and platter, and their last position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mechanism {
    work: Work,
    /// Byte after the last that was read or written.
    head: u64,
    place: Place,
    wrote: bool,
}

#[derive(Clone, Copy, Debug)]
enum Choice {
    Waiting(usize),
    Run(usize),
}

impl Drive {
    /// The approximate byte under the head: the last position of the mechanism.
    pub(crate) fn head_byte(&self) -> u64 {
        match self.mechanism.work {
            Work::Stream(stream) => stream.from,
            _ => self.mechanism.head,
        }
    }

    /// Does all due work and starts what can start, until the mechanism is busy or idle.
    pub(crate) fn go_on(&mut self, now_ns: u64, asks: &mut Vec<Ask>) {
        self.next_ns = loop {
            match self.mechanism.work {
                Work::Write(writing) if writing.end_ns <= now_ns => {
                    self.finish_write(&writing, asks);
                }
                Work::Write(writing) => break writing.end_ns,
                Work::Stream(stream) => {
                    if let Some(next) = self.serve(now_ns, &stream, asks) {
                        break next;
                    }
                    let wanted = !self.waiting.is_empty() || self.writes.dirty();
                    if !wanted && self.spec.effects.read_ahead {
                        break NEVER;
                    }
                    self.leave(now_ns, &stream);
                }
                Work::Rest => match self.choose(now_ns) {
                    Some(Choice::Waiting(index)) => self.begin(now_ns, index),
                    Some(Choice::Run(index)) => self.begin_run(now_ns, index),
                    None => break NEVER,
                },
            }
        };
    }

    fn finish_write(&mut self, writing: &Writing, asks: &mut Vec<Ask>) {
        self.mechanism.work = Work::Rest;
        match writing.run {
            Some(run) => self.writes.destaged(run, writing.bytes),
            None => {
                self.writes.written(writing.bytes);
                if writing.last {
                    asks.push(Ask::Finish { id: writing.id });
                }
            }
        }
        self.admit_writes(asks);
    }

    /// Sends the requested bytes read so far. Returns when more will be there; `None` if none are
    /// requested.
    fn serve(&mut self, now_ns: u64, stream: &Stream, asks: &mut Vec<Ask>) -> Option<u64> {
        while let Some(reading) = self.reading.front_mut() {
            let burst = reading.end.min(reading.next + self.spec.burst_bytes);
            if burst > stream.limit {
                // No room: sending earlier bytes makes some. No request wants the bytes between those and
                // this request, so they are dropped.
                let next = reading.next;
                if next <= self.asked {
                    return Some(NEVER);
                }
                self.asked = next;
                let segment = &mut self.segments.all[stream.segment];
                segment.sent = segment.sent.max(next);
                self.make_room(now_ns);
                return Some(now_ns);
            }
            let arrival = |byte: u64| {
                let stream_ns = self.geometry.place(byte).stream_ns;
                (stream_ns, (stream.at_ns + stream_ns).saturating_sub(stream.from_ns))
            };
            let (burst_ns, ready_ns) = arrival(burst);
            if ready_ns > now_ns {
                return Some(ready_ns);
            }
            let whole = (reading.end > burst && reading.end <= stream.limit)
                .then(|| arrival(reading.end))
                .filter(|&(_, ready_ns)| ready_ns <= now_ns);
            let (end, end_ns) = whole.map_or((burst, burst_ns), |(ns, _)| (reading.end, ns));
            let last = end == reading.end;
            let again = self.segments.all[stream.segment].has_sent(reading.next, end);
            let bytes = (end - reading.next) as u32;
            asks.push(Ask::Send { id: reading.id, bytes, end, last, again });
            self.used.transfer_ns += end_ns.saturating_sub(reading.next_ns);
            (reading.next, reading.next_ns) = (end, end_ns);
            self.asked = end;
            self.mechanism.head = self.mechanism.head.max(end);
            if last {
                self.reading.pop_front();
            }
        }
        None
    }

    /// Ends a stream that no request waits for.
    fn leave(&mut self, now_ns: u64, stream: &Stream) {
        // At least what has been sent from here.
        let sent = self.mechanism.head.min(stream.limit).max(stream.from);
        let reached = stream.reached(now_ns, &self.geometry).clamp(sent, stream.limit);
        self.segments.freeze(stream.segment, reached);
        let place = self.geometry.place(reached);
        self.mechanism = Mechanism { work: Work::Rest, head: reached, place, wrote: false };
    }

    /// Whether the current stream has `first`, or will read it soon.
    pub(super) fn on_stream(&self, now_ns: u64, first: u64, end: u64) -> bool {
        let Work::Stream(stream) = self.mechanism.work else { return false };
        if self.reading.back().is_some_and(|reading| reading.end == first) {
            return true;
        }
        let stream_ns = self.geometry.place(first).stream_ns;
        let passes_ns = (stream.at_ns + stream_ns).saturating_sub(stream.from_ns);
        let high = stream.reached(now_ns, &self.geometry);
        self.segments.keeps(stream.segment, high, first, end)
            && first <= stream.limit
            && passes_ns <= now_ns + self.geometry.revolution_ns()
    }

    /// Lets the head continue to read after sending has made room.
    pub(super) fn make_room(&mut self, now_ns: u64) {
        let Work::Stream(stream) = &mut self.mechanism.work else { return };
        if !self.spec.effects.read_ahead {
            let wanted = self.reading.iter().map(|reading| reading.end).max();
            let Some(wanted) = wanted.filter(|&end| end > stream.limit) else { return };
            if now_ns <= stream.limit_ns {
                stream.stop_at(wanted, &self.geometry);
                self.segments.all[stream.segment].high = wanted;
                return;
            }
        }
        let segment = &self.segments.all[stream.segment];
        let room = self.segments.room(segment.sent_last());
        let limit = (segment.sent + room).min(self.geometry.bytes);
        if limit <= stream.limit {
            return;
        }
        if now_ns >= stream.limit_ns {
            // The head has stopped; it restarts when that is worthwhile.
            let urgent = self.reading.front().is_some_and(|reading| {
                reading.end.min(reading.next + self.spec.burst_bytes) > stream.limit
            });
            if !urgent && limit - stream.limit < self.segments.bytes / 2 {
                return;
            }
            stream.from = stream.limit;
            let place = self.geometry.place(stream.limit);
            stream.from_ns = place.stream_ns;
            stream.at_ns = now_ns;
            if self.spec.effects.rotation {
                let here_ns = self.geometry.angle_ns(now_ns);
                stream.at_ns += self.geometry.rotate_ns(here_ns, 0, place.angle_ns);
            }
        }
        stream.stop_at(limit, &self.geometry);
        self.segments.all[stream.segment].high = limit;
    }

    /// Time of arm and platter to `first` at `place`, with the angle `here_ns` under the head.
    fn position(&self, here_ns: u64, first: u64, place: &Place) -> (u64, u64) {
        let effects = self.spec.effects;
        let from = &self.mechanism.place;
        let still = first == self.mechanism.head || from.track == place.track;
        let arm_ns = if still || !effects.seek {
            0
        } else if from.cylinder == place.cylinder {
            self.spec.head_switch_ns
        } else {
            self.seek.time_ns(from.cylinder.abs_diff(place.cylinder)) + self.spec.settle_ns
        };
        let rotate_ns = if effects.rotation {
            self.geometry.rotate_ns(here_ns, arm_ns, place.angle_ns)
        } else {
            0
        };
        (arm_ns, rotate_ns)
    }

    fn choose(&self, now_ns: u64) -> Option<Choice> {
        let window = self.waiting.len().min(self.spec.window.max(1) as usize);
        let runs = &self.writes.runs;
        let admit_runs = self.waiting.is_empty() || !self.incoming.is_empty();
        let oldest = self.waiting.first();
        if oldest.is_some_and(|waiting| waiting.since_ns + PATIENCE_NS < now_ns) {
            return Some(Choice::Waiting(0));
        }
        if window == 1 && !(admit_runs && self.writes.dirty()) {
            return Some(Choice::Waiting(0));
        }
        let head = self.mechanism.head;
        let here_ns = self.geometry.angle_ns(now_ns);
        let cost = |first: u64, place: &Place| match self.spec.order {
            Order::Arrival => 0,
            // Addresses behind the head wrap around, and so come last.
            Order::Elevator => first.wrapping_sub(head),
            Order::Soonest => {
                let (arm_ns, rotate_ns) = self.position(here_ns, first, place);
                arm_ns + rotate_ns
            }
        };
        let waiting = self.waiting[..window].iter().enumerate();
        let runs = runs.iter().enumerate().filter(|(_, run)| admit_runs && run.ready > run.first);
        let place = |run: &Run| self.geometry.place(run.first);
        let all = waiting
            .map(|(index, waiting)| (Choice::Waiting(index), waiting.first, waiting.place))
            .chain(runs.map(|(index, run)| (Choice::Run(index), run.first, place(run))));
        // A loop, because `min_by_key` carries each candidate along without a branch, which takes half as
        // long again with 32 candidates.
        let (mut best, mut least) = (None, 0);
        for (choice, first, place) in all {
            let cost = cost(first, &place);
            if best.is_none() || cost < least {
                (best, least) = (Some(choice), cost);
            }
        }
        best
    }

    fn begin(&mut self, now_ns: u64, index: usize) {
        let waiting = self.waiting.remove(index);
        if waiting.write {
            let Waiting { id, last, first, bytes, place, .. } = waiting;
            self.write(now_ns, &place, Writing { run: None, id, last, first, bytes, end_ns: 0 });
            return;
        }
        let (segment, from) = self.segments.begin(waiting.first, waiting.end());
        self.asked = waiting.first;
        let place = if from == waiting.first { waiting.place } else { self.geometry.place(from) };
        let here_ns = self.geometry.angle_ns(now_ns);
        let (arm_ns, rotate_ns) = self.position(here_ns, from, &place);
        self.used.seek_ns += arm_ns;
        self.used.rotate_ns += rotate_ns;
        let end = waiting.end();
        self.reading.push_back(waiting.reading());
        let room = if self.spec.effects.read_ahead {
            let room = self.segments.room(waiting.bytes);
            (waiting.first + room).max(end).min(self.geometry.bytes)
        } else {
            end
        };
        let limit = room.max(from);
        let at_ns = now_ns + arm_ns + rotate_ns;
        let limit_ns = at_ns + self.geometry.place(limit).stream_ns - place.stream_ns;
        self.segments.all[segment].high = limit;
        let stream = Stream { segment, from, from_ns: place.stream_ns, at_ns, limit, limit_ns };
        self.mechanism = Mechanism { work: Work::Stream(stream), head: from, place, wrote: false };
        self.gather(end);
        self.make_room(now_ns);
    }

    /// Moves reads that continue the stream from the queue to the stream.
    fn gather(&mut self, mut end: u64) {
        while let Some(index) =
            self.waiting.iter().position(|waiting| !waiting.write && waiting.first == end)
        {
            let waiting = self.waiting.remove(index);
            end = waiting.end();
            self.reading.push_back(waiting.reading());
        }
    }

    fn begin_run(&mut self, now_ns: u64, index: usize) {
        let first = self.writes.runs[index].first;
        let bytes = self.writes.stretch(index);
        let place = self.geometry.place(first);
        let run = Some(index);
        self.write(now_ns, &place, Writing { run, id: 0, last: false, first, bytes, end_ns: 0 });
    }

    fn write(&mut self, now_ns: u64, place: &Place, writing: Writing) {
        let here_ns = self.geometry.angle_ns(now_ns);
        let (arm_ns, mut rotate_ns) = self.position(here_ns, writing.first, place);
        let revolution_ns = self.geometry.revolution_ns();
        let follows = self.mechanism.wrote && self.mechanism.head == writing.first;
        if follows && rotate_ns == 0 && !self.spec.effects.coalesce && self.spec.effects.rotation {
            // The next sector has passed by before the second of two separate writes begins.
            rotate_ns = revolution_ns;
        }
        let end = writing.first + writing.bytes;
        let last = self.geometry.place(end);
        let mut transfer_ns = last.stream_ns - place.stream_ns;
        let cylinders = last.cylinder - place.cylinder;
        if self.spec.write_misses_skew && self.spec.effects.rotation {
            transfer_ns += cylinders * revolution_ns;
        }
        let mut medium_ns = rotate_ns + transfer_ns;
        if self.spec.write_on_arrival && transfer_ns < revolution_ns {
            // Begins where the head arrives; ends after at most one revolution.
            medium_ns = medium_ns.min(revolution_ns);
        }
        self.used.seek_ns += arm_ns;
        self.used.transfer_ns += transfer_ns;
        self.used.rotate_ns += medium_ns - transfer_ns;
        let end_ns = now_ns + arm_ns + medium_ns;
        self.mechanism = Mechanism {
            work: Work::Write(Writing { end_ns, ..writing }),
            head: end,
            place: last,
            wrote: true,
        };
    }
}
