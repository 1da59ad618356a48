//! Ends a run by precision: the coordinator checks the sum of all clients, and chooses one end.
//!
//! Windows have equal lengths, so their slices are at equal positions. At each check every client sends the
//! requests of its slices; the sums form the series whose precision the document reports later. The end is
//! a position in the window, the same for all clients and far enough ahead to reach all of them in time. So
//! the windows stay equally long, and their common part is as large as in a run by time. Rejected: each
//! client judges itself (they would end one after the other, and the precision of a client's rate says
//! nothing about the sum), and an immediate end (each client would end when it receives the message).

use record::Nanos;
use trial::{Precision, SLICES};

/// Minimum time from the decision to the end. The thread that watches a trial checks at least ten times a
/// second, even on a busy machine.
const LEAD: Nanos = Nanos(300_000_000);

/// What a client sent at its last check.
struct ClientSlices {
    ios: Vec<u64>,
    /// When it was sent, relative to the begin of its window.
    at: Nanos,
    /// When it arrived here.
    received: Nanos,
}

/// The precision checks on the counts of all clients.
pub(crate) struct Judge {
    precision: Precision,
    told: Vec<Option<ClientSlices>>,
    ended: bool,
}

impl Judge {
    pub(crate) fn new(precision: Precision, clients: usize) -> Self {
        Self { precision, told: (0..clients).map(|_| None).collect(), ended: false }
    }

    /// Stores the slices of a client.
    ///
    /// # Errors
    /// If no slices were requested, or there are more than possible.
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

    /// When all windows end, relative to their begins, once that is known. `counted` are the clients whose
    /// counts are in the result, with their round-trip times.
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
        // The client has advanced by the time since the message arrived, plus the transit time.
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
        // The third client is lost: the result covers the others.
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
