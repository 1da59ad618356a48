//! The trace of SQLIO: one line of 14 comma separated fields a run, as in Table 8 of Chung, Gray,
//! Worthington and Horst, "Windows 2000 Disk IO Performance" (MSR-TR-2000-55).
//!
//! The paper's own units: MB and KB are 2^20 and 2^10 bytes, so that MB/s is IO/s times the block
//! size over 1024. Time and Clock are in seconds. OutstandingIOs is 0 for synchronous requests.
//! The buffering letters are Y, S, H and N; the paper's 0 means the same as Y, is read and never
//! written. What was not measured, or has no time (a simulated run), is an empty field. The paper
//! shows no head line; one is written at the start of a new file, because spreadsheets want it,
//! and files without one are continued as they are. Fields are never quoted, as in the paper, so
//! nothing that would need it is let in. Rejected: averages over a mix of reads and writes or of
//! sizes, for which the format has no field.

use record::{EngineName, OpKind, Trial, Workload};

/// The names of the fields.
pub const TRACE_HEADER: &str = "MB/s,IO/s,Operation,BlockSize,OutstandingIOs,Buffering,NumThreads,\
    Time,FileSize,Clock(s),User(ms),Kernel(ms),Time Stamp,Comment";
/// How many there are.
const FIELDS: usize = 14;
const MIB: f64 = (1 << 20) as f64;
const KIB: f64 = (1 << 10) as f64;

/// Why there can be no trace of something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TraceError {
    /// A comment that would break the line.
    #[error(
        "--comment {comment:?} holds a {what}, which a line of the trace cannot carry; leave it out"
    )]
    Comment {
        /// The comment.
        comment: String,
        /// What is in it.
        what: &'static str,
    },
    /// A workload that one line cannot describe.
    #[error("--trace has one {what} a line, and this run mixes several; {remedy}")]
    Mixed {
        /// What is mixed.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// An existing file that is something else.
    #[error("it is no such trace: {why}")]
    NotATrace {
        /// What its first line is instead.
        why: String,
    },
}

/// Whether a comment can stand in a trace.
///
/// # Errors
/// Names what it cannot hold: a comma, a quotation mark, or a line end.
pub fn check_trace_comment(comment: &str) -> Result<(), TraceError> {
    let what = comment.chars().find_map(|character| match character {
        ',' => Some("comma"),
        '"' => Some("quotation mark"),
        '\n' | '\r' => Some("line end"),
        character if character.is_control() => Some("control character"),
        _ => None,
    });
    what.map_or(Ok(()), |what| Err(TraceError::Comment { comment: comment.to_owned(), what }))
}

/// Whether a workload can be told in one line.
///
/// # Errors
/// Names what it mixes.
pub fn check_trace_workload(workload: &Workload) -> Result<(), TraceError> {
    if workload.only_op().is_none() {
        let remedy = "run reads and writes apart, or leave --trace out";
        return Err(TraceError::Mixed { what: "operation", remedy });
    }
    if workload.bs.len() != 1 {
        return Err(TraceError::Mixed { what: "block size", remedy: "use a single --bs" });
    }
    Ok(())
}

/// Whether a file that begins with this line is a trace.
///
/// # Errors
/// Says what the line is instead.
pub fn check_trace_line(line: &str) -> Result<(), TraceError> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line == TRACE_HEADER {
        return Ok(());
    }
    let not = |why: String| Err(TraceError::NotATrace { why });
    let fields: Vec<&str> = line.split(',').collect();
    if fields.len() != FIELDS {
        return not(format!("its first line has {} fields, not {FIELDS}", fields.len()));
    }
    for (place, name) in [(0, "MB/s"), (1, "IO/s"), (3, "BlockSize"), (9, "Clock(s)")] {
        if fields[place].trim().parse::<f64>().is_err() {
            return not(format!("field {} of its first line is no {name}", place + 1));
        }
    }
    if !["read", "write"].contains(&fields[2].trim().to_ascii_lowercase().as_str()) {
        return not("field 3 of its first line is neither read nor write".to_owned());
    }
    if !["0", "Y", "S", "H", "N"].contains(&fields[5].trim().to_ascii_uppercase().as_str()) {
        return not("field 6 of its first line is no buffering of 0, Y, S, H, N".to_owned());
    }
    Ok(())
}

/// The line of a trial, with its line end.
///
/// # Errors
/// If the comment or the workload cannot be in a trace.
pub fn trace_line(trial: &Trial, comment: &str) -> Result<String, TraceError> {
    let workload = &trial.workload;
    check_trace_comment(comment)?;
    check_trace_workload(workload)?;
    let result = match workload.only_op() {
        Some(OpKind::Write) => trial.result.write.as_ref(),
        _ => trial.result.read.as_ref(),
    };
    let (rate, iops) = result.map_or((0.0, 0.0), |result| (result.bytes_per_s, result.iops));
    let (outstanding, threads) = match workload.engine {
        EngineName::Sync | EngineName::Mmap => (0, workload.numjobs),
        EngineName::Threads => (0, workload.depth),
        _ => (workload.iodepth, workload.numjobs),
    };
    let cpu = trial.cpu.value();
    let milliseconds = |ms: Option<f64>| ms.map_or(String::new(), |ms| format!("{ms:.3}"));
    let file_bytes: u64 = trial.targets.iter().map(|target| target.size_bytes.0).sum();
    let fields: [String; FIELDS] = [
        format!("{:.3}", rate / MIB),
        format!("{iops:.2}"),
        workload.only_op().map_or("read", OpKind::name).to_owned(),
        (workload.max_bs().0 as f64 / KIB).to_string(),
        outstanding.to_string(),
        workload.cache.letter().to_string(),
        threads.to_string(),
        workload.runtime_ns.as_secs_f64().to_string(),
        (file_bytes as f64 / KIB).to_string(),
        format!("{:.6}", trial.result.duration_ns.as_secs_f64()),
        milliseconds(cpu.map(|cpu| cpu.user_ms)),
        milliseconds(cpu.map(|cpu| cpu.system_ms)),
        trial.time.clone().unwrap_or_default(),
        comment.to_owned(),
    ];
    Ok(fields.join(",") + "\n")
}
