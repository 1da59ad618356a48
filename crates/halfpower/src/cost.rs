//! `halfpower cost`: what accesses cost in money, and how many disks fill something.

use crate::failure::usage;
use crate::output::Verdict;
use crate::store_args::ViewArgs;
use crate::values::some_bytes;
use ::limits::cost::{self, Named, Price};
use ::limits::pap::rate_of;
use anyhow::anyhow;
use clap::Args;
use record::Bytes;
use session::VERSION;

/// The currency where the user names none, as the papers'.
const CURRENCY: &str = "USD";

#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower cost --price 209               of the newest profile\n  \
    halfpower cost 0192f --price 534 --currency EUR --capacity 18GB\n  \
    halfpower cost --fill pci=98.5MB/s       how many such disks fill that")]
pub(crate) struct CostArgs {
    /// Id of a saved profile, or the beginning of it; "last" is the newest.
    #[arg(default_value = store::LAST)]
    profile: String,
    /// Price of the disk.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    price: Option<f64>,
    /// Its currency.
    #[arg(long, value_name = "NAME", default_value = CURRENCY, requires = "price")]
    currency: String,
    /// Capacity that the price is for [default: that of the device, else of the target].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, requires = "price")]
    capacity: Option<Bytes>,
    /// Something that the disks are to fill, with the rate that it carries. Once for each.
    #[arg(long, value_name = "NAME=RATE", value_parser = named)]
    fill: Vec<Named>,
    #[command(flatten)]
    view: ViewArgs,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| *amount > 0.0 && amount.is_finite());
    amount.ok_or_else(|| "use an amount above 0 without a currency, for example 209".to_owned())
}

fn named(text: &str) -> Result<Named, String> {
    let parts = text.split_once('=').filter(|(name, _)| !name.is_empty());
    let (name, rate) = parts.ok_or("use NAME=RATE, for example pci=98.5MB/s")?;
    Ok(Named { name: name.to_owned(), bytes_per_s: rate_of(rate)? })
}

pub(crate) fn cost(arguments: &CostArgs) -> anyhow::Result<Verdict> {
    if arguments.price.is_none() && arguments.fill.is_empty() {
        return Err(usage("say what to compute: --price AMOUNT, --fill NAME=RATE, or both"));
    }
    let profile = arguments.view.keeping.profile(&arguments.profile)?;
    let price = arguments.price.map(|amount| Price {
        amount,
        currency: arguments.currency.clone(),
        capacity: arguments.capacity,
    });
    let document = cost::price(&profile, price.as_ref(), &arguments.fill, VERSION)
        .map_err(|lacks| anyhow!("profile {} has no cost: {lacks}; run check again", profile.id))?;
    arguments.view.show(&document, &report::price(&document))
}
