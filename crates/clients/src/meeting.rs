//! The rendezvous file by which ranks find each other: an address and a secret, readable only by its user.
//!
//! Its name can be guessed, so a file of another user, or one that other users can read or write, is
//! rejected.

use engine::input;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::Path;

/// Opens a file that only this user can have written and only this user can read.
#[cfg(unix)]
pub(crate) fn open_own(path: &Path) -> std::io::Result<File> {
    use rustix::fs::OFlags;
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    // Another user may have put a link there, or a pipe that blocks the open.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(|error| {
        match rustix::io::Errno::from_io_error(&error) {
            Some(rustix::io::Errno::LOOP) => refused("it is a link"),
            _ => error,
        }
    })?;
    // Check the open file: the name may refer to another file by now.
    let facts = file.metadata()?;
    if !facts.is_file() {
        return Err(refused("it is not a file"));
    }
    if facts.uid() != rustix::process::geteuid().as_raw() {
        return Err(refused("it belongs to another user"));
    }
    if facts.mode() & 0o077 != 0 {
        return Err(refused("other users may read or write it"));
    }
    Ok(file)
}

#[cfg(not(unix))]
pub(crate) fn open_own(path: &Path) -> std::io::Result<File> {
    File::open(path)
}

#[cfg(unix)]
fn refused(why: &str) -> std::io::Error {
    let text = format!(
        "{why}, so halfpower does not trust the file; remove it, or name another file \
                 with --rendezvous"
    );
    std::io::Error::new(ErrorKind::PermissionDenied, text)
}

/// A rendezvous file, removed when dropped.
pub(crate) struct Meeting<'a>(&'a Path);

impl<'a> Meeting<'a> {
    pub(crate) fn open(path: &'a Path, text: &str) -> std::io::Result<Self> {
        // A file left by an earlier job may be replaced. Anything else is the user's, or another user's
        // trap.
        if std::fs::symlink_metadata(path).is_ok() {
            if !is_meeting(path) {
                let why = "it exists, but was not written by an earlier job";
                let text = format!("{why}; name another file with --rendezvous");
                return Err(std::io::Error::new(ErrorKind::AlreadyExists, text));
            }
            std::fs::remove_file(path)?;
        }
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        writeln!(options.open(path)?, "{text}")?;
        Ok(Self(path))
    }
}

/// Whether a file is a rendezvous file: an address, and a secret of 32 digits.
fn is_meeting(path: &Path) -> bool {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file());
    let line = if is_file {
        input::first_line(path, input::TOKEN).unwrap_or_default()
    } else {
        String::new()
    };
    line.trim_end().split_once(' ').is_some_and(|(address, secret)| {
        let is_digit = |byte: u8| byte.is_ascii_hexdigit();
        address.contains(':') && secret.len() == 32 && secret.bytes().all(is_digit)
    })
}

impl Drop for Meeting<'_> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(self.0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_another_could_have_made_is_not_believed() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let _meeting = Meeting::open(&file, "127.0.0.1:1 x").expect("it can be made");
        assert!(open_own(&file).is_ok());
        symlink(&file, &link).expect("a link can be made");
        let why = |path: &Path| open_own(path).expect_err("it is refused").to_string();
        assert!(why(&link).starts_with("it is a link"), "{}", why(&link));
        assert!(why(folder.path()).starts_with("it is not a file"), "{}", why(folder.path()));
        let open = std::fs::Permissions::from_mode(0o604);
        std::fs::set_permissions(&file, open).expect("it is ours");
        assert!(why(&file).starts_with("other users may read or write it"), "{}", why(&file));
    }
}
