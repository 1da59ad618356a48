//! A result file to which each command appends lines.
//!
//! All problems with it are found before anything is measured; a file with other contents is rejected, not
//! damaged. A line is appended in one write, so that concurrent commands do not mix their lines. A missing
//! file is created with its first line; it then begins with the names of the fields.

use crate::target::error::TargetError;
use crate::target::in_use::{InUse, real_place};
use crate::target::output_file::{refusal, refuse_in_use};
use engine::input::{self, Reason};
use record::quoted;
use std::fs::{File, OpenOptions};
use std::io::{Read, Result, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A file to which lines can be appended.
#[derive(Debug)]
pub struct LineFile {
    flag: &'static str,
    path: PathBuf,
}

impl LineFile {
    /// Checks that lines can be appended. `wrong` returns the reason, from the first line of an existing
    /// file, if they may not.
    ///
    /// # Errors
    /// If it is in use, has other contents, or cannot be written.
    pub fn open(
        flag: &'static str,
        path: &Path,
        in_use: &[InUse],
        wrong: impl FnOnce(&str) -> Option<String>,
    ) -> std::result::Result<Self, TargetError> {
        refuse_in_use(flag, path, in_use)?;
        // A link stays a link: lines are appended to its target.
        let place = real_place(path);
        let existed = place.exists();
        if existed && !path.is_file() {
            return Err(refusal(flag, path, "it is not a regular file"));
        }
        let file = Self { flag, path: place };
        if existed {
            let line = input::first_line(path, input::DOCUMENT).map_err(|error| {
                match &error.reason {
                    // A file that is not text is not a result file.
                    Reason::System(_) | Reason::Interrupted => {
                        TargetError::Output(format!("{flag}: {error}"))
                    }
                    reason => refusal(flag, path, &reason.to_string()),
                }
            })?;
            if let Some(why) = (!line.is_empty()).then(|| wrong(&line)).flatten() {
                return Err(refusal(flag, path, &why));
            }
        }
        // Checks that it can be written; if this creates the file, it is removed again.
        let opened = OpenOptions::new().append(true).create(true).open(&file.path);
        let tried =
            opened.and_then(|_| if existed { Ok(()) } else { std::fs::remove_file(&file.path) });
        tried.map_err(|cause| file.cannot(&cause))?;
        Ok(file)
    }

    /// Appends a line with its line end; a new file begins with `head`.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn append(&self, head: &str, line: &str) -> std::result::Result<(), TargetError> {
        let write = || -> Result<()> {
            let mut file =
                OpenOptions::new().read(true).append(true).create(true).open(&self.path)?;
            let before = match file.metadata()?.len() {
                0 => format!("{head}\n"),
                // An editor, or a program that was stopped, left the last line without a line end.
                _ if !ends_a_line(&mut file)? => "\n".to_owned(),
                _ => String::new(),
            };
            file.write_all((before + line).as_bytes())
        };
        write().map_err(|cause| self.cannot(&cause))
    }

    fn cannot(&self, cause: &std::io::Error) -> TargetError {
        let (flag, path) = (self.flag, quoted(&self.path));
        TargetError::Output(format!(
            "cannot append to {path} ({flag}); check the file and its folder: {cause}"
        ))
    }
}

fn ends_a_line(file: &mut File) -> Result<bool> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}
