//! A simulated document depends only on the command line, byte for byte.
//!
//! Whole documents are compared, for every device in the tables. The processes differ as machines do: in
//! folder, home, language and time zone, and by another process that runs at the same time.

use crate::program::{halfpower, program, run};

/// The output of a command with its own folder and home, and another language and time zone.
fn elsewhere(words: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.current_dir(folder.path());
    command.env("HOME", folder.path()).env("LANG", "de_DE.UTF-8").env("TZ", "Asia/Kathmandu");
    let outcome = run(command, words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
    outcome.stdout
}

fn here(words: &str) -> String {
    let outcome = halfpower(words);
    assert!(matches!(outcome.code, Some(0 | 1)), "{outcome:#?}");
    outcome.stdout
}

#[test]
fn a_run_gives_the_same_bytes_on_every_device() {
    for kind in simdisk::FAMILIES.iter().flat_map(|family| family.kinds) {
        let load = "--rw randrw --numjobs 2 --iodepth 4 --runtime 2s --no-save --json";
        let words = format!("run sim:{} {load}", kind.name);
        let first = here(&words);
        assert!(first.contains("\"simulated\": true"), "{first}");
        assert_eq!(first, elsewhere(&words), "{}", kind.name);
    }
}

#[test]
fn a_check_gives_the_same_bytes_and_another_seed_others() {
    for device in ["sim:mm1", "sim:capped", "sim:jittery"] {
        let words = format!("check {device} --budget 10s --no-save --json");
        let first = here(&words);
        assert_eq!(first, elsewhere(&words), "{device}");
        assert_ne!(first, here(&format!("{words} --seed 2")), "{device}");
    }
}

#[test]
fn an_open_load_gives_the_same_bytes_and_another_seed_others() {
    let words = "run sim:mmc,service=1ms --rate-iops 3000 --arrival poisson --numjobs 3 \
                 --interval 500ms --runtime 3s --no-save --json";
    let first = here(words);
    assert_eq!(first, elsewhere(words));
    assert_ne!(first, here(&format!("{words} --seed 2")));
}

#[test]
fn what_is_saved_does_not_change_what_is_printed() {
    let folder = tempfile::tempdir().unwrap();
    let words = "run sim:mm1,service=1ms --runtime 2s --json";
    let unsaved = here(&format!("{words} --no-save"));
    for _ in 0..2 {
        let database = folder.path().join("kept.db");
        assert_eq!(unsaved, here(&format!("{words} --db {}", database.display())));
    }
}
