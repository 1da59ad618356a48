//! The clock of a host's kernel beside that of this one, read without halfpower: a truth to hold offsets
//! against that its agents measured.
//!
//! The kernel writes its monotonic time into `/proc/timer_list` when that is read. A shell over there reads
//! it for each line that it gets, so that it was that time at some moment between question and answer. Of
//! many exchanges the shortest leaves the least open.

use anyhow::{Context, Result, ensure};
use engine::{Clock, MonotonicClock};
use record::{ClientClock, Clients, Nanos};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// What the shell over there does.
const SHELL: &str =
    "while read go; do { read a; read b; read now; } < /proc/timer_list; echo \"$now\"; done";
const EXCHANGES: u32 = 40;

/// A connection to a host.
pub(super) struct KernelClock {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

/// Between these the offset of a host's clock lies, its time less ours, in ns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) low: i64,
    pub(super) high: i64,
}

impl KernelClock {
    /// By words that log in to a host.
    pub(super) fn new(mut login: Command) -> Result<Self> {
        let mut child = login
            .arg(SHELL)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let to = child.stdin.take().context("no standard input")?;
        let from = BufReader::new(child.stdout.take().context("no standard output")?);
        Ok(Self { child, to, from })
    }

    /// Reads it.
    pub(super) fn read(&mut self) -> Result<Bounds> {
        let mut best: Option<Bounds> = None;
        for _ in 0..EXCHANGES {
            let asked = MonotonicClock.now();
            self.to.write_all(b"\n")?;
            let mut line = String::new();
            self.from.read_line(&mut line)?;
            let answered = MonotonicClock.now();
            let told = line.strip_prefix("now at ").and_then(|rest| rest.split(' ').next());
            let told = told.with_context(|| format!("the clock says {line:?}"))?;
            let told: u64 = told.parse()?;
            let less = |ours: Nanos| told.cast_signed() - ours.0.cast_signed();
            let bounds = Bounds { low: less(answered), high: less(asked) };
            if best.is_none_or(|best| bounds.width() < best.width()) {
                best = Some(bounds);
            }
        }
        best.context("no exchange")
    }
}

impl Drop for KernelClock {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Bounds {
    pub(super) fn width(self) -> i64 {
        self.high - self.low
    }

    pub(super) fn middle(self) -> i64 {
        self.low + self.width() / 2
    }

    /// Of both readings, and of all between them.
    pub(super) fn with(self, other: Self) -> Self {
        Self { low: self.low.min(other.low), high: self.high.max(other.high) }
    }

    /// A clock that is so far ahead of this one.
    pub(super) fn ahead(self, ns: i64) -> Self {
        Self { low: self.low + ns, high: self.high + ns }
    }

    /// How far apart moments are, of which these are the bounds.
    fn spread(moments: &[Self]) -> Self {
        let of = |side: fn(&Self) -> i64| moments.iter().map(side);
        let apart =
            |late: Option<i64>, early: Option<i64>| late.zip(early).map_or(0, |(l, e)| l - e);
        Self {
            low: apart(of(|it| it.low).max(), of(|it| it.high).min()).max(0),
            high: apart(of(|it| it.high).max(), of(|it| it.low).min()),
        }
    }

    /// Whether a value with its error has one in common with these.
    fn meets(self, value: i64, error: Nanos) -> bool {
        let error = error.0.cast_signed();
        value + error >= self.low && value - error <= self.high
    }
}

/// What was measured of clocks and of the spread of begins, beside what kernels say, by rank.
///
/// # Errors
/// If an offset or the spread cannot be true within its error.
pub(super) fn may_be_true(clients: &Clients, truth: &[Bounds]) -> Result<Value> {
    let (mut told, mut begins) = (Vec::new(), Vec::new());
    for (client, truth) in clients.each.iter().zip(truth) {
        let ClientClock { offset_ns: offset, error_ns: error, drift_ns, .. } = client.clock;
        ensure!(
            truth.meets(offset, error),
            "{}: an offset of {offset} ns ±{} ns is measured, it lies from {} to {} ns",
            client.host,
            error.0,
            truth.low,
            truth.high
        );
        // What an offset is off by, a begin is off by: from that before the run or that after it.
        let (late, drift) = (client.begin_skew_ns.context("no begin")?, drift_ns.unwrap_or(0));
        let (low, high) = (offset.min(offset + drift), offset.max(offset + drift));
        let began = Bounds { low: late + low - truth.high, high: late + high - truth.low };
        told.push(json!({
            "host": client.host,
            "offset_by_kernels_ns": truth.middle(),
            "offset_by_kernels_error_ns": truth.width() / 2,
            "off_by_ns": offset - truth.middle(),
            "began_by_kernels_ns": began.middle(),
        }));
        begins.push(began);
    }
    let truth = Bounds::spread(&begins);
    let (spread, error) =
        clients.start_spread_ns.zip(clients.start_spread_error_ns).context("no spread")?;
    ensure!(
        truth.meets(spread.0.cast_signed(), error),
        "they began {} ns ±{} ns apart, by the kernels from {} to {} ns",
        spread.0,
        error.0,
        truth.low,
        truth.high
    );
    Ok(json!({ "each": told, "spread_by_kernels_ns": [truth.low, truth.high] }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Client, TargetSharing};

    /// Two clients, 100 apart, of which the second is said to have begun so late.
    fn clients(late_ns: i64) -> Clients {
        let client = |rank: u32, offset_ns, late| Client {
            rank,
            host: rank.to_string(),
            hostname: String::new(),
            first_job: rank,
            jobs: 1,
            depth: Some(1),
            clock: ClientClock { offset_ns, error_ns: Nanos(3), ..ClientClock::default() },
            begin_skew_ns: Some(late),
            share: None,
            iops_per_job: None,
            trial_id: None,
            lost: None,
        };
        Clients {
            begun_by: None,
            sharing: TargetSharing::Own,
            sharing_reason: String::new(),
            launched_by: String::new(),
            processes: None,
            start_spread_ns: Some(Nanos(late_ns.unsigned_abs())),
            start_spread_error_ns: Some(Nanos(6)),
            common_window_ns: None,
            jain_index: None,
            each: vec![client(0, 0, 0), client(1, 100, late_ns)],
        }
    }

    #[test]
    fn an_offset_that_lies_beyond_both_errors_is_refused() {
        let exact = Bounds { low: -2, high: 2 };
        for (off, good) in [(0, true), (5, true), (-5, true), (6, false), (-6, false)] {
            let found = may_be_true(&clients(0), &[exact, exact.ahead(100 + off)]);
            assert_eq!(found.is_ok(), good, "off by {off}");
        }
    }

    #[test]
    fn a_spread_is_that_of_the_begins_as_the_kernels_tell_them() {
        let exact = Bounds { low: 0, high: 0 };
        let found = may_be_true(&clients(7), &[exact, exact.ahead(100)]).expect("it is true");
        assert_eq!(found["spread_by_kernels_ns"], json!([7, 7]));
        let mut false_spread = clients(7);
        false_spread.start_spread_ns = Some(Nanos(14));
        assert!(may_be_true(&false_spread, &[exact, exact.ahead(100)]).is_err());
    }
}
