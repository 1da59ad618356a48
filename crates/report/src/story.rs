//! Defines the content of one document, before it becomes a page, a ticket, a web page or a table.
//!
//! A [`Story`] follows the order of a reader's questions: the answer, its figures, the actions, the
//! supporting data, the findings, the conditions, and the commands that repeat it. Rejected: a
//! renderer per kind and view. One verdict was then red on one page and yellow on another.

use crate::chart::Chart;
use crate::number;
use crate::page::Tone;
use record::{Confidence, Estimate, Finding, Measured, Severity, WIDE, quantity};

/// The name of the condition that says how to repeat it.
pub(crate) const REPEAT: &str = "repeat by";

/// Label and tone of a severity, the same in every view.
#[must_use]
pub fn severity(severity: Severity) -> (&'static str, Tone) {
    match severity {
        Severity::Invalid => ("INVALID", Tone::Bad),
        Severity::Warning => ("warning", Tone::Warn),
        Severity::Info => ("note", Tone::Strong),
    }
}

pub(crate) fn confidence(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Certain => "certain",
        Confidence::AlmostCertain => "almost certain",
        Confidence::Likely => "likely",
        Confidence::Possible => "possible",
    }
}

/// The word for a confidence below certain.
pub(crate) fn doubt(doubted: Confidence) -> Option<String> {
    (doubted != Confidence::Certain).then(|| confidence(doubted).to_owned())
}

/// An explanation that the verdict does not exclude.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alternative {
    /// What it may be instead.
    pub what: String,
    /// Why it is not excluded.
    pub because: String,
    /// How to decide between the two; may be empty.
    pub how_to_check: String,
}

/// The verdict on one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Badge {
    /// The device or part; empty if the document has a single subject.
    pub subject: String,
    /// The verdict in a few words.
    pub words: String,
    /// Its tone.
    pub tone: Tone,
    /// The reason, in a sentence or two.
    pub because: String,
    /// Answers to the next questions of a reader in a hurry, by name: cause, first action, gain.
    pub answers: Vec<(String, String)>,
    /// Explanations that are not excluded.
    pub alternatives: Vec<Alternative>,
    /// Whether the page's overview and a folded section contain all of it.
    pub fold: bool,
}

impl Badge {
    pub(crate) fn new(words: impl Into<String>, tone: Tone, because: impl Into<String>) -> Self {
        Self { words: words.into(), tone, because: because.into(), ..Self::default() }
    }
}

/// A figure of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// Name of the quantity.
    pub name: String,
    /// The part that it describes (`reads`); empty if there is only one. Figures with the same name
    /// are shown next to each other.
    pub of: String,
    /// Value with interval and unit.
    pub value: String,
    /// Tone of the value.
    pub tone: Tone,
}

/// A recommended action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// Subject; may be empty.
    pub subject: String,
    /// The action.
    pub what: String,
    /// Reason, effect, cost and so on, by name.
    pub details: Vec<(String, String)>,
}

impl Action {
    pub(crate) fn new(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), details: Vec::new() }
    }

    /// Adds a detail, unless it is empty.
    pub(crate) fn with(mut self, name: &str, text: impl AsRef<str>) -> Self {
        let text = text.as_ref().trim();
        if !text.is_empty() {
            self.details.push((name.to_owned(), text.to_owned()));
        }
        self
    }
}

/// Alignment of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Left-aligned text.
    #[default]
    Left,
    /// Right-aligned numbers.
    Right,
    /// A bar in the remaining width.
    Bar,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Title; may be empty.
    pub title: String,
    /// Explanation of the title; empty if it is self-explanatory.
    pub help: &'static str,
    /// Alignment.
    pub side: Side,
    /// Title above this column and its neighbours in the same group; may be empty.
    pub group: String,
    /// Spaces before the column on a terminal.
    pub gap: usize,
    /// Whether its texts may be truncated on a narrow terminal.
    pub flexible: bool,
    /// Order of removal on a narrow terminal: the highest rank goes first; a column of rank 0 stays.
    pub expendable: u8,
}

impl Column {
    pub(crate) fn gap(&mut self, gap: usize) -> &mut Self {
        self.gap = gap;
        self
    }

    /// Allows truncation on a narrow terminal.
    pub(crate) fn flexible(&mut self) -> &mut Self {
        self.flexible = true;
        self
    }

    /// Allows removal on a narrow terminal; higher ranks go first.
    pub(crate) fn expendable(&mut self, rank: u8) -> &mut Self {
        self.expendable = rank;
        self
    }
}

/// A table under construction. Each column is filled for all rows when it is added.
pub(crate) struct Columns<'r, R> {
    rows: &'r [R],
    group: String,
    columns: Vec<(Column, Vec<Cell>)>,
}

impl<R> Columns<'_, R> {
    fn add<C: Into<Cell>>(&mut self, column: Column, cell: impl Fn(&R) -> C) -> &mut Column {
        let cells = self.rows.iter().map(|row| cell(row).into()).collect();
        let place = self.columns.len();
        self.columns.push((Column { gap: 2, group: self.group.clone(), ..column }, cells));
        &mut self.columns[place].0
    }

    /// Sets the group of the following columns.
    pub(crate) fn group(&mut self, group: &str) {
        group.clone_into(&mut self.group);
    }

    pub(crate) fn left<C: Into<Cell>>(
        &mut self,
        title: impl Into<String>,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        self.add(Column { title: title.into(), ..Column::default() }, cell)
    }

    pub(crate) fn right<C: Into<Cell>>(
        &mut self,
        title: impl Into<String>,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        self.add(Column { title: title.into(), side: Side::Right, ..Column::default() }, cell)
    }

    /// A column with the title and the help of a reported quantity.
    pub(crate) fn titled<C: Into<Cell>>(
        &mut self,
        id: &str,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        let column = self.right(quantity(id).title, cell);
        column.help = quantity(id).help;
        column
    }

    /// Values of a reported quantity in its unit, or a dash.
    pub(crate) fn of<V: Into<Option<f64>>>(
        &mut self,
        id: &str,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        let format = |value| quantity(id).unit.format_titled(value);
        self.titled(id, |row| Cell::or_none(value(row).into(), format))
    }

    /// The intervals of the values in the previous column, or nothing.
    pub(crate) fn interval<V: Into<Option<Estimate>>>(
        &mut self,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        // A very wide interval is not symmetric, so each end is printed.
        let interval = |it: Estimate| match it.relative_half_width() {
            wide if wide > WIDE && wide.is_finite() => {
                let [low, high] = [it.low, it.high].map(|end| 100.0 * (end / it.value - 1.0));
                format!("{:+.0} to {high:+.0} %", low.max(-100.0))
            }
            relative => number::interval(relative),
        };
        self.left("", |row| Cell::or_empty(value(row).into(), interval)).gap(1)
    }

    pub(crate) fn bar(&mut self, cell: impl Fn(&R) -> Cell) -> &mut Column {
        self.add(Column { side: Side::Bar, ..Column::default() }, cell)
    }
}

/// A table cell.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Text; for a bar, the mark after it.
    pub text: String,
    /// Tone of the text.
    pub tone: Tone,
    /// For a bar: the share of the column that it fills, 0 to 1.
    pub bar: Option<f64>,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, bar: None }
    }

    /// A bar followed by a mark.
    pub(crate) fn bar(share: f64, mark: &str) -> Self {
        Self { text: mark.to_owned(), tone: Tone::Strong, bar: Some(share) }
    }

    /// A value, or a dash if there is none.
    pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> Self {
        number::or_none(value, format).into()
    }

    /// A value, or nothing.
    pub(crate) fn or_empty<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> Self {
        value.map(format).unwrap_or_default().into()
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::toned(text, Tone::Plain)
    }
}

/// A table with aligned columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with a cell per column.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Builds a table with a row per item. Empty columns are left out.
    pub(crate) fn of<R>(
        rows: impl IntoIterator<Item = R>,
        columns: impl FnOnce(&mut Columns<'_, R>),
    ) -> Self {
        let rows: Vec<R> = rows.into_iter().collect();
        let mut made = Columns { rows: &rows, group: String::new(), columns: Vec::new() };
        columns(&mut made);
        let mut table = Self { columns: Vec::new(), rows: vec![Vec::new(); rows.len()] };
        for (column, cells) in made.columns {
            if cells.iter().any(|cell| !cell.text.is_empty() || cell.bar.is_some()) {
                table.columns.push(column);
                table.rows.iter_mut().zip(cells).for_each(|(row, cell)| row.push(cell));
            }
        }
        table
    }
}

/// Importance of a part of a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Needed to use the answer: included in the short page of a terminal.
    #[default]
    Essential,
    /// Supports the answer: the short page only names it.
    Support,
    /// Needed by few readers: folded on a web page, too.
    Detail,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A table.
    Table(Table),
    /// A name and its text; adjacent rows are aligned.
    Row(String, String),
    /// A paragraph.
    Text(String, Tone),
    /// An item of a list.
    Item(String),
}

/// Supporting data under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Heading; may be empty.
    pub title: String,
    /// Explanation of the numbers below; may be empty.
    pub remark: String,
    /// Content.
    pub blocks: Vec<Block>,
    /// Importance.
    pub level: Level,
    /// Whether it is part of the answer, so that a web page shows it unfolded.
    pub open: bool,
    /// The subject of the [`Badge`] whose ticket includes it; `None` if no other team needs it.
    pub ticket: Option<String>,
}

impl Section {
    /// Whether a web page folds it.
    pub(crate) fn folds(&self) -> bool {
        self.level == Level::Detail
    }

    /// Marks it as supporting: the short page of a terminal only names it.
    pub(crate) fn supporting(&mut self) -> &mut Self {
        self.level = Level::Support;
        self
    }

    /// Adds a table, unless it is empty.
    pub(crate) fn table<R>(
        &mut self,
        rows: impl IntoIterator<Item = R>,
        columns: impl FnOnce(&mut Columns<'_, R>),
    ) {
        let table = Table::of(rows, columns);
        if !table.rows.is_empty() {
            self.blocks.push(Block::Table(table));
        }
    }

    /// Adds a name and its text, unless the text is empty.
    pub(crate) fn row(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Row(name.to_owned(), text));
        }
    }

    /// Adds several texts under one name.
    pub(crate) fn rows<T: Into<String>>(&mut self, name: &str, texts: impl IntoIterator<Item = T>) {
        for (at, text) in texts.into_iter().enumerate() {
            self.row(if at == 0 { name } else { "" }, text);
        }
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into(), Tone::Plain));
    }

    /// Adds an explanatory paragraph.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into(), Tone::Faint));
    }

    pub(crate) fn item(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Item(text.into()));
    }
}

/// The content of one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// Kind: `Profile`, `Trial`, ….
    pub kind: String,
    /// Subject.
    pub subject: String,
    /// Id; empty for several documents together.
    pub id: String,
    /// Whether it was measured on a simulated target.
    pub simulated: bool,
    /// Several subjects compared, the worst first; empty for a single subject.
    pub overview: Vec<Block>,
    /// The verdicts, the worst first; empty if the document has none.
    pub badges: Vec<Badge>,
    /// The answer in a sentence; empty if the verdicts state it.
    pub headline: String,
    /// The answer in one line with its intervals; empty if the headline or the verdicts are used.
    pub line: String,
    /// The figures of the answer.
    pub facts: Vec<Fact>,
    /// Recommended actions.
    pub actions: Vec<Action>,
    /// Sentences for the top of a page, by name: the part of the sections that applies to this
    /// case. A terminal shows the sections anyway.
    pub takeaways: Vec<(String, String)>,
    /// Supporting sections.
    pub sections: Vec<Section>,
    /// Plots.
    pub charts: Vec<Chart>,
    /// Number of plots at the top of a page; 0 for the default.
    pub lead: usize,
    /// Plots that are left out, with the reason, a sentence each.
    pub left_out: Vec<String>,
    /// Findings of the document.
    pub findings: Vec<Finding>,
    /// Conditions, by name.
    pub conditions: Vec<(String, String)>,
    /// Commands that repeat it.
    pub commands: Vec<String>,
    /// Whether the commands and texts are the purpose of the document, rather than a way to repeat it.
    pub commands_answer: bool,
    /// The command that prints all of it again without measuring; empty if there is none.
    pub again: String,
    /// Longer texts by name, such as a design.
    pub texts: Vec<(String, String)>,
}

impl Story {
    pub(crate) fn new(kind: &str, subject: impl Into<String>, simulated: bool) -> Self {
        Self { kind: kind.to_owned(), subject: subject.into(), simulated, ..Self::default() }
    }

    /// Sets the id and the findings of a saved document.
    pub(crate) fn saved(mut self, id: &str, findings: &[Finding]) -> Self {
        self.id = id.to_owned();
        self.findings = findings.to_vec();
        self
    }

    /// The verdicts that are not folded.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = &Badge> {
        self.badges.iter().filter(|badge| !badge.fold)
    }

    /// The first finding that makes the numbers invalid.
    pub(crate) fn not_valid(&self) -> Option<&Finding> {
        Finding::first_invalid(&self.findings)
    }

    /// The number of findings of a severity, with its word (`2 warnings`); `None` without any.
    pub(crate) fn counted(&self, severity: Severity, word: &str) -> Option<String> {
        let all = self.findings.iter().filter(|finding| finding.severity == severity).count();
        (all > 0).then(|| number::counted(all as f64, word))
    }

    /// Findings, the most severe first.
    pub(crate) fn sorted_findings(&self) -> Vec<&Finding> {
        let mut sorted: Vec<&Finding> = self.findings.iter().collect();
        sorted.sort_by_cached_key(|finding| std::cmp::Reverse(finding.severity));
        sorted
    }

    /// Adds a figure of the answer.
    pub(crate) fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.fact_of("", name, value);
    }

    /// Adds a figure of one part (`reads`) of the answer. If its name ends in IOPS, the value omits the unit.
    pub(crate) fn fact_of(&mut self, of: &str, name: impl Into<String>, value: impl Into<String>) {
        let (name, of, mut value) = (name.into(), of.to_owned(), value.into());
        if name.ends_with("IOPS") {
            value = value.replace(" IOPS", "");
        }
        self.facts.push(Fact { name, of, value, tone: Tone::Strong });
    }

    pub(crate) fn section(&mut self, title: impl Into<String>, remark: &str) -> &mut Section {
        let section =
            Section { title: title.into(), remark: remark.to_owned(), ..Section::default() };
        let place = self.sections.len();
        self.sections.push(section);
        &mut self.sections[place]
    }

    /// Returns a part that may be missing, or adds a section with the reason.
    pub(crate) fn part<'p, T>(&mut self, title: &str, part: &'p Measured<T>) -> Option<&'p T> {
        if let Err(reason) = part.known() {
            self.section(title, "").text(format!("not measured: {reason}"));
        }
        part.value()
    }

    /// Adds a list, unless it is empty.
    pub(crate) fn list(&mut self, title: &str, remark: &str, items: &[String]) {
        if !items.is_empty() {
            let section = self.section(title, remark);
            items.iter().for_each(|item| section.item(item));
        }
    }

    /// Adds a folded section of details.
    pub(crate) fn fold(&mut self, title: impl Into<String>) -> &mut Section {
        let section = self.section(title, "");
        section.level = Level::Detail;
        section
    }

    /// Sets the one-line answer of a measurement, marked as valid if it is.
    pub(crate) fn measured_line(&mut self, answer: &str) {
        let valid = if self.not_valid().is_none() { ", valid" } else { "" };
        self.line = format!("{}{valid}", answer.trim_end_matches('.'));
    }

    /// Removes what applies only to saved documents: the id and, unless `other` is empty, that
    /// other id with the commands that use it.
    #[must_use]
    pub fn unsaved(mut self, other: &str) -> Self {
        let gone = |text: &str| !other.is_empty() && text.contains(other);
        self.conditions.retain(|(name, text)| name != "id" && !gone(text));
        self.commands.retain(|command| !gone(command));
        self.id.clear();
        self.again.clear();
        self
    }

    /// Adds a sentence for the top of a page, unless it is empty.
    pub(crate) fn takeaway(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.takeaways.push((name.to_owned(), text));
        }
    }

    /// Adds a condition, unless it is empty.
    pub(crate) fn condition(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.conditions.push((name.to_owned(), text));
        }
    }

    /// Adds the program version and the id as conditions.
    pub(crate) fn written_by(&mut self, version: &str) {
        self.condition("version", format!("halfpower {version}"));
        self.condition("id", self.id.clone());
    }
}

/// The text for a measured value, or the reason why it is missing.
pub(crate) fn told<T>(part: &Measured<T>, text: impl FnOnce(&T) -> String) -> String {
    match part.known() {
        Ok(value) => text(value),
        Err(reason) => format!("not measured: {reason}"),
    }
}

/// A name and a colon before a text. Empty for an empty name, and without a second colon after a
/// Windows drive letter.
pub(crate) fn prefix(name: &str) -> String {
    match name {
        "" => String::new(),
        _ if name.ends_with(':') => format!("{name} "),
        _ => format!("{name}: "),
    }
}

/// Words in brackets after a text; empty without words.
pub(crate) fn bracketed(words: impl IntoIterator<Item = String>, between: &str) -> String {
    let words: Vec<String> = words.into_iter().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(between)) }
}

/// The first `most` names, and the number of the others.
pub(crate) fn named(names: &[String], most: usize) -> String {
    let mut text = names[..names.len().min(most)].join(", ");
    let more = names.len().saturating_sub(most);
    text.extend((more > 0).then(|| format!(", {more} more")));
    text
}

pub(crate) fn joined<T>(
    all: impl IntoIterator<Item = T>,
    between: &str,
    words: impl FnMut(T) -> String,
) -> String {
    all.into_iter().map(words).collect::<Vec<String>>().join(between)
}

/// Joins clauses to a sentence, or returns `otherwise` if there are none.
pub(crate) fn sentence(clauses: impl IntoIterator<Item = String>, otherwise: &str) -> String {
    match joined(clauses, "; ", |clause| clause) {
        nothing if nothing.is_empty() => otherwise.to_owned(),
        text => format!("{}.", capital(&text)),
    }
}

/// A text with a capital first letter.
#[must_use]
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_name_has_one_colon_behind_it() {
        assert_eq!([prefix(""), prefix("sda"), prefix("1 D:")], ["", "sda: ", "1 D: "]);
    }
}
