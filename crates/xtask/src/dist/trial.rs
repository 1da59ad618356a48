//! Tries the packages as users do: checks them with Debian's and RPM's own tools, installs them in a separate
//! system, runs them there, and removes them without a trace. man-db reads the manual pages.
//!
//! The separate Debian is made by debootstrap below `target/dist-try`, and is kept for the next time. If the
//! machine lacks something, the test is skipped with the reason.

use super::{Dist, NAME, VERSION, output};
use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::Capability;

/// Tries a package; the error says what is wrong with it.
type Try = fn(&Dist) -> Result<()>;

/// A typical first command. Its output is the same everywhere.
const FIRST: [&str; 4] = ["run", "sim:mm1,service=5ms", "--no-save", "--json"];

/// Tries everything that is possible here; returns whether all succeeded.
pub(super) fn run(dist: &Dist) -> Result<bool> {
    let tries: [(&str, Try); 4] =
        [("lintian", lintian), ("manual pages", manual), ("deb", deb), ("rpm", rpm)];
    let mut good = true;
    for (name, work) in tries {
        if let Some(lack) = lack(name) {
            testkit::skip(&format!("dist: {name}"), &lack);
            continue;
        }
        match work(dist) {
            Ok(()) => println!("{name}: ok"),
            Err(error) => {
                println!("{name}: {error:#}");
                good = false;
            }
        }
    }
    Ok(good)
}

/// What the machine lacks for a try, if anything.
fn lack(name: &str) -> Option<String> {
    let programs: &[&str] = match name {
        "lintian" => &["lintian"],
        "manual pages" => &["man", "lexgrog"],
        "deb" => &["debootstrap", "dpkg-deb"],
        _ => &["rpm"],
    };
    let there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    let missing = programs.iter().find(|program| !there(program));
    missing.map(|program| format!("{program} is not installed")).or_else(|| {
        let asks_root = ["deb", "rpm"].contains(&name);
        asks_root.then(|| Capability::Root.missing()).flatten()
    })
}

fn package(dist: &Dist, end: &str) -> Result<PathBuf> {
    let name = dist.files()?.into_iter().find(|name| name.ends_with(end));
    Ok(dist.out.join(name.with_context(|| format!("no package {end}"))?))
}

fn lintian(dist: &Dist) -> Result<()> {
    let mut lintian = Command::new("lintian");
    // In a container, root runs the build.
    lintian.args(["--allow-root", "--fail-on", "error"]).arg(package(dist, ".deb")?);
    let told = lintian.output()?;
    let words = String::from_utf8_lossy(&told.stdout).into_owned();
    print!("{words}");
    ensure!(told.status.success(), "it ended with {}", told.status);
    Ok(())
}

/// Checks every page with man-db: no warnings, and a name and subject are found.
fn manual(dist: &Dist) -> Result<()> {
    let folder = tempfile::tempdir()?;
    output(Command::new("dpkg-deb").arg("-x").arg(package(dist, ".deb")?).arg(folder.path()))?;
    let mut pages = Vec::new();
    for entry in std::fs::read_dir(folder.path().join(super::pages::MANUAL))? {
        pages.push(entry?.path());
    }
    pages.sort();
    ensure!(!pages.is_empty(), "the package holds no manual page");
    for page in &pages {
        let mut man = Command::new("man");
        man.args(["--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]).arg(page);
        let told =
            man.env("MANROFFSEQ", "").env("MANWIDTH", "80").env("LC_ALL", "C.UTF-8").output()?;
        let words = String::from_utf8_lossy(&told.stderr).into_owned();
        ensure!(told.status.success() && words.is_empty(), "{}: {words}", page.display());
        output(Command::new("lexgrog").arg(page))?;
    }
    println!("{} pages", pages.len());
    Ok(())
}

/// Installs the .deb in a separate Debian, runs the program, and removes it.
fn deb(dist: &Dist) -> Result<()> {
    let root = debian(dist)?;
    let package = package(dist, ".deb")?;
    let inside = Path::new("/tmp/halfpower.deb");
    std::fs::copy(&package, root.join("tmp/halfpower.deb"))?;
    let chroot = |words: &[&str]| {
        let mut command = Command::new("chroot");
        output(
            command
                .arg(&root)
                .args(words)
                .env("LC_ALL", "C")
                .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"),
        )
    };
    let before = listing(&root)?;
    chroot(&["dpkg", "--install", &inside.display().to_string()])?;
    let told = chroot(&["halfpower", "--version"])?;
    ensure!(told.trim() == format!("{NAME} {VERSION}"), "the version is {told:?}");
    let words: Vec<&str> = ["halfpower"].into_iter().chain(FIRST).collect();
    same_answer(dist, &chroot(&words)?)?;
    chroot(&["dpkg", "--purge", NAME])?;
    let left: Vec<String> =
        listing(&root)?.into_iter().filter(|file| !before.contains(file)).collect();
    ensure!(left.is_empty(), "the removed package left {left:?}");
    Ok(())
}

/// The same with the .rpm, in an empty root for rpm.
fn rpm(dist: &Dist) -> Result<()> {
    let package = package(dist, ".rpm")?;
    print!("{}", output(Command::new("rpm").arg("-K").arg(&package))?);
    let folder = tempfile::tempdir()?;
    let root = folder.path();
    let rpm = |words: &[&str]| output(Command::new("rpm").arg("--root").arg(root).args(words));
    rpm(&["--initdb"])?;
    rpm(&["--install", &package.display().to_string()])?;
    let program = Path::new("/usr/bin").join(NAME);
    let mut chroot = Command::new("chroot");
    same_answer(dist, &output(chroot.arg(root).arg(&program).args(FIRST))?)?;
    rpm(&["--erase", NAME])?;
    let left: Vec<String> = listing(root)?.into_iter().filter(|file| file.contains(NAME)).collect();
    ensure!(left.is_empty(), "the removed package left {left:?}");
    Ok(())
}

/// Compares the installed program's output with the built program's. A simulated document depends only on its
/// command line.
fn same_answer(dist: &Dist, answer: &str) -> Result<()> {
    let ours = output(Command::new(dist.out.join(NAME)).args(FIRST))?;
    ensure!(answer == ours, "the installed program answers something else:\n{answer}");
    Ok(())
}

/// Every file and folder below a root, except those that running programs leave.
fn listing(root: &Path) -> Result<Vec<String>> {
    let mut find = Command::new("find");
    let left_out =
        ["./proc", "./sys", "./dev", "./tmp", "./var/log", "./var/lib/dpkg", "./var/cache"];
    find.current_dir(root).arg(".");
    for path in left_out {
        find.args(["-path", path, "-prune", "-o"]);
    }
    Ok(output(find.arg("-print"))?.lines().map(str::to_owned).collect())
}

/// A small Debian, made once.
fn debian(dist: &Dist) -> Result<PathBuf> {
    let root = dist.build.with_file_name("dist-try");
    if !root.join("usr/bin/dpkg").is_file() {
        println!("debootstrap makes {} (once)", root.display());
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let suite = release.lines().find_map(|line| line.strip_prefix("VERSION_CODENAME="));
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", suite.unwrap_or("stable")]).arg(&root);
        output(&mut debootstrap)?;
    }
    Ok(root)
}
