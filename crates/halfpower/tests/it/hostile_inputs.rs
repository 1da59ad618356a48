//! Inputs without an end, a beginning or a line break: each is rejected with limited memory, and each wait
//! ends at the first signal.
//!
//! The limit is the system's own (`ulimit -d`, RLIMIT_DATA). A program that exceeds it aborts, so a normal
//! exit code proves compliance. Nothing here depends on time.

use crate::program::{Outcome, Running, program};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;
use tempfile::TempDir;

/// Memory limit of the program in KiB.
const MEMORY_KIB: u32 = 256 << 10;
/// Maximum length of a message.
const MESSAGE_BYTES: usize = 64 << 10;

/// Every place that reads a file named by the user: words with FILE in them, and the file's extension.
const PLACES: &[(&str, &str)] = &[
    ("run including.fio --no-save", "included"),
    ("record FILE --utc-offset +01:00 --no-save", "json"),
    ("record FILE --format sadf-json --no-save", "json"),
    ("run . --replay FILE --no-save", "log"),
    ("diagnose --all --recorded FILE --no-save", "log"),
    ("predict last --recorded FILE", "log"),
    ("sweep FILE . --no-save", "toml"),
    ("report FILE --md", "json"),
    ("export FILE --csv tables", "json"),
    ("compare FILE FILE", "csv"),
    ("run sim:FILE --no-save", "toml"),
    ("predict --spec FILE --rate-iops 1", "toml"),
    ("record --prometheus http://127.0.0.1:1 --query-range now-1h..now --token-file FILE", "token"),
    ("run . --hosts @FILE --no-save", "hosts"),
];

/// A folder with another file that a place needs.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("including.fio"), "[a]\ninclude x.included\n").unwrap();
    folder
}

/// The program in a folder, with a memory limit.
fn bounded(folder: &Path, words: &str) -> Command {
    let whole = program();
    let mut command = Command::new("sh");
    let script = format!("ulimit -c 0; ulimit -d {MEMORY_KIB}; exec \"$0\" \"$@\"");
    command.args(["-c", &script]).arg(whole.get_program()).args(words.split_whitespace());
    for (name, value) in whole.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(folder).env("HALFPOWER_DB", folder.join("kept.db")).stdin(Stdio::null());
    command
}

/// Checks that it ended with a message of usual length.
#[track_caller]
fn refused(ended: Outcome, words: &str) -> String {
    assert!(matches!(ended.code, Some(2 | 4)), "{words}: {:?}", ended.code);
    assert!(ended.stderr.len() < MESSAGE_BYTES, "{words}: {} bytes", ended.stderr.len());
    for wrong in ["panicked", "out of memory", "annot allocate"] {
        assert!(!ended.stderr.contains(wrong), "{words}: {}", ended.stderr);
    }
    ended.stderr
}

/// Tries one file at every place; returns the messages.
fn at_every_place(make: impl Fn(&Path)) -> Vec<(String, String)> {
    at_places(|_| true, make)
}

/// Tries one file at the places with these extensions.
fn at_places(wanted: impl Fn(&str) -> bool, make: impl Fn(&Path)) -> Vec<(String, String)> {
    let try_place = |(words, ending): &(&str, &str)| {
        let folder = folder();
        let name = format!("x.{ending}");
        make(&folder.path().join(&name));
        // A path, because a bare name may be that of a design.
        let words = words.replace("FILE", &format!("./{name}"));
        let ended = Running::start(bounded(folder.path(), &words)).end();
        (refused(ended, &words), words)
    };
    let places = PLACES.iter().filter(|(_, ending)| wanted(ending));
    places.map(try_place).map(|(said, words)| (words, said)).collect()
}

#[test]
fn a_device_without_an_end_is_refused_at_every_place() {
    for (words, said) in at_every_place(|path| symlink("/dev/zero", path).unwrap()) {
        let expected = ["it is a device", "is not a file", "names no file"];
        assert!(expected.iter().any(|words| said.contains(words)), "{words}: {said}");
    }
}

#[test]
fn a_sparse_file_of_a_gigabyte_is_refused_at_every_place() {
    let make = |path: &Path| File::create(path).unwrap().set_len(1_000_000_000).unwrap();
    for (words, said) in at_every_place(make) {
        let expected = ["it is larger than", "contains NUL bytes"];
        assert!(expected.iter().any(|words| said.contains(words)), "{words}: {said}");
    }
}

#[test]
fn a_directory_is_refused_at_every_place() {
    for (words, said) in at_every_place(|path| std::fs::create_dir(path).unwrap()) {
        assert!(!said.is_empty(), "{words}");
    }
}

#[test]
fn a_line_without_an_end_and_a_long_value_give_a_short_message_at_every_place() {
    let line =
        |letters: usize| move |path: &Path| std::fs::write(path, "x".repeat(letters)).unwrap();
    at_every_place(line(64 << 20));
    at_every_place(line(900 << 10));
    // Each where files begin like that, or everywhere.
    for (text, of) in
        [("[a]\nrw=", "included"), ("[", "json"), ("bs = \"", "toml"), ("{\"schema\": \"", "json")]
    {
        at_places(
            |ending| testkit::draws(ending == of, true),
            |path| std::fs::write(path, text.to_owned() + &"é[".repeat(300_000)).unwrap(),
        );
    }
}

#[test]
fn an_option_with_a_long_value_gives_a_short_message() {
    let folder = folder();
    // A word of a command line may have 128 KiB.
    let long = "9k".repeat(50_000);
    for words in ["run . --bs LONG", "run LONG", "run --name=a --bs=LONG", "record LONG", "LONG"] {
        let ended = Running::start(bounded(folder.path(), &words.replace("LONG", &long))).end();
        refused(ended, words);
    }
}

#[test]
fn standard_input_without_an_end_is_left_at_its_start() {
    for (words, pattern) in
        [("record - --no-save", &b"y\n"[..]), ("report - --md", b"y\n"), ("record -", b"\0")]
    {
        let folder = folder();
        let mut command = bounded(folder.path(), words);
        command.stdin(Stdio::piped());
        let mut running = Running::start(command);
        let mut to = running.input();
        let endless = pattern.repeat(65_536);
        let writer = thread::spawn(move || while to.write_all(&endless).is_ok() {});
        refused(running.end(), words);
        writer.join().unwrap();
    }
}

#[test]
fn a_recording_that_comes_slowly_through_a_pipe_is_read_whole() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/samples/iostat.json");
    let (folder, bytes) = (folder(), std::fs::read(sample).unwrap());
    let mut command = bounded(folder.path(), "record - --no-save");
    command.stdin(Stdio::piped());
    let mut running = Running::start(command);
    let mut to = running.input();
    for part in bytes.chunks(bytes.len().div_ceil(20)) {
        to.write_all(part).unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    drop(to);
    assert!(running.end().expect(0).stdout.contains("dm-0"), "the devices are shown");
}

/// Waits until the program has opened a pipe for reading, and returns the writing end.
fn writer_of(pipe: &Path) -> File {
    // With O_NONBLOCK, opening fails until a process reads the pipe.
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    loop {
        match OpenOptions::new().write(true).custom_flags(nonblocking).open(pipe) {
            Ok(file) => return file,
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NXIO.raw_os_error()));
            }
        }
        thread::sleep(Duration::from_millis(2));
    }
}

#[test]
fn a_pipe_that_gives_nothing_ends_at_the_first_signal() {
    let places = PLACES.iter().filter(|(words, _)| {
        // These accept only files, so they never wait.
        let files_only = ["report", "export", "compare"];
        !files_only.iter().any(|verb| words.starts_with(verb))
    });
    for (words, ending) in places {
        for signal in ["TERM", "INT"] {
            let folder = folder();
            let pipe = folder.path().join(format!("x.{ending}"));
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0)
                .unwrap();
            let words = words.replace("FILE", &format!("./x.{ending}"));
            let running = Running::start(bounded(folder.path(), &words));
            let writer = writer_of(&pipe);
            running.signal(signal);
            let ended = running.end();
            drop(writer);
            assert_eq!(ended.code, Some(130), "{words}: {ended:?}");
            assert!(ended.stderr.contains("interrupted"), "{words}: {ended:?}");
        }
    }
}

/// The outcome of an import from a server. `serve` handles its connections, and says when to send the signal.
fn import_from(serve: fn(&mut TcpStream, &mut dyn FnMut()), signal: Option<&str>) -> Outcome {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let folder = folder();
    let words =
        format!("record --prometheus http://127.0.0.1:{port} --query-range now-1h..now --no-save");
    let running = Running::start(bounded(folder.path(), &words));
    let (mut stream, _) = listener.accept().unwrap();
    let mut asked = [0; 4_096];
    assert!(stream.read(&mut asked).unwrap() > 0);
    let mut signalled = signal;
    serve(&mut stream, &mut || {
        if let Some(signal) = signalled.take() {
            running.signal(signal);
        }
    });
    running.end()
}

const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999999999\r\n\r\n";

#[test]
fn a_server_that_drips_or_says_nothing_is_left_at_the_first_signal() {
    let drips = |stream: &mut TcpStream, now: &mut dyn FnMut()| {
        stream.write_all(HEAD).unwrap();
        let mut bytes = 0;
        // Until the program has ended.
        while stream.write_all(b"{").is_ok() {
            bytes += 1;
            if bytes == 10 {
                now();
            }
            thread::sleep(Duration::from_millis(20));
        }
    };
    let mute = |stream: &mut TcpStream, now: &mut dyn FnMut()| {
        now();
        // Until the program has ended.
        while stream.read(&mut [0; 16]).is_ok_and(|bytes| bytes > 0) {}
    };
    for signal in ["TERM", "INT"] {
        for serve in [drips as fn(&mut TcpStream, &mut dyn FnMut()), mute] {
            let ended = import_from(serve, Some(signal)).expect(130);
            assert!(ended.stderr.contains("interrupted"), "{ended:?}");
        }
    }
}

#[test]
fn an_answer_of_a_server_that_has_no_end_is_refused() {
    let floods = |stream: &mut TcpStream, _: &mut dyn FnMut()| {
        stream.write_all(HEAD).unwrap();
        let chunk = vec![b'{'; 1 << 20];
        let gone = loop {
            if let Err(error) = stream.write_all(&chunk) {
                break error;
            }
        };
        assert!(
            matches!(gone.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset),
            "{gone}"
        );
    };
    let said = refused(import_from(floods, None), "import");
    assert!(said.contains("use a shorter range"), "{said}");
}
