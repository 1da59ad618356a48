//! Mistakes in the command line: exit code 2.

use crate::program::{halfpower, halfpower_in, names, program, run, trial};
use record::CacheMode;
use testkit::{disk_folder, requires};

/// Runs in an empty folder. Checks that the message names the mistake, and that the folder is still empty.
#[track_caller]
fn refused(words: &str, message: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    halfpower_in(folder.path(), &format!("{words} --no-save")).refuses(2, message);
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn a_depth_of_zero_is_refused_with_the_range() {
    refused("run . --iodepth 0", &["--iodepth 0", "use 1 to"]);
    refused("run . --numjobs 0", &["--numjobs 0", "use 1 to"]);
}

#[test]
fn a_run_time_of_zero_is_refused_with_an_example() {
    refused("run . --runtime 0", &["--runtime", "for example 10s"]);
}

#[test]
fn a_budget_that_cannot_hold_the_matrix_is_refused_with_the_least() {
    refused("check . --budget 1s", &["--budget", "at least 5"]);
}

#[test]
fn an_unknown_engine_is_refused_with_the_known_ones() {
    refused("run . --ioengine libfast", &["libfast", "io_uring", "sync"]);
}

#[test]
fn an_unknown_cache_mode_is_refused_with_the_known_ones() {
    refused("run . --cache some", &["'some'", "all, fs, device or none"]);
}

#[test]
fn an_unknown_unit_is_refused_with_what_is_wrong() {
    refused("run . --bs 4q", &["--bs", "4q"]);
    refused("run . --runtime soon", &["--runtime", "soon"]);
}

#[test]
fn a_share_of_reads_without_a_mix_is_refused() {
    refused("run . --rw read --rwmixread 70", &["--rwmixread", "--rw randrw"]);
    refused("run . --rw randrw --rwmixread 101", &["--rwmixread", "'101'", "0 to 100"]);
}

#[test]
fn a_number_that_is_none_is_refused_with_what_is_allowed() {
    refused("run . --iodepth abc", &["--iodepth", "'abc'", "use a whole number"]);
    refused("diagnose sim:mm1 --load iodepth=x", &["--iodepth", "'x'", "use a whole number"]);
    refused("run . --rate-iops 3q", &["--rate-iops", "'3q'", "1000 or 1k"]);
}

#[test]
fn a_view_of_the_kernel_is_refused_with_what_to_name() {
    for place in ["/proc", "/sys/kernel"] {
        for verb in ["check", "run"] {
            refused(&format!("{verb} {place}"), &[place, "not a disk", "/var/tmp"]);
        }
    }
}

#[test]
fn an_unknown_simulated_device_is_refused_with_the_nearest_name() {
    refused("run sim:mm2", &["mm2", "did you mean 'mm1'"]);
    refused("check sim:mm2", &["mm2", "did you mean 'mm1'"]);
}

#[test]
fn an_unknown_key_of_a_simulated_device_is_refused_with_the_nearest_name() {
    refused("run sim:mm1,servise=1ms", &["servise", "did you mean 'service'"]);
    refused("run sim:mm1,service=soon", &["service=soon", "cannot be used"]);
    refused("run sim:mm1 --overwrite", &["--overwrite", "simulated"]);
}

#[test]
fn a_target_that_is_no_storage_is_refused_with_what_would_do() {
    refused("run /dev/null", &["/dev/null", "character device", "name a directory"]);
    refused("check /dev/null", &["/dev/null", "character device", "name a directory"]);
}

#[test]
fn a_file_smaller_than_one_request_is_refused_with_both_sizes() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("small");
    std::fs::write(&file, [1; 1000]).unwrap();
    let path = file.display();
    let words = ["1000 bytes", "4096", "--bs", "small"];
    halfpower(&format!("run {path} --no-save")).refuses(2, &words);
    halfpower(&format!("check {path} --no-save")).refuses(2, &["1000 bytes", "65536", "small"]);
    halfpower(&format!("run {path} --bs 1000 --size 2000 --cache all --no-save"))
        .refuses(2, &["1000 bytes", "2000", "--size"]);
    assert_eq!(std::fs::read(&file).unwrap(), [1; 1000]);
}

#[test]
fn an_area_smaller_than_one_request_is_refused_with_both_sizes() {
    refused("run . --size 4k --bs 64k", &["4096", "65536", "--size"]);
    refused("run sim:mm1 --size 4k --bs 64k", &["4 KiB", "64 KiB", "--bs"]);
    refused("check sim:mm1 --size 2k", &["too small", "--size"]);
    refused("run sim:mm1,size=1m --size 2m", &["beyond the end of the target", "2 MiB", "1 MiB"]);
}

#[test]
fn requests_past_the_page_cache_that_are_not_whole_blocks_are_refused() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let refused = |words: &str, message: &[&str]| {
        let words = format!("run . --size 64m --no-save {words}");
        halfpower_in(folder.path(), &words).refuses(2, message);
        assert_eq!(names(folder.path()), [""; 0]);
    };
    refused("--bs 1000", &["--bs 1000", "multiple of", "--cache all"]);
    refused("--bs 1000 --cache none", &["--bs 1000", "multiple of", "--cache all"]);
    refused("--offset 100", &["--offset 100", "multiple of", "--cache all"]);
    // The opposite: the page cache accepts any size.
    let words = "run . --size 64m --no-save --io-size 1m --runtime 30s --cache all --bs 1000";
    halfpower_in(folder.path(), words).expect(0);
}

#[test]
fn fios_direct_with_or_without_a_value_chooses_the_cache_mode() {
    let modes = [
        ("--direct=1", CacheMode::Device),
        ("--direct 1", CacheMode::Device),
        ("--direct", CacheMode::Device),
        ("--direct=0", CacheMode::All),
        ("--direct 0", CacheMode::All),
        ("", CacheMode::Device),
    ];
    for (flag, mode) in modes {
        assert_eq!(trial(0, &format!("sim:mm1 {flag}")).workload.cache, mode, "{flag:?}");
    }
    refused("run sim:mm1 --direct=1 --cache all", &["--direct", "--cache"]);
    refused("run --direct sim:mm1", &["--direct", "sim:mm1", "--direct=1", "last"]);
}

#[test]
fn an_engine_of_windows_is_refused_with_the_one_that_comes_closest() {
    for (engine, closest) in
        [("iocp", "io_uring"), ("events", "libaio"), ("readfileex", "io_uring")]
    {
        let closest = format!("on this system use --ioengine {closest}");
        refused(&format!("run . --ioengine {engine}"), &["needs Windows", &closest]);
    }
}

#[test]
fn an_engine_of_fio_is_refused_with_the_one_that_does_the_same() {
    for name in ["psync", "pvsync", "vsync"] {
        refused(&format!("run . --ioengine {name}"), &[name, "--ioengine sync"]);
    }
    refused("run . --ioengine posixaio", &["posixaio", "--ioengine threads"]);
}

#[test]
fn a_size_of_zero_is_refused_by_its_flag() {
    for target in [".", "sim:mm1"] {
        refused(&format!("check {target} --size 0"), &["--size", "above 0"]);
        refused(&format!("run {target} --size 0"), &["--size", "above 0"]);
    }
}

#[test]
fn buffers_beyond_the_memory_of_a_job_are_refused_with_the_limit() {
    let words = ["--bs 4 MiB", "256 KiB with --iodepth 4096", "limited to 1 GiB"];
    refused("run . --iodepth 4096 --bs 4m", &words);
}

#[test]
fn an_empty_variable_for_the_database_counts_as_not_set() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.env("HALFPOWER_DB", "").env("XDG_DATA_HOME", folder.path());
    run(command, "run sim:mm1").expect(0);
    assert!(folder.path().join("halfpower/halfpower.db").is_file());
}

#[test]
fn values_that_cannot_be_read_are_refused_with_what_is_accepted() {
    refused("run . --bs 4k/60:64k/30", &["--bs", "add up to 90"]);
    refused("run . --bs 4k/60:64k", &["--bs", "no percentage", "4k/60:64k/40"]);
    refused("run . --rate-iops many", &["--rate-iops", "1000", "700,300"]);
    refused("run . --pattern zipf --zipf-theta x", &["--zipf-theta", "for example 1.2"]);
    refused("run . --pattern hot --hot-share 101", &["--hot-share", "0 to 100"]);
    refused("run . --until-precision little", &["--until-precision", "for example 2%"]);
    refused("run . --pattern often", &["--pattern", "often"]);
}

#[test]
fn flags_that_contradict_each_other_are_refused_by_name() {
    refused("run . --rw read --pattern zipf", &["--pattern zipf", "--rw read", "--rw randread"]);
    refused("run . --rw randwrite --pattern strided", &["--pattern strided", "--rw write"]);
    refused("run . --rate-iops 100 --think-time 1ms", &["--think-time", "--rate-iops"]);
    refused("run . --rate-iops 100 --completion callback", &["--completion", "--rate-iops"]);
    refused("run . --rate-iops 70,30", &["--rate-iops", "--rw randrw"]);
    let both = "run . --rw randrw --rwmixread 70 --rate-iops 70,30";
    refused(both, &["--rwmixread", "--rate-iops"]);
    refused("run . --hipri --cache all", &["--hipri", "--cache device"]);
    refused("run . --sqthread-poll --ioengine sync", &["--sqthread-poll", "io_uring"]);
    refused("run . --ioengine mmap --cache device", &["--ioengine mmap", "--cache all"]);
    refused("run . --zeros --verify --rw write", &["--zeros", "--verify"]);
    refused("run . --io-size 1m --passes 1", &["--io-size", "--passes"]);
}

#[test]
fn a_flag_that_would_do_nothing_is_refused_with_the_one_that_it_belongs_to() {
    refused("run . --hit-size 1m", &["--hit-size", "--pattern hit"]);
    refused("run . --zipf-theta 1", &["--zipf-theta", "--pattern zipf"]);
    refused("run . --hot-share 90%", &["--hot-share", "--pattern hot"]);
    refused("run . --stride 64k", &["--stride", "--pattern strided"]);
    refused("run . --pattern strided", &["--pattern", "--stride"]);
    refused("run . --regions shared", &["--regions", "sequential"]);
    refused("run . --arrival poisson", &["--arrival", "--rate-iops"]);
    refused("run . --zeros", &["--zeros", "--rw write"]);
    refused("run . --compressible 50", &["--compressible", "--rw write"]);
    let words = ["--destroy-data-on", "writes nothing; omit it, or write with --rw write"];
    refused("run . --destroy-data-on sdb", &words);
    refused("run . --csv intervals.csv", &["--csv", "--interval"]);
    refused("run . --comment text", &["--comment", "--sqlio-csv"]);
    refused("run . --chunk 64k", &["--chunk", "more than one"]);
}

#[test]
fn a_cost_fit_refuses_what_it_would_not_use() {
    for words in [
        "--bs 8k",
        "--cache all",
        "--direct",
        "--drop-cache dontneed",
        "--ioengine mmap",
        "--ramp-time 1s",
        "--io-size 1m",
        "--passes 1",
        "--until-precision 2%",
        "--keep-warm-up",
        "--interval 1s",
        "--cpu-upper",
    ] {
        let flag = words.split(' ').next().unwrap();
        refused(&format!("run . --cost-fit {words}"), &["--cost-fit", &format!("omit {flag}")]);
    }
    refused("run . --cost-fit --pattern zipf", &["--cost-fit", "--pattern zipf"]);
    refused("run . --cost-fit --iodepth 300", &["--cost-fit", "--iodepth 256"]);
}

#[test]
fn a_simulated_target_refuses_each_flag_of_a_real_machine_by_name() {
    let flags = [
        "--destroy-data-on sdb",
        "--ioengine sync",
        "--hipri",
        "--sqthread-poll",
        "--chunk 64k",
        "--drop-cache dontneed",
        "--compressible 50",
        "--zeros",
        "--verify",
        "--cpu-upper",
        "--cost-fit",
        "--io-timeout 1s",
    ];
    for words in flags {
        let flag = words.split(' ').next().unwrap();
        refused(&format!("run sim:mm1 --rw randwrite {words}"), &[flag, "simulated"]);
    }
    refused("run sim:mm1 .", &["cannot be combined with others"]);
}

#[test]
fn fios_spelling_of_a_flag_is_taken() {
    let words = "sim:mm1,service=1ms --readwrite randrw --bssplit 4k/50:8k/50 --rate_iops 200 \
                 --ramp_time 1s --io_size 1m --randseed 7 --runtime 20s";
    let workload = trial(0, words).workload;
    assert_eq!(workload.bs.len(), 2);
    assert_eq!((workload.read_percent, workload.rate_iops), (50, Some(200)));
    assert_eq!(workload.stop.max_bytes, Some(record::Bytes(1 << 20)));
    assert_eq!(workload.ramp_ns, record::Nanos(1_000_000_000));
}

#[test]
fn the_help_of_run_fits_80_columns_under_its_headings() {
    let mut command = program();
    command.env("COLUMNS", "80");
    let help = run(command, "run --help").expect(0).stdout;
    let wide: Vec<&str> = help.lines().filter(|line| line.chars().count() > 80).collect();
    assert_eq!(wide, [""; 0]);
    let headings = [
        "Load:",
        "Arrivals:",
        "Target and caches:",
        "Stop rules:",
        "Data:",
        "Processor cost:",
        "Results:",
        "Safety:",
        "Examples:",
    ];
    let found: Vec<&str> = help.lines().filter(|line| headings.contains(line)).collect();
    assert_eq!(found, headings, "in this order");
    // Examples are whole lines, not wrapped by the parser.
    let examples = help.lines().filter(|line| line.starts_with("  halfpower run "));
    assert!(examples.count() >= 8, "{help}");
    assert!(!help.contains("\n  10 s"), "{help}");
}

#[test]
fn the_help_lists_every_simulated_device_within_80_columns() {
    for verb in ["run", "check"] {
        let help = halfpower(&format!("{verb} --help")).expect(0).stdout;
        let table = &help[help.find("Simulated devices").unwrap()..];
        let starts =
            |words: String| table.lines().any(|line| line.trim_start().starts_with(&words));
        // No word of the tables is lost where lines are wrapped.
        let flat = table.split_whitespace().collect::<Vec<_>>().join(" ");
        for kind in simdisk::FAMILIES.iter().flat_map(|family| family.kinds) {
            assert!(starts(format!("{} ", kind.name)), "{verb}: {}", kind.name);
            assert!(flat.contains(kind.help), "{verb}: {:?}", kind.help);
        }
        assert!(flat.contains("halfpower run --list-sim"), "{flat}");
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
    }
}

#[test]
fn the_list_of_simulated_devices_has_every_name_and_key_with_its_default() {
    let list = halfpower("run --list-sim").expect(0).stdout;
    assert!(list.lines().all(|line| line.chars().count() <= 80), "{list}");
    for family in simdisk::FAMILIES {
        let section = &list[list.find(&format!("\n{}\n", family.title)).unwrap() + 1..];
        let section = &section[..section.find("\n\n").unwrap()];
        let flat = section.split_whitespace().collect::<Vec<_>>().join(" ");
        for kind in family.kinds {
            assert!(flat.contains(&format!("{} {}", kind.name, kind.help)), "{}", kind.name);
        }
        for key in family.keys() {
            let words = format!("{} {} {}", key.name, key.default, key.help);
            assert!(flat.contains(&words), "{words}");
        }
    }
    let refused = halfpower("run --list-sim=x").expect(2);
    assert!(refused.stdout.is_empty());
}

#[test]
fn the_help_of_the_budget_names_the_least() {
    assert!(halfpower("check --help").expect(0).stdout.contains("at least 5s"));
}
