//! Runs a guest: starts qemu, connects its network with another guest, and collects its answers.

use super::cases::Case;
use super::guest::{Guest, WIRE};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use testkit::{ServedDisk, Undo};

pub(super) const QEMU: &str = "qemu-system-x86_64";
/// Size of a guest's disk.
const DISK_BYTES: u64 = 2 << 30;
/// Number of requests that a served disk processes at once.
const SERVERS: usize = 8;

/// Answers of a guest: exit code and text by name.
pub(super) type Answers = BTreeMap<String, (i32, String)>;

/// The ends of a network of two guests, as qemu's words: one waits for the other.
pub(super) const WAITS: &str = "on";
pub(super) const JOINS: &str = "off";

/// A running guest; it is killed on drop.
pub(super) struct Machine {
    child: Child,
    undo: Undo,
    told: PathBuf,
    images: Vec<PathBuf>,
    /// Disks that this process serves, and how many commands for them have been executed.
    served: Vec<ServedDisk>,
    carried_out: usize,
}

impl Machine {
    /// Starts a guest with an initrd from [`Guest::initrd`].
    pub(super) fn start(
        guest: &Guest,
        case: &Case,
        initrd: &Path,
        network: Option<&str>,
    ) -> Result<Self> {
        // The last number of its address.
        let address: u8 = if network == Some(WAITS) { 1 } else { 2 };
        let file = |end: &str| guest.folder().join(format!("{}.{end}", case.name));
        let mut qemu = Command::new(QEMU);
        qemu.args(["-m", "1536", "-smp", "2", "-display", "none", "-no-reboot"]);
        // Emulate even if KVM exists: inside a virtual machine, a KVM guest may never start.
        qemu.args(["-accel", "tcg,thread=multi"]);
        qemu.args(["-rtc", "base=utc"]);
        qemu.arg("-kernel").arg(guest.kernel()).arg("-initrd").arg(initrd);
        // The kernel tests its timer while other processes may occupy the host's CPUs. The kernel passes
        // parameters that it does not know to the first process as variables.
        qemu.arg("-append").arg(format!(
            "console=ttyS0 panic=-1 no_timer_check rdinit=/init address=10.0.0.{address}"
        ));
        // qemu creates this file only a moment after its start, but it is read at once.
        let told = file("told");
        std::fs::write(&told, "")?;
        for file in [&file("console"), &told] {
            qemu.arg("-serial").arg(format!("file:{}", file.display()));
        }
        qemu.args(&case.machine);
        let (mut images, mut served) = (Vec::new(), Vec::new());
        for (at, (device, drive)) in case.drives.iter().enumerate() {
            let image = if let Some(service) = &case.served {
                let disk = ServedDisk::file(DISK_BYTES, SERVERS)?;
                carry_out(service, &disk);
                served.push(disk);
                served[at].path().to_owned()
            } else {
                let image = file(&format!("disk{at}"));
                std::fs::File::create(&image)?.set_len(DISK_BYTES)?;
                images.push(image.clone());
                image
            };
            let file = image.display();
            qemu.arg("-drive").arg(format!("file={file},format=raw,if=none,id=disk{at},{drive}"));
            if device.starts_with("scsi") {
                qemu.args(["-device", "virtio-scsi-pci"]);
            }
            qemu.arg("-device").arg(format!("{device},drive=disk{at},serial=lab{at}"));
        }
        match network {
            None => qemu.args(["-nic", "none"]),
            Some(end) => qemu
                .arg("-netdev")
                .arg(format!("stream,server={end},addr.type=unix,addr.path={WIRE},id=wire"))
                .arg("-device")
                .arg(format!("virtio-net-pci,netdev=wire,mac=52:54:00:00:00:{address:02x}")),
        };
        // A socket's path is limited to about a hundred letters, so it is relative to its own folder.
        qemu.current_dir(guest.folder());
        let errors = std::fs::File::create(file("errors"))?;
        let child = qemu.stdin(Stdio::null()).stderr(errors).spawn().context("cannot run qemu")?;
        let undo = Undo::process(child.id());
        Ok(Self { child, undo, told, images, served, carried_out: 0 })
    }

    /// Whether the guest is still running. Also executes its new commands for the served disks.
    pub(super) fn runs(&mut self) -> Result<bool> {
        if !self.served.is_empty() {
            let text = std::fs::read(&self.told)?;
            let text = String::from_utf8_lossy(&text);
            let whole = text.rfind('\n').map_or("", |end| &text[..end]);
            let lines: Vec<&str> =
                whole.lines().filter_map(|line| line.strip_prefix("HOST ")).collect();
            for line in &lines[self.carried_out.min(lines.len())..] {
                self.served.iter().for_each(|disk| carry_out(line, disk));
            }
            self.carried_out = lines.len();
        }
        Ok(self.child.try_wait()?.is_none())
    }

    fn kill(&mut self) {
        // Both fail only if the guest has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.undo.forget();
    }

    /// Ends the guest like a power failure, unless it has ended by itself, and returns its answers.
    pub(super) fn ended(mut self) -> Result<Answers> {
        self.kill();
        self.images.iter().try_for_each(std::fs::remove_file)?;
        let text = std::fs::read(&self.told)?;
        let text = String::from_utf8_lossy(&text);
        text.lines().filter_map(|line| line.strip_prefix("SAY ")).for_each(|words| {
            println!("      {}", words.trim_end());
        });
        Ok(answers(&text))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Changes a disk's latencies: `read=2000 flush=20000`, in microseconds. Unnamed ones are unchanged.
fn carry_out(words: &str, disk: &ServedDisk) {
    for (name, value) in words.split_ascii_whitespace().filter_map(|word| word.split_once('=')) {
        let micros = value.trim().parse().unwrap_or(0);
        disk.serves(|service| match name {
            "read" => service.read = Duration::from_micros(micros),
            "write" => service.write = Duration::from_micros(micros),
            "flush" => service.flush = Duration::from_micros(micros),
            "discard" => service.discard = Duration::from_micros(micros),
            _ => {}
        });
    }
}

/// Extracts the answers from a guest's output.
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
            _ => {}
        }
    }
    found
}
