//! `halfpower cost`: computes the cost of accesses in money, and how many disks saturate a component.

use crate::failure::usage;
use crate::output::Verdict;
use crate::store_args::ViewArgs;
use crate::values::some_bytes;
use ::plan::limits::cost::{self, Named, Price};
use ::plan::limits::pap::rate_of;
use anyhow::anyhow;
use clap::Args;
use plan::session::VERSION;
use record::Bytes;

/// Default currency, as in the papers.
const CURRENCY: &str = "USD";

/// A profile and the price of its disk.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    halfpower cost last --price 209           the cost of its accesses\n  \
    halfpower cost 0192f --price 534 --currency EUR --capacity 18GB\n  \
    halfpower cost last --fill pci=98.5MB/s   how many disks saturate pci")]
pub(crate) struct CostArgs {
    /// Saved profile, for --price and --fill: its id, its beginning or end, or last [default: last].
    profile: Option<String>,
    /// Price of the disk: prints the cost of its accesses.
    #[arg(long, value_name = "AMOUNT", value_parser = amount)]
    price: Option<f64>,
    /// Currency of --price.
    #[arg(long, value_name = "NAME", default_value = CURRENCY, requires = "price")]
    currency: String,
    /// Capacity for that price [default: the size of the device, or else of the target].
    #[arg(long, value_name = "SIZE", value_parser = some_bytes, requires = "price")]
    capacity: Option<Bytes>,
    /// A component and its maximum rate: prints how many of these disks saturate it. Can be
    /// repeated.
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
        return Err(usage(
            "add --price AMOUNT for the cost of accesses to the profiled disk, or --fill NAME=RATE \
             for the number of such disks that saturate a bus",
        ));
    }
    let view = &arguments.view;
    let profile = view.keeping.profile(arguments.profile.as_deref().unwrap_or(store::LAST))?;
    let price = arguments.price.map(|amount| Price {
        amount,
        currency: arguments.currency.clone(),
        capacity: arguments.capacity,
    });
    let document =
        cost::price(&profile, price.as_ref(), &arguments.fill, VERSION).map_err(|lacks| {
            anyhow!("no cost can be computed from profile {}: {lacks}; run check again", profile.id)
        })?;
    view.show(&document, &report::price(&document))
}
