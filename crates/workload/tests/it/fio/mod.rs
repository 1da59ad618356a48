//! Job files and command lines of fio: what each option becomes, and that none is ignored silently.
#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod command_line;
mod order;

use workload::fio::{self, FileKind, FioError, Run, Wait, looks_like_job_file, read_file, run_of};

fn lines(errors: &[FioError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn sections(text: &str) -> Result<Vec<fio::Section>, String> {
    let include = |file: &str| match file {
        "common.fio" => Ok("direct=1\nioengine=libaio\n".to_owned()),
        _ => Err("no such file".to_owned()),
    };
    let environment = |name: &str| match name {
        "SIZE" => Some("64m".to_owned()),
        "$mb_memory" => Some("1000".to_owned()),
        "$ncpus" => Some("4".to_owned()),
        _ => None,
    };
    read_file("jobs.fio", text, &[], &include, &environment).map_err(|errors| lines(&errors))
}

fn kind(name: &str) -> FileKind {
    match name {
        "/dev/sdb" | "/data/file" | "old" | "new" => FileKind::File { bytes: Some(1 << 30) },
        "short" => FileKind::File { bytes: Some(1 << 16) },
        "/data" | "/mnt" | "." => FileKind::Folder,
        _ => FileKind::Missing,
    }
}

fn runs(text: &str) -> Result<Vec<Run>, String> {
    let of = |section| run_of(section, &kind).map_err(|errors| lines(&errors));
    sections(text)?.iter().map(of).collect()
}

/// The single run of a job with these lines.
#[track_caller]
fn run(lines: &str) -> Run {
    let mut runs = runs(&format!("[job]\n{lines}")).unwrap();
    assert_eq!(runs.len(), 1);
    runs.remove(0)
}

#[track_caller]
fn words(lines: &str) -> String {
    let run = run(lines);
    [run.targets, run.words].concat().join(" ")
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
        "/dev/sdb --rw randread --bs 4k --ioengine libaio --iodepth 32 --cache device \
         --without-replacement --runtime 60s --keep-warm-up --numjobs 4"
    );
    assert_eq!(
        run(lines).notes,
        ["group_reporting: the result is the total of all jobs of a section"]
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
    let no_end = || Some("none".to_owned());
    assert_eq!(ends(""), (gib(1), no_end()));
    assert_eq!(ends("runtime=5m"), (gib(1), Some("300s".to_owned())));
    assert_eq!(ends("numjobs=3\nloops=2"), (gib(6), no_end()));
    assert_eq!(ends("io_size=2g"), (gib(2), no_end()));
    assert_eq!(ends("number_ios=256"), (Some("1m".to_owned()), no_end()));
    assert_eq!(ends("time_based\nruntime=10"), (None, Some("10s".to_owned())));
    // fio also ignores the switch, with a warning.
    assert_eq!(ends("time_based"), (gib(1), no_end()));
    assert!(words("filename=/dev/sdb\ndirect=1\nnumjobs=2").contains("--passes 2"));
}

#[test]
fn jobs_in_a_folder_have_a_part_each_and_a_file_that_is_not_there_is_one_of_the_run() {
    let lines = "directory=/data\nsize=1g\nnumjobs=4\nrw=randwrite";
    assert!(words(lines).starts_with("/data --rw randwrite --bs 4k"), "{}", words(lines));
    assert!(words(lines).contains("--size 4g --regions own"), "{}", words(lines));
    assert!(
        run(lines).notes.iter().any(|note| note.starts_with("numjobs: 4 jobs use parts of one"))
    );
    let spread = words("directory=/data:/mnt\nsize=1g\nnumjobs=4");
    assert!(spread.starts_with("/data /mnt ") && spread.contains("--size 2g"), "{spread}");
    let new = run("filename=/data/missing\nsize=64m");
    assert_eq!((new.targets[0].as_str(), new.stands_for[0].as_str()), ("/data", "/data/missing"));
    assert!(new.notes[0].starts_with("filename: /data/missing does not exist"), "{new:?}");
    // A test file also includes the part before the area.
    let behind = words("filename=/data/missing\nsize=1m\noffset=1m");
    assert!(behind.contains("--size 2m --offset 1m"), "{behind}");
    assert!(words("filename=old").starts_with("old --rw read"));
    let simulated = refused("filename=sim:mm1\nsize=1m");
    assert!(
        simulated.contains("no simulated devices") && !simulated.contains("exist"),
        "{simulated}"
    );
    assert!(!refused("filename=sim:/dev/x").contains("does not exist"), "it is not a file");
    assert!(refused("filename=/data").contains("use the option directory"));
    assert!(refused("directory=/gone\nsize=1m").contains("the folder /gone does not exist"));
    assert!(refused("filename=/dev/sdz").contains("the device /dev/sdz does not exist"));
    assert!(refused("directory=/data").contains("size is missing"));
}

#[test]
fn depth_and_size_are_of_a_job_and_not_of_each_of_its_files() {
    let two =
        words("filename=old:new\nrw=randread\nioengine=libaio\niodepth=4\ndirect=1\nsize=32m");
    assert!(two.starts_with("old new --rw randread"), "{two}");
    for part in ["--iodepth 4", "--raid 0 --chunk 4k", "--size 16m", "--io-size 32m"] {
        assert!(two.contains(part), "{part}: {two}");
    }
    let made = words("directory=/data\nnrfiles=3\nsize=30m\nrw=read\nbs=1m");
    assert!(made.starts_with("/data /data /data ") && made.contains("--size 10m"), "{made}");
    let many = run("directory=/data\nnrfiles=1000\nsize=1g\nrw=randread");
    assert_eq!(many.targets, ["/data"]);
    assert!(many.notes.iter().any(|note| note.contains("instead of 1000")), "{many:?}");
    assert!(
        refused("filename=old:new\nrw=trim\nioengine=sync").contains("a separate job for each")
    );
}

#[test]
fn sizes_may_be_shares_of_the_file() {
    let of = |lines: &str| words(&format!("filename=old\n{lines}"));
    assert!(of("size=50%").contains("--size 512m"));
    assert!(of("size=100%").contains("--size 1g"));
    assert!(of("size=100%\nfilesize=16m").contains("--size 16m"));
    assert!(of("filesize=16m").contains("--size 16m"));
    assert!(
        of("filesize=16m\nsize=4m").contains("--size 16m --from-start --runtime none --io-size 4m")
    );
    assert!(of("size=1m\noffset=25%").contains("--offset 256m"));
    assert!(of("size=8m\nio_size=50%").contains("--io-size 4m"));
    assert!(refused("directory=/data\nsize=50%").contains("needs the length of the file"));
    assert!(refused("filename=old\nfilesize=4k-1m").contains("files have the same size"));
}

#[test]
fn a_file_is_filled_first_where_fio_overwrites_it() {
    assert!(run("rw=write\nfilename=data\nsize=8m\noverwrite=1").fills);
    for lines in
        ["rw=write\nfilename=data\nsize=8m", "rw=write\nfilename=data\nsize=8m\noverwrite=0"]
    {
        assert!(!run(lines).fills, "{lines}");
    }
}

#[test]
fn what_is_buffered_in_fio_is_buffered_here_after_its_cache_was_emptied() {
    let caches = [
        ("", "--cache all --drop-cache dontneed"),
        ("invalidate=0", "--cache all"),
        ("rw=write", "--cache all --drop-cache dontneed"),
        ("direct=1", "--cache device"),
        ("direct=1\nbuffered=1\ninvalidate=0", "--cache all"),
        ("buffered=1\ndirect=1", "--cache device"),
        ("buffered=0", "--cache device"),
        ("direct=1\nsync=dsync", "--cache none"),
        ("sync=1", "--cache fs --drop-cache dontneed"),
        ("exec_prerun=echo 3 > /proc/sys/vm/drop_caches", "--cache all --drop-cache drop-caches"),
    ];
    for (lines, expected) in caches {
        let words = words(&format!("filename=old\n{lines}"));
        let (_, found) = words.split_once("--iodepth 1 ").unwrap();
        let (found, _) = found.split_once(" --from-start").unwrap();
        assert_eq!(found, expected, "{lines}");
    }
}

#[test]
fn a_buffered_run_of_several_passes_is_said_not_to_be_comparable() {
    let notes = run("filename=old\nrw=randread\ntime_based\nruntime=5").notes;
    assert!(notes.iter().any(|note| note.contains("not comparable with fio's")), "{notes:?}");
    let once = run("filename=old\nrw=randread\nruntime=5").notes;
    assert!(!once.iter().any(|note| note.starts_with("invalidate")), "{once:?}");
}

#[test]
fn depth_sizes_mixes_and_distributions_follow_fio() {
    let of = |lines: &str| words(&format!("filename=old\ndirect=1\n{lines}"));
    assert!(of("rw=randrw\nrwmixwrite=30").contains("--rwmixread 70"));
    assert!(of("bssplit=4k/60:64k/40\nrw=randread").contains("--bs 4k/60:64k/40"));
    assert!(of("bsrange=4k-8k\nrw=randread").contains("--bs 4k/50:8k/50"));
    assert!(of("bs=8k,64k\nrw=read").contains("--bs 8k"));
    assert!(of("bs=8k,64k\nrw=write").contains("--bs 64k"));
    assert!(of("bs=4KiB\nrw=randread").contains("--bs 4k"));
    assert!(
        of("rw=randread\nrandom_distribution=zipf:1.1").contains("--pattern zipf --zipf-theta 1.1")
    );
    assert!(
        of("rw=randread\nrandom_distribution=zoned:50/5:30/15:20/")
            .contains("--zones 50/5:30/15:20/80")
    );
    assert!(of("rw=randread\nblockalign=8k").contains("--align 8k"));
    assert!(of("rw=randread\npercentage_random=30").contains("--seq-share 70%"));
    assert!(of("rw=randread\ncpus_allowed=0-1").contains("--processors 0-1"));
    assert!(of("rw=randread\ncpumask=5").contains("--processors 0,2"));
    // fio's map of used blocks, which norandommap disables.
    assert!(of("rw=randread").contains("--without-replacement"));
    let drawn = run("filename=old\nrw=randread\nnorandommap");
    assert!(!drawn.words.contains(&"--without-replacement".to_owned()) && drawn.notes.is_empty());
    // The default engine has one request in flight, at any requested depth.
    let psync = run("filename=old\niodepth=16");
    assert!(psync.words.join(" ").contains("--ioengine sync --iodepth 1"));
    assert!(psync.notes.iter().any(|note| note.starts_with("iodepth: psync has one")), "{psync:?}");
    // The C library has one request in flight per file.
    assert!(of("ioengine=posixaio\niodepth=8").contains("--ioengine threads --iodepth 1"));
    // A pause waits for all requests in flight.
    assert!(of("ioengine=libaio\niodepth=8\nthinktime=500").contains("--iodepth 1"));
}

#[test]
fn a_rate_is_of_each_job_and_direction_in_requests_or_bytes() {
    let of = |lines: &str| words(&format!("filename=old\nrw=randrw\n{lines}"));
    assert!(of("rate_iops=100").contains("--rate-iops 100,100"));
    assert!(of("rate_iops=100,50\nrwmixread=70").contains("--rate-iops 100,50"));
    assert!(!of("rate_iops=100,50\nrwmixread=70").contains("--rwmixread"));
    assert!(of("rate_iops=3k\nrw=read").contains("--rate-iops 3072"));
    assert!(of("rate=4m\nrw=read").contains("--rate-iops 1024"));
    assert!(of("rate=4m,1m\nrw=write\nbs=64k").contains("--rate-iops 16"));
    assert!(
        of("rate_iops=100\nrw=read\nnumjobs=4\nrate_process=poisson")
            .contains("--rate-iops 400 --arrival poisson")
    );
    // Less than one request per second becomes a pause: 4,096 bytes at 1,024 per second.
    assert!(of("rate=1024\nrw=read").contains("--think-time 4s"));
    assert!(
        refused("filename=old\nrw=rw\nrate_iops=,50").contains("a rate for both reads and writes")
    );
    assert!(refused("filename=old\nrate=1m\nrate_iops=5").contains("omit one of them"));
    assert!(refused("filename=old\nrw=write\nrate=1m\nfsync=1").contains("flushes and rate"));
}

#[test]
fn logs_are_asked_for_by_kind_and_a_run_for_them_has_an_end() {
    let logs = run("filename=old\nwrite_lat_log=x\nwrite_bw_log\nlog_avg_msec=100\nper_job_logs=0");
    let names: Vec<_> = logs.logs.iter().map(|log| (log.prefix.as_deref(), log.every_ms)).collect();
    assert_eq!(names, [(None, 100), (Some("x"), 100)]);
    assert!(logs.logs.iter().all(|log| !log.numbered));
    assert!(logs.words.join(" ").contains("--runtime 10000s"), "{logs:?}");
}

#[test]
fn verified_writes_are_tagged_and_reads_of_what_another_run_wrote_are_refused() {
    let of = |lines: &str| words(&format!("filename=old\nsize=8m\nverify=md5\n{lines}"));
    assert!(of("rw=write").contains("--verify"));
    assert!(!of("rw=write\ndo_verify=0").contains("--verify"));
    assert!(of("rw=randrw\nnumjobs=2\nrw=write").contains("--numjobs 2"));
    assert!(!of("rw=write\nnumjobs=2").contains("--offset-increment"));
    assert!(of("rw=write\nnumjobs=2\noffset_increment=8m").contains("--offset-increment 8m"));
    assert!(refused("filename=old\nverify=crc32c").contains("a job that only reads"));
    assert!(run("filename=old\nverify=crc32c\ndo_verify=0").notes[0].starts_with("verify: "));
}

#[test]
fn a_job_file_is_known_by_its_content() {
    let is = |text: &str| looks_like_job_file(text.as_bytes());
    assert!(is("[global]\nioengine=libaio\n[a]\nrw=read\n"));
    assert!(is("# words\n\n; more\n[a]\nsize=4m\nno_such_option=1\nrw=read\n"));
    assert!(is(&format!("{}[a]\nrw=write\n", "# a long preface\n".repeat(1_000))));
    for other in [
        "",
        "rw=read\n",
        "[mysqld]\ndatadir=/var/lib/mysql\nport=3306\n",
        "[Service]\nExecStart=/bin/true\nnice=5\n",
        "[a]\nrw=read\n\0",
        "{\"rw\": \"read\"}",
    ] {
        assert!(!is(other), "{other:?}");
    }
    assert!(!looks_like_job_file(&vec![b'#'; 2 << 20]));
}

#[test]
fn globals_hold_for_the_jobs_behind_them_and_a_later_setting_counts() {
    let text = "; a comment\n[global]\ninclude common.fio\nfilename=old\nsize=${SIZE}\n\
                [first]\nrw=randread # behind it\nrw=randwrite\n[global]\nbs=8k\n[second]\nstonewall\n";
    let found = runs(text).unwrap();
    let [first, second] = &found[..] else { panic!("{found:?}") };
    assert_eq!((first.name.as_str(), &first.waits), ("first", &Wait::No));
    assert_eq!((second.name.as_str(), &second.waits), ("second", &Wait::All));
    let (first, second) = (first.words.join(" "), second.words.join(" "));
    assert!(first.contains("--rw randwrite --bs 4k") && first.contains("--ioengine libaio"));
    assert!(second.contains("--rw read --bs 8k") && second.contains("--size 64m"), "{second}");
}

#[test]
fn what_is_not_honoured_is_refused_with_its_place_and_the_reason() {
    let refusals = [
        ("filename=old\nrw=trimwrite", "jobs.fio:3:1: rw=trimwrite: trims and writes"),
        ("filename=old\nrw=rannd", "jobs.fio:3:1: rw=rannd: fio has no such value"),
        (
            "filename=old\nrw=rw\n  bs=4k,8k",
            "jobs.fio:4:3: bs=4k,8k: reads and writes of different sizes",
        ),
        (
            "filename=old\nthinktime_blocks_type=issue",
            "jobs.fio:3:1: thinktime_blocks_type=issue: the only supported pause",
        ),
        ("filename=old\nflow=2", "jobs.fio:3:1: flow=2: the rates of jobs"),
        (
            "filename=old\nzonemode=zbd",
            "jobs.fio:3:1: zonemode=zbd: halfpower does not support the write pointers",
        ),
        (
            "filename=old\nno_such_option=1",
            "jobs.fio:3:1: no_such_option=1: fio has no such option",
        ),
        (
            "ioengine=rados\npool=rbd",
            "jobs.fio:2:1: ioengine=rados: halfpower does not have this engine",
        ),
        ("filename", "jobs.fio:2:1: filename: a value is missing"),
    ];
    for (lines, expected) in refusals {
        let found = refused(lines);
        assert!(found.starts_with(expected), "{lines}: {found}");
        let alone = found.lines().count() == 1 || lines == "filename";
        assert!(alone, "one error: {found}");
    }
}

#[test]
fn all_errors_of_a_job_are_printed_at_once() {
    let found = refused("filename=old\nrw=trimwrite\nflow=1\nno_such_option=1\nbs=4q");
    let places: Vec<&str> = found.lines().filter_map(|line| line.split(": ").next()).collect();
    assert_eq!(places.len(), 4, "{found}");
    for place in ["jobs.fio:3:1", "jobs.fio:4:1", "jobs.fio:5:1", "jobs.fio:6:1"] {
        assert!(places.contains(&place), "{place}: {found}");
    }
}

#[test]
fn the_errors_next_to_an_unknown_engine_are_printed_too() {
    let found = refused("filename=old\nioengine=rbd\npool=x\ndirect=maybe\niodepth=3x\nsync=often");
    let places: Vec<&str> = found.lines().filter_map(|line| line.split(": ").next()).collect();
    for place in ["jobs.fio:3:1", "jobs.fio:5:1", "jobs.fio:6:1", "jobs.fio:7:1"] {
        assert!(places.contains(&place), "{place}: {found}");
    }
    // Its own options need no error each.
    assert_eq!(places.len(), 4, "{found}");
}

#[test]
fn options_with_the_same_note_or_reason_share_a_line() {
    let lines = "filename=old\nsteadystate=iops:1%\nsteadystate_duration=5\nss_ramp=1";
    let notes = run(lines).notes;
    let steady: Vec<&String> = notes.iter().filter(|note| note.contains("steady")).collect();
    let [note] = &steady[..] else { panic!("{notes:?}") };
    assert!(note.starts_with("steadystate, steadystate_duration, ss_ramp: the run"), "{note}");
    let found = refused("filename=old\nlatency_target=1ms\nlatency_window=2\nlatency_run=1");
    assert_eq!(found.lines().count(), 1, "{found}");
    assert!(found.starts_with("jobs.fio:3:1: latency_target=1ms: "), "{found}");
    assert!(found.ends_with(" (also latency_window, latency_run)"), "{found}");
}

#[test]
fn a_variable_that_is_not_set_leaves_no_value_as_in_fio() {
    let unset = refused("filename=${NOT_SET}\nsize=1m");
    assert!(unset.starts_with("jobs.fio:2:1: filename=: a value is missing"), "{unset}");
    let log = run("filename=old\nwrite_bw_log=${NOT_SET}");
    assert_eq!(log.logs[0].prefix, None);
}

#[test]
fn a_switch_that_takes_no_value_is_on_with_any_number_but_0() {
    let ends = |value: &str| words(&format!("filename=old\nruntime=9\ntime_based={value}"));
    assert!(!ends("30").contains("--io-size") && !ends("30").contains("--passes"));
    assert!(ends("0").contains("--passes"));
    assert!(refused("filename=old\ndirect=30").contains("neither 0 nor 1"));
}

#[test]
fn a_job_that_ends_by_time_says_when_and_can_end_sooner() {
    let mut timed = run("filename=old\ndirect=1\nruntime=10\ntime_based\nexitall");
    assert_eq!((timed.exit_all, timed.ends_after_ns), (true, Some(10_000_000_000)));
    timed.end_after(4_000_000_000);
    assert!(timed.words.join(" ").contains("--runtime 4s"), "{timed:?}");
    assert!(timed.notes.is_empty(), "{timed:?}");
    assert_eq!(run("filename=old\nruntime=10").ends_after_ns, None);
}

#[test]
fn a_device_that_is_not_here_has_an_assumed_length() {
    let elsewhere = |_: &str| FileKind::Elsewhere { bytes: 1 << 40 };
    let section = &sections("[a]\nfilename=/dev/nvme9n1\nsize=50%\n").unwrap()[0];
    let run = run_of(section, &elsewhere).unwrap();
    assert!(run.words.join(" ").contains("--size 512g"), "{run:?}");
    assert!(
        run.notes[0]
            .contains("not on this machine; percentages are computed from a length of 1024g")
    );
}

#[test]
fn a_job_with_the_name_of_a_device_uses_that_device() {
    let found = runs("[/dev/sdb]\nrw=randwrite\n").unwrap();
    assert_eq!((&found[0].targets[..], found[0].writes), (&["/dev/sdb".to_owned()][..], true));
    assert!(found[0].notes[0].contains("the job's name /dev/sdb is the file"), "{found:?}");
    assert_eq!(
        runs("[/dev/sdz]\nrw=read\nsize=1m\n").unwrap_err(),
        "jobs.fio:1:1: the device /dev/sdz does not exist"
    );
    let in_folder = runs("[/dev/sdb]\ndirectory=/data\nrw=read\nsize=1m\n").unwrap();
    assert_eq!(in_folder[0].targets, ["/data"]);
    assert_eq!(runs("[old]\nrw=read\nsize=1m\n").unwrap()[0].targets, ["."]);
}

#[test]
fn keywords_are_numbers_of_the_machine_and_can_be_multiplied() {
    let job = "filename=/data/new\nioengine=libaio\niodepth=$ncpus\nsize=";
    let computed = words(&format!("{job}10*10*1000*$mb_memory"));
    assert!(
        computed.contains("--iodepth 4") && computed.contains("--size 100000000"),
        "{computed}"
    );
    let computed = words(&format!("{job}(2 + $ncpus) * 4096 / 2"));
    assert!(computed.contains("--size 12k"), "{computed}");
    for wrong in ["4-2*$ncpus", "$ncpus/0"] {
        let found = refused(&format!("{job}{wrong}"));
        assert!(found.contains("cannot be computed") && found.lines().count() == 1, "{found}");
    }
    assert!(refused("bs=$pagesize").contains("the value of $pagesize on this machine is unknown"));
    // An invalid size is not also missing.
    let fraction = refused("filename=/data/new\nsize=1.5g");
    assert_eq!(
        fraction,
        "jobs.fio:3:1: size=1.5g: \"1.5g\" is not a size; fio does not support fractions; use 1536m"
    );
}

#[test]
fn a_name_in_a_section_renames_the_job() {
    let jobs = sections("[global]\nname=all\n[a]\nrw=read\n[b]\nname=second\nrw=read\n").unwrap();
    assert_eq!(jobs.iter().map(|job| job.name.as_str()).collect::<Vec<_>>(), ["all", "second"]);
}

#[test]
fn a_file_that_means_nothing_is_refused_with_line_and_column() {
    let wrong = [
        ("rw=read\n", "jobs.fio:1:1: this option is before the first [section]"),
        ("[a\n", "jobs.fio:1:1: \"[a\" is not a section"),
        ("[]\n", "jobs.fio:1:1: \"[]\" is not a section"),
        ("[a]\n  what is this\n", "jobs.fio:2:3: \"what is this\" is not an option"),
        (
            "[a\n[b]\ndirectory=${X}/data\n",
            "jobs.fio:1:1: \"[a\" is not a section; write [NAME]\njobs.fio:3:1: the variable X",
        ),
        ("[a]\ninclude gone.fio\n", "jobs.fio:2:1: cannot include gone.fio: "),
        ("[a]\nsize=${NOT_SET}k\n", "jobs.fio:2:1: the variable NOT_SET is not set"),
        ("[a]\nsize=${SIZE\n", "jobs.fio:2:1: \"${SIZE\" has a ${ without a }"),
        ("", "jobs.fio: the file has no job"),
        ("[global]\nrw=read\n", "jobs.fio: the file has no job"),
    ];
    for (text, expected) in wrong {
        let found = sections(text).unwrap_err();
        assert!(found.starts_with(expected), "{text:?}: {found}");
    }
    let endless = |_: &str| Ok("include again\n".to_owned());
    let found = read_file("jobs.fio", "include again\n", &[], &endless, &|_| None).unwrap_err();
    assert!(found[0].what.contains("endlessly"));
}
