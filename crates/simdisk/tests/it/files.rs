//! Tests devices described by files: the catalogue, optional entries, and errors by line and name.

use crate::any_machine::run_some;
use simdisk::{FAMILIES, SimKind, SimSpec};
use std::path::PathBuf;
use workload::Rng;

/// A file with this text in a temporary folder.
struct Described {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

impl Described {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("my.toml");
        std::fs::write(&path, text).expect("a file");
        Self { _folder: folder, path }
    }

    fn target(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }
}

/// The specification from a file with this text, and keys after its name.
fn kind(text: &str, keys: &str) -> SimKind {
    let file = Described::new(text);
    let spec = SimSpec::parse(&format!("{}{keys}", file.target()));
    spec.unwrap_or_else(|error| panic!("{error}\n{text}")).kind
}

fn named(text: &str) -> SimKind {
    SimSpec::parse(text).expect(text).kind
}

fn refusal(text: &str) -> String {
    let file = Described::new(text);
    SimSpec::parse(&file.target()).expect_err(text).to_string()
}

#[test]
fn every_device_of_the_catalogue_is_the_same_from_the_file_that_it_is_shown_as() {
    for family in FAMILIES {
        for one in family.kinds {
            let text = SimSpec::shown(one.name).unwrap();
            assert_eq!(kind(&text, ""), named(one.name), "{}", one.name);
            // The output for the file equals the output for the name, except for the name itself.
            let file = Described::new(&text);
            let again = SimSpec::shown(&file.target()).unwrap();
            let rest = |text: &str| text[text.find("\nfamily").unwrap()..].to_owned();
            assert_eq!(rest(&again), rest(&text), "{}", one.name);
        }
    }
}

#[test]
fn keys_that_were_given_are_shown_and_parts_that_they_name() {
    for text in [
        "st15150w,disks=4,raid=5,chunk=7k,failed=1,fs=w2k,wce=off",
        "atlas10k,adapter=none,host=ideal,net=gigabit,seek=off",
        "nvme-ssd,size=1GiB,plp=on,op=12.5%,preconditioned=random",
        "faulty,error=1e-4,cv=0.25,throughput=125MiB/s,stall=20ms",
    ] {
        assert_eq!(kind(&SimSpec::shown(text).unwrap(), ""), named(text), "{text}");
    }
}

#[test]
fn a_file_may_begin_with_a_device_or_a_part_and_change_it() {
    assert_eq!(kind("like = \"st15150w\"", ""), named("st15150w"));
    assert_eq!(kind("like = 'atlas10k'\ndisks = 3", ",raid=5"), named("atlas10k,disks=3,raid=5"));
    assert_eq!(kind("like = 'atlas10k'\ndisks = 3", ",disks=2"), named("atlas10k,disks=2"));
    assert_eq!(kind("family = \"flash\"\nplp = true", ""), named("sata-ssd,plp=on"));
    assert_eq!(kind("family = \"queue\"", ""), named("mm1"));
    let whole = "family = 'machine'\ndrive = 'atlas10k'\nbus = 'ultra160'\nadapter = 'aic160'\n\
                 host = 'p3-733'\nfs = 'w2k'\n";
    assert_eq!(kind(whole, ""), named("atlas10k"));
    let machine = |text: &str| match kind(text, "") {
        SimKind::Machine(machine) => machine,
        other => panic!("{text} is {other:?}"),
    };
    let base = machine("like = 'st15150w'");
    let faster = machine("like = 'st15150w'\n[drive]\nspeed = 10_000 # assumed: a guess\n");
    assert_eq!((faster.drive.rpm, faster.drive.heads), (10_000, base.drive.heads));
    let other = machine("like = 'st15150w'\ndrive = { like = 'atlas10k', heads = 6 }");
    assert_eq!((other.drive.rpm, other.drive.heads), (10_000, 6));
    assert_eq!(other.bus, base.bus);
    // A part that its file describes, and one that the command line replaces.
    let mine = "like = 'st15150w'\n[host]\nlike = 'ideal'\nmemory = '32 MiB'\n";
    assert_eq!(machine(mine).file.memory_bytes, 32 << 20);
    let SimKind::Machine(replaced) = kind(mine, ",host=p3-733") else { panic!() };
    assert_eq!(replaced.file.memory_bytes, 256 << 20);
}

#[test]
fn values_are_read_in_the_units_of_people() {
    let machine = |lines: &str| match kind(&format!("like = 'st15150w'\n[drive]\n{lines}"), "") {
        SimKind::Machine(machine) => machine.drive,
        other => panic!("{lines} is {other:?}"),
    };
    assert_eq!(machine("capacity = '4.5 GB'").capacity_bytes, 4_500_000_000);
    assert_eq!(machine("capacity = '4GiB'").capacity_bytes, 4 << 30);
    assert_eq!(machine("settling = '0.25 ms'").settle_ns, 250_000);
    assert_eq!(machine("settling = '800us'").settle_ns, 800_000);
    assert_eq!(machine("settling = 0").settle_ns, 0);
    assert_eq!(machine("speed = '5400 rpm'").rpm, 5_400);
    assert_eq!(machine("media-rate-outermost-track = '8.05 MB/s'").outer_bytes_per_s, 8_050_000);
    assert_eq!(machine("seek-full-stroke = 'none'").full_seek_ns, 0);
    assert!(!machine("overlaps-writes = false").overlaps_writes);
    assert!(!machine("overlaps-writes = 'off'").overlaps_writes);
}

#[test]
fn what_is_wrong_in_a_file_is_named_by_line_key_and_what_would_do() {
    for (text, words) in [
        ("", &["line 1", "like = \"NAME\"", "queue, flash, machine"][..]),
        ("like = 'st1515w'", &["line 1", "\"st1515w\"", "did you mean 'st15150w'"]),
        ("family = 'machin'", &["\"machin\"", "did you mean 'machine'"]),
        (
            "family = 'flash'\nlike = 'mm1'",
            &["line 2", "belongs to the family queue", "family = flash"],
        ),
        ("family = 'machine'\ndrive = 'atlas10k'", &["has no bus, adapter, host", "[bus]"]),
        ("like = 'mm1'\n\nservise = '1ms'", &["line 3", "servise", "did you mean 'service'"]),
        ("like = 'mm1'\nservice = '0 ms'", &["line 2", "service = \"0 ms\"", "at least 1us"]),
        ("like = 'mm1'\nservice = [1]", &["line 2", "service is a list"]),
        ("like = 'mm1'\n[service]\na = 1", &["line 2", "service is a value, not a table"]),
        ("like = 'mm1'\n[drive]\nheads = 1", &["line 2", "a queue has no key \"drive\""]),
        ("like = 'mm1'\nservice = 1979-05-27", &["line 2", "service is a date"]),
        ("like = 'mm1'\nservers = 0xffffffffffffffff", &["line 2", "too large"]),
        ("like = 'mm1'\nlike = 'md1'", &["line 2", "duplicate"]),
        ("like = 'st15150w'\nraid = 6", &["line 2", "raid = \"6\"", "use none, 0, 1 or 5"]),
        (
            "like = 'st15150w'\nbus = 'scsi'",
            &["line 2", "no bus is named \"scsi\"", "known names: fast-wide"],
        ),
        (
            "like = 'st15150w'\n[drive]\nheds = 3",
            &[
                "line 3",
                "a drive has no key \"heds\"",
                "did you mean 'heads'",
                "known keys: capacity",
            ],
        ),
        (
            "like = 'st15150w'\n[drive]\nmedia-rate-outer = '1 MB/s'",
            &["line 3", "did you mean 'media-rate-outermost-track'"],
        ),
        ("like = 'st15150w'\n[drive]\nheads = 0", &["line 3", "heads = \"0\"", "from 1 to 1024"]),
        ("like = 'st15150w'\n[drive]\nsettling = 800", &["line 3", "with a unit", "800 us"]),
        ("like = 'st15150w'\n[drive]\nsettling = '2 s'", &["line 3", "at most 1 s"]),
        ("like = 'st15150w'\n[drive]\nsettling = '-1 us'", &["line 3", "start with a number"]),
        ("like = 'st15150w'\n[drive]\ncapacity = '4 QB'", &["line 3", "unknown unit 'QB'"]),
        ("like = 'st15150w'\n[drive]\ncapacity = 512", &["line 3", "use a size from 1 MiB"]),
        ("like = 'st15150w'\n[drive]\nspeed = 'fast'", &["line 3", "7200 rpm"]),
        ("like = 'st15150w'\n[drive]\norder = 'last'", &["use arrival, elevator, soonest"]),
        ("like = 'st15150w'\n[drive]\noverlaps-writes = 2", &["use true or false"]),
        ("like = 'st15150w'\n[bus]\nrate-in = 'none'", &["line 3", "use a rate from"]),
        (
            "family = 'machine'\ndrive = 'atlas10k'\n\n[bus]\ndrives = 3\nrate-in = '1 MB/s'",
            &["line 4", "the bus has no value for arbitrate, arbitrate-win", "like = \"NAME\""],
        ),
    ] {
        let why = refusal(text);
        for word in words {
            assert!(why.contains(word), "{text:?}: {why}: no {word:?}");
        }
        assert!(why.starts_with("sim:"), "{why}");
    }
}

#[test]
fn values_of_a_drive_that_do_not_go_together_are_refused_with_what_would_do() {
    for (lines, words) in [
        ("media-rate-innermost-track = '8 MB/s'", "the innermost track is faster"),
        ("media-rate-innermost-track = '10 kB/s'", "less than a sector of 512 bytes"),
        ("capacity = '1 MiB'", "fewer cylinders than zones"),
        ("seek-average = '1 us'", "shorter than the seek time to the next cylinder"),
        ("seek-average = '4 ms'", "use an average from 6.33 ms to 12.7 ms"),
        ("seek-full-stroke = '2 ms'", "no seek curve fits these times"),
        ("burst = '64 KiB'", "if the drive can send the same data again: 48 KiB"),
        ("burst = '128 KiB'\nfinds-what-it-sent = false", "half a read segment: 96 KiB"),
        ("write-buffer = 1000", "multiples of the sector size, 512 bytes"),
    ] {
        let why = refusal(&format!("like = 'st15150w'\n[drive]\n{lines}"));
        assert!(why.contains(words) && why.contains("cannot be built"), "{lines}: {why}");
    }
}

#[test]
fn a_file_that_cannot_be_read_says_why() {
    let text = |target: &str| SimSpec::parse(target).unwrap_err().to_string();
    assert!(text("gone.toml").contains("No such file"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    std::fs::create_dir(&path).unwrap();
    assert!(text(path.to_str().unwrap()).contains("directory"));
    let large = Described::new(&"#".repeat(2 << 20));
    assert!(text(&large.target()).contains("the maximum size of a description of a device"));
    let bytes = Described::new("");
    std::fs::write(&bytes.path, [0xff, 0xfe]).unwrap();
    assert!(text(&bytes.target()).contains("UTF-8"));
}

#[test]
fn the_hash_of_a_file_tells_it_from_another_and_a_name_has_none() {
    let hash = |text: &str| SimSpec::parse(&Described::new(text).target()).unwrap().file_hash;
    assert_eq!(hash("like = 'mm1'"), hash("like = 'mm1'"));
    assert_ne!(hash("like = 'mm1'"), hash("like = 'mm1'\n"));
    assert_eq!(SimSpec::parse("mm1").unwrap().file_hash, None);
}

/// A random change of a value in a line of a file: a number times a power of two, or a neighbour.
fn twisted(rng: &mut Rng, value: &str) -> String {
    let text = value.trim().trim_matches('"');
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let Ok(number) = number.parse::<f64>() else {
        return match text {
            "true" => "false".to_owned(),
            "false" => "true".to_owned(),
            "soonest" => ["\"elevator\"", "\"arrival\""][rng.below(2) as usize].to_owned(),
            _ => value.to_owned(),
        };
    };
    let factor = 2_f64.powi(rng.below(41) as i32 - 20);
    let number = if rng.below(8) == 0 { 0.0 } else { (number * factor).round().max(1.0) };
    match unit {
        "" => format!("{number}"),
        unit => format!("\"{number}{unit}\""),
    }
}

#[test]
fn any_machine_that_its_check_lets_through_serves_every_request() {
    let mut rng = Rng::new(11);
    let (mut refused, mut ran) = (0, 0);
    while ran < testkit::draws(120, 2_000) {
        let names = ["st15150w", "st34371w", "atlas10k", "fireball", "friedman10k"];
        let name = names[rng.below(names.len() as u64) as usize];
        let text = SimSpec::shown(name).unwrap();
        let (keys, parts) = text.split_once("\n[drive]").unwrap();
        let changes = 1 + rng.below(12);
        let mut lines: Vec<String> = parts.lines().map(str::to_owned).collect();
        let mut changed = Vec::new();
        for _ in 0..changes {
            let at = rng.below(lines.len() as u64) as usize;
            let bare = lines[at].split('#').next().unwrap().to_owned();
            if let Some((key, value)) = bare.split_once(" = ") {
                lines[at] = format!("{key} = {}", twisted(&mut rng, value));
                changed.push(lines[at].clone());
            }
        }
        let file = Described::new(&format!("{keys}\n[drive]{}", lines.join("\n")));
        let raid = ["", ",disks=3,raid=0", ",disks=2,raid=1", ",disks=4,raid=5", ",wce=off"];
        let target = format!("{}{}", file.target(), raid[rng.below(5) as usize]);
        match SimSpec::parse(&target) {
            Ok(spec) => {
                run_some(&mut spec.build(1), &mut rng, &format!("{name}: {target}: {changed:?}"));
            }
            Err(_) => {
                refused += 1;
                continue;
            }
        }
        ran += 1;
    }
    assert!(refused > 0, "some of what was drawn does not go together");
}
