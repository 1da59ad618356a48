//! Reads Prometheus' web configuration: the server's certificate, and the users who may send requests.
//!
//! All Prometheus exporters use this file format (`--web.config.file`), so one file and one procedure to
//! renew certificates serve all of them. The supported fields are `tls_server_config` with `cert_file` and
//! `key_file`, and `basic_auth_users` with bcrypt hashes. Any other field is rejected rather than ignored,
//! because its author relies on it.

use crate::exporter::access::Access;
use crate::exporter::yaml::{self, Entry, Value, Wrong};
use engine::input;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::Mutex as Turn;

/// Why a web configuration cannot be used. No message contains a value from the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WebConfigError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] input::InputError),
    /// A line of the file is wrong.
    #[error("{}, line {line}: {what}", path.display())]
    Line {
        /// Path of the file.
        path: PathBuf,
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what to do.
        what: String,
    },
    /// A certificate or its key is wrong.
    #[error("cannot use {} as {what}: {why}", path.display())]
    Pem {
        /// Path of the file.
        path: PathBuf,
        /// Purpose of the file.
        what: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// A web configuration that has been read.
#[derive(Default)]
pub struct WebConfig {
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) access: Access,
    /// The configuration file and the files that it names, with their modification times when read.
    files: Vec<(PathBuf, Option<SystemTime>)>,
}

/// Index of the key in `files`, after the configuration and the certificate.
const KEY_PLACE: usize = 2;
/// Maximum time that a response waits for the check of the files.
const LOOK: Duration = Duration::from_secs(1);
const SECTIONS: &str = "tls_server_config and basic_auth_users";
const TLS_FIELDS: &str = "cert_file and key_file";
const BCRYPT: &str = "create one with `htpasswd -nBC 10 NAME`";

impl WebConfig {
    /// Reads a file. Paths in it are relative to its folder.
    ///
    /// # Errors
    /// If the file cannot be read, or contains anything that is not supported.
    pub fn read(path: &Path) -> Result<Self, WebConfigError> {
        let mut files = vec![dated(path)];
        let text = input::text(path, input::WEB_CONFIG)?;
        let at = |Wrong { line, what }| WebConfigError::Line { path: path.to_owned(), line, what };
        let mut config = Self::default();
        for entry in yaml::read(&text).map_err(at)? {
            match entry.key.as_str() {
                "tls_server_config" => {
                    let named = tls_files(&entry).map_err(at)?;
                    let folder = path.parent().unwrap_or(Path::new("."));
                    let [certificate, key] = named.map(|file| folder.join(file));
                    files.extend([dated(&certificate), dated(&key)]);
                    config.tls = Some(server_config(&certificate, &key)?);
                }
                "basic_auth_users" => config.access = users(&entry).map_err(at)?,
                _ => return Err(at(unknown(&entry, SECTIONS))),
            }
        }
        config.files = files;
        Ok(config)
    }

    /// Whether one of the files has changed since it was read.
    fn is_outdated(&self) -> bool {
        self.files.iter().any(|(path, changed)| dated(path).1 != *changed)
    }

    /// Whether requests need a user name and password.
    #[must_use]
    pub fn asks_for_a_password(&self) -> bool {
        self.access.is_restricted()
    }

    /// Security warnings for serving at this address, each with a remedy.
    #[must_use]
    pub fn warnings(&self, address: SocketAddr) -> Vec<String> {
        let mut warnings = Vec::new();
        let secrets = [
            (self.files.first().filter(|_| self.asks_for_a_password()), "holds password hashes"),
            (self.files.get(KEY_PLACE), "is the private key"),
        ];
        for (file, what) in secrets {
            if let Some((path, _)) = file.filter(|(path, _)| all_can_read(path)) {
                let path = path.display();
                warnings
                    .push(format!("{path} {what} and is world-readable: run `chmod o-r {path}`"));
            }
        }
        let beyond = !address.ip().to_canonical().is_loopback();
        if beyond && self.asks_for_a_password() && !self.speaks_tls() {
            warnings.push(
                "names and passwords cross the network unencrypted: add tls_server_config to the \
                 web configuration, or listen on 127.0.0.1"
                    .to_owned(),
            );
        }
        warnings
    }

    /// The protection that this configuration has and the next one lacks.
    fn gives_up(&self, next: &Self) -> Option<&'static str> {
        let tls = self.speaks_tls() && !next.speaks_tls();
        let users = self.asks_for_a_password() && !next.asks_for_a_password();
        match (tls, users) {
            (true, true) => Some("certificate and users"),
            (true, false) => Some("certificate"),
            (false, true) => Some("users"),
            (false, false) => None,
        }
    }

    /// Whether the server uses TLS.
    #[must_use]
    pub fn speaks_tls(&self) -> bool {
        self.tls.is_some()
    }
}

/// Whether every user of the machine can read a file, according to its mode.
fn all_can_read(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|facts| facts.permissions().mode() & 0o004 != 0)
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        false
    }
}

/// A file with its modification time; `None` if it cannot be read.
fn dated(path: &Path) -> (PathBuf, Option<SystemTime>) {
    let changed = path.metadata().and_then(|facts| facts.modified()).ok();
    (path.to_owned(), changed)
}

/// A web configuration that is reloaded when its files change, because certificates are renewed while the
/// program runs.
pub(crate) struct Renewing {
    latest: Mutex<Arc<WebConfig>>,
    /// Held while the files are checked. If their disk hangs, only one thread waits for it.
    looking: Arc<Turn<()>>,
    remark: Box<dyn Fn(&str) + Send + Sync>,
}

impl Renewing {
    pub(crate) fn new(config: WebConfig, remark: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        Self { latest: Mutex::new(Arc::new(config)), looking: Arc::default(), remark }
    }

    /// The current configuration, after a check of its files on another thread. Waits at most one second for
    /// the check.
    pub(crate) async fn latest(self: &Arc<Self>) -> Arc<WebConfig> {
        if self.known().files.is_empty() {
            return self.known();
        }
        let look = async {
            let turn = Arc::clone(&self.looking).lock_owned().await;
            let itself = Arc::clone(self);
            let looked = tokio::task::spawn_blocking(move || {
                itself.renew();
                drop(turn);
            });
            // A check that panicked has already printed why.
            let _ = looked.await;
        };
        let _ = tokio::time::timeout(LOOK, look).await;
        self.known()
    }

    fn known(&self) -> Arc<WebConfig> {
        Arc::clone(&self.latest.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reloads the files if they have changed. If they are unusable, the previous configuration stays in use,
    /// and the reason is printed once per change.
    fn renew(&self) {
        let latest = self.known();
        if !latest.is_outdated() {
            return;
        }
        let path = latest.files[0].0.clone();
        let read = WebConfig::read(&path).map_err(|error| error.to_string());
        let read = read.and_then(|next| match latest.gives_up(&next) {
            Some(what) => Err(format!(
                "{} no longer has {what}, perhaps because the file is still being written: if \
                 the removal is intended, restart halfpower",
                path.display()
            )),
            None => Ok(next),
        });
        let next = read.unwrap_or_else(|error| {
            (self.remark)(&format!("{error}; the previous configuration stays in use"));
            let files = latest.files.iter().map(|(path, _)| dated(path)).collect();
            WebConfig { tls: latest.tls.clone(), access: latest.access.again(), files }
        });
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(next);
    }
}

fn unknown(entry: &Entry, known: &str) -> Wrong {
    let what =
        format!("halfpower does not support `{}`: remove it (supported: {known})", entry.key);
    Wrong { line: entry.line, what }
}

fn section(entry: &Entry) -> Result<&[Entry], Wrong> {
    match &entry.value {
        Value::Mapping(entries) => Ok(entries),
        Value::Empty => Ok(&[]),
        Value::Word(_) => {
            let what = format!("`{}` needs indented lines of `name: value` below it", entry.key);
            Err(Wrong { line: entry.line, what })
        }
    }
}

fn word(entry: &Entry) -> Result<&str, Wrong> {
    match &entry.value {
        Value::Word(word) => Ok(word),
        _ => Err(Wrong { line: entry.line, what: format!("`{}` takes one value", entry.key) }),
    }
}

/// The paths of the certificate and the key.
fn tls_files(section_entry: &Entry) -> Result<[String; 2], Wrong> {
    let (mut certificate, mut key) = (None, None);
    for entry in section(section_entry)? {
        match entry.key.as_str() {
            "cert_file" => certificate = Some(word(entry)?.to_owned()),
            "key_file" => key = Some(word(entry)?.to_owned()),
            _ => return Err(unknown(entry, TLS_FIELDS)),
        }
    }
    match (certificate, key) {
        (Some(certificate), Some(key)) => Ok([certificate, key]),
        _ => {
            let what = format!("`tls_server_config` needs both {TLS_FIELDS}");
            Err(Wrong { line: section_entry.line, what })
        }
    }
}

fn users(section_entry: &Entry) -> Result<Access, Wrong> {
    let mut access = Access::default();
    for entry in section(section_entry)? {
        let wrong = |why: &str| {
            let what = format!("the password of `{}` {why}; {BCRYPT}", entry.key);
            Wrong { line: entry.line, what }
        };
        let Value::Word(hash) = &entry.value else {
            return Err(wrong("is missing"));
        };
        access.add(&entry.key, hash).map_err(wrong)?;
    }
    // An author who writes this section expects a password prompt, but no user could log in.
    if !access.is_restricted() {
        let what = "`basic_auth_users` has no users: add one, or remove the key".to_owned();
        return Err(Wrong { line: section_entry.line, what });
    }
    Ok(access)
}

fn server_config(certificate: &Path, key: &Path) -> Result<Arc<ServerConfig>, WebConfigError> {
    let wrong = |path: &Path, what| {
        let path = path.to_owned();
        move |why: String| WebConfigError::Pem { path, what, why }
    };
    let pem = |path: &Path, what| {
        let read = input::bytes(path, input::CERTIFICATE);
        read.map_err(|error| wrong(path, what)(error.reason.to_string()))
    };
    let chain = CertificateDer::pem_slice_iter(&pem(certificate, "cert_file")?)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| {
            wrong(certificate, "cert_file")(format!("{error}; the file must be PEM"))
        })?;
    if chain.is_empty() {
        return Err(wrong(certificate, "cert_file")(
            "it does not contain a PEM certificate".to_owned(),
        ));
    }
    let private = PrivateKeyDer::from_pem_slice(&pem(key, "key_file")?)
        .map_err(|error| wrong(key, "key_file")(format!("{error}; the file must be PEM")))?;
    let refused = |error: rustls::Error| {
        let why = format!("{error}; check that certificate and key belong together");
        wrong(certificate, "cert_file")(why)
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(refused)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, private).map_err(refused)?;
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.yml");
        std::fs::write(&path, text).unwrap();
        match WebConfig::read(&path) {
            Ok(_) => panic!("{text:?} was taken"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn what_cannot_be_kept_is_refused_with_its_line_and_without_secrets() {
        for (text, line, words) in [
            (
                "tls_server_config:\n  cert_file: a\n  key_file: b\n  client_ca_file: c\n",
                4,
                "client_ca_file",
            ),
            ("http_server_config:\n  http2: true\n", 1, "http_server_config"),
            ("\ntls_server_config:\n  cert_file: a\n", 2, "both cert_file and key_file"),
            ("basic_auth_users:\n  ada: hunter2\n", 2, "htpasswd"),
            ("basic_auth_users: hunter2\n", 1, "below it"),
            ("basic_auth_users:\n", 1, "no users"),
            ("basic_auth_users:\n  ada:\n", 2, "missing"),
            ("basic_auth_users:\n  ada: [hunter2]\n", 2, "one value"),
        ] {
            let error = error_of(text);
            assert!(error.contains(&format!("web.yml, line {line}: ")), "{error}");
            assert!(error.contains(words) && !error.contains("hunter2"), "{error}");
        }
        let error = error_of("tls_server_config:\n  cert_file: a.pem\n  key_file: b\n");
        assert!(error.contains("a.pem as cert_file"), "{error}");
        let missing = WebConfig::read(Path::new("/none/web.yml")).err().unwrap().to_string();
        assert!(missing.contains("/none/web.yml"), "{missing}");
    }

    #[test]
    fn a_changed_file_is_taken_and_a_broken_one_leaves_that_of_before() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("web.yml");
        let users = |names: &[&str]| {
            let hash = bcrypt::hash("x", 4).unwrap();
            let lines = names.iter().map(|name| format!("  {name}: {hash}\n"));
            format!("basic_auth_users:\n{}", lines.collect::<String>())
        };
        // Each text gets its own modification time, because a change within one clock step is not detected.
        let write = |text: &str, at: u64| {
            std::fs::write(&path, text).unwrap();
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at)).unwrap();
        };
        let told = Arc::new(Mutex::new(Vec::new()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            write(&users(&["ada"]), 1);
            let says = Arc::clone(&told);
            let remark = move |text: &str| says.lock().unwrap().push(text.to_owned());
            let config = WebConfig::read(&path).unwrap();
            let renewing = Arc::new(Renewing::new(config, Box::new(remark)));
            let knows = |config: &WebConfig, name: &str| {
                let text = base64::Engine::encode(
                    &base64::engine::general_purpose::STANDARD,
                    format!("{name}:x"),
                );
                config.access.admits(&format!("Basic {text}"))
            };
            // `latest` waits one second for the check, and a busy machine may need longer, so try again.
            let mut config = renewing.latest().await;
            assert!(knows(&config, "ada") && !knows(&config, "bob"));
            write(&users(&["bob"]), 2);
            while !knows(&config, "bob") {
                config = renewing.latest().await;
            }
            for (text, at) in [("basic_auth_users:\n", 3), ("", 4)] {
                write(text, at);
                let wanted = told.lock().unwrap().len() + 1;
                while told.lock().unwrap().len() < wanted {
                    config = renewing.latest().await;
                }
                assert!(knows(&config, "bob"), "{:?}", told.lock().unwrap());
            }
            renewing.latest().await;
            assert_eq!(told.lock().unwrap().len(), 2, "each change is told once");
        });
    }
}
