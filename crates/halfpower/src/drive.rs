//! `halfpower drive`: a drive's extracted parameters, held against what the real drive did.

use crate::failure::usage;
use crate::output::{self, Verdict};
use anyhow::Context;
use clap::Args;
use engine::input;
use model::Demerit;
use plan::session::VERSION;
use record::{DRIVE_SCHEMA, DriveTruth, OpKind};
use simdisk::{SimKind, SimSpec, read_services, serve_again};

/// Demerit beyond which the simulated drive is not the real one.
const DEMERIT_MAX: f64 = 0.1;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    zcat atlas10k.trace.gz | halfpower drive atlas10k.parv -\n  \
    halfpower run sim:atlas10k.parv --rw randread   the drive as a target\n\n\
    Each line of the trace has R or W, a word (ignored), first block (512 B), number\n\
    of blocks, service time in us, pause in us.\n\
    Demerit: root mean square difference between the simulated and the real\n\
    distribution of service times, divided by the real mean.\n\
    Exit code 1: the demerit is above 10 %.")]
pub(crate) struct DriveArgs {
    /// The drive's parameters in DiskSim's format; included files must be in the same folder.
    #[arg(value_name = "FILE.parv")]
    drive: String,
    /// Requests with their measured service times; - is standard input.
    #[arg(value_name = "TRACE")]
    trace: String,
    /// Print the document as JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn drive(arguments: &DriveArgs) -> anyhow::Result<Verdict> {
    let spec = SimSpec::parse(&arguments.drive).map_err(|error| usage(error.to_string()))?;
    let SimKind::Extracted(drive) = spec.kind else {
        return Err(usage(format!("{} is not a parameter file (.parv)", arguments.drive)));
    };
    for note in &drive.notes {
        eprintln!("note: {}", report::escape(note));
    }
    let text = input::text(arguments.trace.as_ref(), input::SERVICE_TRACE)
        .context("the trace; if it ends in .gz, use zcat FILE | halfpower drive ... -")?;
    let wrong = |why: String| usage(format!("{}: {why}", arguments.trace));
    let requests = read_services(&text).map_err(wrong)?;
    if requests.is_empty() {
        return Err(wrong("the trace contains no requests".to_owned()));
    }
    let times = serve_again(&drive, &requests).map_err(wrong)?;
    let pairs: Vec<(OpKind, f64, f64)> =
        requests.iter().zip(&times).map(|(it, time)| (it.op, it.service_ns, *time)).collect();
    let Demerit { rms_ns, demerit, rows, ranks } = model::demerit(&pairs);
    let document = DriveTruth {
        schema: DRIVE_SCHEMA.to_owned(),
        halfpower_version: VERSION.to_owned(),
        drive: arguments.drive.clone(),
        size_bytes: drive.bytes(),
        requests_of: arguments.trace.clone(),
        requests: requests.len() as u64,
        rms_ns,
        demerit,
        rows,
        ranks,
    };
    output::document(arguments.json, &document, || output::page(&report::drive(&document)))?;
    Ok(Verdict::of(demerit <= DEMERIT_MAX))
}
