//! `--sqlio-csv` and `--csv`: files that are appended to or replaced, but never damaged.

use crate::program::{halfpower, halfpower_in, names};
use std::path::Path;
use testkit::{disk_folder, requires};

fn read(path: &Path) -> Vec<String> {
    std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

/// A short buffered read of a file of 1 MiB in this folder.
fn words(more: &str) -> String {
    format!("run file --cache all --rw read --bs 64k --runtime 100ms --no-save {more}")
}

fn folder_with_file() -> tempfile::TempDir {
    let folder = disk_folder().unwrap();
    std::fs::write(folder.path().join("file"), vec![3; 1 << 20]).unwrap();
    folder
}

#[test]
fn each_run_adds_its_line_to_the_trace_below_one_head_line() {
    requires!(Disk);
    let folder = folder_with_file();
    let traced = words("--sqlio-csv trace.csv --comment first");
    halfpower_in(folder.path(), &traced);
    let path = folder.path().join("trace.csv");
    let one = read(&path);
    assert_eq!(one.len(), 2);
    assert!(one[0].starts_with("MB/s,IO/s,Operation,BlockSize"), "{}", one[0]);
    assert!(one[1].contains(",read,64,1,Y,1,0.1,1024,"), "{}", one[1]);
    assert!(one[1].ends_with(",first"), "{}", one[1]);
    // The final line end is missing, as some editors leave it.
    std::fs::write(&path, one.join("\n")).unwrap();
    halfpower_in(folder.path(), &traced.replace("first", "second"));
    let two = read(&path);
    assert_eq!(two[..2], one[..]);
    assert_eq!(two.len(), 3);
    assert!(two[2].ends_with(",second"), "{}", two[2]);
    assert_eq!(two[2].split(',').count(), 14);
}

#[test]
fn what_is_no_trace_is_refused_before_anything_is_measured_and_stays_as_it_is() {
    requires!(Disk);
    let folder = folder_with_file();
    let other = folder.path().join("notes.csv");
    std::fs::write(&other, "name,size\nx,1\n").unwrap();
    halfpower_in(folder.path(), &words("--sqlio-csv notes.csv"))
        .refuses(3, &["--sqlio-csv", "notes.csv", "not a SQLIO trace"]);
    assert_eq!(read(&other), ["name,size", "x,1"]);
    halfpower_in(folder.path(), &words("--sqlio-csv file"))
        .refuses(3, &["--sqlio-csv", "the target"]);
    halfpower_in(folder.path(), &words("--sqlio-csv none/t.csv"))
        .refuses(4, &["--sqlio-csv", "none"]);
    assert_eq!(names(folder.path()), ["file", "notes.csv"]);
}

#[test]
fn a_comma_in_the_comment_and_a_mix_are_refused() {
    requires!(Disk);
    let folder = folder_with_file();
    let with_comma = words("--sqlio-csv t.csv --comment a,b");
    halfpower_in(folder.path(), &with_comma).refuses(2, &["--comment", "comma"]);
    let mixed =
        "run . --size 16m --rw randrw --io-size 4m --runtime 60s --no-save --sqlio-csv t.csv";
    halfpower_in(folder.path(), mixed).refuses(2, &["--sqlio-csv", "operation"]);
    let sizes = words("--sqlio-csv t.csv").replace("--bs 64k", "--bs 4k/50:64k/50");
    halfpower_in(folder.path(), &sizes).refuses(2, &["--sqlio-csv", "block size"]);
    assert_eq!(names(folder.path()), ["file"]);
}

#[test]
fn intervals_go_to_a_csv_that_a_repeated_run_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let run = "run sim:mm1 --runtime 1s --interval 250ms --no-save --csv times.csv";
    halfpower_in(folder.path(), run).expect(0);
    let path = folder.path().join("times.csv");
    let lines = read(&path);
    assert_eq!(lines.len(), 5);
    let head: Vec<&str> = lines[0].split(',').collect();
    let column = |name: &str| head.iter().position(|other| *other == name).unwrap();
    let begin = |line: &String| line.split(',').nth(column("begin_ns")).unwrap().to_owned();
    let begins: Vec<String> = lines[1..].iter().map(begin).collect();
    assert_eq!(begins, ["0", "250000000", "500000000", "750000000"]);
    halfpower_in(folder.path(), run).expect(0);
    assert_eq!(read(&path), lines, "the same run gives the same file");
    std::fs::write(&path, "something else\n").unwrap();
    halfpower_in(folder.path(), run)
        .refuses(3, &["--csv", "times.csv", "is not a halfpower CSV file of intervals"]);
    assert_eq!(read(&path), ["something else"]);
}

#[test]
fn a_csv_without_intervals_says_what_it_needs() {
    halfpower("run sim:mm1 --no-save --csv times.csv").refuses(2, &["--csv", "--interval"]);
}
