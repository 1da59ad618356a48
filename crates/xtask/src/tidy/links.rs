//! Checks Markdown: each link into the repository must lead to a file or heading. Also splits a page into
//! prose and fenced blocks, for the check of documented commands.

use super::{File, Problem};
use std::path::Path;

/// A line of a page, with the language of its fenced block. The fences themselves are not included.
pub(crate) struct PageLine<'a> {
    /// From 1.
    pub(crate) number: usize,
    pub(crate) text: &'a str,
    /// `None` in prose, `Some("")` in a block without a language.
    pub(crate) fence: Option<&'a str>,
}

/// The lines of a page, without its fences.
pub(crate) fn prose_and_fences(page: &str) -> Vec<PageLine<'_>> {
    let mut lines = Vec::new();
    let mut open: Option<(&str, &str)> = None;
    for (index, text) in page.lines().enumerate() {
        let trimmed = text.trim_start();
        let ticks = trimmed.len() - trimmed.trim_start_matches('`').len();
        match open {
            Some((fence, _)) if ticks >= fence.len() && trimmed[ticks..].trim().is_empty() => {
                open = None;
            }
            None if ticks >= 3 => open = Some((&trimmed[..ticks], trimmed[ticks..].trim())),
            _ => {
                let fence = open.map(|(_, language)| language);
                lines.push(PageLine { number: index + 1, text, fence });
            }
        }
    }
    lines
}

pub(super) fn check(root: &Path, file: &File, problems: &mut Vec<Problem>) {
    let folder = Path::new(&file.path).parent().unwrap_or(Path::new(""));
    for line in prose_and_fences(&file.text).iter().filter(|line| line.fence.is_none()) {
        for link in targets(line.text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            if let Some(what) = link_problem(&root.join(folder), &file.text, link) {
                problems.push(file.problem(line.number, what));
            }
        }
    }
}

/// The problem of a link from a page in `folder`, if any.
fn link_problem(folder: &Path, page: &str, link: &str) -> Option<String> {
    let (path, heading) = link.split_once('#').unwrap_or((link, ""));
    let target = folder.join(path);
    if !path.is_empty() && !target.exists() {
        return Some(format!("the link {link} leads nowhere"));
    }
    if heading.is_empty() || !(path.is_empty() || path.ends_with(".md")) {
        return None;
    }
    let other = if path.is_empty() {
        page.to_owned()
    } else {
        std::fs::read_to_string(target).unwrap_or_default()
    };
    let found = prose_and_fences(&other).iter().any(|line| {
        line.fence.is_none() && line.text.starts_with('#') && anchor(line.text) == heading
    });
    (!found).then(|| format!("the link {link} names no heading"))
}

/// The targets of the links in a line of prose: the text in `](...)`, outside inline code.
fn targets(line: &str) -> Vec<&str> {
    // Every second part between back-ticks is code.
    line.split('`')
        .step_by(2)
        .flat_map(|prose| prose.split("](").skip(1))
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split(' ').next().unwrap_or(target))
        .collect()
}

/// The anchor that GitHub gives a heading: lower case, punctuation dropped, blanks to hyphens.
fn anchor(heading: &str) -> String {
    heading
        .trim_start_matches('#')
        .trim()
        .chars()
        .filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter))
        .map(|letter| if letter == ' ' { '-' } else { letter.to_ascii_lowercase() })
        .collect()
}
