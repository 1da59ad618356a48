//! `halfpower design`: what to buy for a need, from a price list, and what the accesses of a profile's disk
//! cost. The designs of `sweep` are those of experiments and something else.

use crate::cost::{self, CostArgs};
use crate::failure::usage;
use crate::output::Verdict;
use crate::predict_args::objective;
use crate::store_args::ViewArgs;
use crate::values::{percent, rate, some_bytes};
use ::plan::limits::purchase::{Market, parse, purchase};
use anyhow::Context;
use clap::Args;
use engine::input;
use plan::session::VERSION;
use record::{Bytes, Objective, PurchaseNeed};
use std::path::PathBuf;

/// Bytes of the megabyte of `--mbps`.
const MEGABYTE: f64 = 1e6;
/// Smallest pieces of an array, and the smallest request.
const SECTOR: u64 = 512;

#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  \
    halfpower design --kaps 5000 --mbps 400 --size 4TB --prices prices.toml\n  \
    halfpower design --kaps 5000 --rwmixread 70% --survive 1 --prices prices.toml\n  \
    halfpower design --kaps 20000 --bs 4k --slo mean=2ms --prices prices.toml\n  \
    halfpower design last --price 209           the cost of its accesses\n  \
    halfpower design last --fill pci=98.5MB/s   how many disks fill it",
    after_long_help = "Examples:\n  \
    halfpower design --kaps 5000 --mbps 400 --size 4TB --prices prices.toml\n  \
    halfpower design --kaps 5000 --rwmixread 70% --survive 1 --prices prices.toml\n  \
    halfpower design --kaps 20000 --bs 4k --slo mean=2ms --prices prices.toml\n  \
    halfpower design --mbps 900 --prices prices.toml --json > plan.json\n  \
    halfpower report plan.json -o plan.html     the same as a page; --md, --csv\n  \
    halfpower design last --price 209           the cost of its accesses\n  \
    halfpower design 0192f --price 534 --currency EUR --capacity 18GB\n  \
    halfpower design last --fill pci=98.5MB/s   how many disks fill it\n\n\
    A price list is a TOML file:\n  \
    currency = \"USD\"\n  \
    [[disk]]\n  \
    name = \"a 10,000 rpm disk\"\n  \
    price = 534\n  \
    size = \"18GB\"\n  \
    random-read = 105            # per second; or profile = \"ID\" for all rates\n  \
    random-write = 105\n  \
    sequential-read = \"24MB/s\"\n  \
    sequential-write = \"22.5MB/s\"\n  \
    [[adapter]]                  # optional, as is [[host]]\n  \
    name = \"a controller\"\n  \
    price = 235\n  \
    disks = 30\n  \
    bandwidth = \"98.5MB/s\""
)]
pub(crate) struct DesignArgs {
    /// Price list: prints the cheapest purchases that meet the requirements.
    #[arg(long, value_name = "FILE")]
    prices: Option<PathBuf>,
    /// Random IOPS.
    #[arg(long, value_name = "N", value_parser = rate, help_heading = "Need")]
    kaps: Option<f64>,
    /// Size of each random request.
    #[arg(long, value_name = "SIZE", default_value = "8k", value_parser = some_bytes,
        requires = "kaps", help_heading = "Need")]
    bs: Bytes,
    /// Share of reads among the random requests.
    #[arg(long, value_name = "PERCENT", default_value = "100%", value_parser = percent,
        requires = "kaps", help_heading = "Need")]
    rwmixread: u8,
    /// Sequential read throughput in MB/s (1,000,000 bytes per second).
    #[arg(long, value_name = "N", value_parser = megabytes, help_heading = "Need")]
    mbps: Option<f64>,
    /// Sequential write throughput in MB/s.
    #[arg(long, value_name = "N", value_parser = megabytes, help_heading = "Need")]
    write_mbps: Option<f64>,
    /// Request size of the sequential streams.
    #[arg(long, value_name = "SIZE", default_value = "1m", value_parser = some_bytes,
        help_heading = "Need")]
    stream_bs: Bytes,
    /// Random requests and streams come at different times [default: at the same time].
    #[arg(long, requires = "kaps", help_heading = "Need")]
    apart: bool,
    /// Usable capacity, without copies and parity.
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, help_heading = "Need")]
    size: Option<Bytes>,
    /// Maximum mean latency of the random requests: mean=5ms.
    #[arg(long, value_name = "TARGET", value_parser = mean, requires = "kaps",
        help_heading = "Need")]
    slo: Option<f64>,
    /// Share of each part's maximum rate that stays unused at the required load.
    #[arg(long, value_name = "PERCENT", default_value = "30%", value_parser = headroom,
        help_heading = "Safety")]
    headroom: u8,
    /// Any N disks of an array may fail without loss of data.
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Safety",
        value_parser = clap::value_parser!(u32).range(0..=2))]
    survive: u32,
    /// The disks must meet the requirements even if one of them fails, at up to 100 % load.
    #[arg(long, help_heading = "Safety")]
    degraded: bool,
    /// Number of spare disks, installed and idle.
    #[arg(long, value_name = "N", default_value = "0", help_heading = "Safety",
        value_parser = clap::value_parser!(u32).range(0..=1000))]
    spare: u32,
    /// Chunk size of an array: contiguous bytes on one disk.
    #[arg(long, value_name = "SIZE", default_value = "64k", value_parser = some_bytes,
        help_heading = "Arrays")]
    chunk: Bytes,
    /// Maximum number of disks in a parity array; more disks form several arrays.
    #[arg(long, value_name = "N", default_value = "12", help_heading = "Arrays",
        value_parser = clap::value_parser!(u32).range(4..=64))]
    parity_disks: u32,
    #[command(flatten)]
    cost: CostArgs,
    #[command(flatten)]
    view: ViewArgs,
}

fn megabytes(text: &str) -> Result<f64, String> {
    rate(text).map_err(|_| "use megabytes per second without a unit, for example 400".to_owned())
}

fn headroom(text: &str) -> Result<u8, String> {
    let share = percent(text)?;
    if share > 95 { Err("use 0% to 95%".to_owned()) } else { Ok(share) }
}

fn mean(text: &str) -> Result<f64, String> {
    match objective(text)? {
        Objective::MeanNs(mean) => Ok(mean),
        Objective::P99Ns(_) => {
            Err("only the mean is computed for arrays; use mean=TIME, for example mean=5ms"
                .to_owned())
        }
    }
}

impl DesignArgs {
    fn need(&self) -> anyhow::Result<PurchaseNeed> {
        let [read, written] =
            [self.mbps, self.write_mbps].map(|rate| rate.unwrap_or(0.0) * MEGABYTE);
        let random_iops = self.kaps.unwrap_or(0.0);
        if random_iops == 0.0 && read + written == 0.0 && self.size.is_none() {
            return Err(usage(
                "state the requirements: --kaps N, --mbps N, --write-mbps N, --size SIZE, or \
                 several of them",
            ));
        }
        if self.apart && read + written == 0.0 {
            return Err(usage("--apart needs a stream and --kaps; add --mbps or --write-mbps"));
        }
        for (flag, bytes) in
            [("--bs", self.bs), ("--stream-bs", self.stream_bs), ("--chunk", self.chunk)]
        {
            if bytes.0 % SECTOR != 0 {
                return Err(usage(format!(
                    "{flag} must be a multiple of the sector size, {SECTOR} bytes"
                )));
            }
        }
        if self.degraded && random_iops + read + written == 0.0 {
            return Err(usage("--degraded needs a rate; add --kaps, --mbps or --write-mbps"));
        }
        Ok(PurchaseNeed {
            random_iops,
            random_bytes: self.bs,
            read_share: f64::from(self.rwmixread) / 100.0,
            stream_read_bytes_per_s: read,
            stream_write_bytes_per_s: written,
            stream_bytes: self.stream_bs,
            apart: self.apart,
            size_bytes: self.size.unwrap_or_default(),
            headroom: f64::from(self.headroom) / 100.0,
            survive: self.survive,
            carry_after_loss: self.degraded,
            spares: self.spare,
            latency_mean_ns: self.slo,
            parity_disks_max: self.parity_disks,
            chunk_bytes: self.chunk,
        })
    }
}

pub(crate) fn design(arguments: &DesignArgs) -> anyhow::Result<Verdict> {
    let Some(prices) = &arguments.prices else {
        if arguments.cost.given() {
            return cost::cost(&arguments.cost, &arguments.view);
        }
        return Err(usage(
            "add --prices FILE, a TOML file that lists the disks on offer (`halfpower design \
             --help` describes it), for example --prices prices.toml --kaps 5000 --size 4TB. To \
             compute what accesses cost on the disk of the newest profile, use --price AMOUNT. To \
             compute how many of these disks saturate a bus, use --fill NAME=RATE",
        ));
    };
    let need = arguments.need()?;
    let file = prices.display().to_string();
    let text = input::text(prices, input::PRICES).context("the price list")?;
    let list = parse(&text).map_err(|error| usage(format!("{file}, {error}")))?;
    let keeping = &arguments.view.keeping;
    let market = Market::new(list, |id| {
        keeping.profile(id).with_context(|| format!("{file} refers to the profile {id}"))
    })?;
    let document = purchase(&market, &need, &file, VERSION)?;
    arguments.view.show(&document, &report::purchase(&document))?;
    Ok(Verdict::of(!document.configurations.is_empty()))
}
