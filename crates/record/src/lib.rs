//! Defines every type that halfpower stores or prints. It measures nothing.
//!
//! All other crates exchange these types, so that a result can be saved, read years later and analysed again.
//! The crate therefore knows nothing about files, kernels, engines or screens. Rejected: types next to the
//! code that fills them, because the store and the reports would then depend on the engines.
//!
//! Conventions: integers wherever identity matters (times in nanoseconds, sizes in bytes), floats only for
//! estimates; a unit in every JSON key that has one; `null` for "no such number here", and
//! [`Measured::NotMeasured`] with a reason where a reader would ask why.
#![forbid(unsafe_code)]

mod areas;
mod capability;
mod cause;
mod clients;
mod commits;
mod comparison;
mod cost_fit;
mod cpu_cost;
mod cpu_taken;
mod curves;
mod diagnosis;
mod digest;
mod doubt;
mod estimate;
mod excerpt;
mod experiment;
mod facts;
mod finding;
mod fleet;
mod histogram;
mod interval;
mod issuers;
mod limits;
mod load;
mod numbers;
mod op;
mod own_engine;
mod path;
mod plausible;
mod prediction;
mod profile;
mod quantity;
mod quoted;
mod raid;
mod remedy;
mod replay;
mod requests;
mod saved;
mod schema;
mod settings;
mod shared;
mod size_shares;
mod system_fact;
mod trial;
mod trial_result;
mod units;
mod verdict;
mod whatif;
mod windows_names;
mod words;
mod workload;
mod workload_parts;
mod zones;

pub use areas::{AreaSpread, MeasuredArea, PERCENTILES, Reruns, RunSpread, TestFile, Written};
pub use capability::Capability;
pub use cause::CauseCode;
pub use clients::{Client, ClientClock, Clients, LostClient, LostKind, TargetSharing, jain_index};
pub use commits::{CommitNeed, CommitPoint, CommitPrediction, CommitVerdict, Commits, LogKind};
pub use comparison::{
    COMPARISON_SCHEMA, ComparedCell, ComparedCondition, ComparedGroup, ComparedKind,
    ComparedMetric, ComparedRow, ComparedSide, ComparedUnit, ComparedVerdict, Comparison,
};
pub use cost_fit::{COST_FIT_SCHEMA, CostFit, CostLine, CostModel, CostPoint};
pub use cpu_cost::{CpuClock, CpuCost, CpuSplit, CpuUpper, KernelAccounting};
pub use cpu_taken::cpu_taken;
pub use curves::{DepthCurve, DepthPoint, SizeCurve, SizePoint};
pub use diagnosis::{
    Activity, Alternative, Baseline, Cause, DIAGNOSIS_SCHEMA, Demand, DeviceDiagnosis, Diagnosis,
    Episode, Excluded, HypothesisName, MatchedBy, MatchedProfile, Moment, OperationVerdict, Rung,
    VerdictShare,
};
pub use digest::{hex_digest, hex_digest_of};
pub use doubt::Doubt;
pub use estimate::{Estimate, Measured, NORMAL_95};
pub use excerpt::{bounded_message, excerpt};
pub use experiment::{
    DoneTrial, EXPERIMENT_SCHEMA, EffectMeasure, Experiment, ExperimentCell, ExperimentEffect,
    PlannedTrial, ReachedSizes,
};
pub use facts::{
    ArrayState, CgroupLimit, CgroupShare, DeviceFacts, Environment, Extents, FilesystemFacts,
    LimitedIo, LoopFile, ShareKind, Target, TargetKind,
};
pub use finding::{Confidence, Evidence, Finding, FindingCode, Severity};
pub use fleet::{
    FLEET_SCHEMA, FleetByProfile, FleetCommon, FleetDevice, FleetDiagnosis, FleetKind, FleetLabels,
    FleetLeftOut, FleetSlowness, FleetYardstick,
};
pub use histogram::{
    BUCKETS, HistogramSnapshot, MAX_RELATIVE_ERROR, bucket_high, bucket_index, bucket_low,
    bucket_mid,
};
pub use interval::{
    Context, CpuStops, DATES_FROM_NS, Figure, Interval, LoneReads, MemoryLimit, OBSERVATION_SCHEMA,
    Observation, ObservedDevice, OpInterval, OverLimit, Quality, Traced, TracedOp, WakeUp,
};
pub use issuers::{IoGroup, Owner, OwnerKind, ProcessIo, io_groups};
pub use limits::{
    Advertised, Binding, BusPoint, BusTest, CacheEvidence, ComponentKind, Growth, HalfPower,
    HitRow, HitTest, LIMITS_SCHEMA, LimitsRun, NamedRate, PathComponent, Sizing,
};
pub use load::{Locality, MEASURED_AROUND, Mix, MixClass, ModelName, Offered, Prediction};
pub use numbers::{Calibrated, Misleading, Numbers, Tail, UtilizationLaw};
pub use op::{Instead, OpKind};
pub use own_engine::OwnEngineName;
pub use path::{
    FileLayout, LVM_ONCE, LayerKind, ObservedPath, PathLayer, PathMap, Volume, VolumeKind,
};
pub use plausible::{
    ImpossibleFigures, MOST_BYTES_PER_S, MOST_PER_S, doubt_busy_counters, kernel_busy_doubt,
};
pub use prediction::{
    AsProfiled, ModelAccuracy, ModelPrediction, Objective, ObjectiveAnswer, PREDICTION_SCHEMA,
    PredictedPoint, PredictionDocument, SheetPrediction, SinceProfile, VALIDATION_SCHEMA,
    Validation, ValidationSummary, ValidationTrial,
};
pub use profile::{
    Advice, Cap, Cell, Expectation, LeftOut, Limits, LoneRead, MedianVisit, PROFILE_SCHEMA,
    Profile, RateStep, SATURATIONS, ServiceTimeFit, StepCause, Sustained,
};
pub use quantity::{QUANTITIES, Quantity, Unit, format_with_unit, quantity};
pub use quoted::quoted;
pub use raid::{
    ArrayResult, LegCheck, LoadFigures, RaidLevel, RebuildPace, RebuildResult, Redundancy,
};
pub use remedy::{Effect, EpisodeLoad, Note, NoteCode, Remedy, Strategy};
pub use replay::{Recorded, RecordedRequest, Replay, ReplayPace, scaled};
pub use requests::{
    CachePoint, REQUESTS_SCHEMA, RequestsSide, RequestsSummary, Spacing, enough_cache,
    read_hit_share,
};
pub use saved::{DATABASE_MARK, DocumentKind, KeptDocument, SHORT_ID, SavedDocument, short_id};
pub use schema::{document_schema, word};
pub use settings::{SETTINGS_SCHEMA, Setting, Settings};
pub use shared::{SHARED_SCHEMA, SharedDiagnosis, SharedHost};
pub use size_shares::{mix_word, size_shares};
pub use system_fact::{FactData, FactNotRead, FactValue, FactsRead, SystemFact};
pub use trial::{
    Batching, CacheDropped, DeviceCounters, Harness, JobResult, Preconditioning, TRIAL_SCHEMA,
    Trial,
};
pub use trial_result::{
    BadBlock, BlockFault, ComponentUse, DirectionResult, EndedBy, ErrorCount, IntervalDirection,
    IntervalResult, OpenLoop, PhaseUse, Series, TimeSummary, TrialResult, VerifyResult, WarmUp,
    mean_latency_ns, mean_ns,
};
pub use units::{
    Bytes, NO_NUMBER, Nanos, UnitError, WIDE, counted, format_binary_rate, format_both_rates,
    format_bytes, format_change, format_count, format_digits, format_duration, format_ends,
    format_interval, format_iops, format_kib, format_moment, format_nanos, format_rate,
    format_share, format_whole_iops, shell_word, time_word, with_half_width, with_interval,
    with_range,
};
pub use verdict::Verdict;
pub use whatif::{
    Balance, BalancedDevice, Change, LoadState, Move, ObservedLoad, UnsustainedLoad, WHATIF_SCHEMA,
    WhatIf, WhatIfCase,
};
pub use windows_names::{drive_letter, is_of_windows};
pub use workload::{Arrival, Beside, Data, NO_TIME_LIMIT, SizeShare, StopRules, Workload};
pub use workload_parts::{
    AreaZone, Blend, CacheMode, Discipline, DropCache, EngineName, Flush, FlushKind, HotArea,
    IoClass, IoPriority, Pattern, Regions,
};
pub use zones::{ArrayZones, Band, MemberZones, ZONES_SCHEMA, ZoneMap, ZonePosition};
