//! What each component between processor and medium carries (RAP, the real application
//! performance of the papers), and what it is advertised to carry (PAP).
//!
//! [`pap`] reads what sysfs and firmware advertise;
//! [`mod@plan`] says which trials are needed, and a driver runs them; [`bus`], [`path`] and
//! [`document`] conclude from them. [`zones`] does the same for the surface of one disk, [`cost`]
//! for money. All but [`pap`] is a function of recorded trials, so simulated disks go
//! through the same code. What nothing showed is a reason and no number. Rejected: tables of data
//! sheets (stale), and the largest rate seen as the peak (a ratio of one says nothing).
#![forbid(unsafe_code)]

pub mod bus;
pub mod components;
pub mod cost;
pub mod data_sheet;
pub mod document;
pub mod pap;
pub mod path;
pub mod plan;
pub mod zones;
