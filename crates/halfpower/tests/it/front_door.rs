//! The first contact: the first page of help, `-h`, a path instead of a command, `explain`, completions and
//! manual pages. Every command that the program suggests must exist.

use crate::program::{halfpower, halfpower_in, names};
use clap::Command;
use record::CauseCode;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Lines of a terminal without the prompt, and its columns.
const LINES: usize = 24;
const COLUMNS: usize = 80;

/// All commands and subcommands, with their words and tables.
fn commands() -> Vec<(String, Command)> {
    fn add(words: &str, command: &Command, found: &mut Vec<(String, Command)>) {
        for own in command.get_subcommands() {
            let words = format!("{words} {}", own.get_name()).trim().to_owned();
            add(&words, own, found);
            found.push((words, own.clone()));
        }
    }
    let mut table = halfpower::command().disable_help_subcommand(true);
    table.build();
    let mut found = Vec::new();
    add("", &table, &mut found);
    assert!(found.len() > 20, "{found:?}");
    found
}

fn words_of(text: &str) -> BTreeSet<&str> {
    let is_word = |letter: char| letter.is_ascii_lowercase() || letter == '-';
    text.split(|letter: char| !is_word(letter)).collect()
}

#[test]
fn the_first_help_fits_a_terminal_and_every_command_is_there_or_in_the_list_for_laboratories() {
    let first = halfpower("--help").expect(0).stdout;
    assert_eq!(halfpower("-h").expect(0).stdout, first);
    assert!(first.lines().count() <= LINES, "{first}");
    assert!(first.lines().all(|line| line.chars().count() <= COLUMNS), "{first}");
    let lab = halfpower("lab").expect(0).stdout;
    let (in_first, in_lab) = (words_of(&first), words_of(&lab));
    for (words, _) in commands().iter().filter(|(words, _)| !words.contains(' ')) {
        let words = words.as_str();
        assert!(in_first.contains(words) || in_lab.contains(words), "{words}: {first}{lab}");
    }
    assert!(lab.contains("sweep ") && !first.contains("sweep"), "{lab}");
}

#[test]
fn short_help_shows_some_ten_flags_and_long_help_all_of_them() {
    for (words, command) in commands() {
        let [short, long] =
            ["-h", "--help"].map(|flag| halfpower(&format!("{words} {flag}")).expect(0).stdout);
        let flags = |text: &str| {
            let is_flag = |line: &&str| line.trim_start().starts_with('-');
            text.lines().filter(is_flag).count()
        };
        let of_it = command
            .get_arguments()
            .filter(|it| it.get_long().is_some() && !it.is_hide_set())
            .count();
        assert!(flags(&long) >= of_it, "{words}: {long}");
        let is_first = halfpower("--help").stdout.contains(&format!("\n  {words} "));
        assert!(!is_first || flags(&short) <= 15, "{words}: {short}");
        // Examples are whole lines, and installed programs have no docs.
        for text in [&short, &long] {
            let notes = text.split("Examples:").nth(1).unwrap_or_default();
            let wide = notes.lines().find(|line| line.chars().count() > COLUMNS);
            assert_eq!(wide, None, "{words}");
            assert!(!text.contains("docs/"), "{words}: {text}");
        }
        let of_it = |text: Option<&clap::builder::StyledStr>| {
            text.map(ToString::to_string).unwrap_or_default()
        };
        for notes in [of_it(command.get_after_help()), of_it(command.get_after_long_help())] {
            let wide = notes.lines().find(|line| line.chars().count() > COLUMNS);
            assert_eq!(wide, None, "{words}: it would be wrapped");
        }
    }
}

#[test]
fn a_path_in_place_of_a_command_says_which_command_is_meant() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("night"), "[a]\nrw=read\nsize=1m\n").unwrap();
    let offered = ["halfpower check", "halfpower diagnose", "not a command"];
    for word in [".", "/mnt/no-such-place", "sim:mm1"] {
        halfpower_in(folder.path(), word).refuses(2, &[&[word], &offered[..]].concat());
    }
    halfpower_in(folder.path(), "night").refuses(2, &["a fio job file", "halfpower run night"]);
    halfpower_in(folder.path(), "chekc").refuses(2, &["chekc"]);
}

#[test]
fn every_finding_and_every_cause_is_explained_in_whole_lines() {
    let page = std::fs::read_to_string(root().join("docs/findings.md")).unwrap();
    let findings = page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'));
    let findings: Vec<String> = findings.map(str::to_owned).collect();
    let causes: Vec<String> = CauseCode::meanings().into_iter().map(|(code, _)| code).collect();
    assert!(findings.len() > 40 && causes.len() > 25, "{findings:?} {causes:?}");
    let list = halfpower("explain").expect(0).stdout;
    for code in findings.iter().chain(&causes) {
        assert!(list.contains(code.as_str()), "{code}: {list}");
        let told = halfpower(&format!("explain {code}")).expect(0).stdout;
        assert!(told.starts_with(code.as_str()) && told.contains("Remedy: "), "{told}");
        assert!(told.lines().all(|line| line.chars().count() <= COLUMNS), "{told}");
        assert!(!told.contains("](") && !told.contains("##"), "{told}");
    }
    halfpower("explain no_such_code").refuses(2, &["no_such_code", "halfpower explain"]);
}

#[test]
fn every_verdict_and_note_of_a_diagnosis_is_explained_however_it_is_typed() {
    let list = halfpower("explain").expect(0).stdout;
    let schema: serde_json::Value =
        serde_json::from_str(include_str!("../../../../docs/schema/diagnosis-1.schema.json"))
            .unwrap();
    for kind in ["Verdict", "NoteCode"] {
        for one in schema["$defs"][kind]["oneOf"].as_array().unwrap() {
            let code = one["const"].as_str().unwrap();
            let told = halfpower(&format!("explain {code}")).expect(0).stdout;
            assert!(told.starts_with(code) && told.lines().count() >= 2, "{code}: {told}");
            assert!(list.contains(code), "{code}: {list}");
        }
    }
    for typed in ["NOT THE DISK", "not-the-disk", "[NOT_THE_DISK]"] {
        assert!(
            halfpower(&format!("explain {typed}")).expect(0).stdout.starts_with("not_the_disk")
        );
    }
    for (printed, first, second) in [
        ("SLOW OR OVERLOADED", "slow", "overloaded"),
        ("slow or overloaded", "slow", "overloaded"),
        ("SLOW (likely, or overloaded)", "slow", "overloaded"),
        ("capped or paced by the application", "capped", "not_the_disk"),
    ] {
        let told = halfpower(&format!("explain {printed}")).expect(0).stdout;
        assert!(told.starts_with(&format!("{first}\n")), "{printed}: {told}");
        assert!(told.contains(&format!("\n{second}\n")), "{printed}: {told}");
        assert_eq!(told.matches("Needs: ").count(), 2, "{printed}: {told}");
    }
    halfpower("explain slow or overlaoded").refuses(2, &["did you mean 'overloaded'"]);
    // A note can share its name with a finding or a cause; both are printed.
    let both = halfpower("explain busy_doubtful").expect(0).stdout;
    assert_eq!(both.matches("busy_doubtful\n").count(), 2, "{both}");
    halfpower("explain overlaoded").refuses(2, &["did you mean 'overloaded'"]);
    halfpower("explain area_differ").refuses(2, &["did you mean 'areas_differ'"]);
}

#[test]
fn completions_and_manual_pages_come_from_the_program() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = halfpower(&format!("completions {shell}")).expect(0).stdout;
        assert!(text.contains("diagnose") && text.contains("for-ticket"), "{shell}");
    }
    let first = halfpower("man").expect(0).stdout;
    assert!(first.contains(".TH halfpower 1") && first.contains("diagnose"), "{first}");
    let folder = tempfile::tempdir().unwrap();
    halfpower_in(folder.path(), "man pages").expect(0);
    let pages = names(&folder.path().join("pages"));
    for (words, _) in commands() {
        let page = format!("halfpower-{}.1", words.replace(' ', "-"));
        assert!(pages.contains(&page), "{page}: {pages:?}");
    }
    // A line of an example is not a roff request, and keeps its dashes.
    let run = std::fs::read_to_string(folder.path().join("pages/halfpower-run.1")).unwrap();
    assert!(run.contains("\\-\\-rw randrw \\-\\-rwmixread 70"), "{run}");
    let notes = run.split(".nf\n").nth(1).unwrap().split(".fi\n").next().unwrap();
    assert!(notes.lines().all(|line| !line.starts_with(['.', '\''])), "{notes}");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The source files of the program's crates.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
}

/// The words after `halfpower ` in the strings of a source, up to the end of the command.
fn offered(source: &str) -> Vec<String> {
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    // A string that continues on the next line.
    let code = code.collect::<Vec<_>>().join("\n").replace("\\\n", "");
    let code = code.split_whitespace().collect::<Vec<_>>().join(" ");
    let begins = code.match_indices("halfpower ").filter(|(at, _)| {
        // In backticks, at the start of a string or of its line, or after a pipe.
        let before = code[..*at].trim_end_matches(' ');
        before.ends_with(['`', '"', '|', ';'])
            || before.ends_with("\\n")
            || before.ends_with("next:")
    });
    let command = |(at, word): (usize, &str)| {
        let rest = &code[at + word.len()..];
        rest.split(['`', '"', '|', ';', '#', '>']).next().unwrap_or_default().to_owned()
    };
    begins.map(command).map(|it| it.split("\\n").next().unwrap().to_owned()).collect()
}

/// Words after the program's name at the start of a sentence.
const PROSE: &[&str] = &[
    "cannot",
    "checks",
    "chooses",
    "document",
    "does",
    "gives",
    "has",
    "is",
    "keeps",
    "never",
    "pauses",
    "plot",
    "recording",
    "replays",
    "runs",
    "submitted",
    "trims",
    "uses",
    "version",
    "waits",
    "was",
    "writes",
];

/// What is wrong with a suggested command.
fn problem(words: &str, commands: &[(String, Command)]) -> Option<String> {
    let mut left = words.split_whitespace().peekable();
    let first = left.next()?;
    if !first.chars().all(|letter| letter.is_ascii_lowercase()) || PROSE.contains(&first) {
        return None;
    }
    let own = |words: &str| commands.iter().find(|(known, _)| known == words);
    let below = left.peek().and_then(|second| own(&format!("{first} {second}")));
    let Some((name, command)) = below.or_else(|| own(first)) else {
        return Some(format!("there is no command {first:?}"));
    };
    let flags = left.filter_map(|word| word.strip_prefix("--"));
    let mut flags = flags.map(|flag| {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
        flag.split(|letter| !is_letter(letter)).next().unwrap_or_default()
    });
    // fio's command line has fio's flags.
    if words.contains("--name=") {
        return None;
    }
    let known = |flag: &str| {
        flag.is_empty() || command.get_arguments().any(|it| it.get_long() == Some(flag))
    };
    flags.find(|flag| !known(flag)).map(|flag| format!("{name} has no --{flag}"))
}

#[test]
fn every_command_that_the_program_offers_is_one_that_it_takes() {
    let commands = commands();
    let mut files = Vec::new();
    for entry in std::fs::read_dir(root().join("crates")).unwrap().map(Result::unwrap) {
        let folder = entry.path();
        if !["xtask", "testkit"].iter().any(|name| folder.ends_with(name)) {
            sources(&folder.join("src"), &mut files);
        }
    }
    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for file in files {
        for words in offered(&std::fs::read_to_string(&file).unwrap()) {
            if let Some(what) = problem(&words, &commands) {
                wrong.push(format!("{}: halfpower {words}: {what}", file.display()));
            }
            seen.extend(words.split_whitespace().next().map(str::to_owned));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    // The check itself works: it finds commands of all kinds of places.
    for command in ["check", "diagnose", "show", "record", "predict", "report", "explain"] {
        assert!(seen.contains(command), "{command} is not in {seen:?}");
    }
}

#[test]
fn a_command_that_does_not_exist_is_found_where_it_is_offered() {
    let commands = commands();
    let wrong = |source: &str| {
        let found = offered(source);
        found.iter().filter_map(|words| problem(words, &commands)).collect::<Vec<_>>()
    };
    assert_eq!(wrong("x(\"`halfpower check` or `halfpower show list --kind x`\")"), [""; 0]);
    assert_eq!(wrong("x(\"`halfpower twin FILE`\")"), ["there is no command \"twin\""]);
    assert_eq!(wrong("format!(\"halfpower show {} --dance\")"), ["show has no --dance"]);
    assert_eq!(wrong("x(\"next: halfpower diagnose \\\n   --fro x\")"), ["diagnose has no --fro"]);
}
