//! Computes the peak of main memory from the modules that the firmware lists (SMBIOS, structures of type
//! 17).
//!
//! Speed times width is one module's peak. How many work in parallel depends on channels, for which only
//! free text exists ("P0 CHANNEL B"). If every module's text names a channel, the channels are counted.
//! Otherwise no peak is reported. Only root may read the tables; virtual machines leave the speed out.

use engine::input;
use host::kernel::Roots;
use record::{Advertised, Measured};
use std::collections::BTreeSet;

const ENTRIES: &str = "firmware/dmi/entries";
const MODULE_PREFIX: &str = "17-";
/// Offsets in the structure (DMTF DSP0134, section 7.18).
const DATA_WIDTH: usize = 0x0a;
const SIZE: usize = 0x0c;
const DEVICE_LOCATOR: usize = 0x10;
const BANK_LOCATOR: usize = 0x11;
const SPEED: usize = 0x15;
const CONFIGURED_SPEED: usize = 0x20;
const BYTE_BITS: f64 = 8.0;

#[derive(Clone, Debug, PartialEq)]
struct Module {
    /// Transfers per second, in millions.
    megatransfers: f64,
    width_bits: f64,
    channel: Option<String>,
}

/// The peak of main memory, or why it is unknown.
#[must_use]
pub fn memory_peak(roots: &Roots) -> Measured<Advertised> {
    let folder = roots.sys.join(ENTRIES);
    let Ok(entries) = std::fs::read_dir(&folder) else {
        return Measured::not("this system does not list its memory modules");
    };
    let is_module = |name: &str| name.starts_with(MODULE_PREFIX);
    let mut folders: Vec<_> = entries
        .flatten()
        .filter(|entry| is_module(&entry.file_name().to_string_lossy()))
        .map(|entry| entry.path())
        .collect();
    folders.sort();
    let raw: Vec<Option<Vec<u8>>> =
        folders.iter().map(|folder| input::kernel_bytes(&folder.join("raw")).ok()).collect();
    if !raw.is_empty() && raw.iter().all(Option::is_none) {
        return Measured::not("only root can read the firmware's list of memory modules");
    }
    peak_of(&raw.into_iter().flatten().collect::<Vec<_>>())
}

fn peak_of(structures: &[Vec<u8>]) -> Measured<Advertised> {
    let modules: Vec<Module> = structures.iter().filter_map(|raw| module(raw)).collect();
    if modules.is_empty() {
        return Measured::not("the firmware does not report the speed of any memory module");
    }
    let slowest = modules.iter().map(|module| module.megatransfers).fold(f64::MAX, f64::min);
    let width = modules.iter().map(|module| module.width_bits).fold(f64::MAX, f64::min);
    let named: Option<BTreeSet<&String>> =
        modules.iter().map(|module| module.channel.as_ref()).collect();
    let Some(channels) = named.map(|channels| channels.len()) else {
        return Measured::not(format!(
            "the firmware lists {} modules of {slowest:.0} MT/s, but not the number of channels",
            modules.len()
        ));
    };
    Measured::Value(Advertised {
        bytes_per_s: slowest * 1e6 * width / BYTE_BITS * channels as f64,
        source: format!("SMBIOS: {slowest:.0} MT/s x {width:.0} bit x {channels} channels"),
    })
}

/// A module that is present and reports its speed.
fn module(raw: &[u8]) -> Option<Module> {
    let word = |at: usize| Some(u16::from_le_bytes([*raw.get(at)?, *raw.get(at + 1)?]));
    let length = usize::from(*raw.get(1)?);
    if word(SIZE)? == 0 {
        return None;
    }
    let known = |value: u16| !matches!(value, 0 | u16::MAX);
    let number = |at: usize| word(at).filter(|&value| known(value));
    let configured = if length > CONFIGURED_SPEED + 1 { number(CONFIGURED_SPEED) } else { None };
    let speed = configured.or_else(|| number(SPEED))?;
    let width = number(DATA_WIDTH)?;
    let strings = strings(raw.get(length..)?);
    let string =
        |at: usize| -> Option<&String> { strings.get(usize::from(*raw.get(at)?).checked_sub(1)?) };
    let channel = [BANK_LOCATOR, DEVICE_LOCATOR].into_iter().find_map(|at| channel(string(at)?));
    Some(Module { megatransfers: f64::from(speed), width_bits: f64::from(width), channel })
}

fn strings(tail: &[u8]) -> Vec<String> {
    tail.split(|&byte| byte == 0)
        .take_while(|text| !text.is_empty())
        .map(|text| String::from_utf8_lossy(text).into_owned())
        .collect()
}

/// The text up to and including the name of the channel: `P0 CHANNEL A`, `ChannelB`.
fn channel(locator: &str) -> Option<String> {
    let upper = locator.to_uppercase();
    let begin = upper.find("CHANNEL")?;
    let rest = &upper[begin + "CHANNEL".len()..];
    let rest = rest.trim_start_matches([' ', '_', '-']);
    let name: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    (!name.is_empty()).then(|| format!("{}{name}", &upper[..begin]))
}
