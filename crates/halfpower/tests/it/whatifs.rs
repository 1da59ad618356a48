//! `predict` with a change, and `advise`: checks the documents and pages for simulated devices that were
//! profiled.

use crate::documents::check_schema;
use crate::program::{Outcome, halfpower, profiled_into, program, run};
use record::{
    Advice, Change, Diagnosis, Measured, OpKind, PredictionDocument, Profile, WhatIf, format_bytes,
};
use tempfile::TempDir;

struct Profiled {
    folder: TempDir,
}

impl Profiled {
    fn new(device: &str, flags: &str) -> Self {
        let profiled = Self { folder: tempfile::tempdir().unwrap() };
        let database = profiled.folder.path().join("h.db");
        profiled_into(&database, &format!("sim:{device} {flags}"));
        profiled
    }

    fn run(&self, words: &str) -> Outcome {
        let database = self.folder.path().join("h.db");
        halfpower(&format!("{words} --db {}", database.display()))
    }

    fn whatif(&self, words: &str) -> WhatIf {
        let ended = self.run(&format!("predict last {words} --json")).expect(0);
        check_schema("whatif-1", &ended.stdout);
        serde_json::from_str(&ended.stdout).unwrap()
    }
}

#[test]
fn what_the_flags_say_is_the_load_first_and_then_the_change() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let found = disk.whatif("--bs 4k --iodepth 1 --iodepth 8");
    let (before, case) = (found.before.unwrap(), &found.cases[0]);
    let after = case.after.value().unwrap();
    assert!((after.iops.value / before.iops.value - 8.0).abs() < 0.4, "{case:#?}");
    disk.run("predict last --faster 30%").refuses(2, &["--rate-iops"]);
    disk.run("predict last --rate-iops 100 --sequential +30% --sequential 20%")
        .refuses(2, &["+30%"]);
    disk.run("predict last --rate-iops 100 --disks 3 --raid 10").refuses(2, &["even number"]);
    disk.run("predict last --rate-iops 10 --balance").refuses(2, &["recording"]);
    disk.run("predict last --rate-iops 10 --faster 10% --slo mean=9ms").refuses(2, &["--slo"]);
    disk.run("predict last --iodepth 4 --faster 10% --now").refuses(2, &["--now"]);
    disk.run("predict last --sessions 8 --faster 10%")
        .refuses(2, &["--sessions predicts only the unchanged disk"]);
}

#[test]
fn a_load_that_is_too_much_for_the_disk_has_a_state_after_a_change_alone() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let found = disk.whatif("--rate-iops 2500 --disks 2 --raid 0 --faster 1%");
    let before = found.before_unsustained.unwrap();
    assert!(before.why.contains("2500") && before.why.contains("maximum"), "{before:?}");
    assert!(found.before.is_none());
    let [striped, faster] = [0, 1].map(|at| &found.cases[at]);
    let (striped, faster) = match striped.changes[..] {
        [Change::Array { .. }] => (striped, faster),
        _ => (faster, striped),
    };
    assert!(striped.after.value().unwrap().saturation < 0.8, "{striped:?}");
    assert!(striped.latency_ratio.is_none() && faster.after.value().is_none());
    let page = disk.run("predict last --rate-iops 2500 --disks 2 --raid 0").expect(0).stdout;
    let said = ["does not sustain the load now", "not sustained", "as it is"];
    assert!(said.iter().all(|words| page.contains(words)), "{page}");
}

#[test]
fn one_load_has_one_latency_whether_a_change_is_asked_for_or_not() {
    let disk = Profiled::new("cloud", "--budget 30s");
    for load in ["--rate-iops 2000 --rwmixread 70% --bs 8k", "--iodepth 4 --bs 16k"] {
        let plain = disk.run(&format!("predict last {load} --json")).expect(0).stdout;
        let plain: PredictionDocument = serde_json::from_str(&plain).unwrap();
        let used = plain.predictions.iter().find(|one| Some(one.model) == plain.advised).unwrap();
        let before = disk.whatif(&format!("{load} --faster 30%")).before.unwrap();
        let same = |one: f64, two: f64| assert!((one / two - 1.0).abs() < 1e-9, "{one} {two}");
        same(before.latency_ns.value, used.latency_ns.value);
        if used.offered.is_open() {
            same(before.latency_ns.low, used.latency_ns.low);
            same(before.latency_ns.high, used.latency_ns.high);
        }
    }
}

#[test]
fn an_observed_load_is_asked_about_with_what_was_counted_beside_it() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let mut command = program();
    command.args(["diagnose", "--load", "rw=randread rate-iops=1000 arrival=poisson", "--db"]);
    command.arg(disk.folder.path().join("h.db"));
    run(command, "sim:mmc,service=4ms --for 20s").expect(0);
    disk.run("predict observed").refuses(2, &["--faster", "--balance"]);
    let ended = disk.run("predict observed --faster 50% --host-cache 40% --json").expect(0);
    let found: WhatIf = serde_json::from_str(&ended.stdout).unwrap();
    let (observed, before) = (found.observed.unwrap(), found.before.unwrap());
    assert!((before.iops.value / 1000.0 - 1.0).abs() < 0.05, "{before:?}");
    let counted = observed.latency_ns.unwrap();
    assert!((counted / before.latency_ns.value - 1.0).abs() < 0.1, "{counted} {before:?}");
    let memory = &found.cases[1].evidence;
    assert!(memory[0].contains("memory"), "{memory:?}");
}

/// The flags of a change.
fn flags(change: Change) -> String {
    match change {
        Change::Faster(share) => format!("--faster {}%", share * 100.0),
        Change::Array { disks, raid, chunk_bytes } => {
            format!("--disks {disks} --raid {} --chunk {chunk_bytes}", raid.number())
        }
        Change::CacheHit { share, .. } => format!("--cache-hit {}%", share * 100.0),
        Change::HostCache(share) => format!("--host-cache {}%", share * 100.0),
        Change::Depth(depth) => format!("--iodepth {depth}"),
        Change::RequestBytes(bytes) => format!("--bs {bytes}"),
        Change::Uncapped => "--uncapped".to_owned(),
        Change::AsProfiled => "--as-profiled".to_owned(),
        Change::Without { share, .. } => format!("--without {}%", share * 100.0),
        Change::Independent => "--independent".to_owned(),
        Change::Sequential(_) | Change::Cap(_) | Change::Memory { .. } => {
            panic!("no remedy has {change:?}")
        }
    }
}

#[test]
fn a_diagnosis_and_a_whatif_give_one_number_for_one_change() {
    let mut asked = std::collections::BTreeSet::new();
    for (profiled, is, load) in [
        ("mmc,servers=8,service=1ms", "mmc,servers=8,service=1ms", "iodepth=64"),
        ("mmc,servers=8,service=1ms", "mmc,servers=8,service=1ms", "iodepth=1"),
        ("mmc,servers=8,service=1ms", "mmc,servers=8,service=1ms", "iodepth=32 limit=1000"),
        (
            "mmc,servers=8,service=1ms",
            "mmc,servers=8,service=2ms",
            "rate-iops=2000 arrival=poisson",
        ),
        ("mg1,service=5ms,cv=0.5", "mg1,service=5ms,cv=0.5", "rate-iops=190 arrival=poisson"),
        ("sata-ssd", "sata-ssd", "iodepth=128"),
    ] {
        let disk = Profiled::new(profiled, "--budget 30s");
        let mut command = program();
        command.args(["diagnose", "--load", load, "--profile", "last", "--db"]);
        command.arg(disk.folder.path().join("h.db"));
        let ended = run(command, &format!("sim:{is} --for 30s --json")).expect(0);
        let diagnosis: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        let device = &diagnosis.devices[0];
        let rate = |at: u32| device.episodes[at as usize].numbers.iops.unwrap();
        for remedy in &device.advice {
            let (Some(change), Measured::Value(effect)) = (remedy.change, &remedy.effect) else {
                continue;
            };
            assert!((0..device.episodes.len() as u32).all(|at| rate(at) <= rate(remedy.episode)));
            let words = format!("predict observed --profile last {} --json", flags(change));
            let whatif: WhatIf = serde_json::from_str(&disk.run(&words).expect(0).stdout).unwrap();
            let after = whatif.cases[0].after.value().unwrap();
            let told = (effect.latency_after_ns, effect.iops_after);
            assert_eq!((after.latency_ns, after.iops), told, "{is} {load}: {remedy:#?}");
            asked.insert(remedy.strategy);
        }
    }
    assert!(asked.len() >= 6, "{asked:?}");
}

#[test]
fn the_page_fits_eighty_columns_and_names_cost_and_check() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let words = "predict last --rate-iops 1000 --rwmixread 70% --faster 30% --cap 1500 --cache-hit 80% \
                 --hit-time 100us";
    let page = disk.run(words).expect(0).stdout;
    for line in page.lines() {
        assert!(line.chars().count() <= 80, "{line:?}");
    }
    for word in ["as it is", "30 % faster", "assumes", "cost", "how to check"] {
        assert!(page.contains(word), "no {word:?} in\n{page}");
    }
}

#[test]
fn no_advice_on_sizes_is_below_what_the_same_profile_shows() {
    let disk = Profiled::new("mmc,servers=8,service=1ms", "--for-diagnosis --budget 60s");
    let ended = disk.run("show last --json").expect(0);
    let profile: Profile = serde_json::from_str(&ended.stdout).unwrap();
    let reads =
        || profile.cells.iter().filter(|cell| cell.workload.only_op() == Some(OpKind::Read));
    let most = reads().map(|cell| cell.bytes_per_s.value).fold(0.0, f64::max);
    let nearly = reads().filter(|cell| cell.bytes_per_s.value >= 0.9 * most);
    let mut words = nearly.map(|cell| {
        let size = format_bytes(cell.workload.max_bs().0);
        format!("{size} requests at QD {}", cell.workload.depth)
    });
    let size = |advice: &&Advice| advice.subject == "sequential read size";
    let advised = &profile.advice.iter().find(size).unwrap().recommendation;
    // Without the sizes that the errors allow.
    let choice = advised.split(';').next();
    assert!(words.any(|it| choice == Some(it.as_str())), "{advised:?}, with {most} bytes/s");
}

#[test]
fn settings_are_commented_lines_to_paste_and_unknown_programs_are_refused() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let id = disk.run("show --json").expect(0).profile().id;
    // Settings for a server come from a real disk, unless a simulated one is named.
    disk.run("advise --for linux")
        .refuses(2, &["1 simulated", "halfpower check", "uses the newest of these"]);
    disk.run("advise --for linux last").refuses(2, &["1 simulated"]);
    for program in ["postgresql", "mysql", "linux", "fio"] {
        let text = disk.run(&format!("advise --for {program} {id}")).expect(0).stdout;
        for line in text.lines().filter(|line| line.starts_with('#')) {
            assert!(line.chars().count() <= 80, "{line:?}");
        }
        let json = disk.run(&format!("advise --for {program} {id} --json")).expect(0).stdout;
        check_schema("settings-1", &json);
    }
    let text = disk.run(&format!("advise --for postgresql {id}")).expect(0).stdout;
    // Eight servers: the knee is at eight.
    assert!(text.contains("\neffective_io_concurrency = 8\n"), "{text}");
    let words = text.replace("\n#", " ").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("at queue depth 1, a random read of 8 KiB"), "{text}");
    // A simulated device has no flush, on which all of etcd's settings depend. One sentence says so.
    let etcd = disk.run(&format!("advise --for etcd {id}")).expect(0).stdout;
    let etcd = etcd.replace("\n# ", " ");
    assert!(etcd.contains("This profile does not determine any setting of etcd: "), "{etcd}");
    assert!(etcd.matches("no commits").count() == 1, "{etcd}");
    disk.run("advise --for oracle last").refuses(2, &["postgresql", "linux"]);
}

/// Repeated reads of 2 MiB in pages. A cache that holds them all serves all but the first pass.
fn reads_again(folder: &std::path::Path, times: u64) -> String {
    let reads =
        (0..512 * times).map(|read| format!("{} /x read {} 4096\n", read, read % 512 * 4096));
    let text = "fio version 3 iolog\n0 /x add\n0 /x open\n".to_owned() + &reads.collect::<String>();
    let path = folder.join(format!("{times}.io"));
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn more_memory_serves_what_the_recorded_requests_ask_for_again() {
    let disk = Profiled::new("mmc,service=4ms", "--budget 20s");
    let log = reads_again(disk.folder.path(), 4);
    let load = "--rate-iops 800 --rwmixread 70% --bs 4k";
    let memory = |size: &str| {
        disk.whatif(&format!("{load} --memory {size} --recorded {log}")).cases.remove(0)
    };
    let enough = memory("2m");
    assert_eq!(enough.changes, [Change::Memory { bytes: 2 << 20, share: 0.75 }]);
    assert!(
        enough.evidence.iter().any(|line| line.contains("75 % with 2 MiB")),
        "{:?}",
        enough.evidence
    );
    let stated = disk.whatif(&format!("{load} --host-cache 75%")).cases.remove(0);
    assert_eq!(enough.after, stated.after);
    // A cache smaller than one pass serves nothing; a larger one serves no more.
    assert_eq!(memory("1m").changes, [Change::Memory { bytes: 1 << 20, share: 0.0 }]);
    assert_eq!(memory("1g").changes, [Change::Memory { bytes: 1 << 30, share: 0.75 }]);
    disk.run(&format!("predict last {load} --memory 2m")).expect(2);
}

#[test]
fn a_full_disk_is_told_what_memory_would_serve_where_its_requests_were_recorded() {
    let disk = Profiled::new("mm1,service=1ms", "--budget 20s");
    let (again, once) = (reads_again(disk.folder.path(), 8), reads_again(disk.folder.path(), 1));
    let diagnose = |log: &str| {
        let words = "diagnose sim:mm1,service=1ms --profile last --for 60s --json \
                     --load rw=randread_rate-iops=950_arrival=poisson";
        let mut words: Vec<String> = words.split(' ').map(|word| word.replace('_', " ")).collect();
        let database = disk.folder.path().join("h.db").display().to_string();
        words.extend(["--recorded", log, "--db", &database].map(str::to_owned));
        let mut command = program();
        command.args(&words);
        let ended = run(command, "").expect(0);
        let found: Diagnosis = serde_json::from_str(&ended.stdout).unwrap();
        let remedies = found.devices.into_iter().flat_map(|device| device.advice);
        let changes = remedies.filter_map(|remedy| remedy.change);
        changes.filter(|change| matches!(change, Change::Memory { .. })).collect::<Vec<_>>()
    };
    assert_eq!(diagnose(&again), [Change::Memory { bytes: 2 << 20, share: 0.875 }]);
    assert_eq!(diagnose(&once), []);
}
