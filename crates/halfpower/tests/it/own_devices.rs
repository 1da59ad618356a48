//! User-defined simulated devices: a device described by a file works wherever a simulated one does.

use crate::documents::check_schema;
use crate::program::{halfpower, halfpower_in};
use record::{Diagnosis, Experiment, Trial};
use std::path::Path;

/// A drive that no catalogue has.
const FASTER: &str = "like = \"st15150w\"\n[drive]\nspeed = \"10000 rpm\"\nseek-average = \"5 ms\"\n\
                      seek-full-stroke = \"10 ms\"\n";

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

/// A trial without the identity of its device.
fn nameless(mut trial: Trial) -> Trial {
    let target = &mut trial.targets[0];
    assert_eq!(target.file_hash.is_some(), target.path.ends_with(".toml"), "{target:?}");
    (target.path, target.file_hash) = (String::new(), None);
    trial.id.clear();
    trial
}

#[test]
fn every_simulated_device_gives_the_same_trial_from_the_file_that_it_is_shown_as() {
    let folder = tempfile::tempdir().unwrap();
    for kind in simdisk::FAMILIES.iter().flat_map(|family| family.kinds) {
        let shown = halfpower(&format!("run --show-sim {}", kind.name)).expect(0).stdout;
        write(folder.path(), "my.toml", &shown);
        let flags = "--rw randrw --bs 8k --iodepth 4 --runtime 5s --json --no-save";
        let exit = i32::from(kind.name == "faulty");
        let run = |target: &str| {
            let ended = halfpower_in(folder.path(), &format!("run sim:{target} {flags}"));
            let trial = nameless(ended.expect(exit).trial());
            // The counters contain the device's name.
            serde_json::to_string(&trial).unwrap().replace(&format!("sim:{target}"), "sim:NAME")
        };
        assert_eq!(run("my.toml"), run(kind.name), "{}", kind.name);
    }
}

#[test]
fn the_shown_file_says_what_it_is_and_where_each_value_is_from() {
    let shown = halfpower("run --show-sim sim:st34371w,disks=2").expect(0).stdout;
    for words in [
        "# sim:st34371w,disks=2\n",
        "family = \"machine\"",
        "\n# drives\ndisks = 2\n",
        "\n[drive]\ncapacity = \"4.3 GB\" ",
        "# paper: Riedel, Table 1: 4.3 GB\n",
        "[bus]",
        "[adapter]",
        "[host]",
    ] {
        assert!(shown.contains(words), "{words:?}: {shown}");
    }
    let comments = shown.lines().filter(|line| line.starts_with('#'));
    assert!(comments.clone().count() > 20 && comments.clone().all(|line| line.len() <= 80));
    halfpower("run --show-sim st15")
        .refuses(2, &["no simulated device is named 'st15'", "st15150w"]);
    halfpower("run --show-sim mm1,servise=2ms").refuses(2, &["did you mean 'service'"]);
    halfpower("run sim:mm1 --show-sim mm1").refuses(2, &["cannot be used with"]);
    halfpower("run --list-sim --show-sim mm1").refuses(2, &["cannot be used with"]);
}

#[test]
fn a_described_device_is_run_with_keys_and_its_hash_is_in_the_document() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "my.toml", FASTER);
    let words = "run sim:my.toml,disks=2,raid=0 --bs 8k --runtime 20s --json --no-save";
    let once = halfpower_in(folder.path(), words).expect(0);
    check_schema("trial-1", &once.stdout);
    let trial = once.trial();
    assert_eq!(trial.targets[0].path, "sim:my.toml,disks=2,raid=0");
    assert_eq!(trial.targets[0].file_hash, Some(record::hex_digest(FASTER)));
    assert_eq!(halfpower_in(folder.path(), words).expect(0).stdout, once.stdout);
    // Why it is faster: half a revolution takes 3 ms instead of 4.17, and a seek 5 ms instead of 8.
    let mean = |target: &str| {
        let words = format!("run sim:{target} --bs 8k --runtime 60s --json --no-save");
        halfpower_in(folder.path(), &words).expect(0).trial().result.read.unwrap().latency_ns
    };
    let gain = mean("st15150w").unwrap().mean - mean("my.toml").unwrap().mean;
    assert!((gain / 4.17e6 - 1.0).abs() < 0.03, "{gain}");
    // Another file gives another document, although its device is the same.
    write(folder.path(), "my.toml", &format!("{FASTER}\n"));
    let other = halfpower_in(folder.path(), words).expect(0).trial();
    assert_ne!(other.id, trial.id);
    assert_eq!(other.result, trial.result);
    let page =
        halfpower_in(folder.path(), "run sim:my.toml --runtime 5s --no-save --verbose").expect(0);
    assert!(page.stdout.contains("described by a file with hash"), "{}", page.stdout);
}

#[test]
fn what_is_wrong_in_a_description_is_a_message_with_file_and_line() {
    let folder = tempfile::tempdir().unwrap();
    let refuses = |text: &str, words: &[&str]| {
        write(folder.path(), "my.toml", text);
        halfpower_in(folder.path(), "run sim:my.toml --no-save").refuses(2, words);
    };
    refuses("like = st15150w\n", &["sim:my.toml: line 1"]);
    refuses(
        "like = \"st15150w\"\n[drive]\nrpm = 10000\n",
        &["line 3", "a drive has no key \"rpm\""],
    );
    refuses("like = \"st15150w\"\ndisks = 0\n", &["line 2", "disks = \"0\"", "from 1 to 4096"]);
    refuses("like = \"st15150w\"\nraid = 5\n", &["sim:my.toml cannot be built", "use disks=3"]);
    halfpower_in(folder.path(), "run sim:gone.toml").refuses(2, &["sim:gone.toml", "No such file"]);
    write(folder.path(), "my.toml", FASTER);
    halfpower_in(folder.path(), "run sim:my.toml,dsks=2 --no-save")
        .refuses(2, &["sim:my.toml has no key 'dsks'", "did you mean 'disks'"]);
}

#[test]
fn a_profile_of_a_described_device_is_not_used_after_its_file_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "my.toml", FASTER);
    let db = "--db test.db";
    let checked =
        halfpower_in(folder.path(), &format!("check sim:my.toml --budget 120s --json {db}"));
    let profile = checked.expect(0).profile();
    assert!(profile.target.file_hash.is_some());
    // A profile of one drive must not be used for another with the same name.
    write(folder.path(), "my.toml", "like = \"atlas10k\"\n");
    let words = ["the file that describes sim:my.toml has changed", "measure again"];
    halfpower_in(folder.path(), &format!("show validate last {db}")).refuses(2, &words);
    let load = "rw=randread,bs=8k,rate-iops=40";
    let mut command = crate::program::program();
    command.current_dir(folder.path()).args(["diagnose", "sim:my.toml", "--load"]);
    command.arg(load.replace(',', " "));
    let ended = crate::program::run(command, &format!("--profile last --json {db}"));
    let said = ended.stdout.clone();
    let diagnosis: Diagnosis = serde_json::from_str(&ended.expect(0).stdout).unwrap();
    assert!(said.contains("has changed since the profile"), "{diagnosis:#?}");
}

#[test]
fn a_sweep_of_a_described_device_is_known_by_its_file() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "my.toml", FASTER);
    let words = "sweep friedman sim:my.toml --runtime 200ms --set bs=4k,64k --set sim=disks=1,disks=2 \
                 --blocks 1 --json --no-save";
    let run = || -> Experiment {
        serde_json::from_str(&halfpower_in(folder.path(), words).expect(0).stdout).unwrap()
    };
    let once = run();
    assert_eq!(run().id, once.id);
    assert!(once.targets[0].file_hash.is_some());
    write(folder.path(), "my.toml", &FASTER.replace("5 ms", "5.5 ms"));
    assert_ne!(run().id, once.id);
}
