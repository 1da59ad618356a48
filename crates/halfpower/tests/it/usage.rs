//! Mistakes in the command line: exit code 2.

use crate::program::{halfpower, halfpower_in, names};
use testkit::{disk_folder, requires};

/// Runs in an empty folder, and checks that the mistake is named and nothing was left there.
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
    refused("run . --rw randrw --rwmixread 101", &["--rwmixread 101", "0 to 100"]);
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
    refused("run sim:mm1,size=1m --size 2m", &["beyond the target", "2 MiB", "1 MiB"]);
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
    // The other way round: the page cache takes any size.
    let words = "run . --size 64m --no-save --runtime 200ms --cache all --bs 1000";
    halfpower_in(folder.path(), words).expect(0);
}
