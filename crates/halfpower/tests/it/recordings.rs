//! What a command observes: recordings in files, saved observations, and devices that come and go. A command
//! must never observe one of them instead of another.

use crate::machine::{Machine, disk};
use crate::program::{found, halfpower, halfpower_in, profiled_into};
use record::{
    Diagnosis, Figure, FindingCode, Interval, OBSERVATION_SCHEMA, Observation, ObservedDevice,
    Verdict,
};
use std::path::Path;
use std::process::Command;
use testkit::{SADC, requires};

#[test]
fn a_disk_that_dies_while_it_is_diagnosed_keeps_its_verdict() {
    let both = |ios: u64| disk(0, "sda", ios) + &disk(16, "sdb", 2 * ios);
    for (readings, lengths) in [
        // It disappears after two intervals; within the first one; and not at all.
        (vec![both(1), both(9), both(17), disk(0, "sda", 25), disk(0, "sda", 33)], [4, 2]),
        (vec![both(1), disk(0, "sda", 9), disk(0, "sda", 17)], [2, 0]),
        (vec![both(1), both(9), both(17)], [2, 2]),
    ] {
        let ended = Machine::new("").observed("diagnose --no-save --json", &readings).expect(0);
        let found: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        let names: Vec<&str> = found.devices.iter().map(|one| one.device.as_str()).collect();
        assert_eq!((names, found.host.as_deref()), (vec!["sda", "sdb"], Some("db7")), "{ended:?}");
        let seen: Vec<usize> = found.devices.iter().map(|one| one.series.len()).collect();
        assert_eq!(seen, lengths, "{ended:?}");
        let died = lengths[0] != lengths[1];
        let codes: Vec<FindingCode> = found.findings.iter().map(|one| one.code).collect();
        assert_eq!(codes.contains(&FindingCode::DevicesChanged), died, "{ended:?}");
    }
}

const FIO_RESULT: &str = "{\"fio version\": \"fio-3.33\"}";
const DOCUMENT: &str = "{\"schema\": \"halfpower/trial/1\"}";
const TRIAL_LINES: &str = "0.812,208.00,read,4,1,H,1,1,67108864,1.0,,,,x\n";

/// The first lines of other tools' output, and the required words of the error message.
const UNREADABLE: [(&str, &str, &[&str]); 6] = [
    (
        "pidstat.txt",
        "Linux 6.1.0 (oak) \t06/01/20 \t_x86_64_\t(2 CPU)\n\n12:00:01      UID       PID   kB_rd/s   \
         kB_wr/s kB_ccwr/s iodelay  Command\n12:00:02        0         1      0.00\n",
        &["pidstat", "iostat -o JSON -x -t 1"],
    ),
    (
        "vmstat.txt",
        "procs -----------memory---------- ---swap--\n r  b   swpd   free\n",
        &["vmstat"],
    ),
    ("notes.txt", "chapter one\n", &["unknown file format", "iostat as text and JSON"]),
    ("empty.json", "", &["empty"]),
    ("fio.json", FIO_RESULT, &["a fio result", "halfpower report fio.json"]),
    ("trial.json", DOCUMENT, &["a halfpower document", "halfpower report trial.json"]),
];

#[test]
fn a_file_that_is_no_recording_is_an_error_and_nothing_is_watched_in_its_place() {
    let folder = tempfile::tempdir().unwrap();
    for (name, text, words) in UNREADABLE {
        std::fs::write(folder.path().join(name), text).unwrap();
        let words = [&[name], words].concat();
        halfpower_in(folder.path(), &format!("diagnose {name} --no-save")).refuses(2, &words);
    }
    for name in ["none.json", "./none", "/none/sa12"] {
        halfpower(&format!("diagnose {name} --no-save")).refuses(2, &[name, "does not exist"]);
    }
    let bytes = |name: &str, bytes: &[u8], words: &[&str]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        halfpower_in(folder.path(), &format!("diagnose {name} --no-save")).refuses(2, words);
    };
    bytes("day.gz", &[0x1f, 0x8b, 8, 0, 0, 0], &["day.gz", "compressed", "gzip"]);
    bytes("sa12", &[0x96, 0xd5, 0x75, 0x21, 12, 6, 1, 0], &["sa12", "sadc", "sadf -j FILE -- -d"]);
}

#[test]
fn every_command_says_what_a_file_is_and_which_command_takes_it() {
    let folder = tempfile::tempdir().unwrap();
    let counters = sample("iostat.json");
    let kinds: [(&str, &str, &str, &str); 6] = [
        ("job", "[a]\nrw=read\nsize=1m\n", "a fio job file", "run"),
        ("result", FIO_RESULT, "a fio result", "report compare record"),
        ("night", &counters, "a recording of disk counters (iostat)", "diagnose record"),
        ("log", "fio version 3 iolog\n0 f add\n1 f read 0 4096\n", "a recording of requests", ""),
        ("document", DOCUMENT, "a halfpower document", "report compare"),
        ("lines", TRIAL_LINES, "a CSV of trials", "compare"),
    ];
    for (name, text, what, taken_by) in kinds {
        std::fs::write(folder.path().join(name), text).unwrap();
        for (verb, more) in [
            ("run", "--no-save"),
            ("check", "--no-save"),
            ("diagnose", "--no-save"),
            ("record", "--no-save"),
            ("report", "--json"),
            ("compare", "other"),
        ] {
            if !taken_by.split(' ').any(|it| it == verb) {
                let words = format!("{verb} {name} {more}");
                halfpower_in(folder.path(), &words).refuses(2, &[name, what, "use: halfpower "]);
            }
        }
    }
}

/// Standard output of another program.
fn said(program: &str, words: &str) -> Vec<u8> {
    let output = Command::new(program).args(words.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn what_the_tools_of_this_machine_print_for_people_is_read_and_pidstat_refused() {
    requires!(Sysstat);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sa");
    said(SADC, &format!("-S DISK 1 2 {}", file.display()));
    halfpower_in(folder.path(), "diagnose sa --no-save").refuses(2, &["sadc", "sadf -j FILE"]);
    for (program, words) in [("iostat", "-x 1 2"), ("iostat", "-d 1 2"), ("sar", "-d 1 1")] {
        std::fs::write(&file, said(program, words)).unwrap();
        let ended = halfpower_in(folder.path(), "diagnose sa --no-save --json").expect(0);
        let found: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        assert!(!found.devices.is_empty(), "{program} {words}: {ended:?}");
    }
    std::fs::write(&file, said("pidstat", "-d 1 1")).unwrap();
    halfpower_in(folder.path(), "diagnose sa --no-save").refuses(2, &["sa:", "pidstat"]);
}

/// A sample file of another tool, read as text.
fn sample(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../import/tests/samples");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// A saved observation of idle disks with these names.
fn saved_disks(names: &[&str]) -> String {
    let device =
        |name: &&str| ObservedDevice { name: (*name).to_owned(), ..ObservedDevice::default() };
    let interval = |name: &&str| Interval {
        device: (*name).to_owned(),
        duration_ns: 1_000_000_000,
        ..Interval::default()
    };
    let observation = Observation {
        schema: OBSERVATION_SCHEMA.to_owned(),
        id: "windows".to_owned(),
        devices: names.iter().map(device).collect(),
        intervals: names.iter().map(interval).collect(),
        ..Observation::default()
    };
    serde_json::to_string(&observation).unwrap()
}

#[test]
fn files_of_one_machine_are_read_together_and_those_of_two_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let first = sample("iostat.json");
    write("a.json", &first);
    write("b.json", &first.replace(" 12:00:", " 13:00:"));
    write("other.json", &first.replace("\"oak\"", "\"elm\""));
    write("sadf.csv", &sample("sadf.csv"));
    let diagnose =
        |words: &str| halfpower_in(folder.path(), &format!("diagnose {words} --no-save"));
    let moments = |words: &str| -> usize {
        let ended = diagnose(&format!("{words} --json")).expect(0);
        let found: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        found.devices.iter().map(|device| device.series.len()).sum()
    };
    assert_eq!((moments("a.json"), moments("a.json b.json")), (10, 20));
    // The same file twice is the same hour.
    assert_eq!(moments("a.json a.json"), 10);
    let ticket = diagnose("a.json b.json --for-ticket").expect(0).stdout;
    assert!(ticket.contains("- `halfpower diagnose a.json b.json`"), "{ticket}");
    diagnose("a.json other.json").refuses(2, &["oak", "elm", "the same machine"]);
    diagnose("a.json sadf.csv").refuses(2, &["iostat -o JSON of oak", "sadf -d of birch"]);
    // A device of the recording can be selected by its name.
    let selected = diagnose("a.json sda --json").expect(0).stdout;
    let selected: Diagnosis = serde_json::from_str(&selected).unwrap();
    let names: Vec<&str> = selected.devices.iter().map(|it| it.device.as_str()).collect();
    assert_eq!((names, selected.left_out.len()), (vec!["sda"], 1), "{:?}", selected.left_out);
    let ticket = diagnose("a.json /dev/sda --for-ticket").expect(0).stdout;
    assert!(ticket.contains("- `halfpower diagnose a.json sda`"), "{ticket}");
    diagnose("a.json sdq").refuses(2, &["no disk sdq", "dm-0, sda"]);
    for word in ["SDA", "/dev/sda/"] {
        let selected = diagnose(&format!("a.json {word} --json")).expect(0).stdout;
        let selected: Diagnosis = serde_json::from_str(&selected).unwrap();
        assert_eq!(selected.devices[0].device, "sda", "{word}");
    }
    // Windows names a disk by its number and its letters.
    write("windows.json", &saved_disks(&["0 C:", "2 F: G:", "3 F:"]));
    for (word, name) in
        [("C:", "0 C:"), ("g", "2 F: G:"), ("PhysicalDrive3", "3 F:"), ("2", "2 F: G:")]
    {
        let selected = diagnose(&format!("windows.json {word} --json")).expect(0).stdout;
        let selected: Diagnosis = serde_json::from_str(&selected).unwrap();
        let names: Vec<&str> = selected.devices.iter().map(|it| it.device.as_str()).collect();
        assert_eq!(names, [name], "{word}");
    }
    diagnose("windows.json F:").refuses(2, &["F: selects several", "2 F: G:, 3 F:"]);
    diagnose("a.json none.json").refuses(2, &["none.json", "does not exist"]);
    let imported = halfpower_in(folder.path(), "record a.json b.json other.json --no-save --json");
    let text = imported.expect(0).stdout;
    let read = serde_json::Deserializer::from_str(&text).into_iter::<Observation>();
    let counts: Vec<usize> = read.map(|one| one.unwrap().intervals.len()).collect();
    assert_eq!(counts, [20, 10]);
}

#[test]
fn an_interrupted_diagnosis_is_of_what_was_seen_and_says_so() {
    let mut command = crate::program::program();
    command.args(["diagnose", "--for", "10m", "--interval", "20ms", "--no-save", "--json"]);
    let mut running = crate::program::Running::start(command);
    running.wait_for("record ...");
    running.signal("INT");
    let ended = running.end().expect(130);
    let diagnosis: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
    assert!(found(&diagnosis.findings, FindingCode::Interrupted), "{ended:?}");
}

/// Changes an interval.
type Damage = fn(&mut Interval);

#[test]
fn one_damaged_interval_costs_one_interval_and_not_the_verdict() {
    let folder = tempfile::tempdir().unwrap();
    let device = "sim:mmc,servers=8,service=1ms";
    profiled_into(&folder.path().join("db"), device);
    let mut command = crate::program::program();
    command.current_dir(folder.path());
    command.args(["diagnose", device, "--load", "rate-iops=3000 arrival=poisson"]);
    let ended = crate::program::run(command, "--for 64s --db db --profile last --json").expect(0);
    let whole: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
    let store = store::Store::open_existing(&folder.path().join("db")).unwrap();
    let observation: Observation = store.document(&whole.observation_id).unwrap();
    let diagnosed = |damage: Damage, all: bool| -> Diagnosis {
        let mut damaged = observation.clone();
        let last = if all { 0..64 } else { 30..31 };
        damaged.intervals[last].iter_mut().for_each(damage);
        let text = serde_json::to_string(&damaged).unwrap();
        std::fs::write(folder.path().join("damaged.json"), text).unwrap();
        let words = "diagnose damaged.json --db db --profile last --json --no-save";
        let ended = halfpower_in(folder.path(), words).expect(0);
        serde_json::from_str(&ended.stdout).unwrap()
    };
    let left_out: [Damage; 5] = [
        |it| it.all.per_s = Some(Figure::measured(-3_000.0, 1.0)),
        |it| it.read.per_s = Some(Figure::measured(4.7e14, 1.0)),
        |it| it.all.latency_ns = Some(Figure::measured(-1.0, 1.0)),
        |it| it.read.latency_ns = Some(Figure::measured(4.294_967_295e18, 1.0)),
        |it| it.all.bytes_per_s = Some(Figure::measured(1.8e19, 1.0)),
    ];
    let mended: [Damage; 3] = [
        |it| it.concurrency = Some(Figure::measured(4.7e14, 0.0)),
        |it| it.in_flight = Some(Figure::measured(4_294_967_295.0, 1.0)),
        |it| it.busy_share = Some(Figure::measured(-7.0, 0.0)),
    ];
    let cases = left_out.map(|damage| (damage, 63)).into_iter().chain(mended.map(|it| (it, 64)));
    for (place, (damage, intervals)) in cases.enumerate() {
        let found = diagnosed(damage, false);
        let device = &found.devices[0];
        assert_eq!(device.series.len(), intervals, "damage {place}");
        assert_eq!(device.shares[0].verdict, Verdict::Healthy, "damage {place}: {device:?}");
        assert!(device.shares[0].share_of_time > 0.9, "damage {place}: {:?}", device.shares);
        let of = |code| found.findings.iter().find(|finding| finding.code == code);
        let finding = of(FindingCode::ImpossibleFigures).unwrap();
        let counted: f64 = finding.evidence.iter().map(|one| one.value).sum();
        assert_eq!(counted, 1.0, "damage {place}: {finding:?}");
    }
    // Too busy for its requests: the service time would be longer than the latency.
    let found = diagnosed(
        |it| {
            it.busy_share = Some(Figure::measured(0.77, 0.001));
            it.concurrency = Some(Figure::measured(0.571, 0.001));
        },
        true,
    );
    let of = |code| found.findings.iter().find(|finding| finding.code == code);
    let finding = of(FindingCode::BusyDoubtful).unwrap();
    assert!((finding.evidence[0].value - 64.0 * 0.769).abs() < 0.01, "{finding:?}");
    // Finding and note compare shares of the time, as the page gives the busy share.
    let most = "as busy, but requests were in flight for at most 57 %";
    let words = format!("it counts 77 % of the time (49.22 s) {most}");
    assert!(finding.claim.contains(&words), "{finding:?}");
    let claims: Vec<&str> = found.devices[0].notes.iter().map(|note| note.claim.as_str()).collect();
    assert!(claims.iter().any(|claim| claim.contains("it counts 77 % of the time")), "{claims:?}");
    for episode in &found.devices[0].episodes {
        let (split, numbers) = (episode.utilization_law.unwrap(), &episode.numbers);
        let [used, present] = [numbers.utilization, numbers.concurrency].map(Option::unwrap);
        assert!(used <= present.min(1.0) * 1.0001, "{numbers:?}");
        assert!(split.service_ns <= numbers.latency_ns.unwrap() * 1.0001, "{split:?}");
    }
    assert!(whole.findings.iter().all(|finding| finding.code != FindingCode::BusyDoubtful));
}
