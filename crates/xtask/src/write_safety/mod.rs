//! The program tried against stacks of files and devices: it never writes where data could be lost.
//!
//! Stacks are drawn from a seed: file systems, links, overlays, loop devices over files and over each other,
//! swap, locks and other processes. Each is a target in many ways. A model of what docs/safety.md promises, which
//! knows nothing of how the program decides, says what must be refused; the bytes of the lowest files
//! say what was written. Rejected: a list of known holes, which finds those alone.
//!
//! The judge is tried first with programs that are wrong on purpose.

mod bytes;
mod draw;
mod holder;
mod judge;
mod model;
mod own_files;
mod planted;
mod stack;
mod verbs;

use crate::{arguments::Arguments, child, place};
use anyhow::{Context, Result};
use draw::Tools;
use judge::{Outcome, State};
use model::Kind;
use stack::Stack;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use testkit::{Capability, Folder};
use verbs::{Kit, Target};
use workload::{Rng, derive_seed};

pub(crate) const VALUES: [&str; 4] = ["--cases", "--seed", "--stack", "--binary"];
pub(crate) const SWITCHES: [&str; 2] = ["--smoke", "--verbose"];
const CASES: u64 = 2_000;
const SMOKE_CASES: u64 = 100;
/// Command lines for a stack, and those about the program's own files between two stacks.
const OF_A_STACK: u64 = 15;
const OF_OWN_FILES: u64 = 6;
/// Stacks that cannot be made, of those drawn: more than this share is a fault of this program.
const UNMADE: f64 = 0.3;

/// What it takes.
const NEEDED: [Capability; 8] = [
    Capability::Root,
    Capability::Loop,
    Capability::Mount,
    Capability::Namespace,
    Capability::Ext4,
    Capability::Swap,
    Capability::Disk,
    Capability::Python,
];

pub(crate) fn run(arguments: &Arguments) -> Result<bool> {
    let smoke = arguments.has("--smoke");
    let binary = place::binary(arguments.value("--binary")?, true)?;
    let cases = arguments.value("--cases")?;
    let options = Options {
        cases: cases.unwrap_or(if smoke { SMOKE_CASES } else { CASES }),
        seed: arguments.value("--seed")?.unwrap_or(1),
        only: arguments.value("--stack")?,
        verbose: arguments.has("--verbose"),
    };
    match all(binary, &options)? {
        Ok(good) => Ok(good),
        Err(lacks) => {
            println!("SKIP write-safety: {lacks}");
            Ok(true)
        }
    }
}

/// The short run of the gate; the reason where the machine lacks what it takes.
pub(crate) fn smoke() -> Result<std::result::Result<bool, String>> {
    let options = Options { cases: SMOKE_CASES, seed: 1, only: None, verbose: false };
    all(place::dev_binary()?, &options)
}

struct Options {
    cases: u64,
    seed: u64,
    /// The number of one stack.
    only: Option<u64>,
    verbose: bool,
}

fn all(binary: PathBuf, options: &Options) -> Result<std::result::Result<bool, String>> {
    let lacks: Vec<String> = NEEDED.iter().filter_map(|it| it.lack()).collect();
    if !lacks.is_empty() {
        return Ok(Err(lacks.join(", and ")));
    }
    // Mounts of this process alone: they end with it, and nothing else sees them.
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?;
    child::output(Command::new("mount").args(["--make-rprivate", "/"]), &[0])?;
    let disk = testkit::disk_folder()?;
    let folder = Folder::within(disk.path(), "write-safety-")?;
    let bench = Bench::new(binary, folder.path())?;
    bench.try_the_judge()?;
    let mut record = Record::default();
    let begin = Instant::now();
    let mut number = options.only.unwrap_or(0);
    while record.cases < options.cases {
        bench.turn(options, number, &mut record)?;
        number += 1;
        if options.only.is_some() {
            break;
        }
    }
    Ok(Ok(record.summary(number, begin)))
}

/// What all stacks share.
struct Bench {
    kit: Kit,
    tools: Tools,
    own_files: OwnFiles,
    stacks: PathBuf,
}

/// The program's own files as cases begin with them.
struct OwnFiles {
    template: PathBuf,
    /// Of its databases.
    rows: Vec<BTreeMap<String, u64>>,
}

impl Bench {
    fn new(binary: PathBuf, folder: &Path) -> Result<Self> {
        let [kit_folder, stacks] = ["kit", "stacks"].map(|name| folder.join(name));
        fs::create_dir_all(&kit_folder)?;
        fs::create_dir_all(&stacks)?;
        let script = folder.join("holder.py");
        fs::write(&script, holder::SCRIPT)?;
        let (free, trial) = (kit_folder.join("free"), kit_folder.join("trial.json"));
        let home = folder.join("home");
        let kit = Kit { binary, folder: kit_folder, home, free, trial };
        fs::write(&kit.free, "what the user needs no more\n".repeat(40_000))?;
        let tools = Tools { python: holder::python()?, script };
        let template = own_files::template(&kit, folder, &tools.python)?;
        fs::copy(template.join("trial.json"), &kit.trial)?;
        // Of a copy: reading a database takes its log in.
        let copy = folder.join("counted");
        let line = format!("cp -a {} {}", template.display(), copy.display());
        child::output(Command::new("sh").args(["-c", &line]), &[0])?;
        let rows = judge::DATABASES.map(|name| own_files::rows(&tools.python, &copy.join(name)));
        let rows = rows.into_iter().collect::<Result<_>>()?;
        Ok(Self { kit, tools, own_files: OwnFiles { template, rows }, stacks })
    }

    /// A stack with its commands, and some about the program's own files.
    fn turn(&self, options: &Options, number: u64, record: &mut Record) -> Result<()> {
        let mut rng = Rng::new(derive_seed(options.seed, number));
        let mut rng_of_own_files = Rng::new(derive_seed(!options.seed, number));
        let again = format!("cargo xtask write-safety --seed {} --stack {number}", options.seed);
        {
            let place = "xtask::write_safety::turn";
            let _lock = testkit::enter(place, &[Capability::Loop]).context("no loop device")?;
            let tried = self
                .drawn(&mut rng)
                .and_then(|stack| self.commands(&stack, &mut rng, options, record, &again));
            if let Err(error) = tried {
                println!("stack {number} cannot be made or read: {error:#}");
                record.unmade += 1;
            }
        }
        for _ in 0..OF_OWN_FILES {
            if record.cases >= options.cases {
                break;
            }
            let folder = self.stacks.join("case");
            let case = own_files::draw(
                &self.kit,
                &self.own_files.template,
                &folder,
                &mut rng_of_own_files,
            )?;
            let found =
                judge::own_file(&self.kit, &case, &self.tools.python, &self.own_files.rows)?;
            record.add(found, &again);
        }
        Ok(())
    }

    fn drawn(&self, rng: &mut Rng) -> Result<Stack> {
        let mut stack = Stack::new(&self.stacks)?;
        draw::draw(&mut stack, rng, &self.tools)?;
        Ok(stack)
    }

    fn commands(
        &self,
        stack: &Stack,
        rng: &mut Rng,
        options: &Options,
        record: &mut Record,
        again: &str,
    ) -> Result<()> {
        if options.verbose {
            print!("{again}\n{}", stack.drawing());
        }
        let mut state = State::read(stack, &self.kit)?;
        for _ in 0..OF_A_STACK {
            if record.cases >= options.cases {
                return Ok(());
            }
            let node = rng.below(stack.nodes.len() as u64) as usize;
            let names = &stack.nodes[node].names;
            let name = &names[rng.below(names.len() as u64) as usize];
            let target = target(stack, node, &name.path)?;
            let mut attempt = verbs::draw(&self.kit, &target, rng)?;
            // A writer of the other name is shown for that name alone.
            attempt.contained &= stack.note.is_empty();
            // Devices over the file of a lower layer are read-only.
            attempt.must &= !stack.note.contains("lower layer");
            let found = judge::attempt(&self.kit, stack, &mut state, node, &attempt)?;
            let broken = found.findings.iter().any(|finding| finding.fault == judge::Fault::Hole);
            if options.verbose {
                println!("  {} {} ({})", attempt.verb, name.path.display(), name.how);
            }
            let signature_gone = found.wrote && stack.signed(node);
            record.add(found, again);
            if broken || signature_gone {
                // The model does not know what the stack is now.
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A node as a target by one of its names.
fn target<'a>(stack: &Stack, node: usize, path: &'a Path) -> Result<Target<'a>> {
    let kind = stack.nodes[node].kind;
    let device = kind == Kind::Device;
    let stable_name = if device { Some(stack.device_name(node)?) } else { None };
    Ok(Target { path, kind, stable_name })
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// What was found.
#[derive(Default)]
struct Record {
    cases: u64,
    unmade: u64,
    wrote: u64,
    refused: u64,
    /// How often, and after how many cases first.
    kinds: BTreeMap<(judge::Fault, String), (u64, u64)>,
}

impl Record {
    fn add(&mut self, outcome: Outcome, again: &str) {
        self.cases += 1;
        self.wrote += u64::from(outcome.wrote);
        self.refused += u64::from(outcome.refused);
        for finding in outcome.findings {
            let first = (0, self.cases);
            let kind = self.kinds.entry((finding.fault, finding.key)).or_insert(first);
            kind.0 += 1;
            if kind.0 == 1 && finding.fault.fails() {
                let number = self.cases;
                println!("\n{} in case {number}, {again}\n{}", finding.fault.word(), finding.text);
            }
        }
    }

    /// Prints the kinds; whether none fails.
    fn summary(&self, stacks: u64, begin: Instant) -> bool {
        println!("\ntimes, first in case, what");
        for ((_, key), (times, first)) in &self.kinds {
            println!("{times:>5} {first:>6}  {key}");
        }
        let failing: u64 =
            self.kinds.iter().filter(|((fault, _), _)| fault.fails()).map(|(_, (n, _))| n).sum();
        let Self { cases: all, unmade, wrote, refused, .. } = self;
        println!("{refused} refused, {wrote} wrote to a stack where they were allowed to");
        let took = begin.elapsed().as_secs();
        println!(
            "{all} cases on {stacks} stacks in {took} s, {failing} failed; {unmade} stacks could not be made"
        );
        failing == 0 && self.unmade as f64 <= UNMADE * stacks as f64
    }
}
