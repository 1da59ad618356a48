//! Orders the requests on each stripe: writers one at a time, readers of parity together, in order of
//! arrival.
//!
//! Two concurrent partial writes to one stripe would both start from the old parity and leave a wrong one, so
//! every array serialises them. A request joins the queues of all its stripes when it arrives, and starts
//! when every queue has admitted it. Because it joins all queues at one moment, no two requests can wait for
//! each other. Requests that share are admitted together if only sharing requests are before them.

use std::collections::{BTreeMap, VecDeque};

/// A request's stripes, and the number of them that have not admitted it yet.
#[derive(Clone, Copy, Debug)]
struct Claim {
    first: u64,
    last: u64,
    behind_others: u64,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    request: u32,
    shared: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct StripeOrder {
    /// Queues of requests by stripe, in order of arrival.
    lines: BTreeMap<u64, VecDeque<Waiting>>,
    /// Claims by request.
    claims: BTreeMap<u32, Claim>,
}

/// Number of admitted requests in a queue: the first, and with it those that share.
fn admitted(line: &VecDeque<Waiting>) -> usize {
    let sharing = line.iter().take_while(|waiting| waiting.shared).count();
    sharing.max(line.len().min(1))
}

impl StripeOrder {
    /// Queues a request at stripes `first..=last`. Returns whether all of them admit it.
    pub(super) fn claim(&mut self, request: u32, first: u64, last: u64, shared: bool) -> bool {
        let mut behind_others = 0;
        for stripe in first..=last {
            let line = self.lines.entry(stripe).or_default();
            line.push_back(Waiting { request, shared });
            behind_others += u64::from(admitted(line) < line.len());
        }
        let before = self.claims.insert(request, Claim { first, last, behind_others });
        debug_assert!(before.is_none(), "request {request} claims twice");
        behind_others == 0
    }

    /// Removes a request from its queues. Returns the requests that are now admitted everywhere.
    pub(super) fn release(&mut self, request: u32) -> Vec<u32> {
        let mut ready = Vec::new();
        let Some(claim) = self.claims.remove(&request) else { return ready };
        for stripe in claim.first..=claim.last {
            let Some(line) = self.lines.get_mut(&stripe) else { continue };
            let before = admitted(line);
            let Some(at) = line.iter().position(|waiting| waiting.request == request) else {
                continue;
            };
            line.remove(at);
            let old = before - usize::from(at < before);
            for next in line.range(old.min(line.len())..admitted(line).max(old)) {
                let Some(next_claim) = self.claims.get_mut(&next.request) else { continue };
                next_claim.behind_others -= 1;
                if next_claim.behind_others == 0 {
                    ready.push(next.request);
                }
            }
            if line.is_empty() {
                self.lines.remove(&stripe);
            }
        }
        ready
    }
}
