//! Keeps the number of connections bounded, without letting those who hold them keep others out.
//!
//! Where all places are taken, a new connection takes the place of one that is there: of those that never asked
//! for anything that they may have the oldest, else the one that asked longest ago. So a client that opens connections and
//! says nothing, or that asks once and goes silent, does not stop a server that scrapes.
//!
//! Rejected: letting the new one wait (a scrape has ten seconds, as long as a silent client has), refusing it, and a number of
//! places for each address (behind a proxy all have one).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::AbortHandle;

/// The open connections.
pub(crate) struct Connections {
    places: Arc<Semaphore>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    /// Grows with each connection and each request.
    turn: u64,
    /// By the turn in which each came.
    by_turn: BTreeMap<u64, Connection>,
}

#[derive(Default)]
struct Connection {
    /// The turn of the last request that it had a right to.
    asked: Option<u64>,
    task: Option<AbortHandle>,
}

/// The place of one connection, which is free when this is dropped.
pub(crate) struct Place {
    connections: Arc<Connections>,
    turn: u64,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    pub(crate) fn new(most: u32) -> Self {
        Self { places: Arc::new(Semaphore::new(most as usize)), open: Mutex::default() }
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, where need be that of another connection, which ends; `None` where there will be none any more.
    pub(crate) async fn place(self: &Arc<Self>) -> Option<Place> {
        let free = Arc::clone(&self.places).try_acquire_owned().ok();
        let permit = match free {
            Some(permit) => permit,
            None => {
                self.end_one();
                Arc::clone(&self.places).acquire_owned().await.ok()?
            }
        };
        let mut open = self.open();
        open.turn += 1;
        let turn = open.turn;
        open.by_turn.insert(turn, Connection::default());
        drop(open);
        Some(Place { connections: Arc::clone(self), turn, _permit: permit })
    }

    fn end_one(&self) {
        let mut open = self.open();
        let least = open.by_turn.iter_mut().min_by_key(|(turn, it)| (it.asked, **turn));
        if let Some(task) = least.and_then(|(_, connection)| connection.task.take()) {
            task.abort();
        }
    }

    /// What ends the connection that has this place.
    pub(crate) fn served_by(&self, turn: u64, task: AbortHandle) {
        // It may have ended.
        if let Some(connection) = self.open().by_turn.get_mut(&turn) {
            connection.task = Some(task);
        }
    }

    /// Waits until no connection is left.
    pub(crate) async fn all_ended(&self, most: u32) {
        let _ = self.places.acquire_many(most).await;
    }
}

impl Place {
    /// Its number.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// A request came that its client has a right to.
    pub(crate) fn asked(&self) {
        let mut open = self.connections.open();
        open.turn += 1;
        let now = open.turn;
        if let Some(connection) = open.by_turn.get_mut(&self.turn) {
            connection.asked = Some(now);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.open().by_turn.remove(&self.turn);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use tokio::runtime::Builder;

    /// A connection that lasts until it is ended; the numbers of those that are left.
    async fn come(connections: &Arc<Connections>, asks: bool) -> u64 {
        let place = connections.place().await.unwrap();
        let turn = place.turn();
        if asks {
            place.asked();
        }
        let task = tokio::spawn(async move {
            let _place = place;
            pending::<()>().await;
        });
        connections.served_by(turn, task.abort_handle());
        turn
    }

    fn left(connections: &Connections) -> Vec<u64> {
        connections.open().by_turn.keys().copied().collect()
    }

    #[test]
    fn the_oldest_silent_one_makes_room_and_then_who_asked_longest_ago() {
        Builder::new_current_thread().build().unwrap().block_on(async {
            let connections = Arc::new(Connections::new(3));
            let first = come(&connections, true).await;
            come(&connections, false).await;
            let third = come(&connections, false).await;
            let fourth = come(&connections, true).await;
            assert_eq!(left(&connections), [first, third, fourth], "the second was silent");
            let fifth = come(&connections, true).await;
            assert_eq!(left(&connections), [first, fourth, fifth]);
            let sixth = come(&connections, false).await;
            assert_eq!(left(&connections), [fourth, fifth, sixth], "the first asked longest ago");
            let seventh = come(&connections, false).await;
            assert_eq!(left(&connections), [fourth, fifth, seventh]);
        });
    }
}
