//! Connects the ranks of an MPI job, or the tasks of srun, without MPI in this program.
//!
//! A launcher starts the same command many times and gives each process its number. Rank 0 coordinates: it
//! listens and writes its address to a file. The other ranks look for that file, connect, and serve rank 0
//! as agents. The file is readable only by its user and holds a secret; a connection without the secret is
//! closed. On one machine the file is in the user's runtime folder, or in the folder for temporary files,
//! and only this machine can connect. On several machines the user must name it, in a folder that all of
//! them see. Its name can be guessed, so a file of another user, or one that other users can read or write,
//! is rejected. The barrier of MPI is used if it is built in ([`Barrier`]). Rejected: linking MPI by
//! default (each MPI library has a different binary interface, so one program would run under only one of
//! them), messages by MPI (a rank that dies would break those of all others), and reading standard input,
//! which launchers give to rank 0 alone.

use crate::agent::{Terms, serve_as};
use crate::barrier::Barrier;
use crate::launch::{JoinedAgent, Launch};
use crate::meeting::{Meeting, open_own};
use crate::waits::{Step, Waiting};
use engine::input;
use host::kernel;
use host::target::Access;
use plan::session::{Display, SessionError, StopFlag};
use record::Nanos;
use std::collections::hash_map::RandomState;

use std::hash::{BuildHasher, Hasher};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

/// Default time for which ranks wait for each other.
const MEETING_TIME: Duration = Duration::from_secs(60);
/// How often they check.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long a new connection may take to identify itself.
const INTRODUCTION: Duration = Duration::from_secs(5);
/// Connections that may be pending in addition to those of ranks.
const STRANGERS: usize = 64;
/// Maximum length of an introduction in bytes.
const INTRODUCTION_BYTES: u64 = 200;

/// Environment variables in which launchers give the number of a process and the number of processes.
const NUMBERS: [(&str, &str, &str); 3] = [
    ("Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI", "PMI_RANK", "PMI_SIZE"),
    ("Slurm", "SLURM_PROCID", "SLURM_NTASKS"),
];
/// Variables with the number of processes on this machine.
const ON_THIS_MACHINE: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
/// Variables in which Slurm gives the number of machines.
const MACHINES: [&str; 2] = ["SLURM_STEP_NUM_NODES", "SLURM_NNODES"];
const JOBS: [&str; 3] = ["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"];

/// This process's position among those that a launcher started.
#[derive(Clone, Debug)]
pub struct Rank {
    /// Its number, from 0.
    pub number: u32,
    /// Number of ranks.
    pub of: u32,
    launcher: &'static str,
    file: PathBuf,
    /// Whether only this machine may connect.
    local: bool,
    /// How long to wait for the other ranks.
    patience: Duration,
    barrier: Option<Arc<dyn Barrier>>,
}

impl Rank {
    /// Reads the rank from the environment; `file` is the rendezvous file, if the user names one.
    ///
    /// # Errors
    /// If no launcher gives a number, or the processes are on several machines and no file is named.
    pub fn of_environment(file: Option<&Path>) -> Result<Self, SessionError> {
        Self::of(&|name| std::env::var(name).ok(), file)
    }

    fn of(
        variable: &dyn Fn(&str) -> Option<String>,
        file: Option<&Path>,
    ) -> Result<Self, SessionError> {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let found = NUMBERS
            .iter()
            .find_map(|(launcher, rank, size)| Some((*launcher, number(rank)?, number(size)?)));
        let (launcher, rank, of) = found.filter(|(_, rank, of)| rank < of).ok_or_else(|| {
            SessionError::usage(
                "--mpi: no launcher set the rank of this process (OMPI_COMM_WORLD_RANK, PMI_RANK \
                 or SLURM_PROCID, each with its size); start it with mpirun or srun",
            )
        })?;
        let here = ON_THIS_MACHINE.iter().find_map(|name| number(name)).map(|here| here == of);
        let one_machine = MACHINES.iter().find_map(|name| number(name)).map(|count| count == 1);
        let local = here.or(one_machine).unwrap_or(of == 1);
        let file = match file {
            Some(file) => file.to_owned(),
            None if local => {
                let job = JOBS.iter().find_map(|name| variable(name));
                let job = job.unwrap_or_else(|| format!("of-{}", parent()));
                let plain = |it: char| if it.is_ascii_alphanumeric() { it } else { '-' };
                let job: String = job.chars().map(plain).collect();
                let own = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
                let own = own.filter(|folder| folder.is_absolute() && folder.is_dir());
                own.unwrap_or_else(std::env::temp_dir).join(format!("halfpower-{job}.rendezvous"))
            }
            None => {
                return Err(SessionError::usage(
                    "--mpi: the processes are on several machines, or their machines are unknown; \
                     add --rendezvous FILE in a shared folder",
                ));
            }
        };
        Ok(Self { number: rank, of, launcher, file, local, patience: MEETING_TIME, barrier: None })
    }

    /// The same rank with this time to wait for the others.
    #[must_use]
    pub fn waiting(self, patience: Option<Nanos>) -> Self {
        let patience = patience.map(|it| Duration::from_nanos(it.0));
        Self { patience: patience.unwrap_or(self.patience), ..self }
    }

    /// The same rank, which meets the others in a barrier before each trial.
    #[must_use]
    pub fn meeting_in(self, barrier: Arc<dyn Barrier>) -> Self {
        Self { barrier: Some(barrier), ..self }
    }

    /// The launch of rank 0: it waits for the other ranks, and takes part itself.
    #[must_use]
    pub fn launch(&self) -> Launch {
        let rank = self.clone();
        let library = self.barrier.iter().map(|it| format!(", with {}", it.library()));
        let library: String = library.collect();
        let words = format!("{} ({} processes{library})", self.launcher, self.of);
        let gather = move |stop: &StopFlag, display: &mut dyn Display| rank.gather(stop, display);
        let launch = Launch::joined(&words, self.of, Box::new(gather));
        if self.barrier.is_some() { launch.with_barrier() } else { launch }
    }

    /// Finds rank 0 and serves it until it has finished. Access to targets is refused if this process's own
    /// command line does not allow it: the file or device of that name may be a different one on this
    /// machine.
    ///
    /// # Errors
    /// If rank 0 cannot be found in time.
    pub fn take_part(&self, stop: &StopFlag, allowed: Access) -> Result<(), SessionError> {
        let stream = self.find(stop)?;
        let failed = |error: std::io::Error| {
            SessionError::NoResult(format!("rank {}: {error}", self.number))
        };
        let from = stream.try_clone().map_err(failed)?;
        let terms = Terms { allowed: Some(allowed), barrier: self.barrier.clone() };
        serve_as(terms, from, stream, stop).map_err(failed)
    }

    fn find(&self, stop: &StopFlag) -> Result<TcpStream, SessionError> {
        let begin = Instant::now();
        let mut last = format!("the file {} did not appear", self.file.display());
        while begin.elapsed() < self.patience && !stop.load(Ordering::Relaxed) {
            match self.try_find() {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error.to_string(),
            }
            thread::sleep(LOOK_EVERY);
        }
        Err(SessionError::NoResult(format!(
            "rank {} did not find rank 0 through {}: {last}",
            self.number,
            self.file.display()
        )))
    }

    /// One attempt. A file of an earlier job, or one that is about to be replaced, leads to no rank.
    fn try_find(&self) -> std::io::Result<TcpStream> {
        let mut bytes = Vec::new();
        input::at_most(open_own(&self.file)?, INTRODUCTION_BYTES, &mut bytes)?;
        let text = String::from_utf8_lossy(&bytes);
        let wrong = || std::io::Error::other("the file does not contain the address of rank 0");
        let (address, secret) = text.trim().split_once(' ').ok_or_else(wrong)?;
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        writeln!(stream, "{secret} {} {}", self.number, kernel::host_name())?;
        let mut answer = [0];
        stream.set_read_timeout(Some(INTRODUCTION))?;
        stream.read_exact(&mut answer)?;
        stream.set_read_timeout(None)?;
        Ok(stream)
    }

    /// Waits for the other ranks; this process is the first.
    fn gather(
        self,
        stop: &StopFlag,
        display: &mut dyn Display,
    ) -> Result<Vec<JoinedAgent>, SessionError> {
        let failed = |error: std::io::Error| {
            let text = format!("cannot connect to rank 0 at {}: {error}", self.file.display());
            let is_another = error.kind() == ErrorKind::AlreadyExists;
            if is_another { SessionError::Refused(text) } else { SessionError::NoResult(text) }
        };
        let bind = if self.local { "127.0.0.1:0" } else { "[::]:0" };
        let listener = TcpListener::bind(bind)
            .or_else(|error| if self.local { Err(error) } else { TcpListener::bind("0.0.0.0:0") })
            .map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        let host = if self.local { "127.0.0.1".to_owned() } else { kernel::host_name() };
        let secret = secret();
        let _meeting =
            Meeting::open(&self.file, &format!("{host}:{port} {secret}")).map_err(failed)?;
        let mut found: Vec<Option<JoinedAgent>> = (0..self.of).map(|_| None).collect();
        found[0] = Some(in_this_process(self.barrier.clone()).map_err(failed)?);
        let begin = Instant::now();
        let mut waiting = Waiting::begin(Step::Start);
        let mut door = Door::new(listener, &secret, self.of);
        while found.iter().any(Option::is_none) {
            let missing = (0..).zip(&found).filter(|(_, it)| it.is_none());
            let missing: Vec<String> =
                missing.map(|(rank, _): (u32, _)| format!("rank {rank}")).collect();
            let names: Vec<&str> = missing.iter().map(String::as_str).collect();
            waiting.show(display, &names, 1.0 - names.len() as f64 / f64::from(self.of));
            if stop.load(Ordering::Relaxed) {
                return Err(SessionError::ended("nothing was measured"));
            }
            if begin.elapsed() > self.patience {
                return Err(SessionError::NoResult(format!(
                    "--mpi: no message arrived from {1} within {0} s; check the standard error \
                     there",
                    self.patience.as_secs_f64(),
                    missing.join(", ")
                )));
            }
            for (rank, agent) in door.come_in() {
                if let Some(place) = found.get_mut(rank) {
                    place.get_or_insert(agent);
                }
            }
            thread::sleep(LOOK_EVERY);
        }
        waiting.end(display);
        Ok(found.into_iter().flatten().collect())
    }
}

/// Accepts the ranks. Each connection identifies itself on a thread of its own: any process may connect,
/// and a silent one must not delay the others.
struct Door {
    listener: TcpListener,
    secret: Arc<str>,
    /// Maximum number of pending connections.
    room: usize,
    told: mpsc::Sender<Option<(usize, JoinedAgent)>>,
    heard: mpsc::Receiver<Option<(usize, JoinedAgent)>>,
    on_the_way: usize,
}

impl Door {
    fn new(listener: TcpListener, secret: &str, ranks: u32) -> Self {
        let (told, heard) = mpsc::channel();
        let room = ranks as usize + STRANGERS;
        Self { listener, secret: secret.into(), room, told, heard, on_the_way: 0 }
    }

    /// The ranks that have identified themselves since the last call.
    fn come_in(&mut self) -> Vec<(usize, JoinedAgent)> {
        while self.on_the_way < self.room
            && let Ok((stream, _)) = self.listener.accept()
        {
            let (told, secret) = (self.told.clone(), Arc::clone(&self.secret));
            let ask = move || {
                // A connection that does not identify itself is not a rank.
                let _ = told.send(introduced(stream, &secret).ok());
            };
            // If no thread can be started, the connection is closed, and the rank tries again.
            self.on_the_way += usize::from(thread::Builder::new().spawn(ask).is_ok());
        }
        let heard: Vec<_> = self.heard.try_iter().collect();
        self.on_the_way -= heard.len();
        heard.into_iter().flatten().collect()
    }
}

fn in_this_process(barrier: Option<Arc<dyn Barrier>>) -> std::io::Result<JoinedAgent> {
    let (its_input, to) = std::io::pipe()?;
    let (from, its_output) = std::io::pipe()?;
    thread::spawn(move || {
        // Its end is the end of this process.
        let terms = Terms { allowed: None, barrier };
        let _ = serve_as(terms, its_input, its_output, &StopFlag::default());
    });
    Ok(JoinedAgent {
        host: format!("0:{}", kernel::host_name()),
        from: Box::new(from),
        to: Box::new(to),
    })
}

/// Checks the secret of a connection, and returns its rank.
fn introduced(stream: TcpStream, secret: &str) -> std::io::Result<(usize, JoinedAgent)> {
    stream.set_nonblocking(false)?;
    stream.set_nodelay(true)?;
    let line = introduction(&stream, Instant::now() + INTRODUCTION)?;
    let said = line.trim_end().split_once(' ').filter(|(said, _)| same(said, secret));
    let named = said.and_then(|(_, rank)| {
        let (rank, host) = rank.split_once(' ')?;
        Some((rank.parse::<usize>().ok().filter(|rank| *rank > 0)?, host))
    });
    let (rank, host) =
        named.ok_or_else(|| std::io::Error::other("the file belongs to another job"))?;
    (&stream).write_all(b"!")?;
    stream.set_read_timeout(None)?;
    let from = Box::new(stream.try_clone()?);
    Ok((rank, JoinedAgent { host: format!("{rank}:{host}"), from, to: Box::new(stream) }))
}

/// The line by which a connection identifies itself. The time limit applies to the whole line, so that
/// sending a byte now and then does not extend it.
fn introduction(mut stream: &TcpStream, until: Instant) -> std::io::Result<String> {
    let mut line = Vec::new();
    let mut one = [0];
    while line.len() < INTRODUCTION_BYTES as usize {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        if stream.read(&mut one)? == 0 || one[0] == b'\n' {
            break;
        }
        line.push(one[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

/// Whether two texts are equal, in a time that does not reveal where they differ.
fn same(one: &str, other: &str) -> bool {
    let differ = one.bytes().zip(other.bytes()).fold(0, |differ, (a, b)| differ | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differ) == 0
}

/// 128 secret bits: the standard library seeds its hashers from the system's random source.
fn secret() -> String {
    let half = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", half(), half())
}

#[cfg(unix)]
fn parent() -> u32 {
    std::os::unix::process::parent_id()
}

#[cfg(not(unix))]
fn parent() -> u32 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(variables: &[(&str, &str)], file: Option<&str>) -> Result<Rank, SessionError> {
        let of = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        Rank::of(&of, file.map(Path::new))
    }

    #[test]
    fn secrets_are_the_same_or_not() {
        assert!(same("ab", "ab"));
        assert!(!same("ab", "ac") && !same("ab", "a") && !same("", "a"));
    }

    /// A display that shows nothing.
    struct Unseen;

    impl Display for Unseen {
        fn show(&mut self, _shown: &plan::session::Shown<'_>) {}
        fn clear(&mut self) {}
    }

    #[test]
    fn connections_that_say_nothing_hold_up_nobody() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let file = folder.path().join("meet");
        let rank = |number| Rank {
            number,
            of: 2,
            launcher: "a test",
            file: file.clone(),
            local: true,
            patience: MEETING_TIME,
            barrier: None,
        };
        let other = rank(1);
        let comes = thread::spawn(move || {
            let text = loop {
                match std::fs::read_to_string(&other.file) {
                    Ok(text) if text.ends_with('\n') => break text,
                    _ => thread::sleep(LOOK_EVERY),
                }
            };
            let address = text.split(' ').next().expect("it has an address");
            // One after the other, they would take longer than ranks wait for each other.
            let mute = MEETING_TIME.as_secs() / INTRODUCTION.as_secs() + 3;
            let mute: Vec<_> = (0..mute).map(|_| TcpStream::connect(address)).collect();
            let mut strange = TcpStream::connect(address).expect("it listens");
            writeln!(strange, "not-the-secret 1 x").expect("it is open");
            let found = other.find(&StopFlag::default());
            drop(mute);
            found.map(drop)
        });
        let found = rank(0).gather(&StopFlag::default(), &mut Unseen).expect("both are there");
        assert!(comes.join().expect("nobody panics").is_ok());
        let hosts: Vec<&str> = found.iter().map(|agent| &agent.host[..2]).collect();
        assert_eq!(hosts, ["0:", "1:"]);
    }

    #[test]
    fn the_folder_of_the_user_is_preferred_where_it_is_there() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let there = folder.path().to_str().expect("it is a text");
        let gone = format!("{there}/none");
        for (named, expected) in [(there, folder.path()), (&gone, &std::env::temp_dir())] {
            let one = [("PMI_RANK", "0"), ("PMI_SIZE", "1"), ("XDG_RUNTIME_DIR", named)];
            let found = rank(&one, None).expect("it says all");
            assert_eq!(found.file.parent(), Some(expected));
        }
    }

    #[test]
    fn a_rank_is_known_by_what_its_launcher_says() {
        let open_mpi = [
            ("OMPI_COMM_WORLD_RANK", "2"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "4"),
            ("PMIX_NAMESPACE", "../x 1"),
        ];
        let found = rank(&open_mpi, None).expect("it says all");
        assert_eq!((found.number, found.of, found.local), (2, 4, true));
        assert!(found.file.ends_with("halfpower----x-1.rendezvous"), "{:?}", found.file);
        let slurm = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8"), ("SLURM_NNODES", "2")];
        assert!(rank(&slurm, None).is_err(), "two machines and no file");
        let found = rank(&slurm, Some("/shared/x")).expect("it names one");
        assert_eq!((found.of, found.local, found.file.to_str()), (8, false, Some("/shared/x")));
        assert!(rank(&[], None).is_err());
        assert!(rank(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")], Some("x")).is_err());
    }
}
