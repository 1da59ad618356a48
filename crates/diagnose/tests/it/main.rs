//! Tests the crate through its public names, with a folder for each part.

mod causes;
mod diagnose;
mod observe;
