//! Compiles the few lines of C that call MPI, by the compiler of the MPI that is to be linked: `mpicc`, or
//! what `MPICC` names. Without the feature it does nothing.
//!
//! Handles of MPI are pointers in one library and numbers in another, and its constants differ as well: C
//! that is compiled with the library's own header hides both. Rejected: the crates `mpi` and `mpi-sys`, which
//! need libclang to read that header, for five functions.

use std::path::{Path, PathBuf};
use std::process::Command;

const SHIM: &str = "src/mpi/shim.c";

fn main() {
    println!("cargo::rerun-if-changed={SHIM}");
    println!("cargo::rerun-if-env-changed=MPICC");
    if std::env::var_os("CARGO_FEATURE_LINKED").is_none() {
        return;
    }
    if let Err(why) = link() {
        println!("cargo::error=the feature mpi: {why}");
    }
}

fn link() -> Result<(), String> {
    let compiler = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".to_owned());
    let folder = std::env::var_os("OUT_DIR").map(PathBuf::from).ok_or("cargo names no folder")?;
    let (object, archive) = (folder.join("shim.o"), folder.join("libhalfpower_mpi_shim.a"));
    run(Command::new(&compiler).args(["-O2", "-fPIC", "-Wall", "-c", SHIM, "-o"]).arg(&object))?;
    // An archive of before may have members that are not there any more.
    let _ = std::fs::remove_file(&archive);
    run(Command::new("ar").arg("crs").arg(&archive).arg(&object))?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static=halfpower_mpi_shim");
    // Open MPI and MPICH print the command line that they stand for.
    let words = run(Command::new(&compiler).arg("-show"))?;
    let mut libraries = 0;
    for word in words.split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L").filter(|it| Path::new(it).is_dir()) {
            println!("cargo::rustc-link-search=native={folder}");
        } else if let Some(name) = word.strip_prefix("-l") {
            libraries += 1;
            println!("cargo::rustc-link-lib=dylib={name}");
        }
    }
    match libraries {
        0 => Err(format!("`{compiler} -show` names no library to link: {}", words.trim())),
        _ => Ok(()),
    }
}

/// What a command prints, or why it has no result.
fn run(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| {
        format!(
            "cannot run {command:?}: {error}; install an MPI with its compiler, or name it by MPICC"
        )
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{command:?} ended with {}: {}", output.status, said.trim()))
}
