//! Runs independent simulations on all processors.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;

/// Applies `work` to each item on a thread per processor; results are in the order of the items. Items not
/// started when `stop` was set are missing. `tick` gets the number of finished items after each.
pub fn on_all_processors<T: Sync, R: Send>(
    items: &[T],
    stop: &AtomicBool,
    work: impl Fn(&T) -> R + Sync,
    mut tick: impl FnMut(usize),
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let (next, work) = (&next, &work);
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            let sender = sender.clone();
            scope.spawn(move || {
                let take = || next.fetch_add(1, Ordering::Relaxed);
                while !stop.load(Ordering::Relaxed)
                    && let index = take()
                    && let Some(item) = items.get(index)
                    && sender.send((index, work(item))).is_ok()
                {}
            });
        }
        drop(sender);
        for ((index, result), done) in receiver.iter().zip(1..) {
            results[index] = Some(result);
            tick(done);
        }
    });
    results.into_iter().flatten().collect()
}
