//! Jobs that ran at the same time, as if they were one.

use crate::Measurement;
use crate::steady_window::SteadyWindow;
use record::{Arrival, EngineName, Nanos, OpKind, Workload};
use std::borrow::Cow;

/// Part of the run by which the ends of the jobs may differ.
const APART_MAX: u64 = 100;

/// What all jobs did, over the window that they have in common.
pub(crate) struct Together<'a> {
    workload: Cow<'a, Workload>,
    measurement: Cow<'a, Measurement>,
    asked: Asked,
}

/// What kinds of requests there were.
#[derive(Clone, Copy, Debug)]
struct Asked {
    reads: bool,
    writes: bool,
    /// Whether all went past the page cache.
    direct: bool,
    /// Whether none was a request at all.
    no_io: bool,
}

/// What was asked of the devices, for their counters to be held against.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    asked: Asked,
    /// Requests and bytes in the reported part of the window.
    pub(crate) ios: u64,
    pub(crate) bytes: u64,
    /// Time that jobs polled away.
    pub(crate) spin_ns: u64,
}

impl Ours {
    pub(crate) fn reads(&self) -> bool {
        self.asked.reads
    }

    pub(crate) fn writes(&self) -> bool {
        self.asked.writes
    }

    pub(crate) fn direct(&self) -> bool {
        self.asked.direct
    }

    pub(crate) fn no_io(&self) -> bool {
        self.asked.no_io
    }

    /// The only direction of the requests, if there is one.
    pub(crate) fn only_op(&self) -> Option<OpKind> {
        match (self.asked.reads, self.asked.writes) {
            (true, false) => Some(OpKind::Read),
            (false, true) => Some(OpKind::Write),
            _ => None,
        }
    }
}

impl<'a> Together<'a> {
    /// Of a workload and those beside it; an error where their windows are not one.
    pub(crate) fn of(
        workload: &'a Workload,
        measurement: &'a Measurement,
    ) -> Result<Self, &'static str> {
        let all: Vec<&Workload> = workload.all().collect();
        let asked = Asked {
            reads: all.iter().any(|workload| workload.read_percent > 0),
            writes: all.iter().any(|workload| workload.writes()),
            direct: all.iter().all(|workload| workload.cache.direct()),
            no_io: all.iter().all(|workload| workload.engine == EngineName::Null),
        };
        if measurement.beside.is_empty() {
            let (workload, measurement) = (Cow::Borrowed(workload), Cow::Borrowed(measurement));
            return Ok(Self { workload, measurement, asked });
        }
        let (window, end) = (measurement.window, measurement.end);
        let allowed = Nanos(end.since(window.begin).0 / APART_MAX);
        let apart = |other: &Measurement| {
            let ends = other.end.since(end).max(end.since(other.end));
            other.window != window || ends > allowed
        };
        if measurement.beside.iter().any(apart) {
            return Err("the jobs did not begin and end together");
        }
        let mut sum = measurement.clone();
        for other in &measurement.beside {
            sum.totals.merge(&other.totals);
            sum.stuck.jobs += other.stuck.jobs;
            sum.stuck.requests += other.stuck.requests;
        }
        // A result asks for the directions alone, and whether latencies begin before the hand-over.
        let open = all.iter().find(|workload| workload.arrival != Arrival::Closed);
        let workload = Workload {
            read_percent: match (asked.reads, asked.writes) {
                (true, true) => 50,
                (true, false) => 100,
                _ => 0,
            },
            arrival: open.map_or(workload.arrival, |open| open.arrival),
            flush: all.iter().find_map(|workload| workload.flush),
            beside: Vec::new(),
            ..workload.clone()
        };
        Ok(Self { workload: Cow::Owned(workload), measurement: Cow::Owned(sum), asked })
    }

    /// The workload of a job that did all of it, as far as a result asks for one.
    pub(crate) fn workload(&self) -> &Workload {
        &self.workload
    }

    /// The part that is reported.
    pub(crate) fn steady(&self) -> SteadyWindow<'_> {
        SteadyWindow::of(&self.workload, &self.measurement)
    }

    pub(crate) fn ours(&self) -> Ours {
        let total = self.steady().total;
        Ours {
            asked: self.asked,
            ios: total.total_ios(),
            bytes: total.bytes[0] + total.bytes[1],
            spin_ns: total.spin_ns,
        }
    }
}
