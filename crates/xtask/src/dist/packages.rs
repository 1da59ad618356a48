//! Builds the packages: an archive, a .deb and an .rpm from one tree.

use super::{Dist, NAME, SUMMARY, VERSION, output, pages, put};
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

const DESCRIPTION: [&str; 4] = [
    "halfpower loads a disk with a small, controlled set of requests and reads the",
    "device's counters beside its own. It says how fast the disk is, what a load",
    "will see, which request size and queue depth to use, and whether a slow system",
    "is slow because of its disk. It also imports what iostat, sar and others kept.",
];

/// Completes the tree and packs it in three formats.
pub(super) fn write(dist: &Dist, tree: &Path, binary: &Path) -> Result<()> {
    let program = tree.join("usr/bin").join(NAME);
    put(&program, std::fs::read(binary)?)?;
    mode(&program, 0o755)?;
    let documents = tree.join("usr/share/doc").join(NAME);
    put(&documents.join("README.md"), std::fs::read(dist.root.join("README.md"))?)?;
    archive(dist, tree)?;
    output(Command::new("gzip").arg("-9nr").arg(tree.join(pages::MANUAL)))?;
    rpm(dist, tree)?;
    deb(dist, tree)
}

fn mode(path: &Path, mode: u32) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    Ok(std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode))?)
}

/// A `.tar.gz` that unpacks into one folder with the program on top.
fn archive(dist: &Dist, tree: &Path) -> Result<()> {
    let stem = dist.stem();
    let folder = dist.out.join(&stem);
    let share = tree.join("usr/share");
    let parts = [
        ("usr/bin/halfpower", "halfpower"),
        ("usr/share/bash-completion/completions/halfpower", "completions/halfpower.bash"),
        ("usr/share/zsh/vendor-completions/_halfpower", "completions/_halfpower"),
        ("usr/share/fish/vendor_completions.d/halfpower.fish", "completions/halfpower.fish"),
    ];
    for (from, to) in parts {
        put(&folder.join(to), std::fs::read(tree.join(from))?)?;
    }
    mode(&folder.join(NAME), 0o755)?;
    for (from, to) in [(share.join("man/man1"), "man"), (share.join("doc").join(NAME), "")] {
        for entry in std::fs::read_dir(&from)? {
            let entry = entry?;
            put(&folder.join(to).join(entry.file_name()), std::fs::read(entry.path())?)?;
        }
    }
    let packed = dist.out.join(format!("{stem}.tar"));
    output(
        Command::new("tar")
            .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"])
            .args(["--mode=go-w", &format!("--mtime=@{}", dist.epoch)])
            .arg("-C")
            .arg(&dist.out)
            .arg("-cf")
            .args([&packed, Path::new(&stem)]),
    )?;
    output(Command::new("gzip").arg("-9n").arg(&packed))?;
    Ok(std::fs::remove_dir_all(folder)?)
}

/// The packages' maintainer, at a domain that cannot be registered.
fn maintainer() -> String {
    format!("The {NAME} authors <{NAME}@example.invalid>")
}

/// A Debian package, made by dpkg-deb. The program is static, so the package has no dependencies. dpkg makes
/// the checksums of its files at the installation.
fn deb(dist: &Dist, tree: &Path) -> Result<()> {
    let (machine, _) = dist.machines()?;
    let maintainer = maintainer();
    let mut kib = 0;
    for file in files(tree)? {
        kib += std::fs::metadata(tree.join(file))?.len().div_ceil(1024);
    }
    let control = format!(
        "Package: {NAME}\nVersion: {VERSION}\nArchitecture: {machine}\nMaintainer: {maintainer}\n\
         Installed-Size: {kib}\nSection: admin\nPriority: optional\nDescription: {SUMMARY}\n {}\n",
        DESCRIPTION.join("\n ")
    );
    put(&tree.join("DEBIAN/control"), control)?;
    output(
        Command::new("dpkg-deb")
            .args(["--root-owner-group", "-Zxz", "--build"])
            .args([tree, &dist.out.join(format!("{NAME}_{VERSION}_{machine}.deb"))])
            .env("SOURCE_DATE_EPOCH", dist.epoch.to_string()),
    )
    .map(drop)
}

/// An RPM package, made by rpmbuild, with the same files.
fn rpm(dist: &Dist, tree: &Path) -> Result<()> {
    let (_, machine) = dist.machines()?;
    let work = dist.out.join("rpm");
    let files = files(tree)?;
    // Other systems have zsh completions in another folder than Debian.
    let zsh = "mv %{buildroot}/usr/share/zsh/vendor-completions %{buildroot}/usr/share/zsh/site-functions";
    let root = tree.display();
    let spec = format!(
        "Name: {NAME}\nVersion: {VERSION}\nRelease: 1\nSummary: {}\nLicense: MIT OR Apache-2.0\n\
         Packager: {}\nGroup: Applications/System\nAutoReqProv: no\n\n%description\n{}\n\n%install\n\
         mkdir -p %{{buildroot}}\ncp -a {root}/. %{{buildroot}}/\n{zsh}\n\n%files\n%defattr(-,root,root,-)\n\
         %dir /usr/share/doc/{NAME}\n{}\n\n%changelog\n",
        SUMMARY[..1].to_uppercase() + &SUMMARY[1..],
        maintainer(),
        DESCRIPTION.join("\n"),
        files.iter().map(|file| attribute(&format!("/{file}"))).collect::<Vec<_>>().join("\n"),
    );
    put(&work.join("halfpower.spec"), spec)?;
    let define = |name: &str, value: &str| ["--define".to_owned(), format!("{name} {value}")];
    let topdir = work.display().to_string();
    let epoch = dist.epoch.to_string();
    let defines = [
        define("_topdir", &topdir),
        define("_buildhost", NAME),
        define("use_source_date_epoch_as_buildtime", "1"),
        define("clamp_mtime_to_source_date_epoch", "1"),
        define("_build_id_links", "none"),
        define("debug_package", "%{nil}"),
        define("__os_install_post", "%{nil}"),
        define("_binary_payload", "w9.gzdio"),
        // The package contains the program of the target, whatever the architecture of this machine.
        define("_binaries_in_noarch_packages_terminate_build", "0"),
    ];
    times(tree, dist.epoch)?;
    output(
        Command::new("rpmbuild")
            .args(["-bb", "--quiet", "--target", &format!("{machine}-linux")])
            .args(defines.iter().flatten())
            .arg(work.join("halfpower.spec"))
            .env("SOURCE_DATE_EPOCH", epoch),
    )?;
    let made = work.join("RPMS").join(machine).join(format!("{NAME}-{VERSION}-1.{machine}.rpm"));
    let name = made.file_name().context("a package has a name")?.to_owned();
    std::fs::rename(&made, dist.out.join(name)).context("rpmbuild left no package")?;
    Ok(std::fs::remove_dir_all(work)?)
}

/// A line of `%files`.
fn attribute(file: &str) -> String {
    let kind = if file.contains("/man/") || file.contains("/doc/") { "%doc " } else { "" };
    let mode = if file.starts_with("/usr/bin/") { "0755" } else { "0644" };
    let file = file.replace("/zsh/vendor-completions/", "/zsh/site-functions/");
    format!("%attr({mode},root,root) {kind}{file}")
}

/// Sets the time of each file and folder to that of the packages.
fn times(tree: &Path, epoch: u64) -> Result<()> {
    let time = format!("@{epoch}");
    output(Command::new("find").arg(tree).args(["-exec", "touch", "--date", &time, "{}", "+"]))
        .map(drop)
}

/// Every file below a folder, relative to it, sorted.
fn files(folder: &Path) -> Result<Vec<String>> {
    let found = output(Command::new("find").arg(folder).args(["-type", "f", "-printf", "%P\\n"]))?;
    let mut files: Vec<String> = found.lines().map(str::to_owned).collect();
    files.sort();
    Ok(files)
}
