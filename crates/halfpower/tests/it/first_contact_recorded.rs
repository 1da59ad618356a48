//! `diagnose` without a profile, on recordings of staged problems: a loop device in memory on a busy machine
//! with two CPUs, and fio as the load. The name of each file says what it contains.

use crate::program::halfpower;

/// The page of a recording, with an empty database.
fn page(name: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let file = format!("{}/tests/recordings/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let words = format!("diagnose {file} --no-save --db {}", folder.path().join("db").display());
    // Join the lines, because a line break may separate words.
    let page = halfpower(&words).expect(0).stdout;
    page.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[track_caller]
fn says(name: &str, words: &[&str], never: &[&str]) {
    let page = page(name);
    for word in words {
        assert!(page.contains(word), "{word:?} of {name}: {page}");
    }
    for word in never {
        assert!(!page.contains(word), "{word:?} of {name}: {page}");
    }
}

const NO_ANSWER: &[&str] =
    &["NOT ENOUGH EVIDENCE (", "NOT ENOUGH EVIDENCE OR", "eave the disk alone"];

#[test]
fn few_tags_below_a_program_of_libaio_are_the_answer() {
    says(
        "few-tags",
        &["CAPPED", "nr_requests=4", "do first Give the device more requests"],
        NO_ANSWER,
    );
}

#[test]
fn a_low_limit_of_dirty_memory_is_the_answer() {
    says(
        "low-dirty-bytes",
        &["CAPPED", "vm.dirty_bytes", "do first Allow more dirty data"],
        NO_ANSWER,
    );
}

#[test]
fn missing_read_ahead_is_the_answer() {
    says(
        "no-read-ahead",
        &["NOT THE DISK", "read_ahead_kb=0", "do first Enable read-ahead: echo 128"],
        NO_ANSWER,
    );
}

#[test]
fn a_control_group_with_too_little_memory_is_the_answer() {
    let words = [
        "NOT THE DISK",
        "\"/db\" has reached its memory limit (120 MiB)",
        "do first Raise the memory",
    ];
    says("little-memory", &words, NO_ANSWER);
}

#[test]
fn a_flood_of_writes_is_named_and_not_the_reader_that_waits_for_it() {
    let words = ["OVERLOADED", "Reads take", "during heavy writes", "do first Move dd"];
    let never = ["Move fio", "trim", "write cache off", "writes  healthy", "writes healthy"];
    says("flood-of-writes", &words, &never);
}

#[test]
fn a_stop_of_two_seconds_is_told() {
    says("one-stop", &["CAPPED", "stopped in 2 of 14 intervals"], NO_ANSWER);
}

#[test]
fn the_fsyncs_of_a_program_that_opens_with_o_sync_are_told() {
    says("o-sync", &["fsyncs/s"], &["SLOW", "OVERLOADED"]);
}

#[test]
fn a_deep_queue_is_the_answer_with_the_program_that_keeps_it() {
    says(
        "deep-queue",
        &["OVERLOADED (likely", "fio", "Halve the program's queue depth"],
        NO_ANSWER,
    );
}

#[test]
fn a_limit_that_holds_a_program_of_libaio_is_proven_by_who_starts_its_reads() {
    says(
        "group-limit",
        &["CAPPED (certain)", "\"/db\" is limited to 1.50k IOPS", "do first Raise riops=1500"],
        NO_ANSWER,
    );
}

#[test]
fn a_paced_program_and_a_log_raise_no_alarm() {
    for name in ["paced-300", "log-with-fsync"] {
        let alarms = ["SLOW", "OVERLOADED", "CAPPED", "saves", "Find the cap"];
        says(name, &["NOT THE DISK", "no evidence against this disk"], &alarms);
    }
}

#[test]
fn a_loop_device_on_a_disk_whose_limit_is_reached_is_capped_by_that_limit() {
    says(
        "cap-below-loop",
        &[
            "loop0: CAPPED (likely)",
            "This device's file is on vda, which is capped",
            "do first Raise riops=200",
        ],
        &["OVERLOADED", "SLOW (", "SMART"],
    );
}

#[test]
fn requests_that_the_kernel_cuts_are_not_the_queue_of_the_program() {
    says(
        "cut-requests",
        &[
            "OVERLOADED (likely)",
            "do first Let the kernel pass on larger requests",
            "max_sectors_kb",
        ],
        &["Halve the program's queue depth"],
    );
}

#[test]
fn a_limit_of_dirty_memory_that_no_look_finds_reached_is_found() {
    let words = ["CAPPED", "the device writes that much in", "do first Allow more dirty data"];
    says("soon-written-out", &words, NO_ANSWER);
}

/// A night of eight disks in iostat's format. The third always has 256 requests in its queue.
fn eight_disks() -> String {
    let disk = |name: char, at: u32| {
        // A constant rate would look like a limit.
        let (reads, present) = match name {
            'c' => (86_000 + at * 7_919 % 8_000, 256.0),
            _ => (40 + u32::from(name as u8) % 20 + at % 9, 0.02),
        };
        let latency = if name == 'c' { 1e3 * present / f64::from(reads) } else { 0.31 };
        format!(
            "{{\"disk_device\": \"sd{name}\", \"r/s\": {reads}.00, \"w/s\": 0.00, \"rkB/s\": {}.00, \"wkB/s\": 0.00, \
             \"r_await\": {latency:.2}, \"w_await\": 0.00, \"aqu-sz\": {present:.2}, \"util\": {:.2}}}",
            4 * reads,
            if name == 'c' { 100.0 } else { 1.5 }
        )
    };
    let report = |at: u32| {
        let disks: Vec<String> = ('a'..='h').map(|name| disk(name, at)).collect();
        format!(
            "{{\"timestamp\": \"11/27/26 02:{:02}:{:02}\", \"disk\": [{}]}}",
            at / 60,
            at % 60,
            disks.join(", ")
        )
    };
    let reports: Vec<String> = (1..90).map(report).collect();
    format!(
        "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"db\", \"date\": \"11/27/26\", \"statistics\": [{}]}}]}}}}",
        reports.join(",\n")
    )
}

#[test]
fn a_night_of_eight_disks_of_iostat_is_an_answer_and_leads_with_the_disk_that_has_a_queue() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("night.json");
    std::fs::write(&file, eight_disks()).unwrap();
    let db = folder.path().join("db");
    let words = format!("diagnose {} --no-save --db {}", file.display(), db.display());
    let page = halfpower(&words).expect(0).stdout;
    assert!(page.contains("sdc: OVERLOADED (likely"), "{page}");
    let devices = page.lines().skip_while(|line| !line.contains("verdict")).nth(1);
    assert!(devices.is_some_and(|line| line.contains("sdc")), "{page}");
    assert!(!page.contains("NOT ENOUGH EVIDENCE ("), "{page}");
}

/// Dumps of /proc/diskstats: a minute of few reads, half a minute of a backup with a short queue, and another minute
/// of few reads.
fn night_with_backup() -> String {
    let (mut reads, mut sectors, mut milliseconds) = (0, 0, 0);
    let dump = |second: u32| {
        let line = format!(
            "TS {}\n   8 0 sda {reads} 0 {sectors} {milliseconds} 0 0 0 0 0 {milliseconds} {milliseconds} 0 0 0 0 0 0\n",
            1_790_000_000 + second
        );
        let (count, kib, micros) = if (60..90).contains(&second) {
            (400, 256, 1_900)
        } else {
            (90 + second % 17, 4, 1_100)
        };
        reads += count;
        sectors += 2 * kib * count;
        milliseconds += count * micros / 1_000;
        line
    };
    (0..150).map(dump).collect()
}

#[test]
fn a_backup_that_harms_nothing_is_named_on_the_page_with_its_time() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("night.txt");
    std::fs::write(&file, night_with_backup()).unwrap();
    let db = folder.path().join("db");
    let words = format!("diagnose {} --no-save --db {}", file.display(), db.display());
    let page = halfpower(&words).expect(0).stdout;
    let line = page.lines().find(|line| line.contains("other load")).unwrap_or_default();
    assert!(line.contains("14:14:20"), "{page}");
    assert!(page.contains("105 MB/s"), "{page}");
}
