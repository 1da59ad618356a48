//! Reads the text table of `sar -d`: a time of day before each line, the date in the first line.
//!
//! The header of a block has the time at which its first interval began, so that even a single report has a
//! length. Times of day continue past midnight.

use crate::iostat;
use crate::moment::Stamp;
use crate::printed::{DAY_NS, days_later, first_line, is_cut_mark, stamp_line, unquoted};
use crate::runs::{Hosts, Report, Run};
use crate::sadf_json::includes_discards;
use crate::sysstat::{Columns, Field};
use crate::{ImportError, Options, Text};
use record::Observation;

const DEVICE: &str = "DEV";
/// Placeholder date if the first line is missing.
const ANY_DATE: &str = "2000-01-01";

/// Whether a line is the header of a table of disks.
pub(crate) fn is_header(line: &str) -> bool {
    let line = unquoted(line);
    let has = |word: &str| line.split_whitespace().any(|it| it == word);
    let timed = line.starts_with(|letter: char| letter.is_ascii_digit());
    timed && has(DEVICE) && has("tps")
}

pub(crate) fn read(texts: &[Text<'_>], options: &Options) -> Result<Vec<Observation>, ImportError> {
    let mut hosts = Hosts::default();
    for text in texts {
        let mut reader = Reader::new(&mut hosts);
        text.split_inclusive('\n').for_each(|line| reader.take(line));
        reader.end_run();
    }
    iostat::observations("sar -d", hosts, options)
}

struct Table {
    columns: Columns,
    /// Number of words of the time before each row.
    before: usize,
}

struct Reader<'h> {
    hosts: &'h mut Hosts,
    host: Option<String>,
    run: Run,
    table: Option<Table>,
    /// The words of the last time and its time of day, and the midnights since the date.
    last: Option<(String, i128)>,
    days: i128,
    /// Whether lines are cut out before the next row.
    after_cut: bool,
}

impl<'h> Reader<'h> {
    fn new(hosts: &'h mut Hosts) -> Self {
        let run = Run { without_boot: true, ..Run::default() };
        Self { hosts, host: None, run, table: None, last: None, days: 0, after_cut: false }
    }

    fn take(&mut self, raw: &str) {
        let line = unquoted(raw);
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(first) = first_line(line) {
            self.end_run();
            self.host = first.host.map(str::to_owned);
            self.run.date = first.date.map(str::to_owned);
            let known = self.hosts.named(self.host.as_deref());
            known.release = known.release.take().or_else(|| Some(first.release.to_owned()));
        } else if is_header(line) {
            let known = |word: &&str| *word == DEVICE || *word == "tps";
            let before = words.iter().position(known).unwrap_or(1);
            self.at(&words[..before]);
            self.table = Some(Table { columns: Columns::new(words[before..].to_vec()), before });
        } else if is_cut_mark(line) {
            self.after_cut = true;
        } else if line.contains("LINUX RESTART") || line.contains("LINUX-RESTART") {
            self.run.restarts += 1;
            self.last = None;
        } else {
            self.take_row(&words, raw.ends_with('\n'));
        }
    }

    /// Begins a report at this time, unless it has begun; returns whether the words are a time.
    fn at(&mut self, words: &[&str]) -> bool {
        let text = words.join(" ");
        if self.last.as_ref().is_some_and(|(last, _)| *last == text) {
            return true;
        }
        let date = self.run.date.as_deref().unwrap_or(ANY_DATE);
        let Some(stamp) = stamp_line(&format!("{date} {text}"), None) else { return false };
        let Stamp::Printed { of_day_ns, .. } = stamp else { return false };
        if self.last.as_ref().is_some_and(|(_, last)| of_day_ns < *last) {
            self.days += 1;
        }
        self.last = Some((text, of_day_ns));
        let stamp = Some(match self.run.date {
            Some(_) => days_later(stamp, self.days),
            None => Stamp::Counted(of_day_ns + self.days * DAY_NS),
        });
        let after_cut = std::mem::take(&mut self.after_cut);
        self.run.reports.push(Report { stamp, after_cut, ..Report::default() });
        true
    }

    fn end_run(&mut self) {
        let fresh = Run { without_boot: true, ..Run::default() };
        let run = std::mem::replace(&mut self.run, fresh);
        if !run.reports.is_empty() {
            self.hosts.named(self.host.as_deref()).runs.push(run);
        }
        (self.table, self.last, self.days, self.after_cut) = (None, None, 0, false);
    }

    fn take_row(&mut self, words: &[&str], whole: bool) {
        let Some(table) = self.table.take() else { return };
        let width = table.columns.names().len();
        let is_average =
            words.first().is_none_or(|word| !word.starts_with(|it: char| it.is_ascii_digit()));
        // Another activity has another header.
        let other =
            words.iter().skip(table.before).filter(|word| Field::parse(word).is_some()).count()
                == 0;
        if is_average || other {
            self.table = Some(table).filter(|_| is_average);
            return;
        }
        let fits = words.len() == table.before + width;
        if !fits || !whole || !self.at(&words[..table.before]) {
            self.hosts.faults += 1;
            self.table = Some(table);
            return;
        }
        let words = &words[table.before..];
        let device = table.columns.names().iter().position(|name| name == DEVICE).unwrap_or(0);
        let (interval, discarded) =
            table.columns.interval(words[device], |index| Field::parse(words[index]));
        self.run.add(interval, includes_discards(discarded));
        self.table = Some(table);
    }
}
