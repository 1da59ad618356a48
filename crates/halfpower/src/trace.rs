//! The file of `--sqlio-csv`, to which each run adds a line.
//!
//! Everything that can be wrong with it is found before anything is measured: a comment or a
//! workload that no line can carry, and a file that is something else, which is refused rather than
//! spoilt. The line is added in one write to the end, so that runs beside each other do not mix
//! theirs. A file that is not there is made when there is a line to put into it; then it begins
//! with the names of the fields.

use crate::failure::UsageError;
use anyhow::{Context, anyhow};
use record::{Trial, Workload};
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use target::InUse;

const FLAG: &str = "--sqlio-csv";

/// A trace that a line can be added to.
#[derive(Debug)]
pub(crate) struct TraceFile {
    path: PathBuf,
    comment: String,
}

impl TraceFile {
    /// Makes sure that a run of this workload can add its line.
    pub(crate) fn open(
        path: &Path,
        comment: &str,
        workload: &Workload,
        in_use: &[InUse],
    ) -> anyhow::Result<Self> {
        report::check_trace_comment(comment).map_err(|error| UsageError(error.to_string()))?;
        report::check_trace_workload(workload).map_err(|error| UsageError(error.to_string()))?;
        target::refuse_in_use(FLAG, path, in_use)?;
        let existed = path.exists();
        if existed && !path.is_file() {
            return Err(anyhow!("{FLAG} {path:?} is no regular file; name one"));
        }
        if existed {
            let line = target::first_line(path).with_context(|| cannot(path))?;
            if !line.is_empty() {
                let checked = report::check_trace_line(&line);
                checked.map_err(|error| target::refusal(FLAG, path, &error.to_string()))?;
            }
        }
        // To see that it can be written; one that this makes is taken away again.
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.with_context(|| cannot(path))?;
        if !existed {
            std::fs::remove_file(path).with_context(|| cannot(path))?;
        }
        Ok(Self { path: path.to_owned(), comment: comment.to_owned() })
    }

    /// Adds the line of a trial.
    pub(crate) fn append(&self, trial: &Trial) -> anyhow::Result<()> {
        let line = report::trace_line(trial, &self.comment)?;
        let write = || -> std::io::Result<()> {
            let mut file =
                OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
            let before = match file.metadata()?.len() {
                0 => format!("{}\n", report::TRACE_HEADER),
                // An editor, or a program that was stopped, left the last line without its end.
                _ if !ends_a_line(&mut file)? => "\n".to_owned(),
                _ => String::new(),
            };
            file.write_all((before + &line).as_bytes())
        };
        write().with_context(|| cannot(&self.path))
    }
}

fn ends_a_line(file: &mut File) -> std::io::Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

fn cannot(path: &Path) -> String {
    format!("cannot add to the file of {FLAG} {path:?}; check it and its folder")
}
