//! The binary calls the program without engines of a build's own.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    halfpower::main_with(&[])
}
