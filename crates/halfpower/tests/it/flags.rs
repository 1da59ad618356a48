//! Flags of `run` that change the load: each must change what the run does, not only what its document
//! repeats.

use crate::program::{halfpower, names, program, run, trial};
use record::{Arrival, Bytes, EndedBy, Nanos, Trial};
use std::path::{Path, PathBuf};
use testkit::{disk_folder, requires};

const BLOCK: u64 = 4096;

fn reads(trial: &Trial) -> &record::DirectionResult {
    trial.result.read.as_ref().unwrap()
}

/// A file of zeros.
fn zeros(folder: &Path, name: &str, bytes: u64) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, vec![0; bytes as usize]).unwrap();
    path
}

/// Indices of the pieces that were written in a file that was all zeros.
fn written(path: &Path, piece: u64) -> Vec<u64> {
    let bytes = std::fs::read(path).unwrap();
    let pieces = bytes.chunks(piece as usize).zip(0..);
    pieces.filter(|(piece, _)| piece.iter().any(|&byte| byte != 0)).map(|(_, i)| i).collect()
}

#[test]
fn a_mix_of_sizes_transfers_its_mean_size() {
    let trial = trial(0, "sim:mdc,service=1ms --bs 4k/60:64k/40 --runtime 30s");
    let reads = reads(&trial);
    let mean = reads.bytes as f64 / reads.ios as f64;
    // 0.6 of 4,096 and 0.4 of 65,536; 30,000 draws: the deviation of the mean is 174.
    assert!((mean - 28_672.0).abs() < 700.0, "{mean}");
}

#[test]
fn the_hot_part_is_served_by_a_cache_of_its_size_with_its_share() {
    // 0.9 x 100 us + 0.1 x 5 ms are 590 us; cold requests evict a little of the hot part.
    let device = "sim:md1,service=5ms,hit=100us,cache=16m";
    let flags = "--pattern hot --hot-size 1m --hot-share 90% --runtime 300s --ramp-time 60s";
    let mean = |words: String| reads(&trial(0, &words)).latency_ns.as_ref().unwrap().mean;
    let hot = mean(format!("{device} {flags}"));
    assert!((580_000.0..650_000.0).contains(&hot), "{hot}");
    let zipf = |theta| mean(format!("{device} --pattern zipf --zipf-theta {theta} --runtime 60s"));
    assert!(zipf("1.2") < 0.5 * zipf("0.5"), "popular blocks stay in the cache");
}

#[test]
fn an_open_loop_has_the_rate_asked_for_and_the_response_time_of_the_queue() {
    let words = "sim:mm1,service=1ms --rate-iops 500 --arrival poisson --runtime 600s";
    let trial = trial(0, words);
    assert_eq!(trial.workload.arrival, Arrival::Poisson);
    let reads = reads(&trial);
    // 300,000 arrivals: the deviation of their number is 0.2 %.
    assert!((reads.iops / 500.0 - 1.0).abs() < 0.01, "{}", reads.iops);
    // M/M/1: R = S / (1 - rate S), e.g. Kleinrock 1975.
    let latency = reads.latency_ns.as_ref().unwrap();
    assert!((latency.mean / 2e6 - 1.0).abs() < 0.05, "{}", latency.mean);
}

#[test]
fn reads_and_writes_have_the_rates_that_they_were_given() {
    let words = "sim:mmc,service=1ms --rw randrw --rate-iops 300,100 --runtime 20s";
    let trial = trial(0, words);
    let writes = trial.result.write.as_ref().unwrap();
    assert!((reads(&trial).iops / 300.0 - 1.0).abs() < 0.01, "{}", reads(&trial).iops);
    assert!((writes.iops / 100.0 - 1.0).abs() < 0.01, "{}", writes.iops);
    assert_eq!(trial.workload.read_percent, 75);
}

#[test]
fn think_time_comes_between_a_completion_and_the_next_request() {
    let trial = trial(0, "sim:md1,service=1ms --think-time 3ms --runtime 20s");
    assert!((reads(&trial).iops / 250.0 - 1.0).abs() < 0.01, "{}", reads(&trial).iops);
    let latency = reads(&trial).latency_ns.as_ref().unwrap();
    assert!((latency.mean / 1e6 - 1.0).abs() < 0.01, "{}", latency.mean);
}

#[test]
fn stop_rules_end_a_run_before_its_time() {
    let ended = |words: &str| {
        let trial = trial(0, &format!("sim:mm1,service=1ms --runtime 100s {words}"));
        (trial.result.ended_by, trial.result.duration_ns, reads(&trial).bytes)
    };
    let (by, _, bytes) = ended("--io-size 4m");
    assert_eq!((by, bytes), (Some(EndedBy::Bytes), 4 << 20));
    let (by, _, bytes) = ended("--passes 3 --size 1m");
    assert_eq!((by, bytes), (Some(EndedBy::Passes), 3 << 20));
    let (by, lasted, _) = ended("--until-precision 5%");
    assert_eq!(by, Some(EndedBy::Precision));
    let (narrower, lasted_longer, _) = ended("--until-precision 1.5%");
    assert_eq!(narrower, Some(EndedBy::Precision));
    assert!(lasted < lasted_longer && lasted_longer < Nanos(100_000_000_000));
    let (by, lasted, _) = ended("");
    assert_eq!((by, lasted), (None, Nanos(100_000_000_000)));
}

#[test]
fn intervals_are_reported_one_by_one_and_written_to_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("intervals.csv");
    let words = format!("sim:mm1,service=1ms --interval 1s --csv {}", csv.display());
    let trial = trial(0, &words);
    let intervals = trial.result.intervals.as_ref().unwrap();
    assert_eq!(intervals.len(), 10);
    // A header, and a line per interval.
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), 11);
    assert_eq!(names(folder.path()), ["intervals.csv"]);
}

#[test]
fn strided_and_shifted_requests_write_where_they_should() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let file = zeros(folder.path(), "strided", 64 * BLOCK);
    let words = format!(
        "{} --rw write --pattern strided --stride 32k --io-size 32k --overwrite",
        file.display()
    );
    trial(0, &words);
    // Eight requests at a distance of eight blocks: one in each row of eight.
    let blocks = written(&file, BLOCK);
    assert_eq!(blocks.len(), 8, "{blocks:?}");
    assert!(blocks.windows(2).all(|pair| pair[1] - pair[0] >= 7), "{blocks:?}");
    let file = zeros(folder.path(), "shifted", 8 * BLOCK);
    let words = format!("{} --rw write --misalign 512 --passes 2 --overwrite", file.display());
    trial(0, &words);
    // Seven requests fit if each begins 512 bytes into a block.
    assert_eq!(written(&file, 512), (1..=56).collect::<Vec<u64>>());
}

#[test]
fn a_stripe_puts_chunks_on_the_targets_in_turn() {
    requires!(Disk);
    const CHUNK: u64 = 65_536;
    for (offset, target, chunk) in [("0", 0, 0), ("64k", 1, 0), ("128k", 0, 1), ("192k", 1, 1)] {
        let folder = disk_folder().unwrap();
        let files = ["a", "b"].map(|name| zeros(folder.path(), name, 4 * CHUNK));
        let words = format!(
            "{} {} --chunk 64k --rw randwrite --pattern hit --hit-size 64k --offset {offset} \
             --passes 1 --overwrite",
            files[0].display(),
            files[1].display()
        );
        let trial = trial(0, &words);
        assert_eq!(trial.targets.len(), 2);
        assert_eq!(written(&files[target], CHUNK), [chunk], "{offset}");
        assert_eq!(written(&files[1 - target], CHUNK), [0; 0], "{offset}");
    }
}

#[test]
fn without_a_stripe_each_target_has_streams_of_its_own() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let files = ["a", "b", "c"].map(|name| zeros(folder.path(), name, 64 * BLOCK));
    let paths = files.each_ref().map(|file| file.display().to_string()).join(" ");
    let trial = trial(0, &format!("{paths} --rw write --passes 4 --overwrite"));
    assert_eq!((trial.workload.numjobs, trial.workload.targets), (3, 3));
    assert_eq!(trial.targets.len(), 3);
    for file in &files {
        assert_eq!(written(file, BLOCK), (0..64).collect::<Vec<u64>>(), "{file:?}");
    }
}

#[test]
fn directories_get_a_test_file_each_and_leave_none() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    for name in ["a", "b"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let [a, b] = ["a", "b"].map(|name| folder.path().join(name).display().to_string());
    let trial = trial(0, &format!("{a} {b} --size 16m --io-size 1m --runtime 30s"));
    assert!(trial.targets.iter().all(|target| target.size_bytes == Bytes(16 << 20)));
    assert_eq!(names(&folder.path().join("a")), [""; 0]);
}

#[test]
fn more_targets_than_the_usual_limit_of_open_files_are_opened() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let paths: Vec<String> = (0..300)
        .map(|index| zeros(folder.path(), &index.to_string(), 65_536).display().to_string())
        .collect();
    let words =
        format!("{} --chunk 64k --io-size 1m --runtime 30s --no-save --json", paths.join(" "));
    let limited = |limit: &str, words: &str| {
        let mut command = std::process::Command::new("sh");
        let program = program().get_program().to_owned();
        let line = format!("ulimit {limit}; exec {} \"$@\"", program.to_string_lossy());
        command.args(["-c", &line, "sh", "run"]);
        run(command, words)
    };
    // The program raises the soft limit to the hard limit, but not the hard limit.
    let ran = limited("-Sn 256", &words).expect(0).trial();
    assert_eq!(ran.targets.len(), 300);
    limited("-n 256", &words).refuses(4, &["open files", "limit is 256", "ulimit -n"]);
}

#[test]
fn targets_that_cannot_be_taken_together_are_refused() {
    requires!(Disk);
    let folder = disk_folder().unwrap();
    let small = zeros(folder.path(), "small", 1 << 20).display().to_string();
    let large = zeros(folder.path(), "large", 2 << 20).display().to_string();
    let other = folder.path().join("link");
    std::os::unix::fs::symlink(&small, &other).unwrap();
    let refused = |words: String, message: &[&str]| {
        halfpower(&format!("run {words} --no-save")).refuses(2, message);
    };
    refused(format!("{small} {large}"), &["different sizes", "--size"]);
    refused(format!("{small} {}", other.display()), &["the same"]);
    refused(format!("{small} sim:mm1"), &["cannot be combined with others"]);
    refused(format!("{small} --chunk 64k"), &["--chunk", "more than one"]);
    refused(format!("{small} {large} --numjobs 3"), &["--numjobs 3", "2 targets"]);
    refused(format!("{small} {large} --chunk 2m"), &["--chunk 2 MiB", "1 MiB"]);
    trial(0, &format!("{small} {large} --size 1m --io-size 1m --runtime 30s"));
}

#[test]
fn the_flag_of_forms_names_every_form_and_refuses_what_is_no_offset() {
    let help = halfpower("record --help").expect(0).stdout;
    for form in import::Format::ALL {
        assert!(help.contains(form.name()), "{} is not in {help}", form.name());
    }
    for bad in ["2", "CEST", "+99:00", "+"] {
        halfpower(&format!("record - --utc-offset={bad}")).refuses(2, &["+HH:MM"]);
    }
}

#[test]
fn the_answer_is_a_line_a_screen_or_all_of_it_and_its_json_is_the_same() {
    let words = "run sim:mm1,service=5ms --iodepth 4 --no-save";
    let line = halfpower(&format!("{words} --quiet")).expect(0);
    assert_eq!(line.stderr, "");
    assert_eq!(line.stdout, "simulated: reads 202 IOPS ±4 % at 19.8 ms, valid\n");
    assert_eq!(halfpower(&format!("-q {words}")).expect(0).stdout, line.stdout);
    let (short, whole) = (halfpower(words).expect(0), halfpower(&format!("{words} -v")).expect(0));
    assert!(short.stdout.contains("827 kB/s (807 KiB/s)"), "{short:?}");
    assert!(short.stdout.contains("--verbose shows 3 more parts: "), "{short:?}");
    for part in ["CPUs and device", "Conditions", "To repeat it"] {
        assert!(!short.stdout.contains(&format!("\n{part}\n")), "{part}: {short:?}");
        assert!(whole.stdout.contains(&format!("\n{part}\n")), "{part}: {whole:?}");
    }
    let json = |more: &str| halfpower(&format!("{words} --json {more}")).expect(0);
    assert_eq!(json("--quiet").stdout, json("").stdout);
    assert_eq!(json("--quiet").stderr, "");
}

#[test]
fn a_flag_that_would_be_ignored_is_refused() {
    let refused = |words: &str, message: &[&str]| halfpower(words).refuses(2, message);
    refused("run sim:mm1 --no-save --json --verbose", &["--verbose", "--json"]);
    refused("run sim:mm1 --no-save --quiet --verbose", &["--quiet", "--verbose"]);
    refused("run --list-sim --quiet", &["--list-sim"]);
    for command in ["doctor", "show list", "export last --csv x"] {
        refused(&format!("{command} --verbose"), &["--verbose", "omit this flag"]);
        let help = halfpower(&format!("{command} --help")).expect(0).stdout;
        assert!(!help.contains("--verbose") && !help.contains("--quiet"), "{command}: {help}");
    }
    refused("watch --once --quiet", &["--quiet", "omit this flag"]);
    refused("watch --listen 127.0.0.1:0 --verbose", &["--verbose", "--listen"]);
    let help = halfpower("watch --help").expect(0).stdout;
    assert!(help.contains("--verbose") && !help.contains("--quiet"), "{help}");
    refused("diagnose sim:mm1 --load iodepth=1 --for-ticket -q", &["--quiet", "--for-ticket"]);
    refused("run --name=a --rw=read --filename=x --quiet --verbose", &["contradict"]);
}
