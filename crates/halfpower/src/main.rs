//! The standard binary: runs the program without additional engines.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    halfpower::main_with(&[])
}
