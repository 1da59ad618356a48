//! An etcd of one's own: puts one after the other, and what its own histogram says of the log's flushes.

use anyhow::{Context, Result, bail, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The name of its histogram of flushes of the log.
const FLUSHES: &str = "etcd_disk_wal_fsync_duration_seconds";
/// What a put of [`Etcd::put`] takes in the log: its key and value, and some 60 bytes of request, entry and
/// record around them.
pub(super) const RECORD_BYTES: u32 = 3 + 201 + 60;
/// How long it may take to answer at first.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) struct Etcd {
    child: Child,
    running: testkit::Undo,
    port: u16,
}

/// Flushes of the log during a load.
pub(super) struct Flushes {
    pub(super) mean_ns: f64,
    /// The ends of the bucket that holds the 99th percentile.
    pub(super) p99_ns: (f64, f64),
}

impl Etcd {
    /// Starts a server below `folder`; the inner error says what the machine lacks.
    pub(super) fn start(folder: &Path) -> Result<Result<Self, String>> {
        let [client, peer] = [free_port()?, free_port()?];
        let url = |port: u16| format!("http://127.0.0.1:{port}");
        let started = Command::new("etcd")
            .arg("--data-dir")
            .arg(folder.join("etcd"))
            .args(["--listen-client-urls", &url(client), "--advertise-client-urls", &url(client)])
            .args(["--listen-peer-urls", &url(peer), "--initial-advertise-peer-urls", &url(peer)])
            .args(["--initial-cluster", &format!("default={}", url(peer))])
            .args(["--log-level", "error"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let child = match started {
            Ok(child) => child,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Err("no etcd on the path".to_owned()));
            }
            Err(error) => return Err(error).context("cannot start etcd"),
        };
        let running = testkit::Undo::process(child.id());
        let server = Self { child, running, port: client };
        let begin = Instant::now();
        while server.histogram().is_err() {
            ensure!(begin.elapsed() < PATIENCE, "etcd does not answer");
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(Ok(server))
    }

    /// Puts one key after the other for so long.
    pub(super) fn put(&self, seconds: u32) -> Result<Flushes> {
        let before = self.histogram()?;
        let mut connection = Connection::new(self.port)?;
        // "key" and a value of 200 bytes, in base64 as its gateway takes them.
        let body = format!("{{\"key\":\"a2V5\",\"value\":\"{}\"}}", "QUFB".repeat(67));
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(u64::from(seconds)) {
            connection.ask("POST", "/v3/kv/put", &body)?;
        }
        self.histogram()?.since(&before)
    }

    fn histogram(&self) -> Result<Histogram> {
        let text = Connection::new(self.port)?.ask("GET", "/metrics", "")?;
        Histogram::read(&text).context("no histogram of the log's flushes")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        // One that has ended already is none to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.running.forget();
    }
}

/// A port that is free now.
fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// Requests one after the other on one connection.
struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    fn new(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream: BufReader::new(stream) })
    }

    fn ask(&mut self, method: &str, path: &str, body: &str) -> Result<String> {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let status = self.line()?;
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= header.starts_with("transfer-encoding:") && header.contains("chunked");
        }
        let mut answer = Vec::new();
        if chunked {
            loop {
                let size = usize::from_str_radix(self.line()?.trim(), 16)?;
                self.take(size, &mut answer)?;
                self.line()?;
                if size == 0 {
                    break;
                }
            }
        } else {
            self.take(length, &mut answer)?;
        }
        let answer = String::from_utf8_lossy(&answer).into_owned();
        ensure!(status.contains(" 200 "), "{method} {path}: {status}: {answer}");
        Ok(answer)
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        if self.stream.read_line(&mut line)? == 0 {
            bail!("etcd closed the connection");
        }
        Ok(line.trim_end().to_owned())
    }

    fn take(&mut self, bytes: usize, into: &mut Vec<u8>) -> Result<()> {
        let begin = into.len();
        into.resize(begin + bytes, 0);
        Ok(self.stream.read_exact(&mut into[begin..])?)
    }
}

/// A histogram of Prometheus: the upper end of each bucket in seconds, and how many lie at or below it.
#[derive(Debug)]
struct Histogram {
    buckets: Vec<(f64, f64)>,
    sum_s: f64,
    count: f64,
}

impl Histogram {
    fn read(text: &str) -> Option<Self> {
        let of = |suffix: &str| {
            let name = format!("{FLUSHES}{suffix} ");
            text.lines().find_map(|line| line.strip_prefix(&name)?.parse().ok())
        };
        let name = format!("{FLUSHES}_bucket{{le=\"");
        let bucket = |line: &str| {
            let (end, count) = line.strip_prefix(&name)?.split_once("\"} ")?;
            Some((end.replace("+Inf", "inf").parse().ok()?, count.parse().ok()?))
        };
        let buckets = text.lines().filter_map(bucket).collect();
        Some(Self { buckets, sum_s: of("_sum")?, count: of("_count")? })
    }

    /// What came after `before`.
    fn since(&self, before: &Self) -> Result<Flushes> {
        let count = self.count - before.count;
        ensure!(count >= 1_000.0, "{count} flushes of etcd's log are too few");
        let mut low = 0.0;
        for (bucket, old) in self.buckets.iter().zip(&before.buckets) {
            if bucket.1 - old.1 >= 0.99 * count {
                let mean_ns = (self.sum_s - before.sum_s) / count * 1e9;
                return Ok(Flushes { mean_ns, p99_ns: (low * 1e9, bucket.0 * 1e9) });
            }
            low = bucket.0;
        }
        bail!("a histogram without its last bucket")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(counts: [u32; 3], sum: f64) -> String {
        let [one, two, all] = counts;
        format!(
            "# HELP {FLUSHES} text\n{FLUSHES}_bucket{{le=\"0.001\"}} {one}\n\
             {FLUSHES}_bucket{{le=\"0.002\"}} {two}\n{FLUSHES}_bucket{{le=\"+Inf\"}} {all}\n\
             {FLUSHES}_sum {sum}\n{FLUSHES}_count {all}\n"
        )
    }

    #[test]
    fn the_percentile_lies_in_the_bucket_that_reaches_it_after_the_load_began() {
        let before = Histogram::read(&page([0, 0, 50], 10.0)).unwrap();
        let after = Histogram::read(&page([1500, 1990, 2050], 12.0)).unwrap();
        let found = after.since(&before).unwrap();
        assert!((found.mean_ns - 1e6).abs() < 1.0);
        assert_eq!(found.p99_ns, (1e6, 2e6));
        let text = after.since(&after).err().unwrap().to_string();
        assert!(text.contains("too few"), "{text}");
        assert!(Histogram::read("nothing").is_none());
    }
}
