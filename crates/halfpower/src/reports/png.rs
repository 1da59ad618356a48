//! PNG by a browser that is installed: it draws the same SVG that the page shows.
//!
//! A rasteriser in the program (resvg with its fonts) would add some forty crates to every build
//! for what most readers never ask; a server that makes reports for slides has a chromium, or can
//! take the SVG. The browser gets a profile folder of its own, which goes with it.

use anyhow::{Context, anyhow};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names under which it is installed.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];

/// An installed browser.
#[derive(Debug)]
pub(super) struct Browser {
    program: PathBuf,
}

impl Browser {
    /// The first one in the folders of programs.
    pub(super) fn find() -> anyhow::Result<Self> {
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&folders)
            .flat_map(|folder| NAMES.map(|name| folder.join(name)))
            .find(|path| path.is_file());
        let missing = || {
            anyhow!(
                "--png takes an installed chromium, and there is none (looked for {}); install it, or \
                 use --svg",
                NAMES.join(", ")
            )
        };
        Ok(Self { program: found.ok_or_else(missing)? })
    }

    /// Draws an SVG of a size in pixels.
    pub(super) fn draw(&self, svg: &Path, png: &Path, size: (u32, u32)) -> anyhow::Result<()> {
        let svg = std::fs::canonicalize(svg).with_context(|| format!("cannot find {svg:?}"))?;
        let profile = ProfileFolder::new()?;
        let address = format!("file://{}", percent_encoded(&svg));
        let mut command = Command::new(&self.program);
        command
            .args(["--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run"])
            .arg(format!("--user-data-dir={}", profile.0.display()))
            .arg(format!("--window-size={},{}", size.0, size.1))
            .arg(format!("--screenshot={}", png.display()))
            .stdin(Stdio::null());
        // The sandbox of a browser does not work for root; the drawing is ours and has no script.
        if std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0) {
            command.arg("--no-sandbox");
        }
        let program = self.program.display();
        let output = command
            .arg(address)
            .output()
            .with_context(|| format!("cannot run {program}; use --svg"))?;
        if !png.is_file() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = said.lines().last().unwrap_or_default();
            return Err(anyhow!("{program} drew no {png:?}: {last}; use --svg"));
        }
        Ok(())
    }
}

/// A path as a part of an address.
fn percent_encoded(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./~".contains(byte);
    bytes
        .iter()
        .map(|byte| match plain(byte) {
            true => char::from(*byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// A folder that is removed with its content.
struct ProfileFolder(PathBuf);

impl ProfileFolder {
    fn new() -> anyhow::Result<Self> {
        let name = format!("halfpower-browser-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {path:?}"))?;
        Ok(Self(path))
    }
}

impl Drop for ProfileFolder {
    fn drop(&mut self) {
        // What is left over is small and in the folder of temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_of_odd_letters_becomes_an_address() {
        assert_eq!(percent_encoded(Path::new("/a b/#ü%")), "/a%20b/%23%C3%BC%25");
    }
}
