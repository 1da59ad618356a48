//! The diagnosis and the engines on layers that few machines have: software arrays, the device mapper,
//! disks that fail or are pulled, control groups of version 2, in a guest of qemu with Debian's kernel.
//!
//! Times in an emulated machine are long, but profile and load run in the same one, and a verdict is about
//! their ratio. Each case is a boot: what one leaves behind does not reach the next. Rejected: modules of
//! the machine's own kernel, which a container may not load, and which most kernels lack.

mod cases;
mod guest;

use crate::{arguments::Arguments, place};
use anyhow::{Context, Result};
use cases::{CASES, Case, Expect, FAILED};
use guest::Guest;
use record::Diagnosis;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use testkit::Undo;

pub(crate) const SWITCHES: [&str; 2] = ["--smoke", "--list"];
pub(crate) const VALUES: [&str; 2] = ["--only", "--binary"];
const QEMU: &str = "qemu-system-x86_64";
/// How long a case may take: ten times what it takes on two processors that emulate.
const LONGEST: Duration = Duration::from_secs(900);
/// Size of a disk of a guest.
const DISK_BYTES: u64 = 128 << 20;
/// How often it is looked whether a guest has ended.
const LOOK: Duration = Duration::from_millis(200);

/// What a guest told: code and text of each answer by its name.
type Answers = BTreeMap<String, (i32, String)>;

pub(crate) fn run(flags: &Arguments) -> Result<bool> {
    if flags.has("--list") {
        CASES.iter().for_each(|case| println!("{}", case.name));
        return Ok(true);
    }
    for program in [QEMU, "dpkg", "apt-get"] {
        let there = Command::new(program).arg("--version").stdout(Stdio::null()).status();
        if there.is_err() {
            println!("SKIP lab: needs {program}");
            return Ok(true);
        }
    }
    let only: Option<String> = flags.value("--only")?;
    let binary = place::binary(flags.value("--binary")?, flags.has("--smoke"))?;
    let guest = match Guest::new(place::target_folder().join("lab"), binary) {
        Ok(guest) => guest,
        Err(error) => {
            println!("SKIP lab: {error:#}");
            return Ok(true);
        }
    };
    let wanted = |case: &&Case| match &only {
        Some(name) => case.name == name,
        None => case.smoke || !flags.has("--smoke"),
    };
    let (mut right, mut all) = (0, 0);
    for case in CASES.iter().filter(wanted) {
        let begin = Instant::now();
        let answers = boot(&guest, case).with_context(|| case.name)?;
        let found = case.expects.iter().map(|(name, expect)| {
            (*name, answer(&answers, name).and_then(|(_, text)| diagnosed(expect, text)))
        });
        let failed = case.engines.iter().map(|name| {
            (*name, answer(&answers, name).and_then(|(code, text)| failed(code, text)))
        });
        for (name, outcome) in found.chain(failed) {
            all += 1;
            right += usize::from(outcome.is_ok());
            let mark = if outcome.is_ok() { "ok   " } else { "WRONG" };
            println!("{mark} {:22} {name:10} {}", case.name, outcome.unwrap_or_else(|why| why));
        }
        let expected = |name: &String| {
            let mut names = case.expects.iter().map(|(known, _)| known).chain(case.engines);
            names.any(|known| known == name)
        };
        for (name, (code, text)) in answers.iter().filter(|(name, _)| !expected(name)) {
            println!("      {:22} {name} {code}: {}", case.name, text.trim());
        }
        println!("      {:22} {:.0} s", case.name, begin.elapsed().as_secs_f64());
    }
    println!("lab: {right} of {all} answers as they have to be");
    Ok(right == all && all > 0)
}

/// Runs a case in a guest until that ends.
fn boot(guest: &Guest, case: &Case) -> Result<Answers> {
    let script = format!("engines='{}'\n{}", case.engines.join(" "), case.script);
    let initrd = guest.initrd(case.name, case.modules, &script)?;
    let (console, told) = (initrd.with_extension("console"), initrd.with_extension("told"));
    let mut qemu = Command::new(QEMU);
    qemu.args(["-m", "1536", "-smp", "2", "-display", "none", "-no-reboot", "-nic", "none"]);
    // Emulated also where there is a KVM: inside a virtual machine that may be one that never begins.
    qemu.args(["-accel", "tcg,thread=multi"]);
    qemu.arg("-kernel").arg(guest.kernel()).arg("-initrd").arg(&initrd);
    qemu.args(["-append", "console=ttyS0 panic=-1 rdinit=/init"]);
    for file in [&console, &told] {
        qemu.arg("-serial").arg(format!("file:{}", file.display()));
    }
    let mut images = Vec::new();
    for (at, change) in case.drives.iter().enumerate() {
        let image = initrd.with_extension(format!("disk{at}"));
        std::fs::File::create(&image)?.set_len(DISK_BYTES)?;
        let options = if change.is_empty() { String::new() } else { format!(",{change}") };
        let file = image.display();
        qemu.arg("-drive").arg(format!("file={file},format=raw,if=virtio,cache=unsafe{options}"));
        images.push(image);
    }
    let errors = std::fs::File::create(initrd.with_extension("errors"))?;
    let mut child = qemu.stdin(Stdio::null()).stderr(errors).spawn().context("cannot run qemu")?;
    let undo = Undo::process(child.id());
    let begin = Instant::now();
    while child.try_wait()?.is_none() {
        if begin.elapsed() > LONGEST {
            child.kill()?;
            child.wait()?;
            break;
        }
        std::thread::sleep(LOOK);
    }
    undo.forget();
    images.iter().try_for_each(std::fs::remove_file)?;
    let text = String::from_utf8_lossy(&std::fs::read(&told)?).into_owned();
    Ok(answers(&text))
}

/// The answers among what a guest told.
fn answers(text: &str) -> Answers {
    let mut found = Answers::new();
    let mut open: Option<(String, i32, String)> = None;
    for line in text.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match (words.as_slice(), &mut open) {
            (["BEGIN", name, code], None) => {
                open = Some(((*name).to_owned(), code.parse().unwrap_or(-1), String::new()));
            }
            (["END", name], Some((opened, code, body))) if name == opened => {
                found.insert(opened.clone(), (*code, std::mem::take(body)));
                open = None;
            }
            (_, Some((_, _, body))) => {
                body.push_str(line);
                body.push('\n');
            }
            (["SAY", rest @ ..], None) => println!("      {}", rest.join(" ")),
            _ => {}
        }
    }
    found
}

/// What came, where it is what had to come; else as an error.
type Outcome = std::result::Result<String, String>;

fn answer<'a>(answers: &'a Answers, name: &str) -> std::result::Result<(i32, &'a str), String> {
    let found = answers.get(name).ok_or("no answer")?;
    Ok((found.0, &found.1))
}

/// A run that ended by itself, and said in its findings or in its error that its device failed.
fn failed(code: i32, text: &str) -> Outcome {
    let ended = matches!(code, 0 | 1 | 4);
    match FAILED.iter().find(|word| text.contains(**word)).filter(|_| ended) {
        Some(word) => Ok(format!("code {code}, {word}")),
        None => Err(format!("code {code}: {}", text.lines().last().unwrap_or_default())),
    }
}

/// The verdict on the longest stretch of a device.
fn diagnosed(expect: &Expect, text: &str) -> Outcome {
    let found: Diagnosis = serde_json::from_str(text).map_err(|_| text.trim().to_owned())?;
    let device = found.devices.iter().find(|one| one.device == expect.device);
    let episodes = device.map_or(&[][..], |device| &device.episodes);
    let longest = episodes.iter().max_by_key(|episode| episode.duration_ns);
    let longest = longest.ok_or_else(|| format!("nothing was seen of {}", expect.device))?;
    let (verdict, sure) = (longest.verdict.name(), longest.probability);
    let open: Vec<String> = longest.alternatives.iter().map(|one| one.verdict.name()).collect();
    let why: Vec<String> = longest.causes.iter().map(|cause| cause.code.name()).collect();
    let told = format!("{verdict} ({sure:.3}) or [{}]; {}", open.join(" "), why.join(" "));
    let right = expect.verdicts.contains(&verdict.as_str());
    let caused = |cause: &&str| why.iter().any(|code| code == cause);
    let caused = expect.causes.is_empty() || expect.causes.iter().any(caused);
    if right && caused { Ok(told) } else { Err(told) }
}
