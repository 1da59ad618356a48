//! Runs servers of other programs for the duration of a test.

use crate::Undo;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Longer than a server takes to start on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server in a process of its own, ended when this value is dropped.
pub struct Service {
    child: Child,
    log: PathBuf,
    undo: Undo,
}

impl Service {
    /// Starts it; its standard error goes to the file `log`. It also ends when this process ends.
    ///
    /// # Errors
    /// If the file cannot be created or the program cannot be run.
    pub fn start(mut command: Command, log: &Path) -> Result<Self> {
        let file = File::create(log)?;
        command.stdout(Stdio::null()).stderr(Stdio::from(file)).stdin(Stdio::null());
        let child = command.spawn().map_err(|error| {
            Error::new(error.kind(), format!("cannot run {command:?}: {error}"))
        })?;
        let undo = Undo::process(child.id());
        Ok(Self { child, log: log.to_owned(), undo })
    }

    /// The address that it listens on, from its messages (those of Prometheus and its exporters).
    ///
    /// # Errors
    /// If it ends or reports no address; includes its output.
    pub fn address(&mut self) -> Result<String> {
        let begin = Instant::now();
        loop {
            let log = std::fs::read_to_string(&self.log)?;
            let lines = log.lines().filter(|line| line.contains("Listening on"));
            let said = lines.filter_map(|line| line.split("address=").nth(1)).next_back();
            if let Some(address) = said.and_then(|rest| rest.split_whitespace().next()) {
                return Ok(address.to_owned());
            }
            if self.child.try_wait()?.is_some() {
                return Err(Error::other(format!("it ended: {log}")));
            }
            if begin.elapsed() > PATIENCE {
                return Err(Error::new(ErrorKind::TimedOut, format!("it does not listen: {log}")));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.undo.forget();
    }
}
