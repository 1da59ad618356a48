//! Files of results at places that the user names.
//!
//! Only what this program has written is replaced. A flag that says "replace anything" was rejected:
//! a slip of the shell's completion would then cost a file, and another name costs nothing.

use crate::target::TargetError;
use crate::target::handle::Access;
use crate::target::in_use::{InUse, real_place, refuse_kept, same_file};
use crate::target::platform::files::{identity, is_block_device, is_stream, open_stream};
use record::quoted;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Names that are tried for a result that is not complete.
const ATTEMPTS: u32 = 100;

/// A kind of result.
#[derive(Clone, Copy, Debug)]
pub struct OutputKind {
    /// The flag that names its file.
    pub flag: &'static str,
    /// What it is called.
    pub name: &'static str,
    /// Whether a file holds one, whose loss is what a repeated command means.
    pub is_in: fn(&Path) -> bool,
}

/// A place for a result, tried before anything is measured, so that a bad path fails at once.
/// What was there before is replaced only when the result is complete, and nothing is left beside
/// it however the program ends: the trial of the place is deleted again at once.
#[derive(Debug)]
pub struct OutputFile {
    flag: &'static str,
    path: PathBuf,
    /// A device or a pipe, which is written and not replaced.
    open: Option<File>,
}

impl OutputFile {
    /// Makes sure that the file can be made and that nothing is lost by it.
    ///
    /// # Errors
    /// If it cannot be made, or something would be lost.
    pub fn create(kind: &OutputKind, path: &Path, in_use: &[InUse]) -> Result<Self, TargetError> {
        let flag = kind.flag;
        let wrong = |why: &str| TargetError::Output(format!("{flag} {} {why}", quoted(path)));
        path.file_name().ok_or_else(|| wrong("is not the name of a file"))?;
        let cannot = |cause: std::io::Error| {
            let text =
                format!("cannot create {} ({flag}); check its folder: {cause}", quoted(path));
            TargetError::Output(text)
        };
        // A link stays one: what it points to is made or replaced.
        let place = real_place(path);
        refuse_in_use(flag, path, in_use)?;
        // Judged by the place alone: a link may lead elsewhere by the time the result is put there.
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

    /// The same for a flag that may be absent; its place is then in use.
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

    /// Writes the result and puts it in its place.
    ///
    /// # Errors
    /// If it cannot be written; what was there before is then kept.
    pub fn finish(self, content: impl AsRef<[u8]>) -> Result<(), TargetError> {
        self.write_beside(content)?.put_in_place()
    }

    /// Writes the result beside its place, so that several can be complete before the first is put in its
    /// place. A device or a pipe is written at once.
    ///
    /// # Errors
    /// If it cannot be written; what was there before is then kept.
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

    /// A new file next to the file's own, under a name that nothing has: what lies there under a name that can be
    /// guessed, in a folder that all may write, is perhaps a link to something else.
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

/// A result that is complete, beside its place; deleted again where it is not put there.
#[derive(Debug)]
pub struct WrittenFile {
    output: OutputFile,
    /// `None` of what was written already.
    partial: Option<PathBuf>,
}

impl WrittenFile {
    /// Replaces what was at its place.
    ///
    /// # Errors
    /// If it cannot; what was there before is then kept.
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
            // An error before this is the one to tell.
            let _ = fs::remove_file(partial);
        }
    }
}

/// Refuses a target on another machine whose name is here that of a file of the command itself: the other machine may
/// be this one.
///
/// # Errors
/// If it is one.
pub fn refuse_own_file(path: &Path, access: &Access) -> Result<(), TargetError> {
    match access {
        Access::ReadOnly => Ok(()),
        Access::ReadWrite { keep, .. } => refuse_kept(identity, path, keep),
    }
}

/// Refuses a place that the command uses for something else.
pub(crate) fn refuse_in_use(flag: &str, path: &Path, in_use: &[InUse]) -> Result<(), TargetError> {
    let other = in_use.iter().find(|other| same_file(identity, path, &other.path));
    other.map_or(Ok(()), |other| {
        let why = format!("it is {}, which the result would destroy", other.role);
        Err(refusal(flag, path, &why))
    })
}

/// A refusal to write a result to a place, and the way out.
pub(crate) fn refusal(flag: &str, path: &Path, why: &str) -> TargetError {
    TargetError::refused(format!("{flag} {}", quoted(path)), why, "name another file")
}
