//! Tests lines of a terminal page: escaped, wrapped, truncated at the edge; commands can be pasted
//! into a shell.

use crate::report::LOG;
use crate::report::common::{fast_profile, target};
use crate::report::tables::printed;
use record::{Experiment, Target};
use report::{self, Block, Cell, Section, Side, Story, Style, Table, Tone, escape};
use report::{Column, Cut};
use std::collections::BTreeMap;

/// The lines of a paragraph on a page of this width.
fn paragraph(text: &str, width: usize) -> Vec<String> {
    let blocks = vec![Block::Text(text.to_owned(), Tone::Plain)];
    let sections = vec![Section { blocks, ..Section::default() }];
    let page = report::terminal(
        &Story { sections, ..Story::default() },
        &Style { color: false, width, ..Style::default() },
    );
    page.lines().filter_map(|line| line.strip_prefix("  ").map(str::to_owned)).collect()
}

#[test]
fn what_could_steer_a_terminal_is_written_out() {
    assert_eq!(escape("a\x1b[31mb\n\u{9b}c"), "a\\x1b[31mb\\x0a\\x9bc");
    assert_eq!(escape("x\u{202e}y\u{200b}"), "x\\u{202e}y\\u{200b}");
    assert_eq!(escape("Größe 4 KiB ± µs \\ ok"), "Größe 4 KiB ± µs \\ ok");
}

#[test]
fn words_are_kept_whole_and_only_longer_ones_are_cut() {
    let (long, rest) = ("a".repeat(50), "b".repeat(9));
    assert_eq!(paragraph(&format!("{long}  {rest} c"), 60), [long.clone(), format!("{rest} c")]);
    let word = "d".repeat(70);
    assert_eq!(
        paragraph(&format!("e {word} f"), 60),
        ["e", &word[..58], &format!("{} f", &word[58..])]
    );
    assert_eq!(paragraph("", 60), Vec::<String>::new());
    let value = "118k IOPS ±2 %, or";
    assert_eq!(paragraph(&format!("{long} {value}"), 60), [long.as_str(), value]);
}

#[test]
fn letters_of_two_columns_are_counted_as_two() {
    assert_eq!(paragraph(&"磁".repeat(30), 60), ["磁".repeat(29), "磁".to_owned()]);
    let flexible = Column { flexible: Some(Cut::End), ..Column::default() };
    let text = printed(vec![flexible], &[&[&"磁".repeat(50)]]);
    assert!(text == "磁".repeat(39) + "…\n", "{text}");
    let text = printed(
        vec![Column { flexible: Some(Cut::End), ..Column::default() }],
        &[&[&"磁".repeat(40)]],
    );
    assert!(text == "磁".repeat(40) + "\n", "{text}");
}

#[test]
fn a_line_that_is_too_long_ends_in_an_ellipsis_at_the_edge() {
    let columns = vec![Column::default(), Column::default()];
    let long = |letter: &str, count| letter.repeat(count);
    let rows = [(long("a", 60), long("b", 60)), (long("c", 80), long("d", 1))];
    let rows = rows.iter().map(|(one, other)| [one.as_str(), other]).collect::<Vec<_>>();
    let text = printed(columns, &[&rows[0], &rows[1]]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.iter().map(|line| line.chars().count()).collect::<Vec<_>>(), [80, 80]);
    assert!(lines.iter().all(|line| line.ends_with('…')), "{text}");
}

#[test]
fn the_first_line_of_a_heading_leaves_room_for_its_title() {
    let section =
        Section { title: "Title".into(), remark: "word ".repeat(40), ..Section::default() };
    let text = report::terminal(&Story { sections: vec![section], ..Story::default() }, &LOG);
    assert!(text.starts_with("Title: word word"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(text.matches("word").count(), 40);
}

#[test]
fn a_long_command_goes_on_after_a_backslash_outside_quotes() {
    let path = format!("'/data/{} b'", "a ".repeat(20));
    let step = format!("halfpower check {path} --budget 60s --seed 12345 --no-write --full");
    let text = report::next_steps_text(std::slice::from_ref(&step), &LOG);
    let body: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(body.len(), 2, "{text}");
    assert!(body[0].ends_with(" \\"));
    let joined = body.iter().map(|line| line.trim_end_matches('\\').trim());
    assert_eq!(joined.collect::<Vec<_>>().join(" "), step);
}

#[test]
fn a_word_of_a_command_survives_the_shell() {
    let words = ["/mnt/data", "a b", "it's $HOME `x`", "$(reboot)", "sim:a,b=2", ""];
    let shell = ["/mnt/data", "'a b'", "'it'\\''s $HOME `x`'", "'$(reboot)'", "sim:a,b=2", "''"];
    let mut profile = fast_profile();
    for (word, quoted) in words.into_iter().zip(shell) {
        word.clone_into(&mut profile.target.path);
        let command = &report::profile(&profile, &[]).commands[0];
        assert!(command.starts_with(&format!("halfpower check {quoted} --budget")), "{command}");
    }
}

#[test]
fn a_comment_of_a_script_ends_with_its_line() {
    let target = Target { path: "b\rc".to_owned(), ..target(None) };
    let experiment = Experiment {
        design: "a\nrm -rf b".to_owned(),
        targets: vec![target],
        ..Experiment::default()
    };
    let text = report::sweep_script(&experiment, &BTreeMap::new(), &["d\ne".to_owned()], "1 s");
    let head = "#!/bin/sh\n# halfpower sweep a rm -rf b b c: 0 trials in 0 blocks, at most 1 s\n";
    assert_eq!(text, format!("{head}# d e\n"));
}

#[test]
fn a_bar_is_proportional_to_an_eighth_of_a_column_and_never_longer_than_its_room() {
    let bar = |share| {
        let cell = Cell { bar: Some(share), ..Cell::default() };
        let columns = vec![Column { side: Side::Bar, ..Column::default() }];
        let blocks = vec![Block::Table(Table { columns, rows: vec![vec![cell]] })];
        let sections = vec![Section { blocks, ..Section::default() }];
        let text = report::terminal(&Story { sections, ..Story::default() }, &LOG);
        text.lines().collect::<String>()
    };
    // It has 34 columns.
    assert_eq!(bar(0.5), "█".repeat(17));
    assert_eq!(bar(0.51), "█".repeat(17) + "▍");
    assert_eq!(bar(1e-9), "▏");
    assert_eq!(bar(7.0), "█".repeat(34));
    assert_eq!(bar(f64::NAN) + &bar(-1.0) + &bar(0.0), "");
}
