//! The flags of `sweep`. What concerns the design is said as `--set AXIS=LEVELS`, in the words of a
//! design file, instead of by a flag for each axis: a file and a command line then say the same.

use crate::store_args::StoreArgs;
use clap::Args;

/// `halfpower sweep`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower sweep --list                      the presets\n  \
    halfpower sweep riedel /mnt/data            size, depth and buffering, 3 blocks\n  \
    halfpower sweep chung sim:st34371w          the same on a simulated disk\n  \
    halfpower sweep friedman . --protocol paper --blocks 1\n  \
    halfpower sweep riedel . --set bs=4k,64k --set rw=read --runtime 2s\n  \
    halfpower sweep my.toml /mnt/a /mnt/b --dry-run > trials.sh\n  \
    halfpower sweep --resume last\n\n\
    A design of your own: halfpower sweep --show riedel > my.toml, and change it.")]
pub(crate) struct SweepArgs {
    /// A preset, or a TOML file.
    #[arg(required_unless_present_any = ["list", "saved", "resume"])]
    pub(crate) design: Option<String>,
    /// Directories (a temporary test file in each), files, block devices, or one sim:NAME.
    #[arg(value_name = "TARGET")]
    pub(crate) targets: Vec<String>,
    /// Describe the presets.
    #[arg(long, exclusive = true)]
    pub(crate) list: bool,
    /// Print the design as TOML and run nothing.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) show: bool,
    /// Print the trials as a script of `halfpower run` lines and run nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run what an experiment still lacks: its id, the beginning of it, or "last".
    #[arg(long, value_name = "ID", conflicts_with_all = ["design", "show", "dry_run"])]
    pub(crate) resume: Option<String>,
    /// List the saved experiments.
    #[arg(long, conflicts_with_all = ["design", "resume"])]
    pub(crate) saved: bool,
    /// How often each combination is run [default: the design's, mostly 3].
    #[arg(long, value_name = "N", help_heading = "Design")]
    pub(crate) blocks: Option<u32>,
    /// Constants of the design under this name: paper has the times of the publication.
    #[arg(long, value_name = "NAME", help_heading = "Design")]
    pub(crate) protocol: Option<String>,
    /// Other levels of an axis (bs=4k,64k) or another constant (numjobs=2). Once for each.
    #[arg(long, value_name = "KEY=VALUE", help_heading = "Design")]
    pub(crate) set: Vec<String>,
    /// Size of the test file, or of the area: --set size=SIZE.
    #[arg(long, value_name = "SIZE", help_heading = "Design")]
    pub(crate) size: Option<String>,
    /// Measured time of a trial, or the longest: --set runtime=TIME.
    #[arg(long, value_name = "TIME", help_heading = "Design")]
    pub(crate) runtime: Option<String>,
    /// Seed of order and requests [default: from the time; 1 for a simulated target].
    #[arg(long, value_name = "N", help_heading = "Design")]
    pub(crate) seed: Option<u64>,
    /// A note that is kept with the experiment and stands in the lines of --dry-run.
    #[arg(
        long,
        value_name = "TEXT",
        env = "sqlio_note",
        hide_env_values = true,
        help_heading = "Results"
    )]
    pub(crate) note: Option<String>,
    /// Print the experiment as JSON.
    #[arg(long, help_heading = "Results")]
    pub(crate) json: bool,
    /// Do not save the results.
    #[arg(long, conflicts_with_all = ["resume", "saved"], help_heading = "Results")]
    pub(crate) no_save: bool,
    #[command(flatten)]
    pub(crate) keeping: StoreArgs,
    /// Allows writing to existing files; their content is lost.
    #[arg(long, help_heading = "Safety")]
    pub(crate) overwrite: bool,
    /// Allows writing to the block device of this stable name; everything on it is lost. Once for
    /// each device.
    #[arg(long, value_name = "NAME", help_heading = "Safety")]
    pub(crate) destroy_data_on: Vec<String>,
}
