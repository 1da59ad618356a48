//! Experiments, tested from outside: their plan, their order, what they omit, and that an experiment that was
//! killed and resumed equals one that was not.

use crate::program::{Outcome, Running, found, halfpower, program, run};
use record::{CacheMode, Experiment, FindingCode, Trial};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};
use store::Store;
use testkit::{disk_folder, requires};
use workload::{PRESETS, Rng};

/// The experiment that was printed as JSON.
#[track_caller]
fn experiment(ended: &Outcome) -> Experiment {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
}

/// Runs a sweep without saving it.
#[track_caller]
fn swept(words: &str) -> Experiment {
    experiment(&halfpower(&format!("sweep {words} --json --no-save")).expect(0))
}

const SMALL: &str = "riedel sim:md1,service=1ms --set bs=4k,64k --set iodepth=1,3 --size 1m";

#[test]
fn each_block_holds_each_combination_once_in_an_order_that_the_seed_determines() {
    let first = swept(SMALL);
    assert_eq!(first.plan.len(), 3 * 2 * 2 * 2 * 2);
    let combinations = |experiment: &Experiment, block: u32| -> Vec<BTreeMap<String, String>> {
        let of_block = experiment.plan.iter().filter(|planned| planned.block == block);
        of_block.map(|planned| planned.levels.clone()).collect()
    };
    let mut orders = BTreeSet::new();
    for block in 0..3 {
        let order = combinations(&first, block);
        let different: BTreeSet<_> = order.iter().cloned().collect();
        assert_eq!((order.len(), different.len()), (16, 16));
        orders.insert(order);
    }
    assert_eq!(orders.len(), 3, "blocks have orders of their own");
    let blocks: Vec<u32> = first.plan.iter().map(|planned| planned.block).collect();
    assert!(blocks.is_sorted(), "one block after the other");
    let seeds: BTreeSet<u64> = first.plan.iter().map(|planned| planned.seed).collect();
    assert_eq!(seeds.len(), first.plan.len(), "a seed for each trial");
    assert_eq!(swept(SMALL), first, "the same seed gives the same document");
    let other = swept(&format!("{SMALL} --seed 2"));
    assert_ne!(combinations(&other, 0), combinations(&first, 0));
    assert_ne!(other.id, first.id);
}

#[test]
fn a_dry_run_has_a_line_for_each_trial_and_the_line_gives_the_trial() {
    let folder = tempfile::tempdir().unwrap();
    let database = folder.path().join("x.db");
    let swept = experiment(
        &halfpower(&format!("sweep {SMALL} --json --db {}", database.display())).expect(0),
    );
    let script = halfpower(&format!("sweep {SMALL} --dry-run")).expect(0).stdout;
    let lines: Vec<&str> = script.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 3 * 2 * 2 * 2 * 2);
    assert!(lines.iter().all(|line| line.starts_with("halfpower run ")), "{script}");
    assert!(script.contains("48 trials in 3 blocks, at most 48 min"), "{script}");
    let trials = Store::open(&database).unwrap().trials_of::<Experiment>(&swept.id).unwrap();
    for (line, kept) in lines.iter().zip(&trials).step_by(11) {
        let words = line.trim_start_matches("halfpower ");
        let alone = halfpower(&format!("{words} --json --no-save")).expect(0).trial();
        assert_eq!(&alone, kept, "{line}");
    }
}

#[test]
fn the_note_of_the_variable_or_the_flag_stands_in_each_line_and_in_the_document() {
    let mut command = program();
    command.env("sqlio_note", "rack 7, bay 'B'");
    let script = run(command, &format!("sweep {SMALL} --dry-run")).expect(0).stdout;
    let lines: Vec<&str> = script.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(lines.iter().all(|line| line.ends_with("  # rack 7, bay 'B'")), "{script}");
    let mut command = program();
    command.env("sqlio_note", "variable");
    let ended = run(command, &format!("sweep {SMALL} --note flag --json --no-save")).expect(0);
    assert_eq!(experiment(&ended).note, "flag");
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words =
        format!("sweep friedman {} --size 16m --dry-run --note quiet", folder.path().display());
    let script = halfpower(&words).expect(0).stdout;
    assert_eq!(
        script.matches("--sqlio-csv friedman.csv --comment quiet\n").count(),
        36,
        "{script}"
    );
}

#[test]
fn what_the_targets_do_not_have_is_said_and_the_rest_runs() {
    let ended = halfpower(
        "sweep stripe sim:st34371w --set bs=64k --set iodepth=3 --set rw=read --size 4m \
         --set disks=1,2 --json --no-save",
    );
    let striped = experiment(&ended.expect(0));
    assert_eq!(striped.plan.len(), 3 * 2 * 2);
    let on: BTreeSet<&String> = striped.plan.iter().flat_map(|planned| &planned.targets).collect();
    assert_eq!(on.len(), 2, "{on:?}");
    let ended = halfpower("sweep engines sim:md1,service=1ms --json --no-save").expect(0);
    assert!(ended.stderr.contains("skipped: 6 combinations: --ioengine needs a real target"));
    let ways: BTreeSet<&str> = experiment(&ended)
        .cells
        .iter()
        .map(|cell| cell.levels["way"].clone())
        .map(|way| match way.as_str() {
            "any" => "any",
            "oldest-first" => "oldest-first",
            "callback" => "callback",
            "callback-posted" => "callback-posted",
            _ => "another",
        })
        .collect();
    assert_eq!(ways, ["any", "callback", "callback-posted", "oldest-first"].into());
    let nothing = halfpower("sweep wal sim:md1 --no-save").expect(2);
    assert!(nothing.stderr.contains("only a real target can be prepared"), "{nothing:?}");
    assert!(nothing.stderr.contains("no trial of the design wal can run on these targets"));
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = format!(
        "sweep stripe {} --size 4m --set bs=64k --set iodepth=3 --set rw=read --set cache=direct \
         --runtime 60s --set io-size=1m --blocks 1 --json --no-save",
        folder.path().display()
    );
    let ended = halfpower(&words).expect(0);
    assert!(ended.stderr.contains("it needs 2 targets, but only 1 is named; name 2"), "{ended:?}");
    assert_eq!(experiment(&ended).plan.len(), 1);
}

#[test]
fn mistakes_in_designs_are_usage_errors_that_name_the_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("mine.toml");
    let with = |text: &str, words: &str| {
        std::fs::write(&file, text).unwrap();
        halfpower(&format!("sweep {} {words} --no-save", file.display()))
    };
    with("[axes]\nbs = [\"4x\"]\n", "sim:md1").refuses(2, &["mine.toml", "4x"]);
    with("[axes]\ncolour = [1]\n", "sim:md1").refuses(2, &["mine.toml", "\"colour\""]);
    with("[axes]\nbs = [\"4k\"]\n", "").refuses(2, &["name at least one target"]);
    with("[axes]\nbs = [\"4k\"]\n", "sim:md1 sim:md1")
        .refuses(2, &["cannot be combined with others"]);
    with("[axes]\nbs = [\"4k\"]\n", "sim:md1 --blocks 0").refuses(2, &["from 1 to 1000"]);
    with("[axes]\nbs = [\"4k\"]\n", "sim:md1 --protocol paper")
        .refuses(2, &["the design has no protocols", "omit it"]);
    with("[axes]\nprepare = [\"dance\"]\n", ".").refuses(2, &["unknown preparation \"dance\""]);
    with("[axes]\nrw = [\"read\"]\n[constants]\nrwmixread = 5\n", "sim:md1")
        .refuses(2, &["--rwmixread needs a mix"]);
    halfpower("sweep riedl sim:md1").refuses(2, &["unknown preset \"riedl\"; use one of"]);
    halfpower("sweep /no/such.toml sim:md1").refuses(4, &["the design: cannot read"]);
    let missing = folder.path().join("x.db");
    let words = format!("sweep --resume last --db {}", missing.display());
    halfpower(&words).refuses(4, &["no database at"]);
    let words = format!("sweep --resume last --blocks 2 --db {}", missing.display());
    halfpower(&words).refuses(2, &["omit --blocks"]);
}

#[test]
fn the_presets_are_listed_and_each_is_shown_as_a_design_that_can_be_run() {
    let list = halfpower("sweep --list").expect(0).stdout;
    let folder = tempfile::tempdir().unwrap();
    for preset in PRESETS {
        assert!(list.lines().any(|line| line.starts_with(&format!("{}  ", preset.name))), "{list}");
        let shown = halfpower(&format!("sweep {} --show", preset.name)).expect(0).stdout;
        let file = folder.path().join(format!("{}.toml", preset.name));
        std::fs::write(&file, &shown).unwrap();
        let again = halfpower(&format!("sweep {} --show", file.display())).expect(0).stdout;
        assert_eq!(again, shown);
    }
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
}

#[test]
fn blocks_that_lie_apart_are_flagged_and_those_that_do_not_are_not() {
    let words = |kind: &str| format!("friedman sim:{kind},service=1ms --size 16m --runtime 200ms");
    let apart = swept(&words("mm1"));
    assert!(found(&apart.findings, FindingCode::BlockSpread), "{:?}", apart.findings);
    assert!(apart.cells.iter().any(|cell| cell.spread_rel.unwrap() > 0.03));
    let together = swept(&words("md1"));
    assert!(!found(&together.findings, FindingCode::BlockSpread), "{:?}", together.findings);
    assert!(together.cells.iter().all(|cell| cell.trials == 3 && cell.iops.n == 3));
}

/// The positions of the plan that have a trial, with the trial. Each position has at most one.
fn kept(database: &Path) -> (Experiment, BTreeMap<u32, Trial>) {
    let store = Store::open(database).unwrap();
    let rows = store.list::<Experiment>().unwrap();
    let experiment: Experiment = store.document(&rows.last().unwrap().id).unwrap();
    let trials = store.trials_of::<Experiment>(&experiment.id).unwrap();
    let places: Vec<u32> = experiment.done.iter().map(|done| done.position).collect();
    assert_eq!(places.len(), trials.len());
    let by_place: BTreeMap<u32, Trial> = places.iter().copied().zip(trials).collect();
    assert_eq!(by_place.len(), places.len(), "no place twice");
    (experiment, by_place)
}

/// Starts a command with a database, and kills it with SIGKILL after a while. Returns whether it was killed
/// before it ended.
fn killed(words: &str, database: &Path, after: Duration) -> bool {
    let mut command = program();
    command.args(words.split_whitespace()).arg("--db").arg(database);
    let running = Running::start(command);
    std::thread::sleep(after);
    running.signal("KILL");
    running.end().code.is_none()
}

/// Repeatedly kills and resumes an experiment at random times until it is complete, for at least `kills`
/// kills, a quarter of which must be in the middle. Calls `check` with each completed experiment. The kill
/// times are adapted to the experiment's length, which depends on other load on the machine.
fn killed_at_random(words: &str, kills: usize, check: &mut dyn FnMut(&Path)) {
    let begin = Instant::now();
    let whole = tempfile::tempdir().unwrap();
    let uncut = whole.path().join("x.db");
    halfpower(&format!("{words} --db {}", uncut.display())).expect(0);
    let mut length = begin.elapsed();
    check(&uncut);
    let mut rng = Rng::new(20);
    let mut done = 0;
    let mut in_the_middle = 0;
    while done < kills || in_the_middle * 4 < kills {
        assert!(done < 50 * kills, "only {in_the_middle} of {done} kills came in the middle");
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().join("x.db");
        loop {
            let planned = database.exists()
                && !Store::open(&database).unwrap().list::<Experiment>().unwrap().is_empty();
            let next = if planned { "sweep --resume last --json" } else { words };
            let after = length.mul_f64(rng.unit() * 0.8);
            let enough = done >= kills && in_the_middle * 4 >= kills;
            let ended = !enough && !killed(next, &database, after);
            if ended {
                length = length.mul_f64(0.9);
            }
            if enough || ended {
                halfpower(&format!("{next} --db {}", database.display())).expect(0);
                break;
            }
            done += 1;
            let store = Store::open(&database).unwrap();
            let run = store.list::<Experiment>().unwrap().last().map_or(0, |row| {
                let experiment: Experiment = store.document(&row.id).unwrap();
                let (run, all) = (experiment.done.len(), experiment.plan.len());
                in_the_middle += usize::from(run > 0 && run < all);
                run
            });
            if run == 0 {
                length = length.mul_f64(1.2);
            }
        }
        check(&database);
    }
}

#[test]
fn a_simulated_sweep_killed_at_random_moments_and_resumed_is_the_same_document() {
    let words = "sweep riedel sim:mmc,servers=4,service=100us --set bs=4k,64k --set iodepth=1,3 \
                 --size 8m --json";
    let mut first: Option<(Experiment, BTreeMap<u32, Trial>)> = None;
    killed_at_random(words, testkit::draws(6, 20), &mut |database| {
        let now = kept(database);
        assert_eq!(now.0.done.len(), now.0.plan.len());
        match &first {
            None => first = Some(now),
            Some(first) => assert!(*first == now, "another document after a kill"),
        }
    });
}

#[test]
fn a_sweep_of_a_real_file_killed_at_random_moments_and_resumed_has_each_trial_once() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let words = format!(
        "sweep friedman {} --set bs=4k,64k --size 8m --runtime 40ms --set until-precision= --seed 5 \
         --json",
        folder.path().display()
    );
    let mut first: Option<Vec<_>> = None;
    killed_at_random(&words, testkit::draws(4, 10), &mut |database| {
        let (experiment, trials) = kept(database);
        assert_eq!(trials.len(), experiment.plan.len());
        let asked: Vec<_> = trials
            .iter()
            .map(|(place, trial)| {
                let planned = &experiment.plan[*place as usize];
                assert_eq!((&trial.workload, trial.seed), (&planned.workload, planned.seed));
                (*place, trial.cell.clone(), trial.seed, planned.levels.clone())
            })
            .collect();
        let ids: BTreeSet<&String> = trials.values().map(|trial| &trial.id).collect();
        assert_eq!(ids.len(), trials.len(), "each trial once");
        match &first {
            None => first = Some(asked),
            Some(first) => assert_eq!(*first, asked),
        }
    });
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "a file was left");
}

#[test]
fn an_interrupted_sweep_says_how_to_go_on_and_a_whole_one_has_nothing_left() {
    requires!(Disk);
    let (folder, database) = (disk_folder().unwrap(), tempfile::tempdir().unwrap());
    let path = database.path().join("x.db");
    let mut command = program();
    let words = "sweep friedman . --set bs=4k --size 8m --runtime 100ms --set until-precision=";
    command.current_dir(folder.path()).args(words.split_whitespace()).arg("--verbose");
    command.arg("--db").arg(&path);
    let mut running = Running::start(command);
    running.wait_for("trial 1 of 12 ...");
    std::thread::sleep(Duration::from_millis(400));
    running.signal("INT");
    let ended = running.end().expect(130);
    assert!(
        ended.stderr.contains("12 trials finished; to run the rest: `halfpower sweep --resume"),
        "{ended:?}"
    );
    assert!(ended.stdout.contains("runs the rest"), "{ended:?}");
    let resume = format!("sweep --resume last --verbose --db {}", path.display());
    let mut command = program();
    command.current_dir(folder.path());
    let whole = run(command, &resume).expect(0);
    assert!(whole.stdout.contains("12, 4 combinations in 3 blocks"), "{whole:?}");
    let mut command = program();
    command.current_dir(folder.path());
    assert_eq!(run(command, &resume).expect(0).stdout, whole.stdout);
    let words = format!("show list --kind experiment --db {}", path.display());
    let listed = halfpower(&words).expect(0).stdout;
    assert!(listed.contains("friedman on "), "{listed}");
}

#[test]
fn existing_files_are_read_without_a_word_and_written_only_with_it() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let file = folder.path().join("data");
    std::fs::write(&file, vec![7; 8 << 20]).unwrap();
    let words = format!(
        "sweep friedman {} --set bs=4k --size 8m --runtime 60s --set io-size=1m --blocks 1 --json --no-save",
        file.display()
    );
    let ended = halfpower(&words).expect(0);
    assert!(ended.stderr.contains("skipped: 2 combinations"), "{ended:?}");
    let levels: BTreeSet<String> =
        experiment(&ended).cells.iter().map(|cell| cell.levels["rw"].clone()).collect();
    assert_eq!(levels, ["randread".to_owned(), "read".to_owned()].into());
    assert!(std::fs::read(&file).unwrap().iter().all(|byte| *byte == 7));
    let written = experiment(&halfpower(&format!("{words} --overwrite")).expect(0));
    assert_eq!(written.cells.len(), 4);
    assert!(written.plan.iter().all(|planned| planned.workload.cache == CacheMode::Device));
}

#[test]
fn what_a_sweep_prints_at_its_end_is_the_headline_of_its_report() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let file = folder.path().join("cached.toml");
    // Some reads are served by memory, others by the disk; only the trials show which.
    let design = "blocks = 1\n[constants]\nrw = \"read\"\nbs = \"64k\"\nsize = \"1m\"\nio-size = \"1m\"\n\
                  runtime = \"60s\"\n[axes]\ncache = [{ name = \"direct\", cache = \"device\" }, \
                  { name = \"buffered\", cache = \"all\" }]\n";
    std::fs::write(&file, design).unwrap();
    let database = folder.path().join("x.db");
    let place = folder.path().display();
    let words = format!("sweep {} {place} --db {}", file.display(), database.display());
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let printed = one_line(&halfpower(&words).expect(0).stdout);
    let report =
        halfpower(&format!("report last --md --db {}", database.display())).expect(0).stdout;
    let headline = report.lines().find(|line| line.contains("The maximum throughput")).unwrap();
    let headline = one_line(headline.trim_matches('*'));
    assert!(printed.contains(&headline), "{headline}\n{printed}");
}
