//! Combines devices into one by a volume, without a host, a bus or a controller of their own.
//!
//! A member may itself be an array, so RAID 10 is stripes over mirrors. Computing parity takes no time.

use crate::device::{Arrival, Conditions, Device, Ended};
use crate::slab::Slab;
use record::Nanos;
use std::collections::BTreeMap;
use workload::volume::{DiskLoad, Piece, Plan, Volume, VolumeSpec};

#[derive(Debug)]
struct Request {
    arrival: Arrival,
    plan: Plan,
    stage: usize,
    /// Pieces of the current stage that are not done.
    left: usize,
    outcome: i32,
}

/// Several devices combined into one.
#[derive(Debug)]
pub struct Array<D> {
    members: Vec<D>,
    volume: Volume,
    loads: Vec<DiskLoad>,
    requests: BTreeMap<u32, Request>,
    /// The token of the request and the member, by token of the piece.
    pieces: Slab<(u32, usize)>,
}

impl<D: Device> Array<D> {
    /// An array of members of equal size. The specification must have passed [`VolumeSpec::check`].
    #[must_use]
    pub fn new(spec: &VolumeSpec, members: Vec<D>) -> Self {
        let size = members.first().map_or(0, Device::size);
        Self {
            volume: Volume::new(spec, members.len() as u32, size),
            loads: vec![DiskLoad::default(); members.len()],
            members,
            requests: BTreeMap::new(),
            pieces: Slab::default(),
        }
    }

    /// Plans an admitted request, and sends its first pieces.
    fn start(&mut self, now: Nanos, token: u32, ended: &mut Vec<Ended>) {
        let Some(request) = self.requests.get_mut(&token) else { return };
        let Arrival { op, offset, bytes, .. } = request.arrival;
        self.volume.plan(op, offset, bytes, &self.loads, &mut request.plan);
        self.next_stage(now, token, ended);
    }

    /// Sends the pieces of the next stage that is not empty; ends the request after the last stage.
    fn next_stage(&mut self, now: Nanos, token: u32, ended: &mut Vec<Ended>) {
        while let Some(request) = self.requests.get_mut(&token) {
            if request.stage == request.plan.stages.len() {
                ended.push(Ended { token, at: now, outcome: request.outcome });
                self.requests.remove(&token);
                let ready = self.volume.release(token);
                ready.into_iter().for_each(|other| self.start(now, other, ended));
                return;
            }
            let pieces = request.plan.stage(request.stage).to_vec();
            request.stage += 1;
            request.left = pieces.len();
            for piece in &pieces {
                let Piece { disk, op, offset, bytes } = *piece;
                let token = self.pieces.insert((token, disk as usize));
                self.loads[disk as usize].waiting += 1;
                self.members[disk as usize].arrive(now, &Arrival { token, op, offset, bytes });
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
            // Every request has pieces, so none can end on arrival.
            self.start(now, token, &mut Vec::new());
        }
    }

    fn next_event(&self) -> Option<Nanos> {
        self.members.iter().filter_map(Device::next_event).min()
    }

    fn step(&mut self, until: Nanos, ended: &mut Vec<Ended>) -> Option<Nanos> {
        let next = self.next_event().filter(|next| *next <= until)?;
        let mut done = Vec::new();
        self.members.iter_mut().for_each(|member| member.advance(next, &mut done));
        for piece in done {
            let (token, member) = self.pieces.take(piece.token);
            self.loads[member].waiting -= 1;
            let Some(request) = self.requests.get_mut(&token) else { continue };
            request.left -= 1;
            if piece.outcome < 0 {
                request.outcome = request.outcome.min(piece.outcome);
            }
            if request.left == 0 {
                self.next_stage(next, token, ended);
            }
        }
        Some(next)
    }

    fn size(&self) -> u64 {
        self.volume.size()
    }
}
