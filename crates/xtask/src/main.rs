//! The command line of `cargo xtask`: one verb, a few flags, an exit code. The verbs are in the library, so
//! that tests can call them.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    match xtask::run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::from(2)
        }
    }
}
