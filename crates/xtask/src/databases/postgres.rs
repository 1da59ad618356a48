//! A PostgreSQL server of one's own, and the loads that it is put under.

use crate::child::output;
use anyhow::{Context, Result, ensure};
use nix::unistd::{User, geteuid};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where Debian puts the programs of each version.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The user that a server started by root runs as.
const USER: &str = "postgres";
/// How pgbench's files of latencies begin; a number of the process and one of the thread follow.
const LATENCIES: &str = "latencies";
/// Clients that keep all processors busy.
const MANY: u32 = 32;
/// Rows of the table: more than clients, so that two hardly ever want the same one.
const ROWS: u32 = 100_000;
/// As little as commits, so that commits are what is measured.
const TRANSACTION: &str =
    "\\set id random(1, 100000)\nUPDATE counters SET n = n + 1 WHERE id = :id;\n";
const SETTINGS: &str = "listen_addresses = ''\nfsync = on\nwal_sync_method = fdatasync\n\
    shared_buffers = 256MB\nmax_wal_size = 8GB\ncheckpoint_timeout = 1h\nautovacuum = off\n\
    max_connections = 64\n";

pub(crate) struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    /// Stops the server, which is no child of ours, also on a signal.
    _running: Option<testkit::Undo>,
}

impl Postgres {
    /// Makes a cluster below `folder` and starts it; the inner error says what the machine lacks.
    pub(crate) fn start(folder: &Path) -> Result<Result<Self, String>> {
        let versions = std::fs::read_dir(PROGRAMS).into_iter().flatten().flatten();
        let newest = versions.map(|version| version.path().join("bin")).max();
        let Some(programs) = newest.filter(|programs| programs.join("pgbench").is_file()) else {
            return Ok(Err(format!("no PostgreSQL in {PROGRAMS}")));
        };
        let home = folder.join("postgresql");
        std::fs::create_dir(&home)?;
        if geteuid().is_root() {
            let user = User::from_name(USER)?.context("no user postgres")?;
            chown(&home, Some(user.uid.as_raw()), Some(user.gid.as_raw()))?;
            // The server's user must reach its own folder.
            std::fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        }
        let mut server = Self { programs, folder: home, _running: None };
        server.run("initdb", &["-D", "data", "-A", "trust", "-U", USER])?;
        let file = server.folder.join("data/postgresql.conf");
        let socket = format!("unix_socket_directories = '{}'\n", server.folder.display());
        let text = std::fs::read_to_string(&file)? + SETTINGS + &socket;
        std::fs::write(&file, text)?;
        let mut stop = server.command("pg_ctl");
        stop.arg("-D").arg(server.folder.join("data")).args(["-w", "-m", "immediate", "stop"]);
        let stop: Vec<String> = std::iter::once(stop.get_program())
            .chain(stop.get_args())
            .map(|word| word.to_string_lossy().into_owned())
            .collect();
        server.run("pg_ctl", &["-D", "data", "-w", "-l", "log", "start"])?;
        let stop: Vec<&str> = stop.iter().map(String::as_str).collect();
        server._running = Some(testkit::Undo::by("a PostgreSQL server", &stop));
        let rows = format!(
            "CREATE TABLE counters (id int PRIMARY KEY, n int) WITH (fillfactor = 50); \
             INSERT INTO counters SELECT id, 0 FROM generate_series(1, {ROWS}) AS id; CHECKPOINT"
        );
        server.run("psql", &["-h", &server.socket(), "-U", USER, "-q", "-c", &rows, USER])?;
        std::fs::write(server.folder.join("transaction.sql"), TRANSACTION)?;
        Ok(Ok(server))
    }

    fn socket(&self) -> String {
        self.folder.display().to_string()
    }

    /// One of the programs in the folder, as the server's user where we are root.
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
        let text = output(self.command(program).args(words), &[0])?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// The file of a table that was filled with at least so many bytes, 1 GiB at most, and its length.
    pub(crate) fn large_table(&self, bytes: u64) -> Result<(PathBuf, u64)> {
        // A row of 1 kB, seven of which fill a page of 8 KiB.
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

    /// Writes of 8 KiB with fdatasync per second, by PostgreSQL's own program.
    pub(super) fn test_fsync(&self, seconds: u32) -> Result<f64> {
        let seconds = seconds.div_ceil(4).to_string();
        let text = self.run("pg_test_fsync", &["-s", &seconds, "-f", "fsync.tmp"])?;
        rate_of_fdatasync(&text).with_context(|| format!("no rate of fdatasync in {text}"))
    }

    /// What a transaction takes beside its flush: alone, where it and its client may work at the same time,
    /// and of a processor, by so many sessions that processors are what limits. Both as they commit,
    /// but without a flush: with `synchronous_commit=off` another process flushes all the time, which takes
    /// longer.
    pub(super) fn work_ns(&self, seconds: u32) -> Result<(f64, f64)> {
        self.set_fsync("off")?;
        let rates = (self.load(1, seconds), self.load(MANY, seconds));
        self.set_fsync("on")?;
        let processors = std::thread::available_parallelism()?.get() as f64;
        Ok((1e9 / rates.0?.0, processors / rates.1?.0 * 1e9))
    }

    fn set_fsync(&self, state: &str) -> Result<()> {
        for command in [&format!("ALTER SYSTEM SET fsync = {state}"), "SELECT pg_reload_conf()"] {
            self.run("psql", &["-h", &self.socket(), "-U", USER, "-q", "-c", command, USER])?;
        }
        Ok(())
    }

    /// Commits per second, and the 99th percentile of a transaction in nanoseconds.
    pub(super) fn bench(&self, clients: u32, seconds: u32) -> Result<(f64, f64)> {
        self.load(clients, seconds)
    }

    fn load(&self, clients: u32, seconds: u32) -> Result<(f64, f64)> {
        // A thread for each client: one for all would be what they wait for.
        let words = format!(
            "-U {USER} -n -M prepared -f transaction.sql -c {clients} -j {clients} -T {seconds} -l \
             --log-prefix {LATENCIES} {USER}"
        );
        let mut command = self.command("pgbench");
        command.args(["-h", &self.socket()]).args(words.split(' '));
        let text = String::from_utf8_lossy(&output(&mut command, &[0])?).into_owned();
        let rate = transactions_per_s(&text).with_context(|| format!("no rate in {text}"))?;
        let mut times = Vec::new();
        for file in std::fs::read_dir(&self.folder)? {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with(LATENCIES) {
                times.extend(latencies_us(&std::fs::read_to_string(&path)?));
                std::fs::remove_file(path)?;
            }
        }
        ensure!(
            times.len() >= 1_000,
            "{clients} clients: {} transactions are too few",
            times.len()
        );
        times.sort_by(f64::total_cmp);
        Ok((rate, times[times.len() * 99 / 100] * 1e3))
    }
}

/// The first line of `fdatasync`: one write of 8 kB.
fn rate_of_fdatasync(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.trim_start().starts_with("fdatasync"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// `tps = 1234.5 (without initial connection time)`.
fn transactions_per_s(text: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with("tps = "))?;
    line.split_whitespace().nth(2)?.parse().ok()
}

/// The third field of each line: microseconds.
fn latencies_us(text: &str) -> impl Iterator<Item = f64> + '_ {
    text.lines().filter_map(|line| line.split(' ').nth(2)?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_programs_print_is_read() {
        let fsync = "Compare file sync methods using one 8kB write:\n\
            \x20       open_datasync      n/a*\n\
            \x20       fdatasync           1234.567 ops/sec     810 usecs/op\n\
            Compare file sync methods using two 8kB writes:\n\
            \x20       fdatasync            999.000 ops/sec    1001 usecs/op\n";
        assert_eq!(rate_of_fdatasync(fsync), Some(1234.567));
        assert_eq!(rate_of_fdatasync("open_sync 1 ops/sec"), None);
        let bench = "latency average = 0.5 ms\ntps = 1998.25 (without initial connection time)\n";
        assert_eq!(transactions_per_s(bench), Some(1998.25));
        let log: Vec<f64> =
            latencies_us("0 1 512 0 1700000000 5\n1 1 640 0 1700000000 9\nx\n").collect();
        assert_eq!(log, [512.0, 640.0]);
    }
}
