//! Fetches the answers of a Prometheus server to range queries; `import` says which to ask and what
//! they mean.
//!
//! A server is trusted if the system trusts its certificate. Redirects are not followed: the answer
//! of a login page is no answer. An error never repeats a token or the value of a header.
#![forbid(unsafe_code)]

mod crc32c;
mod range;
mod remote_read;

pub use crc32c::crc32c;
pub use range::parse_range;
pub use remote_read::{RawQuery, RawSeries};

use import::RangeQuery;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use ureq::http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION};
use ureq::http::{HeaderName, HeaderValue, Uri};
use ureq::tls::{RootCerts, TlsConfig};

/// How long a server may take to be reached.
const CONNECT: Duration = Duration::from_secs(10);
/// How long it may be silent: Prometheus itself gives a query two minutes.
const SILENCE: Duration = Duration::from_secs(130);
/// Largest answer that is read.
const BODY_BYTES: u64 = 1 << 30;

/// Why a server could not be asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The address is none.
    #[error("{0}: use http[s]://HOST[:PORT][/PREFIX], and no password in it")]
    Address(String),
    /// A header or a token cannot be sent.
    #[error("{0}")]
    Header(String),
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
                ClientError::Header("the token holds characters that no header can".to_owned())
            })?;
            sent.push((AUTHORIZATION, value));
        }
        Ok(Self {
            agent: config.build().new_agent(),
            scheme: scheme.to_owned(),
            authority: authority.to_string(),
            prefix: uri.path().trim_end_matches('/').to_owned(),
            headers: sent,
        })
    }

    /// The answers to a query; `None` if `stop` was set meanwhile.
    ///
    /// # Errors
    /// If one of them cannot be fetched.
    pub fn answers(
        &self,
        query: &RangeQuery,
        stop: &AtomicBool,
    ) -> Result<Option<Vec<Vec<u8>>>, ClientError> {
        let mut answers = Vec::new();
        for target in query.targets() {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            answers.push(self.get(&target)?);
        }
        Ok(Some(answers))
    }

    /// Reads samples as the server stores them, series by series and each in parts; ends early where
    /// `each` says so by `false`.
    ///
    /// # Errors
    /// If the server cannot do that, or its answer is none.
    pub fn raw(
        &self,
        query: &RawQuery,
        each: impl FnMut(RawSeries) -> bool,
    ) -> Result<(), ClientError> {
        let path = "/api/v1/read";
        let failed = |why: String| ClientError::Fetch {
            path: format!("{}{path}", self.prefix),
            authority: self.authority.clone(),
            why,
        };
        let url = format!("{}://{}{}{path}", self.scheme, self.authority, self.prefix);
        let mut request = self.agent.post(url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let request = request
            .header(CONTENT_TYPE, "application/x-protobuf")
            .header("Content-Encoding", "snappy")
            .header("X-Prometheus-Remote-Read-Version", "0.1.0");
        let mut response = request
            .send(remote_read::request(query).as_slice())
            .map_err(|error| failed(explained(&error)))?;
        let status = response.status().as_u16();
        if status != 200 {
            let hint = match status {
                401 | 403 => "; it wants to know who asks: --token-file or --header",
                404 | 405 | 501 => {
                    "; a fleet is read by Prometheus' remote read, which this server does not have"
                }
                _ => "",
            };
            return Err(failed(format!("the server answered with status {status}{hint}")));
        }
        let streamed = response
            .headers()
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .is_some_and(|kind| kind.contains("x-streamed-protobuf"));
        if !streamed {
            return Err(failed(
                "the server does not stream chunks: Prometheus does from 2.13 on".to_owned(),
            ));
        }
        let body = response.body_mut().with_config().limit(u64::MAX).reader();
        remote_read::read_frames(query, body, each).map_err(failed)
    }

    /// Fetches a resource. A refusal in JSON is an answer: its reader knows why.
    ///
    /// # Errors
    /// If there is no such answer.
    pub fn get(&self, target: &str) -> Result<Vec<u8>, ClientError> {
        let path = target.split_once('?').map_or(target, |(path, _)| path);
        let failed = |why: String| ClientError::Fetch {
            path: format!("{}{path}", self.prefix),
            authority: self.authority.clone(),
            why,
        };
        let url = format!("{}://{}{}{target}", self.scheme, self.authority, self.prefix);
        let mut request = self.agent.get(url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let mut response = request.call().map_err(|error| failed(explained(&error)))?;
        let status = response.status().as_u16();
        let of = |name| response.headers().get(name).and_then(|value| value.to_str().ok());
        let is_json = of(CONTENT_TYPE).is_some_and(|kind| kind.contains("json"));
        if status != 200 && !((400..600).contains(&status) && is_json) {
            let to = of(LOCATION).map_or(String::new(), |place| format!(" to {place}"));
            let hint = match status {
                401 | 403 => "; it wants to know who asks: --token-file or --header",
                404 => "; is it a Prometheus server, and is a path missing from the address?",
                _ => "",
            };
            return Err(failed(format!("the server answered with status {status}{to}{hint}")));
        }
        let body = response.body_mut().with_config().limit(BODY_BYTES).read_to_vec();
        body.map_err(|error| failed(format!("the answer stopped: {}", explained(&error))))
    }
}

/// Reads `NAME: VALUE`. The message holds no value, which may be a secret.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), ClientError> {
    let wrong = |why: &str| ClientError::Header(format!("a header {why}"));
    let (name, value) =
        text.split_once(':').ok_or_else(|| wrong("is not of the form NAME: VALUE"))?;
    let name = name.trim().parse().map_err(|_| wrong("has a name that no header can have"))?;
    let value = HeaderValue::from_str(value.trim());
    Ok((name, value.map_err(|_| wrong("has a value that no header can have"))?))
}

/// What to try where a certificate is not trusted.
const UNTRUSTED: &str =
    "; a certificate that the system does not trust is named with SSL_CERT_FILE=FILE";

/// What to try where the answer to a greeting of TLS is none.
const NO_TLS: &str = "; does the server speak plain http:// there?";

/// What to try where nobody answers.
const NO_SERVER: &str = "; is the server running there?";

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
        ureq::Error::BodyExceedsLimit(_) => "; ask for a shorter range",
        ureq::Error::Rustls(error) => refused(error),
        ureq::Error::Tls(_) => UNTRUSTED,
        ureq::Error::Protocol(_) | ureq::Error::Http(_) => "; is it an HTTP server?",
        _ => "",
    };
    format!("{error}{hint}")
}
