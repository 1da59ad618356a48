//! Asks the volume for its mappings, its order and its arithmetic.

mod bytes;
mod rebuilds;
mod volumes;
