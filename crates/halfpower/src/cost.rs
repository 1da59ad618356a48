//! `halfpower cost`: what accesses cost in money, and how many disks fill something.

use crate::failure::UsageError;
use crate::output::{self, Verdict};
use crate::store_args::StoreArgs;
use crate::values::some_bytes;
use ::limits::cost::{self, Named, Price};
use ::limits::pap::rate_of;
use anyhow::anyhow;
use clap::Args;
use record::Bytes;
use session::VERSION;
use store::Store;

/// The currency where the user names none, as the papers'.
const CURRENCY: &str = "USD";

/// `halfpower cost`.
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
    /// Print JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    keeping: StoreArgs,
}

fn amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok().filter(|amount| *amount > 0.0 && amount.is_finite());
    amount.ok_or_else(|| "use an amount above 0 without a currency, for example 209".to_owned())
}

fn named(text: &str) -> Result<Named, String> {
    let (name, rate) = text
        .split_once('=')
        .filter(|(name, _)| !name.is_empty())
        .ok_or("use NAME=RATE, for example pci=98.5MB/s")?;
    Ok(Named { name: name.to_owned(), bytes_per_s: rate_of(rate)? })
}

/// Computes and prints.
pub(crate) fn cost(arguments: &CostArgs) -> anyhow::Result<Verdict> {
    if arguments.price.is_none() && arguments.fill.is_empty() {
        let text = "say what to compute: --price AMOUNT, --fill NAME=RATE, or both";
        return Err(UsageError(text.to_owned()).into());
    }
    let store = Store::open_existing(&arguments.keeping.file()?)?;
    let profile = store.profile(&arguments.profile)?;
    let device = profile.target.device.as_ref().map(|device| device.size_bytes);
    let capacity = arguments.capacity.or(device).unwrap_or(profile.target.size_bytes);
    let price = arguments.price.map(|amount| Price {
        amount,
        currency: arguments.currency.clone(),
        capacity_bytes: capacity.0,
    });
    let document = cost::price(&profile, price.as_ref(), &arguments.fill, VERSION)
        .map_err(|lacks| anyhow!("profile {} has no cost: {lacks}; run check again", profile.id))?;
    let text = match arguments.json {
        true => output::json(&document)?,
        false => output::page(&report::price(&document)),
    };
    output::print(&text)?;
    Ok(Verdict::Clean)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_and_limits_that_cannot_be_read_say_what_to_write() {
        assert_eq!(amount("209"), Ok(209.0));
        for wrong in ["", "-1", "0", "$5", "inf", "nan"] {
            assert!(amount(wrong).unwrap_err().contains("above 0"), "{wrong:?}");
        }
        assert_eq!(named("pci=98.5MB/s").unwrap().bytes_per_s, 98.5e6);
        assert!(named("pci").is_err() && named("=1MB").is_err() && named("pci=fast").is_err());
    }
}
