//! Tracks files that a command uses for other purposes than its target, and detects two names of one file.

use crate::target::error::TargetError;
use record::quoted;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of links to follow, as in the kernel (path_resolution(7)).
const MOST_LINKS: u32 = 40;

/// A file that a command uses for another purpose than its target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InUse {
    /// Its current or future path.
    pub path: PathBuf,
    /// Its purpose in the command.
    pub role: String,
}

impl InUse {
    /// A file and its role.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, role: &str) -> Self {
        Self { path: path.into(), role: role.to_owned() }
    }
}

/// Returns what identifies a file to the system.
pub(crate) type Identity = fn(&Path) -> Option<(u64, u64, u64)>;

/// The path with all links resolved. For a file that does not exist yet, even behind a link, its future
/// path in a real folder.
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

/// Whether two paths are one file. Names also count, because a log of the database may not exist yet.
pub(crate) fn same_file(identity: Identity, one: &Path, other: &Path) -> bool {
    identity(one).is_some_and(|one| Some(one) == identity(other))
        || real_place(one) == real_place(other)
}

/// Rejects a target that the command itself uses for another purpose.
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
