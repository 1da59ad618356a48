//! The machine as a server: requests come over a network, and their data cross its PCI bus twice.
//!
//! The network stage has its own events; here they meet those of the machine. A request that has
//! reached the server has its data moved from the network card to memory (a write), costs the
//! server processor time, and goes on as a local one; what is read goes from memory to the card
//! before the reply leaves. Data to and from the card share the PCI bus and memory with the disks':
//! that is what limits the server of the 2000 paper (section 9).

use super::{Event, Machine};
use crate::ComponentSample;
use crate::device::{Arrival, Ended};
use crate::network::{Delivered, Network, NetworkSpec, Reached};
use crate::slab::Slab;
use record::{Nanos, OpKind};

/// A request of the client.
#[derive(Clone, Copy, Debug, Default)]
struct Away {
    token: u32,
    write: bool,
    offset: u64,
    bytes: u32,
    outcome: i32,
}

impl Away {
    fn op(&self) -> OpKind {
        if self.write { OpKind::Write } else { OpKind::Read }
    }
}

/// The network in front of the machine, and the requests that came over it.
#[derive(Debug)]
pub(super) struct Remote {
    network: Network,
    requests: Slab<Away>,
    delivered: Vec<Delivered>,
}

impl Remote {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        let network = Network::new(spec);
        Self { network, requests: Slab::default(), delivered: Vec::new() }
    }

    pub(super) fn next_event(&self) -> Option<Nanos> {
        self.network.next_event()
    }

    pub(super) fn uses(&self, uses: &mut Vec<ComponentSample>) {
        self.network.uses(uses);
    }

    /// A request leaves the client.
    pub(super) fn send(&mut self, now: Nanos, arrival: &Arrival) {
        let number = self.requests.reuse();
        *self.requests.get_mut(number) = Away {
            token: arrival.token,
            write: arrival.op == OpKind::Write,
            offset: arrival.offset,
            bytes: arrival.bytes,
            outcome: 0,
        };
        self.network.send(now, number, arrival.op, arrival.bytes);
    }
}

impl Machine {
    /// Carries out what the network has to do at `at`.
    pub(super) fn network_events(&mut self, at: Nanos) {
        self.now_ns = self.now_ns.max(at.0);
        let Some(remote) = &mut self.remote else { return };
        let mut delivered = std::mem::take(&mut remote.delivered);
        remote.network.advance(at, &mut delivered);
        for Delivered { token: number, reached, .. } in delivered.drain(..) {
            match reached {
                Reached::Server => self.take_in(number),
                Reached::Application => self.give_back(number),
            }
        }
        if let Some(remote) = &mut self.remote {
            remote.delivered = delivered;
        }
    }

    /// A request has reached the server's network card.
    fn take_in(&mut self, number: u32) {
        let Some(remote) = &mut self.remote else { return };
        let away = *remote.requests.get_mut(number);
        let crossing = remote.network.crossing(away.bytes);
        if away.write {
            let moved_ns = self.between_card_and_memory(crossing, true);
            self.at(moved_ns, Event::TakenIn(number));
        } else {
            self.taken_in(number);
        }
    }

    /// A request is in the server's memory.
    pub(super) fn taken_in(&mut self, number: u32) {
        let Some(remote) = &mut self.remote else { return };
        let away = *remote.requests.get_mut(number);
        let server_ns = remote.network.server_ns(away.bytes);
        let arrival =
            Arrival { token: number, op: away.op(), offset: away.offset, bytes: away.bytes };
        self.arrive_here(&arrival, server_ns);
    }

    /// The server is done with a request.
    pub(super) fn served(&mut self, number: u32, outcome: i32) {
        let Some(remote) = &mut self.remote else { return };
        remote.requests.get_mut(number).outcome = outcome;
        let away = *remote.requests.get_mut(number);
        let crossing = remote.network.crossing(away.bytes);
        if away.write {
            self.leaves(number);
        } else {
            let moved_ns = self.between_card_and_memory(crossing, false);
            self.at(moved_ns, Event::Leaves(number));
        }
    }

    /// The reply is in the server's network card.
    pub(super) fn leaves(&mut self, number: u32) {
        let now = Nanos(self.now_ns);
        let Some(remote) = &mut self.remote else { return };
        let away = *remote.requests.get_mut(number);
        remote.network.reply(now, number, away.op(), away.bytes);
    }

    /// The application has the reply.
    fn give_back(&mut self, number: u32) {
        let at = Nanos(self.now_ns);
        let Some(remote) = &mut self.remote else { return };
        let Away { token, outcome, .. } = *remote.requests.get_mut(number);
        remote.requests.release(number);
        self.ended.push(Ended { token, at, outcome });
    }

    /// Moves data between network card and memory; when that is done.
    fn between_card_and_memory(&mut self, bytes: u64, inward: bool) -> u64 {
        let pci = self.pcis[0].take(self.now_ns, bytes, inward);
        pci.max(self.memory.take(self.now_ns, bytes, inward))
    }
}
