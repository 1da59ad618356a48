//! Job files and command lines of fio: what becomes of each option, and that none is left out silently.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use fio::{FileKind, Run, read_file, read_words, run_of};

fn sections(text: &str) -> Result<Vec<fio::Section>, String> {
    let include = |file: &str| match file {
        "common.fio" => Ok("direct=1\nioengine=libaio\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let environment = |name: &str| (name == "SIZE").then(|| "64m".to_owned());
    read_file("jobs.fio", text, &include, &environment).map_err(|error| error.to_string())
}

fn kind(name: &str) -> FileKind {
    match name {
        "/dev/sdb" | "/data/file" | "old" => FileKind::File,
        "/data" => FileKind::Folder,
        _ => FileKind::Missing,
    }
}

fn runs(text: &str) -> Result<Vec<Run>, String> {
    let of = |section| run_of(section, &kind).map_err(|error| error.to_string());
    sections(text)?.iter().map(of).collect()
}

/// The one run of a job with these lines.
#[track_caller]
fn run(lines: &str) -> Run {
    let mut runs = runs(&format!("[job]\n{lines}")).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

#[track_caller]
fn words(lines: &str) -> String {
    run(lines).words.join(" ")
}

#[track_caller]
fn refused(lines: &str) -> String {
    runs(&format!("[job]\n{lines}")).unwrap_err()
}

#[test]
fn a_published_recipe_becomes_the_flags_that_do_the_same() {
    let lines = "filename=/dev/sdb\nrw=randread\nbs=4k\nioengine=libaio\niodepth=32\ndirect=1\n\
                 runtime=60\ntime_based\nnumjobs=4\ngroup_reporting";
    assert_eq!(
        words(lines),
        "/dev/sdb --rw randread --bs 4k --runtime 60s --ioengine libaio --iodepth 32 \
         --cache device --numjobs 4"
    );
    assert_eq!(
        run(lines).notes,
        ["group_reporting: the result is of all jobs of a section together"]
    );
}

#[test]
fn without_time_based_a_job_ends_after_its_bytes_and_at_the_latest_by_time() {
    let ends = |lines: &str| {
        let words = words(&format!("directory=/data\nsize=1g\ndirect=1\n{lines}"));
        let at = |flag: &str| {
            words.split(' ').skip_while(|word| *word != flag).nth(1).map(str::to_owned)
        };
        (at("--io-size"), at("--runtime"))
    };
    let gib = |times: u64| Some(format!("{times}g"));
    assert_eq!(ends(""), (gib(1), Some("8760h".to_owned())));
    assert_eq!(ends("runtime=5m"), (gib(1), Some("300s".to_owned())));
    assert_eq!(ends("numjobs=3\nloops=2"), (gib(6), Some("8760h".to_owned())));
    assert_eq!(ends("io_size=2g"), (gib(2), Some("8760h".to_owned())));
    assert_eq!(ends("time_based\nruntime=10"), (None, Some("10s".to_owned())));
    assert!(refused("directory=/data\nsize=1g\ntime_based").ends_with("a runtime is missing"));
    assert!(words("filename=/dev/sdb\ndirect=1\nnumjobs=2").contains("--passes 2"));
}

#[test]
fn jobs_in_a_folder_have_a_part_each_and_a_file_that_is_not_there_is_one_of_the_run() {
    let many = run("directory=/data\nsize=1g\nnumjobs=4\nrw=randwrite");
    assert!(
        many.words.join(" ").starts_with("/data --rw randwrite --bs 4k --size 4g --regions own")
    );
    assert!(many.notes.iter().any(|note| note.starts_with("numjobs: 4 parts of one test file")));
    let new = run("filename=/data/new\nsize=64m");
    assert_eq!(new.words[0], "/data");
    assert!(new.notes[0].starts_with("filename: /data/new is not there"), "{new:?}");
    assert!(words("filename=old").starts_with("old --rw read"));
    assert!(words(r"filename=/dev/sdb:/data/file").starts_with("/dev/sdb /data/file "));
    assert!(refused("filename=old:gone\nsize=1m").contains("gone is not there; of several"));
    assert!(refused("filename=sim:mm1\nsize=1m").contains("no simulated devices"));
    assert!(refused("filename=/data").contains("name it with directory"));
    assert!(refused("directory=/data").contains("size is missing"));
}

#[test]
fn what_is_buffered_in_fio_is_buffered_here_after_its_cache_was_emptied() {
    let caches = [
        ("", "--cache all --drop-cache dontneed"),
        ("invalidate=0", "--cache all"),
        ("direct=1", "--cache device"),
        ("buffered=0", "--cache device"),
        ("direct=1\nsync=dsync", "--cache none"),
        ("sync=1", "--cache fs --drop-cache dontneed"),
    ];
    for (lines, expected) in caches {
        let words = words(&format!("filename=old\n{lines}"));
        let (_, found) = words.split_once("--iodepth 1 ").unwrap();
        assert_eq!(found, expected, "{lines}");
    }
}

#[test]
fn depth_sizes_mixes_and_rates_follow_fio() {
    let of = |lines: &str| words(&format!("filename=old\ndirect=1\n{lines}"));
    assert!(of("rw=randrw\nrwmixwrite=30").contains("--rw randrw --rwmixread 70"));
    assert!(of("bssplit=4k/60:64k/40\nrw=randread").contains("--bs 4k/60:64k/40"));
    assert!(of("bs=8k,8k").contains("--bs 8k"));
    assert!(
        of("rw=randread\nrandom_distribution=zipf:1.1").contains("--pattern zipf --zipf-theta 1.1")
    );
    assert!(
        of("rate_iops=100\nnumjobs=4\nrate_process=poisson")
            .contains("--rate-iops 400 --arrival poisson")
    );
    assert!(of("thinktime=500").contains("--think-time 500us"));
    assert!(of("rw=write\nfdatasync=1").contains("--fdatasync 1"));
    assert!(of("bs=4KiB\nrw=randread").contains("--bs 4000"));
    // The default engine has one request in flight, whatever depth is asked for.
    let psync = run("filename=old\niodepth=16");
    assert!(psync.words.join(" ").contains("--ioengine sync --cache"));
    assert!(psync.notes.iter().any(|note| note.starts_with("iodepth: psync has one")), "{psync:?}");
}

#[test]
fn globals_hold_for_the_jobs_behind_them_and_a_later_setting_counts() {
    let text = "; a comment\n[global]\ninclude common.fio\nfilename=old\nsize=${SIZE}\n\
                [first]\nrw=randread # behind it\nrw=randwrite\n[global]\nbs=8k\n[second]\nstonewall\n";
    let found = runs(text).unwrap();
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.name.as_str(), first.waits), ("first", false));
    assert_eq!((second.name.as_str(), second.waits), ("second", true));
    let (first, second) = (first.words.join(" "), second.words.join(" "));
    assert!(first.contains("--rw randwrite --bs 4k") && first.contains("--ioengine libaio"));
    assert!(second.contains("--rw read --bs 8k --size 64m"), "{second}");
}

#[test]
fn what_is_not_honoured_is_refused_with_its_place_and_the_reason() {
    let refusals = [
        ("rw=trimwrite", "jobs.fio:2:1: rw=trimwrite: use read, write"),
        ("rw=randread:8", "jobs.fio:2:1: rw=randread:8: use read"),
        ("filename=old\nbsrange=1k-4k", "jobs.fio:3:1: bsrange=1k-4k: sizes come from a list"),
        ("filename=old\n  bs=4k,8k", "jobs.fio:3:3: bs=4k,8k: reads and writes of different sizes"),
        ("filename=old\nba=8k", "jobs.fio:3:1: ba=8k: requests begin at multiples of bs"),
        (
            "filename=old\nthinktime_blocks_type=issue",
            "jobs.fio:3:1: thinktime_blocks_type=issue: no flag",
        ),
        ("filename=old\nwrite_bw_log=x", "jobs.fio:3:1: write_bw_log=x: no such logs"),
        ("filename=old\nno_such_option=1", "jobs.fio:3:1: no_such_option=1: no flag"),
        ("filename=old\nioengine=rados", "jobs.fio:3:1: ioengine=rados: use one of io_uring"),
        ("filename=old\nverify=crc32c", "jobs.fio:3:1: verify=crc32c: reads alone"),
        ("filename=old\nrate=1m", "jobs.fio:3:1: rate=1m: give requests per second"),
        ("filename", "jobs.fio:2:1: filename: a value is missing"),
    ];
    for (lines, expected) in refusals {
        let found = refused(lines);
        assert!(found.starts_with(expected), "{lines}: {found}");
    }
}

#[test]
fn a_file_that_means_nothing_is_refused_with_line_and_column() {
    let wrong = [
        ("rw=read\n", "jobs.fio:1:1: an option before the first [section]"),
        ("[a\n", "jobs.fio:1:1: \"[a\" is no section"),
        ("[]\n", "jobs.fio:1:1: \"[]\" is no section"),
        ("[a]\n  what is this\n", "jobs.fio:2:3: \"what is this\" is no option"),
        ("[a]\ninclude gone.fio\n", "jobs.fio:2:1: cannot include gone.fio: "),
        ("[a]\nsize=${NOT_SET}\n", "jobs.fio:2:1: the variable NOT_SET is not set"),
        ("[a]\nsize=${SIZE\n", "jobs.fio:2:1: \"${SIZE\" has a ${ without its }"),
        ("", "jobs.fio: no job in it"),
        ("[global]\nrw=read\n", "jobs.fio: no job in it"),
    ];
    for (text, expected) in wrong {
        let found = sections(text).unwrap_err();
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    let endless = |_: &str| Ok("include again\n".to_owned());
    let found = read_file("jobs.fio", "include again\n", &endless, &|_| None).unwrap_err();
    assert!(found.what.contains("without an end"));
}

#[test]
fn a_command_line_is_the_same_jobs_with_values_behind_a_sign_or_in_the_next_word() {
    let line = "--direct=1 --name=one --filename old --rw=randread --time_based --runtime=1 --name=two \
                --filename=old --stonewall";
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let sections = read_words(&words).unwrap();
    let found: Vec<Run> = sections.iter().map(|section| run_of(section, &kind).unwrap()).collect();
    let [one, two] = &found[..] else { panic!("{found:?}") };
    assert!(one.words.join(" ").contains("old --rw randread --bs 4k --runtime 1s"));
    assert!(one.words.join(" ").contains("--cache device"));
    assert!(two.waits && two.words.join(" ").contains("--cache device"));
    let wrong: Vec<String> = vec!["old".to_owned()];
    assert!(read_words(&wrong).unwrap_err().to_string().starts_with("old: no option of fio"));
}
