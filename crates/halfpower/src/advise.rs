//! `halfpower advise`: settings of other programs that follow from a profile, ready to be pasted.

use crate::output::{self, Verdict};
use crate::store_args::ViewArgs;
use crate::values::one_of;
use ::diagnose::{Program, settings};
use clap::Args;
use session::VERSION;

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower advise --for postgresql last\n  \
    halfpower advise --for io.cost 0192f\n  \
    halfpower advise --for fio last > recommended.fio\n\n\
    Every setting has its derivation from the profile as a comment; what the profile does not say\n\
    is not set. Advice on how to use the disk itself is part of `check`, on a load that is too slow\n\
    of `diagnose`.")]
pub(crate) struct AdviseArgs {
    /// Id of a saved profile, or the beginning of it; "last" is the newest.
    #[arg(default_value = "last")]
    profile: String,
    /// For which program: postgresql, mysql, etcd, linux, io.cost, scylla or fio.
    #[arg(long = "for", value_name = "PROGRAM",
        value_parser = one_of(&Program::ALL, Program::name))]
    program: Program,
    #[command(flatten)]
    view: ViewArgs,
}

pub(crate) fn advise(arguments: &AdviseArgs) -> anyhow::Result<Verdict> {
    let profile = arguments.view.keeping.profile(&arguments.profile)?;
    let document = settings(&profile, arguments.program, VERSION);
    output::document(arguments.view.json, &document, || report::settings_text(&document))
}
