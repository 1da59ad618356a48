//! Reads and writes SQLIO traces: one line of 14 comma-separated fields per run, as in Table 8 of Chung,
//! Gray, Worthington and Horst, "Windows 2000 Disk IO Performance" (MSR-TR-2000-55).
//!
//! Units are the paper's own: MB and KB are 2^20 and 2^10 bytes, so MB/s is IO/s times 1/1024 of the block
//! size. Time and Clock are in seconds. OutstandingIOs is 0 for synchronous requests. The buffering letters
//! are Y, S, H and N. The paper's 0 means the same as Y; it is read but never written. Fields that were not
//! measured, or have no time (a simulated run), are empty. The paper shows no header line. One is written at
//! the start of a new file, because spreadsheets need it; files without one are continued without. As in the
//! paper, fields are never quoted, so text that would need quotes is rejected. Reading also accepts what
//! spreadsheets make of such a file: other line ends, a byte order mark, spaces around fields. Rejected:
//! averages over a mix of reads and writes or of sizes, for which the format has no field.

use record::{EngineName, OpKind, Trial, Workload, format_bytes};

/// The names of the fields.
pub const TRACE_HEADER: &str = "MB/s,IO/s,Operation,BlockSize,OutstandingIOs,Buffering,NumThreads,\
    Time,FileSize,Clock(s),User(ms),Kernel(ms),Time Stamp,Comment";
/// The number of fields.
const FIELDS: usize = 14;
const MIB: f64 = (1 << 20) as f64;
const KIB: f64 = (1 << 10) as f64;

/// Why a file is not a trace, or a run cannot be written as one, in words for the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TraceError(String);

/// Checks that a comment can be stored in a trace.
///
/// # Errors
/// Names the character that cannot be stored: a comma, a quotation mark, or a line end.
pub fn check_trace_comment(comment: &str) -> Result<(), TraceError> {
    let what = comment.chars().find_map(|character| match character {
        ',' => Some("comma"),
        '"' => Some("quotation mark"),
        '\n' | '\r' => Some("line end"),
        character if character.is_control() => Some("control character"),
        _ => None,
    });
    let Some(what) = what else { return Ok(()) };
    let text = format!("contains a {what}, which a line of the trace cannot contain; remove it");
    Err(TraceError(format!("--comment {comment:?} {text}")))
}

/// Checks that a workload can be written as one line.
///
/// # Errors
/// Names what the workload mixes.
pub fn check_trace_workload(workload: &Workload) -> Result<(), TraceError> {
    if workload.instead.is_some() {
        let text = "--sqlio-csv supports only reads and writes, and this run trims; omit it";
        return Err(TraceError(text.to_owned()));
    }
    let (what, remedy) = if workload.only_op().is_none() {
        ("operation", "run reads and writes separately, or omit --sqlio-csv")
    } else if workload.bs.len() != 1 {
        ("block size", "use a single --bs")
    } else {
        return Ok(());
    };
    let mixes = "per line, but this run mixes several";
    Err(TraceError(format!("--sqlio-csv has one {what} {mixes}; {remedy}")))
}

/// Checks that a file that begins with this line is a trace.
///
/// # Errors
/// Describes the line.
pub fn check_trace_line(line: &str) -> Result<(), TraceError> {
    let line = line.trim_end_matches(['\r', '\n']);
    if line == TRACE_HEADER {
        return Ok(());
    }
    let not = |why| TraceError(format!("it is not a SQLIO trace: in its first line, {why}"));
    read_line(line).map(drop).map_err(not)
}

/// One line of a trace.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceLine {
    /// Requests per second.
    pub iops: f64,
    /// `read` or `write`.
    pub op: OpKind,
    /// Request size, in units of 1,024 bytes.
    pub block_kib: f64,
    /// Requests outstanding per thread; 0 if synchronous.
    pub outstanding: u32,
    /// Buffering: Y (also written as 0), S, H or N.
    pub buffering: char,
    /// Threads.
    pub threads: u32,
    /// File size in units of 1,024 bytes; `None` if the field is empty.
    pub file_kib: Option<f64>,
    /// Measured time in seconds.
    pub clock_s: f64,
    /// CPU time in user mode, in milliseconds; `None` if the field is empty.
    pub user_ms: Option<f64>,
    /// CPU time in the kernel, in milliseconds; `None` if the field is empty.
    pub kernel_ms: Option<f64>,
    /// Time stamp as written; may be empty.
    pub time: String,
    /// The user's comment.
    pub comment: String,
}

impl TraceLine {
    /// Number of completed requests.
    #[must_use]
    pub fn requests(&self) -> f64 {
        self.iops * self.clock_s
    }

    /// CPU time per request in microseconds; `None` if it was not measured.
    #[must_use]
    pub fn cpu_us_per_io(&self) -> Option<f64> {
        let us = (self.user_ms? + self.kernel_ms?) * 1e3 / self.requests();
        us.is_finite().then_some(us)
    }

    /// The cell in a few words, with the comment if that distinguishes cells.
    #[must_use]
    pub fn cell(&self, by_comment: bool) -> String {
        let size = format_bytes((self.block_kib * 1024.0) as u64);
        let depth = match self.outstanding {
            0 => "synchronous".to_owned(),
            depth => format!("depth {depth}"),
        };
        let mut cell = format!("{} {size}, {depth}", self.op.name());
        cell.extend((self.threads > 1).then(|| format!(", {} threads", self.threads)));
        cell.push_str(&format!(", buffering {}", self.buffering));
        let comment = Some(self.comment.trim()).filter(|text| by_comment && !text.is_empty());
        cell.extend(comment.map(|comment| format!(", \"{comment}\"")));
        cell
    }
}

/// Reads a trace, with or without a header line.
///
/// # Errors
/// Names the first line that does not belong to a trace.
pub fn read_trace(text: &str) -> Result<Vec<TraceLine>, TraceError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let head = index == 0 && is_head(line);
        if !line.trim().is_empty() && !head {
            let place = index + 1;
            let none = |why| TraceError(format!("line {place} is not a line of a trace: {why}"));
            lines.push(read_line(line).map_err(none)?);
        }
    }
    Ok(lines)
}

/// Whether a line is the header, ignoring spaces and case.
fn is_head(line: &str) -> bool {
    let bare = |text: &str| text.replace([' ', '"'], "").to_ascii_lowercase();
    bare(line.trim()) == bare(TRACE_HEADER)
}

fn read_line(line: &str) -> Result<TraceLine, String> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if fields.len() != FIELDS {
        return Err(format!("there are {} fields, not {FIELDS}", fields.len()));
    }
    let names: Vec<&str> = TRACE_HEADER.split(',').collect();
    let wrong = |place: usize| {
        format!("field {}, {:?}, is not a {}", place + 1, fields[place], names[place])
    };
    let number = |place: usize| {
        let value = fields[place].parse::<f64>().ok();
        value.filter(|value| value.is_finite() && *value >= 0.0).ok_or_else(|| wrong(place))
    };
    let maybe = |place: usize| match fields[place] {
        "" => Ok(None),
        _ => number(place).map(Some),
    };
    let whole = |place: usize| fields[place].parse::<u32>().map_err(|_| wrong(place));
    number(0)?;
    Ok(TraceLine {
        iops: number(1)?,
        op: match fields[2].to_ascii_lowercase().as_str() {
            "read" => OpKind::Read,
            "write" => OpKind::Write,
            _ => return Err(wrong(2)),
        },
        block_kib: number(3)?,
        outstanding: whole(4)?,
        buffering: match fields[5] {
            "0" | "Y" | "y" => 'Y',
            "S" | "s" => 'S',
            "H" | "h" => 'H',
            "N" | "n" => 'N',
            _ => return Err(wrong(5)),
        },
        threads: whole(6)?,
        file_kib: maybe(8)?,
        clock_s: number(9)?,
        user_ms: maybe(10)?,
        kernel_ms: maybe(11)?,
        time: fields[12].to_owned(),
        comment: fields[13].to_owned(),
    })
}

/// The line of a trial, with its line end.
///
/// # Errors
/// If the comment or the workload cannot be stored in a trace.
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
