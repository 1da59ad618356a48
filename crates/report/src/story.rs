//! Defines the content of one document, before it becomes a page, a ticket, a web page or a table.
//!
//! A [`Story`] follows the order of a reader's questions: the answer, its figures, the actions, the
//! supporting data, the findings, the conditions, and the commands that repeat it. Rejected: a
//! renderer per kind and view. One verdict was then red on one page and yellow on another.

mod table;
mod text;

pub(crate) use table::Columns;
pub use table::{BEFORE_CUTS, Cell, Column, Cut, Side, Table};
pub use text::capital;
pub(crate) use text::{bracketed, joined, named, or_why, prefix, sentence, told};

use crate::chart::Chart;
pub(crate) use crate::number;
pub(crate) use crate::page::Tone;
use record::{Confidence, Finding, Measured, Severity};

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

pub(crate) fn confidence(confidence: Confidence) -> String {
    record::word(confidence).replace('_', " ")
}

/// The word for a confidence below certain.
pub(crate) fn doubt(doubted: Confidence) -> Option<String> {
    (doubted != Confidence::Certain).then(|| confidence(doubted))
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

/// Name of the answer that names the cause.
pub(crate) const CAUSE: &str = "cause";

impl Badge {
    pub(crate) fn new(words: impl Into<String>, tone: Tone, because: impl Into<String>) -> Self {
        Self { words: words.into(), tone, because: because.into(), ..Self::default() }
    }

    /// The cause among its answers.
    pub(crate) fn cause(&self) -> Option<&str> {
        self.answers.iter().find(|(name, _)| name == CAUSE).map(|(_, text)| text.as_str())
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
        self.supporting_if(true)
    }

    pub(crate) fn supporting_if(&mut self, is_supporting: bool) -> &mut Self {
        self.level = if is_supporting { Level::Support } else { self.level };
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

    /// Adds several texts under one name, or one that may be missing.
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

    /// Adds explanatory paragraphs, or one that may be missing.
    pub(crate) fn notes<T: Into<String>>(&mut self, texts: impl IntoIterator<Item = T>) {
        texts.into_iter().for_each(|text| self.note(text));
    }

    pub(crate) fn item(&mut self, text: impl Into<String>) {
        self.blocks.push(Block::Item(text.into()));
    }
}

/// The content of one document.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
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
