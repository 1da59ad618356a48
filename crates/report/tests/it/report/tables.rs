//! Tests how a table fits the width of a terminal page.

use report::{BEFORE_CUTS, Block, Cell, Column, Cut, Section, Side, Story, Style, Table};

/// A page with a single table.
pub(crate) fn printed(columns: Vec<Column>, rows: &[&[&str]]) -> String {
    styled(columns, rows, &Style::default())
}

fn styled(columns: Vec<Column>, rows: &[&[&str]], style: &Style) -> String {
    let cell = |text: &&str| Cell { text: (*text).to_owned(), ..Cell::default() };
    let rows = rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let blocks = vec![Block::Table(Table { columns, rows })];
    let sections = vec![Section { blocks, ..Section::default() }];
    report::terminal(&Story { sections, ..Story::default() }, style)
}

#[test]
fn a_file_has_whole_rows() {
    let columns = vec![Column { flexible: Some(Cut::End), ..Column::default() }, Column::default()];
    let (one, other) = ("a".repeat(60), "b".repeat(60));
    let style = Style { whole_rows: true, ..Style::default() };
    let text = styled(columns, &[&[&one, &other]], &style);
    assert!(text.contains(&one) && text.contains(&other), "{text}");
}

#[test]
fn a_table_that_is_too_wide_loses_its_most_expendable_column_whole() {
    let right = Column { side: Side::Right, gap: 2, ..Column::default() };
    let left = Column { gap: 2, ..Column::default() };
    let columns = vec![left.clone(), Column { expendable: 1, ..left }, right];
    let long = "x".repeat(40);
    let text = printed(columns, &[&[&long, "gone", &long[..34]], &["a", "gone", "b"]]);
    assert!(!text.contains("gone"), "{text}");
    assert_eq!(text.lines().map(|line| line.chars().count()).max(), Some(78));
}

#[test]
fn the_least_important_column_goes_before_a_name_loses_its_middle() {
    let column =
        |flexible, expendable| Column { flexible, expendable, gap: 2, ..Column::default() };
    let columns = vec![column(Some(Cut::Middle), 0), column(None, BEFORE_CUTS), column(None, 1)];
    let name = format!("server{}export", "/".repeat(60));
    let text = printed(columns, &[&[&name, "action", &"7".repeat(20)]]);
    assert!(!text.contains("action") && text.contains(&"7".repeat(20)), "{text}");
    assert!(text.contains("  server/") && text.contains("/export  7"), "{text}");
    assert!(text.contains("/…/") && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn a_title_over_a_group_spans_its_columns() {
    let grouped = Column { side: Side::Right, group: "g".to_owned(), ..Column::default() };
    let columns =
        vec![Column::default(), Column { gap: 2, ..grouped.clone() }, Column { gap: 1, ..grouped }];
    let text = printed(columns, &[&["ab", "1234", "56"]]);
    assert!(text.ends_with("    g ─────\nab  1234 56\n"), "{text}");
}
