//! Writes result files at the places that the user names.
//!
//! Only files that this program has written are replaced. Rejected: a flag that permits replacing anything,
//! because a slip of shell completion would then destroy a file, and another name costs nothing.

use crate::target::TargetError;
use crate::target::handle::Access;
use crate::target::in_use::{InUse, real_place, refuse_kept, same_file};
use crate::target::platform::files::{identity, is_block_device, is_stream, open_stream};
use record::quoted;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Number of names to try for an incomplete result.
const ATTEMPTS: u32 = 100;

/// A kind of result.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// The flag that names its file.
    pub flag: &'static str,
    /// Its name in messages.
    pub name: &'static str,
    /// Whether a file contains such a result, which a repeated command may replace.
    pub is_in: fn(&Path) -> bool,
}

/// A place for a result, checked before anything is measured, so that a bad path fails at once. The
/// existing file is replaced only when the result is complete. Nothing else is left behind however the
/// program ends: the file that checks the place is deleted at once.
#[derive(Debug)]
pub struct OutputFile {
    flag: &'static str,
    path: PathBuf,
    /// A device or a pipe, which is written to and not replaced.
    open: Option<File>,
}

impl OutputFile {
    /// Checks that the file can be created without losing other data.
    ///
    /// # Errors
    /// If it cannot be created, or data would be lost.
    pub fn create(kind: &OutputKind, path: &Path, in_use: &[InUse]) -> Result<Self, TargetError> {
        let flag = kind.flag;
        let wrong = |why: &str| TargetError::Output(format!("{flag} {} {why}", quoted(path)));
        path.file_name().ok_or_else(|| wrong("is not the name of a file"))?;
        let cannot = |cause: std::io::Error| {
            let text =
                format!("cannot create {} ({flag}); check its folder: {cause}", quoted(path));
            TargetError::Output(text)
        };
        // A link stays a link: its target is created or replaced.
        let place = real_place(path);
        refuse_in_use(flag, path, in_use)?;
        // Judge only the resolved path: the link may point elsewhere by the time the result is there.
        if let Ok(facts) = fs::metadata(&place) {
            if facts.is_dir() {
                return Err(wrong("is a directory; name a file in it"));
            }
            if is_block_device(&place) {
                let why = "it is a block device, whose content would be lost";
                return Err(refusal(flag, path, why));
            }
            if !facts.is_file() {
                if !is_stream(&facts) {
                    let why = "it is a device, not a regular file";
                    return Err(refusal(flag, path, why));
                }
                let file = open_stream(&place).map_err(cannot)?;
                return Ok(Self { flag, path: path.to_owned(), open: Some(file) });
            }
            if facts.len() > 0 && !(kind.is_in)(&place) {
                let why =
                    format!("it exists and is not a {}; its content would be lost", kind.name);
                return Err(refusal(flag, path, &why));
            }
        }
        let output = Self { flag, path: place, open: None };
        let (partial, _) = output.create_partial().map_err(cannot)?;
        fs::remove_file(partial).map_err(cannot)?;
        Ok(output)
    }

    /// As [`OutputFile::create`], for an optional flag; the place then counts as in use.
    ///
    /// # Errors
    /// As [`OutputFile::create`].
    pub fn claim(
        kind: &OutputKind,
        path: Option<&Path>,
        in_use: &mut Vec<InUse>,
    ) -> Result<Option<Self>, TargetError> {
        let Some(path) = path else { return Ok(None) };
        let file = Self::create(kind, path, in_use)?;
        in_use.push(InUse::new(path, &format!("the output of {}", kind.flag)));
        Ok(Some(file))
    }

    /// Writes the result and puts it in place.
    ///
    /// # Errors
    /// If it cannot be written; the existing file is then kept.
    pub fn finish(self, content: impl AsRef<[u8]>) -> Result<(), TargetError> {
        self.write_beside(content)?.put_in_place()
    }

    /// Writes the result next to its place, so that several results can be completed before the first is
    /// put in place. A device or a pipe is written at once.
    ///
    /// # Errors
    /// If it cannot be written; the existing file is then kept.
    pub fn write_beside(self, content: impl AsRef<[u8]>) -> Result<WrittenFile, TargetError> {
        let mut written = WrittenFile { partial: None, output: self };
        let done = match written.output.open.as_ref() {
            Some(mut file) => file.write_all(content.as_ref()),
            None => written.output.create_partial().and_then(|(partial, mut file)| {
                written.partial = Some(partial);
                file.write_all(content.as_ref()).and_then(|()| file.sync_all())
            }),
        };
        done.map_err(|cause| written.output.cannot_write(&cause)).map(|()| written)
    }

    fn cannot_write(&self, cause: &std::io::Error) -> TargetError {
        let (flag, path) = (self.flag, quoted(&self.path));
        TargetError::Output(format!("cannot write {path} ({flag}): {cause}"))
    }

    /// A new file next to the final one, under an unused, unpredictable name. In a folder that all users
    /// may write to, a file with a predictable name may be a link to something else.
    fn create_partial(&self) -> std::io::Result<(PathBuf, File)> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let mut attempt = 0;
        loop {
            let partial = format!(".{name}.{}-{attempt}.partial", std::process::id());
            let partial = self.path.with_file_name(partial);
            match File::create_new(&partial) {
                Ok(file) => return Ok((partial, file)),
                Err(cause) if cause.kind() == ErrorKind::AlreadyExists && attempt < ATTEMPTS => {
                    attempt += 1;
                }
                Err(cause) => return Err(cause),
            }
        }
    }
}

/// A complete result next to its place; deleted if it is not put in place.
#[derive(Debug)]
pub struct WrittenFile {
    output: OutputFile,
    /// `None` if it was already written.
    partial: Option<PathBuf>,
}

impl WrittenFile {
    /// Replaces the file at its place.
    ///
    /// # Errors
    /// If that fails; the existing file is then kept.
    pub fn put_in_place(mut self) -> Result<(), TargetError> {
        let Some(partial) = &self.partial else { return Ok(()) };
        fs::rename(partial, &self.output.path).map_err(|cause| self.output.cannot_write(&cause))?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for WrittenFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // An earlier error is the one to report.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Refuses a target on another machine whose path on this machine is a file of the command itself: the
/// other machine may be this one.
///
/// # Errors
/// If it is such a file.
pub fn refuse_own_file(path: &Path, access: &Access) -> Result<(), TargetError> {
    match access {
        Access::ReadOnly => Ok(()),
        Access::ReadWrite { keep, .. } => refuse_kept(identity, path, keep),
    }
}

/// Refuses a place that the command uses for another purpose.
pub(crate) fn refuse_in_use(flag: &str, path: &Path, in_use: &[InUse]) -> Result<(), TargetError> {
    let other = in_use.iter().find(|other| same_file(identity, path, &other.path));
    other.map_or(Ok(()), |other| {
        let why = format!("it is {}, which the result would destroy", other.role);
        Err(refusal(flag, path, &why))
    })
}

/// An error that refuses to write a result to a place, with a remedy.
pub(crate) fn refusal(flag: &str, path: &Path, why: &str) -> TargetError {
    TargetError::refused(format!("{flag} {}", quoted(path)), why, "name another file")
}
