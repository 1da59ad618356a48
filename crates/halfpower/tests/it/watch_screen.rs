//! The live screen on a separate terminal: what is drawn, which keys work, and that the terminal is restored
//! on every exit.

use crate::program::program;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Longer than a screen takes to react on a slow machine.
const PATIENCE: Duration = Duration::from_secs(30);
/// Escape sequences that enter and leave the alternate screen.
const TAKEN: &str = "\x1b[?1049h";
const GIVEN_BACK: &str = "\x1b[?1049l";

/// The program on a terminal.
struct Session {
    child: Child,
    keyboard: File,
    terminal: OwnedFd,
    drawn: Receiver<Vec<u8>>,
    text: String,
}

impl Session {
    fn start(words: &str, columns: u16, rows: u16) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = name.to_str().unwrap();
        let terminal: OwnedFd = File::options().read(true).write(true).open(path).unwrap().into();
        resize(&terminal, columns, rows);
        // In its own session, which has the size and the signals of this terminal.
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program().get_program());
        command.env("TERM", "xterm-256color").args(words.split_whitespace());
        let end = || terminal.try_clone().unwrap();
        command.stdin(end()).stdout(end()).stderr(end());
        let child = command.spawn().unwrap();
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().unwrap();
        let (send, drawn) = channel();
        std::thread::spawn(move || {
            let mut buffer = [0; 65_536];
            while let Ok(count) = screen.read(&mut buffer) {
                if count == 0 || send.send(buffer[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self { child, keyboard, terminal, drawn, text: String::new() }
    }

    /// Waits until these words have been drawn since the last call.
    #[track_caller]
    fn wait_for(&mut self, words: &str) -> String {
        let start = Instant::now();
        while !self.text.contains(words) {
            if let Ok(bytes) = self.drawn.recv_timeout(Duration::from_millis(50)) {
                self.text.push_str(&String::from_utf8_lossy(&bytes));
            }
            assert!(start.elapsed() < PATIENCE, "{words:?} was not drawn: {:?}", self.text);
        }
        // Later output is left for the next call.
        let end = self.text.find(words).map_or(0, |at| at + words.len());
        let rest = self.text.split_off(end);
        std::mem::replace(&mut self.text, rest)
    }

    fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    fn signal(&self, name: &str) {
        let command = format!("kill -s {name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &command]).status().unwrap().success());
    }

    fn is_raw(&self) -> bool {
        !tcgetattr(&self.terminal).unwrap().local_modes.contains(LocalModes::ICANON)
    }

    fn is_stopped(&self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit(") ").next().is_some_and(|fields| fields.starts_with('T'))
    }

    /// Checks that it ends with this code and leaves the terminal as it was.
    #[track_caller]
    fn ends(mut self, code: i32) -> String {
        let start = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        };
        let text = self.wait_for(GIVEN_BACK);
        assert_eq!(status.code(), Some(code), "{text}");
        assert!(text.contains("\x1b[?25h"), "the cursor is gone: {text:?}");
        assert!(text.contains("\x1b[?1000l"), "the mouse is still taken: {text:?}");
        assert!(!self.is_raw(), "the terminal is still raw");
        while let Ok(bytes) = self.drawn.recv_timeout(Duration::from_millis(50)) {
            self.text.push_str(&String::from_utf8_lossy(&bytes));
        }
        text + &self.text
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &OwnedFd, columns: u16, rows: u16) {
    let size = Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(terminal, size).unwrap();
}

fn watching(more: &str) -> Session {
    let words = format!("watch --all --interval 100ms --db /proc/none/x {more}");
    let mut session = Session::start(&words, 80, 24);
    session.wait_for(TAKEN);
    session.wait_for("read/s");
    assert!(session.is_raw());
    session
}

#[test]
fn q_ends_the_screen_and_gives_the_terminal_back() {
    let mut session = watching("");
    session.press("q");
    session.ends(0);
}

#[test]
fn every_signal_that_ends_the_screen_gives_the_terminal_back() {
    for signal in ["INT", "TERM", "HUP"] {
        let session = watching("");
        session.signal(signal);
        let text = session.ends(130);
        let after = text.split(GIVEN_BACK).last().unwrap();
        assert!(after.contains("interrupted"), "the message is not readable: {text:?}");
    }
}

#[test]
fn two_signals_at_once_give_it_back_too() {
    for _ in 0..testkit::draws(2, 5) {
        let session = watching("");
        let command =
            format!("kill -s TERM {0}; kill -s INT {0}; kill -s TERM {0}", session.child.id());
        assert!(Command::new("sh").args(["-c", &command]).status().is_ok());
        session.ends(130);
    }
}

#[test]
fn keys_show_help_detail_and_another_order() {
    let mut session = watching("");
    session.press("h");
    // These words are only on this page; the formula is also on a device's detail page.
    session.wait_for("(overlap");
    session.press("h");
    session.wait_for("read/s");
    session.press("s");
    session.wait_for("; by iops");
    session.press("p");
    session.wait_for("PAUSED");
    session.press("p\x1b[B\x1b[A\r");
    session.wait_for("resolution");
    session.press("\x1b");
    session.wait_for("read/s");
    // A change redraws only the cells that differ. After a complete redraw, each word has a known position.
    session.press("+\x0c");
    session.wait_for("every\x1b[1;42H200");
    session.press("\x03");
    session.ends(0);
}

#[test]
fn what_is_typed_after_a_slash_is_looked_for_and_no_key() {
    let mut session = watching("");
    // As commands, q would end the screen and s would sort.
    session.press("/qs-nothing-like-it\r\x0c");
    session.wait_for("ONLY");
    session.wait_for("processes.");
    session.press("\x1b");
    session.wait_for("read/s");
    session.press("q");
    session.ends(0);
}

#[test]
fn another_size_of_the_terminal_is_filled_at_once() {
    let mut session = watching("");
    resize(&session.terminal, 120, 40);
    session.signal("WINCH");
    session.wait_for("\x1b[40;1H");
    session.press("q");
    session.ends(0);
}

#[test]
fn a_stopped_screen_gives_the_terminal_back_and_takes_it_again() {
    let mut session = watching("");
    session.signal("TSTP");
    session.wait_for(GIVEN_BACK);
    // A signal sent before the stop would not resume it.
    let start = Instant::now();
    while !session.is_stopped() {
        assert!(start.elapsed() < PATIENCE, "it does not stop");
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(!session.is_raw(), "the terminal is still raw");
    session.signal("CONT");
    session.wait_for(TAKEN);
    session.wait_for("read/s");
    session.press("q");
    session.ends(0);
}

#[test]
fn a_recording_made_on_the_screen_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let words = format!("watch --all --interval 50ms --db {}/r.db", folder.path().display());
    let mut session = Session::start(&words, 80, 24);
    session.wait_for("read/s");
    session.press("r");
    session.wait_for("RECORDING");
    std::thread::sleep(Duration::from_millis(300));
    session.press("r");
    session.wait_for("saved; to diagnose it: halfpower diagnose");
    session.press("rq");
    let text = session.ends(0);
    assert!(text.contains("recorded; to diagnose it: halfpower diagnose"), "{text}");
}

#[test]
fn a_recording_that_cannot_be_saved_does_not_end_the_screen() {
    let mut session = watching("");
    session.press("r");
    session.wait_for("cannot");
    session.press("q");
    session.ends(0);
}
