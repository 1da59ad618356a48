//! Tests that the program never writes where data could be lost, on random stacks of files and devices.
//!
//! Stacks are drawn from a seed: file systems, links, overlays, loop devices over files and over each other,
//! swap, locks and other processes. Each stack is used as a target in many ways. A model of the guarantees in
//! docs/safety.md, independent of the program's own decisions, says what must be refused. The bytes of the
//! lowest files show what was written. Rejected: a list of known holes, which finds only those.
//!
//! The judge itself is tested first, with deliberately wrong programs. Everything runs in a process with its
//! own mount namespace, so the mounts end with it and no other process sees them. `HALFPOWER_STACK=NUMBER`
//! tests one stack only, and prints each attempt on it.

mod bytes;
mod draw;
mod holder;
mod judge;
mod model;
mod own_files;
mod planted;
mod stack;
mod verbs;

use anyhow::{Context, Result, bail, ensure};
use draw::Tools;
use judge::{Outcome, State};
use model::Kind;
use stack::Stack;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{Capability, Folder, is_child, passes_in_child};
use verbs::{Kit, Target};
use workload::{Rng, derive_seed};

/// Total number of command lines: a sample, and all with `HALFPOWER_PROVE=1`.
const SAMPLE: u64 = 60;
const CASES: u64 = 2_000;
/// Seed of all stacks.
const SEED: u64 = 1;
/// Environment variable that selects one stack.
const ONE_STACK: &str = "HALFPOWER_STACK";
/// Number of command lines per stack, and of those about the program's own files between two stacks.
const OF_A_STACK: u64 = 15;
const OF_OWN_FILES: u64 = 6;
/// Maximum share of drawn stacks that cannot be made. More means a bug in this test.
const UNMADE: f64 = 0.3;

/// Required capabilities.
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

#[test]
fn the_program_never_writes_where_data_could_be_lost() {
    const TEST: &str = "write_safety::the_program_never_writes_where_data_could_be_lost";
    if is_child() {
        return all().unwrap();
    }
    // The devices are locked for each stack separately.
    if testkit::enter(&format!("{TEST}::place"), &NEEDED).is_some() {
        passes_in_child(TEST, &["unshare", "--mount", "--propagation", "private"]);
    }
}

fn all() -> Result<()> {
    let only: Option<u64> = std::env::var(ONE_STACK).ok().map(|text| text.parse()).transpose()?;
    let cases = testkit::draws(SAMPLE, CASES);
    let disk = testkit::disk_folder()?;
    let folder = Folder::within(disk.path(), "write-safety-")?;
    let bench = Bench::new(env!("CARGO_BIN_EXE_halfpower").into(), folder.path())?;
    bench.try_the_judge()?;
    let mut record = Record { left: cases, ..Record::default() };
    let mut number = only.unwrap_or(0);
    while record.left > 0 {
        bench.turn(number, only.is_some(), &mut record)?;
        number += 1;
        if only.is_some() {
            break;
        }
    }
    record.judge(number)
}

/// Standard output of a command that must end with one of these codes.
fn output(command: &mut Command, good: &[i32]) -> Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    let words = String::from_utf8_lossy(&output.stderr);
    let ended_well = output.status.code().is_some_and(|code| good.contains(&code));
    ensure!(ended_well, "{command:?}: {}", words.trim());
    Ok(output.stdout)
}

/// Resources shared by all stacks.
struct Bench {
    kit: Kit,
    tools: Tools,
    own_files: OwnFiles,
    stacks: PathBuf,
}

/// The program's own files in their initial state.
struct OwnFiles {
    template: PathBuf,
    /// Row counts of its databases.
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
        // Use a copy, because reading a database merges its log.
        let copy = folder.join("counted");
        let line = format!("cp -a {} {}", template.display(), copy.display());
        output(Command::new("sh").args(["-c", &line]), &[0])?;
        let rows = judge::DATABASES.map(|name| own_files::rows(&tools.python, &copy.join(name)));
        let rows = rows.into_iter().collect::<Result<_>>()?;
        Ok(Self { kit, tools, own_files: OwnFiles { template, rows }, stacks })
    }

    /// Tests a stack with its commands, and some commands about the program's own files.
    fn turn(&self, number: u64, verbose: bool, record: &mut Record) -> Result<()> {
        let mut rng = Rng::new(derive_seed(SEED, number));
        let mut rng_of_own_files = Rng::new(derive_seed(!SEED, number));
        let again = format!("{ONE_STACK}={number}");
        {
            let place = "write_safety::turn";
            let _lock = testkit::enter(place, &[Capability::Loop]).context("no loop device")?;
            let tried = self
                .drawn(&mut rng)
                .and_then(|stack| self.commands(&stack, &mut rng, verbose, record, &again));
            if let Err(error) = tried {
                println!("stack {number} cannot be made or read: {error:#}");
                record.unmade += 1;
            }
        }
        for _ in 0..OF_OWN_FILES {
            if record.left == 0 {
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
        verbose: bool,
        record: &mut Record,
        again: &str,
    ) -> Result<()> {
        if verbose {
            print!("{again}\n{}", stack.drawing());
        }
        let mut state = State::read(stack, &self.kit)?;
        for _ in 0..OF_A_STACK {
            if record.left == 0 {
                return Ok(());
            }
            let node = rng.below(stack.nodes.len() as u64) as usize;
            let names = &stack.nodes[node].names;
            let name = &names[rng.below(names.len() as u64) as usize];
            let target = target(stack, node, &name.path)?;
            let mut attempt = verbs::draw(&self.kit, &target, rng)?;
            // A process that writes through the other name is visible under that name only.
            attempt.contained &= stack.note.is_empty();
            // Devices over the file of a lower layer are read-only.
            attempt.must &= !stack.note.contains("lower layer");
            let found = judge::attempt(&self.kit, stack, &mut state, node, &attempt)?;
            let broken = found.findings.iter().any(|finding| finding.fault == judge::Fault::Hole);
            if verbose {
                println!("  {} {} ({})", attempt.verb, name.path.display(), name.how);
            }
            let signature_gone = found.wrote && stack.signed(node);
            record.add(found, again);
            if broken || signature_gone {
                // The model no longer knows the state of the stack.
                return Ok(());
            }
        }
        Ok(())
    }
}

/// A node as a target, by one of its names.
fn target<'a>(stack: &Stack, node: usize, path: &'a Path) -> Result<Target<'a>> {
    let kind = stack.nodes[node].kind;
    let device = kind == Kind::Device;
    let stable_name = if device { Some(stack.device_name(node)?) } else { None };
    Ok(Target { path, kind, stable_name })
}

/// A word quoted for a shell.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-=:,+@".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// Results of the test.
#[derive(Default)]
struct Record {
    /// Number of cases still to be tried.
    left: u64,
    unmade: u64,
    wrote: u64,
    refused: u64,
    /// Failures by kind: their number, and the first in full.
    faults: BTreeMap<(judge::Fault, String), (u64, String)>,
}

impl Record {
    fn add(&mut self, outcome: Outcome, again: &str) {
        self.left -= 1;
        self.wrote += u64::from(outcome.wrote);
        self.refused += u64::from(outcome.refused);
        for finding in outcome.findings.into_iter().filter(|finding| finding.fault.fails()) {
            let text = || (0, format!("{} with {again}\n{}", finding.fault.word(), finding.text));
            self.faults.entry((finding.fault, finding.key)).or_insert_with(text).0 += 1;
        }
    }

    /// Fails if there are faults, and prints all of them.
    fn judge(&self, stacks: u64) -> Result<()> {
        let Self { unmade, wrote, refused, .. } = self;
        println!("{refused} refused, {wrote} wrote where they were allowed to");
        ensure!(*unmade as f64 <= UNMADE * stacks as f64, "{unmade} of {stacks} stacks not made");
        if self.faults.is_empty() {
            return Ok(());
        }
        let texts = self.faults.values().map(|(times, first)| format!("{times} times: {first}"));
        bail!("{}", texts.collect::<Vec<_>>().join("\n\n"))
    }
}
