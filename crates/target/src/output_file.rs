//! Files of results at places that the user names.
//!
//! Only what this program has written is replaced. A flag that says "replace anything" was rejected:
//! a slip of the shell's completion would then cost a file, and another name costs nothing.

use crate::TargetError;
use crate::platform::files::{identity, is_block_device};
use record::quoted;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that a command uses for something else.
#[derive(Clone, Debug)]
pub struct InUse {
    /// Where it is, or will be.
    pub path: PathBuf,
    /// What it is to the command.
    pub role: String,
}

impl InUse {
    /// A file and its role.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, role: &str) -> Self {
        Self { path: path.into(), role: role.to_owned() }
    }
}

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
        path.file_name().ok_or_else(|| wrong("names no file"))?;
        let cannot = |cause: std::io::Error| {
            let text = format!(
                "cannot make the file of {flag} {}; check its folder: {cause}",
                quoted(path)
            );
            TargetError::Output(text)
        };
        // A link stays one: what it points to is replaced.
        let place = real_place(path);
        refuse_in_use(flag, path, in_use)?;
        if let Ok(facts) = fs::metadata(path) {
            if facts.is_dir() {
                return Err(wrong("is a directory; name a file in it"));
            }
            if is_block_device(path) {
                let why = "it is a block device, whose content would be lost";
                return Err(refusal(flag, path, why));
            }
            if !facts.is_file() {
                let file = File::options().write(true).open(path).map_err(cannot)?;
                return Ok(Self { flag, path: path.to_owned(), open: Some(file) });
            }
            if facts.len() > 0 && !(kind.is_in)(path) {
                let why = format!("it exists and is no {}; its content would be lost", kind.name);
                return Err(refusal(flag, path, &why));
            }
        }
        let output = Self { flag, path: place, open: None };
        let partial = output.partial();
        File::create(&partial).and_then(|_| fs::remove_file(&partial)).map_err(cannot)?;
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
        in_use.push(InUse::new(path, &format!("the file of {}", kind.flag)));
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
            None => {
                let partial = written.partial.insert(written.output.partial());
                File::create(partial).and_then(|mut file| {
                    file.write_all(content.as_ref()).and_then(|()| file.sync_all())
                })
            }
        };
        done.map_err(|cause| written.output.cannot_write(&cause)).map(|()| written)
    }

    fn cannot_write(&self, cause: &std::io::Error) -> TargetError {
        let (flag, path) = (self.flag, quoted(&self.path));
        TargetError::Output(format!("cannot write the file of {flag} {path}: {cause}"))
    }

    /// A temporary name next to the file's own.
    fn partial(&self) -> PathBuf {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        self.path.with_file_name(format!(".{name}.{}.partial", std::process::id()))
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

/// Refuses a place that the command uses for something else.
pub(crate) fn refuse_in_use(flag: &str, path: &Path, in_use: &[InUse]) -> Result<(), TargetError> {
    let other = in_use.iter().find(|other| same_file(path, &other.path));
    other.map_or(Ok(()), |other| {
        let why = format!("it is {}, which the result would destroy", other.role);
        Err(refusal(flag, path, &why))
    })
}

/// A refusal to write a result to a place, and the way out.
pub(crate) fn refusal(flag: &str, path: &Path, why: &str) -> TargetError {
    TargetError::refused(format!("{flag} {}", quoted(path)), why, "name another file")
}

/// The path behind all links; of a file that is not there yet, in its real folder.
fn real_place(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        match (folder, path.file_name()) {
            (Ok(folder), Some(name)) => folder.join(name),
            _ => path.to_owned(),
        }
    })
}

/// Whether two paths are one file, by whatever name. A log of the database may not be there yet, so
/// that names count too.
fn same_file(one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|one| Some(one) == identity(other))
        || real_place(one) == real_place(other)
}
