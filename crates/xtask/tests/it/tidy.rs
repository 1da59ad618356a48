//! Planted faults in a small repository are found at the right place. `cargo xtask tidy` checks this repository.

use std::process::Command;

const ESSAY: &str = "//! This file stands for a good one.\n";
const MAP: &str = "x\n\n| crate | for |\n|---|---|\n| `a` | 1 |\n";

/// A repository with one faultless crate `a`, plus these files.
fn repository(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("Cargo.toml", "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n");
    write("crates/a/Cargo.toml", "[package]\nname = \"a\"\nversion = \"0.1.0\"\n");
    write("crates/a/src/lib.rs", ESSAY);
    write("ARCHITECTURE.md", MAP);
    write("README.md", "x\n");
    write("CHANGELOG.md", "x\n");
    files.iter().for_each(|(path, text)| write(path, text));
    let git = Command::new("git").args(["init", "-q"]).current_dir(folder.path()).status();
    assert!(git.unwrap().success());
    folder
}

fn problems(files: &[(&str, &str)]) -> Vec<String> {
    let folder = repository(files);
    let problems = xtask::tidy::check(folder.path()).unwrap();
    problems.iter().map(ToString::to_string).collect()
}

/// The only problem of a file with a header comment and this code.
#[track_caller]
fn only(code: &str) -> String {
    let found = problems(&[("crates/a/src/lib.rs", &format!("{ESSAY}{code}\n"))]);
    assert_eq!(found.len(), 1, "{code:?}: {found:?}");
    found[0].clone()
}

#[test]
fn texts_without_a_fault_pass() {
    let text = "see ~/.local/share\nsource/work/x, https://example.com/home/page\n\
                mastodon and todos are words\n";
    let code = format!(
        "{ESSAY}// The latency of a helper.\nconst UTILIZATION: &str = \"util \\\" latency\";\n\
         /* a /* helper */ */ const C: (char, &str) = ('\\'', r#\"l \" utils\"#);\n\
         #[allow(dead_code, reason = \"shown\")]\n#[allow(unused)] // because\n\
         struct QueueDepth<'a>(&'a str);\nfn f() {{ let latency_ns = Which; }}\n"
    );
    let page = "# My page\n[a](other.md) [b](other.md#one-two \"title\") [c](#my-page)\n\
                [d](https://example.com/none.md) `[e](none.md)`\n\
                ````\n```\n[f](none.md)\n````\n";
    let files = [
        ("a.txt", text),
        ("b.txt", ""),
        ("crates/a/src/lib.rs", &code),
        ("crates/a/tests/it.rs", "fn main() {}\n"),
        ("docs/page.md", page),
        ("docs/other.md", "# One: `two`\n"),
    ];
    assert_eq!(problems(&files), [""; 0]);
}

#[test]
fn faults_of_texts_are_found_in_their_lines() {
    // In two halves each, so that this file passes.
    let paths = [("/wo", "rk/"), ("/ro", "ot/"), ("/ho", "me/")];
    for (first, second) in paths {
        let found = problems(&[("a.txt", &format!("fine\nin `{first}{second}main`\n"))]);
        assert!(found.len() == 1 && found[0].starts_with("a.txt:2: names "), "{found:?}");
    }
    for (first, second) in [("TO", "DO"), ("FIX", "ME"), ("XX", "X")] {
        let found = problems(&[("a.txt", &format!("// {first}{second}: later\n"))]);
        assert!(found.len() == 1 && found[0].starts_with("a.txt:1: "), "{found:?}");
    }
    let blank = "a.txt:1: ends in white space";
    for (text, expected) in
        [("a \n", blank), ("a\r\n", blank), ("a\nb", "a.txt:2: does not end with a line feed")]
    {
        assert_eq!(problems(&[("a.txt", text)]), [expected]);
    }
}

#[test]
fn links_that_lead_nowhere_are_found_in_their_lines() {
    let other = ("docs/other.md", "# One\n");
    for (page, expected) in [
        ("\n[a](none.md)\n", "2: the link none.md leads nowhere"),
        ("[a](other.md#three)\n", "1: the link other.md#three names no heading"),
        ("[a](#three)\n", "1: the link #three names no heading"),
    ] {
        assert_eq!(
            problems(&[other, ("docs/page.md", page)]),
            [format!("docs/page.md:{expected}")]
        );
    }
}

#[test]
fn faults_of_sources_are_found_where_they_stand() {
    for text in ["fn main() {}\n", "//! store\n", "\n//! a b c d e f\nfn main() {}\n"] {
        let found = problems(&[("crates/a/src/lib.rs", text)]);
        assert!(found.len() == 1 && found[0].contains("begins without a comment"), "{found:?}");
    }
    assert!(only(&"\n".repeat(900)).contains("give each subject its file"));
    assert!(only("\nfn read_helper() {}").contains(":3: the name read_helper"));
    assert!(only("fn readHelper() {}").contains(":2: the name readHelper"));
    assert!(only("struct Told;").contains("the name Told"));
    assert!(only("const A: &str = \"b").contains("does not read as Rust"));
    assert!(only("#[allow(dead_code)]\nfn x() {}").contains("without a reason"));
    assert!(only(&["#[ig", "nore]\nfn x() {}"].concat()).contains("ignored test"));
    let found = problems(&[("crates/a/src/utils.rs", ESSAY)]);
    assert!(found.len() == 1 && found[0].contains("path part utils"), "{found:?}");
}

#[test]
fn readers_without_a_limit_are_found_in_code_and_not_in_tests() {
    for code in [
        "fn f(mut file: File) { file.read_to_end(&mut Vec::new()); }",
        "fn f() { std::io::read_to_string(std::io::stdin()); }",
        "fn f() { std::fs::read(\"x\"); }",
        "fn f() { lines.read_line(&mut text); }",
        "fn f() { lines.read_until(b' ', &mut text); }",
        "#[cfg(test)]\nfn g() {}\nfn f() { fs::read_to_string(\"x\"); }",
    ] {
        let found = only(code);
        assert!(found.contains("has no limit"), "{code:?}: {found}");
    }
    let code = "fn read_line() {}\nfn f() { port.read(&mut one); }\n#[cfg(test)]\nmod tests {\n\
                fn f() { std::fs::read(\"x\"); } }\n";
    let files = [
        ("crates/a/src/lib.rs", format!("{ESSAY}{code}")),
        ("crates/a/src/b_tests.rs", format!("{ESSAY}fn f() {{ std::fs::read(\"x\"); }}\n")),
        ("crates/a/tests/it.rs", "fn f() { std::fs::read(\"x\"); }\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    assert_eq!(problems(&files), [""; 0]);
}

#[test]
fn circles_of_modules_are_found_and_what_tests_name_makes_none() {
    let essay = |code: &str| format!("{ESSAY}{code}");
    let files = [
        ("crates/a/src/lib.rs", essay("mod a;\nmod b;\npub use b::{Thing, Other as Another};\n")),
        ("crates/a/src/a/mod.rs", essay("mod deep;\n")),
        ("crates/a/src/a/deep.rs", essay("use std::fmt;\nuse crate::{Another, c::{self, D}};\n")),
        ("crates/a/src/b.rs", essay("fn f() { super::a::run() }\n")),
        ("crates/a/src/c.rs", essay("")),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let circle = |at, from, named, to| {
        format!(
            "crates/a/src/{at}: {from} uses {named}, and {to} needs {from} again: a circle of modules"
        )
    };
    let expected =
        [circle("a/deep.rs:3", "a", "Another", "b"), circle("b.rs:2", "b", "a::run", "a")];
    assert_eq!(problems(&files), expected);
    let a = essay("#[cfg(test)]\nmod tests { use crate::b::X; mod y { } }\nuse self::Z;\n");
    let b = essay("use crate::a::Y;\nmod inner { use super::T; use super::super::a::U; }\n");
    let files = [("crates/a/src/a.rs", a.as_str()), ("crates/a/src/b.rs", b.as_str())];
    assert_eq!(problems(&files), [""; 0]);
    // The system selects one of two modules. In each module the name means itself; elsewhere it means both.
    let files = [
        ("crates/a/src/lib.rs", essay("use x as p;\nuse y as p;\npub use p::Clock;\n")),
        ("crates/a/src/a.rs", essay("use crate::p::f;\n")),
        ("crates/a/src/x.rs", essay("use crate::Clock;\n")),
        ("crates/a/src/y.rs", essay("use crate::{Clock, a::g};\n")),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let expected = [circle("a.rs:2", "a", "p::f", "y"), circle("y.rs:2", "y", "a::g", "a")];
    assert_eq!(problems(&files), expected);
    // Nested modules, with names that the modules around them re-export. A parent and its children are no
    // circle.
    let files = [
        ("crates/a/src/lib.rs", essay("mod a;\nmod b;\npub use a::{Draw, look as see};\n")),
        (
            "crates/a/src/a/mod.rs",
            essay("mod draw;\nmod look;\nuse draw::{self, Draw};\nuse b::b;\n"),
        ),
        ("crates/a/src/a/draw.rs", essay("use super::draw;\nuse crate::see::Style;\n")),
        ("crates/a/src/a/look/mod.rs", essay("mod deep;\n")),
        ("crates/a/src/a/look/deep.rs", essay("use super::super::look;\nuse crate::Draw;\n")),
        ("crates/a/src/b.rs", essay("use crate::a::b;\nuse crate::{Draw as d, see as s};\n")),
    ];
    let files: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let expected = [
        circle("a/draw.rs:3", "a::draw", "see::Style", "a::look"),
        circle("a/look/deep.rs:3", "a::look", "Draw", "a::draw"),
    ];
    assert_eq!(problems(&files), expected);
}

#[test]
fn a_crate_below_one_that_it_uses_or_without_a_row_is_found() {
    let package = |name: &str, rest: &str| {
        format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n{rest}\n")
    };
    let on = |name: &str| format!("{name} = {{ path = \"../{name}\" }}");
    let a = package("a", &format!("[dev-dependencies]\n{}", on("b")));
    let b = package("b", &format!("[dependencies]\n{}\n{}", on("a"), on("c")));
    let (c, d) = (package("c", ""), package("d", ""));
    let map = format!("{MAP}| `b` | 2 |\n| `c` | 3 |\n| `e` | 4 |\n\n| `f` |\n");
    let files = [
        ("crates/a/Cargo.toml", a.as_str()),
        ("crates/b/Cargo.toml", &b),
        ("crates/c/Cargo.toml", &c),
        ("crates/d/Cargo.toml", &d),
        ("crates/b/src/lib.rs", ESSAY),
        ("crates/c/src/lib.rs", ESSAY),
        ("crates/d/src/lib.rs", ESSAY),
        ("ARCHITECTURE.md", &map),
    ];
    let expected = [
        "ARCHITECTURE.md:0: the table of crates has no row for d",
        "ARCHITECTURE.md:6: b depends on c, which is not above it in the table",
        "ARCHITECTURE.md:8: the table names e, which is no crate",
    ];
    assert_eq!(problems(&files), expected);
}

/// A fake program: knows `run --bs` and `show list`, and answers `sim:` and `last`.
const BINARY: &str = "#!/bin/sh
case \"$*\" in
  'run --help') echo '  --bs SIZE  --iodepth N';;
  'show --help') echo '  --kind';;
  'show list --help') echo '  --json';;
  '--help') echo '  --version';;
  'run sim:a --bs 4k') echo 'one'; echo 'two';;
  'show last') echo 'three';;
  *) exit 2;;
esac
";

/// The problems of a page, and its text after the check.
fn checked(page: &str, bless: bool) -> (Vec<String>, String) {
    let folder = repository(&[("page.md", page), ("script", BINARY)]);
    let binary = folder.path().join("stand-in");
    testkit::install_program(&folder.path().join("script"), &binary).unwrap();
    let problems = xtask::commands::check(folder.path(), &binary, bless).unwrap();
    let lines = problems.iter().map(|it| format!("{} {}", it.line, it.what)).collect();
    (lines, std::fs::read_to_string(folder.path().join("page.md")).unwrap())
}

#[test]
fn true_commands_and_outputs_pass() {
    let page = "Use `halfpower run --bs 4k | head`, `halfpower --version`, `halfpower VERB`,\n\
                `halfpower show list --json` or `cargo xtask ci`.\n\
                ```sh\ncargo run --release -- run --iodepth=4  # --remark\n```\n\
                ```console\n$ cargo run --release -- run sim:a --bs 4k\none\ntwo\n```\n\
                ```console\n$ halfpower show last\nthree\n```\n\
                ```text\n$ halfpower run --bs 4k .\nhalfpower says hello\n```\n";
    assert_eq!(checked(page, false), (vec![], page.to_owned()));
}

#[test]
fn a_flag_or_verb_that_the_binary_does_not_know_is_found() {
    let page = "Use `halfpower run --b 4k`\nor\n```sh\nhalfpower walk\n$ halfpower run --bsd\n\
                ```\nor `cargo xtask dance`.\n";
    let expected = [
        "1 `halfpower run` knows no --b",
        "4 halfpower knows no `walk`",
        "5 `halfpower run` knows no --bsd",
        "7 cargo xtask knows no dance",
    ];
    assert_eq!(checked(page, false).0, expected);
}

#[test]
fn an_output_that_is_no_longer_true_is_found_and_rewritten_on_request() {
    let page = |output| format!("a\n```console\n$ halfpower run sim:a --bs 4k\n{output}```\nb\n");
    let (problems, unchanged) = checked(&page("one\n2\n"), false);
    assert_eq!(unchanged, page("one\n2\n"));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("line 2 shows \"2\", is \"two\""), "{problems:?}");
    assert_eq!(checked(&page("one\n2\n"), true), (vec![], page("one\ntwo\n")));
    for real in ["run --bs 4k .", "show last"] {
        let (problems, _) = checked(&format!("```console\n$ halfpower {real}\nx\n```\n"), false);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("2 a console block"), "{problems:?}");
    }
}
