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
use cases::{CASES, Case, Expect};
use guest::Guest;
use serde_json::Value;
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
        for (name, expect) in case.expects {
            let outcome = match answers.get(*name) {
                Some((code, text)) => judged(expect, *code, text),
                None => Err("no answer".to_owned()),
            };
            all += 1;
            right += usize::from(outcome.is_ok());
            let mark = if outcome.is_ok() { "ok   " } else { "WRONG" };
            println!("{mark} {:22} {name:18} {}", case.name, outcome.unwrap_or_else(|why| why));
        }
        let expected = |name: &String| case.expects.iter().any(|(known, _)| known == name);
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
    let initrd = guest.initrd(case.name, case.modules, case.script)?;
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

/// What came, and whether it is what had to come.
fn judged(expect: &Expect, code: i32, text: &str) -> std::result::Result<String, String> {
    match expect {
        Expect::Found { device, verdicts, causes } => {
            let Ok(found) = serde_json::from_str::<Value>(text) else {
                return Err(format!("code {code}: {}", text.trim()));
            };
            diagnosed(&found, device, verdicts, causes)
        }
        Expect::Told(words) => {
            let ended = matches!(code, 0 | 1 | 4);
            let told = words.iter().find(|word| text.contains(**word));
            match told.filter(|_| ended) {
                Some(word) => Ok(format!("code {code}, {word}")),
                None => Err(format!("code {code}: {}", text.lines().last().unwrap_or_default())),
            }
        }
    }
}

/// The verdict on the longest stretch of a device.
fn diagnosed(
    found: &Value,
    device: &str,
    verdicts: &[&str],
    causes: &[&str],
) -> std::result::Result<String, String> {
    let devices = found["devices"].as_array().into_iter().flatten();
    let of = devices.clone().find(|one| one["device"] == device);
    let Some(of) = of else {
        let names: Vec<&str> = devices.filter_map(|one| one["device"].as_str()).collect();
        return Err(format!("{device} is not among {}", names.join(", ")));
    };
    let episodes = of["episodes"].as_array().into_iter().flatten();
    let Some(longest) = episodes.max_by_key(|episode| episode["duration_ns"].as_u64()) else {
        return Err("nothing was seen".to_owned());
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (verdict, sure) = (text(&longest["verdict"]), text(&longest["confidence"]));
    let list = |values: &Value, key: &str| -> Vec<String> {
        values.as_array().into_iter().flatten().map(|one| text(&one[key])).collect()
    };
    let (open, why) = (list(&longest["alternatives"], "verdict"), list(&longest["causes"], "code"));
    let told = format!("{verdict} ({sure}) or [{}]; {}", open.join(" "), why.join(" "));
    let right = verdicts.contains(&verdict.as_str());
    let caused =
        causes.is_empty() || causes.iter().any(|cause| why.iter().any(|code| code == cause));
    if right && caused { Ok(told) } else { Err(told) }
}
