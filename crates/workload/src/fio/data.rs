//! Converts what writes carry, and whether they are verified.

use crate::fio::load::Load;
use crate::fio::parts::Words;
use crate::fio::settings::Settings;

/// Whether written blocks are verified. `None` for a load means a recording, whose requests may carry
/// anything.
pub(crate) fn data(settings: &Settings<'_>, out: &mut Words, load: Option<&Load>) -> bool {
    let writes = load.is_none_or(|load| load.writes && !load.trims);
    let checked = settings.switch("do_verify").unwrap_or(true);
    let kind = settings.text("verify").filter(|kind| !["0", "none", "null"].contains(kind));
    let verified = match kind {
        None => false,
        Some(_) if !checked => {
            out.note("verify: do_verify=0 turns the check off, so blocks are not tagged");
            false
        }
        Some(_) if load.is_none() => {
            settings.refuse("verify", "the requests of a recording are not verified");
            false
        }
        Some(_) if !writes => {
            let why = "a job that only reads would need fio's checksums from an earlier job, \
                       which halfpower does not have; `halfpower run --verify` writes and reads \
                       back in one run";
            settings.refuse("verify", why);
            false
        }
        Some(_) if settings.text("ioengine") == Some("null") => {
            out.note("verify: has no effect, because the null engine writes nothing");
            false
        }
        Some(kind) => {
            out.switch("verify");
            out.note(format!("verify: halfpower uses its own checksums, not {kind}"));
            true
        }
    };
    let zeros = settings.on("zero_buffers");
    let share = settings.number("buffer_compress_percentage").filter(|share| *share > 0);
    if !writes || verified {
        return verified;
    }
    if zeros {
        out.switch("zeros");
    } else if let Some(share) = share {
        out.flag("compressible", &share);
    }
    verified
}
