//! Processes that hold a file or device during a test.
//!
//! They are Python programs, because locks of open files, leases and shared maps need calls for which this
//! crate has no safe wrapper. A holder ends when its standard input closes, so none outlives this process.

use super::model::Use;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// How a process holds a path: a word of [`SCRIPT`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Hold {
    pub(super) word: &'static str,
    pub(super) means: Use,
    /// Whether it opens the path only for reading.
    pub(super) reads: bool,
}

const fn hold(word: &'static str, means: Use, reads: bool) -> Hold {
    Hold { word, means, reads }
}

pub(super) const OF_FILES: [Hold; 16] = [
    hold("write", Use::OpenForWriting, false),
    hold("append", Use::OpenForWriting, false),
    hold("thread", Use::OpenForWriting, false),
    hold("leaderless", Use::OpenForWriting, false),
    hold("in-flight", Use::OpenForWriting, false),
    hold("flock", Use::Locked, true),
    hold("flock-shared", Use::Locked, true),
    hold("posix", Use::Locked, false),
    hold("posix-shared", Use::Locked, true),
    hold("posix-far", Use::Locked, true),
    hold("ofd", Use::Locked, false),
    hold("ofd-shared", Use::Locked, true),
    hold("lease", Use::Leased, true),
    hold("map", Use::MappedForWriting, false),
    hold("read", Use::OpenForReading, true),
    hold("map-read", Use::OpenForReading, true),
];
pub(super) const OF_DEVICES: [Hold; 5] = [
    hold("write", Use::OpenForWriting, false),
    hold("exclusive", Use::OpenExclusively, true),
    hold("map", Use::MappedForWriting, false),
    hold("flock", Use::Locked, true),
    hold("read", Use::OpenForReading, true),
];

/// `holder.py HOW PATH`: holds the path, prints the number of the descriptor, and waits.
pub(super) const SCRIPT: &str = r#"import array, ctypes, fcntl, mmap, os, signal, socket, struct, sys, threading

how, path = sys.argv[1:3]
signal.signal(signal.SIGIO, signal.SIG_IGN)
READS = ("read", "flock", "flock-shared", "posix-shared", "posix-far", "ofd-shared", "lease",
         "exclusive", "map-read")
flags = os.O_RDONLY if how in READS else os.O_RDWR
flags |= {"exclusive": os.O_EXCL, "append": os.O_APPEND}.get(how, 0)
libc = ctypes.CDLL(None, use_errno=True)
CLONE_FILES, SYS_EXIT = 0x400, {"x86_64": 60, "aarch64": 93}[os.uname().machine]


def in_thread():
    # A thread with a table of descriptors of its own, or one that outlives the first.
    if how == "thread" and libc.unshare(CLONE_FILES) != 0:
        os._exit(1)
    print(os.open(path, flags), flush=True)
    sys.stdin.read()
    os._exit(0)


if how in ("thread", "leaderless"):
    thread = threading.Thread(target=in_thread)
    thread.start()
    if how == "leaderless":
        libc.syscall(SYS_EXIT, 0)
    thread.join()

fd = os.open(path, flags)


def lock(command, kind, start=0):
    fcntl.fcntl(fd, command, struct.pack("hhqqi4x", kind, os.SEEK_SET, start, 0, 0))


if how == "flock":
    fcntl.flock(fd, fcntl.LOCK_EX)
elif how == "flock-shared":
    fcntl.flock(fd, fcntl.LOCK_SH)
elif how == "posix":
    lock(fcntl.F_SETLK, fcntl.F_WRLCK)
elif how == "posix-shared":
    lock(fcntl.F_SETLK, fcntl.F_RDLCK)
elif how == "posix-far":
    # As SQLite: a byte at one GiB.
    lock(fcntl.F_SETLK, fcntl.F_RDLCK, 1 << 30)
elif how == "ofd":
    lock(fcntl.F_OFD_SETLK, fcntl.F_WRLCK)
elif how == "ofd-shared":
    lock(fcntl.F_OFD_SETLK, fcntl.F_RDLCK)
elif how == "lease":
    fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
elif how in ("map", "map-read"):
    # Not mmap.mmap, which keeps a descriptor of its own.
    may = mmap.PROT_READ | (mmap.PROT_WRITE if how == "map" else 0)
    call = libc.mmap
    call.restype = ctypes.c_void_p
    place = call(None, ctypes.c_size_t(4096), may, mmap.MAP_SHARED, fd, ctypes.c_long(0))
    if place == ctypes.c_void_p(-1).value:
        sys.exit(os.strerror(ctypes.get_errno()))
    if how == "map":
        os.close(fd)
elif how == "in-flight":
    ends = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    ends[0].sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
    os.close(fd)
print(fd, flush=True)
sys.stdin.read()
"#;

/// A process that holds something until dropped.
#[derive(Debug)]
pub(super) struct Holder {
    child: Child,
    /// Its first line of output.
    pub(super) said: String,
}

impl Holder {
    /// Starts a command that prints a line once it holds its target.
    pub(super) fn start(words: &[String]) -> Result<Self> {
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot run {words:?}"))?;
        let output = child.stdout.take().context("a pipe was asked for")?;
        let mut said = String::new();
        BufReader::new(output).read_line(&mut said)?;
        let holder = Self { child, said: said.trim().to_owned() };
        ensure!(!holder.said.is_empty(), "it does not hold: {}", words.join(" "));
        Ok(holder)
    }

    pub(super) fn process(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Path of the interpreter itself: a shim in PATH takes ten times as long to start.
pub(super) fn python() -> Result<PathBuf> {
    let mut command = Command::new("python3");
    let path = super::output(command.args(["-c", "print(__import__('sys').executable)"]), &[0])?;
    Ok(Path::new(String::from_utf8_lossy(&path).trim()).to_owned())
}
