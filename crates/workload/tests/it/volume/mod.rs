//! Tests the volume's mappings, its order of requests and its parity arithmetic.

mod bytes;
mod rebuilds;
mod volumes;
