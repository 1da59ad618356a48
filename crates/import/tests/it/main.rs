//! Real, documented and broken files of other tools.

mod damage;
mod forms;
mod tools;
