//! Combines several files into a RAID 1 or RAID 5 array in software.
//!
//! The plan of a [`Volume`] determines what a request becomes. Simulated arrays use the same plans: stages of
//! transfers, which bytes are the exclusive-or of which others, and which request waits for which. This
//! engine moves the bytes. Jobs on one array share its volume behind a lock. A request takes the lock when it
//! starts and when it ends. A write to a stripe that another request uses waits for that request, on
//! whichever thread it runs. The lock is why this is a separate engine: [`Direct`] and
//! [`Striped`](crate::Striped) do not need it.
//!
//! A slot has extra memory besides that of its request, for data that is read and computed on the way.
//! Contiguous bytes move directly between the request's memory and the file; only others are copied. The
//! number of transfers in flight is limited, but not the plan: a transfer without a free tag waits.
//!
//! If all requests of an engine wait for those of other threads, it checks again at short intervals. It is
//! also woken when one of those requests ends. A request fails with the error of the first transfer that
//! fails. What its other transfers wrote stays; reading the array back reveals it.
//!
//! Rejected: a thread per leg (a request would be handed over twice), a log of writes in progress (the
//! measurement would include the cost of a second device; [docs/arrays.md] describes what a kill leaves), and
//! a lock per stripe (a request takes either all of its stripes at one moment or none).
//!
//! [docs/arrays.md]: ../../../../docs/arrays.md

mod shared;
mod slots;

pub use shared::{RebuildState, SharedArray};

use crate::{
    Act, Clock, Completion, Direct, Engine, EngineError, MonotonicClock, OpenEngine, Setup,
    Submission, Transfer, Transport, Wait, platform,
};
use record::{FlushKind, Nanos, OpKind};
use shared::State;
use slots::{Doing, MOST_TRANSFERS, OnItsWay, Queued, Slot};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;
use workload::Request;
use workload::volume::{Memory, StepsOver, VolumeSpec};

/// Interval between checks of a job whose requests wait for another job's.
const LOOK: Nanos = Nanos(100_000);

/// An engine that combines all files of its setup into an array.
#[derive(Debug)]
pub struct Array<T: Transport> {
    direct: Direct<T>,
    shared: std::sync::Arc<SharedArray>,
    /// Number of slot 0 among the requests of all engines.
    first: u32,
    /// Whether every write is a step of the rebuild.
    steps: bool,
    slots: Vec<Slot>,
    /// Indexed by tag.
    on_their_way: Vec<OnItsWay>,
    free_tags: Vec<u32>,
    queue: VecDeque<Queued>,
    /// Number of slots that wait for other requests.
    waiting: u32,
    /// Slots with a plan that are ready to start.
    planned: Vec<u32>,
    /// Finished slots.
    over: Vec<u32>,
    done: Vec<Completion>,
    /// Completions that have not been fetched yet.
    ready: Vec<Completion>,
    /// Whether transfers were pushed since the last hand-over.
    pushed: bool,
}

impl<T: Transport> OpenEngine for Array<T> {
    fn open(setup: &Setup) -> Result<Self, EngineError> {
        let shared = setup.array.clone().filter(|it| it.legs as usize == setup.files.len());
        let shared = shared.ok_or_else(|| EngineError::Unavailable {
            engine: "an array",
            cause: format!("{} targets that are not combined into one array", setup.files.len()),
            errno: platform::INVALID,
            remedy: "name several targets, and add --raid and --chunk",
        })?;
        let (depth, max_bytes) = (setup.depth.max(1), u64::from(setup.max_bytes.max(1)));
        let work = match setup.rebuilds {
            true => u64::from(shared.legs).saturating_mul(max_bytes),
            false => shared.work_bytes(max_bytes),
        };
        let work = usize::try_from(work).unwrap_or(usize::MAX);
        let of_stripe = u64::from(shared.legs) * 3;
        let pieces = shared.most_stripes(max_bytes).saturating_mul(of_stripe);
        let room = MOST_TRANSFERS.min(T::MOST);
        let most = u64::from(depth).saturating_mul(pieces).min(room.into()) as u32;
        let most = most.max(depth.min(room));
        let setup = &Setup { work_bytes: work, ..setup.clone() };
        Ok(Self {
            direct: Direct::open_for(setup, most)?,
            first: shared.join(depth),
            shared,
            steps: setup.rebuilds,
            slots: (0..depth).map(|_| Slot::new()).collect(),
            on_their_way: vec![OnItsWay::default(); most as usize],
            free_tags: (0..most).rev().collect(),
            queue: VecDeque::new(),
            waiting: 0,
            planned: Vec::with_capacity(depth as usize),
            over: Vec::with_capacity(depth as usize),
            done: Vec::with_capacity(most as usize),
            ready: Vec::with_capacity(depth as usize),
            pushed: false,
        })
    }

    fn data(&self, slot: u32, bytes: usize) -> &[u8] {
        self.direct.data(slot, bytes)
    }
}

impl<T: Transport> Array<T> {
    /// Plans the requests of admitted slots.
    fn plan(&mut self, state: &mut State) {
        let State { volume, loads, .. } = state;
        for &number in &self.planned {
            let slot = &mut self.slots[number as usize];
            let Request { offset, bytes, op } = slot.request;
            if self.steps {
                slot.doing = Doing::Step;
                volume.plan_rebuild(offset, bytes, loads, &mut slot.plan);
                volume.combine_rebuild(&slot.plan, &mut slot.sums);
            } else {
                slot.doing = Doing::Request;
                volume.plan(op, offset, bytes, loads, &mut slot.plan);
                volume.combine(op, offset, bytes, &slot.plan, &mut slot.sums);
            }
            for piece in &slot.plan.pieces {
                let load = &mut loads[piece.disk as usize];
                load.waiting += 1;
                load.head_bytes = piece.offset + u64::from(piece.bytes);
            }
        }
    }

    /// Starts the planned requests, without the lock.
    fn begin(&mut self) {
        while let Some(number) = self.planned.pop() {
            let slot = &mut self.slots[number as usize];
            (slot.stage, slot.error, slot.missing) = (0, 0, 0);
            slot.begins.clear();
            let mut at = 0;
            for (piece, direct) in slot.plan.pieces.iter().zip(&slot.sums.direct) {
                slot.begins.push(at);
                at += if direct.is_some() { 0 } else { piece.bytes as usize };
            }
            self.direct.check_work(at);
            self.next_stage(number);
        }
    }

    /// Address of a piece's bytes.
    fn address(&self, number: u32, piece: usize) -> *mut u8 {
        let slot = &self.slots[number as usize];
        match slot.sums.direct[piece] {
            // SAFETY: the piece is part of the request, whose memory is that long.
            Some(at) => unsafe { slot.memory.add(at as usize) },
            // SAFETY: the pieces of a plan fit the work area (`check_work`).
            None => unsafe { self.direct.work_area(number).add(slot.begins[piece]) },
        }
    }

    /// Sends the transfers of the next non-empty stage, or ends the request.
    fn next_stage(&mut self, number: u32) {
        loop {
            let slot = &self.slots[number as usize];
            let (stage, stages) = (slot.stage, slot.plan.stages.len());
            let write = slot.request.op == OpKind::Write;
            if stage == stages || slot.error != 0 || slot.missing > 0 {
                if !write && slot.error == 0 && slot.missing == 0 {
                    self.combine(number);
                }
                self.over.push(number);
                return;
            }
            if write && stage + 1 == stages {
                self.combine(number);
            }
            let slot = &mut self.slots[number as usize];
            let begin = stage.checked_sub(1).map_or(0, |before| slot.plan.stages[before].end);
            let end = slot.plan.stages[stage].end;
            slot.stage += 1;
            slot.left = (end - begin) as u32;
            for index in begin..end {
                let piece = self.slots[number as usize].plan.pieces[index];
                let act = if piece.op == OpKind::Read { Act::Read } else { Act::Write };
                let address = self.address(number, index);
                let (offset, bytes, file) = (piece.offset, piece.bytes, piece.disk);
                self.send(number, Transfer { address, offset, bytes, tag: 0, file, act });
            }
            if end > begin {
                return;
            }
        }
    }

    /// Pushes a transfer, or queues it until a tag is free.
    fn send(&mut self, slot: u32, transfer: Transfer) {
        match self.free_tags.pop() {
            Some(tag) => {
                self.on_their_way[tag as usize] = OnItsWay { slot, bytes: transfer.bytes };
                self.direct.transport.push(Transfer { tag, ..transfer });
                self.pushed = true;
            }
            None => self.queue.push_back(Queued { slot, transfer }),
        }
    }

    /// Computes the bytes that are the exclusive-or of others.
    fn combine(&self, number: u32) {
        let slot = &self.slots[number as usize];
        let address = |memory: Memory| match memory {
            // SAFETY: combinations use only bytes of the request and of its pieces.
            Memory::Request(at) => unsafe { slot.memory.add(at as usize) },
            // SAFETY: as above.
            Memory::Piece(piece, at) => unsafe {
                self.address(number, piece as usize).add(at as usize)
            },
        };
        for combination in &slot.sums.all {
            let length = combination.bytes as usize;
            let to = address(combination.to);
            let mut from = slot.sums.sources_of(combination).iter().map(|&it| address(it));
            let Some(first) = from.next() else { continue };
            // SAFETY: source and destination are separate: a computed piece is never a source, and a part of
            // the request is computed only from pieces or from other parts of it.
            unsafe { std::ptr::copy_nonoverlapping(first, to, length) };
            for other in from {
                // SAFETY: as above. Nothing else refers to either, because no transfer of the slot that uses
                // them is in flight.
                let (sum, other) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(to, length),
                        std::slice::from_raw_parts(other, length),
                    )
                };
                sum.iter_mut().zip(other).for_each(|(sum, byte)| *sum ^= byte);
            }
        }
    }

    /// Processes finished transfers, and continues the requests that they belong to.
    fn settle(&mut self) {
        for position in 0..self.done.len() {
            let Completion { slot: tag, outcome } = self.done[position];
            let OnItsWay { slot: number, bytes } = self.on_their_way[tag as usize];
            self.free_tags.push(tag);
            let slot = &mut self.slots[number as usize];
            slot.left -= 1;
            if outcome < 0 {
                slot.error = if slot.error == 0 { outcome } else { slot.error };
            } else {
                slot.missing += u64::from(bytes).saturating_sub(outcome as u64);
            }
            if slot.left > 0 {
                continue;
            }
            match slot.doing {
                Doing::Flush => self.over.push(number),
                _ => self.next_stage(number),
            }
        }
        self.done.clear();
        while !self.free_tags.is_empty()
            && let Some(Queued { slot, transfer }) = self.queue.pop_front()
        {
            self.send(slot, transfer);
        }
    }

    /// Ends finished requests and starts the requests that they admit.
    fn end_over(&mut self) {
        while !self.over.is_empty() {
            let shared = std::sync::Arc::clone(&self.shared);
            let mut state = shared.lock();
            let mut others = false;
            while let Some(number) = self.over.pop() {
                others |= self.end(number, &mut state);
            }
            self.plan(&mut state);
            drop(state);
            if others {
                shared.freed.notify_all();
            }
            self.begin();
        }
    }

    /// Ends a request. Returns whether it admitted a request of another engine.
    fn end(&mut self, number: u32, state: &mut State) -> bool {
        let slot = &mut self.slots[number as usize];
        let Request { offset, bytes, .. } = slot.request;
        let whole = slot.error == 0 && slot.missing == 0;
        let doing = slot.doing;
        if doing == Doing::Flush {
            self.complete(number);
            return false;
        }
        for piece in &slot.plan.pieces {
            state.loads[piece.disk as usize].waiting -= 1;
            if doing == Doing::Step && whole {
                match piece.op {
                    OpKind::Read => {
                        state.rebuild_read[piece.disk as usize] += u64::from(piece.bytes);
                    }
                    OpKind::Write => state.rebuild_written += u64::from(piece.bytes),
                }
            }
        }
        let ready = if doing == Doing::Step {
            let StepsOver { over, ready } =
                state.volume.rebuilt(self.first + number, offset, bytes, whole);
            // A step that must keep its stripes is not finished yet.
            over.into_iter().for_each(|number| self.complete(number - self.first));
            ready
        } else {
            self.complete(number);
            state.volume.release(self.first + number)
        };
        let before = self.planned.len();
        let others = state.hand_on(ready, self.first, &mut self.planned);
        self.waiting -= (self.planned.len() - before) as u32;
        others
    }

    /// Completes a finished slot.
    fn complete(&mut self, number: u32) {
        let slot = &mut self.slots[number as usize];
        let outcome = match (slot.error, std::mem::take(&mut slot.doing)) {
            (0, Doing::Flush) => 0,
            (0, _) => u64::from(slot.request.bytes).saturating_sub(slot.missing) as i32,
            (error, _) => error,
        };
        self.ready.push(Completion { slot: number, outcome });
    }

    /// Starts waiting requests that another engine has admitted.
    fn take_woken(&mut self) {
        if self.waiting == 0 {
            return;
        }
        let shared = std::sync::Arc::clone(&self.shared);
        let mut state = shared.lock();
        let own = self.first;
        if let Some(owner) = state.owners.iter_mut().find(|owner| owner.first == own) {
            self.planned.extend(owner.woken.drain(..).map(|number| number - own));
        }
        self.waiting -= self.planned.len() as u32;
        self.plan(&mut state);
        drop(state);
        self.begin();
    }

    fn transfers_in_flight(&self) -> u32 {
        (self.on_their_way.len() - self.free_tags.len()) as u32
    }

    /// Waits briefly for another engine to end a request.
    fn wait_for_others(&self, deadline: Option<Nanos>) {
        let state = self.shared.lock();
        let woken = |state: &State| {
            state.owners.iter().any(|owner| owner.first == self.first && !owner.woken.is_empty())
        };
        if woken(&state) {
            return;
        }
        let left = deadline.map_or(LOOK, |end| end.since(MonotonicClock.now()).min(LOOK));
        let waited = self.shared.freed.wait_timeout(state, Duration::from_nanos(left.0));
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

impl<T: Transport> Engine for Array<T> {
    fn prepare(&mut self, requests: &[Submission]) {
        for submission in requests {
            let memory = match self.steps {
                true => std::ptr::null_mut(),
                false => self.direct.address_of(submission),
            };
            let slot = &mut self.slots[submission.slot as usize];
            debug_assert_eq!(slot.doing, Doing::Nothing, "a slot carries one request");
            (slot.request, slot.memory) = (submission.request, memory);
        }
        let shared = std::sync::Arc::clone(&self.shared);
        let mut state = shared.lock();
        for submission in requests {
            let Request { offset, bytes, op } = submission.request;
            let number = self.first + submission.slot;
            let admitted = match self.steps {
                true => state.volume.claim_rebuild(number, offset, bytes),
                false => state.volume.claim(number, op, offset, bytes),
            };
            if admitted {
                self.planned.push(submission.slot);
            } else {
                self.slots[submission.slot as usize].doing = Doing::Waits;
                self.waiting += 1;
            }
        }
        self.plan(&mut state);
        drop(state);
        self.begin();
    }

    fn flush(&mut self, slot: u32, kind: FlushKind) {
        let failed = self.shared.spec.failed.filter(|_| !self.shared.rebuilds);
        let legs: Vec<u32> = (0..self.shared.legs).filter(|&leg| Some(leg) != failed).collect();
        let state = &mut self.slots[slot as usize];
        (state.doing, state.left) = (Doing::Flush, legs.len() as u32);
        (state.error, state.missing) = (0, 0);
        for leg in legs {
            self.send(slot, Transfer::flush(leg, 0, kind));
        }
    }

    fn hand_over(&mut self) -> Result<(), EngineError> {
        self.pushed = false;
        self.direct.hand_over()
    }

    fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
        loop {
            self.take_woken();
            // A plan without transfers can finish as it starts.
            self.end_over();
            let missing = ask.min.saturating_sub(self.ready.len() as u32);
            let in_flight = self.transfers_in_flight();
            let late = || ask.deadline.is_some_and(|end| MonotonicClock.now() >= end);
            if in_flight == 0 {
                if missing == 0 || self.waiting == 0 || late() {
                    break;
                }
                self.wait_for_others(ask.deadline);
                continue;
            }
            // Meanwhile, other engines may admit the requests that wait here.
            let look = (self.waiting > 0).then(|| MonotonicClock.now().plus(LOOK));
            let deadline = ask.deadline.into_iter().chain(look).min();
            let transfers = Wait { min: missing.min(1), max: in_flight, deadline };
            self.pushed = false;
            self.direct.transport.wait(transfers, &mut self.done)?;
            let silent = self.done.is_empty();
            self.settle();
            self.end_over();
            if self.ready.len() as u32 >= ask.min || silent && late() {
                break;
            }
        }
        if self.pushed {
            self.hand_over()?;
        }
        let count = self.ready.len().min(ask.max as usize);
        done.extend(self.ready.drain(..count));
        Ok(())
    }

    fn features(&self) -> Vec<String> {
        let mut features = self.direct.features();
        let VolumeSpec { raid, chunk_bytes, failed, .. } = self.shared.spec;
        let failed = failed.map_or_else(String::new, |leg| format!(", target {leg} failed"));
        features.push(format!(
            "RAID {} over {} targets in chunks of {chunk_bytes} bytes{failed}",
            raid.word(),
            self.shared.legs
        ));
        features
    }
}

impl<T: Transport> Drop for Array<T> {
    /// Releases other jobs that wait for this engine's requests, after its transfers have ended.
    fn drop(&mut self) {
        self.direct.come_home();
        let mut state = self.shared.lock();
        let own = state.owners.iter_mut().find(|owner| owner.first == self.first);
        let admitted = own.map_or_else(Vec::new, |owner| {
            owner.gone = true;
            std::mem::take(&mut owner.woken)
        });
        state.hand_on(admitted, self.first, &mut Vec::new());
        for (slot, number) in self.slots.iter().zip(self.first..) {
            if slot.doing == Doing::Request || slot.doing == Doing::Step {
                let ready = match slot.doing {
                    Doing::Step => {
                        let Request { offset, bytes, .. } = slot.request;
                        state.volume.rebuilt(number, offset, bytes, false).ready
                    }
                    _ => state.volume.release(number),
                };
                state.hand_on(ready, self.first, &mut Vec::new());
            }
        }
        drop(state);
        self.shared.freed.notify_all();
    }
}
