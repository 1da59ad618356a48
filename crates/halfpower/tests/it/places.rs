//! Where a file lies: real files on a loop ext4, by maps of simulated disks and of the device itself.

use crate::documents::check_schema;
use crate::program::{halfpower, halfpower_in};
use record::{Bytes, DeviceFacts, FilePlace, Measured, TargetKind, ZoneMap};
use std::io::Write;
use std::path::Path;
use store::Store;
use testkit::{LoopDevice, Mounted, requires};

const MIB: u64 = 1 << 20;
/// As large as the simulated disk whose map is used, but for a part that no file reaches.
const DEVICE_BYTES: u64 = 4_000 * MIB;

/// A map of a simulated disk with eight zones and more.
fn simulated_map() -> ZoneMap {
    let ended = halfpower("zones sim:st34371w --no-save --json").expect(0);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn place(folder: &Path, words: &str) -> FilePlace {
    let ended = halfpower_in(folder, &format!("zones --file {words} --db db --json")).expect(0);
    check_schema("place-1", &ended.stdout);
    serde_json::from_str(&ended.stdout).unwrap()
}

/// A file that is written out.
fn write(path: &Path, bytes: u64) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&vec![7; bytes as usize]).unwrap();
    file.sync_all().unwrap();
}

#[test]
fn a_file_is_placed_on_a_map_that_is_named_and_on_the_newest_of_its_own_device() {
    requires!(Root, Loop, Mount, Ext4);
    let device = LoopDevice::new(DEVICE_BYTES).unwrap();
    let disk = Mounted::ext4(device.path()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = disk.path().join("data");
    write(&file, 8 * MIB);
    let name = file.display();
    // Without a map there is no answer, and the way to one.
    let nothing = place(folder.path(), &name.to_string());
    let why = nothing.rates.reason().unwrap();
    assert!(why.contains(&format!("halfpower zones {}", device.path().display())), "{why}");
    assert!(why.contains("the disk is virtual"), "{why}");
    assert!(nothing.map.is_none() && nothing.place.value().is_none());
    // The map of a simulated disk, because it is named.
    let map = simulated_map();
    let text = serde_json::to_string(&map).unwrap();
    std::fs::write(folder.path().join("map.json"), text).unwrap();
    let placed = place(folder.path(), &format!("{name} --map map.json"));
    let (lies, rates) = (placed.place.value().unwrap(), placed.rates.value().unwrap());
    assert_eq!((placed.map.as_ref().unwrap().chosen, lies.bytes), (true, Bytes(8 * MIB)));
    assert!(placed.cautions[0].contains("sim:st34371w, which is not a device"), "{placed:?}");
    let zone = |at: u64| {
        let band = map.bands.iter().rev().find(|band| band.offset_bytes.0 <= at).unwrap();
        band.bytes_per_s.value
    };
    let fastest = map.bands.iter().map(|band| band.bytes_per_s.value).fold(0.0, f64::max);
    let ends = [zone(lies.first_bytes.0), zone(lies.last_bytes.0 - 1)];
    let here = rates.here_bytes_per_s.value;
    assert!(here >= ends[0].min(ends[1]) - 1.0 && here <= ends[0].max(ends[1]) + 1.0, "{rates:?}");
    assert!((rates.gain.value - (fastest / here - 1.0)).abs() < 1e-9, "{rates:?}");
    // The same map as one of the device itself is found by itself; the later map is taken.
    let facts = nothing.target.device.clone();
    let mut own = map.clone();
    (own.id, own.simulated, own.target.kind) = ("a1".to_owned(), false, TargetKind::BlockDevice);
    (own.target.device, own.target.path) = (facts, device.path().display().to_string());
    let mut flat = own.clone();
    flat.id = "a2".to_owned();
    flat.bands.truncate(1);
    let mut random = own.clone();
    (random.id, random.random) = ("a3".to_owned(), true);
    let mut store = Store::open(&folder.path().join("db")).unwrap();
    store.add_document(&own).unwrap();
    let found = place(folder.path(), &name.to_string());
    assert_eq!(found.map.as_ref().map(|map| (map.id.as_str(), map.chosen)), Some(("a1", false)));
    assert_eq!((&found.place, &found.rates), (&placed.place, &placed.rates));
    assert!(found.cautions.iter().any(|caution| caution.contains("no serial number")));
    store.add_document(&flat).unwrap();
    store.add_document(&random).unwrap();
    let found = place(folder.path(), &name.to_string());
    assert_eq!(found.map.unwrap().id, "a2");
    let Measured::NotMeasured { not_measured } = found.rates else { panic!("{:?}", found.rates) };
    assert!(not_measured.contains("no zones, so moving the file has no measurable effect"));
    let page =
        halfpower_in(folder.path(), &format!("zones --file {name} --db db")).expect(0).stdout;
    assert!(page.contains("Not zoned: the mapped area has no zones"), "{page}");
    let page = halfpower_in(folder.path(), &format!("zones --file {name} --map a1 --db db"))
        .expect(0)
        .stdout;
    assert!(page.lines().all(|line| line.chars().count() <= 80), "{page}");
    assert!(page.contains("of the way across the surface, where sequential reads reach"), "{page}");
}

#[test]
fn a_file_on_a_partition_lies_behind_its_start_on_a_map_of_the_whole_disk() {
    requires!(Root, Loop, Mount, Ext4, Partitions);
    let device = LoopDevice::new(DEVICE_BYTES).unwrap();
    // Three quarters of the way.
    let (start, sectors) = (3_000 * MIB, 900 * MIB / 512);
    let (partition, _undo) = testkit::partition(device.path(), 1, start / 512, sectors).unwrap();
    let disk = Mounted::ext4(&partition).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = disk.path().join("data");
    write(&file, 4 * MIB);
    let name = file.display();
    let facts = place(folder.path(), &name.to_string()).target.device.unwrap();
    assert_ne!(facts.name, facts.disk);
    let mut map = simulated_map();
    (map.id, map.simulated, map.target.kind) = ("b1".to_owned(), false, TargetKind::BlockDevice);
    map.target.device = Some(DeviceFacts { name: facts.disk.clone(), ..facts });
    let mut store = Store::open(&folder.path().join("db")).unwrap();
    store.add_document(&map).unwrap();
    let placed = place(folder.path(), &name.to_string());
    let (lies, rates) = (placed.place.value().unwrap(), placed.rates.value().unwrap());
    assert!(lies.first_bytes.0 >= start && lies.last_bytes.0 <= start + 900 * MIB, "{placed:?}");
    assert!((0.72..0.97).contains(&lies.mean_share), "{placed:?}");
    assert!(rates.gain.low > 0.2 && rates.gain.high < 0.55, "{placed:?}");
    assert!(rates.random_read_saves_ns > 0.0 && rates.random_read_saves_ns < 1e6, "{placed:?}");
    let page =
        halfpower_in(folder.path(), &format!("zones --file {name} --db db")).expect(0).stdout;
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("moving the file there would gain +"), "{page}");
    println!("{page}");
}

#[test]
fn what_is_no_file_and_flags_that_measure_are_refused() {
    halfpower("zones --file /tmp").refuses(2, &["is not a file", "/tmp"]);
    halfpower("zones --file gone.dat").refuses(4, &["gone.dat"]);
    halfpower("zones --file /proc/cpuinfo --passes 3").refuses(2, &["--passes"]);
    halfpower("zones sim:mm1 --map last").refuses(2, &["--map"]);
    halfpower("zones").refuses(2, &["required"]);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("empty"), "").unwrap();
    let page = halfpower_in(folder.path(), "zones --file /proc/cpuinfo --db db").expect(0).stdout;
    assert!(page.contains("does not report where a file is"), "{page}");
    halfpower_in(folder.path(), "zones --file empty --map gone.json --db db")
        .refuses(4, &["gone.json"]);
}
