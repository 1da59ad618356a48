//! Every type that halfpower stores or prints, and nothing that computes.
//!
//! All other crates speak to each other in these types, so that a result can be kept, read back
//! years later and concluded from again. The crate therefore knows nothing of files, kernels,
//! engines or screens. Rejected: types next to the code that fills them, which would make the
//! store and the reports depend on the engines.
//!
//! Conventions: integers wherever identity matters (times in nanoseconds, sizes in bytes), floats
//! only for estimates; a unit in every JSON key that has one; `null` for "no such number here",
//! and [`Measured::NotMeasured`] with a reason where a reader would ask why.
#![forbid(unsafe_code)]

mod capability;
mod cost_fit;
mod estimate;
mod facts;
mod finding;
mod histogram;
mod profile;
mod quantity;
mod schema;
mod trial;
mod units;
mod workload;

pub use capability::Capability;
pub use cost_fit::{COST_FIT_SCHEMA, CostFit, CostLine, CostModel, CostPoint};
pub use estimate::{Estimate, Measured};
pub use facts::{
    CgroupLimit, DeviceFacts, Environment, Extents, FilesystemFacts, Target, TargetKind,
};
pub use finding::{Confidence, Evidence, Finding, FindingCode, Severity};
pub use histogram::{
    BUCKETS, HistogramSnapshot, MAX_RELATIVE_ERROR, bucket_high, bucket_index, bucket_low,
    bucket_mid,
};
pub use profile::{
    Advice, Cell, DepthCurve, DepthPoint, Expectation, LeftOut, Limits, PROFILE_SCHEMA, Profile,
    SATURATIONS, ServiceTimeFit, SizeCurve, SizePoint,
};
pub use quantity::{QUANTITIES, Quantity, Unit, quantity};
pub use schema::{cost_fit_schema, profile_schema, trial_schema};
pub use trial::{
    BadBlock, Batching, BlockFault, ComponentUse, CpuClock, CpuCost, CpuSplit, CpuUpper,
    DeviceCounters, DirectionResult, EndedBy, ErrorCount, Harness, IntervalDirection,
    IntervalResult, KernelAccounting, OpenLoop, PhaseUse, Preconditioning, Scrubbed, Series,
    TRIAL_SCHEMA, TimeSummary, Trial, TrialResult, VerifyResult, WarmUp,
};
pub use units::{Bytes, Nanos, UnitError, format_bytes, format_count, format_nanos, format_rate};
pub use workload::{
    Arrival, CacheMode, Data, Discipline, EngineName, HotArea, OpKind, Pattern, Regions, Scrub,
    SizeShare, StopRules, Workload, hex_digest,
};
