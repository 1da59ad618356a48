//! Serves the metrics over HTTP, with a start page that links them and a health check.
//!
//! One thread serves all connections and another one takes samples; neither waits for the other. A connection
//! ends if its request does not arrive, if its response is not read, and in any case after some minutes. The
//! number of connections is limited. An attacker thus cannot exhaust the memory of a machine whose disks are
//! in trouble. Nothing from a request is logged.

use crate::exporter::connections::{Connections, Place};
use crate::exporter::patience::{PATIENCE, Patient};
use crate::exporter::snapshot::{OwnFigures, Reading};
use crate::exporter::text::rendered;
use crate::exporter::{Format, HostNames, Snapshot};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router};
use host::kernel;
use hyper::server::conn::http1;
use hyper_tokio::rt::{TokioIo, TokioTimer};
use hyper_tokio::service::TowerToHyperService;
use record::Nanos;
use std::future::{Future, poll_fn};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Maximum number of connections; Prometheus uses one.
const CONNECTIONS: u32 = 64;
/// Maximum lifetime of a connection, and the time that it then has to end; also at the program's end.
const LIFETIME: Duration = Duration::from_secs(600);
const GRACE: Duration = Duration::from_secs(2);
/// Delay after the system refused a connection, for example for lack of file descriptors.
const REFUSED: Duration = Duration::from_millis(100);
/// A sample is stale after this many intervals, but not before `STALE`.
const STALE_INTERVALS: f64 = 3.0;
const STALE: Duration = Duration::from_secs(10);

const PAGE: &str = include_str!("page.html");

/// Why the server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServerError {
    /// The server cannot listen on the address.
    #[error("cannot listen on {address}: {cause}{hint}")]
    Listen {
        /// Address and port.
        address: SocketAddr,
        /// Error of the system.
        cause: std::io::Error,
        /// What to do.
        hint: &'static str,
    },
    /// A thread or the network: the operation that failed, and the system's error.
    #[error("cannot {0}: {1}")]
    System(&'static str, std::io::Error),
}

/// Data that the sampling thread passes to the serving thread.
pub struct Published {
    version: String,
    interval: Duration,
    latest: Mutex<Latest>,
    scrapes: AtomicU64,
    refused: AtomicU64,
}

#[derive(Default)]
struct Latest {
    snapshot: Option<(Arc<Snapshot>, Instant, SystemTime)>,
    samples: u64,
    missed: u64,
}

impl Published {
    /// For a program of this version that samples at this interval.
    #[must_use]
    pub fn new(version: &str, interval: Nanos) -> Self {
        Self {
            version: version.to_owned(),
            interval: Duration::from_nanos(interval.0),
            latest: Mutex::default(),
            scrapes: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        }
    }

    /// Publishes a sample taken now. `missed` counts the samples missed since the start.
    pub fn publish(&self, snapshot: Snapshot, missed: u64) {
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        latest.snapshot = Some((Arc::new(snapshot), Instant::now(), SystemTime::now()));
        latest.samples += 1;
        latest.missed = missed;
    }

    fn reading(&self) -> Reading {
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let oldest = self.interval.mul_f64(STALE_INTERVALS).max(STALE);
        let fresh = latest.snapshot.as_ref().filter(|(_, taken, _)| taken.elapsed() <= oldest);
        let unix_s = |time: SystemTime| Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64());
        Reading {
            snapshot: fresh.map(|(snapshot, ..)| Arc::clone(snapshot)),
            own: OwnFigures {
                version: self.version.clone(),
                interval_s: self.interval.as_secs_f64(),
                last_sample_unix_s: latest.snapshot.as_ref().and_then(|it| unix_s(it.2)),
                samples: latest.samples,
                missed: latest.missed,
                scrapes: self.scrapes.fetch_add(1, Relaxed) + 1,
                refused: self.refused.load(Relaxed),
                cpu_s: kernel::cpu_time_ns() as f64 / 1e9,
            },
        }
    }

    fn is_ready(&self) -> bool {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).snapshot.is_some()
    }
}

/// A listening socket.
pub struct Server {
    socket: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Listens on an address; port 0 selects a free port.
    ///
    /// # Errors
    /// If the system refuses; the error says what to do.
    pub fn listen(address: SocketAddr) -> Result<Self, ServerError> {
        let refused = |cause: std::io::Error| {
            let hint = match cause.kind() {
                ErrorKind::AddrInUse => {
                    ": another program uses the port (`ss -ltnp` shows which); end it or name \
                     another port"
                }
                ErrorKind::AddrNotAvailable => {
                    ": this machine has no such address (`ip address` lists its addresses)"
                }
                ErrorKind::PermissionDenied => {
                    ": ports below 1024 need privileges; name a higher one"
                }
                _ => "",
            };
            ServerError::Listen { address, cause, hint }
        };
        let socket = TcpListener::bind(address).map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        socket.set_nonblocking(true).map_err(refused)?;
        Ok(Self { socket, address })
    }

    /// The address, with the actual port.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves on a new thread until the returned value is dropped. Only requests for these host names are
    /// answered.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        self,
        names: HostNames,
        published: Arc<Published>,
    ) -> Result<Serving, ServerError> {
        let cannot = |what| move |cause| ServerError::System(what, cause);
        let runtime = Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.map_err(cannot("start the server"))?;
        let entered = runtime.enter();
        let listener =
            tokio::net::TcpListener::from_std(self.socket).map_err(cannot("use the socket"))?;
        drop(entered);
        let (end, ended) = watch::channel(false);
        let asked = Arc::new(Asked { published, names });
        let work = move || run(&runtime, listener, asked, ended);
        let thread = std::thread::Builder::new().name("exporter".to_owned()).spawn(work);
        Ok(Serving { end, thread: Some(thread.map_err(cannot("start a thread"))?) })
    }
}

/// A running server. When dropped, it completes current responses and ends.
pub struct Serving {
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.end.send(true);
        // A thread that panicked has already printed why.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Shared state of the request handlers.
struct Asked {
    published: Arc<Published>,
    names: HostNames,
}

fn run(
    runtime: &Runtime,
    listener: tokio::net::TcpListener,
    asked: Arc<Asked>,
    mut ended: watch::Receiver<bool>,
) {
    let connections = Arc::new(Connections::new(CONNECTIONS));
    let accepting = accept(listener, asked, Arc::clone(&connections), ended.clone());
    let accepting = runtime.spawn(accepting);
    runtime.block_on(async {
        let _ = ended.wait_for(|ended| *ended).await;
        accepting.abort();
        let _ = tokio::time::timeout(GRACE, connections.all_ended(CONNECTIONS)).await;
    });
}

async fn accept(
    listener: tokio::net::TcpListener,
    asked: Arc<Asked>,
    connections: Arc<Connections>,
    ended: watch::Receiver<bool>,
) {
    let router = router(asked);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(REFUSED).await;
            continue;
        };
        let Some(place) = connections.place().await else { return };
        let turn = place.turn();
        let place = Arc::new(place);
        let router = router.clone().layer(Extension(Arc::clone(&place)));
        let ended = ended.clone();
        let task = tokio::spawn(async move {
            let lasts = speak(stream, router, ended);
            let _ = tokio::time::timeout(LIFETIME + GRACE, lasts).await;
            drop(place);
        });
        connections.served_by(turn, task.abort_handle());
    }
}

/// Serves a connection until the client ends it, its lifetime is over, or the program ends.
async fn speak(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    router: Router,
    mut ended: watch::Receiver<bool>,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
    let service = TowerToHyperService::new(router);
    let mut connection = pin!(http.serve_connection(TokioIo::new(Patient::new(stream)), service));
    let mut last = pin!(tokio::time::timeout(LIFETIME, ended.wait_for(|ended| *ended)));
    let mut told = false;
    let spoken = poll_fn(|context| {
        if !told && last.as_mut().poll(context).is_ready() {
            told = true;
            connection.as_mut().graceful_shutdown();
        }
        connection.as_mut().poll(context)
    });
    // A client that disconnects or does not speak HTTP gets no response.
    let _ = spoken.await;
}

fn router(asked: Arc<Asked>) -> Router {
    let admitted = middleware::from_fn_with_state(Arc::clone(&asked), admit);
    Router::new()
        .route("/", get(page))
        .route("/metrics", get(metrics))
        .route("/-/healthy", get(async || "halfpower is running.\n"))
        .route("/-/ready", get(ready))
        .fallback(async || (StatusCode::NOT_FOUND, "Use /metrics or /-/healthy.\n"))
        .layer(admitted)
        .with_state(asked)
}

/// Response to a request for another host name.
const MISDIRECTED: &str = "This exporter does not serve the name in the Host header. Use its \
                           address or the machine's own name, or start halfpower watch with \
                           --allow-host NAME.\n";

/// Admits requests that use a name of this machine.
async fn admit(
    State(asked): State<Arc<Asked>>,
    Extension(place): Extension<Arc<Place>>,
    request: Request,
    next: Next,
) -> Response {
    if !asked.names.admit(request.uri(), request.headers()) {
        asked.published.refused.fetch_add(1, Relaxed);
        return (StatusCode::MISDIRECTED_REQUEST, MISDIRECTED).into_response();
    }
    place.asked();
    next.run(request).await
}

async fn page() -> impl IntoResponse {
    let policy = "default-src 'none'; style-src 'unsafe-inline'";
    ([(CONTENT_TYPE, "text/html; charset=utf-8"), (CONTENT_SECURITY_POLICY, policy)], PAGE)
}

async fn ready(State(asked): State<Arc<Asked>>) -> (StatusCode, &'static str) {
    match asked.published.is_ready() {
        true => (StatusCode::OK, "The first sample has been taken.\n"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "The first sample has not been taken.\n"),
    }
}

async fn metrics(State(asked): State<Arc<Asked>>, headers: HeaderMap) -> Response {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    let format = Format::accepted(accept.unwrap_or_default());
    let head: [(HeaderName, &str); 3] = [
        (CONTENT_TYPE, format.content_type()),
        (CACHE_CONTROL, "no-store"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    match rendered(asked.published.reading(), format) {
        Ok(text) => (head, Body::from(text)).into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};
    use tokio::time::Instant;

    /// Sends these bytes to the server. Returns the length of its response and the time until the connection
    /// ends. The clock is simulated: it advances whenever no task can run.
    fn spoken(sent: &'static [u8], reads: bool) -> (usize, Duration) {
        let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let (mut client, server) = duplex(1 << 10);
            let (_end, ended) = watch::channel(false);
            let router = Router::new().route("/metrics", get(async || "x".repeat(1 << 20)));
            let begin = Instant::now();
            let speaking = tokio::spawn(speak(server, router, ended));
            client.write_all(sent).await.unwrap();
            let mut said = Vec::new();
            if reads {
                let _ = client.read_to_end(&mut said).await;
            }
            speaking.await.unwrap();
            (said.len(), begin.elapsed())
        })
    }

    #[test]
    fn a_connection_ends_when_its_request_does_not_come() {
        assert_eq!(spoken(b"", true), (0, PATIENCE));
        assert_eq!(spoken(b"GET /metrics HTTP/1.1\r\nHost:", true).1, PATIENCE);
    }

    #[test]
    fn a_connection_ends_when_the_next_request_does_not_come_or_its_answer_is_not_taken() {
        let request = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
        let (said, took) = spoken(request, true);
        assert!(said > 1 << 20, "{said}");
        assert_eq!(took, PATIENCE);
        assert_eq!(spoken(request, false).1, PATIENCE);
    }
}
