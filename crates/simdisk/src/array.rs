//! Devices bound into one by a volume: pieces go to the members as they are, without a host, a bus or
//! a controller of their own.
//!
//! A member may be an array itself, so that RAID 10 is stripes over mirrors. The work on parity takes
//! no time.

use crate::device::{Arrival, Conditions, Device, Ended};
use crate::volume::{DiskLoad, Plan, Volume, VolumeSpec};
use engine::ComponentSample;
use record::Nanos;
use std::collections::BTreeMap;

/// A request on its way.
#[derive(Debug)]
struct Request {
    arrival: Arrival,
    plan: Plan,
    stage: usize,
    /// Pieces of the stage that are not done.
    left: usize,
    outcome: i32,
}

/// Devices bound into one.
#[derive(Debug)]
pub struct Array<D> {
    members: Vec<D>,
    volume: Volume,
    loads: Vec<DiskLoad>,
    /// By token.
    requests: BTreeMap<u32, Request>,
    /// Token of the request and member, by token of the piece.
    pieces: BTreeMap<u32, (u32, usize)>,
    next_piece: u32,
}

impl<D: Device> Array<D> {
    /// An array of members of one size. The specification must have passed [`VolumeSpec::check`].
    #[must_use]
    pub fn new(spec: &VolumeSpec, members: Vec<D>) -> Self {
        let size = members.first().map_or(0, Device::size);
        Self {
            volume: Volume::new(spec, members.len() as u32, size),
            loads: vec![DiskLoad::default(); members.len()],
            members,
            requests: BTreeMap::new(),
            pieces: BTreeMap::new(),
            next_piece: 0,
        }
    }

    /// Plans a request that was let in, and sends its first pieces.
    fn start(&mut self, now: Nanos, token: u32, ended: &mut Vec<Ended>) {
        let Some(request) = self.requests.get_mut(&token) else { return };
        let Arrival { op, offset, bytes, .. } = request.arrival;
        self.volume.plan(op, offset, bytes, &self.loads, &mut request.plan);
        self.next_stage(now, token, ended);
    }

    /// Sends the pieces of the next stage that has any; ends the request after the last one.
    fn next_stage(&mut self, now: Nanos, token: u32, ended: &mut Vec<Ended>) {
        while let Some(request) = self.requests.get_mut(&token) {
            if request.stage == request.plan.stages.len() {
                ended.push(Ended { token, at: now, outcome: request.outcome });
                self.requests.remove(&token);
                let mut ready = Vec::new();
                self.volume.release(token, &mut ready);
                ready.into_iter().for_each(|other| self.start(now, other, ended));
                return;
            }
            let pieces = request.plan.stage(request.stage).to_vec();
            request.stage += 1;
            request.left = pieces.len();
            for piece in &pieces {
                let (member, number) = (piece.disk as usize, self.next_piece);
                self.next_piece = self.next_piece.wrapping_add(1);
                self.pieces.insert(number, (token, member));
                self.loads[member].waiting += 1;
                let (op, offset, bytes) = (piece.op, piece.offset, piece.bytes);
                self.members[member].arrive(now, &Arrival { token: number, op, offset, bytes });
            }
            if !pieces.is_empty() {
                return;
            }
        }
    }
}

impl<D: Device> Device for Array<D> {
    fn begin(&mut self, conditions: &Conditions) {
        self.members.iter_mut().for_each(|member| member.begin(conditions));
    }

    fn arrive(&mut self, now: Nanos, arrival: &Arrival) {
        let Arrival { token, op, offset, bytes } = *arrival;
        let outcome = bytes as i32;
        let request =
            Request { arrival: *arrival, plan: Plan::default(), stage: 0, left: 0, outcome };
        self.requests.insert(token, request);
        if self.volume.claim(token, op, offset, bytes) {
            // A request has pieces, so that none ends as it arrives.
            self.start(now, token, &mut Vec::new());
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.members.iter().filter_map(Device::next_event).min()
    }

    fn advance(&mut self, until: Nanos, ended: &mut Vec<Ended>) {
        let mut done = Vec::new();
        while let Some(next) = self.next_event().filter(|next| *next <= until) {
            self.members.iter_mut().for_each(|member| member.advance(next, &mut done));
            for piece in done.drain(..) {
                let Some((token, member)) = self.pieces.remove(&piece.token) else { continue };
                self.loads[member].waiting -= 1;
                let Some(request) = self.requests.get_mut(&token) else { continue };
                request.left -= 1;
                request.outcome =
                    request.outcome.min(if piece.outcome < 0 { piece.outcome } else { i32::MAX });
                if request.left == 0 {
                    self.next_stage(next, token, ended);
                }
            }
        }
    }

    fn size(&self) -> u64 {
        self.volume.size()
    }

    fn uses(&self) -> Vec<ComponentSample> {
        Vec::new()
    }
}
