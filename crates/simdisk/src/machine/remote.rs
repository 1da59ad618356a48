//! Runs the machine as a server: requests arrive over a network, and their data crosses its PCI bus twice.
//!
//! The data of a write moves from the network card to memory. The request then costs the server CPU time,
//! and continues as a local one. Data that was read moves from memory to the card before the reply leaves.
//! The card shares the PCI bus and memory with the disks, which limits the server of Chung 2000 (section
//! 9).

use super::{Event, Machine};
use crate::device::{Arrival, Ended};
use crate::network::{Network, NetworkSpec, Reached};
use crate::slab::Slab;
use record::{Nanos, OpKind};

/// The network in front of the machine, and the requests that arrived over it, with their outcomes.
#[derive(Debug)]
pub(super) struct Remote {
    pub(super) network: Network,
    requests: Slab<(Arrival, i32)>,
}

impl Remote {
    pub(super) fn new(spec: &NetworkSpec) -> Self {
        Self { network: Network::new(spec), requests: Slab::default() }
    }

    pub(super) fn send(&mut self, now: Nanos, arrival: &Arrival) {
        let number = self.requests.insert((*arrival, 0));
        self.network.send(now, number, arrival.op, arrival.bytes);
    }
}

impl Machine {
    pub(super) fn network_events(&mut self, at: Nanos) {
        self.now_ns = self.now_ns.max(at.0);
        while let Some(remote) = &mut self.remote
            && let Some((_, number, reached)) = remote.network.step(at)
        {
            match reached {
                Reached::Server => self.pass_card(number, true),
                Reached::Application => {
                    let (Arrival { token, .. }, outcome) = remote.requests.take(number);
                    self.ended.push(Ended { token, at: Nanos(self.now_ns), outcome });
                }
            }
        }
    }

    /// Moves the data of a request between network card and memory, in its direction only: inward for a
    /// write, outward for a read.
    fn pass_card(&mut self, number: u32, inward: bool) {
        let Some(remote) = &mut self.remote else { return };
        let (arrival, _) = remote.requests[number];
        let next = if inward { Event::TakenIn(number) } else { Event::Leaves(number) };
        if (arrival.op == OpKind::Write) == inward {
            let bytes = remote.network.crossing(arrival.bytes);
            let pci_ns = self.pcis[0].take(self.now_ns, bytes, inward);
            let memory_ns = self.memory.take(self.now_ns, bytes, inward);
            self.at(pci_ns.max(memory_ns), next);
        } else {
            self.happen(next);
        }
    }

    /// Records that a request is in the server's memory.
    pub(super) fn taken_in(&mut self, token: u32) {
        let Some(remote) = &mut self.remote else { return };
        let (arrival, _) = remote.requests[token];
        let server_ns = remote.network.spec.server.ns(arrival.bytes);
        self.arrive_here(&Arrival { token, ..arrival }, server_ns);
    }

    pub(super) fn served(&mut self, number: u32, outcome: i32) {
        let Some(remote) = &mut self.remote else { return };
        remote.requests[number].1 = outcome;
        self.pass_card(number, false);
    }

    /// Records that the reply is in the server's network card.
    pub(super) fn leaves(&mut self, number: u32) {
        let Some(remote) = &mut self.remote else { return };
        let (arrival, _) = remote.requests[number];
        remote.network.reply(Nanos(self.now_ns), number, arrival.op, arrival.bytes);
    }
}
