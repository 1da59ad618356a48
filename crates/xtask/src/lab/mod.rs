//! Tests the diagnosis and the engines on layers that few machines have, in a qemu guest with Debian's
//! kernel: software arrays, the device mapper, disks that fail or are unplugged, and cgroups v2.
//!
//! Times in an emulated machine are long, but profile and load run in the same machine, and a verdict depends
//! on their ratio. Each case boots its own guest, so no state reaches the next case. Rejected: modules of the
//! machine's own kernel, which a container may not load and most kernels lack.

mod cases;
mod guest;
mod machine;

use crate::judge::judge;
use crate::place;
use crate::tally::Tally;
use anyhow::Result;
use cases::{Case, Cases};
use guest::Guest;
use machine::{Answers, JOINS, Machine, QEMU, WAITS};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub(crate) struct Flags {
    /// Cases whose name contains this.
    #[arg(long)]
    only: Option<String>,
    #[arg(long)]
    binary: Option<PathBuf>,
}
/// Maximum time of a case: ten times its duration on two emulating CPUs.
const LONGEST: Duration = Duration::from_secs(420);
/// Maximum printed length of an unexpected answer.
const WORDS: usize = 300;
/// Maximum time until a guest's network is up.
const LISTENS: Duration = Duration::from_secs(30);
/// How often the host checks whether a guest has ended.
const LOOK: Duration = Duration::from_millis(200);

/// The answer if it is right, as an error if it is wrong.
type Outcome = std::result::Result<String, String>;

/// How an engine ended under a fault.
#[derive(serde::Serialize)]
pub(crate) struct Fault {
    case: String,
    engine: String,
    ended: Outcome,
}

/// Results of the lab.
#[derive(Default)]
pub(crate) struct Lab {
    pub(crate) tally: Tally,
    pub(crate) faults: Vec<Fault>,
}

pub(crate) fn run(flags: &Flags) -> Result<bool> {
    let only = &flags.only;
    let wanted = |case: &Case| only.as_ref().is_none_or(|name| case.name.contains(name));
    let binary = place::binary(flags.binary.as_deref(), false)?;
    let lab = tally(binary, wanted)?;
    println!("\n{}\n{}\n{}", Tally::heads(), lab.tally.line("lab"), lab.tally.more());
    // If single cases are selected, each must be right.
    Ok(lab.all_right() || only.is_none() && lab.ended_well() && lab.tally.reached())
}

/// Runs the quick cases with the test build of the program; returns whether all are right.
pub(crate) fn smoke() -> Result<bool> {
    Ok(tally(place::binary(None, true)?, |case| case.smoke)?.all_right())
}

/// Runs the selected cases.
pub(crate) fn tally(binary: PathBuf, wanted: impl Fn(&Case) -> bool) -> Result<Lab> {
    place::needs_programs(&[QEMU, "dpkg", "apt-get"], "")?;
    // Packages that cannot be fetched are something that the machine lacks, too.
    let guest = Guest::new(place::target_folder().join("lab"), binary);
    place::needs(guest.as_ref().err().map(|error| format!("{error:#}")))?;
    let guest = guest?;
    let cases = Cases::read()?;
    let mut lab = Lab::default();
    for case in cases.case.iter().filter(|case| wanted(case)) {
        let begin = Instant::now();
        // A case that cannot be staged here gives no answers.
        let mut answers = boot(&guest, case, cases.server(case)).unwrap_or_else(|error| {
            println!("       {:26} {error:#}", case.name);
            Answers::new()
        });
        for (name, device, expect) in &case.expects {
            let found = answered(&mut answers, name).and_then(|(_, text)| {
                let found = serde_json::from_str(&text).map_err(|_| text.trim().to_owned())?;
                judge(&found, device, expect)
            });
            let answer = found.unwrap_or_else(|told| expect.missing(told));
            println!("{}", answer.line(&case.name, name));
            lab.tally.add(&answer);
        }
        for engine in &case.engines {
            let ended = answered(&mut answers, engine)
                .and_then(|(code, text)| failed(&case.says, code, &text));
            let (mark, told) = match &ended {
                Ok(told) => ("ok", told),
                Err(why) => ("WRONG!", why),
            };
            println!("{mark:6} {:26} {engine:10} {told}", case.name);
            let (case, engine) = (case.name.clone(), engine.clone());
            lab.faults.push(Fault { case, engine, ended });
        }
        for (name, (code, text)) in &answers {
            // The beginning of the text says what went wrong in the guest.
            let words: String = text.trim().chars().take(WORDS).collect();
            println!("       {:26} {name} {code}: {words}", case.name);
        }
        println!("       {:26} {:.0} s", case.name, begin.elapsed().as_secs_f64());
    }
    Ok(lab)
}

/// Runs a case in a guest until it ends or the time is over, together with the guest that serves it.
fn boot(guest: &Guest, case: &Case, server: Option<&Case>) -> Result<Answers> {
    let begin = Instant::now();
    // Left by a killed run.
    let _ = std::fs::remove_file(guest.wire());
    let server = server.map(|server| start(guest, server, Some(WAITS))).transpose()?;
    // A guest cannot be reached before it listens.
    while server.is_some() && !guest.wire().exists() && begin.elapsed() < LISTENS {
        std::thread::sleep(LOOK);
    }
    let mut machine = start(guest, case, server.as_ref().map(|_| JOINS))?;
    while machine.runs()? && begin.elapsed() < LONGEST {
        std::thread::sleep(LOOK);
    }
    let mut found = machine.ended()?;
    if let Some(server) = server {
        found.extend(server.ended()?);
    }
    Ok(found)
}

/// Starts the guest of a case.
fn start(guest: &Guest, case: &Case, network: Option<&str>) -> Result<Machine> {
    let before = format!("engines='{}'\n", case.engines.join(" "));
    Machine::start(guest, case, &guest.initrd(case, &before)?, network)
}

impl Lab {
    /// Whether each engine ended correctly under each fault.
    pub(crate) fn ended_well(&self) -> bool {
        self.faults.iter().all(|fault| fault.ended.is_ok())
    }

    /// Whether anything was judged, and everything was right.
    fn all_right(&self) -> bool {
        let right = self.tally.right;
        let some = right.of + self.faults.len() > 0;
        some && self.ended_well() && right.part == right.of
    }
}

fn answered(answers: &mut Answers, name: &str) -> Result<(i32, String), String> {
    answers.remove(name).ok_or_else(|| "no answer".to_owned())
}

/// The outcome of a run under a fault: right if it ended by itself and printed one of these words.
fn failed(says: &[String], code: i32, text: &str) -> Outcome {
    let ended = matches!(code, 0 | 1 | 4);
    match says.iter().find(|word| text.contains(*word)).filter(|_| ended) {
        Some(word) => Ok(format!("code {code}, {word}")),
        None => Err(format!("code {code}: {}", text.lines().last().unwrap_or_default())),
    }
}
