//! Limits the number of open connections.
//!
//! If all places are taken, a new connection replaces an existing one: the oldest of those that have never
//! sent an admitted request, or else the one whose last admitted request is oldest. A client that opens
//! connections and sends nothing, or sends one request and then nothing, therefore does not block a scraping
//! server.
//!
//! Rejected: letting the new connection wait (a scrape times out after ten seconds, as a silent client does);
//! refusing it; a limit per address (behind a proxy, all clients have the same address).

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
    /// Incremented by each connection and each request.
    turn: u64,
    /// Connections by the turn in which they were opened.
    by_turn: BTreeMap<u64, Connection>,
}

#[derive(Default)]
struct Connection {
    /// Turn of the last admitted request.
    asked: Option<u64>,
    task: Option<AbortHandle>,
}

/// The place of one connection; dropping it frees the place.
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

    /// Returns a place. If all are taken, ends another connection. `None` once the server has ended.
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

    /// Sets the task to abort when the connection must end.
    pub(crate) fn served_by(&self, turn: u64, task: AbortHandle) {
        // The connection may have ended already.
        if let Some(connection) = self.open().by_turn.get_mut(&turn) {
            connection.task = Some(task);
        }
    }

    /// Waits until all connections have ended.
    pub(crate) async fn all_ended(&self, most: u32) {
        let _ = self.places.acquire_many(most).await;
    }
}

impl Place {
    /// Number of the connection.
    pub(crate) fn turn(&self) -> u64 {
        self.turn
    }

    /// Records an admitted request.
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

    /// Opens a connection that lasts until it is aborted; returns its number.
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
