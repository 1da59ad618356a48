//! Files that a command uses for something else than its target, and when two names are one of them.

use crate::target::error::TargetError;
use record::quoted;
use std::fs;
use std::path::{Path, PathBuf};

/// Links that are followed to a place, as the kernel does (path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// A file that a command uses for something else.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// How the system tells one file from another.
pub(crate) type Identity = fn(&Path) -> Option<(u64, u64, u64)>;

/// The path behind all links. A file that is not there yet, also one that a link points to, has its place in a
/// real folder.
pub(crate) fn real_place(path: &Path) -> PathBuf {
    let mut place = path.to_owned();
    for _ in 0..MOST_LINKS {
        if let Ok(real) = fs::canonicalize(&place) {
            return real;
        }
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")));
        let (Ok(folder), Some(name)) = (folder, place.file_name()) else { break };
        place = folder.join(name);
        match fs::read_link(&place) {
            Ok(target) => place = folder.join(target),
            Err(_) => return place,
        }
    }
    path.to_owned()
}

/// Whether two paths are one file, by whatever name. A log of the database may not be there yet, so
/// that names count too.
pub(crate) fn same_file(identity: Identity, one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|one| Some(one) == identity(other))
        || real_place(one) == real_place(other)
}

/// Refuses a target that the command itself uses for something else.
pub(crate) fn refuse_kept(
    identity: Identity,
    path: &Path,
    keep: &[InUse],
) -> Result<(), TargetError> {
    let kept = keep.iter().find(|kept| same_file(identity, path, &kept.path));
    kept.map_or(Ok(()), |kept| {
        let why = format!("it is {}, which the run would destroy", kept.role);
        let what = format!("writing to the file {}", quoted(path));
        Err(TargetError::refused(what, &why, "name another target"))
    })
}
