//! Tests that every engine must pass. The author of an engine in a custom build can call them. They check
//! that the same file returns the same bytes, that each request completes exactly once, that errors and short
//! transfers are reported as they are, that waits end when they should, and that an engine can be dropped at
//! any moment.
//!
//! The tests of this crate call the same functions for every engine in the table. They write to the file that
//! they are given. Rejected: a test suite to copy, because copies become outdated.

use crate::{
    Act, AsRawFile, Clock, Completion, DRAIN, Direct, EngineError, Memory, MonotonicClock,
    OpenEngine, Setup, Submission, Transfer, Transport, Wait, read_all, write_all,
};
use record::{Nanos, OpKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Error;
use std::marker::PhantomData;
use workload::{Request, derive_seed};

/// Bytes of a request.
pub const BLOCK: u32 = 4_096;
/// Number of blocks in the test file.
pub const BLOCKS: u64 = 64;
/// Length of the test file.
pub const LENGTH: u64 = BLOCKS * BLOCK as u64;

/// A violation of the engine contract.
#[derive(Debug, thiserror::Error)]
pub enum Violation {
    /// The engine failed or could not be opened.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The test file could not be prepared.
    #[error("cannot prepare the test file: {0}")]
    File(#[from] Error),
    /// The engine behaved differently from the contract.
    #[error("{0}")]
    Wrong(String),
}

fn must(holds: bool, text: impl FnOnce() -> String) -> Result<(), Violation> {
    if holds { Ok(()) } else { Err(Violation::Wrong(text())) }
}

/// A setup for requests of one block on one file.
#[must_use]
pub fn setup(file: &File, depth: u32, writes: bool) -> Setup {
    let files = vec![file.as_raw_file()];
    Setup { writes, data_seed: 1, ..Setup::reading(files, depth, BLOCK) }
}

/// Writes the pattern that [`check`] reads.
///
/// # Errors
/// If the file cannot be written.
pub fn fill(file: &File) -> Result<(), Error> {
    for block in 0..BLOCKS {
        let bytes: Vec<u8> = (0..BLOCK).map(|i| (u64::from(i) * 7 + block * 13) as u8).collect();
        write_all(file, &bytes, block * u64::from(BLOCK))?;
    }
    file.set_len(LENGTH)
}

/// A read of a block at an offset.
#[must_use]
pub fn read_at(offset: u64) -> Request {
    Request { offset, bytes: BLOCK, op: OpKind::Read }
}

/// A request in a slot.
#[must_use]
pub fn submission(slot: u32, request: Request) -> Submission {
    Submission { request, slot, generation: 0 }
}

/// Carries out the requests with at most `depth` in flight, and passes each completion with its data to
/// `each`.
///
/// # Errors
/// If the engine fails, or completes a request that is not in flight.
pub fn drive<E: OpenEngine>(
    engine: &mut E,
    depth: u32,
    requests: &[Request],
    mut each: impl FnMut(Request, Completion, &[u8]),
) -> Result<(), Violation> {
    let mut slots: BTreeMap<u32, Request> = BTreeMap::new();
    let mut free: Vec<u32> = (0..depth).collect();
    let mut queue = requests.iter();
    let mut done = Vec::new();
    loop {
        let mut batch = Vec::new();
        while let Some(&slot) = free.last() {
            let Some(&request) = queue.next() else { break };
            free.pop();
            slots.insert(slot, request);
            batch.push(submission(slot, request));
        }
        engine.prepare(&batch);
        if slots.is_empty() {
            return Ok(());
        }
        done.clear();
        engine.wait(Wait::new(1, depth), &mut done)?;
        must(!done.is_empty(), || "wait returned without a completion".to_owned())?;
        for completion in &done {
            let request = slots.remove(&completion.slot).ok_or_else(|| {
                let slot = completion.slot;
                Violation::Wrong(format!("slot {slot} completed, but was not in flight"))
            })?;
            let bytes = usize::try_from(completion.outcome).unwrap_or(0);
            each(request, *completion, engine.data(completion.slot, bytes));
            free.push(completion.slot);
        }
    }
}

/// Runs the whole suite on a file, which is overwritten. `E` is `Direct<T>` for a transport `T`.
///
/// # Errors
/// The first violation.
pub fn check<E: OpenEngine>(file: &File) -> Result<(), Violation> {
    fill(file)?;
    for depth in [1, 7, 32] {
        reads_what_is_there::<E>(file, depth)?;
    }
    waits_for_what_was_asked::<E>(file)?;
    drops_in_flight::<E>(file)?;
    opens_twenty_times::<E>(file)?;
    file.set_len(LENGTH - 100)?;
    reports_short_reads::<E>(file)?;
    file.set_len(LENGTH)?;
    for depth in [1, 8] {
        writes_what_it_says::<E>(file, depth)?;
    }
    Ok(())
}

/// 500 random reads return the bytes of the file, in any order of completion.
///
/// # Errors
/// [`Violation`].
pub fn reads_what_is_there<E: OpenEngine>(file: &File, depth: u32) -> Result<(), Violation> {
    let block = |index: u64| derive_seed(42, index) % BLOCKS;
    let requests: Vec<Request> =
        (0..500).map(|index| read_at(block(index) * u64::from(BLOCK))).collect();
    let mut engine = E::open(&setup(file, depth, false))?;
    let mut wrong = Vec::new();
    let mut count = 0;
    drive(&mut engine, depth, &requests, |request, completion, data| {
        let mut expected = vec![0; BLOCK as usize];
        let read = read_all(file, &mut expected, request.offset);
        count += 1;
        if read.is_err() || completion.outcome != BLOCK as i32 || data != expected {
            wrong.push((request.offset, completion.outcome));
        }
    })?;
    must(wrong.is_empty(), || format!("depth {depth}: offset and outcome {:?}", wrong.first()))?;
    must(count == requests.len(), || format!("depth {depth}: {count} of 500 completed"))
}

/// Writes reach the file completely, with data that does not repeat.
///
/// # Errors
/// [`Violation`].
pub fn writes_what_it_says<E: OpenEngine>(file: &File, depth: u32) -> Result<(), Violation> {
    // The old content of the file would prove nothing.
    file.set_len(0)?;
    file.set_len(LENGTH)?;
    let requests: Vec<Request> = (0..BLOCKS)
        .map(|block| Request { op: OpKind::Write, ..read_at(block * u64::from(BLOCK)) })
        .collect();
    let mut engine = E::open(&setup(file, depth, true))?;
    let mut outcomes = BTreeSet::new();
    drive(&mut engine, depth, &requests, |_, completion, _| {
        outcomes.insert(completion.outcome);
    })?;
    must(outcomes == BTreeSet::from([BLOCK as i32]), || format!("writes gave {outcomes:?}"))?;
    let mut data = vec![0; LENGTH as usize];
    read_all(file, &mut data, 0).map_err(Error::from)?;
    let blocks: BTreeSet<&[u8]> = data.chunks(BLOCK as usize).collect();
    must(blocks.len() as u64 == BLOCKS, || "written blocks repeat".to_owned())
}

/// With a file that ends within a block, the read there is short and a read beyond the end returns nothing.
///
/// # Errors
/// [`Violation`].
pub fn reports_short_reads<E: OpenEngine>(file: &File) -> Result<(), Violation> {
    let reads = [read_at(LENGTH - u64::from(BLOCK)), read_at(LENGTH)];
    let mut engine = E::open(&setup(file, 1, false))?;
    let mut outcomes = Vec::new();
    drive(&mut engine, 1, &reads, |_, completion, _| outcomes.push(completion.outcome))?;
    must(outcomes == [BLOCK as i32 - 100, 0], || format!("short reads gave {outcomes:?}"))
}

/// All requests of a depth are issued at once, and waited for in several ways.
///
/// # Errors
/// [`Violation`].
pub fn waits_for_what_was_asked<E: OpenEngine>(file: &File) -> Result<(), Violation> {
    const DEPTH: u32 = 16;
    let mut engine = E::open(&setup(file, DEPTH, false))?;
    engine.prepare(&sixteen());
    engine.hand_over()?;
    let mut done: Vec<Completion> = Vec::new();
    engine.wait(Wait::new(1, 1), &mut done)?;
    must(done.len() == 1, || format!("expected one completion, got {}", done.len()))?;
    // A past deadline and polling: neither blocks, and neither returns too many completions.
    let passed = MonotonicClock.now();
    engine.wait(Wait::new(0, 2), &mut done)?;
    must(done.len() <= 3, || format!("expected at most three completions, got {}", done.len()))?;
    let rest = DEPTH - done.len() as u32;
    engine.wait(Wait::new(1, rest).until(passed), &mut done)?;
    let rest = DEPTH - done.len() as u32;
    let far = MonotonicClock.now().plus(Nanos(60_000_000_000));
    engine.wait(Wait::new(rest, rest).until(far), &mut done)?;
    let slots: BTreeSet<u32> = done.iter().map(|completion| completion.slot).collect();
    must((done.len(), slots.len()) == (16, 16), || "each completes exactly once".to_owned())?;
    let whole = done.iter().all(|completion| completion.outcome == BLOCK as i32);
    must(whole, || format!("{done:?}"))?;
    engine.wait(Wait::new(0, DEPTH), &mut done)?;
    must(done.len() == 16, || "a completion with nothing in flight".to_owned())
}

/// An engine can be dropped with requests prepared, handed over, or partly waited for.
///
/// # Errors
/// [`Violation`].
pub fn drops_in_flight<E: OpenEngine>(file: &File) -> Result<(), Violation> {
    let begin = MonotonicClock.now();
    let open = || E::open(&setup(file, 16, false));
    let mut engine = open()?;
    engine.prepare(&sixteen());
    drop(engine);
    let mut engine = open()?;
    engine.prepare(&sixteen());
    engine.hand_over()?;
    drop(engine);
    let mut engine = open()?;
    engine.prepare(&sixteen());
    engine.wait(Wait::new(3, 3), &mut Vec::new())?;
    drop(engine);
    let took = MonotonicClock.now().since(begin);
    must(took < DRAIN, || "a drop gave up requests in flight".to_owned())
}

/// Tests the contract of [`Transport::quiesce`] for the transport of an engine: nothing is in flight after it
/// returns `true`. The cases are transfers that were not handed over, that were handed over, that the kernel
/// refuses, and that have completed but were not waited for.
///
/// # Errors
/// [`Violation`].
pub fn quiesces<T: Transport>(_: PhantomData<Direct<T>>, file: &File) -> Result<(), Violation> {
    const MOST: u32 = 16;
    let mut memory = vec![0_u64; (MOST * BLOCK) as usize / 8 + BLOCK as usize];
    let base = memory.as_mut_ptr().cast::<u8>();
    let base = base.wrapping_add(base.align_offset(BLOCK as usize));
    let of_all = Memory { base: base.cast(), bytes: (MOST * BLOCK) as usize };
    for (refused, handed_over, waited_for) in
        [(0, false, 0), (0, true, 0), (0, true, 3), (4, true, 0), (4, true, 1), (4, false, 0)]
    {
        let mut transport = T::open(&setup(file, MOST, false), MOST, of_all)?;
        for tag in 0..MOST {
            // A file does not support a discard: the call fails, or the engine has no such operation.
            let act = if tag < refused { Act::Discard } else { Act::Read };
            let at = tag * BLOCK;
            let (address, offset) = (base.wrapping_add(at as usize), u64::from(at));
            transport.push(Transfer { address, offset, bytes: BLOCK, tag, file: 0, act });
        }
        if handed_over {
            transport.hand_over()?;
        }
        let mut done = Vec::new();
        if waited_for > 0 {
            transport.wait(Wait::new(waited_for, waited_for), &mut done)?;
        }
        let case =
            || format!("refused: {refused}, submitted: {handed_over}, waited for: {waited_for}");
        if !transport.quiesce() {
            // The kernel may still write to this memory.
            std::mem::forget(memory);
            return Err(Violation::Wrong(format!("{}: reads of a file never end", case())));
        }
        let before = done.len();
        transport.wait(Wait::new(0, MOST), &mut done)?;
        must(done.len() == before, || format!("{}: something was still in flight", case()))?;
    }
    Ok(())
}

/// An engine opened for the twentieth time has the same features as the first, on one thread.
///
/// # Errors
/// [`Violation`].
pub fn opens_twenty_times<E: OpenEngine>(file: &File) -> Result<(), Violation> {
    let setup = setup(file, 4, true);
    let first = E::open(&setup)?.features();
    must(!first.is_empty(), || "an engine says what it got from the kernel".to_owned())?;
    for _ in 1..20 {
        let mut engine = E::open(&setup)?;
        let features = engine.features();
        must(features == first, || format!("{features:?} after {first:?}"))?;
        drive(&mut engine, 4, &[read_at(0); 5], |_, _, _| {})?;
    }
    Ok(())
}

fn sixteen() -> Vec<Submission> {
    (0..16).map(|slot| submission(slot, read_at(u64::from(slot * BLOCK)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::threads::Threads;
    use crate::{OneByOne, PlainCalls};
    use tempfile::NamedTempFile;

    /// Reports that it is quiet while transfers are in flight.
    struct Hasty<T>(T);

    impl<T: Transport> Transport for Hasty<T> {
        fn open(setup: &Setup, most: u32, memory: Memory) -> Result<Self, EngineError> {
            T::open(setup, most, memory).map(Self)
        }
        fn push(&mut self, transfer: Transfer) {
            self.0.push(transfer);
        }
        fn wait(&mut self, ask: Wait, done: &mut Vec<Completion>) -> Result<(), EngineError> {
            self.0.wait(Wait { min: ask.max, ..ask }, done)
        }
        fn quiesce(&mut self) -> bool {
            true
        }
        fn features(&self) -> Vec<String> {
            self.0.features()
        }
    }

    /// A file with a name, because Windows opens a file without a name only once.
    fn filled() -> NamedTempFile {
        let file = NamedTempFile::new().unwrap();
        fill(file.as_file()).unwrap();
        file
    }

    #[test]
    fn no_transport_has_anything_in_flight_once_it_says_so() {
        fn kept<T: Transport>(file: &File) {
            let outcome = quiesces(PhantomData::<Direct<T>>, file);
            outcome.unwrap_or_else(|it| panic!("{}: {it}", std::any::type_name::<T>()));
        }
        let named = filled();
        let file = named.as_file();
        kept::<OneByOne<PlainCalls>>(file);
        kept::<Threads>(file);
        #[cfg(target_os = "linux")]
        {
            kept::<OneByOne<crate::Mappings>>(file);
            // qemu-user lacks both io_uring and io_submit.
            if testkit::emulator().is_none() {
                kept::<crate::Uring<false>>(file);
                kept::<crate::linux::Libaio>(file);
            }
        }
    }

    #[test]
    fn a_transport_that_says_so_too_early_is_found_out() {
        let quiet = PhantomData::<Direct<Hasty<OneByOne<PlainCalls>>>>;
        let violation = quiesces(quiet, filled().as_file()).unwrap_err();
        assert!(violation.to_string().contains("still in flight"), "{violation}");
    }
}
