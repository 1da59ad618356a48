//! Fetches the answers of a Prometheus server to range queries; `import` says which to ask and what
//! they mean.
//!
//! A server is trusted if the system trusts its certificate. Redirects are not followed: the answer
//! of a login page is no answer. An error never repeats a token or the value of a header.
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
use ureq::Body;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use ureq::http::{HeaderName, HeaderValue, Response, Uri};
use ureq::tls::{RootCerts, TlsConfig};

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may be silent: Prometheus itself gives a query two minutes.
const SILENCE: Duration = Duration::from_secs(130);
/// How long an answer may take as a whole.
const ANSWER: Duration = Duration::from_secs(5 * 60);
/// The same of a stream of samples, which are those of a whole fleet.
const STREAM: Duration = Duration::from_secs(60 * 60);
/// Largest answer that is read. A server gives 11,000 points of a series, of some 30 bytes each.
const BODY_BYTES: u64 = 96 << 20;

/// Why a server could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The address is none.
    #[error("{0}: use http[s]://HOST[:PORT][/PREFIX], without a password")]
    Address(String),
    /// A header or a token cannot be sent.
    #[error("{0}")]
    Header(String),
    /// It was asked to stop while it waited.
    #[error("interrupted before the server's response was complete; nothing is saved")]
    Interrupted,
    /// The server did not answer as a Prometheus server does.
    #[error("cannot fetch {path} from {authority}: {why}")]
    Fetch {
        /// Path without the query, which is long.
        path: String,
        /// Name and port.
        authority: String,
        /// What happened, and what to try.
        why: String,
    },
}

/// A server, and how to ask it.
pub struct Client {
    agent: ureq::Agent,
    scheme: String,
    authority: String,
    /// What stands before the path of every resource.
    prefix: String,
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Ends every wait.
    stop: Arc<AtomicBool>,
}

impl Client {
    /// A client of the server at `http[s]://HOST[:PORT][/PREFIX]`. It sends these headers, each of
    /// the form `NAME: VALUE`, and the token as `Authorization: Bearer`.
    ///
    /// # Errors
    /// If the address or a header is not of its form.
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
            let value = value.map_err(|_| {
                ClientError::Header(
                    "the token contains characters that are not allowed in a header".to_owned(),
                )
            })?;
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

    /// The same, which waits no longer once this flag is set.
    #[must_use]
    pub fn stopping_at(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// The answers to a query.
    ///
    /// # Errors
    /// As [`Self::get`] of the first that fails.
    pub fn answers(&self, query: &RangeQuery) -> Result<Vec<Vec<u8>>, ClientError> {
        query.targets().iter().map(|target| self.get(target)).collect()
    }

    /// Reads samples as the server stores them, series by series and each in parts; ends early where
    /// `each` says so by `false`.
    ///
    /// # Errors
    /// If the server cannot do that, its answer is none, or the flag was set.
    pub fn raw(
        &self,
        query: &RawQuery,
        each: impl FnMut(RawSeries) -> bool,
    ) -> Result<(), ClientError> {
        let path = "/api/v1/read";
        let mut request = self.agent.post(self.url(path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request
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

    /// Fetches a resource. A refusal in JSON is an answer: its reader knows why.
    ///
    /// # Errors
    /// If there is no such answer, or the flag was set.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, ClientError> {
        let mut request = self.agent.get(self.url(target));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let fetch = move |parts: &Parts<Vec<u8>>| {
            let mut response = request.call().map_err(|error| explained(&error))?;
            refuse_other_than_answers(&response)?;
            let body = response.body_mut().with_config().limit(BODY_BYTES).read_to_vec();
            parts.put(
                body.map_err(|error| format!("the response ended early: {}", explained(&error)))?,
            );
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

    fn url(&self, target: &str) -> String {
        format!("{}://{}{}{target}", self.scheme, self.authority, self.prefix)
    }
}

/// The text of a header; `None` where there is none.
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

/// Reads `NAME: VALUE`. The message holds no value, which may be a secret.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let wrong = |why: &str| ClientError::Header(format!("a header {why}"));
    let (name, value) =
        text.split_once(':').ok_or_else(|| wrong("is not of the form NAME: VALUE"))?;
    let name =
        name.trim().parse().map_err(|_| wrong("has a name that is not valid for a header"))?;
    let value = HeaderValue::from_str(value.trim());
    Ok((name, value.map_err(|_| wrong("has a value that is not valid for a header"))?))
}

/// What to try where a certificate is not trusted.
const UNTRUSTED: &str =
    "; to accept a certificate that the system does not trust, set SSL_CERT_FILE=FILE";

/// What to try where the answer to a greeting of TLS is none.
const NO_TLS: &str = "; the server may use plain http:// there";

/// What to try where nobody answers.
const NO_SERVER: &str = "; check that the server is running there";

/// What TLS says to do about this.
fn refused(error: &rustls::Error) -> &'static str {
    match error {
        rustls::Error::InvalidMessage(_) => NO_TLS,
        _ => UNTRUSTED,
    }
}

/// What happened, and what to try.
fn explained(error: &ureq::Error) -> String {
    // What TLS refuses while it connects comes as a failure of the connection.
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
