//! Parses times between other lines of a text, and the first line of sysstat's tools.

use crate::moment::{SECOND_NS, Stamp};

/// Maximum number of words in a time: date, time, half of the day, zone.
const MOST_WORDS: usize = 4;
/// Abbreviated month names, as `date` prints them in English.
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
pub(crate) const DAY_NS: i128 = 86_400 * SECOND_NS;

/// A line without the quotation marks of mails, tickets and notes.
pub(crate) fn unquoted(line: &str) -> &str {
    line.trim().trim_start_matches(['>', '|', '#', ' ', '\t']).trim_end_matches(['|', ' '])
}

/// Whether a line only says that its author cut out lines: `...`, `[...]`, `[snip]`.
pub(crate) fn is_cut_mark(line: &str) -> bool {
    let mark = line.trim().trim_matches(['[', ']', '(', ')', '<', '>', '-', ' ']);
    let dots = mark.chars().all(|letter| letter == '.' || letter == '…');
    (dots && (mark.contains('…') || mark.len() > 1)) || mark.eq_ignore_ascii_case("snip")
}

/// The time on a line by itself: from iostat, from `date`, or a number of seconds.
pub(crate) fn stamp_line(line: &str, date: Option<&str>) -> Option<Stamp> {
    let line = line.trim();
    if let Some(time) = line.strip_prefix("Time:") {
        return Stamp::parse(&format!("{} {time}", date?));
    }
    let words = line.split_whitespace().count();
    // A kernel release has letters, but no mark between hours and minutes: 5.18.0-0.deb11.4-cloud-arm64.
    let is_time = line.contains([':', '時']) || !line.contains(char::is_alphabetic);
    if line.starts_with(|letter: char| letter.is_ascii_digit()) && words <= MOST_WORDS && is_time {
        return Stamp::parse(line);
    }
    named_month(line)
}

/// `Fri Nov 27 16:56:29 UTC 2026`, with the words in any order.
fn named_month(line: &str) -> Option<Stamp> {
    let words: Vec<&str> = line
        .split(|letter: char| letter.is_whitespace() || letter == ',')
        .filter(|it| !it.is_empty())
        .collect();
    if !(4..=8).contains(&words.len()) {
        return None;
    }
    let month = words.iter().find_map(|word| {
        let begin = word.get(..3)?.to_ascii_lowercase();
        MONTHS.iter().position(|name| *name == begin)
    })?;
    let number = |lengths: std::ops::RangeInclusive<usize>| {
        words.iter().find(|word| {
            lengths.contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let (day, year) = (number(1..=2)?, number(4..=4)?);
    let time = words.iter().find(|word| word.matches(':').count() == 2)?;
    let half = words.iter().find(|word| ["AM", "PM"].contains(*word)).unwrap_or(&"");
    let zone = words.iter().find(|word| ["UTC", "GMT"].contains(*word)).unwrap_or(&"");
    let zone = if half.is_empty() { zone } else { half };
    Stamp::parse(&format!("{year}-{:02}-{day:0>2} {time} {zone}", month + 1))
}

/// The time in a file name: `2026_11_27_16_56_29-diskstats`, `diskstats.1795798589`.
pub(crate) fn stamp_of_name(name: &str) -> Option<Stamp> {
    let name = name.rsplit(['/', '\\']).next()?;
    let groups: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_digit())
        .filter(|group| !group.is_empty())
        .collect();
    if let Some(counted) = groups.iter().find(|group| matches!(group.len(), 10 | 13)) {
        return Stamp::parse(counted);
    }
    // Year, month, day, hour, minute, second, in groups of any length.
    let year = groups.iter().position(|group| matches!(group.len(), 4 | 8 | 14))?;
    let digits = groups[year..].concat();
    let of = |from: usize, to: usize| digits.get(from..to);
    let text = format!(
        "{}-{}-{} {}:{}:{}",
        of(0, 4)?,
        of(4, 6)?,
        of(6, 8)?,
        of(8, 10)?,
        of(10, 12)?,
        of(12, 14).unwrap_or("00")
    );
    Stamp::parse(&text)
}

/// The first line of sysstat's tools: `Linux 6.1.0 (oak) 06/01/20 _x86_64_ (2 CPU)`.
pub(crate) struct FirstLine<'a> {
    pub(crate) host: Option<&'a str>,
    pub(crate) release: &'a str,
    pub(crate) date: Option<&'a str>,
}

pub(crate) fn first_line(line: &str) -> Option<FirstLine<'_>> {
    let rest = line.trim().strip_prefix("Linux ")?;
    let (release, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    let (host, rest) = match rest.trim_start().strip_prefix('(') {
        Some(behind) => {
            let (host, rest) = behind.split_once(')')?;
            (Some(host), rest)
        }
        None => (None, rest),
    };
    let is_date = |word: &&str| word.bytes().filter(u8::is_ascii_digit).count() >= 4;
    let date = rest.split_whitespace().next().filter(is_date);
    (host.is_some() || date.is_some()).then_some(FirstLine { host, release, date })
}

/// The words after the name of the tool in a line with its command.
pub(crate) fn command_line<'a>(line: &'a str, tool: &str) -> Option<Vec<&'a str>> {
    let at = line.find(tool)?;
    let before = line[..at].trim_end();
    let of_path = line[..at].ends_with('/');
    let is_prompt = before.is_empty() || before.ends_with(['$', '#', '>', '%', ';', '&', '`', ':']);
    let rest = &line[at + tool.len()..];
    let ends = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let sudo = before.ends_with("sudo")
        || before.split_whitespace().next_back().is_some_and(|word| word.contains('='));
    let command = rest.split(['|', '>', ';', '`']).next()?;
    ((is_prompt || of_path || sudo) && ends).then(|| command.split_whitespace().collect())
}

/// Length of the intervals requested by the words of a sysstat command.
pub(crate) fn interval_of(words: &[&str]) -> Option<i128> {
    let seconds = words.iter().find_map(|word| word.parse::<i128>().ok())?;
    (1..=86_400).contains(&seconds).then_some(seconds * SECOND_NS)
}

pub(crate) fn days_later(stamp: Stamp, days: i128) -> Stamp {
    match stamp {
        Stamp::Printed { date, form, of_day_ns, offset_s } => {
            Stamp::Printed { date, form, of_day_ns: of_day_ns + days * DAY_NS, offset_s }
        }
        counted @ Stamp::Counted(_) => counted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(stamp: Option<Stamp>) -> Option<i128> {
        let (times, _) = crate::moment::moments(&[stamp], Default::default(), false);
        times[0].map(|ns| ns / SECOND_NS)
    }

    #[test]
    fn lines_that_are_times_are_read_and_rows_are_not() {
        let of = |line: &str| seconds(stamp_line(line, Some("11/27/2026")));
        let moment = Some(1_795_798_589);
        assert_eq!(of("11/27/26 16:56:29"), moment);
        assert_eq!(of("2026-11-27T16:56:29+0000"), moment);
        assert_eq!(of("11/27/2026 04:56:29 PM"), moment);
        assert_eq!(of("Time: 04:56:29 PM"), moment);
        assert_eq!(of("Fri Nov 27 16:56:29 UTC 2026"), moment);
        assert_eq!(of("Fri 27 Nov 2026 04:56:29 PM UTC"), moment);
        for line in [
            "sda 0.00 1.00",
            "0.00 0.00 100.00",
            "avg-cpu: %user",
            "",
            "may be 12 of 1999",
            "5.18.0-0.deb11.4-cloud-arm64",
        ] {
            assert_eq!(of(line), None, "{line}");
        }
    }

    #[test]
    fn names_of_files_hold_times() {
        let moment = Some(1_795_798_589);
        for name in [
            "a/2026_11_27_16_56_29-diskstats",
            "diskstats-20261127-165629.txt",
            "diskstats.1795798589",
            "20261127165629",
        ] {
            assert_eq!(seconds(stamp_of_name(name)), moment, "{name}");
        }
        assert_eq!(stamp_of_name("diskstats-2"), None);
    }

    #[test]
    fn first_lines_and_commands_say_what_the_tables_do_not() {
        let line = "Linux 3.10.0-1160.el7.x86_64 (host) \t06/03/2024 \t_x86_64_\t(8 CPU)";
        let first = first_line(line).unwrap();
        assert_eq!((first.host, first.date), (Some("host"), Some("06/03/2024")));
        assert_eq!(first.release, "3.10.0-1160.el7.x86_64");
        assert!(first_line("Linux is a kernel").is_none());
        let of = |line: &str| interval_of(&command_line(line, "iostat").unwrap_or_default());
        assert_eq!(of("[root@db1 ~]# iostat -xk 5 10"), Some(5 * SECOND_NS));
        assert_eq!(of("$ LC_ALL=C iostat -x sda 2 | head"), Some(2 * SECOND_NS));
        assert_eq!(of("iostat -x"), None);
        assert_eq!(of("the iostat 5 said"), None);
    }
}
