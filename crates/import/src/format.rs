//! The forms that are read, and how their content tells them apart.
//!
//! Names of files say nothing: people save `out.txt`. So the content decides, by words that each
//! form must have near its beginning. Forms that hold too little are known as well, so that the
//! message can say what to record instead.

use crate::ImportError;
use crate::decode;

/// How much of a file is looked at.
const HEAD_LETTERS: usize = 65_536;

/// A form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `iostat -o JSON`.
    Iostat,
    /// `sadf -j`.
    SadfJson,
    /// `sadf -d`.
    SadfLines,
    /// The text that node_exporter serves, once or several times.
    NodeExporter,
    /// Answers of a Prometheus server to range queries.
    Prometheus,
    /// Windows counters of PhysicalDisk as CSV: typeperf, relog, perfmon.
    Perfmon,
    /// An observation of this program.
    Observation,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Iostat,
        Self::SadfJson,
        Self::SadfLines,
        Self::NodeExporter,
        Self::Prometheus,
        Self::Perfmon,
        Self::Observation,
    ];

    /// Whether files of this form belong together, so that several give one observation.
    #[must_use]
    pub fn belongs_together(self) -> bool {
        matches!(self, Self::NodeExporter | Self::Prometheus)
    }

    /// The name, as a flag takes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Iostat => "iostat",
            Self::SadfJson => "sadf-json",
            Self::SadfLines => "sadf-lines",
            Self::NodeExporter => "node-exporter",
            Self::Prometheus => "prometheus",
            Self::Perfmon => "windows",
            Self::Observation => "observation",
        }
    }
}

/// What a file is.
///
/// # Errors
/// If its content fits no form, or one that holds too little.
pub fn detect(bytes: &[u8]) -> Result<Format, ImportError> {
    detect_text(&decode::text(bytes))
}

pub(crate) fn detect_text(text: &str) -> Result<Format, ImportError> {
    let head = match text.char_indices().nth(HEAD_LETTERS) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let has = |word: &str| head.contains(word);
    if has("(PDH-CSV") || has("(PDH-TSV") {
        return Ok(Format::Perfmon);
    }
    if head.trim_start().starts_with(['{', '[', ',']) {
        return json(&has);
    }
    if has("node_disk_") {
        return Ok(Format::NodeExporter);
    }
    if has(";DEV;") || (has("# hostname;interval;timestamp") && has("DEV")) {
        return Ok(Format::SadfLines);
    }
    Err(unknown(head, &has))
}

fn json(has: &dyn Fn(&str) -> bool) -> Result<Format, ImportError> {
    if has("halfpower/observation/") {
        Ok(Format::Observation)
    } else if has("\"disk_device\"") {
        Ok(Format::Iostat)
    } else if has("\"sysdata-version\"") || has("\"disk-device\"") {
        Ok(Format::SadfJson)
    } else if has("\"resultType\"") || has("\"errorType\"") {
        Ok(Format::Prometheus)
    } else if has("\"sysstat\"") {
        // A beginning without disks; a later report may have some.
        Ok(Format::Iostat)
    } else if has("halfpower/") {
        Err(ImportError::OwnDocument("it is no observation".to_owned()))
    } else {
        Err(ImportError::UnknownForm("JSON without disks".to_owned()))
    }
}

fn unknown(head: &str, has: &dyn Fn(&str) -> bool) -> ImportError {
    if has("avg-cpu:") || (has("Device") && has("%util")) {
        return ImportError::WrongForm {
            what: "the table of iostat",
            instead: "record with: iostat -o JSON -x -t 1",
        };
    }
    if has("# hostname;interval;timestamp") {
        return ImportError::WrongForm {
            what: "sadf without disks",
            instead: "use: sadf -d FILE -- -d, or sadf -j FILE -- -d",
        };
    }
    if head.as_bytes().starts_with(&[0x96, 0xd5]) || has("\u{96}Õ") {
        return ImportError::WrongForm {
            what: "the binary file of sadc",
            instead: "convert it with: sadf -j FILE -- -d",
        };
    }
    if has("# HELP") || has("# TYPE") {
        return ImportError::WrongForm {
            what: "a scrape without counters of disks",
            instead: "scrape node_exporter with its diskstats collector",
        };
    }
    let empty = head.trim().is_empty();
    ImportError::UnknownForm(if empty { "it is empty" } else { "none of the words" }.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relatives_that_hold_too_little_are_known_by_name() {
        for (text, word) in [
            ("Linux 6.1 (h)\n\navg-cpu:  %user\n", "iostat -o JSON"),
            ("# hostname;interval;timestamp;CPU;%user\n", "sadf -d FILE"),
            ("# HELP go_info x\ngo_info 1\n", "diskstats collector"),
            ("", "empty"),
            ("{\"schema\": \"halfpower/trial/1\"}", "no observation"),
            ("hello", "known form"),
        ] {
            let error = detect(text.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(word), "{text:?}: {error}");
        }
    }
}
