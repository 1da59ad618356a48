//! Prepares the guests of the lab: Debian's kernel, and an initrd with a shell, the tools that a case needs,
//! and the program.
//!
//! Packages are downloaded and unpacked below the build folder but never installed, so the machine that runs
//! the lab does not change.

use super::cases::Case;
use crate::child;
use anyhow::{Context, Result, ensure};
use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Packages in addition to the kernel: a shell, software arrays, the device mapper, volumes, file servers,
/// the network, and their dependencies.
const PACKAGES: &str = "busybox-static mdadm dmsetup libdevmapper1.02.1 nfs-kernel-server \
    nfs-common libtirpc3 libtirpc-common libevent-core-2.1-7 iproute2 libmnl0 libnsl2 libwrap0 \
    libbpf1 samba samba-libs libwbclient0 libtalloc2 libtevent0 libtdb1 libldb2 libpopt0 liblmdb0 \
    lvm2 cryptsetup-bin libcryptsetup12 libargon2-1 libjson-c5 libuuid1 libdevmapper-event1.02.1 \
    libaio1 libssl3 libgssapi-krb5-2 libkrb5-3 libk5crypto3 libkrb5support0 \
    libkeyutils1";
/// Programs of every guest; a case may add others.
const PROGRAMS: [&str; 2] = ["sbin/mdadm", "sbin/dmsetup"];
const KERNEL: &str = "linux-image-amd64";
const INIT: &str = include_str!("init.sh");
/// Name of the socket that connects the networks of two guests.
pub(super) const WIRE: &str = "wire";
/// Debian's library folder.
const LIBRARIES: &str = "lib/x86_64-linux-gnu";

/// The prepared files of guests.
pub(super) struct Guest {
    folder: PathBuf,
    binary: PathBuf,
    /// Release of its kernel.
    release: String,
}

impl Guest {
    /// Downloads and unpacks whatever is missing.
    pub(super) fn new(folder: PathBuf, binary: PathBuf) -> Result<Self> {
        let folder = std::path::absolute(folder)?;
        let (packages, unpacked) = (folder.join("packages"), folder.join("unpacked"));
        std::fs::create_dir_all(&packages)?;
        let list = unpacked.join("list");
        if std::fs::read_to_string(&list).ok().as_deref() != Some(PACKAGES) {
            for old in [&packages, &unpacked].into_iter().filter(|old| old.exists()) {
                std::fs::remove_dir_all(old)?;
            }
            std::fs::create_dir_all(&packages)?;
            let kernel = kernel_package()?;
            let mut fetch = Command::new("apt-get");
            fetch
                .args(["-q", "download", &kernel])
                .args(PACKAGES.split(' '))
                .current_dir(&packages);
            quiet(&mut fetch)?;
            let partly = folder.join("unpacked-partly");
            for package in std::fs::read_dir(&packages)? {
                let package = package?.path();
                if package.extension().is_some_and(|end| end == "deb") {
                    quiet(Command::new("dpkg").arg("-x").arg(&package).arg(&partly))?;
                }
            }
            std::fs::write(partly.join("list"), PACKAGES)?;
            std::fs::rename(&partly, &unpacked)?;
        }
        let modules = unpacked.join("lib/modules");
        let mut releases = std::fs::read_dir(&modules)?;
        let release = releases.next().context("the kernel's package holds no modules")??;
        let release = release.file_name().to_string_lossy().into_owned();
        if !modules.join(&release).join("modules.dep").is_file() {
            let busybox = unpacked.join("bin/busybox");
            quiet(Command::new(busybox).args(["depmod", "-b"]).arg(&unpacked).arg(&release))?;
        }
        Ok(Self { folder, binary, release })
    }

    /// The folder of all files.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The socket that connects the networks of two guests.
    pub(super) fn wire(&self) -> PathBuf {
        self.folder.join(WIRE)
    }

    pub(super) fn kernel(&self) -> PathBuf {
        self.unpacked().join(format!("boot/vmlinuz-{}", self.release))
    }

    /// Builds the initrd of a case: its modules and programs with their dependencies, and its script after
    /// the lines `before`.
    pub(super) fn initrd(&self, case: &Case, before: &str) -> Result<PathBuf> {
        let Case { name, modules, .. } = case;
        let root = self.folder.join("root");
        if root.exists() {
            std::fs::remove_dir_all(&root)?;
        }
        for folder in ["bin", "sbin", "lib64", LIBRARIES] {
            std::fs::create_dir_all(root.join(folder))?;
        }
        let unpacked = self.unpacked();
        let busybox = unpacked.join("bin/busybox");
        std::fs::copy(&busybox, root.join("bin/busybox"))?;
        let programs = PROGRAMS.into_iter().chain(case.programs.iter().map(String::as_str));
        let mut programs: Vec<(PathBuf, PathBuf)> =
            programs.map(|program| (unpacked.join(program), root.join(program))).collect();
        programs.push((self.binary.clone(), root.join("bin/halfpower")));
        for (program, place) in programs {
            std::fs::create_dir_all(place.parent().context("a program without a folder")?)?;
            std::fs::copy(&program, place).with_context(|| program.display().to_string())?;
            self.libraries_into(&program, &root)?;
        }
        // The list of networks, for RPC clients.
        std::fs::create_dir_all(root.join("etc"))?;
        std::fs::copy(unpacked.join("etc/netconfig"), root.join("etc/netconfig"))?;
        self.modules(modules, &root)?;
        let loaded = modules.iter().filter(|module| !module.starts_with('-'));
        let list: String = loaded.map(|module| format!("{module}\n")).collect();
        std::fs::write(root.join("modules"), list)?;
        std::fs::write(root.join("case.sh"), before.to_owned() + &case.script()?)?;
        std::fs::write(root.join("init"), INIT)?;
        quiet(Command::new("chmod").arg("755").arg(root.join("init")))?;
        let image = self.folder.join(format!("{name}.cpio"));
        let names = Command::new(&busybox)
            .args(["find", "."])
            .current_dir(&root)
            .stdout(Stdio::piped())
            .spawn()?
            .stdout
            .context("find has no output")?;
        let mut archive = Command::new(&busybox);
        archive.args(["cpio", "-o", "-H", "newc"]).current_dir(&root);
        archive.stdin(names).stdout(File::create(&image)?).stderr(Stdio::null());
        ensure!(archive.status()?.success(), "cannot make {}", image.display());
        Ok(image)
    }

    fn libraries_into(&self, program: &Path, root: &Path) -> Result<()> {
        for library in self.libraries(program)? {
            let name = library.file_name().context("a library without a name")?;
            let loader = name.to_string_lossy().starts_with("ld-linux");
            let place = root.join(if loader { "lib64" } else { LIBRARIES }).join(name);
            std::fs::copy(&library, place)?;
        }
        Ok(())
    }

    fn unpacked(&self) -> PathBuf {
        self.folder.join("unpacked")
    }

    /// The libraries of a program, as the loader finds them.
    fn libraries(&self, program: &Path) -> Result<Vec<PathBuf>> {
        let mut ldd = Command::new("ldd");
        let unpacked = self.unpacked();
        let usual = unpacked.join("usr").join(LIBRARIES);
        let folders = [unpacked.join(LIBRARIES), usual.join("samba"), usual];
        ldd.arg(program).env("LD_LIBRARY_PATH", std::env::join_paths(folders)?);
        let told = ldd.output().context("cannot run ldd")?;
        let text = String::from_utf8_lossy(&told.stdout).into_owned();
        let path = |line: &str| {
            line.split_ascii_whitespace().find(|word| word.starts_with('/')).map(PathBuf::from)
        };
        ensure!(!text.contains("not found"), "{}: {text}", program.display());
        Ok(text.lines().filter_map(path).collect())
    }

    /// Copies modules and their dependencies.
    fn modules(&self, names: &[String], root: &Path) -> Result<()> {
        let place = format!("lib/modules/{}", self.release);
        let (from, to) = (self.unpacked().join(&place), root.join(&place));
        let table = std::fs::read_to_string(from.join("modules.dep"))?;
        let lines: Vec<(&str, &str)> =
            table.lines().filter_map(|line| line.split_once(':')).collect();
        let is = |path: &str, name: &str| {
            let file = path.rsplit('/').next().unwrap_or(path);
            file.trim_end_matches(".ko").replace('_', "-") == name.replace('_', "-")
        };
        let mut wanted = BTreeSet::new();
        for module in names {
            let name = module.trim_start_matches('-').split(' ').next().unwrap_or(module);
            let (path, needs) = lines
                .iter()
                .find(|(path, _)| is(path, name))
                .with_context(|| format!("this kernel has no module {name}"))?;
            wanted.insert((*path).to_owned());
            wanted.extend(needs.split_ascii_whitespace().map(str::to_owned));
        }
        for path in &wanted {
            let copy = to.join(path);
            std::fs::create_dir_all(copy.parent().context("a module without a folder")?)?;
            std::fs::copy(from.join(path), copy)?;
        }
        std::fs::create_dir_all(&to)?;
        std::fs::copy(from.join("modules.dep"), to.join("modules.dep"))?;
        Ok(())
    }
}

/// The package with Debian's newest kernel.
fn kernel_package() -> Result<String> {
    let told = Command::new("apt-cache").args(["depends", KERNEL]).output()?;
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let name = text.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
    Ok(name.context("apt knows no kernel")?.to_owned())
}

/// Runs a command whose output is printed only if it fails.
fn quiet(command: &mut Command) -> Result<()> {
    child::output(command, &[0]).map(drop)
}
