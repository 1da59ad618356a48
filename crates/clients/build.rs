//! Compiles the few lines of C that call MPI, with the compiler of the MPI library to link: `mpicc`, or the
//! command in `MPICC`. Without the feature it does nothing.
//!
//! MPI handles are pointers in one library and numbers in another, and the constants differ too. C code
//! compiled with the library's own header hides both. Rejected: the crates `mpi` and `mpi-sys`, which need
//! libclang to read that header, for five functions.

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
    // An old archive may have members that no longer exist.
    let _ = std::fs::remove_file(&archive);
    run(Command::new("ar").arg("crs").arg(&archive).arg(&object))?;
    println!("cargo::rustc-link-search=native={}", folder.display());
    println!("cargo::rustc-link-lib=static=halfpower_mpi_shim");
    // The wrappers of Open MPI and MPICH print the command line that they run.
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

/// The standard output of a command, or why it failed.
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
