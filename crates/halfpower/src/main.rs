//! halfpower
fn main() {}
