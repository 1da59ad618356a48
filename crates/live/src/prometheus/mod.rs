//! Sends range queries to a Prometheus server and fetches the responses. `import` decides what to query and
//! interprets the responses.
//!
//! A server is trusted if the system trusts its certificate. Redirects are not followed, because they usually
//! lead to a login page. An error never contains a token or the value of a header.
#![forbid(unsafe_code)]

mod crc32c;
mod exchange;
mod range;
mod remote_read;

pub use crc32c::crc32c;
pub use range::parse_range;
pub use remote_read::{RawQuery, RawSeries};

use exchange::{End, Parts};
use import::RangeQuery;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use ureq::http::{HeaderName, HeaderValue, Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Body, RequestBuilder};

/// Timeout for connecting to a server.
const CONNECT: Duration = Duration::from_secs(10);
/// Maximum silence of a server. Prometheus itself allows a query two minutes.
const SILENCE: Duration = Duration::from_secs(130);
/// Maximum time for a complete response.
const ANSWER: Duration = Duration::from_secs(5 * 60);
/// Maximum time for a stream of samples, which may cover a whole fleet.
const STREAM: Duration = Duration::from_secs(60 * 60);
/// Maximum response size. A server sends at most 11,000 points per series, about 30 bytes each.
const BODY_BYTES: u64 = 96 << 20;

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The server's address is invalid.
    #[error("{0}: use http[s]://HOST[:PORT][/PREFIX], without a password")]
    Address(String),
    /// A header or a token is invalid.
    #[error("{0}")]
    Header(String),
    /// The stop flag was set while waiting.
    #[error("interrupted before the server's response was complete; nothing is saved")]
    Interrupted,
    /// The server's response is missing or is not that of a Prometheus server.
    #[error("cannot fetch {path} from {authority}: {why}")]
    Fetch {
        /// Path without the query, which is long.
        path: String,
        /// Host name and port.
        authority: String,
        /// What happened, and what the user can try.
        why: String,
    },
}

/// A client for one Prometheus server.
pub struct Client {
    agent: ureq::Agent,
    scheme: String,
    authority: String,
    /// Prefix of all resource paths.
    prefix: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Ends all waits when set.
    stop: Arc<AtomicBool>,
}

impl Client {
    /// Creates a client for the server at `http[s]://HOST[:PORT][/PREFIX]`. It sends these headers, each of
    /// the form `NAME: VALUE`, and the token as `Authorization: Bearer`.
    ///
    /// # Errors
    /// If the address or a header is malformed.
    pub fn new(
        address: &str,
        token: Option<&str>,
        headers: &[String],
    ) -> Result<Self, ClientError> {
        let wrong = || ClientError::Address(address.to_owned());
        let uri =
            if address.contains("://") { address.to_owned() } else { format!("http://{address}") };
        let uri: Uri = uri.parse().map_err(|_| wrong())?;
        let (scheme, authority) = uri.scheme_str().zip(uri.authority()).ok_or_else(wrong)?;
        let known = ["http", "https"].contains(&scheme);
        if !known
            || authority.host().is_empty()
            || authority.as_str().contains('@')
            || uri.query().is_some()
            || address.contains('#')
        {
            return Err(wrong());
        }
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let config = ureq::Agent::config_builder()
            .tls_config(tls)
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_recv_response(Some(SILENCE))
            .timeout_per_read(Some(SILENCE))
            .user_agent("halfpower")
            .accept("application/json");
        let mut sent = headers.iter().map(|text| header(text)).collect::<Result<Vec<_>, _>>()?;
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
            let wrong = "the token contains characters that are not allowed in a header";
            let value = value.map_err(|_| ClientError::Header(wrong.to_owned()))?;
            sent.push((AUTHORIZATION, value));
        }
        Ok(Self {
            agent: config.build().new_agent(),
            scheme: scheme.to_owned(),
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            headers: sent,
            stop: Arc::default(),
        })
    }

    /// The same client, which stops waiting when this flag is set.
    #[must_use]
    pub fn stopping_at(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// Fetches all responses to a query.
    ///
    /// # Errors
    /// As [`Self::get`], for the first response that fails.
    pub fn answers(&self, query: &RangeQuery) -> Result<Vec<Vec<u8>>, ClientError> {
        query.targets().iter().map(|target| self.get(target)).collect()
    }

    /// Reads samples as the server stores them, series by series and each in parts. Stops early if `each`
    /// returns `false`.
    ///
    /// # Errors
    /// If the server does not support remote read, its response is invalid, or the flag was set.
    pub fn raw(
        &self,
        query: &RawQuery,
        each: impl FnMut(RawSeries) -> bool,
    ) -> Result<(), ClientError> {
        let path = "/api/v1/read";
        let request = self
            .with_headers(self.agent.post(self.url(path)))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header("Content-Encoding", "snappy")
            .header("X-Prometheus-Remote-Read-Version", "0.1.0");
        let query = query.clone();
        let read = move |parts: &Parts<RawSeries>| {
            let response = request.send(remote_read::request(&query).as_slice());
            let mut response = response.map_err(|error| explained(&error))?;
            refuse_other_than_streams(&response)?;
            let body = response.body_mut().with_config().limit(u64::MAX).reader();
            remote_read::read_frames(&query, body, |series| parts.put(series))
        };
        self.exchange(path, read, each, STREAM)
    }

    /// Fetches a resource. An error response in JSON is returned as a response, because it says what is
    /// wrong.
    ///
    /// # Errors
    /// If no such response arrives, or the flag was set.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, ClientError> {
        let request = self.with_headers(self.agent.get(self.url(target)));
        let fetch = move |parts: &Parts<Vec<u8>>| {
            let mut response = request.call().map_err(|error| explained(&error))?;
            refuse_other_than_answers(&response)?;
            let body = response.body_mut().with_config().limit(BODY_BYTES).read_to_vec();
            let ended = |error| format!("the response ended early: {}", explained(&error));
            parts.put(body.map_err(ended)?);
            Ok(())
        };
        let mut answer = Vec::new();
        let take = |body| {
            answer = body;
            false
        };
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        self.exchange(path, fetch, take, ANSWER)?;
        Ok(answer)
    }

    fn exchange<T: Send + 'static>(
        &self,
        path: &str,
        exchange: impl FnOnce(&Parts<T>) -> Result<(), String> + Send + 'static,
        take: impl FnMut(T) -> bool,
        longest: Duration,
    ) -> Result<(), ClientError> {
        match exchange::run(exchange, take, longest, &self.stop) {
            Ok(End::Done) => Ok(()),
            Ok(End::Stopped) => Err(ClientError::Interrupted),
            Err(why) => Err(ClientError::Fetch {
                path: format!("{}{path}", self.prefix),
                authority: self.authority.clone(),
                why,
            }),
        }
    }

    fn with_headers<B>(&self, request: RequestBuilder<B>) -> RequestBuilder<B> {
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| request.header(name, value))
    }

    fn url(&self, target: &str) -> String {
        format!("{}://{}{}{target}", self.scheme, self.authority, self.prefix)
    }
}

/// The text of a header; `None` if it is missing.
fn of(response: &Response<Body>, name: HeaderName) -> Option<&str> {
    response.headers().get(name).and_then(|value| value.to_str().ok())
}

fn refuse_other_than_streams(response: &Response<Body>) -> Result<(), String> {
    let status = response.status().as_u16();
    if status != 200 {
        let hint = match status {
            401 | 403 => "; it requires authentication: use --token-file or --header",
            404 | 405 | 501 => {
                "; a fleet is read with Prometheus' remote read, which this server does not support"
            }
            _ => "",
        };
        return Err(format!("the server answered with status {status}{hint}"));
    }
    if !of(response, CONTENT_TYPE).is_some_and(|kind| kind.contains("x-streamed-protobuf")) {
        return Err("the server does not stream chunks; Prometheus 2.13 and later do".to_owned());
    }
    Ok(())
}

fn refuse_other_than_answers(response: &Response<Body>) -> Result<(), String> {
    let status = response.status().as_u16();
    let is_json = of(response, CONTENT_TYPE).is_some_and(|kind| kind.contains("json"));
    if status == 200 || (400..600).contains(&status) && is_json {
        return Ok(());
    }
    let to = of(response, LOCATION);
    let to = to.map_or(String::new(), |place| format!(" to {}", record::excerpt(place)));
    let hint = match status {
        401 | 403 => "; it requires authentication: use --token-file or --header",
        404 => "; check that it is a Prometheus server and that the address includes its path",
        _ => "",
    };
    Err(format!("the server answered with status {status}{to}{hint}"))
}

/// Parses `NAME: VALUE`. The error does not contain the value, which may be secret.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let wrong = |why: &str| ClientError::Header(format!("a header {why}"));
    let parts = text.split_once(':').ok_or_else(|| wrong("is not of the form NAME: VALUE"))?;
    let name = parts.0.trim().parse();
    let name = name.map_err(|_| wrong("has a name that is not valid for a header"))?;
    let value = HeaderValue::from_str(parts.1.trim());
    Ok((name, value.map_err(|_| wrong("has a value that is not valid for a header"))?))
}

/// Hint if a certificate is not trusted.
const UNTRUSTED: &str =
    "; to accept a certificate that the system does not trust, set SSL_CERT_FILE=FILE";

/// Hint if the server does not answer in TLS.
const NO_TLS: &str = "; the server may use plain http:// there";

/// Hint if no server answers.
const NO_SERVER: &str = "; check that the server is running there";

/// The hint for a TLS error.
fn refused(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidMessage(_) => NO_TLS,
        _ => UNTRUSTED,
    }
}

/// The error and what the user can try.
fn explained(error: &ureq::Error) -> String {
    // A TLS error during connection setup is reported as an I/O error.
    let of_tls = |error: &std::io::Error| error.get_ref()?.downcast_ref().map(refused);
    let hint = match error {
        ureq::Error::HostNotFound => "; the name cannot be resolved",
        ureq::Error::Io(error) => of_tls(error).unwrap_or(NO_SERVER),
        ureq::Error::ConnectionFailed | ureq::Error::Timeout(_) => NO_SERVER,
        ureq::Error::BodyExceedsLimit(_) => "; use a shorter range",
        ureq::Error::Rustls(error) => refused(error),
        ureq::Error::Tls(_) => UNTRUSTED,
        ureq::Error::Protocol(_) | ureq::Error::Http(_) => "; check that it is an HTTP server",
        _ => "",
    };
    format!("{error}{hint}")
}
