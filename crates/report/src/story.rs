//! What one document says, before it becomes a page, a ticket, a web page or a table.
//!
//! A [`Story`] has the order of a reader's questions: what is the answer, which figures carry it, what
//! to do, what supports it, what was found, under which conditions it holds, how to repeat it.
//! Rejected: a renderer per kind and view, in which one verdict was red on one page and yellow on
//! another.

use crate::chart::Chart;
use crate::number;
use crate::page::Tone;
use record::{Confidence, Estimate, Finding, Measured, Severity, WIDE, quantity};

/// The label and the tone of a severity, the same in every view.
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

/// The word of a confidence that is less than certain.
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
    /// What decides between the two; may be empty.
    pub how_to_check: String,
}

/// The answer about one subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Badge {
    /// The device or part; empty where the document has one subject.
    pub subject: String,
    /// The verdict in a few words.
    pub words: String,
    /// How good or bad that is.
    pub tone: Tone,
    /// Why, in a sentence or two.
    pub because: String,
    /// What a reader in a hurry asks next, by name: the cause, what to do first, what that gives.
    pub answers: Vec<(String, String)>,
    /// What is not excluded.
    pub alternatives: Vec<Alternative>,
    /// Whether the overview of the page and a folded section say all of it.
    pub fold: bool,
}

impl Badge {
    pub(crate) fn new(words: impl Into<String>, tone: Tone, because: impl Into<String>) -> Self {
        Self { words: words.into(), tone, because: because.into(), ..Self::default() }
    }
}

/// A figure that answers a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// What it is.
    pub name: String,
    /// What it is of (`reads`); empty where there is one. Figures of one name stand side by side.
    pub of: String,
    /// The value with its interval and unit.
    pub value: String,
    /// Its tone.
    pub tone: Tone,
}

/// Something to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Action {
    /// What it is about; may be empty.
    pub subject: String,
    /// What to do.
    pub what: String,
    /// Reason, effect, cost and so on, by name.
    pub details: Vec<(String, String)>,
}

impl Action {
    pub(crate) fn new(subject: impl Into<String>, what: impl Into<String>) -> Self {
        Self { subject: subject.into(), what: what.into(), details: Vec::new() }
    }

    /// The same with one more detail, unless it is empty.
    pub(crate) fn with(mut self, name: &str, text: impl AsRef<str>) -> Self {
        let text = text.as_ref().trim();
        if !text.is_empty() {
            self.details.push((name.to_owned(), text.to_owned()));
        }
        self
    }
}

/// How a column is aligned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Side {
    /// Text from the left.
    #[default]
    Left,
    /// Numbers from the right.
    Right,
    /// A bar, in the room that is left over.
    Bar,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Its title; may be empty.
    pub title: String,
    /// What the title means; empty where it speaks for itself.
    pub help: &'static str,
    /// Its alignment.
    pub side: Side,
    /// A title over this column and its neighbours of the same group; may be empty.
    pub group: String,
    /// Spaces before it on a terminal.
    pub gap: usize,
    /// Whether its texts may be cut where a terminal is too narrow.
    pub flexible: bool,
    /// Columns with the largest rank go first where a terminal is too narrow; zero stays.
    pub expendable: u8,
}

impl Column {
    pub(crate) fn gap(&mut self, gap: usize) -> &mut Self {
        self.gap = gap;
        self
    }

    /// Lets its texts be cut on a narrow terminal.
    pub(crate) fn flexible(&mut self) -> &mut Self {
        self.flexible = true;
        self
    }

    /// Lets it be dropped on a narrow terminal; larger ranks go first.
    pub(crate) fn expendable(&mut self, rank: u8) -> &mut Self {
        self.expendable = rank;
        self
    }
}

/// The columns of a table in the making; each is filled for all rows when it is added.
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

    /// Sets the group of the columns that follow.
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

    /// Cells below the title of a reported quantity, with its help.
    pub(crate) fn titled<C: Into<Cell>>(
        &mut self,
        id: &str,
        cell: impl Fn(&R) -> C,
    ) -> &mut Column {
        let column = self.right(quantity(id).title, cell);
        column.help = quantity(id).help;
        column
    }

    /// Values of a reported quantity in its unit; a dash where there is none.
    pub(crate) fn of<V: Into<Option<f64>>>(
        &mut self,
        id: &str,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        let format = |value| quantity(id).unit.format_titled(value);
        self.titled(id, |row| Cell::or_none(value(row).into(), format))
    }

    /// The intervals of the values in the column before; empty where there is none.
    pub(crate) fn interval<V: Into<Option<Estimate>>>(
        &mut self,
        value: impl Fn(&R) -> V,
    ) -> &mut Column {
        // Of one that is wider than its value is large, half of its width says nothing.
        let interval = |it: Estimate| match it.relative_half_width() {
            wide if wide > WIDE && wide.is_finite() => {
                let ends = [it.low, it.high].map(|end| number::digits((end / it.value).max(0.0)));
                format!("x {} to {}", ends[0], ends[1])
            }
            relative => number::interval(relative),
        };
        self.left("", |row| Cell::or_empty(value(row).into(), interval)).gap(1)
    }

    pub(crate) fn bar(&mut self, cell: impl Fn(&R) -> Cell) -> &mut Column {
        self.add(Column { side: Side::Bar, ..Column::default() }, cell)
    }
}

/// What stands in one place of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Its text; of a bar the mark behind it.
    pub text: String,
    /// Its tone.
    pub tone: Tone,
    /// The share (0 to 1) of the column that a bar fills.
    pub bar: Option<f64>,
}

impl Cell {
    pub(crate) fn toned(text: impl Into<String>, tone: Tone) -> Self {
        Self { text: text.into(), tone, bar: None }
    }

    /// A bar with a mark right behind it.
    pub(crate) fn bar(share: f64, mark: &str) -> Self {
        Self { text: mark.to_owned(), tone: Tone::Strong, bar: Some(share) }
    }

    /// A value where there is one, a dash otherwise.
    pub(crate) fn or_none<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> Self {
        number::or_none(value, format).into()
    }

    /// A value where there is one, nothing otherwise.
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
    /// Its columns.
    pub columns: Vec<Column>,
    /// Its rows, as long as the columns.
    pub rows: Vec<Vec<Cell>>,
}

impl Table {
    /// A row for each of these; columns in which nothing stands are left out.
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

/// How soon a reader asks for a part of a story.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Level {
    /// Needed to use the answer: the short page of a terminal has it.
    #[default]
    Essential,
    /// Supports the answer: the short page names it.
    Support,
    /// Few readers need it: a web page folds it, too.
    Detail,
}

/// A part of a section.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A table.
    Table(Table),
    /// A name and its text; neighbours are aligned.
    Row(String, String),
    /// A paragraph.
    Text(String, Tone),
    /// An item of a list.
    Item(String),
}

/// What supports the answer, under one heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its heading; may be empty.
    pub title: String,
    /// What the numbers below mean; may be empty.
    pub remark: String,
    /// Its content.
    pub blocks: Vec<Block>,
    /// How soon a reader asks for it.
    pub level: Level,
    /// Whether it belongs to the answer, so that a web page, which folds all other sections, shows it.
    pub open: bool,
    /// The subject of a [`Badge`] in whose ticket it stands; none where no other team needs it.
    pub ticket: Option<String>,
}

impl Section {
    /// Whether a web page folds it.
    pub(crate) fn folds(&self) -> bool {
        self.level == Level::Detail
    }

    /// Lets the short page of a terminal name it only.
    pub(crate) fn supporting(&mut self) -> &mut Self {
        self.level = Level::Support;
        self
    }

    /// A table, unless it is empty.
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

    /// A name and its text, unless that is empty.
    pub(crate) fn row(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.blocks.push(Block::Row(name.to_owned(), text));
        }
    }

    /// Texts below one name.
    pub(crate) fn rows<T: Into<String>>(&mut self, name: &str, texts: impl IntoIterator<Item = T>) {
        for (at, text) in texts.into_iter().enumerate() {
            self.row(if at == 0 { name } else { "" }, text);
        }
    }

    pub(crate) fn text(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into(), Tone::Plain));
    }

    /// A paragraph of explanation.
    pub(crate) fn note(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Text(text.into(), Tone::Faint));
    }

    pub(crate) fn item(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Item(text.into()));
    }
}

/// What is said of one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Story {
    /// What it is: `Profile`, `Trial`, ….
    pub kind: String,
    /// What it is of.
    pub subject: String,
    /// Its id; empty for several documents together.
    pub id: String,
    /// Whether it was measured on a simulated target.
    pub simulated: bool,
    /// Several subjects side by side, the worst first; empty where there is one.
    pub overview: Vec<Block>,
    /// The verdicts, the worst first; empty where a document judges nothing.
    pub badges: Vec<Badge>,
    /// The answer in a sentence; empty where the verdicts say it.
    pub headline: String,
    /// The same in one line with its intervals; empty where the headline or the verdicts serve.
    pub line: String,
    /// The figures of the answer.
    pub facts: Vec<Fact>,
    /// What to do.
    pub actions: Vec<Action>,
    /// Sentences for the top of a page, by name, of what sections tell of every case: those of the case
    /// that answers. A terminal has the sections in view.
    pub takeaways: Vec<(String, String)>,
    /// What supports the answer.
    pub sections: Vec<Section>,
    /// The plots.
    pub charts: Vec<Chart>,
    /// How many of them a page shows at its top; 0 for the usual number.
    pub lead: usize,
    /// What is not drawn and why, a sentence each.
    pub left_out: Vec<String>,
    /// Conclusions of the document.
    pub findings: Vec<Finding>,
    /// Conditions, by name.
    pub conditions: Vec<(String, String)>,
    /// Commands that repeat it.
    pub commands: Vec<String>,
    /// Whether these and the texts are what the reader came for, and not a way to see the same again.
    pub commands_answer: bool,
    /// The command that prints all of it once more and measures nothing; empty where there is none.
    pub again: String,
    /// Longer texts, by name: a design.
    pub texts: Vec<(String, String)>,
}

impl Story {
    pub(crate) fn new(kind: &str, subject: impl Into<String>, simulated: bool) -> Self {
        Self { kind: kind.to_owned(), subject: subject.into(), simulated, ..Self::default() }
    }

    /// The same of a document with an id and findings.
    pub(crate) fn saved(mut self, id: &str, findings: &[Finding]) -> Self {
        self.id = id.to_owned();
        self.findings = findings.to_vec();
        self
    }

    /// The verdicts that stand by themselves.
    pub(crate) fn verdicts(&self) -> impl Iterator<Item = &Badge> {
        self.badges.iter().filter(|badge| !badge.fold)
    }

    /// The first finding that says that the numbers are not what was asked for.
    pub(crate) fn not_valid(&self) -> Option<&Finding> {
        Finding::first_invalid(&self.findings)
    }

    /// Findings, the worst first.
    pub(crate) fn sorted_findings(&self) -> Vec<&Finding> {
        let mut sorted: Vec<&Finding> = self.findings.iter().collect();
        sorted.sort_by_cached_key(|finding| std::cmp::Reverse(finding.severity));
        sorted
    }

    /// A figure of the answer.
    pub(crate) fn fact(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.fact_of("", name, value);
    }

    /// A figure of one part (`reads`) of the answer. A name that ends in IOPS says the unit.
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

    /// A new section of a part that may be missing: the part, or the section with the reason.
    pub(crate) fn part<'p, T>(&mut self, title: &str, part: &'p Measured<T>) -> Option<&'p T> {
        if let Err(reason) = part.known() {
            self.section(title, "").text(format!("not measured: {reason}"));
        }
        part.value()
    }

    /// A list, unless it is empty.
    pub(crate) fn list(&mut self, title: &str, remark: &str, items: &[String]) {
        if !items.is_empty() {
            let section = self.section(title, remark);
            items.iter().for_each(|item| section.item(item));
        }
    }

    /// A new section of details.
    pub(crate) fn fold(&mut self, title: impl Into<String>) -> &mut Section {
        let section = self.section(title, "");
        section.level = Level::Detail;
        section
    }

    /// Sets the answer in one line of what was measured, and says there that it is valid where it is.
    pub(crate) fn measured_line(&mut self, answer: &str) {
        let valid = if self.not_valid().is_none() { ", valid" } else { "" };
        self.line = format!("{}{valid}", answer.trim_end_matches('.'));
    }

    /// Without what only a saved document can be asked by: its id, and where it is not empty, the other
    /// id with the commands that name it.
    #[must_use]
    pub fn unsaved(mut self, other: &str) -> Self {
        let gone = |text: &str| !other.is_empty() && text.contains(other);
        self.conditions.retain(|(name, text)| name != "id" && !gone(text));
        self.commands.retain(|command| !gone(command));
        self.id.clear();
        self.again.clear();
        self
    }

    /// A sentence for the top of a page, unless it is empty.
    pub(crate) fn takeaway(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.takeaways.push((name.to_owned(), text));
        }
    }

    /// A condition, unless it is empty.
    pub(crate) fn condition(&mut self, name: &str, text: impl Into<String>) {
        let text = text.into();
        if !text.is_empty() {
            self.conditions.push((name.to_owned(), text));
        }
    }

    /// The program that wrote a document, and its id.
    pub(crate) fn written_by(&mut self, version: &str) {
        self.condition("version", format!("halfpower {version}"));
        self.condition("id", self.id.clone());
    }
}

/// A text about what was measured, or the reason why it was not.
pub(crate) fn told<T>(part: &Measured<T>, text: impl FnOnce(&T) -> String) -> String {
    match part.known() {
        Ok(value) => text(value),
        Err(reason) => format!("not measured: {reason}"),
    }
}

/// A name before its text; nothing for an empty one, and no second colon behind a letter of Windows.
pub(crate) fn prefix(name: &str) -> String {
    match name {
        "" => String::new(),
        _ if name.ends_with(':') => format!("{name} "),
        _ => format!("{name}: "),
    }
}

/// Words behind a text in brackets; nothing where there are none.
pub(crate) fn bracketed(words: impl IntoIterator<Item = String>, between: &str) -> String {
    let words: Vec<String> = words.into_iter().collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(between)) }
}

/// The first names of many, and how many more there are.
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

/// Clauses as a sentence; without any, another sentence.
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
