//! When a run by precision ends: the coordinator judges what all clients counted, and names one end.
//!
//! Windows are equally long, so that slices lie at equal places in them. At each look every client tells the
//! requests of its slices; their sums are the series of which the document says later how precisely it is
//! known. The end is a place in the window as well, the same for all and far enough ahead to reach all
//! before it comes. So the windows stay equally long, and what they have in common is what it is of a run by
//! time. Rejected: each client judges itself (they would end one after the other, and what each knows of its
//! own rate says nothing of the sum), and an end at once (each would end when it hears of it).

use record::Nanos;
use trial::{Precision, SLICES};

/// Least time from the judgement to the end. The thread that watches a trial looks ten times a second at
/// least, on a machine that is busy.
const LEAD: Nanos = Nanos(300_000_000);

/// What a client told at its last look.
struct ClientSlices {
    ios: Vec<u64>,
    /// When, after the begin of its window.
    at: Nanos,
    /// When it came here.
    received: Nanos,
}

/// The looks at what all clients count.
pub(crate) struct Judge {
    precision: Precision,
    told: Vec<Option<ClientSlices>>,
    ended: bool,
}

impl Judge {
    pub(crate) fn new(precision: Precision, clients: usize) -> Self {
        Self { precision, told: (0..clients).map(|_| None).collect(), ended: false }
    }

    /// Takes what a client tells.
    ///
    /// # Errors
    /// If that was not asked for, or is more than there can be.
    pub(crate) fn tell(
        &mut self,
        rank: usize,
        (ios, at): (Vec<u64>, Nanos),
        received: Nanos,
    ) -> Result<(), String> {
        if !self.precision.asked() || ios.len() > SLICES {
            return Err("it reported intervals that were not requested".to_owned());
        }
        self.told[rank] = Some(ClientSlices { ios, at, received });
        Ok(())
    }

    /// When all windows end, after their begins, once that is known. `counted` are the clients whose figures
    /// are those of the run, with the times that a message takes there and back.
    pub(crate) fn end(&mut self, counted: &[(usize, Nanos)], now: Nanos) -> Option<Nanos> {
        if self.ended || !self.precision.asked() {
            return None;
        }
        let told: Option<Vec<&ClientSlices>> =
            counted.iter().map(|&(rank, _)| self.told[rank].as_ref()).collect();
        let told = told?;
        let series: Vec<&[u64]> = told.iter().map(|told| told.ios.as_slice()).collect();
        if !self.precision.reached_by(&series) {
            return None;
        }
        self.ended = true;
        // It is farther now by the time since it came, and by that of its way.
        let place = |(told, &(_, trip)): (&&ClientSlices, &(usize, Nanos))| {
            told.at.plus(now.since(told.received)).plus(trip)
        };
        let farthest = told.iter().zip(counted).map(place).max()?;
        let trip = counted.iter().map(|&(_, trip)| trip).max().unwrap_or_default();
        Some(farthest.plus(LEAD).plus(Nanos(4 * trip.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::Workload;

    fn judge(clients: usize) -> Judge {
        let mut workload = Workload::default();
        workload.stop.precision_ppm = Some(10_000);
        Judge::new(Precision::of(&workload), clients)
    }

    const TRIP: Nanos = Nanos(1_000);

    #[test]
    fn the_end_lies_ahead_of_the_farthest_client_and_is_named_once() {
        let mut judge = judge(3);
        let all = [(0, TRIP), (1, TRIP), (2, TRIP)];
        let even = vec![500; 64];
        for (rank, at, received) in [(0, 100_000, 7_000), (1, 130_000, 9_000)] {
            judge.tell(rank, (even.clone(), Nanos(at)), Nanos(received)).expect("it was asked");
            assert_eq!(judge.end(&all, Nanos(10_000)), None, "the third has told nothing");
        }
        // The third is lost: the figures are those of the others.
        let end = judge.end(&all[..2], Nanos(10_000)).expect("it is known");
        assert_eq!(end, Nanos(130_000 + 1_000 + 1_000 + 4_000).plus(LEAD));
        assert_eq!(judge.end(&all[..2], Nanos(20_000)), None);
    }

    #[test]
    fn slices_that_were_not_asked_for_are_refused() {
        let mut unasked = Judge::new(Precision::of(&Workload::default()), 1);
        assert!(unasked.tell(0, (vec![1], Nanos(1)), Nanos(1)).is_err());
        assert!(judge(1).tell(0, (vec![1; SLICES + 1], Nanos(1)), Nanos(1)).is_err());
        let mut none = judge(1);
        assert_eq!(none.end(&[], Nanos(1)), None, "nobody is there");
    }
}
