//! Command lines of fio, alone and with a job file.

use super::{kind, lines};
use workload::fio::{Run, Wait, read_file, read_words, run_of};

#[test]
fn a_command_line_is_the_same_jobs_with_one_dash_or_two() {
    let line = "--direct=1 --name=one --filename old --rw=randread --time_based --runtime=1 -name two \
                -filename=old -stonewall -bs 16k -thread";
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let (global, sections) = read_words(&words).unwrap();
    assert_eq!(global.len(), 1);
    let found: Vec<Run> = sections.iter().map(|section| run_of(section, &kind).unwrap()).collect();
    let [one, two] = &found[..] else { panic!("{found:?}") };
    assert_eq!(one.targets, ["old"]);
    let (first, second) = (one.words.join(" "), two.words.join(" "));
    assert!(first.contains("--rw randread --bs 4k") && first.contains("--cache device"), "{first}");
    assert!(second.contains("--bs 16k") && second.contains("--cache device"), "{second}");
    assert_eq!((&one.waits, &two.waits), (&Wait::No, &Wait::All));
    let wrong: Vec<String> = vec!["old".to_owned()];
    assert!(lines(&read_words(&wrong).unwrap_err()).starts_with("old: not a fio option"));
}

#[test]
fn options_on_the_line_fill_in_what_a_file_leaves_out() {
    let words = ["--filename=old", "--size=16m", "--rw=write"].map(str::to_owned);
    let (defaults, _) = read_words(&words).unwrap();
    let none = |_: &str| Err("none".to_owned());
    let jobs = read_file("jobs.fio", "[a]\nrw=randread\n", &defaults, &none, &|_| None).unwrap();
    let run = run_of(&jobs[0], &kind).unwrap();
    assert_eq!(run.targets, ["old"]);
    let words = run.words.join(" ");
    assert!(words.contains("--rw randread") && words.contains("--size 16m"), "{words}");
    let of_line: Vec<&String> = run.notes.iter().filter(|note| note.starts_with("--")).collect();
    let expected = "--rw=write: no effect, because the job file sets rw=randread, as in fio";
    assert_eq!(of_line, [expected]);
}
