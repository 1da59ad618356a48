//! Short lists: saved profiles, what this machine can measure, what to do next.

use crate::page::{Page, Span, Tone};
use crate::{Style, number, target};
use record::{Capability, Profile};

/// One saved profile in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct ProfileListRow {
    /// Identifier, as `profile show` takes it.
    pub id: String,
    /// When it was measured, RFC 3339 in UTC; `None` for a simulated target.
    pub time: Option<String>,
    /// Whether the target was simulated.
    pub simulated: bool,
    /// The target in a few words.
    pub target: String,
    /// Most random reads per second.
    pub read_iops: Option<f64>,
    /// Most random writes per second.
    pub write_iops: Option<f64>,
    /// Most bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Most bytes written per second.
    pub write_bytes_per_s: Option<f64>,
}

impl From<&Profile> for ProfileListRow {
    fn from(profile: &Profile) -> Self {
        let limits = &profile.limits;
        Self {
            id: profile.id.clone(),
            time: profile.time.clone(),
            simulated: profile.simulated,
            target: target::summary(&profile.target),
            read_iops: limits.read_iops.map(|estimate| estimate.value),
            write_iops: limits.write_iops.map(|estimate| estimate.value),
            read_bytes_per_s: limits.read_bytes_per_s.map(|estimate| estimate.value),
            write_bytes_per_s: limits.write_bytes_per_s.map(|estimate| estimate.value),
        }
    }
}

/// The saved profiles, in the given order: identifier, time and target, then the largest rates.
#[must_use]
pub fn profile_list_text(rows: &[ProfileListRow], style: &Style) -> String {
    let mut page = Page::new(style);
    if rows.is_empty() {
        page.paragraph(0, "No profiles are saved here. `halfpower check` makes one.", Tone::Plain);
    }
    for row in rows {
        let time = match (&row.time, row.simulated) {
            (Some(time), false) => number::when(time),
            (_, true) => "SIMULATED".to_owned(),
            (None, false) => "time unknown".to_owned(),
        };
        page.line(vec![Span::new(&row.id, Tone::Strong), Span::plain(format!("  {time}"))]);
        page.paragraph(4, &row.target, Tone::Plain);
        let direction = |word, iops: Option<f64>, bytes_per_s: Option<f64>| {
            let rates = [iops.map(number::per_second), bytes_per_s.map(number::rate)];
            let rates: Vec<String> = rates.into_iter().flatten().collect();
            let rates = if rates.is_empty() { "not measured".into() } else { rates.join(", ") };
            format!("{word} {rates}")
        };
        let reads = direction("reads", row.read_iops, row.read_bytes_per_s);
        let writes = direction("writes", row.write_iops, row.write_bytes_per_s);
        page.paragraph(4, &format!("{reads}; {writes}"), Tone::Plain);
    }
    page.finish()
}

/// What this machine can measure and what not, with the reason and the remedy.
#[must_use]
pub fn capabilities_text(rows: &[Capability], style: &Style) -> String {
    let mut page = Page::new(style);
    // A name of unreasonable length may push its own line aside, not everybody's.
    let names = rows.iter().map(|row| Span::plain(&row.name).width()).max().unwrap_or(0).min(28);
    for row in rows {
        let (mark, tone) = if row.available { ("yes", Tone::Good) } else { ("no ", Tone::Warn) };
        let name = Span::plain(&row.name);
        let pad = " ".repeat((names + 2).saturating_sub(name.width()).max(2));
        let lead = vec![Span::plain("  "), Span::new(mark, tone), Span::plain("  ")];
        if name.width() > names {
            let text = format!("{}: {}", row.name, row.detail);
            page.hanging(lead, &text, Tone::Plain);
        } else if row.detail.trim().is_empty() {
            page.line([lead, vec![name]].concat());
        } else {
            page.hanging([lead, vec![name, Span::plain(pad)]].concat(), &row.detail, Tone::Plain);
        }
        if !row.remedy.trim().is_empty() {
            let arrow = Span::plain(format!("{:1$}→ ", "", names + 9));
            page.hanging(vec![arrow], &row.remedy, Tone::Plain);
        }
    }
    page.finish()
}

/// The commands to try next, one a line. A command that is too long goes on after a backslash, so
/// that it can still be pasted into a shell.
#[must_use]
pub fn next_steps_text(steps: &[String], style: &Style) -> String {
    let mut page = Page::new(style);
    if !steps.is_empty() {
        page.heading("Next", "");
    }
    for step in steps {
        for line in continued(&crate::escape(step), page.width()) {
            page.line(vec![Span::plain(line)]);
        }
    }
    page.finish()
}

/// A command over several lines: broken before a word, outside quotes, with ` \` at the end.
fn continued(command: &str, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = "  ".to_owned();
    for word in words(command) {
        let fits = line.chars().count() + 1 + word.chars().count() + 2 <= width;
        if !line.trim().is_empty() && !fits {
            lines.push(format!("{line} \\"));
            line = "     ".to_owned();
        }
        line = if line.trim().is_empty() { line + &word } else { line + " " + &word };
        // A single longer word goes on at the left edge, where the shell joins it again.
        while line.chars().count() > width {
            let head: String = line.chars().take(width - 1).collect();
            line = line.chars().skip(width - 1).collect();
            lines.push(head + "\\");
        }
    }
    lines.push(line);
    lines
}

/// The words of a command; spaces between quotes do not part them.
fn words(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for character in command.chars() {
        match (quote, character) {
            (None, ' ') => words.push(String::new()),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), close) if open == close => quote = None,
            _ => {}
        }
        if quote.is_some() || character != ' ' {
            words.last_mut().into_iter().for_each(|word| word.push(character));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_command_goes_on_after_a_backslash_outside_quotes() {
        let path = format!("'/data/{} b'", "a ".repeat(20));
        let step = format!("halfpower check {path} --budget 60s --seed 12345 --no-write --full");
        let text = next_steps_text(std::slice::from_ref(&step), &Style::default());
        let body: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(body.len(), 2, "{text}");
        assert!(body[0].ends_with(" \\"));
        let joined = body.iter().map(|line| line.trim_end_matches('\\').trim());
        assert_eq!(joined.collect::<Vec<_>>().join(" "), step);
    }
}
