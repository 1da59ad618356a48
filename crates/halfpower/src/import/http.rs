//! One GET of HTTP/1.1 at a time, without TLS: what asking a Prometheus server on the own network
//! takes.
//!
//! Fetching a known resource from a server that the user names needs no redirects, no cookies, no
//! pool and no compression: a request, a status line, headers and a body that ends by its length,
//! by chunks or by the end of the stream. Rejected: a client crate (a dozen dependencies for these
//! hundred lines) and TLS (a second trust store in a tool that needs no network; what is behind
//! TLS is fetched with curl and imported as a file, which the message says).

use crate::failure::UsageError;
use anyhow::{Context, anyhow, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may be silent: Prometheus itself gives a query two minutes.
const SILENCE: Duration = Duration::from_secs(130);
/// Longest line of a head.
const LINE_BYTES: u64 = 64 << 10;
/// Most lines of a head.
const MOST_HEADERS: usize = 200;
/// Largest answer that is read.
const BODY_BYTES: u64 = 1 << 30;

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Server {
    /// Name and port, as in the address.
    authority: String,
    /// What stands before the path of every resource.
    prefix: String,
}

impl Server {
    /// Reads `http://host[:port][/prefix]`.
    pub(super) fn parse(address: &str) -> anyhow::Result<Self> {
        let usage = |text: &str| UsageError(format!("--prometheus {address}: {text}"));
        let (scheme, rest) = address.split_once("://").unwrap_or(("http", address));
        if scheme == "https" {
            return Err(usage(
                "https is not spoken here; fetch the answers with curl and import the files, as \
                 docs/importing.md shows",
            )
            .into());
        }
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let sound = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        let good = scheme == "http" && !authority.is_empty() && sound(rest);
        if !good || authority.contains('@') || path.contains(['?', '#']) {
            return Err(usage("use http://HOST[:PORT][/PREFIX], without a password").into());
        }
        let path = path.trim_end_matches('/');
        let prefix = if path.is_empty() { String::new() } else { format!("/{path}") };
        Ok(Self { authority: authority.to_owned(), prefix })
    }

    /// Fetches a resource. An answer that refuses in JSON is an answer; its reader knows why.
    pub(super) fn get(&self, target: &str) -> anyhow::Result<Vec<u8>> {
        self.answer(target).with_context(|| {
            format!("cannot fetch {}{} from {}", self.prefix, path_of(target), self.authority)
        })
    }

    fn answer(&self, target: &str) -> anyhow::Result<Vec<u8>> {
        let mut stream = self.connect()?;
        let request = format!(
            "GET {}{target} HTTP/1.1\r\nHost: {}\r\nAccept: application/json\r\n\
             Connection: close\r\nUser-Agent: halfpower\r\n\r\n",
            self.prefix, self.authority
        );
        stream.write_all(request.as_bytes()).context("sending the request failed")?;
        let mut reader = BufReader::new(stream);
        let (status, headers) = head(&mut reader)?;
        let of = |name: &str| {
            let found = headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map(|(_, value)| value.as_str())
        };
        let is_json = of("Content-Type").is_some_and(|kind| kind.contains("json"));
        let is_wanted = status == 200 || (400..600).contains(&status) && is_json;
        if !is_wanted {
            let to = of("Location").map_or(String::new(), |place| format!(" to {place}"));
            let hint = match status {
                401 | 403 => "; it wants to know who asks: fetch with curl and import the files",
                404 => "; is it a Prometheus server, and is a path missing from the address?",
                _ => "",
            };
            return Err(anyhow!("the server answered with status {status}{to}{hint}"));
        }
        let chunked = of("Transfer-Encoding").is_some_and(|how| how.contains("chunked"));
        let length = of("Content-Length").and_then(|length| length.trim().parse::<u64>().ok());
        if chunked { chunks(&mut reader) } else { body(&mut reader, length) }
    }

    fn connect(&self) -> anyhow::Result<TcpStream> {
        let with_port = match self.authority.rsplit_once(':') {
            Some((_, port)) if port.parse::<u16>().is_ok() => self.authority.clone(),
            _ => format!("{}:80", self.authority),
        };
        let addresses = with_port.to_socket_addrs().context("the name cannot be resolved")?;
        let mut last = None;
        for address in addresses {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    stream.set_read_timeout(Some(SILENCE))?;
                    stream.set_write_timeout(Some(SILENCE))?;
                    return Ok(stream);
                }
                Err(error) => last = Some(error),
            }
        }
        let error = last.map_or_else(|| anyhow!("the name has no address"), Into::into);
        Err(error.context("no connection; is the server running there?"))
    }
}

/// The path without the query, which is long.
fn path_of(target: &str) -> &str {
    target.split_once('?').map_or(target, |(path, _)| path)
}

/// A line without its end.
fn line(reader: &mut impl BufRead) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    reader.take(LINE_BYTES).read_until(b'\n', &mut bytes).context("the answer stopped")?;
    ensure!(bytes.last() == Some(&b'\n'), "the answer is no HTTP, or ended in its head");
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

/// Status and headers.
fn head(reader: &mut impl BufRead) -> anyhow::Result<(u16, Vec<(String, String)>)> {
    let first = line(reader)?;
    let status = first.strip_prefix("HTTP/1.").and_then(|rest| rest.split(' ').nth(1));
    let status = status.and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| anyhow!("the answer is no HTTP"))?;
    let mut headers = Vec::new();
    loop {
        let text = line(reader)?;
        if text.is_empty() {
            return Ok((status, headers));
        }
        ensure!(headers.len() < MOST_HEADERS, "the answer has too many headers");
        if let Some((name, value)) = text.split_once(':') {
            headers.push((name.trim().to_owned(), value.trim().to_owned()));
        }
    }
}

/// A body of known length, or up to the end of the stream.
fn body(reader: &mut impl BufRead, length: Option<u64>) -> anyhow::Result<Vec<u8>> {
    let most = length.unwrap_or(BODY_BYTES);
    ensure!(most <= BODY_BYTES, "the answer has {most} bytes; ask for a shorter range");
    let mut bytes = Vec::new();
    reader.take(most).read_to_end(&mut bytes).context("the answer stopped")?;
    let short = length.is_some_and(|length| (bytes.len() as u64) < length);
    ensure!(!short, "the answer ended after {} of {most} bytes", bytes.len());
    Ok(bytes)
}

/// A body in chunks.
fn chunks(reader: &mut impl BufRead) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        let text = line(reader)?;
        let digits = text.split(';').next().unwrap_or_default().trim();
        let length = u64::from_str_radix(digits, 16).map_err(|_| anyhow!("a chunk is broken"))?;
        if length == 0 {
            return Ok(bytes);
        }
        let most = BODY_BYTES - bytes.len() as u64;
        ensure!(length <= most, "the answer is too long; ask for a shorter range");
        bytes.extend(body(reader, Some(length))?);
        ensure!(line(reader)?.is_empty(), "a chunk is broken");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// What is fetched from a server that answers so.
    fn fetched(answer: &'static str) -> anyhow::Result<String> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/base/", listener.local_addr().unwrap());
        let served = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = BufReader::new(stream.try_clone().unwrap());
            let first = line(&mut request).unwrap();
            while !line(&mut request).unwrap().is_empty() {}
            stream.write_all(answer.as_bytes()).unwrap();
            first
        });
        let body = Server::parse(&address).unwrap().get("/x?query=1");
        assert_eq!(served.join().unwrap(), "GET /base/x?query=1 HTTP/1.1");
        body.map(|bytes| String::from_utf8(bytes).unwrap())
    }

    #[test]
    fn a_body_ends_by_its_length_by_chunks_or_with_the_stream() {
        for answer in [
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhellothere",
            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
            "HTTP/1.0 200 OK\r\n\r\nhello",
            "HTTP/1.1 422 No\r\nContent-Type: application/json\r\n\r\nhello",
        ] {
            assert_eq!(fetched(answer).unwrap(), "hello", "{answer}");
        }
    }

    #[test]
    fn an_answer_that_is_cut_or_refuses_is_an_error_that_says_so() {
        for (answer, word) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "5 of 9"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhello", "5 of 9"),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "chunk"),
            ("HTTP/1.1 302 Found\r\nLocation: /login\r\n\r\n", "302 to /login"),
            ("HTTP/1.1 401 No\r\n\r\n", "curl"),
            ("SSH-2.0-OpenSSH_9.2\r\n", "no HTTP"),
            ("", "no HTTP"),
        ] {
            let error = format!("{:#}", fetched(answer).unwrap_err());
            assert!(error.contains(word), "{answer:?}: {error}");
        }
    }

    #[test]
    fn addresses_are_http_and_hold_no_password() {
        let server = |authority: &str, prefix: &str| Server {
            authority: authority.to_owned(),
            prefix: prefix.to_owned(),
        };
        assert_eq!(Server::parse("http://h:9090").unwrap(), server("h:9090", ""));
        assert_eq!(Server::parse("h/a/b/").unwrap(), server("h", "/a/b"));
        assert_eq!(Server::parse("http://[::1]:9090/").unwrap(), server("[::1]:9090", ""));
        for bad in ["https://h", "ftp://h", "http://", "http://a b", "http://u:p@h", "h/?x", ""] {
            assert!(Server::parse(bad).is_err(), "{bad}");
        }
    }
}
