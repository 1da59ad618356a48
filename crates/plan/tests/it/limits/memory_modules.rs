//! The peak of main memory, from the firmware's list of modules.

use host::kernel::Roots;
use plan::limits::pap::memory_peak;
use record::{Advertised, Measured};
use testkit::Fake;

/// A structure of type 17 (DMTF DSP0134, section 7.18) with a speed and its bank's text.
fn structure(speed: u16, size: u16, bank: &str) -> Vec<u8> {
    let mut raw = vec![0_u8; 0x22];
    raw[0] = 17;
    raw[1] = 0x22;
    raw[0x0a] = 64;
    raw[0x0c..0x0e].copy_from_slice(&size.to_le_bytes());
    raw[0x10] = 1;
    raw[0x11] = 2;
    raw[0x15..0x17].copy_from_slice(&speed.to_le_bytes());
    raw[0x20..0x22].copy_from_slice(&speed.to_le_bytes());
    raw.extend_from_slice(b"DIMM 0\0");
    raw.extend_from_slice(bank.as_bytes());
    raw.extend_from_slice(b"\0\0");
    raw
}

/// The peak of a machine with these structures.
fn peak_of(structures: &[Vec<u8>]) -> Measured<Advertised> {
    let fake = Fake::new();
    for (index, structure) in structures.iter().enumerate() {
        fake.sys_bytes(&format!("firmware/dmi/entries/17-{index}/raw"), structure);
    }
    memory_peak(&Roots::below(fake.root()))
}

#[test]
fn channels_that_are_named_are_counted_and_empty_sockets_are_not() {
    let modules = [
        structure(3_200, 16_384, "P0 CHANNEL A"),
        structure(3_200, 16_384, "P0 CHANNEL A"),
        structure(3_200, 16_384, "P0 CHANNEL B"),
        structure(3_200, 0, "P0 CHANNEL C"),
    ];
    let peak = peak_of(&modules);
    assert_eq!(peak.value().unwrap().bytes_per_s, 51.2e9);
    assert!(peak.value().unwrap().source.contains("2 channels"));
}

#[test]
fn modules_on_channels_that_nobody_names_have_no_peak() {
    let reason = peak_of(&[structure(4_800, 16_384, "BANK 0")]);
    assert!(reason.reason().unwrap().contains("not the number of channels"), "{reason:?}");
}

#[test]
fn a_virtual_machines_modules_tell_no_speed() {
    let reason = peak_of(&[structure(0, 16_384, "P0 CHANNEL A")]);
    assert!(reason.reason().unwrap().contains("does not report the speed"), "{reason:?}");
    assert!(peak_of(&[vec![17, 3]]).value().is_none(), "a structure that is cut off");
}

#[test]
fn a_machine_without_the_tables_says_so() {
    let roots = Roots { sys: "/nowhere".into(), ..Roots::default() };
    assert!(memory_peak(&roots).reason().unwrap().contains("does not list its memory modules"));
}
