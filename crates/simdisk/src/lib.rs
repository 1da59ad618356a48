//! simdisk
