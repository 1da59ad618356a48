//! Finds the rate that each component between processor and medium reaches (RAP, the real application
//! performance of the papers), and its advertised rate (PAP).
//!
//! [`pap`] reads the peaks that sysfs and firmware advertise. [`mod@plan`] lists the trials, and a driver
//! runs them. [`bus`], [`path`] and [`document`] draw the conclusions. [`zones`] does the same for the
//! surface of one disk. All but [`pap`] are functions of recorded trials, so simulated
//! disks use the same code. If no test shows a value, the document has a reason and no number. Rejected:
//! tables of data sheets (stale), and the largest rate seen as the peak (a ratio of one says nothing).
#![forbid(unsafe_code)]

pub mod bus;
pub mod components;
pub mod data_sheet;
pub mod document;
pub mod pap;
pub mod path;
pub mod plan;
pub mod zones;
