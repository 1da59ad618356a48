//! Starts a private PostgreSQL server, and makes a large table in it.

use crate::child::text;
use anyhow::{Context, Result, ensure};
use nix::unistd::{User, geteuid};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Debian's folder with the programs of each version.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The user that a server started by root runs as.
const USER: &str = "postgres";
const SETTINGS: &str = "listen_addresses = ''\nfsync = on\nwal_sync_method = fdatasync\n\
    shared_buffers = 256MB\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h\nautovacuum = off\n\
    max_connections = 64\n";

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    /// Stops the server, which is not a child process, also on a signal.
    _running: Option<testkit::Undo>,
}

impl Postgres {
    /// Makes a cluster below `folder` and starts it. The inner error says what the machine lacks.
    pub(crate) fn start(folder: &Path) -> Result<Result<Self, String>> {
        let versions = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
        let newest = versions.map(|version| version.path().join("bin")).max();
        let Some(programs) = newest.filter(|programs| programs.join("initdb").is_file()) else {
            return Ok(Err(format!("no PostgreSQL in {PROGRAMS}")));
        };
        let home = folder.join("postgresql");
        std::fs::create_dir(&home)?;
        if geteuid().is_root() {
            let user = User::from_name(USER)?.context("no user postgres")?;
            chown(&home, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
            // The server's user must be able to reach its own folder.
            std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        let mut server = Self { programs, folder: home, _running: None };
        server.run("initdb", &["-D", "data", "-A", "trust", "-U", USER])?;
        let file = server.folder.join("data/postgresql.conf");
        let socket = format!("unix_socket_directories = '{}'\n", server.folder.display());
        std::fs::write(&file, std::fs::read_to_string(&file)? + SETTINGS + &socket)?;
        let mut stop = server.command("pg_ctl");
        stop.arg("-D").arg(server.folder.join("data")).args(["-w", "-m", "immediate", "stop"]);
        let stop: Vec<String> = std::iter::once(stop.get_program())
            .chain(stop.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        server.run("pg_ctl", &["-D", "data", "-w", "-l", "log", "start"])?;
        let stop: Vec<&str> = stop.iter().map(String::as_str).collect();
        server._running = Some(testkit::Undo::by("a PostgreSQL server", &stop));
        Ok(Ok(server))
    }

    fn socket(&self) -> String {
        self.folder.display().to_string()
    }

    /// One of the programs in the folder, run as the server's user if this process is root.
    fn command(&self, program: &str) -> Command {
        let program = self.programs.join(program);
        let mut command = Command::new(&program);
        if geteuid().is_root() {
            command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups"]).arg(program);
        }
        command.current_dir(&self.folder);
        command
    }

    fn run(&self, program: &str, words: &[&str]) -> Result<String> {
        text(self.command(program).args(words), &[0])
    }

    /// The file of a table with at least this many bytes (at most 1 GiB), and its length.
    pub(crate) fn large_table(&self, bytes: u64) -> Result<(PathBuf, u64)> {
        // A row has 1 kB; seven rows fill a page of 8 KiB.
        let rows = bytes / (8 << 10) * 7;
        let fill = format!(
            "CREATE TABLE large AS SELECT id, (SELECT string_agg(md5(id::text || part), '') FROM \
             generate_series(1, 32) AS part) AS text FROM generate_series(1, {rows}) AS id; \
             CHECKPOINT"
        );
        let server = ["-h", &self.socket(), "-U", USER, "-q", "-t", "-A", "-c"];
        let ask = |words: &str| self.run("psql", &[&server[..], &[words, USER]].concat());
        ask(&fill)?;
        let relative = ask("SELECT pg_relation_filepath('large')")?;
        let path = self.folder.join("data").join(relative.trim());
        let length = std::fs::metadata(&path)?.len();
        ensure!(length >= bytes / 2, "{} has {length} bytes", path.display());
        Ok((path, length))
    }
}
